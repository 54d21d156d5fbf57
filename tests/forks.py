"""Programs that start at once: `workrail-lint`, `workrail-test`, `pytest` and `python FILE`, each in a process forked
from one that has already imported everything. Starting them anew takes ten times as long.

    shared().run(["workrail-lint", "check", "."], cwd=folder, env=environment) -> (exit code, output)
    shared().answer(["workrail-test", "serve"], cwd=folder, given=b"...") -> a program that reads its input to the end
    shared().start(["workrail-test", "serve"], cwd=folder) -> a program to talk to, used as `subprocess.Popen` is
    shared().relay(["workrail-lint", "server"], cwd=folder) -> a command by which a client can start it

What depends on how an interpreter starts or ends (hash seed, encodings, what is imported) needs a real process. Run as
a program, this file is the server: it reads one JSON request per line and answers with the exit code. The workers of
xdist are forked too, from a second server that pytest leaves behind before it begins.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import json
import os
import runpy
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import IO, Any, Self

import pytest

PROGRAMS = ("workrail-lint", "workrail-test", "pytest", "python")
SECONDS = 600
# As it was before any test: a server would keep for all others what one test adds.
_PYTHONPATH = os.environ.get("PYTHONPATH", "")
_SET_CHILD_SUBREAPER = 36  # of Linux: processes whose parent ended become children of this one
# Of a folder with two pipes; a shell takes the input from what it starts in the background unless told otherwise.
_RELAY = 'exec 3<&0 4>"$0/0" 5<"$0/1"; rm -r "$0"; cat <&3 >&4 2>/dev/null 5<&- & exec cat <&5 3<&- 4>&-'


class Forks:
    """The client of a server."""

    def __init__(self, requests: IO[str], answers: IO[str]) -> None:
        self._requests = requests
        self._answers = answers
        self._turn = threading.Lock()

    def run(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
        """Run a program; return its exit code (negative for a signal) and what it wrote to both of its streams."""
        with tempfile.NamedTemporaryFile(prefix="forks-") as output:
            code = self._fork(command, cwd, env, {"1": output.name})
            return code, Path(output.name).read_text(encoding="utf-8")

    def answer(self, command: Sequence[str], cwd: Path, given: bytes) -> subprocess.CompletedProcess[bytes]:
        """Run a program that reads `given` as its input; return what it wrote to each stream, as `subprocess` does."""
        with tempfile.TemporaryDirectory(prefix="forks-") as folder:
            streams = {number: Path(folder, number) for number in "012"}
            for number, path in streams.items():
                path.write_bytes(given if number == "0" else b"")
            code = self._fork(command, cwd, os.environ, {number: str(path) for number, path in streams.items()})
            return subprocess.CompletedProcess(command, code, streams["1"].read_bytes(), streams["2"].read_bytes())

    def start(self, command: Sequence[str], cwd: Path, streams: str = "012") -> Program:
        """Start a program with pipes for some of its streams; it keeps the others of the server."""
        with tempfile.TemporaryDirectory(prefix="forks-") as folder:
            pipes = {number: str(Path(folder, number)) if number in streams else "" for number in "012"}
            for number in streams:
                os.mkfifo(pipes[number])
            process = self._fork(command, cwd, os.environ, pipes, beside=True)
            # In the order in which the program opens them: each end waits for the other.
            ends = [open(pipes[number], "rb" if number in "12" else "wb") for number in streams]  # noqa: SIM115
        return Program(process, self.ended, dict(zip(streams, ends, strict=True)))

    def relay(self, command: Sequence[str], cwd: Path) -> list[str]:
        """Start a program, and return a command that passes on what it reads and writes: for clients that start it."""
        folder = tempfile.mkdtemp(prefix="forks-")
        pipes = {"0": f"{folder}/0", "1": f"{folder}/1", "2": ""}
        for number in "01":
            os.mkfifo(pipes[number])
        self._fork(command, cwd, os.environ, pipes, beside=True)
        return ["sh", "-c", _RELAY, folder]

    def ended(self, process: int) -> int | None:
        """Return the exit code of a program that was started, or `None` while it runs."""
        code = self._ask({"ended": process})
        assert code is None or isinstance(code, int)
        return code

    def _fork(
        self,
        command: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        streams: Mapping[str, str],
        beside: bool = False,
    ) -> int:
        request = {"command": list(command), "cwd": str(cwd), "env": dict(env), "streams": dict(streams)}
        return int(self._ask({"fork": request, "beside": beside}))

    def _ask(self, request: dict[str, Any]) -> Any:
        with self._turn:
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
            return json.loads(self._answers.readline())


class Program:
    """A program that runs beside the test."""

    def __init__(self, pid: int, ended: Callable[[int], int | None], streams: Mapping[str, IO[bytes]]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = (streams.get(number) for number in "012")
        self._ended = ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._ended(self.pid)
        return self.returncode

    def wait(self, timeout: float = SECONDS) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.002)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def shared() -> Forks:
    """Return the client of one server for all tests of a worker, started when the first test needs it."""
    return started()


def started(before: Sequence[str] = ()) -> Forks:
    """Start a server, by a program that watches it if one is given, and return its client.

    A watched program has ended when all processes that it left behind have ended too: what they do belongs to it.
    """
    environment = {**os.environ, "PYTHONPATH": _PYTHONPATH, "PYTEST_ADDOPTS": "", "PYTHONIOENCODING": "utf-8"}
    server = subprocess.Popen(
        [*before, sys.executable, __file__, *(["--adopt"] if before else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    atexit.register(server.communicate)
    assert server.stdin is not None
    assert server.stdout is not None
    return Forks(server.stdin, server.stdout)


def shell(command: str, cwd: Path, env: Mapping[str, str], programs: Sequence[str] = PROGRAMS) -> tuple[int, str]:
    """Run a command line; what needs no shell, and is one of the programs, starts from the server."""
    if command.split()[0] in programs and not set(command) & set("<>|&;*$"):
        return shared().run(shlex.split(command), cwd, env)
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=SECONDS,
    )
    return done.returncode, done.stdout


def run_pytest_here(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process with our plugin, named by its module: whether it is installed is not the question.

    Looking for the plugins of every installed package takes a quarter of such a run.
    """
    workers = ["-p", "xdist.plugin"] if any(argument.startswith("-n") for argument in arguments) else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_inprocess("-p", "pytest_workrail.plugin", *workers, *arguments)


