"""A folder full of modules with well-known names: whatever is started in it, none of them runs.

Every Python process, ours and those that it starts, reports itself: how it was started, and all code that it executes.
A `sitecustomize` outside of the folder makes it do so, which `PYTHONPATH` names. Where strace is installed, the kernel
says the same of all processes: the programs, the files and the networks. Commands and options come from the programs
themselves, so a new one is tried without being named here. Every day each of their lines runs in a process forked from
one that has imported everything, which says at its end whether the folder got on the path of imports; in the deep ring
each is a new process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import traced
from effort import times
from forks import shared
from test_hostile_git import git
from traced import Seen
from writers import COMMANDS as WRITERS

from pytest_workrail.cli import PROGRAM as TEST_PROGRAM
from pytest_workrail.plugin import options
from pytest_workrail.plugin.options import AUTO_WORKFLOWS, SESSION_WORKFLOWS, SESSIONS
from workrail_lint.cli import PROGRAM as LINT_PROGRAM
from workrail_lint.cli import Program
from workrail_lint.cli.completion import Argument, commands
from workrail_lint.server.commands import COMMANDS
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.promise(
    "Processes start in one place",
    "all commands, pytest and the language server in a hostile clone: programs, paths, networks, time and memory",
)

TRAPS = (
    *("pytest", "multiprocessing", "pytest_workrail", "workrail_lint", "json", "typing", "subprocess", "argparse"),
    *("sitecustomize", "usercustomize", "conftest", "distributed", "mcp", "pygls", "regex", "yaml", "conf", "test_it"),
)
PROGRAMS = ("git", "node", "python", "python3", "pytest", "workrail-test", "workrail-lint", "sh")
SCRIPTS = Path(sys.executable).parent
SECONDS, MEGABYTES = 60, 1000  # processor time and memory of a process, ten times what the most expensive one takes
ROOT = Path(__file__).resolve().parents[2]
SYSTEM = ("/proc/", "/dev/null/", "/dev/urandom/", "/usr/", "/lib/", "/lib64/", "/sys/", "/etc/ld.so.cache/")
# What the C library, readline and Git read of any system.
SYSTEM_FILES = (
    "/etc/localtime",
    "/etc/locale.alias",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/inputrc",
    "/etc/ssl/openssl.cnf",
)
FORKS = os.path.join(os.path.realpath(tempfile.gettempdir()), "forks-")  # the streams of what a server forks
SEMAPHORES = "/dev/shm/sem."  # which processes of one pool share
NOTHING_SEEN = Seen([], [], [], [])
SECRET = "only-for-the-eyes-of-the-owner"
WAITING = {"--watch"}  # until the user ends it
PATIENCE = 300  # seconds until a command that waits for something is ended; none of them is judged by it

REPORTER = """
import atexit, json, os, resource, sys

_FOLDER, _LOG, _READ, _WRITTEN = {folder!r}, {log!r}, {read!r}, {written!r}
_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")
_LISTS = ("os.listdir", "os.scandir")
_CHANGES = ("mkdir", "rename", "remove", "rmdir", "link", "symlink", "chmod", "chown", "truncate", "utime")
_CHANGES = tuple("os." + name for name in _CHANGES)
_OPENED_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

def _report(**event):
    handle = os.open(_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, (json.dumps({{"process": os.getpid(), **event}}) + "\\n").encode())
    os.close(handle)

def _look(path, writes, follow=True, descriptor=-1):
    if isinstance(path, int):
        return
    start = os.getcwd() if descriptor < 0 else os.readlink("/proc/self/fd/%d" % descriptor)
    path = os.path.join(start, os.fsdecode(path or "."))
    if path == _LOG:
        return
    folder, name = os.path.split(path)
    place = os.path.realpath(path) if follow else os.path.join(os.path.realpath(folder), name)
    if not (place + os.sep).startswith(_WRITTEN if writes else _READ):
        _report(**{{"wrote" if writes else "read": place}})
    elif writes and not follow and place.startswith(_FOLDER + os.sep):
        _report(changed=place)  # by a call that names its folder

