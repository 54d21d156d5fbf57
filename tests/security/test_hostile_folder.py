"""A folder full of modules with well-known names: whatever is started in it, none of them runs.

Every Python process, ours and those that it starts, reports itself: how it was started, and all code that it executes.
A `sitecustomize` outside of the folder makes it do so, which `PYTHONPATH` names. Commands and options come from the
programs themselves, so a new one is tried without being named here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from workrail_lint.systems.workrail.rules.samples import step, workflow

TRAPS = (
    *("pytest", "multiprocessing", "pytest_workrail", "workrail_lint", "json", "typing", "subprocess", "argparse"),
    *("sitecustomize", "usercustomize", "conftest", "distributed", "mcp", "pygls", "regex", "yaml", "conf", "test_it"),
)
PROGRAMS = ("git", "node", "python", "python3", "pytest", "workrail-test", "workrail-lint", "sh")
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


class Observed(NamedTuple):
    """What the processes of one command reported."""

    pythons: list[dict[str, Any]]
    ran: list[str]
    started: list[str]

    def violations(self, folder: Path) -> Iterator[str]:
        yield from (f"ran {name}" for name in self.ran)
        yield from (f"ran {path.name}" for path in sorted(folder.rglob("*.ran")))
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
        text = REPORTER.format(folder=str(self.folder), log=str(self.log))
        (self._reporter / "sitecustomize.py").write_text(text)
        (self.folder / "workflows" / "a.json").write_text(json.dumps(workflow(step("first"), step("second"))))
        self.set()

    def set(self) -> None:
        for name in TRAPS:
            for place in (self.folder, self.folder / "workflows", self.folder / "scenarios"):
                (place / f"{name}.py").write_text("open(__file__ + '.ran', 'w').close()\n")
        for name in PROGRAMS:
            path = self.folder / name
            path.write_text('#!/bin/sh\n: > "$0.ran"\n')
            path.chmod(0o755)

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

    def run(self, program: str, *arguments: str, before: Sequence[str] = ()) -> tuple[Observed, str]:
        """Run a command in the folder; what its processes reported, and what it printed."""
        self.log.write_bytes(b"")
        command = [*before, str(Path(sys.executable).parent / program), *arguments]
        with subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                printed, _ = process.communicate()
        return self.observed(), printed.decode(errors="replace")

    def observed(self) -> Observed:
        events = [json.loads(line) for line in self.log.read_text().splitlines()]
        return Observed(
            [event for event in events if "python" in event],
            [event["ran"] for event in events if "ran" in event],
            [event["started"] for event in events if "started" in event],
        )


@pytest.fixture
def trapped(tmp_path: Path) -> Trapped:
    return Trapped(tmp_path)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("workrail-lint", ["init", "new", "--generate"]),
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
