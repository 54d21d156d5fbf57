"""Team scenarios as files: what is wrong with one, said where it stands, and how a failing one looks."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.scenarios import drivers
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.pointer import resolve
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.team.scenario_check import findings

pytest_plugins = ["pytester"]

GOOD: dict[str, Any] = {
    "team": {
        "mode": "full",
        "session": "2000-01-01_add-login",
        "start": "new",
        "request": {"user_goal": "Add login", "project_type": "web", "constraints": []},
        "flags": {"ui": False, "research": False, "sensitive": ["T-002"], "askOnNotes": True},
        "replies": {
            "SpecAgent/meta": {"output": {"status": "OK"}},
            "Reviewer/T-001#1": {"output": {"status": "BLOCKED"}},
            "Coder/T-001#2": {"fault": "timeout"},
        },
        "defaults": "minimal-ok",
        "corrections": ["Architect"],
        "user": {
            "UD-APPROVE-DESIGN": ["changes-requested: add rate limit", "approved"],
            "UD-REVIEW-STRATEGY": ["Per Batch"],
        },
        "faults": [{"op": "write", "file": "status.json", "nth": 2, "kind": "lost"}],
        "checks": {"cmd: npm test": "pass"},
        "limits": {"steps": 500},
    }
}

STATUS: dict[str, Any] = {"status.json": {}}


def changed(pointer: str, value: Any) -> dict[str, Any]:
    """The good scenario with one member set."""
    scenario: dict[str, Any] = json.loads(json.dumps(GOOD))
    *above, last = pointer.split("/")[1:]
    place = scenario
    for name in above:
        place = place.setdefault(name.replace("~1", "/"), {})
    place[last.replace("~1", "/")] = value
    return scenario


def test_the_shape_that_the_contract_shows(tmp_path: Path) -> None:
    assert list(compile_schema(load_schema("team-scenario")).violations(GOOD)) == []
    assert list(findings(GOOD, str(tmp_path))) == []
    path = tmp_path / "a.scenario.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    played = drivers.play(path, "a.scenario.json")
    assert isinstance(played, Ok)
    assert played.value.faults == ()
    assert played.value.golden is not None
    assert json.loads(played.value.golden)["scenario"] == "a"


@pytest.mark.parametrize(
    ("pointer", "value", "at", "message"),
    [
        ("/team/checks", {"cmd: npm test": "fail"}, "/team/checks/cmd: npm test", "was not used"),
        ("/team/checks", {"cmd: npm": ["pass", "fail"]}, "/team/checks/cmd: npm", "was not used"),
        ("/enforces", ["team-jsononly"], "/enforces/0", "unknown lock team-jsononly; did you mean team-json-only?"),
    ],
)
def test_what_is_said_and_never_happens(tmp_path: Path, pointer: str, value: Any, at: str, message: str) -> None:
    path = tmp_path / "a.scenario.json"
    path.write_text(json.dumps(changed(pointer, value)), encoding="utf-8")
    played = drivers.play(path, "a.scenario.json")
    assert isinstance(played, Ok)
    (fault,) = played.value.faults
    assert fault.pointer == at
    assert message in fault.message


def test_a_lock_of_ones_own_is_not_ours_to_judge(tmp_path: Path) -> None:
    path = tmp_path / "a.scenario.json"
    path.write_text(json.dumps(changed("/enforces", ["my-own-lock"])), encoding="utf-8")
    played = drivers.play(path, "a.scenario.json")
    assert isinstance(played, Ok)
    assert played.value.faults == ()


@pytest.mark.parametrize(
    ("pointer", "value", "name", "at"),
    [
        ("/team/session", "2000-02-30_add-login", "scenario-step-unknown", None),
        ("/team/start", {"resume": "nowhere"}, "scenario-workflow-missing", "/team/start/resume"),
        ("/team/start", {"resume": {"spec.md": ""}}, "scenario-workflow-missing", "/team/start/resume"),
        (
            "/team/start",
            {"resume": {"status.json": {}, "../x": ""}},
            "scenario-step-unknown",
            "/team/start/resume/..~1x",
        ),
        (
            "/team/start",
            {"resume": {"status.json": {}, "status.json/x": ""}},
            "scenario-step-unknown",
            "/team/start/resume/status.json~1x",
        ),
        ("/team/start", {"resume": STATUS, "as": "DONE"}, "scenario-member-ignored", "/team/start/as"),
        (
            "/team/start",
            {"resume": STATUS, "as": "INTAKE_LEAN"},
            "scenario-member-ignored",
            "/team/start/as",
        ),
        (
            "/team/start",
            {"resume": STATUS, "mtimes": {"status.json": "soon"}},
            "scenario-step-unknown",
            "/team/start/mtimes/status.json",
        ),
        (
            "/team/start",
            {"resume": STATUS, "mtimes": {"a.md": "2000-01-01T00:00:00Z"}},
            "scenario-step-unknown",
            "/team/start/mtimes/a.md",
        ),
        ("/team/replies/Coder", {}, "scenario-step-unknown", None),
        ("/team/replies/coder~1T-001", {}, "scenario-step-unknown", None),
        ("/team/replies/Orchestrator~1meta", {}, "scenario-step-unknown", None),
        ("/team/replies/Coder~1T1", {}, "scenario-step-unknown", None),
        ("/team/replies/Coder~1T-001#0", {}, "scenario-step-unknown", None),
        ("/team/replies/Reviewer~1T-001", {}, "scenario-member-ignored", None),
        (
            "/team/replies/QA~1T-001",
            {"text": "x", "output": {}},
            "scenario-member-ignored",
            "/team/replies/QA~1T-001/output",
        ),
        (
            "/team/replies/QA~1T-001",
            {"fault": "error", "text": "x"},
            "scenario-member-ignored",
            "/team/replies/QA~1T-001/text",
        ),
        ("/team/user/UD-X", ["a"], "scenario-step-unknown", None),
        (
            "/team/user/UD-REVIEW-STRATEGY",
            [{"skip": "moot"}],
            "scenario-member-ignored",
            "/team/user/UD-REVIEW-STRATEGY/0",
        ),
        ("/team/corrections", ["Coder"], "scenario-step-unknown", "/team/corrections/0"),
        ("/team/corrections", [["Architect", "QA"]], "scenario-step-unknown", "/team/corrections/0"),
        ("/team/checks", {"npm test": "pass"}, "scenario-member-ignored", "/team/checks/npm test"),
        ("/team/checks", {"manual: look": "pass"}, "scenario-member-ignored", "/team/checks/manual: look"),
        (
            "/team/faults",
            [{"op": "write", "file": "status.json", "nth": 2, "kind": kind} for kind in ("lost", "corrupt")],
            "scenario-member-ignored",
            "/team/faults/1",
        ),
        ("/team/flags/sensitive", ["T1"], "scenario-step-unknown", "/team/flags/sensitive/0"),
        ("/team/repository", {"/etc/x": ""}, "scenario-step-unknown", "/team/repository/~1etc~1x"),
        ("/team/mode", "lean", "scenario-member-ignored", "/team/corrections"),
        ("/expect", {"decisions": {"UD": "pending"}}, "scenario-step-unknown", "/expect/decisions/UD"),
        ("/expect", {"dispatches": ["Coder"]}, "scenario-step-unknown", "/expect/dispatches/0"),
        ("/expect", {"tasks": {"one": "blocked"}}, "scenario-step-unknown", "/expect/tasks/one"),
        ("/golden", False, "scenario-checks-little", "/golden"),
    ],
)
def test_what_a_schema_can_not_say(tmp_path: Path, pointer: str, value: Any, name: str, at: str | None) -> None:
    scenario = changed(pointer, value)
    assert list(compile_schema(load_schema("team-scenario")).violations(scenario)) == []
    (found,) = findings(scenario, str(tmp_path))
    assert (found.name, found.pointer) == (name, at or pointer)
    resolve(scenario, found.pointer)


def written(folder: Path, scenario: Any) -> Path:
    path = folder / "a.scenario.json"
    path.write_text(scenario if isinstance(scenario, str) else json.dumps(scenario, indent=1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("scenario", "pointer"),
    [
        ("{", ""),
        ({"team": {"mode": "fast"}}, "/team/mode"),
        ({"team": {"replies": {"Coder": {}}}}, "/team/replies/Coder"),
    ],
)
def test_files_that_are_no_scenario(tmp_path: Path, scenario: Any, pointer: str) -> None:
    failed = drivers.play(written(tmp_path, scenario), "a.scenario.json")
    assert isinstance(failed, Err)
    assert failed.error.faults[0].pointer == pointer
    missing = drivers.play(tmp_path / "b.scenario.json", "b.scenario.json")
    assert isinstance(missing, Err)


@pytest.mark.parametrize(
    ("team", "expect", "pointer"),
    [
        ({"replies": {"Docs/meta": {}}}, {}, "/team/replies/Docs~1meta"),
        ({"user": {"UD-1": ["a"]}}, {}, "/team/user/UD-1/0"),
        ({"faults": [{"op": "write", "file": "report.md", "nth": 2, "kind": "lost"}]}, {}, "/team/faults/0"),
        ({}, {"finalState": "BLOCKED"}, "/expect/finalState"),
        ({}, {"states": ["INTAKE_LEAN", "DONE"]}, "/expect/states/1"),
        ({}, {"dispatches": ["Coder/T-001"]}, "/expect/dispatches/0"),
        ({}, {"tasks": {"T-001": "blocked"}}, "/expect/tasks/T-001"),
        ({}, {"retryCounts": {"T-001": {"FIX_TESTS": 1}}}, "/expect/retryCounts/T-001"),
        ({}, {"knownIssues": 1}, "/expect/knownIssues"),
        ({}, {"decisions": {"UD-1": "answered"}}, "/expect/decisions/UD-1"),
        ({}, {"blockers": ["TEAM_CI_RED"]}, "/expect/blockers/0"),
        ({}, {"findings": ["TC410"]}, "/expect/findings/0"),
        ({"replies": {"QA/T-001": {"files": {"repo:src/a.py": ""}}}}, {}, "/team"),
    ],
)
def test_runs_that_are_not_as_expected(tmp_path: Path, team: Any, expect: Any, pointer: str) -> None:
    played = drivers.play(written(tmp_path, {"team": {"mode": "lean", **team}, "expect": expect}), "a.scenario.json")
    assert isinstance(played, Ok)
    (fault,) = played.value.faults
    assert fault.pointer == pointer
    assert played.value.happened[0].split() == ["1", "INTAKE_LEAN", "enter_state"]


def test_a_difference_says_what_was_expected_and_what_happened(tmp_path: Path) -> None:
    expect = {
        "states": ["INTAKE_LEAN", "DONE"],
        "tasks": {"T-001": "blocked", "T-002": "blocked"},
        "findings": ["TC410"],
    }
    played = drivers.play(written(tmp_path, {"team": {"mode": "lean"}, "expect": expect}), "a.scenario.json")
    assert isinstance(played, Ok)
    assert [fault.message for fault in played.value.faults] == [
        "state 2: expected DONE, found IMPLEMENT_LOOP; all states: INTAKE_LEAN, IMPLEMENT_LOOP, INTEGRATE, DONE",
        "T-001: expected 'blocked', found 'completed'",
        "T-002: expected 'blocked', found nothing",
        "finding 1: expected TC410, found none; all findings: none",
    ]


@pytest.mark.parametrize(
    ("expect", "pointer"),
    [
        ({"decisions": {"UD-APPROVE-DESIGN": "answered"}}, "/expect/decisions/UD-APPROVE-DESIGN"),
        ({"decisions": {"UD-APPROVE-DESIGN": {"answer": "x"}}}, "/expect/decisions/UD-APPROVE-DESIGN/answer"),
        ({"decisions": {"UD-APPROVE-DESIGN": {"reason": "x"}}}, "/expect/decisions/UD-APPROVE-DESIGN/reason"),
        ({"blockers": [{"code": "TEAM_GATE_DECISION_MISSING", "pointer": {}}]}, "/expect/blockers/0/pointer"),
        ({"blockers": [{"code": "TEAM_GATE_DECISION_MISSING", "message": "zz"}]}, "/expect/blockers/0/message"),
        ({"blockers": [{"code": "TEAM_GATE_DECISION_MISSING", "fix": "zz"}]}, "/expect/blockers/0/fix"),
    ],
)
def test_details_that_are_not_as_expected(tmp_path: Path, expect: Any, pointer: str) -> None:
    team = {"user": {"UD-APPROVE-DESIGN": [{"cancel": "no"}]}}
    played = drivers.play(
        written(tmp_path, {"team": team, "expect": {"finalState": "BLOCKED", **expect}}), "a.scenario.json"
    )
    assert isinstance(played, Ok)
    assert [fault.pointer for fault in played.value.faults] == [pointer]


def test_pytest_collects_them(pytester: pytest.Pytester) -> None:
    installed = any(point.value == "pytest_workrail.plugin" for point in entry_points(group="pytest11"))
    options = [] if installed else ["-p", "pytest_workrail.plugin"]
    written(pytester.path, {"team": {"mode": "lean"}, "expect": {"finalState": "BLOCKED"}, "golden": False})
    good = pytester.path / "b.scenario.json"
    good.write_text(
        json.dumps({"team": {"mode": "lean"}, "golden": False, "expect": {"findings": []}}), encoding="utf-8"
    )
    result = pytester.runpytest_inprocess(*options, "-p", "no:cacheprovider", "-q")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["a.scenario.json:*: final state: expected BLOCKED, found DONE (/expect/finalState)"])
    result.stdout.fnmatch_lines(["*1 INTAKE_LEAN *enter_state"])