def _hook(event, arguments, inside=_FOLDER + os.sep):
    if event == "exec":
        name = arguments[0].co_filename
        if name[:1] != "<" and os.path.abspath(name).startswith(inside):
            _report(ran=name)
    elif event in _STARTS:
        _report(started=os.fsdecode(arguments[0] or arguments[1][0]))
    elif event == "open":
        flags = arguments[2]
        # The event does not name the folder that a relative path starts from. The kernel's view does.
        place = arguments[0] if isinstance(arguments[0], int) else os.path.join(os.getcwd(), os.fsdecode(arguments[0]))
        if flags & os.O_NOFOLLOW and not isinstance(place, int):
            place = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
            if os.path.islink(place):
                return  # which is refused
        _look(place, bool(flags & _OPENED_TO_WRITE))
    elif event in _LISTS:
        _look(arguments[0], False)
    elif event in _CHANGES:
        last = arguments[-1] if isinstance(arguments[-1], int) and event != "os.truncate" else -1
        for path in arguments[:2] if event in ("os.rename", "os.link") else arguments[:1]:
            _look(path, True, False, last)
    elif event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto"):
        _report(network=event)

def _used():
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        _report(seconds=usage.ru_utime + usage.ru_stime, megabytes=usage.ru_maxrss // 1024)

_report(python=sys.orig_argv, safe=bool(sys.flags.safe_path), path=[p for p in sys.path if not os.path.isabs(p)])
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds} + 5))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
atexit.register(_used)
sys.addaudithook(_hook)
"""

# What a process does that has imported everything before: a command, and a look at the path of imports.
FORKED = (
    REPORTER
    + """
import importlib, sys, tempfile

tempfile.tempdir = None  # it was chosen for another environment
module, name, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = name
try:
    code = importlib.import_module(module).main(sys.argv[1:])
finally:
    _used()
    _report(path=[p for p in sys.path if not os.path.isabs(p) or (p + os.sep).startswith(_FOLDER + os.sep)])
