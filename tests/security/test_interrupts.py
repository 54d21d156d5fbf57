"""Ctrl-C ends every command: it says so, exits with 130, and leaves no file half-written.

Commands come from the tables of both programs, so a new one is interrupted without being named here. A command runs
once to its end and counts the calls of our functions; then it runs again and is interrupted at some of these calls,
the same ones on every machine. How soon it ends is counted in calls too. Interrupts at each write of a command are in
`test_faults.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from effort import times
from forks import shared
from test_hostile_folder import SCRIPTS, answer, command_lines
from writers import SESSIONS

from pytest_workrail.cli import PROGRAM as TEST_PROGRAM
from workrail_lint.cli import PROGRAM as LINT_PROGRAM
from workrail_lint.cli import Program
from workrail_lint.systems.workrail.rules.samples import step, workflow

pytestmark = pytest.mark.promise(
    "Ctrl-C stops at once", "every command of both programs and both servers, at any moment"
)

# What works longest of each command; a command that is not here is tried with an argument of each kind.
LINES = {
    "check": ["check", "workflows", "--fix"],
    "compile": ["compile", "workflows"],
    "canonical": ["canonical", "workflows/a.json"],
    "docs": ["docs", "workflows", "--out", "made"],
    "sessions": ["sessions", "stats", "--data", "data"],
    "lock": ["lock", "--update", "workflows"],
    "diff": ["diff", "workflows/a.json", "workflows/b.json"],
    "format": ["format", "workflows"],
    "studio": ["studio", "workflows"],
    "graph": ["graph", "workflows/a.json", "--output", "made.mmd"],
    "run": ["run", "workflows/a.json"],
    "golden": ["golden", "list"],
    "generate": ["generate", "workflows", "--out", "made"],
    "mutate": ["mutate", "workflows/a.json", "--no-cache"],
    "explore": ["explore", "workflows/a.json", "--runs", "4"],
}
MOST_CALLS = 1_000  # after the interrupt: to stop, and to say how far it came
SERVERS = ("server", "serve")  # which wait for their client, and are interrupted while they do
SUCCESS = ("no findings", "100.0 %", "unchanged", "no promise")

# Counts the calls of our functions from the first one of a command on, and interrupts itself at one of them. Generators
# do not count: some versions of Python report a call when an abandoned one is closed, and lose what is raised then.
COMMAND = """
import importlib, inspect, os, signal, sys

module, name, report, at, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = name
calls = -1

def profile(frame, event, argument):
    global calls
    if event != "call" or "workrail" not in frame.f_globals.get("__name__", ""):
        return
    if frame.f_code.co_flags & inspect.CO_GENERATOR:
        return
    if calls < 0 and frame.f_code.co_name == "_run":
        calls = 0
    elif calls >= 0:
        calls += 1
        if calls == int(at):
            sys.settrace(trace)
            os.kill(os.getpid(), signal.SIGINT)  # what it raises ends this profile

def trace(frame, event, argument):
    global calls
    calls += "workrail" in frame.f_globals.get("__name__", "")

sys.setprofile(profile)
code = importlib.import_module(module).main(sys.argv[1:])
sys.setprofile(None)
sys.settrace(None)
with open(report, "w") as file:
    file.write(f"{code} {calls}")
sys.exit(code)
"""


class Project:
    """A folder in which every command has something to do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._report = folder / "report"
        self._script = folder / "command.py"
        self._script.write_text(COMMAND)
        self._start = folder / "start"
        (self._start / "workflows").mkdir(parents=True)
        for name in ("a", "b"):
            made = workflow(step("first"), step(f"second-{name}"), id=f"workflow-{name}")
            (self._start / "workflows" / f"{name}.json").write_text(json.dumps(made))
        (self._start / "given.json").write_text("{}")
        shutil.copytree(SESSIONS, self._start / "data")
        (self._start / "scenarios").mkdir()

    def run(self, program: Program, line: list[str], at: int) -> tuple[int, int, str, dict[str, bytes]]:
        """Run a command; its code, how many calls it took, what it printed, and the files there are now."""
        place = self._folder / "project"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._start, place)
        home = self._folder / "home"
        shutil.rmtree(home, ignore_errors=True)
        environment = {
            **{name: os.environ[name] for name in ("PATH", "PYTHONPYCACHEPREFIX") if name in os.environ},
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
        }
        self._report.write_text("0 0")
        command = ["python", str(self._script), program.package, program.name, str(self._report), str(at), *line]
        code, printed = shared().run(command, place, environment)
        calls = int(self._report.read_text().split()[1])
        return code, calls, printed, contents(place)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def line_of(program: Program, command: str) -> list[str]:
    return LINES.get(command) or list(command_lines(program, command))[1]