def run_pytest(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest as `runpytest_subprocess` does; both streams are the lines of its output."""
    return run_program(pytester, "pytest", *arguments)


def run_program(pytester: pytest.Pytester, *command: str) -> pytest.RunResult:
    """Run one of the programs in the folder of a bench."""
    path = os.pathsep.join(filter(None, [str(pytester.path), os.environ.get("PYTHONPATH")]))
    started = time.perf_counter()
    code, output = shared().run(command, pytester.path, {**os.environ, "PYTHONPATH": path})
    lines = output.splitlines()
    sys.stdout.write(output)  # what a failing test shows
    return pytest.RunResult(code, lines, lines, time.perf_counter() - started)


class _Imports:
    """A plugin of pytest that imports what the programs may need, while pytest's own import hook is in place."""

    def pytest_sessionstart(self) -> None:
        import pkgutil

        import pytest_workrail
        import workrail_lint

        for package in (workrail_lint, pytest_workrail):
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if not module.name.endswith("__main__"):
                    import_module(module.name)


def _serve() -> None:
    gc.set_threshold(50_000, 20, 50)  # as in conftest.py
    with tempfile.TemporaryDirectory() as folder:
        quiet = os.dup(1)
        os.dup2(2, 1)
        pytest.main(["-qq", "--collect-only", "-p", "no:cacheprovider", "--rootdir", folder, folder], [_Imports()])
        sys.stdout.flush()  # what pytest wrote must not come before the first answer
        os.dup2(quiet, 1)
    gc.collect()
    gc.freeze()
    adopts = "--adopt" in sys.argv
    if adopts:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
    _answer(sys.stdin, sys.stdout, adopts=adopts)


def _answer(requests: IO[str], answers: IO[str], adopts: bool = False) -> None:
    """Answer requests until there are no more, and every program that was started has ended."""
    beside: dict[int, int | None] = {}
    for line in requests:
        request = json.loads(line)
        beside.update({process: _code(process, os.WNOHANG) for process, code in beside.items() if code is None})
        if "ended" in request:
            answer = beside[request["ended"]]
        else:
            answer = os.fork()
            if answer == 0:
                signal.alarm(0 if request["beside"] else SECONDS)
                _become(**request["fork"])
            if request["beside"]:
                beside[answer] = None
            else:
                answer = _code(answer, 0)
                if adopts:
                    _outlive_adopted()
        answers.write(f"{json.dumps(answer)}\n")
        answers.flush()
    for process, code in beside.items():
        if code is None:
            os.waitpid(process, 0)


def _outlive_adopted() -> None:
    """Wait for processes whose parent ended before them."""
    end = time.monotonic() + SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.002)