sys.exit(code)
"""
)


class Observed(NamedTuple):
    """What the processes of one command reported. `changed` are files of the project, which it may write to."""

    pythons: list[dict[str, Any]]
    ran: list[str]
    started: list[str]
    paths: list[str]
    outside: list[str]
    changed: list[str]
    seconds: float
    megabytes: int

    def violations(self, folder: Path) -> Iterator[str]:
        yield from (f"ran {name}" for name in self.ran)
        yield from (f"ran {path.name}" for path in sorted(folder.rglob("*.ran")))
        yield from (f"can import from {path!r}" for path in self.paths)
        yield from self.outside
        if self.seconds > SECONDS or self.megabytes > MEGABYTES:
            yield f"took {self.seconds:.0f} s of processor time and {self.megabytes} MB"
        yield from (f"started {name}" for name in self.started if not _is_allowed(name, folder))
        # The first one is the command itself: a script, whose own folder is first on the path.
        for each in self.pythons[1:]:
            if not each["safe"] or each["path"]:
                yield f"started Python with the current folder on its path: {each['python'][1:4]}"


def _is_allowed(program: str, folder: Path) -> bool:
    """Return whether a program may be started: git and Python from elsewhere, and no other one."""
    own = (SCRIPTS / name for name in ("workrail-lint", "workrail-test", "python"))  # the command itself
    allowed = {os.path.realpath(path) for path in (sys.executable, shutil.which("git") or "", *own)}
    return os.path.isabs(program) and str(folder) not in program and os.path.realpath(program) in allowed


class Trapped:
    """A project whose folder is full of traps, and a way to run commands in it."""

    def __init__(self, folder: Path, *, has_modules: bool = True) -> None:
        folder = Path(os.path.realpath(folder))
        self.folder = folder / "project"
        self.outside = folder / "outside"
        self._temporary = folder / "temporary"
        self._reporter = folder / "reporter"
        self._home = folder / "home"
        self.log = folder / "log"
        self.trace = folder / "trace"
        for made in (
            self.folder / "workflows",
            self.folder / "scenarios",
            self._reporter,
            self._home,
            self.outside,
            self._temporary,
        ):
            made.mkdir(parents=True)
        self._forked = folder / "forked" / "command.py"
        self._forked.parent.mkdir()
        for path, text in ((self._reporter / "sitecustomize.py", REPORTER), (self._forked, FORKED)):
            path.write_text(text.format(**self._places(), seconds=SECONDS))
        (self.folder / "workflows" / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
        (self.folder / "given.json").write_text("{}")
        git(self.folder, "init", "--quiet")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "--quiet", "--message=start")
        self._set_traps(has_modules=has_modules)
        self._set_hostile_files()
        self._before = self._outside()

    def _places(self) -> dict[str, Any]:
        """Return where the processes may read and write."""
        compiled = os.environ.get("PYTHONPYCACHEPREFIX", self._home)
        written = [self.folder, self._home, self._temporary, compiled, "/dev/null"]
        python = [sys.prefix, sys.base_prefix, os.path.realpath(sys.prefix), ROOT]
        read = [*written, *python, *map(os.path.dirname, (self._reporter / "a", self._forked)), *sys.path]
        ends = [tuple(f"{str(path).rstrip(os.sep)}{os.sep}" for path in paths if path) for paths in (written, read)]
        return {"folder": str(self.folder), "log": str(self.log), "written": ends[0], "read": (*ends[1], *SYSTEM)}

    def _seen_outside(self, seen: Seen) -> Iterator[str]:
        """Yield what the kernel saw of files and networks that a process may not use."""
        places = self._places()
        for verb, paths in (("read", seen.read), ("wrote", seen.written)):
            own = (f"{self.log}/", FORKS, SEMAPHORES, *places["written" if verb == "wrote" else "read"])
            for path in paths:
                # A folder on the way to an output is opened only to find the next one.
                is_on_the_way = verb == "read" and f"{self.folder}/".startswith(f"{path.rstrip('/')}/")
                if not is_on_the_way and not f"{path}/".startswith(own) and path not in SYSTEM_FILES:
                    yield f"{verb} {path}"
        yield from seen.networks

    def _outside(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.outside.rglob("*") if path.is_file()}

    def _set_hostile_files(self) -> None:
        """Put links that lead out, pipes, devices, huge files and names like options where commands look for files."""
        (self.outside / "secret.json").write_text(json.dumps({SECRET: SECRET}))
        (self.outside / "workflow.json").write_text(json.dumps({**workflow(step("first")), "name": SECRET}))
        (self.outside / "workrail-lint.toml").write_text(f'{SECRET} = "x"\n')
        for place in (self.folder, self.folder / "workflows", self.folder / "scenarios"):
            (place / "linked").symlink_to(self.outside)
            (place / "leak.json").symlink_to(self.outside / "workflow.json")
            (place / "leak.scenario.json").symlink_to(self.outside / "secret.json")
            (place / "zero.json").symlink_to("/dev/zero")
            os.mkfifo(place / "pipe.json")
            for name in ("--fix.json", "-n.json", "--workrail-record=x.scenario.json"):
                (place / name).write_text("{}")
            with (place / "large.json").open("wb") as file:
                file.truncate(200 << 20)

    def _set_traps(self, *, has_modules: bool) -> None:
        for name in TRAPS if has_modules else ():
            for place in (self.folder, self.folder / "workflows", self.folder / "scenarios"):
                (place / f"{name}.py").write_text("open(__file__ + '.ran', 'w').close()\n")
        for name in PROGRAMS:
            path = self.folder / name
            path.write_text('#!/bin/sh\n: > "$0.ran"\n')
            path.chmod(0o755)
        with (self.folder / ".git" / "config").open("a") as config:
            for section in ("core", "gpg", "diff"):
                names = {"core": ("fsmonitor", "pager", "sshCommand"), "gpg": ("program",), "diff": ("external",)}
                config.write(f"[{section}]\n" + "".join(f"\t{name} = ./sh\n" for name in names[section]))

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PYTHONPYCACHEPREFIX", "SYSTEMROOT") if name in os.environ}
        return {
            **kept,
            # A folder of the path that depends on the current one, as some people have it.
            "PATH": f".{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(self._reporter),
            "HOME": str(self._home),
            "XDG_CACHE_HOME": str(self._home / "cache"),
            "TMPDIR": str(self._temporary),
            "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:anyio -p no:cacheprovider",
        }

    def tracer(self) -> list[str]:
        """Return what makes the kernel's view of a command part of what is observed."""
        self.trace.write_bytes(b"")
        return traced.prefix(self.trace) if traced.works() else []

    def run(self, program: str, *arguments: str) -> tuple[Observed, str]:
        """Run a command in the folder; what its processes reported, and what it printed.

        One that goes on until the user ends it is ended after it has printed its first results, and looked again.
        """
        self.log.write_bytes(b"")
        with subprocess.Popen(
            [*self.tracer(), str(SCRIPTS / program), *arguments],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            limit = threading.Timer(PATIENCE, end, [process])
            limit.start()
            printed = b""
            if WAITING & set(arguments):
                printed = process.stdout.readline()
                time.sleep(1)
                end(process)
            printed += process.communicate()[0]
            limit.cancel()
        seen = traced.seen(traced.parts(self.trace), self.folder)
        text = printed.decode(errors="replace")
        return self.observed(seen, process.returncode, text), text

    def run_forked(self, package: str, name: str, *arguments: str) -> tuple[Observed, str]:
        """Do the same in a process that has imported everything before."""
        return self.run_in_fork("python", str(self._forked), package, name, *arguments)

    def run_in_fork(self, *command: str) -> tuple[Observed, str]:
        """Run a program of the server of forks, and observe it."""
        self.log.write_bytes(b"")
        if not traced.works():
            code, printed = shared().run(command, self.folder, self.environment())
            return self.observed(NOTHING_SEEN, code, printed), printed
        server = traced.server()
        offset = server.trace.stat().st_size
        code, printed = server.forks.run(command, self.folder, self.environment())
        seen = traced.seen(traced.parts(server.trace, offset), self.folder)
        return self.observed(seen, code, printed), printed

    def observed(self, seen: Seen, code: int = 0, printed: str = "") -> Observed:
        events = [json.loads(line) for line in self.log.read_text().splitlines()]
        outside = [
            f"{kind} {event[kind]}" for event in events for kind in ("read", "wrote", "network") if kind in event
        ]
        outside += self._seen_outside(seen)
        if self._outside() != self._before:
            outside.append(f"changed {self.outside.name}")
        if SECRET in printed:
            outside.append("printed what is outside")
        if code < 0 and code != -signal.SIGKILL:  # which is how those end that wait for the user
            outside.append(f"ended by signal {-code}")
        return Observed(
            [event for event in events if "python" in event],
            [event["ran"] for event in events if "ran" in event],
            [*(event["started"] for event in events if "started" in event), *seen.programs],
            [path for event in events if "path" in event and "python" not in event for path in event["path"]],
            sorted(set(outside)),
            [event["changed"] for event in events if "changed" in event],
            max((event["seconds"] for event in events if "seconds" in event), default=0),
            max((event["megabytes"] for event in events if "megabytes" in event), default=0),
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and those that it started there: without strace they would go on."""
    os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    return Trapped(tmp_path)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        pytest.param("workrail-lint", ["init", "new", "--generate"], marks=pytest.mark.deep),
        ("workrail-lint", ["init", ".", "--generate"]),
        ("workrail-test", ["generate", "workflows/a.json", "--out", "made", "--jobs", "2"]),
        ("workrail-test", ["mutate", "workflows/a.json", "--jobs", "2"]),
        ("workrail-test", ["explore", "workflows/a.json", "--runs", "4", "--jobs", "2"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_processes_that_a_command_starts_run_nothing_of_the_folder(
    program: str, arguments: list[str], trapped: Trapped
) -> None:
    observed, printed = trapped.run(program, *arguments)
    assert list(observed.violations(trapped.folder)) == []
    assert len(observed.pythons) > 1, printed


def test_the_reporter_reports(trapped: Trapped) -> None:
    """Without this, silence would prove nothing."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import mcp'])"
    observed, _ = trapped.run("python", "-P", "-c", code)
    seen = "\n".join(observed.violations(trapped.folder))
    assert "current folder on its path" in seen
    assert "mcp.py" in seen


def test_a_configuration_can_not_name_a_module_of_the_folder(trapped: Trapped) -> None:
    (trapped.folder / "conf.py").write_text(
        "from workrail_lint.plugins import hookimpl\nopen(__file__ + '.ran', 'w')\n"
    )
    (trapped.folder / "workrail-lint.toml").write_text('plugins = ["conf"]\n')
    observed, printed = trapped.run("workrail-lint", "check", "workflows")
    assert list(observed.violations(trapped.folder)) == []
    assert "conf" in printed


# ------------------------------------------------------------------------------------------------------- all commands

VALUES = {
    "FILE": "given.json",
    "DIR": "scenarios",
    "PATH": "workflows",
    "WORKFLOW": "workflows/a.json",
    "REV": "HEAD",
    "N": "2",
    "S": "1",
    "PERCENT": "1",
    "DATE": "2020-01-01",
    "CODE": "LP002",
    "RULES": "LP",
    "REGEX": "x",
    "ADDRESS": "tcp://127.0.0.1:9",
    "PROGRAM": "node",
    "ID": "project.second",
    "NAME": "tutorial",
}


def value_of(argument: Argument) -> str:
    return argument.choices[0] if argument.choices else VALUES.get(argument.metavar, "x")


def command_lines(program: Program, name: str) -> Iterator[list[str]]:
    """Yield each action of a command: bare, with an argument, and with the options that no command before it has.

    Every day has one in twelve of the options, and the deep ring has all.
    """
    known: set[Argument] = set()
    for command in commands(program):
        for action in command.actions or (command,):
            words = action.name.split()
            arguments = [value_of(action.positional)] if action.positional else []
            options = [option for option in action.options if option not in known]
            known.update(options)
            if command.name == name:
                yield words
                yield [*words, *arguments]
                for option in options[:: times(12, deep=1)]:
                    value = [value_of(option)] if option.metavar else []
                    yield [*words, *arguments, option.names[-1], *value]


@pytest.mark.search
@pytest.mark.parametrize(
    ("program", "command"),
    [(program, command) for program in (LINT_PROGRAM, TEST_PROGRAM) for command in program.commands],
    ids=lambda value: value.name if isinstance(value, Program) else value,
)
def test_no_command_leaves_the_folder_or_runs_anything_of_it(program: Program, command: str, trapped: Trapped) -> None:
    lines = list(command_lines(program, command))
    violations = {}
    does_write = False
    for line in lines:
        if WAITING & set(line) or times(0, deep=1):
            observed, printed = trapped.run(program.name, *line)
        else:
            observed, printed = trapped.run_forked(program.package, program.name, *line)
        assert "internal error" not in printed, line
        found = list(observed.violations(trapped.folder))
        if "--scheduler" in line:  # at the address that the user gives
            found = [each for each in found if "htons(9)" not in each]
        if found:
            violations[" ".join(line)] = found
        assert observed.pythons, "the command did not start"
        does_write = does_write or bool(observed.changed)
    assert violations == {}
    assert len(lines) > 1
    if does_write:
        assert (program.name, command) in {tuple(each.line.split()[:2]) for each in WRITERS}


# ----------------------------------------------------------------------------------------------------------- pytest

# A value for each option of the plugin that is not named like one of those above.
PYTEST_VALUES = {"missing": "missing", "MODULE": "x", "REGISTRY": "given.json", "FOLDER": "scenarios", "MODE": "new"}


def pytest_lines() -> list[list[str]]:
    """Return a run of pytest with each option of the plugin, from its own table."""
    parser = pytest.Parser(_ispytest=True)
    options.add_options(parser)
    result: list[list[str]] = [[]]
    for option in (option for group in parser._groups for option in group.options):
        attributes = option.attrs()
        takes_value = attributes.get("action", "store") in ("store", "append")
        metavar = str(attributes.get("metavar"))
        value = (attributes.get("choices") or [{**VALUES, **PYTEST_VALUES}.get(metavar, "1")])[0]
        result.append([f"{option.names()[0]}={value}" if takes_value else option.names()[0]])
    settings = (AUTO_WORKFLOWS, SESSIONS, SESSION_WORKFLOWS)
    return [
        *result,
        *(["-o", f"{name}={value}"] for name, value in zip(settings, ("**/*.json", ".", "."), strict=True)),
    ]


@pytest.mark.search
def test_pytest_with_the_plugin_keeps_to_the_folder(tmp_path: Path) -> None:
    """The Python files of a project are code, and pytest runs them; everything else here is as hostile as it was."""
    trapped = Trapped(tmp_path, has_modules=False)
    scenario = {"workflow": "../workflows/a.json", "profile": "reference", "agent": {"kind": "auto"}}
    (trapped.folder / "scenarios" / "a.scenario.json").write_text(json.dumps(scenario))
    lines = pytest_lines()
    violations = {}
    for line in lines[:: times(8, deep=1)]:
        observed, printed = trapped.run_forked("pytest", "pytest", "-q", "--rootdir=.", "--confcutdir=.", *line)
        assert "INTERNALERROR" not in printed, line
        # pytest itself looks into linked folders for tests.
        if found := {*observed.violations(trapped.folder)} - {f"read {trapped.outside}"}:
            violations[" ".join(line)] = found
    assert violations == {}
    assert len(lines) > 20


# ------------------------------------------------------------------------------------------------- language server


def requests() -> list[str]:
    """Return what an editor can ask about a document, from the table of the server itself."""
    from workrail_lint.server.protocol import make_server  # needs pygls

    server = make_server(lambda path: pytest.fail(path))
    names = [name for name in server.protocol.fm.features if name.startswith("textDocument/")]
    return sorted(name for name in names if not name.startswith("textDocument/did"))


@pytest.mark.search
def test_the_language_server_keeps_to_the_folder(trapped: Trapped) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed")
    path = trapped.folder / "workflows" / "a.json"
    document = {"uri": path.as_uri(), "languageId": "json", "version": 1, "text": path.read_text()}
    root = {"processId": None, "rootUri": trapped.folder.as_uri(), "capabilities": {}}
    trapped.log.write_bytes(b"")
    with subprocess.Popen(
        [*trapped.tracer(), str(SCRIPTS / "workrail-lint"), "server"],
        cwd=trapped.folder,
        env=trapped.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as server:
        answer(server, "initialize", root)
        send(server, {"method": "initialized", "params": {}})
        send(server, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
        for command in COMMANDS:
            result = answer(server, "workspace/executeCommand", {"command": command, "arguments": [str(path)]})
            assert "error" not in result
        # Whatever an editor can ask, about every file that is none.
        hostile = [path.name for path in trapped.folder.iterdir() if path.suffix == ".json"]
        for feature in requests()[:: times(6, deep=1)]:
            for name in hostile:
                place = {"line": 0, "character": 0}
                params = {
                    "textDocument": {"uri": (trapped.folder / name).as_uri()},
                    "position": place,
                    "range": {"start": place, "end": place},
                    "context": {"diagnostics": [], "includeDeclaration": True},
                    "options": {"tabSize": 2, "insertSpaces": True},
                    "newName": "x",
                }
                assert {"result", "error"} & answer(server, feature, params).keys()
        end(server)
    observed = trapped.observed(traced.seen(traced.parts(trapped.trace), trapped.folder))
    # Whoever asks about a link has named it; a device is opened, and refused.
    named = {f"read {os.path.realpath(trapped.folder / name)}" for name in hostile}
    assert {*observed.violations(trapped.folder)} - named == set()
    assert len(observed.pythons) > len(COMMANDS)


def send(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def answer(server: subprocess.Popen[bytes], method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Ask, and wait for the answer; what the server asks or says meanwhile is left alone."""
    assert server.stdout is not None
    send(server, {"id": method, "method": method, "params": params})
    while True:
        size = 0
        while header := server.stdout.readline().strip():
            if header.lower().startswith(b"content-length:"):
                size = int(header.partition(b":")[2])
        assert size, "the server ended"
        message: dict[str, Any] = json.loads(server.stdout.read(size))
        if message.get("id") == method:
            return message


# ----------------------------------------------------------------------------------------------------------- kernel

UNSEEN = """
import ctypes, os, sys
kernel = ctypes.CDLL(None)
name = sys.argv[1].encode()
kernel.close(kernel.open(name + b"/secret.json", 0))
kernel.mkdir(name + b"/made", 0o700)
kernel.symlink(b"x", name + b"/link")
kernel.rename(name + b"/link", name + b"/made/link")
os.chdir(sys.argv[1])
kernel.unlink(b"made/link")
kernel.close(kernel.creat(b"new", 0o600))
kernel.connect(kernel.socket(2, 2, 0), b"\\2\\0\\0\\x09\\x7f\\0\\0\\1" + bytes(8), 16)
if kernel.fork() == 0:
    kernel.execl(b"/bin/sh", b"sh", b"-c", b"exit", None)
kernel.wait(None)
"""


LATE = """
import os, sys, time
first = os.getpid()
if os.fork() == 0:
    while os.getppid() == first:
        time.sleep(0.01)
    time.sleep(0.1)
    os.mkdir(sys.argv[1] + "/late")
"""


def test_a_command_ends_with_the_last_process_that_it_left(trapped: Trapped) -> None:
    """What such a process does is seen, and not taken for something that the next command does."""
    if not traced.works():
        pytest.skip("strace is not installed, or may not trace here")
    observed, _ = trapped.run_in_fork("python", "-c", LATE, str(trapped.outside))
    assert f"wrote {trapped.outside}/late" in set(observed.violations(trapped.folder))


def test_the_kernel_sees_what_python_does_not_report(trapped: Trapped) -> None:
    """Every command above is watched in both ways. Where strace is missing, only what Python reports is left."""
    if not traced.works():
        pytest.skip("strace is not installed, or may not trace here")
    observed, _ = trapped.run_in_fork("python", "-c", UNSEEN, str(trapped.outside))
    place = trapped.outside
    violations = {re.sub("connect.*", "connected", each) for each in observed.violations(trapped.folder)}
    assert violations == {
        f"read {place}/secret.json",
        *(f"wrote {place}/{name}" for name in ("made", "link", "made/link", "new")),
        "connected",
        "changed outside",
        "started /bin/sh",
    }
