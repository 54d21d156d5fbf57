"""One test for each lock of the team contract: it asserts the thing itself, and that the trace bears witness."""

from __future__ import annotations

from typing import Any

import pytest
from team_plays import (
    DECIDED,
    SINGLE,
    blockers,
    decision,
    events,
    folder,
    full,
    gates,
    history,
    lean,
    played,
    resumed,
    sent,
    status,
    task,
    tasks,
)

from pytest_workrail.systems.team import TeamRun
from pytest_workrail.systems.team.lock_evidence import EVIDENCE
from workrail_lint.systems.team.state_machine import CORE_AGENTS, LEAN_FORBIDDEN

DESIGN, STRATEGY = "UD-APPROVE-DESIGN", "UD-REVIEW-STRATEGY"
REQUEST = "changes-requested: smaller"
BLOCKED = {"output": {"status": "BLOCKED"}}


def entry(found: TeamRun, ident: str) -> dict[str, Any]:
    (only,) = [each for each in found.decisions if each["decision_id"] == ident]
    return only


def witnessed(lock: str, **team: Any) -> TeamRun:
    """A run that claims a lock; that it bears witness to it is part of the claim."""
    found = played(locks=[lock], **team)
    assert found.locks == {lock: True}
    assert found.problems == ()
    return found


@pytest.mark.enforces("team-pending-before-ask")
def test_a_question_is_stored_and_read_back_before_it_is_asked() -> None:
    found = witnessed("team-pending-before-ask", user=DECIDED)
    at = events(found).index("ask")
    before = found.events[at - 2 : at]
    assert [event["event"] for event in before] == ["write", "verify"]
    assert before[0]["set"] == [f"{DESIGN}=pending"]
    assert before[1]["ok"] is True


@pytest.mark.enforces("team-verify-before-leave")
def test_a_gate_is_left_only_with_a_decision_that_is_on_disk() -> None:
    fault = {"op": "write", "file": "status.json", "nth": 2, "kind": "lost"}
    found = witnessed("team-verify-before-leave", user=DECIDED, faults=[fault])
    assert [event["ok"] for event in found.named("verify")][:3] == [True, False, True]
    assert entry(found, DESIGN)["answer"] == "approved"


@pytest.mark.enforces("team-rewrite-without-reask")
@pytest.mark.parametrize("kind", ["io_error", "lost", "corrupt"])
@pytest.mark.parametrize("count", [1, 3])
def test_the_user_does_not_pay_for_a_disk_that_fails(kind: str, count: int) -> None:
    faults = [{"op": "write", "file": "status.json", "nth": 2 + n, "kind": kind} for n in range(count)]
    found = witnessed("team-rewrite-without-reask", user=DECIDED, faults=faults)
    assert events(found, "APPROVE_DESIGN").count("ask") == 1
    assert entry(found, DESIGN)["answer"] == "approved"
    assert found.final_state == "DONE"


@pytest.mark.enforces("team-gate-reask-three")
def test_a_gate_is_given_up_after_three_re_asks() -> None:
    found = witnessed("team-gate-reask-three", user={DESIGN: ["hm", "what?", None, " "]})
    assert events(found).count("ask") == 4
    assert entry(found, DESIGN)["status"] == "cancelled"
    assert found.final_state == "BLOCKED"


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (["changes-requested: a", "x", "y", None, "z"], True),  # a change request is a decision: the count starts anew
        (["x", "y", "changes-requested: a", {"cancel": "enough"}], False),  # four asks, and none of them the fourth
    ],
)
def test_re_asks_are_counted_for_each_decision(answers: list[Any], shown: bool) -> None:
    found = played(user={"UD-APPROVE-DESIGN": answers}, locks=["team-gate-reask-three"])
    assert blockers(found) == ["TEAM_GATE_DECISION_MISSING"]
    assert found.locks == {"team-gate-reask-three": shown}


