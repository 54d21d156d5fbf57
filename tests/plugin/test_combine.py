"""A suite in parts on several machines, combined, is byte for byte what one machine would have said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from forks import run_program
from plugin_project import Project

from pytest_workrail.plugin.suite_records import read_record

pytestmark = pytest.mark.promise("Writes stay", "records from elsewhere")

WORKFLOW = {
    "id": "demo.two",
    "name": "Two",
    "description": "Two steps.",
    "version": "1.0.0",
    "steps": [
        {"id": "plan", "title": "Plan", "prompt": "Plan it."},
        {"id": "ship", "title": "Ship", "prompt": "Ship it.", "runCondition": {"var": "ready", "equals": True}},
    ],
}
TESTS = """
import pytest

@pytest.mark.enforces("lock-{0}")
def test_{0}(workrail):
    run = workrail.run("two.json", context={{"ready": {1}}})
    assert run.status == "complete"
    run.match_golden()
"""
LOCKS = {
    "lockRegistryVersion": 1,
    "version": "1.0.0",
    "categories": {"protocol": "Tools."},
    "locks": [
        {"id": f"lock-{name}", "category": "protocol", "source": "design.md", "summary": f"{name} holds."}
        for name in "abc"
    ],
}
REPORTS = ["cov.json", "reports/lock-coverage.json", "reports/lock-coverage.md", "reports/lock-closure-plan.md"]
OPTIONS = ["--workrail-cov-json=cov.json", "--workrail-locks=locks.json", "--workrail-lock-report=reports"]


@pytest.fixture
def suite(project: Project) -> Project:
    project.write("two.json", WORKFLOW)
    project.write("design.md", "# Design")
    project.write("locks.json", LOCKS)
    project.write("tests/test_a.py", TESTS.format("a", True))
    project.write("tests/test_b.py", TESTS.format("b", False))
    project.run("tests", "--workrail-golden=new").assert_outcomes(passed=2)
    return project


def _taken(project: Project) -> dict[str, bytes]:
    """What a run wrote, taken away so that the next one starts anew."""
    found = [*(project.path / name for name in REPORTS), *sorted(project.path.rglob("*.pending"))]
    taken = {path.relative_to(project.path).as_posix(): path.read_bytes() for path in found}
    for path in found:
        path.unlink()
    return taken


def _shards(project: Project) -> None:
    """One machine runs one file, the other runs the folder without that file's tests."""
    project.run("tests/test_a.py", "--workrail-locks=locks.json", "--workrail-record=shards/1")
    project.run("tests", "-k", "not test_a", "--workrail-locks=locks.json", "--workrail-record=shards/2")


def _combined(project: Project, *options: str) -> pytest.RunResult:
    return run_program(project.pytester, "workrail-test", "combine", "shards", *options)


def test_parts_together_are_the_whole(suite: Project) -> None:
    assert suite.run("tests", *OPTIONS).ret == 0
    whole = _taken(suite)
    _shards(suite)
    assert list(suite.path.rglob("*.pending")) == []
    result = _combined(suite, *OPTIONS)
    assert result.ret == 0, result.stdout.str()
    assert _taken(suite) == whole
    result.stdout.fnmatch_lines(["2 of 3 locks enforced*"])
    _combined(suite, *OPTIONS, "-vv").stdout.fnmatch_lines(["2 match"])


