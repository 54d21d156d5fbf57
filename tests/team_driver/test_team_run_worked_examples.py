"""The worked examples of the contract that are runs: exactly these events, entries, blockers and findings."""

from __future__ import annotations

from typing import Any

import pytest
from team_plays import (
    APPROVED,
    DECIDED,
    blockers,
    codes,
    decision,
    events,
    folder,
    full,
    gates,
    history,
    played,
    resumed,
    sent,
    status,
)

from pytest_workrail.systems.team import TeamRun
from pytest_workrail.systems.team.session import COMMON

GATE = "UD-APPROVE-DESIGN"
E3_EVENTS: list[dict[str, Any]] = [
    {"n": 8, "event": "enter_state"},
    {"n": 9, "event": "write", "file": "status.json", "set": ["UD-APPROVE-DESIGN=pending"]},
    {"n": 10, "event": "verify", "ok": True},
    {"n": 11, "event": "ask", "decisions": ["UD-APPROVE-DESIGN"]},
    {"n": 12, "event": "user_reply", "decisions": ["UD-APPROVE-DESIGN"]},
    {"n": 13, "event": "write", "file": "approve-design-history.jsonl", "lines": 1},
    {
        "n": 14,
        "event": "write",
        "file": "status.json",
        "set": ["UD-APPROVE-DESIGN=answered", "correction=queued"],
    },
    {"n": 15, "event": "verify", "ok": True},
    {"n": 16, "event": "decision", "id": "UD-APPROVE-DESIGN", "status": "answered"},
    {"n": 17, "event": "correction", "to": "dispatched", "agent": "Architect"},
    {"n": 18, "event": "read_status"},
    {"n": 19, "event": "dispatch", "agent": "Architect", "task": "meta", "attempt": 1},
    {"n": 20, "event": "reply", "agent": "Architect", "status": "OK"},
    {"n": 21, "event": "correction", "to": "completed"},
]
E3_LOCKS = ["team-history-before-overwrite", "team-pending-before-ask", "team-well-known-in-place"]


@pytest.mark.enforces("team-history-before-overwrite", "team-pending-before-ask", "team-well-known-in-place")
def test_e3_approval_with_one_correction() -> None:
    found = played(
        mode="full",
        user={GATE: ["changes-requested: add rate limit", "approved"], "UD-REVIEW-STRATEGY": ["Per Batch"]},
        corrections=["Architect"],
        locks=E3_LOCKS,
    )
    golden = found.golden
    assert golden["trace"][7:21] == [{**event, "state": "APPROVE_DESIGN"} for event in E3_EVENTS]
    assert golden["locks"] == dict.fromkeys(E3_LOCKS, True)
    after = ["write", "verify", "ask", "user_reply", "write", "verify", "decision"]
    assert [event["event"] for event in golden["trace"][21:28]] == after
    assert golden["trace"][21]["set"] == ["UD-APPROVE-DESIGN=pending"]
    assert golden["trace"][28] == {"n": 29, "event": "enter_state", "state": "PLAN"}
    assert len(golden["artifacts"]["approve-design-history.jsonl"]) == 1
    assert found.status["gate_tracking"]["APPROVE_DESIGN"]["correction_status"] == "completed"
    assert [entry["decision_id"] for entry in found.decisions].count(GATE) == 1
    assert golden["findings"] == []
    assert golden["finalState"] == "DONE"


@pytest.mark.enforces("team-gate-reask-three")
def test_e4_strategy_never_given() -> None:
    found = full(user={"UD-REVIEW-STRATEGY": ["later", None, "maybe", "dunno"]})
    assert events(found, "REVIEW_STRATEGY").count("ask") == 4
    assert [entry["decision_id"] for entry in found.decisions] == [GATE, "UD-REVIEW-STRATEGY"]
    entry = found.decisions[1]
    assert (entry["status"], entry["answer"]) == ("cancelled", None)
    assert entry["resolution_reason"] == "no valid answer after 3 re-asks"
    assert found.final_state == "BLOCKED"
    assert found.status["blocker"] == "mandatory_user_decision_missing"
    assert [blocker.to_json() for blocker in found.blockers] == [
        {
            "code": "TEAM_GATE_DECISION_MISSING",
            "pointer": {"kind": "decision", "decisionId": "UD-REVIEW-STRATEGY"},
            "message": "REVIEW_STRATEGY has no valid answer after 3 re-asks",
            "suggestedFix": "Resume and answer per-batch or single-final",
        }
    ]
    assert COMMON[found.blockers[0].code] == "USER_ONLY_DEPENDENCY"
    assert codes(found) == []


E5_SENSITIVE: dict[str, Any] = {
    "flags": {"sensitive": ["T-001"]},
    "replies": {"Security/T-001": {"output": {"status": "NEEDS_DECISION"}}},
}


