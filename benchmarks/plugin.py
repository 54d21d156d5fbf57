"""What the plugin adds to pytest: to its start, and to collecting many scenarios."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Figure

_PLUGIN = "pytest_workrail.plugin"
_SCENARIOS = 1_000
_ROUNDS = 21
_SCENARIO = """{
  "workflow": "workflow.json",
  "agent": {"kind": "auto", "turns": [{"step": "first-step", "does": "missing_notes"}]},
  "expect": {"status": "complete", "blockers": ["MISSING_REQUIRED_NOTES"]}
}
"""


def run(quick: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "test_one.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
        many = folder / "many"
        many.mkdir()
        for number in range(_SCENARIOS):
            (many / f"case-{number:04}.scenario.json").write_text(_SCENARIO)
        none = folder / "none"
        none.mkdir()
        bare, added = _side_by_side(_command("test_one.py", plugin=False), _command("test_one.py"), folder)
        yield Figure("pytest with one test, bare", bare * 1e3, "ms")
        yield Figure("start-up that the plugin adds to it", added * 1e3, "ms", 40)
        empty, added = _side_by_side(_command("none", "--collect-only"), _command("many", "--collect-only"), folder)
        yield Figure("pytest --collect-only of an empty folder", empty * 1e3, "ms")
        yield Figure(f"collecting {_SCENARIOS:,} scenarios, over that", added, "s", 0.2)


def _command(*arguments: str, plugin: bool = True) -> list[str]:
    """A run of pytest with nothing installed but itself and, if asked for, the plugin."""
    chosen = ["-p", _PLUGIN] if plugin else []
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, *arguments]


def _side_by_side(first: list[str], second: list[str], folder: Path) -> tuple[float, float]:
    """The shortest time of a command, and what another adds to it, in seconds of processor time.

    The two take turns, and the middle of their differences is what counts: a machine with other work to do slows down
    both of a pair, but not all pairs alike.
    """
    times = [(_spent(first, folder), _spent(second, folder)) for _ in range(_ROUNDS)]
    return min(time for time, _ in times), median(other - one for one, other in times)


def _spent(command: list[str], folder: Path) -> float:
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=alone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
