"""What the plugin adds to pytest: to its start, to one scenario, and to collecting and running many."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Figure, Growth, in_turns, spent
from pytest_workrail.golden.golden_records import BUILD_MACHINE

_PLUGIN = "pytest_workrail.plugin"
_PROJECT = Path(__file__).resolve().parents[1]
_LOCKS = _PROJECT / "pytest_workrail" / "locks" / "locks.json"
_SCENARIO = """{
  "workflow": "../workflow.json",
  "agent": {"kind": "auto", "turns": [{"step": "first-step", "does": "missing_notes"}]},
  "expect": {"status": "complete", "blockers": ["MISSING_REQUIRED_NOTES"]}
}
"""
_WORKFLOW = """{
  "id": "demo.small",
  "name": "Small",
  "description": "Two steps.",
  "version": "1.0.0",
  "steps": [
    {"id": "first-step", "title": "First", "prompt": "Look at the change."},
    {"id": "second-step", "title": "Second", "prompt": "Sum it up."}
  ]
}
"""
# What a scenario about a workflow needs, and pytest does not.
_RUN_PATH = "import pytest_workrail.plugin, pytest_workrail.scenarios.workflow_driver"


def run(quick: bool) -> Iterator[Figure | Growth]:
    rounds = 2 if quick else 9
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    kept = {name: os.environ.pop(name) for name in BUILD_MACHINE if name in os.environ}
    try:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            (folder / "pytest.ini").write_text("[pytest]\n")
            (folder / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
            (folder / "workflow.json").write_text(_WORKFLOW)
            (folder / "none").mkdir()
            shutil.copytree(_PROJECT / "docs", folder / "docs")  # the locks name their sources
            _scenarios(folder, "one", 1)
            yield from _start_up(folder, rounds)
            yield from _many(folder, (25, 50) if quick else (250, 1_000))
    finally:
        os.environ.update(kept)
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]


def _start_up(folder: Path, rounds: int) -> Iterator[Figure]:
    python = [sys.executable, "-c"]
    commands = [
        _command("test_one.py", plugin=False),
        _command("test_one.py"),
        _command("one"),
        [*python, "import pytest"],
        [*python, f"import pytest; {_RUN_PATH}"],
    ]
    bare, loaded, scenario, pytest_alone, run_path = in_turns(commands, folder, rounds)
    yield Figure("pytest with one test, bare", bare * 1e3, "ms")
    yield Figure("start-up that the plugin adds to it", (loaded - bare) * 1e3, "ms", 40)
    yield Figure("importing what a scenario needs, over pytest", (run_path - pytest_alone) * 1e3, "ms", 150)
    yield Figure("one scenario with its golden, times bare pytest", scenario / bare, "x", 1.5)


def _many(folder: Path, sizes: tuple[int, ...]) -> Iterator[Figure | Growth]:
    """Scenario files collected, and run with goldens, coverage and locks."""
    points = []
    for size in sizes:
        _scenarios(folder, "many", size)
        options = ["--workrail-cov", "--workrail-locks", str(_LOCKS)]
        taken = spent(_command("many", *options), folder)
        assert taken.code == 0, taken
        points.append((float(size), taken.processor))
    (empty, collected) = in_turns(
        [_command("none", "--collect-only"), _command("many", "--collect-only")], folder, 2 if sizes[-1] < 1_000 else 5
    )
    yield Figure(f"collecting {sizes[-1]:,} scenarios, over an empty folder", collected - empty, "s", 0.2)
    yield Figure(f"running {sizes[-1]:,} scenarios with coverage and locks", points[-1][1], "s")
    yield Figure("the same, for each", points[-1][1] / sizes[-1] * 1e3, "ms")
    yield Growth("scenario files run", tuple(points))


def _scenarios(folder: Path, name: str, count: int) -> None:
    """Scenario files with their goldens, which are all alike: the run of the first one makes them."""
    goldens = folder / name / "__goldens__"
    goldens.mkdir(parents=True, exist_ok=True)
    first = goldens / "case-0000.golden.json"
    for number in range(count):
        (folder / name / f"case-{number:04}.scenario.json").write_text(_SCENARIO)
        if number == 0 and not first.exists():
            subprocess.run(_command(name, "--workrail-golden=new"), cwd=folder, capture_output=True, check=True)
        elif number:
            shutil.copyfile(first, goldens / f"case-{number:04}.golden.json")


def _command(*arguments: str, plugin: bool = True) -> list[str]:
    """A run of pytest with nothing installed but itself and, if asked for, the plugin."""
    chosen = ["-p", _PLUGIN] if plugin else []
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *arguments]
