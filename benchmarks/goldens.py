"""Goldens: what a check costs a test, and that parallel updates lose none."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import to_builtins

from benchmarks.measure import Figure, Growth, counts_instructions, instructions
from pytest_workrail.golden.golden_records import BUILD_MACHINE

_PROJECT = Path(__file__).resolve().parents[1]
_COMMAND = [sys.executable, "-m", "pytest"]
_ENVIRONMENT = {"PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
_OPTIONS = "-q -p no:workrail -p pytest_workrail.plugin -p no:cacheprovider -p no:hypothesispytest"
# Tests get their run from a file: neither side pays for an engine, so that the golden is all the difference.
_CONFTEST = """
import json
from pathlib import Path
import pytest
from pytest_workrail.agents.agent import Exchange, Transcript

@pytest.fixture(scope="session")
def made():
    data = json.loads(Path(__file__).with_name("run.json").read_bytes())
    exchanges = tuple(Exchange(**each) for each in data.pop("exchanges"))
    return Transcript(**data | {"exchanges": exchanges, "visits": (), "choices": ()})
"""
_TEST = """
import pytest
from pytest_workrail.golden.plugin import check_golden

pytestmark = pytest.mark.workrail

@pytest.mark.parametrize("number", range({count}))
def test_each(made, request, number):
    assert made.final["status"] == "complete"
    {check}
"""
_CHECK = "check_golden(request.config, request.node.nodeid, made)"
_MARKED = """
    from msgspec.structs import replace
    final = {{**made.final, "version": {version}, "number": number}}
    check_golden(request.config, request.node.nodeid, replace(made, final=final))
"""
_UPDATED = 400
_LIMIT = 1.2  # what a test with a golden may cost, as a multiple of the bare test


def run(quick: bool) -> Iterator[Figure | Growth]:
    yield from _checks(300 if quick else 1_000, quick)
    if not quick:
        with tempfile.TemporaryDirectory() as folder:
            yield _updates(Path(folder), 2)


def _checks(most: int, quick: bool) -> Iterator[Figure | Growth]:
    """The same tests with and without a golden, by processor time and instructions of the whole process.

    The promise is about instructions where they can be counted: times differ too much from run to run.
    """
    is_counted = counts_instructions()
    rounds = 1 if quick or is_counted else 3
    points = []
    with tempfile.TemporaryDirectory() as folder:
        bare, checked = Path(folder) / "bare", Path(folder) / "checked"
        _suite(checked, _TEST.format(count=1, check=_CHECK))
        _pytest(checked, "--workrail-golden=new")
        (golden,) = (checked / "__goldens__" / "test_it").iterdir()
        for count in (most // 4, most // 2, most):
            _suite(checked, _TEST.format(count=count, check=_CHECK))
            for number in range(1, count):  # all tests see the same run
                shutil.copyfile(golden, golden.with_name(golden.name.replace("[0]", f"[{number}]")))
            points.append((float(count), _pytest(checked)))
        _suite(bare, _TEST.format(count=most, check="pass"))
        times = [(_pytest(bare), _pytest(checked)) for _ in range(rounds)]
        without, with_golden = (min(each) for each in zip(*times, strict=True))
        yield Figure(f"{most} tests without a golden", without * 1000, "ms")
        yield Figure(f"{most} small goldens checked", with_golden * 1000, "ms")
        limit = None if is_counted else _LIMIT
        yield Figure("checking a golden, times the bare test", with_golden / without, "x", limit)
        if is_counted and not quick:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                of_bare, of_checked = pool.map(_counted, (bare, checked))
            yield Figure("the same by instructions", of_checked / of_bare, "x", _LIMIT)
    yield Growth("goldens", tuple(points))


def _updates(folder: Path, updates: int) -> Figure:
    """How many goldens do not hold the last word after a parallel update, summed over all updates."""
    lost = 0
    for version in range(updates):
        _suite(folder, _TEST.format(count=_UPDATED, check=_MARKED.format(version=version)))
        _pytest(folder, "-n", "4", "--workrail-golden=update")
        goldens = list((folder / "__goldens__" / "test_it").glob("*.golden.json"))
        lost += _UPDATED - sum(f'"version": {version}\n'.encode() in path.read_bytes() for path in goldens)
    return Figure(f"goldens lost in {updates} parallel updates of {_UPDATED}", lost, "", 0)


def _small_run() -> str:
    """A run through two steps: three responses."""
    from pytest_workrail.api import run

    steps = [{"id": f"step-{n}", "title": f"Step {n}", "prompt": f"Do part {n}."} for n in (1, 2)]
    head = {"id": "small-one", "name": "Small", "description": "Two steps.", "version": "1.0.0"}
    return json.dumps(to_builtins(run({**head, "steps": steps}).transcript) | {"visits": [], "choices": []})


def _suite(folder: Path, tests: str) -> None:
    folder.mkdir(exist_ok=True)
    if not (folder / "run.json").exists():
        (folder / "run.json").write_text(_small_run(), encoding="utf-8")
    (folder / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {_OPTIONS}\nmarkers = workrail: a\n", encoding="utf-8")


def _counted(folder: Path) -> float:
    """Run pytest in a folder; the instructions it took, in millions."""
    return instructions(_COMMAND, folder, _ENVIRONMENT)


def _pytest(folder: Path, *arguments: str) -> float:
    """Run pytest in a folder; the processor time it took, in seconds."""
    outside = {name: value for name, value in os.environ.items() if name not in BUILD_MACHINE}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*_COMMAND, *arguments],
        cwd=folder,
        env={**outside, **_ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(f"the suite failed:\n{done.stdout}{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
