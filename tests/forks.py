"""Programs that start at once: `workrail-lint`, `workrail-test`, `pytest` and `python FILE`, each in a process forked
from one that has already imported everything. Starting them anew takes ten times as long.

    shared().run(["workrail-lint", "check", "."], cwd=folder, env=environment) -> (exit code, output)
    shared().answer(["workrail-test", "serve"], cwd=folder, given=b"...") -> a program that reads its input to the end

What depends on how an interpreter starts (hash seed, encodings, what is imported) needs a real process. Run as a
program, this file is the server: it reads one JSON request per line and answers with the exit code.
"""

from __future__ import annotations

import atexit
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
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("workrail-lint", "workrail-test", "pytest", "python")
SECONDS = 120


class Forks:
    """The client: one server for all tests of a worker."""

    def __init__(self) -> None:
        self._output = tempfile.NamedTemporaryFile(prefix="forks-")  # noqa: SIM115  (closed by close)
        environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONIOENCODING": "utf-8"}
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
        """Run a program; return its exit code (negative for a signal) and what it wrote to both of its streams."""
        code = self._ask(command, cwd, env, {"1": self._output.name})
        return code, Path(self._output.name).read_text(encoding="utf-8")

    def answer(self, command: Sequence[str], cwd: Path, given: bytes) -> subprocess.CompletedProcess[bytes]:
        """Run a program that reads `given` as its input; return what it wrote to each stream, as `subprocess` does."""
        with tempfile.TemporaryDirectory(prefix="forks-") as folder:
            streams = {number: Path(folder, number) for number in "012"}
            for number, path in streams.items():
                path.write_bytes(given if number == "0" else b"")
            code = self._ask(command, cwd, os.environ, {number: str(path) for number, path in streams.items()})
            return subprocess.CompletedProcess(command, code, streams["1"].read_bytes(), streams["2"].read_bytes())

    def _ask(self, command: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Mapping[str, str]) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = {"command": list(command), "cwd": str(cwd), "env": dict(env), "streams": dict(streams)}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def close(self) -> None:
        self._server.communicate()
        self._output.close()


@functools.cache
def shared() -> Forks:
    """Return the server of this process, started when the first test needs it."""
    forks = Forks()
    atexit.register(forks.close)
    return forks


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
    with tempfile.TemporaryDirectory() as folder:
        quiet = os.dup(1)
        os.dup2(2, 1)
        pytest.main(["-qq", "--collect-only", "-p", "no:cacheprovider", "--rootdir", folder, folder], [_Imports()])
        sys.stdout.flush()  # what pytest wrote must not come before the first answer
        os.dup2(quiet, 1)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # as in conftest.py
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(**request)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


def _become(command: list[str], cwd: str, env: dict[str, str], streams: dict[str, str]) -> None:
    """Turn this process into the program, and end with it."""
    code = 70
    try:
        signal.alarm(SECONDS)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(streams.get("0", os.devnull), os.O_RDONLY), 0)
        os.dup2(os.open(streams["1"], os.O_WRONLY | os.O_TRUNC), 1)
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
    return int(pytest.main())


def _python() -> None:
    if sys.argv[1] == "-m":
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