@pytest.mark.enforces("team-gate-counter-in-memory")
def test_a_resumed_gate_has_all_its_tries_again() -> None:
    files = folder(status("APPROVE_DESIGN", decision(DESIGN)))
    user = {DESIGN: ["hm", "what?", None, "approved"], STRATEGY: ["batch"]}
    found = witnessed("team-gate-counter-in-memory", start={"resume": files}, user=user)
    assert events(found, "APPROVE_DESIGN").count("ask") == 4
    assert found.final_state == "DONE"


@pytest.mark.enforces("team-well-known-in-place")
def test_a_gate_has_one_entry_however_often_it_is_answered() -> None:
    user = {DESIGN: [REQUEST, REQUEST, "approved"], STRATEGY: ["batch"]}
    found = witnessed("team-well-known-in-place", user=user)
    assert [each["decision_id"] for each in found.decisions] == [DESIGN, STRATEGY]
    assert len(found.named("decision")) == 4


@pytest.mark.enforces("team-history-before-overwrite")
def test_the_history_is_written_before_the_decision() -> None:
    found = witnessed("team-history-before-overwrite", user={DESIGN: [REQUEST, "approved"], STRATEGY: ["batch"]})
    writes = [event["file"] for event in found.named("write") if event["state"] == "APPROVE_DESIGN"]
    assert writes == ["status.json", "approve-design-history.jsonl", "status.json", "status.json", "status.json"]
    assert [line["answer"] for line in found.artifacts["approve-design-history.jsonl"]] == [REQUEST]


def correcting(tracking: dict[str, Any] | None) -> dict[str, Any]:
    more = {} if tracking is None else {"gate_tracking": {"APPROVE_DESIGN": tracking}}
    found = status("APPROVE_DESIGN", *gates(REQUEST, None), **more)
    return folder(found, **{"approve-design-history.jsonl": history(REQUEST)})


@pytest.mark.enforces("team-correction-once")
@pytest.mark.parametrize("mtime", ["2000-01-01T00:00:09Z", "2000-01-01T00:00:01Z"])
def test_a_correction_that_was_sent_out_is_not_sent_again(mtime: str) -> None:
    sent_out = {"agent": "Architect", "task_id": "meta", "at": "2000-01-01T00:00:05Z"}
    files = correcting({"correction_status": "dispatched", "last_correction_dispatch": sent_out})
    is_made = mtime > sent_out["at"]
    start = {"resume": files, "mtimes": {"architecture.md": mtime}}
    found = witnessed("team-correction-once", start=start, user=DECIDED if is_made else {})
    assert "Architect/meta" not in sent(found)
    assert found.final_state == ("DONE" if is_made else "BLOCKED")


@pytest.mark.enforces("team-correction-default-none")
def test_a_correction_that_is_not_tracked_is_queued_first() -> None:
    found = witnessed("team-correction-default-none", start={"resume": correcting(None)}, user=DECIDED)
    assert [event["to"] for event in found.named("correction")] == ["queued", "dispatched", "completed"]
    assert sent(found)[0] == "Architect/meta"


@pytest.mark.enforces("team-strategy-canonical")
@pytest.mark.parametrize(("said", "stored"), [("Per Batch", "per-batch"), ("one final review", "single-final")])
def test_a_strategy_is_stored_under_its_own_name(said: str, stored: str) -> None:
    found = witnessed("team-strategy-canonical", user={**DECIDED, STRATEGY: [said]})
    assert entry(found, STRATEGY)["answer"] == stored


@pytest.mark.enforces("team-strategy-reread")
def test_the_strategy_is_read_before_every_review() -> None:
    found = witnessed("team-strategy-reread", user=DECIDED, flags={"sensitive": ["T-001"]})
    reviews = [i for i, e in enumerate(found.events) if e.get("agent") in ("Reviewer", "QA", "Security")]
    before = [found.events[i - 1]["event"] for i in reviews if found.events[i]["event"] == "dispatch"]
    assert before == ["read_status"] * 4