def _code(process: int, options: int) -> int | None:
    ended, status = os.waitpid(process, options)
    return os.waitstatus_to_exitcode(status) if ended else None


def _become(command: list[str], cwd: str, env: dict[str, str], streams: dict[str, str]) -> None:
    """Turn this process into the program, and end with it."""
    code = 70
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if streams.setdefault("0", os.devnull):
            os.dup2(os.open(streams["0"], os.O_RDONLY), 0)
        if streams["1"]:
            os.dup2(os.open(streams["1"], os.O_WRONLY | os.O_TRUNC), 1)
        if streams.get("2", "1"):
            os.dup2(os.open(streams["2"], os.O_WRONLY) if "2" in streams else 1, 2)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  (for the whole process)
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        sys.stdout.reconfigure(line_buffering=True)  # in the order in which both streams were written
        sys.stderr.reconfigure(line_buffering=True)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.path[:0] = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
        if "xdist.plugin" in sys.modules:
            # It gives its workers the search path of the moment in which it was imported.
            sys.modules["xdist.plugin"]._sys_path[:] = sys.path
        invalidate_caches()
        sys.argv = command
        code = _code_of(_PROGRAMS[command[0]])
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


def _code_of(program: Callable[[], Any]) -> int:
    try:
        code = program()
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        return 1
    return int(code or 0)


def _lint() -> int:
    from workrail_lint.cli import main

    return main(sys.argv[1:])


def _test() -> int:
    from pytest_workrail.cli import main

    return main(sys.argv[1:])


def _pytest() -> int:
    if {"-n", "--tx"} & set(sys.argv):
        with _forked_workers():
            return int(pytest.main())
    return int(pytest.main())


@contextlib.contextmanager
def _forked_workers() -> Iterator[None]:
    """Let xdist start its workers from a server that is forked now, before pytest has done anything."""
    import execnet.gateway_io

    (there, requests), (answers, back) = os.pipe(), os.pipe()
    server = os.fork()
    if server == 0:
        os.close(requests)
        _answer(open(there), open(back, "w"))  # noqa: SIM115  (for the whole process)
        os._exit(0)
    os.close(there)
    os.close(back)
    stream = open(requests, "w")  # noqa: SIM115
    forks = Forks(stream, open(answers))  # noqa: SIM115

    master = execnet.gateway_io.Popen2IOMaster

    class Worker(master):
        def __init__(self, command: list[str], execmodel: Any) -> None:
            self.popen = forks.start(["python", *command[command.index("-c") :]], Path.cwd(), streams="01")
            super(master, self).__init__(self.popen.stdin, self.popen.stdout, execmodel)

    execnet.gateway_io.Popen2IOMaster = Worker
    yield
    stream.close()
    os.waitpid(server, 0)


def _python() -> None:
    if sys.argv[1] == "-c":
        sys.path.insert(0, "")
        code = sys.argv[2]
        del sys.argv[1:3]
        exec(code, {"__name__": "__main__"})
    elif sys.argv[1] == "-m":
        sys.path.insert(0, os.getcwd())
        del sys.argv[:2]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        del sys.argv[0]
        sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
        runpy.run_path(sys.argv[0], run_name="__main__")


_PROGRAMS: dict[str, Callable[[], Any]] = dict(zip(PROGRAMS, (_lint, _test, _pytest, _python), strict=True))


if __name__ == "__main__":
    _serve()
