"""A folder full of modules with well-known names: whatever is started in it, none of them runs.

Every Python process, ours and those that it starts, reports itself: how it was started, and all code that it executes.
A `sitecustomize` outside of the folder makes it do so, which `PYTHONPATH` names. Commands and options come from the
programs themselves, so a new one is tried without being named here. Every day each of their lines runs in a process
forked from one that has imported everything, which says at its end whether the folder got on the path of imports; in
the deep ring each is a new process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from effort import times
from forks import shared
from test_hostile_git import git

from pytest_workrail.cli import PROGRAM as TEST_PROGRAM
from workrail_lint.cli import PROGRAM as LINT_PROGRAM
from workrail_lint.cli import Program
from workrail_lint.cli.completion import Argument, commands
from workrail_lint.server.commands import COMMANDS
from workrail_lint.systems.workrail.rules.samples import step, workflow

TRAPS = (
    *("pytest", "multiprocessing", "pytest_workrail", "workrail_lint", "json", "typing", "subprocess", "argparse"),
    *("sitecustomize", "usercustomize", "conftest", "distributed", "mcp", "pygls", "regex", "yaml", "conf", "test_it"),
)
PROGRAMS = ("git", "node", "python", "python3", "pytest", "workrail-test", "workrail-lint", "sh")
SCRIPTS = Path(sys.executable).parent
PATIENCE = 60  # seconds until a command that waits for something is ended; none of them is judged by it

REPORTER = """
import json, os, sys

_FOLDER, _LOG = {folder!r}, {log!r}
_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")

def _report(**event):
    handle = os.open(_LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, (json.dumps({{"process": os.getpid(), **event}}) + "\\n").encode())
    os.close(handle)

def _hook(event, arguments, inside=_FOLDER + os.sep):
    if event == "exec":
        name = arguments[0].co_filename
        if name[:1] != "<" and os.path.abspath(name).startswith(inside):
            _report(ran=name)
    elif event in _STARTS:
        _report(started=os.fsdecode(arguments[0] or arguments[1][0]))

_report(python=sys.orig_argv, safe=bool(sys.flags.safe_path), path=[p for p in sys.path if not os.path.isabs(p)])
sys.addaudithook(_hook)
"""

# What a process does that has imported everything before: a command, and a look at the path of imports.
FORKED = (
    REPORTER
    + """
import importlib, sys

module, name, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = name
try:
    code = importlib.import_module(module).main(sys.argv[1:])
finally:
    _report(path=[p for p in sys.path if not os.path.isabs(p) or (p + os.sep).startswith(_FOLDER + os.sep)])
