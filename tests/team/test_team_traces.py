"""Rules about the trace of a session, at their edges."""

from __future__ import annotations

from typing import Any

from team_probe import lint_text

from workrail_lint.systems.team.rules.trace_states import at, enter, trace


def found(content: Any) -> list[str]:
    return [finding.code for finding in lint_text(content, "x.trace.json")]


def run(*events: dict[str, Any], **members: Any) -> list[str]:
    return found(trace(*events, **members))


def test_a_question_returns_where_it_came_from() -> None:
    assert run(enter("DESIGN"), enter("ASK_USER"), enter("DESIGN"), resumed=True) == []
    assert run(enter("DESIGN"), enter("ASK_USER"), enter("IMPLEMENT_LOOP"), resumed=True) == ["TC801"]
    assert run(enter("IMPLEMENT_LOOP"), enter("ASK_USER"), enter("FIX_SECURITY"), resumed=True) == []
    assert run(enter("ASK_USER"), enter("DESIGN"), resumed=True) == []


def test_a_lean_run_may_become_full() -> None:
    events = [enter("INTAKE_LEAN"), enter("IMPLEMENT_LOOP"), enter("INTAKE"), enter("DESIGN")]
    assert run(*events, at("DESIGN", "dispatch", agent="Architect", task="meta", attempt=1), mode="lean") == []
    assert run(*events) == ["TC801", "TC801"]


def test_a_gate_resumed_while_pending_needs_no_write() -> None:
    gate = "APPROVE_DESIGN"
    asked = [enter(gate), at(gate, "ask", decisions=["UD-APPROVE-DESIGN"])]
    assert run(*asked) == ["TC802"]
    assert run(*asked, pending=["UD-APPROVE-DESIGN"]) == []


def test_a_write_that_can_not_be_saved_ends_in_blocked() -> None:
    gate = "REVIEW_STRATEGY"
    written = at(gate, "write", file="status.json", set=["UD-REVIEW-STRATEGY=answered"])
    lost = at(gate, "verify", ok=False)
    assert run(enter(gate), *[written, lost] * 4, enter("BLOCKED")) == []
    assert run(enter(gate), *[written, lost] * 5, enter("BLOCKED")) == ["TC804"]


def test_repairs_after_the_user_was_asked_count_anew() -> None:
    loop = [
        enter("FIX_REVIEW"),
        at("FIX_REVIEW", "retry_count", task="T-001", loop="FIX_REVIEW", count=1),
        enter("IMPLEMENT_LOOP"),
    ]
    assert run(enter("IMPLEMENT_LOOP"), *loop * 3, enter("ASK_USER"), *loop) == []


def test_a_final_review_that_was_waived_stays_so() -> None:
    waived = at("ASK_USER", "decision", id="UD-1", status="answered", waives=["Reviewer"], task="meta")
    repaired = [enter("FIX_TESTS"), enter("IMPLEMENT_LOOP"), enter("INTEGRATE")]
    assert run(enter("ASK_USER"), waived, *repaired, resumed=True) == []
    assert run(enter("ASK_USER"), *repaired, resumed=True) == ["TC812"]


def test_a_gate_is_not_given_up_unasked_or_unread() -> None:
    gate, ident = "APPROVE_DESIGN", "UD-APPROVE-DESIGN"
    write = at(gate, "write", file="status.json", set=[f"{ident}=cancelled"])
    closed = at(gate, "decision", id=ident, status="cancelled")
    verify = at(gate, "verify", ok=True)
    assert run(enter(gate), write, verify, closed, enter("BLOCKED")) == ["TC804"]
    refused = [at(gate, "ask", decisions=[ident]), at(gate, "user_reply", decisions=[ident], cancel=[ident])]
    assert run(enter(gate), *refused, write, verify, closed, enter("BLOCKED"), pending=[ident]) == []
    assert run(enter(gate), *refused, write, closed, enter("BLOCKED"), pending=[ident]) == ["TC802"]


def test_a_loop_is_counted_by_its_entries() -> None:
    """With the count or without: who was sent off says which task it was for."""
    loop = [enter("FIX_TESTS"), at("FIX_TESTS", "dispatch", agent="Coder", task="T-001"), enter("IMPLEMENT_LOOP")]
    other = [enter("FIX_TESTS"), at("FIX_TESTS", "dispatch", agent="Coder", task="T-002"), enter("IMPLEMENT_LOOP")]
    assert run(enter("IMPLEMENT_LOOP"), *loop * 3, *other) == []
    assert run(enter("IMPLEMENT_LOOP"), *loop * 4) == ["TC804"]
    assert run(enter("IMPLEMENT_LOOP"), *loop * 3, enter("ASK_USER"), *loop) == []


def test_a_lean_intake_excuses_artifacts_alone() -> None:
    for file, told in (("spec.md", []), ("repo:src/a.py", ["TC809"])):
        assert run(enter("INTAKE_LEAN"), at("INTAKE_LEAN", "write", file=file), mode="lean") == told


def test_without_a_session_no_folder_is_another() -> None:
    wrote = at("PLAN", "write", file="repo:.agents-work/2026-03-01_add-login/tasks.yaml", by="Planner")
    own = at("PLAN", "write", file=wrote["file"])
    assert run(enter("PLAN"), wrote, own) == []
    assert run(enter("PLAN"), wrote, session="2026-04-01_add-more") == ["TC809"]


def test_agents_that_do_not_exist_are_not_required() -> None:
    work = [at("IMPLEMENT_LOOP", "dispatch", agent="Reviewer", task="T-001", attempt=1)]
    work += [at("IMPLEMENT_LOOP", "reply", agent="Reviewer", status="OK")]
    done = at("IMPLEMENT_LOOP", "task_status", task="T-001", status="completed")
    assert run(*work, done, required={"T-001": ["Nobody", 3, []]}, mode="lean") == []
    assert run(*work, done, required={"T-001": ["Nobody", "Security"]}, mode="lean") == ["TC811"]
    assert run(*work, done, required={"T-001": "Security"}, mode="lean") == []


def test_an_unknown_event_is_not_what_a_run_did_last() -> None:
    events = [enter("INTAKE"), at("INTAKE", "read_status"), at("INTAKE", "coffee"), {"event": None}, enter("PLAN")]
    (finding,) = lint_text(trace(*events), "x.trace.json")
    assert (finding.code, finding.pointer) == ("TC801", "/trace/4")
    assert finding.message == "PLAN can't follow INTAKE after the event 'read_status'"


def test_an_odd_trace_is_no_trouble() -> None:
    assert run({"event": 3}, {"event": "enter_state", "state": []}, {}) == []
    assert found({"trace": [1, None, "x"], "mode": 7}) == []
    assert found("[]") == ["TC004"]
