"""Expectations of a scenario: met ones say nothing, each unmet one names the member that is not met."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_workrail import api
from pytest_workrail.agents.agent import Exchange
from pytest_workrail.run.result import Run
from pytest_workrail.scenarios.workflow_driver import turn_expectation, unmet
from workrail_lint.systems.workrail.scenario import Scenario

WORKFLOW: dict[str, Any] = {
    "id": "demo.two_steps",
    "name": "Two steps",
    "description": "d",
    "version": "1.0.0",
    "steps": [{"id": "one", "title": "One", "prompt": "p"}, {"id": "two", "title": "Two", "prompt": "p"}],
}
ARTIFACT = {"kind": "demo.note", "n": 1}


def a_run(**options: Any) -> Run:
    answers = {"one": [{"does": "missing_notes"}, {"notes": "n", "artifacts": [ARTIFACT], "context": {"x": [1]}}]}
    return api.run(WORKFLOW, api.auto(answers), **options)


def faults(expect: dict[str, Any] | None, run: Run) -> list[tuple[str, str]]:
    members = {} if expect is None else {"expect": expect}
    scenario = {"workflow": "w.json", **members}
    Scenario.model_validate(scenario)
    return [(fault.pointer, fault.message) for fault in unmet(scenario, run)]


@pytest.mark.parametrize(
    "expect",
    [
        None,
        {},
        {"status": "complete"},
        {"steps": ["one", "two"]},
        {"blockers": ["MISSING_REQUIRED_NOTES"]},
        {"blockers": [{"code": "MISSING_REQUIRED_NOTES", "step": "one", "message": "requires notes"}]},
        {"gaps": []},
        {"outputs": {"one": {"notes": "n", "artifacts": [ARTIFACT]}, "two": {}}},
        {"outputs": {"two": {"artifacts": []}}},
        {"context": {"x": [1], "y": None}},
    ],
)
def test_what_is_met_says_nothing(expect: dict[str, Any] | None) -> None:
    assert faults(expect, a_run()) == []


@pytest.mark.parametrize(
    ("expect", "pointer", "message"),
    [
        ({"status": "blocked"}, "/expect/status", "status: expected blocked, found complete"),
        ({"steps": ["one"]}, "/expect/steps", "step 2: expected none, found two; all steps: one, two"),
        ({"steps": ["two", "one"]}, "/expect/steps/0", "step 1: expected two, found one; all steps: one, two"),
        ({"steps": ["one", "two", "six"]}, "/expect/steps/2", "step 3: expected six, found none; all steps: one, two"),
        ({"blockers": []}, "/expect/blockers", "blocker 1: expected none, found MISSING_REQUIRED_NOTES"),
        ({"blockers": [{"code": "MISSING_REQUIRED_NOTES", "step": "two"}]}, "/expect/blockers/0/step", 'found "one"'),
        (
            {"blockers": [{"code": "MISSING_REQUIRED_NOTES", "message": "zzz"}]},
            "/expect/blockers/0/message",
            'expected a string that contains "zzz"',
        ),
        ({"gaps": ["missing_required_notes"]}, "/expect/gaps/0", "gap 1: expected missing_required_notes, found none"),
        (
            {"outputs": {"one": {"notes": "m"}}},
            "/expect/outputs/one/notes",
            'notes of step one: expected "m", found "n"',
        ),
        ({"outputs": {"one": {"artifacts": []}}}, "/expect/outputs/one/artifacts", "step one: expected [], found [{"),
        ({"outputs": {"six": {}}}, "/expect/outputs/six", "step six has no stored output"),
        ({"context": {"x": [2]}}, "/expect/context/x", "variable x: expected [2], found [1]"),
        ({"context": {"y": 1}}, "/expect/context/y", "variable y: expected 1, found no value"),
        ({"error": "NOT_FOUND"}, "/expect/error", "the run did not end with an error"),
    ],
)
def test_what_is_not_met_names_its_place(expect: dict[str, Any], pointer: str, message: str) -> None:
    ((where, says),) = faults(expect, a_run())
    assert where == pointer
    assert message in says


def test_gaps_and_errors() -> None:
    gappy = api.run(WORKFLOW, api.auto({"one": {"does": "nothing"}}), "full_auto_never_stop")
    gap = {"detail": "missing_required_notes", "step": "one", "severity": "critical", "summary": "stepId=one"}
    assert faults({"status": "complete_with_gaps", "gaps": [gap]}, gappy) == []
    ((where, _),) = faults({"status": "complete_with_gaps", "gaps": [{**gap, "severity": "info"}]}, gappy)
    assert where == "/expect/gaps/0/severity"
    stubborn = api.run(WORKFLOW, api.stubborn("missing_notes"))
    assert faults({"status": "error", "error": "PRECONDITION_FAILED"}, stubborn) == []
    ((where, says),) = faults({"status": "error", "error": "TIMEOUT"}, stubborn)
    assert (where, says) == ("/expect/error", "error: expected TIMEOUT, found PRECONDITION_FAILED")


def test_a_scenario_that_says_nothing_has_to_complete() -> None:
    ((where, says),) = faults(None, api.run(WORKFLOW, api.stubborn("missing_notes")))
    assert where == "/expect/status"
    assert "expected complete (the default)" in says


PENDING = {"stepId": "two"}
OK: dict[str, Any] = {"kind": "ok", "isComplete": False, "pending": PENDING}
NOTES, LIMIT = "MISSING_REQUIRED_NOTES", "INVARIANT_VIOLATION"
BLOCKED: dict[str, Any] = {**OK, "kind": "blocked", "blockers": {"blockers": [{"code": NOTES}, {"code": LIMIT}]}}
ERROR: dict[str, Any] = {"code": "NOT_FOUND", "message": "m"}


@pytest.mark.parametrize(
    ("expect", "response", "says"),
    [
        ({}, OK, None),
        ({"answer": "ok", "pending": "two"}, OK, None),
        ({"answer": "ok"}, {"workflows": []}, None),
        ({"answer": "blocked", "blockers": [NOTES, LIMIT]}, BLOCKED, None),
        ({"answer": "gated"}, {"kind": "gate_checkpoint"}, None),
        ({"answer": "complete"}, {"kind": "ok", "isComplete": True, "pending": None}, None),
        ({"answer": "error", "code": "NOT_FOUND"}, ERROR, None),
        ({"answer": "blocked"}, OK, "answer: expected blocked, found ok"),
        ({"blockers": [LIMIT]}, BLOCKED, f"blockers: expected {LIMIT}, found {NOTES}, {LIMIT}"),
        ({"blockers": [LIMIT]}, OK, f"blockers: expected {LIMIT}, found none"),
        ({"code": "TIMEOUT"}, ERROR, "error: expected TIMEOUT, found NOT_FOUND"),
        ({"code": "TIMEOUT"}, OK, "error: expected TIMEOUT, found no error"),
        ({"pending": "one"}, OK, "pending step: expected one, found two"),
        ({"pending": "one"}, ERROR, "pending step: expected one, found none"),
    ],
)
def test_expectations_of_a_turn(expect: dict[str, Any], response: dict[str, Any], says: str | None) -> None:
    wrong = turn_expectation(expect)
    assert wrong(Exchange("continue_workflow", {}, response, response is ERROR)) == says