sys.exit(code)
"""
)


class Observed(NamedTuple):
    """What the processes of one command reported."""

    pythons: list[dict[str, Any]]
    ran: list[str]
    started: list[str]
    paths: list[str]

    def violations(self, folder: Path) -> Iterator[str]:
        yield from (f"ran {name}" for name in self.ran)
        yield from (f"ran {path.name}" for path in sorted(folder.rglob("*.ran")))
        yield from (f"can import from {path!r}" for path in self.paths)
        yield from (f"started {name}" for name in self.started if not os.path.isabs(name) or str(folder) in name)
        # The first one is the command itself: a script, whose own folder is first on the path.
        for each in self.pythons[1:]:
            if not each["safe"] or each["path"]:
                yield f"started Python with the current folder on its path: {each['python'][1:4]}"


class Trapped:
    """A project whose folder is full of traps, and a way to run commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self._reporter = folder / "reporter"
        self._home = folder / "home"
        self.log = folder / "log"
        for made in (self.folder / "workflows", self.folder / "scenarios", self._reporter, self._home):
            made.mkdir(parents=True)
        self._forked = folder / "forked" / "command.py"
        self._forked.parent.mkdir()
        for path, text in ((self._reporter / "sitecustomize.py", REPORTER), (self._forked, FORKED)):
            path.write_text(text.format(folder=str(self.folder), log=str(self.log)))
        (self.folder / "workflows" / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
        (self.folder / "given.json").write_text("{}")
        git(self.folder, "init", "--quiet")
        git(self.folder, "add", ".")
        git(self.folder, "commit", "--quiet", "--message=start")
        self._set_traps()

    def _set_traps(self) -> None:
        for name in TRAPS:
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
        }

    def run(
        self, program: str, *arguments: str, before: Sequence[str] = (), patience: int = PATIENCE
    ) -> tuple[Observed, str]:
        """Run a command in the folder; what its processes reported, and what it printed."""
        self.log.write_bytes(b"")
        command = [*before, str(SCRIPTS / program), *arguments]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                process.kill()
                printed, _ = process.communicate()
        return self.observed(), printed.decode(errors="replace")

    def run_forked(self, program: Program, *arguments: str) -> tuple[Observed, str]:
        """Do the same in a process that has imported everything before."""
        self.log.write_bytes(b"")
        command = ["python", str(self._forked), program.package, program.name, *arguments]
        _, printed = shared().run(command, self.folder, self.environment())
        return self.observed(), printed

    def observed(self) -> Observed:
        events = [json.loads(line) for line in self.log.read_text().splitlines()]
        return Observed(
            [event for event in events if "python" in event],
            [event["ran"] for event in events if "ran" in event],
            [event["started"] for event in events if "started" in event],
            [path for event in events if "path" in event and "python" not in event for path in event["path"]],
        )


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
WAITING = {"--watch"}  # until the user ends it


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
def test_no_command_runs_anything_of_the_folder(program: Program, command: str, trapped: Trapped) -> None:
    lines = list(command_lines(program, command))
    violations = {}
    for line in lines:
        if WAITING & set(line):
            observed, printed = trapped.run(program.name, *line, patience=5)
        elif times(0, deep=1):
            observed, printed = trapped.run(program.name, *line)
        else:
            observed, printed = trapped.run_forked(program, *line)
        assert "internal error" not in printed, line
        if found := list(observed.violations(trapped.folder)):
            violations[" ".join(line)] = found
        assert observed.pythons, "the command did not start"
    assert violations == {}
    assert len(lines) > 1


# ------------------------------------------------------------------------------------------------- language server


def test_a_lens_runs_nothing_of_the_folder(trapped: Trapped) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed")
    path = trapped.folder / "workflows" / "a.json"
    document = {"uri": path.as_uri(), "languageId": "json", "version": 1, "text": path.read_text()}
    root = {"processId": None, "rootUri": trapped.folder.as_uri(), "capabilities": {}}
    trapped.log.write_bytes(b"")
    with subprocess.Popen(
        [str(SCRIPTS / "workrail-lint"), "server"],
        cwd=trapped.folder,
        env=trapped.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        answer(server, "initialize", root)
        send(server, {"method": "initialized", "params": {}})
        send(server, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
        for command in COMMANDS:
            result = answer(server, "workspace/executeCommand", {"command": command, "arguments": [str(path)]})
            assert "error" not in result
        server.kill()
    observed = trapped.observed()
    assert list(observed.violations(trapped.folder)) == []
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


# ------------------------------------------------------------------------------------------------------- programs


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("workrail-lint", ["diff", "--git", "HEAD", "workflows"]),
        ("workrail-lint", ["studio", "--git", "HEAD", "--output", "studio.html", "workflows"]),
        pytest.param("workrail-lint", ["init", ".", "--generate"], marks=pytest.mark.deep),
        pytest.param("workrail-test", ["generate", "workflows/a.json", "--jobs", "2"], marks=pytest.mark.deep),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_kernel_sees_no_other_programs_than_python_and_git(
    program: str, arguments: list[str], trapped: Trapped, tmp_path: Path
) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    before = [strace, "-f", "-qq", "-e", "trace=execve", "-o", str(trace)]
    if subprocess.run([*before, sys.executable, "-c", ""], capture_output=True, check=False).returncode != 0:
        pytest.skip("this system does not let strace trace")
    _, printed = trapped.run(program, *arguments, before=before)
    started = {
        found[1]
        for line in trace.read_text(errors="replace").splitlines()
        if (found := re.search(r'execve\("([^"]+)".*= 0$', line))
    }
    assert started, printed
    allowed = {os.path.realpath(path) for path in (sys.executable, shutil.which("git") or "", SCRIPTS / program)}
    assert {path for path in started if not os.path.isabs(path) or os.path.realpath(path) not in allowed} == set()