def test_changes_of_goldens_too_and_failures_stay_failures(suite: Project) -> None:
    suite.write("two.json", json.dumps(WORKFLOW).replace("Plan it.", "Plan all."))
    assert suite.run("tests", *OPTIONS).ret == 1
    whole = _taken(suite)
    assert len(whole) == len(REPORTS) + 2
    _shards(suite)
    for path in suite.path.rglob("*.pending"):
        path.unlink()
    result = _combined(suite, *OPTIONS)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*prompt of 'plan': one word, in 2 runs: tests/test_a/test_a, tests/*test_b/test_b"])
    assert _taken(suite) == whole
    # Nobody approves from a record that is not of a passing test.
    assert _combined(suite, "--workrail-golden=update").ret == 1


def test_a_green_update_on_several_machines_is_written_by_one(suite: Project) -> None:
    suite.write("two.json", json.dumps(WORKFLOW).replace("Plan it.", "Plan all."))
    golden = suite.path / "tests" / "__goldens__" / "test_a" / "test_a.golden.json"
    before = golden.read_bytes()
    for name in "ab":
        suite.run(f"tests/test_{name}.py", "--workrail-golden=update", f"--workrail-record=shards/{name}")
    after = golden.read_bytes()
    assert after != before
    golden.write_bytes(before)
    assert _combined(suite, "--workrail-golden=update").ret == 0
    assert golden.read_bytes() == after


def test_thresholds_hold_for_all_parts_together(suite: Project) -> None:
    _shards(suite)
    assert _combined(suite, "--workrail-locks=locks.json", "--workrail-locks-fail-under=60").ret == 0
    assert _combined(suite, "--workrail-locks=locks.json", "--workrail-locks-fail-under=70").ret == 1


def test_unused_goldens_are_known_when_nothing_was_left_out(suite: Project) -> None:
    unused = suite.path / "tests" / "__goldens__" / "test_a" / "test_gone.golden.json"
    unused.write_bytes((unused.parent / "test_a.golden.json").read_bytes())
    _shards(suite)
    _combined(suite, "--", "tests").stdout.fnmatch_lines(["1 unused *"])
    suite.run("tests", "-k", "nothing", "--workrail-record=shards/2")
    _combined(suite, "--", "tests").stdout.no_fnmatch_line("*unused*")


@pytest.mark.parametrize(
    ("content", "code"), [(None, 3), ("{", 2), ("[]", 2), ('{"version": 99}', 2), ('{"version": 1}', 2)]
)
def test_what_is_no_record_is_told(project: Project, content: str | None, code: int) -> None:
    (project.path / "shards").mkdir()
    if content is not None:
        project.write("shards/workrail-record.json", content)
    result = _combined(project)
    assert result.ret == code
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


_RECORD: dict[str, Any] = {
    "version": 1,
    "exit": 0,
    "failed": 0,
    "ran": ["a.py::t"],
    "deselected": [],
    "coverage": None,
    "locks": None,
    "goldens": None,
}


def _golden(path: str) -> dict[str, Any]:
    return {"a.py::t": {"passed": True, "records": [[path, "missing", "{}"]], "inline": []}}


def _inline(path: str, new: str) -> dict[str, Any]:
    return {"a.py::t": {"passed": True, "records": [], "inline": [[path, [1, 0, 1, 0], "missing", "digest", new]]}}


@pytest.mark.parametrize(
    "damage",
    [
        {"ran": 5},
        {"ran": [5]},
        {"deselected": None},
        {"failed": "x"},
        {"exit": None},
        {"goldens": 5},
        {"goldens": {"x": 5}},
        {"goldens": {"x": {"passed": True, "records": [[1, 2]], "inline": []}}},
        {"goldens": {"x": {"passed": True, "records": [["a", "odd", ""]], "inline": []}}},
        {"goldens": _golden("../outside/__goldens__/x.golden.json")},
        {"goldens": _golden("/outside/x.golden.json")},
        {"goldens": _golden("a/../../x.golden.json")},
        {"goldens": _inline("../test_x.py", "'a'")},
        {"goldens": _inline("test_x.py", "'a') or print('b'")},
        {"coverage": 5},
        {"coverage": [{"x": 1}]},
        {"locks": 5},
        {"locks": {"evidence": [5], "problems": []}},
    ],
    ids=repr,
)
def test_a_damaged_or_hostile_record_is_refused(damage: dict[str, Any], tmp_path: Path) -> None:
    """It comes from another machine: what it names is written by an update, so it names nothing outside."""
    path = tmp_path / "workrail-record.json"
    path.write_text(json.dumps(_RECORD))
    assert read_record(path).is_ok
    path.write_text(json.dumps({**_RECORD, **damage}))
    assert read_record(path).error.startswith(f"{path.as_posix()} is damaged: ")


def test_a_damaged_record_ends_the_command(project: Project) -> None:
    (project.path / "shards").mkdir()
    project.write("shards/workrail-record.json", json.dumps({**_RECORD, "goldens": _golden("../x.golden.json")}))
    result = _combined(project, "--workrail-golden=update")
    assert result.ret == 2
    assert "INTERNALERROR" not in result.stdout.str()
    assert not (project.path.parent / "x.golden.json").exists()


def test_a_bad_command_line_is_two(project: Project) -> None:
    assert _combined(project).ret == 2
    program = (sys.executable, "-m", "pytest_workrail.cli", "combine")
    assert project.pytester.run(*program).ret == 2
    assert project.pytester.run(*program, "--help").ret == 0
