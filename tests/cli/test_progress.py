"""Progress: one line for whoever watches a long command, and not a byte for anybody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from workrail_lint.base import progress, terminal
from workrail_lint.base.progress import Progress, duration, progress_line, tracked
from workrail_lint.systems.workrail.rules.samples import step, workflow

# Runs a command of ours with the delay that its first argument says.
COMMAND = """
import importlib, sys
from workrail_lint.base import progress
progress.DELAY = float(sys.argv[1])
sys.exit(importlib.import_module(sys.argv[2]).main(sys.argv[3:]))
"""
LINT, TEST = "workrail_lint.cli", "pytest_workrail.cli"
SESSIONS = Path(__file__).parents[2] / "fixtures" / "sessions"
# Each command that may take long, and what it counts.
COMMANDS = [
    (LINT, "check workflows --no-cache", "of 20 files"),
    (LINT, "check workflows --diff", "of 20 files"),
    (LINT, "lock --update workflows", "of 20 files"),
    (LINT, "compile workflows", "of 20 workflows"),
    (LINT, "format --check workflows", "of 20 workflows"),
    (LINT, "studio workflows --output page.html", "of 20 files"),
    (TEST, "generate workflows/w0.json", "of 1 workflow"),
    (TEST, "mutate workflows/w0.json --no-cache", "of 9 mutants"),
    (TEST, "explore workflows/w0.json --runs 6", "of 6 runs"),
    (TEST, f"sessions stats --data {SESSIONS}", "of 3 sessions"),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "workflows").mkdir()
    for number in range(20):
        text = (
            json.dumps(
                workflow(step("first"), step("second"), id=f"demo.w{number}", name=f"Workflow {number}"), indent=2
            )
            + "\n"
        )
        (tmp_path / "workflows" / f"w{number}.json").write_text(text)
    return tmp_path


def watched(folder: Path, program: str, line: str, *, delay: float = 0.0, **variables: str) -> str:
    """Return what a terminal gets from a command, on both streams."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm", "XDG_CACHE_HOME": str(folder / "cache"), **variables}
    arguments = ["-c", COMMAND, str(delay), program, *line.split()]
    child = pexpect.spawn(
        sys.executable, arguments, cwd=str(folder), env=environment, timeout=600, encoding="utf-8", dimensions=(24, 60)
    )
    shown = child.read()
    child.close()
    return str(shown)


@pytest.mark.parametrize(("program", "line", "counts"), COMMANDS)
def test_a_long_command_says_how_far_it_is_and_leaves_nothing(
    project: Path, program: str, line: str, counts: str
) -> None:
    shown = watched(project, program, line)
    lines = [part for part in shown.split("\r\x1b[K") if counts in part]
    assert lines, shown
    assert all(len(each) < 60 for each in lines), lines
    assert shown.rindex("\x1b[K") > shown.rindex(counts), "erased at the end"


@pytest.mark.parametrize("variables", [{"CI": "true"}, {"TERM": "dumb"}], ids=str)
def test_nothing_in_ci_and_on_a_dumb_terminal(project: Path, variables: dict[str, str]) -> None:
    shown = watched(project, LINT, "check workflows --no-cache", **variables)
    assert "nothing found" in shown
    assert "\x1b[K" not in shown
    assert "of 20" not in shown


def test_nothing_before_two_seconds(project: Path) -> None:
    shown = watched(project, LINT, "lock --update workflows", delay=1_000)
    assert "20 pinned" in shown
    assert "\x1b[K" not in shown


def test_nothing_into_a_pipe(project: Path) -> None:
    command = [sys.executable, "-c", COMMAND, "0", LINT, "check", "--no-cache", "workflows"]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    ran = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=True, timeout=600)
    assert ran.stderr == "workrail-lint: 20 files checked, nothing found\n"


def test_a_check_of_few_files_does_not_load_it(project: Path) -> None:
    code = (
        "import sys; from workrail_lint.cli import main; sys.stderr.isatty = lambda: True; "
        "main(['check', '--no-cache', 'workflows/w0.json']); sys.exit('workrail_lint.base.progress' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=project, check=False, timeout=600).returncode == 0


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody watches, and need not wait."""
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "DELAY", 0)


def test_what_is_printed_in_between_gets_a_line_of_its_own(at_once: None, capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(2, "file") as shown:
        shown.step()
        terminal.err("a remark")
    written = capsys.readouterr().err
    assert written.startswith("\r\x1b[K1 of 2 files")
    assert written.endswith("\r\x1b[Ka remark\n")
    assert terminal.erase_progress is None


def test_time_passes_while_nothing_gets_done(
    at_once: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.001)
    written = ""
    with Progress(1, "workflow", ticking=True):
        while not written:
            written = capsys.readouterr().err
    assert written.startswith("\r\x1b[K0 of 1 workflow, 1 s so far")
    assert (written + capsys.readouterr().err).endswith("\r\x1b[K")


def _interrupted() -> None:
    for item in tracked([1, 2, 3], "file"):
        if item == 2:
            raise KeyboardInterrupt


def test_an_interrupt_erases_the_line_too(at_once: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupted()
    written = capsys.readouterr().err
    assert "1 of 3 files" in written
    assert written.endswith("\r\x1b[K")
    assert terminal.erase_progress is None


def test_units_that_people_know() -> None:
    lines = {
        (0, 5, "file", 3.0): "0 of 5 files, 3 s so far",
        (120, 500, "file", 2.0): "120 of 500 files, 60 per second, 6 s left",
        (1, 2, "workflow", 60.0): "1 of 2 workflows, 1 per minute, 1 min 0 s left",
        (10, 7_210, "mutant", 20.0): "10 of 7210 mutants, 30 per minute, 4 h 0 min left",
        (5, 5, "run", 2.5): "5 of 5 runs, 2 per second",
    }
    assert {given: progress_line(*given) for given in lines} == lines
    durations = {0.2: "1 s", 59.4: "59 s", 60: "1 min 0 s", 125: "2 min 5 s", 3_780: "1 h 3 min"}
    assert {seconds: duration(seconds) for seconds in durations} == durations