@pytest.mark.enforces("team-security-no-autocancel")
def test_silence_is_no_answer_about_security() -> None:
    replies = {"Security/T-001": {"output": {"status": "NEEDS_DECISION"}}}
    user = {**DECIDED, "UD-1": [None, None, "accept-risk"]}
    flags = {"sensitive": ["T-001"]}
    found = witnessed("team-security-no-autocancel", user=user, replies=replies, flags=flags)
    assert events(found, "ASK_USER").count("ask") == 3
    assert entry(found, "UD-1")["answer"] == "accept-risk"


RESEARCH: dict[str, Any] = {
    "flags": {"research": True},
    "replies": {"Researcher/meta": {"output": {"status": "NEEDS_INFO", "artifacts": {"notes": ["a?", "b?"]}}}},
}


@pytest.mark.enforces("team-partial-reply")
def test_what_is_not_answered_is_cancelled_with_the_reason() -> None:
    found = witnessed("team-partial-reply", user={**DECIDED, "UD-1": [None], "UD-2": ["b"]}, **RESEARCH)
    assert entry(found, "UD-1")["status"] == "cancelled"
    assert entry(found, "UD-1")["resolution_reason"] == "no response provided"
    assert entry(found, "UD-2")["status"] == "answered"
    assert events(found, "ASK_USER").count("ask") == 1


@pytest.mark.enforces("team-return-by-context")
def test_a_question_returns_to_where_it_came_from() -> None:
    found = witnessed("team-return-by-context", user={**DECIDED, "UD-1": ["a"], "UD-2": ["b"]}, **RESEARCH)
    assert found.states[:4] == ["INTAKE", "DESIGN", "ASK_USER", "DESIGN"]
    assert entry(found, "UD-1")["state_context"] == "DESIGN"


@pytest.mark.enforces("team-repair-budget")
@pytest.mark.parametrize(
    ("agent", "loop"), [("Reviewer", "FIX_REVIEW"), ("QA", "FIX_TESTS"), ("Security", "FIX_SECURITY")]
)
def test_after_three_repairs_the_user_is_asked(agent: str, loop: str) -> None:
    replies = {f"{agent}/T-001#{n}": BLOCKED for n in range(1, 5)}
    user = {**DECIDED, "UD-1": ["accept"]}
    found = witnessed("team-repair-budget", user=user, replies=replies, flags={"sensitive": ["T-001"]})
    at = found.states.index("ASK_USER")
    assert found.states[:at].count(loop) == found.states.count(loop) == 3
    assert found.retry_counts == {"T-001": {loop: 3}}


@pytest.mark.enforces("team-dispatch-retry-two")
@pytest.mark.parametrize("failures", [2, 3])
def test_a_dispatch_is_sent_three_times_at_most(failures: int) -> None:
    replies = {f"Planner/meta#{n}": {"fault": "timeout"} for n in range(1, failures + 1)}
    user = DECIDED if failures == 2 else {DESIGN: ["approved"]}
    found = witnessed("team-dispatch-retry-two", user=user, replies=replies)
    tried = [e for e in found.events if e["event"] == "dispatch" and e["agent"] == "Planner"]
    assert [event["attempt"] for event in tried] == [1, 2, 3]
    assert len({event["input"] for event in tried}) == 1
    assert found.final_state == ("DONE" if failures == 2 else "BLOCKED")


@pytest.mark.enforces("team-no-role-takeover")
def test_nobody_does_the_work_of_an_agent_that_failed() -> None:
    replies = {f"Architect/meta#{n}": {"fault": "error"} for n in range(1, 4)}
    found = witnessed("team-no-role-takeover", replies=replies)
    assert found.final_state == "BLOCKED"
    assert blockers(found) == ["TEAM_SUBAGENT_FAILED"]
    assert found.named("write") == []
    assert "architecture.md" not in found.artifacts


@pytest.mark.enforces("team-coder-not-completed")
def test_only_the_orchestrator_completes_a_task() -> None:
    found = witnessed("team-coder-not-completed", user=DECIDED)
    moves = [(event["status"], event.get("by")) for event in found.named("task_status")]
    assert moves == [("in-progress", "Coder"), ("implemented", "Coder"), ("completed", None)]
    own = {"files": {"tasks.yaml": tasks(task(state="completed"))}}
    broken = full(replies={"Coder/T-001": own})
    assert broken.final_state == "BLOCKED"
    assert blockers(broken) == ["TEAM_PROTOCOL_VIOLATION"]


