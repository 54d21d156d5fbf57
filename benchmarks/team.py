"""Team sessions: linting a large one cold, and playing them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Figure, best
from pytest_workrail.systems.team import run as play

_FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "team" / "full"
_SESSION = "2026-03-01_add-login-form"
_FILES = 500
_USER = {"UD-APPROVE-DESIGN": ["approved"], "UD-REVIEW-STRATEGY": ["per-batch"]}


def run(quick: bool) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as place:
        yield _lint(Path(place))
    yield Figure("one full session, played and judged", best(lambda: play({"user": _USER})) * 1000, "ms")
    if quick:
        return
    tasks = 10
    many = {
        "user": _USER,
        "replies": {"Planner/meta": {"files": {"tasks.yaml": _plan(tasks)}}},
        "limits": {"steps": 5000},
    }
    found = play(many)
    assert found.final_state == "DONE", found.blockers
    yield Figure(f"a session of {tasks} tasks, played and judged", best(lambda: play(many), 2), "s")


def _lint(folder: Path) -> Figure:
    """The session that ships, with its exchanges repeated until there are so many files."""
    shutil.copytree(_FIXTURE, folder, dirs_exist_ok=True)
    session = folder / ".agents-work" / _SESSION
    exchanges = session / "exchanges"
    recorded = sorted(exchanges.glob("0003-*")) + sorted(exchanges.glob("0002-*"))
    number = 10
    while sum(1 for path in folder.rglob("*") if path.is_file()) < _FILES:
        for path in recorded:
            shutil.copy(path, exchanges / f"{number:04d}{path.name[4:]}")
        number += 1
    count = sum(1 for path in folder.rglob("*") if path.is_file())
    tool = str(Path(sys.executable).parent / "workrail-lint")
    times = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(
            [tool, "check", "--no-cache", "--isolated", ".agents-work"], cwd=folder, capture_output=True, check=False
        )
        times.append(time.perf_counter() - start)
        assert done.returncode == 0, done.stdout.decode()
    return Figure(f"cold check of a session of {count} files", min(times), "s", 3)


def _plan(count: int) -> dict[str, Any]:
    def task(number: int) -> dict[str, Any]:
        ident = f"T-{number:03d}"
        return {
            "id": ident,
            "title": f"Part {number}",
            "type": "feat",
            "status": "not-started",
            "goal": f"Build part {number}",
            "depends_on": [] if number == 1 else [f"T-{number - 1:03d}"],
            "risk_flags": ["none"],
            "non_goals": [],
            "files_expected": [f"src/{ident.lower()}.txt"],
            "context_files": [".agents-work/2000-01-01_simulated-session/spec.md"],
            "acceptance_checks": ["cmd: make test"],
            "done_when": ["AC-001 is met."],
        }

    project = {"name": "Large", "definition_of_done": ["Tested"]}
    return {"project": project, "tasks": [task(number) for number in range(1, count + 1)]}