@pytest.mark.parametrize(
    ("program", "command"),
    [
        (program, command)
        for program in (LINT_PROGRAM, TEST_PROGRAM)
        for command in program.commands
        if command not in SERVERS
    ],
    ids=lambda value: value.name if isinstance(value, Program) else value,
)
def test_every_command_ends_when_it_is_interrupted(program: Program, command: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    line = line_of(program, command)
    before = contents(project._start)
    code, calls, printed, after = project.run(program, line, 0)
    assert calls > 1, printed
    assert code != 130
    for part in range(1, times(3, deep=12)):
        at = max(1, calls * part // times(4, deep=13))
        code, made, printed, now = project.run(program, line, at)
        assert code == 130, (at, printed)
        assert made - at < MOST_CALLS, "it went on with its work"
        assert "interrupted" in printed
        assert "Traceback" not in printed
        assert not [word for word in SUCCESS if word in printed]
        half_written = [name for name, data in now.items() if data not in (before.get(name), after.get(name))]
        assert half_written == []
        assert before.keys() <= now.keys()


def test_a_search_over_processes_ends_without_their_tracebacks(tmp_path: Path) -> None:
    """As a terminal does it: all processes get the signal, and none of them but the first says a word."""
    made = workflow(*(step(f"step-{number}") for number in range(40)))
    (tmp_path / "a.json").write_text(json.dumps(made))
    command = [SCRIPTS / "workrail-test", "explore", "a.json", "--runs", "2000", "--jobs", "2", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    ) as child:
        assert child.stderr is not None
        while len(children_of(child.pid)) < 2:  # both are there, whatever they are doing
            assert child.poll() is None
        os.killpg(child.pid, signal.SIGINT)
        printed, said = child.communicate(timeout=600)
    assert child.returncode == 130, said
    assert "interrupted" in said
    assert "Traceback" not in said
    assert not printed or json.loads(printed)["interrupted"] is True


def children_of(process: int) -> list[str]:
    path = Path(f"/proc/{process}/task/{process}/children")
    if not path.exists():
        pytest.skip("the system does not list the children of a process")
    return path.read_text().split()


def test_check_over_processes_ends_without_their_tracebacks(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"w{number}.json").write_text(json.dumps(workflow(step("first"), id=f"w-{number}")))
    command = [SCRIPTS / "workrail-lint", "check", ".", "--jobs", "2", "--no-cache"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    ) as child:
        while not children_of(child.pid):
            assert child.poll() is None
        os.killpg(child.pid, signal.SIGINT)
        printed, said = child.communicate(timeout=600)
    assert (child.returncode, printed) == (130, "")
    assert "interrupted" in said
    assert "Traceback" not in said


def test_the_language_server_ends_while_it_waits(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="pygls is not installed")
    with subprocess.Popen(
        [SCRIPTS / "workrail-lint", "server"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        answer(server, "initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}})
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=600) == 130
        assert server.stderr is not None
        assert b"interrupted" in server.stderr.read()


def test_the_mcp_server_ends_while_it_waits(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    (tmp_path / "a.json").write_text(json.dumps(workflow(step("first"))))
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with subprocess.Popen(
        [SCRIPTS / "workrail-test", "serve", "."],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        assert b"result" in server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=600) == 130
        assert b"interrupted" in server.stderr.read()


def test_servers_are_the_commands_that_wait() -> None:
    """A command that is named here by mistake would not be interrupted at all."""
    assert [name for name in SERVERS if name not in {**LINT_PROGRAM.commands, **TEST_PROGRAM.commands}] == []