@pytest.mark.enforces("team-final-review")
@pytest.mark.parametrize("user", [DECIDED, SINGLE])
def test_there_is_one_review_across_all_tasks(user: Any) -> None:
    found = witnessed("team-final-review", user=user)
    assert sent(found).count("Reviewer/meta") == 1


@pytest.mark.enforces("team-core-agents")
@pytest.mark.parametrize("user", [DECIDED, SINGLE])
def test_a_full_run_needs_nine_agents(user: Any) -> None:
    plan = {"Planner/meta": {"files": {"tasks.yaml": tasks(task(type="docs"))}}}
    found = witnessed("team-core-agents", user=user, replies=plan)
    assert {each["agent"] for each in found.dispatches} == {agent.value for agent in CORE_AGENTS}


@pytest.mark.enforces("team-lean-path")
def test_a_lean_run_skips_six_agents_and_no_review() -> None:
    found = witnessed("team-lean-path", mode="lean")
    agents = {each["agent"] for each in found.dispatches}
    assert not agents & {agent.value for agent in LEAN_FORBIDDEN}
    assert "Reviewer" in agents
    assert found.final_state == "DONE"


@pytest.mark.enforces("team-lean-exit")
def test_a_lean_run_that_is_more_starts_again() -> None:
    replies = {"Coder/T-001": {"output": {"status": "BLOCKED", "next": {"recommended_agent": "SpecAgent"}}}}
    found = witnessed("team-lean-exit", mode="lean", user=DECIDED, replies=replies)
    assert found.states[:4] == ["INTAKE_LEAN", "IMPLEMENT_LOOP", "INTAKE", "DESIGN"]
    assert found.final_state == "DONE"
    assert lean().final_state == "DONE"


@pytest.mark.enforces("team-json-only")
@pytest.mark.parametrize("reply", [{"fault": "invalid"}, {"text": "Done, everything works."}])
def test_a_reply_is_one_object_and_nothing_else(reply: dict[str, Any]) -> None:
    found = witnessed("team-json-only", user=DECIDED, replies={"Reviewer/T-001#1": reply})
    errors = [event["reason"] for event in found.named("dispatch_error")]
    assert errors == ["invalid"]
    assert [each["attempt"] for each in found.dispatches if each["agent"] == "Reviewer"] == [1, 2, 1]


def test_a_run_bears_witness_to_nothing_that_it_does_not_show() -> None:
    """The shortest lean run has no gate, no question, no repair and no fault, so it proves little."""
    from pytest_workrail.systems.team.lock_evidence import RunEvidence
    from workrail_lint.systems.team.vocabulary import Mode

    found = lean()
    evidence = RunEvidence(list(found.events), found.decisions, {}, Mode.LEAN, False, {})
    shown = {lock for lock in EVIDENCE.checks if EVIDENCE.checks[lock](evidence)}
    assert shown == {"team-coder-not-completed", "team-lean-path", "team-strategy-reread"}
    empty = RunEvidence([], [], {}, Mode.FULL, False, {})
    assert not any(EVIDENCE.checks[lock](empty) for lock in EVIDENCE.checks)


def test_a_scenario_that_claims_what_it_does_not_show_fails() -> None:
    from pytest_workrail.systems.team.scenario import unmet

    scenario = {"team": {"mode": "lean"}, "enforces": ["team-lean-exit", "loop-max-iterations-required"]}
    found = played(mode="lean", locks=list(scenario["enforces"]))
    assert found.locks == {"team-lean-exit": False}, "locks of others are none of this contract's business"
    assert [fault.pointer for fault in unmet(scenario, found)] == ["/enforces/0"]
    assert resumed({"status.json": status("INTAKE_LEAN")}).final_state == "DONE"
