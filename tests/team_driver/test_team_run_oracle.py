"""The rules about traces and sessions as an oracle for the driver: break it in any way they know, and they see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from team_plays import DECIDED, SINGLE, codes, events, folder, gates, history, played, resumed, status, task, tasks

from pytest_workrail.locks.sabotage import load_sabotages
from pytest_workrail.systems.team import TeamRun, run_state
from pytest_workrail.systems.team import dispatch as dispatching
from pytest_workrail.systems.team import states as building
from pytest_workrail.systems.team import states as releasing
from pytest_workrail.systems.team import user_gate as asking
from workrail_lint.base.result import Ok
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.state_machine import LIMITS
from workrail_lint.systems.team.vocabulary import AgentName, FixLoop, WorkflowState

ROOT = Path(__file__).resolve().parents[2]
SABOTAGES = {sabotage.name: sabotage for sabotage in load_sabotages(["tests/sabotages/team.py"], ROOT)}
BLOCKED = {"output": {"status": "BLOCKED"}}
DONE = {"files": {"tasks.yaml": tasks(task(state="completed"))}}
LOST = [{"op": "write", "file": "status.json", "nth": 2, "kind": "lost"}]
DECIDE: dict[str, Any] = {
    "flags": {"sensitive": ["T-001"]},
    "replies": {"Security/T-001": {"output": {"status": "NEEDS_DECISION"}}},
}


@pytest.mark.parametrize(
    ("name", "team", "code"),
    [
        ("questions-are-stored-with-their-answers", {"user": DECIDED}, "TC802"),
        ("nothing-is-read-back", {"user": DECIDED, "faults": LOST}, "TC709"),
        ("the-user-pays-for-the-disk", {"user": DECIDED, "faults": LOST}, "TC802"),
        (
            "every-question-gets-a-new-entry",
            {"user": {**DECIDED, "UD-APPROVE-DESIGN": ["changes-requested: a", "ok"]}},
            "TC202",
        ),
        ("the-status-is-read-once", {"user": DECIDED}, "TC814"),
        ("silence-cancels-everything", {"user": {**DECIDED, "UD-1": [None]}, **DECIDE}, "TC224"),
        ("questions-lead-to-the-beginning", {"user": {**DECIDED, "UD-1": ["accept-risk"]}, **DECIDE}, "TC801"),
        ("answers-are-stored-as-they-come", {"user": {**DECIDED, "UD-REVIEW-STRATEGY": ["Per Batch"]}}, "TC217"),
        (
            "anybody-completes-tasks",
            {"user": DECIDED, "replies": {"Coder/T-001": {"files": {"tasks.yaml": tasks(task(state="completed"))}}}},
            "TC811",
        ),
        ("nobody-looks-across", {"user": DECIDED}, "TC812"),
        ("the-final-review-is-all-there-is", {"user": DECIDED}, "TC812"),
        ("lean-work-is-not-reviewed", {"mode": "lean"}, "TC811"),
        (
            "the-orchestrator-does-it-itself",
            {"user": DECIDED, "replies": {f"Architect/meta#{n}": {"fault": "error"} for n in (1, 2, 3)}},
            "TC809",
        ),
    ],
)
def test_a_sabotage_is_seen_by_a_rule(name: str, team: dict[str, Any], code: str) -> None:
    before = played(**team)
    with SABOTAGES[name].applied():
        broken = played(**team)
    assert code not in {finding.code for finding in before.findings} or name == "anybody-completes-tasks"
    assert code in codes(broken)


Patch = Callable[[pytest.MonkeyPatch], None]


def limits(module: Any, **changes: int) -> Patch:
    return lambda patch: patch.setattr(module, "LIMITS", LIMITS._replace(**changes))


def no_read_back(patch: pytest.MonkeyPatch) -> None:
    """Decisions are written, and nobody looks whether they are there."""

    def commit(scene: Any, wanted: Any) -> Any:
        found = scene.store.status()
        wanted.change(found)
        scene.store.save_status(found)
        scene.log.emit("write", file="status.json", set=wanted.labels)
        return Ok(None)

    patch.setattr(asking, "commit", commit)


def repairs_without_asking(patch: pytest.MonkeyPatch) -> None:
    def follow(scene: Any, questions: Any, output: Any, otherwise: Any) -> Any:
        return building.repair(scene, FixLoop.FIX_SECURITY, "T-001", output)

    patch.setattr(building, "_follow", follow)


def docs_in_lean(patch: pytest.MonkeyPatch) -> None:
    original = releasing.run_checks

    def run_checks(scene: Any) -> Any:
        dispatching.dispatch(scene, AgentName.DOCS, "meta")
        return original(scene)

    patch.setattr(releasing, "run_checks", run_checks)


def short_message(patch: pytest.MonkeyPatch) -> None:
    original = dispatching.message
    patch.setattr(dispatching, "message", lambda *given, **named: original(*given, **named)[1:])


def other_input(patch: pytest.MonkeyPatch) -> None:
    """What is sent again is made anew, with what has changed since."""
    original = dispatching._Dispatch.attempt

    def attempt(self: Any, number: int, check: Any) -> Any:
        self._input = None
        self.session.memory.last_failed = str(number)
        return original(self, number, check)

    patch.setattr(dispatching._Dispatch, "attempt", attempt)


def skipped_state(patch: pytest.MonkeyPatch) -> None:
    original = run_state.SessionState.enter

    def enter(self: Any, state: WorkflowState, slug: Any = None) -> None:
        if state is not WorkflowState.APPROVE_DESIGN:
            original(self, state, slug)

    patch.setattr(run_state.SessionState, "enter", enter)


def promoted_first(patch: pytest.MonkeyPatch) -> None:
    original = building._build

    def build(scene: Any, item: Any) -> Any:
        built = original(scene, item) if item.status != "not-started" else None
        if built is None:
            dispatching.dispatch(scene, AgentName.CODER, item.id)
            scene.memory.required[item.id] = ["QA"]
            dispatching.dispatch(scene, AgentName.REVIEWER, item.id)
            building._promote(scene, item)
        return Ok(scene.state)

    patch.setattr(building, "_build", build)


UNREACHABLE = {f"SpecAgent/meta#{n}": {"fault": "error"} for n in range(1, 6)}
MANY = {f"Reviewer/T-001#{n}": BLOCKED for n in range(1, 7)}


@pytest.mark.parametrize(
    ("patch", "team", "code"),
    [
        (skipped_state, {"user": DECIDED}, "TC801"),
        (no_read_back, {"user": DECIDED}, "TC802"),
        (limits(asking, reasks=5), {"user": {"UD-APPROVE-DESIGN": ["a", "b", "c", "d", "e", "f"]}}, "TC804"),
        (limits(asking, reasks=1), {"user": {"UD-APPROVE-DESIGN": ["a", "b"]}}, "TC804"),
        (
            limits(asking, rewrites=6),
            {"user": DECIDED, "faults": [{**LOST[0], "nth": n} for n in range(2, 7)]},
            "TC804",
        ),
        (
            limits(dispatching, dispatch_retries=4),
            {"replies": {f"SpecAgent/meta#{n}": {"fault": "error"} for n in range(1, 6)}},
            "TC804",
        ),
        (other_input, {"user": DECIDED, "replies": {"Planner/meta#1": {"fault": "error"}}}, "TC804"),
        (limits(building, repairs=5), {"user": {**DECIDED, "UD-1": ["accept"]}, "replies": MANY}, "TC804"),
        (promoted_first, {"user": DECIDED}, "TC811"),
        (docs_in_lean, {"mode": "lean"}, "TC812"),
        (repairs_without_asking, {"user": DECIDED, **DECIDE}, "TC817"),
        (short_message, {"user": DECIDED}, "TC819"),
    ],
)
def test_a_broken_driver_is_seen_by_a_rule(patch: Patch, team: Any, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    patch(monkeypatch)
    broken = played(**team)
    assert code in codes(broken)
    if code.startswith("TC8"):
        assert "TEAM_PROTOCOL_VIOLATION" in {blocker.code.value for blocker in broken.blockers}


def test_every_rule_about_traces_has_seen_something() -> None:
    """TC808, TC809 and TC809 are shown by the worked examples and the scenarios that ship."""
    shown = {"TC808", "TC809"}
    for mark in (test_a_sabotage_is_seen_by_a_rule, test_a_broken_driver_is_seen_by_a_rule):
        shown |= {case[2] for case in mark.pytestmark[0].args[1]}  # type: ignore[attr-defined]
    assert {rule.code for rule in RULES.rules() if rule.code.startswith("TC8")} <= shown


def test_a_driver_that_keeps_to_the_contract_is_never_accused() -> None:
    runs: list[TeamRun] = [
        played(mode="lean"),
        played(user=DECIDED),
        played(user=SINGLE),
        resumed(
            folder(
                status("APPROVE_DESIGN", *gates("changes-requested: a", None)),
                **{"approve-design-history.jsonl": history("changes-requested: a")},
            ),
            user=DECIDED,
        ),
    ]
    for found in runs:
        assert [finding.code for finding in found.findings] == []
        assert events(found)[-1] == "end"