@pytest.mark.enforces("team-security-no-autocancel", "team-return-by-context")
def test_e5_c_security_asks_until_it_is_answered() -> None:
    locks = ["team-return-by-context", "team-security-no-autocancel"]
    found = played(mode="full", user={**DECIDED, "UD-1": [None, "fix-later"]}, locks=locks, **E5_SENSITIVE)
    asks = [event["decisions"] for event in found.named("ask") if event["state"] == "ASK_USER"]
    assert asks == [["UD-1"], ["UD-1"]]
    entry = found.decisions[2]
    assert (entry["decision_id"], entry["status"], entry["answer"]) == ("UD-1", "answered", "fix-later")
    assert len(found.known_issues) == 1
    at = found.states.index("ASK_USER")
    assert found.states[at + 1] == "IMPLEMENT_LOOP"
    assert found.locks == dict.fromkeys(locks, True)
    assert found.final_state == "DONE"
    assert codes(found) == []


def test_e5_c_a_driver_that_takes_silence_for_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule sees it; here it is an error, because the run knows who asked."""
    from pytest_workrail.systems.team import user_gate as asking

    def careless(ident: str, topic: Any, reply: Any) -> Any:
        if reply is None:
            return asking.QuestionOutcome(ident, topic, asking.D.CANCELLED, None, "no response provided")
        return None

    monkeypatch.setattr(asking, "_outcome", careless)
    found = played(mode="full", user={**DECIDED, "UD-1": [None]}, **E5_SENSITIVE)
    assert [(finding.code, finding.severity.value) for finding in found.findings] == [("TC224", "error")]


@pytest.mark.enforces("team-lean-path")
def test_e6_lean_run() -> None:
    found = played(mode="lean", locks=["team-lean-path"])
    assert found.states == ["INTAKE_LEAN", "IMPLEMENT_LOOP", "INTEGRATE", "DONE"]
    assert sent(found) == ["SpecAgent/meta", "Coder/T-001", "Reviewer/T-001", "QA/T-001"]
    assert found.tasks == {"T-001": "completed"}
    wanted = {"spec.md", "acceptance.json", "tasks.yaml", "status.json", "report.md"}
    assert set(found.artifacts) == wanted
    assert codes(found) == []
    assert found.locks == {"team-lean-path": True}


def test_e6_a_short_spec_without_definition_of_done() -> None:
    spec = "# Spec\n\n## Goals\n\nLogin.\n\n## Acceptance Criteria\n\n- AC-001: it works.\n"
    found = played(mode="lean", replies={"SpecAgent/meta": {"files": {"spec.md": spec}}})
    assert [(finding.code, finding.severity.value) for finding in found.findings] == [("TC410", "warning")]
    assert found.final_state == "DONE"


@pytest.mark.enforces("team-lean-exit")
def test_e6_variant_more_complex_than_lean() -> None:
    reply = {"output": {"status": "BLOCKED", "next": {"recommended_agent": "SpecAgent"}}}
    found = played(mode="lean", user=DECIDED, replies={"Coder/T-001": reply}, locks=["team-lean-exit"])
    assert found.states == [
        "INTAKE_LEAN",
        "IMPLEMENT_LOOP",
        "INTAKE",
        "DESIGN",
        "APPROVE_DESIGN",
        "PLAN",
        "REVIEW_STRATEGY",
        "IMPLEMENT_LOOP",
        "INTEGRATE",
        "RELEASE",
        "DONE",
    ]
    assert found.locks == {"team-lean-exit": True}
    assert codes(found) == []


def dispatched(answer: str = "changes-requested: split module", **members: Any) -> dict[str, Any]:
    """A session that broke off after a correction was sent to the Architect."""
    sent_out = {"agent": "Architect", "task_id": "meta", "at": "2000-01-01T00:00:05Z"}
    tracking = {"correction_status": "dispatched", "last_correction_dispatch": sent_out}
    found = status("APPROVE_DESIGN", *gates(answer, None), gate_tracking={"APPROVE_DESIGN": tracking}, **members)
    return folder(found, **{"approve-design-history.jsonl": history(answer)})


AFTER = {"UD-APPROVE-DESIGN": ["approved"], "UD-REVIEW-STRATEGY": ["per-batch"]}


def e7(mtime: str, **team: Any) -> TeamRun:
    return resumed(dispatched(), start={"mtimes": {"architecture.md": mtime}}, **team)


@pytest.mark.enforces("team-correction-once")
def test_e7_a_the_correction_was_made() -> None:
    found = e7("2000-01-01T00:00:06Z", user=AFTER, locks=["team-correction-once"])
    gate = [event for event in found.events if event["state"] == "APPROVE_DESIGN"]
    assert [event["event"] for event in gate] == [
        "read_status",
        "enter_state",
        "correction",
        "write",
        "verify",
        "ask",
        "user_reply",
        "write",
        "verify",
        "decision",
    ]
    assert gate[2]["to"] == "completed"
    assert gate[3]["set"] == ["UD-APPROVE-DESIGN=pending"]
    assert found.locks == {"team-correction-once": True}
    assert found.final_state == "DONE"
    assert codes(found) == []


def test_e7_b_nothing_shows_that_it_was_made() -> None:
    found = e7("2000-01-01T00:00:04Z")
    assert found.final_state == "BLOCKED"
    assert found.status["blocker"] == "correction_unverified"
    (blocker,) = found.blockers
    assert blocker.code.value == "TEAM_CORRECTION_UNVERIFIED"
    assert blocker.pointer == {"kind": "artifact", "file": "architecture.md"}
    assert "queued" in blocker.suggested_fix
    assert "completed" in blocker.suggested_fix
    assert "dispatch" not in events(found)


@pytest.mark.enforces("team-correction-default-none")
def test_e7_c_no_tracking() -> None:
    answer = "changes-requested: split module"
    files = folder(status("APPROVE_DESIGN", *gates(answer, None)), **{"approve-design-history.jsonl": history(answer)})
    found = resumed(files, user=AFTER, locks=["team-correction-default-none"])
    gate = [event for event in found.events if event["state"] == "APPROVE_DESIGN"]
    assert [event["to"] for event in gate if event["event"] == "correction"] == ["queued", "dispatched", "completed"]
    assert [event["agent"] for event in gate if event["event"] == "dispatch"] == ["Architect"]
    assert found.locks == {"team-correction-default-none": True}
    assert found.final_state == "DONE"


def test_e7_a_driver_that_sends_the_correction_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_workrail.systems.team import orchestrator as resuming
    from pytest_workrail.systems.team import states as designing
    from workrail_lint.systems.team.vocabulary import AgentName

    def again(stage: Any, _: Any) -> Any:
        resuming.dispatch(stage, AgentName.ARCHITECT, "meta")
        return designing.Ok(None)

    monkeypatch.setattr(resuming, "_verified", again)
    found = e7("2000-01-01T00:00:06Z", user=AFTER)
    assert "TC808" in codes(found)
    assert blockers(found) == ["TEAM_PROTOCOL_VIOLATION"]


@pytest.mark.enforces("team-rewrite-without-reask", "team-verify-before-leave")
def test_e8_a_lost_write() -> None:
    fault = {"op": "write", "file": "status.json", "nth": 2, "kind": "lost"}
    locks = ["team-rewrite-without-reask", "team-verify-before-leave"]
    found = played(mode="full", user=DECIDED, faults=[fault], locks=locks)
    gate = [event for event in found.events if event["state"] == "APPROVE_DESIGN"]
    shown = [(event["event"], event.get("ok")) for event in gate]
    assert shown[-6:] == [
        ("user_reply", None),
        ("write", None),
        ("verify", False),
        ("write", None),
        ("verify", True),
        ("decision", None),
    ]
    assert [name for name, _ in shown].count("ask") == 1
    assert found.states[found.states.index("APPROVE_DESIGN") + 1] == "PLAN"
    assert found.locks == dict.fromkeys(locks, True)
    assert codes(found) == []


def lost(first: int, last: int, kind: str = "lost") -> list[dict[str, Any]]:
    return [{"op": "write", "file": "status.json", "nth": nth, "kind": kind} for nth in range(first, last + 1)]


def test_e8_four_lost_writes() -> None:
    found = played(mode="full", user=APPROVED, faults=lost(2, 5))
    assert found.final_state == "BLOCKED"
    assert found.status["blocker"] == "persistence_error"
    (blocker,) = found.blockers
    assert blocker.code.value == "TEAM_PERSISTENCE_FAILED"
    assert blocker.pointer == {"kind": "artifact", "file": "status.json"}
    assert "approved" in blocker.suggested_fix
    assert events(found).count("ask") == 1
    assert [finding.code for finding in found.findings if finding.severity.value == "error"] == []


def test_e8_a_driver_that_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_workrail.systems.team import user_gate as asking

    original = asking._read_back

    def asks(stage: Any, data: bytes, line: bytes | None) -> bool:
        is_stored = original(stage, data, line)
        if not is_stored:
            stage.log.emit("verify", ok=False)
            stage.log.emit("ask", decisions=[GATE])
        return is_stored

    monkeypatch.setattr(asking, "_read_back", asks)
    found = played(mode="full", user=DECIDED, faults=lost(2, 2))
    assert "TC804" in codes(found)


def test_the_folder_that_a_run_leaves_behind_is_clean(tmp_path: Any) -> None:
    """The linter itself, on its own, over a repository that a run has left behind."""
    from workrail_lint import check

    found = played(mode="full", user=DECIDED, keep=tmp_path)
    report = check([tmp_path / ".agents-work"], options={"team-simulated": True})
    assert report.errors == report.warnings == []
    assert len(report.files) == len(found.artifacts) == 6


def test_pending_decisions_of_a_gate_are_not_written_again() -> None:
    files = folder(status("APPROVE_DESIGN", decision(GATE)))
    found = resumed(files, user=AFTER)
    assert events(found, "APPROVE_DESIGN")[:3] == ["read_status", "enter_state", "ask"]
    assert found.final_state == "DONE"
