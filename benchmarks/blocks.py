"""Runs of blocks: linting what a long one left behind cold, and twenty lanes in real worktrees."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.measure import Figure, Growth, grown
from pytest_workrail.systems import blocks
from workrail_lint.systems.blocks.rules.samples import edge, group, node, workflow

_BLOCKS = 166  # an output, an environment and a prompt each
_LANES = [f"lane{number:02}" for number in range(20)]
_FILES = {f"src/part{number % 40:02}/file{number:04}.py": f"value = {number}\n" for number in range(1000)}


def run(quick: bool) -> Iterator[Figure | Growth]:
    sizes = (5, 10, 20) if quick else (5, 10, 20, 40)
    yield grown("lanes", sizes, lambda size: lambda: _play(_side_by_side([f"lane{n:02}" for n in range(size)])), 2)
    if quick:
        return
    with tempfile.TemporaryDirectory() as place:
        yield _lint(Path(place))
    for strategy in ("concatenate", "workspace", "fail-on-conflict"):
        name = f"20 lanes in worktrees of 1,000 files, {strategy}"
        yield Figure(name, _best(lambda strategy=strategy: _lanes(strategy), 1), "s", 10)
    yield Figure("one block, run and judged", _best(lambda: _play(workflow(node("a"))), 5) * 1000, "ms")


def _best(work: Callable[[], object], rounds: int) -> float:
    """The shortest of several rounds by the clock on the wall: most of the work is done by git and the disk."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _play(definition: dict[str, Any], keep: Path | None = None, **block: Any) -> blocks.BlockRun:
    return blocks.run({"name": "benchmark", "block": block}, workflow=definition, keep=keep)


def _lint(folder: Path) -> Figure:
    names = [f"block{number:03}" for number in range(_BLOCKS)]
    edges = [edge(one, other) for one, other in pairwise(names)]
    _play(workflow(*(node(name) for name in names), edges=edges), folder)
    (folder / ".run" / "trace.json").unlink()  # no part of a real run
    count = sum(1 for path in folder.rglob("*") if path.is_file())
    tool = str(Path(sys.executable).parent / "workrail-lint")

    def check() -> None:
        command = [tool, "check", "--no-cache", "--isolated", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode()

    return Figure(f"cold check of a run of {count} files", _best(check, 3), "s", 3)


def _side_by_side(lanes: list[str], role: str = "planner", **members: Any) -> dict[str, Any]:
    made: dict[str, Any] = workflow(*(node(name, role) for name in lanes), parallelGroups=[group(*lanes, **members)])
    return made


def _lanes(strategy: str) -> None:
    shared = next(iter(_FILES))
    replies = {
        name: {"ticks": 20 - at, "write": {shared: f"by {name}\n", f"new/{name}.py": f"{name}\n"}}
        for at, name in enumerate(_LANES)
    }
    definition = _side_by_side(_LANES, "coding", mergeStrategy=strategy)
    choices = {shared: _LANES[3]} if strategy == "fail-on-conflict" else {}
    made = _play(definition, repo={"files": _FILES, "git": "clean"}, replies=replies, conflicts=choices)
    assert made.execution_status == "completed", made.blockers
    assert made.fan_ins[0]["isolation"] == "git-worktree"
