"""Whole conversations under profile locked: limits, decisions, capabilities, approvals, divergences."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_bench import NEVER_STOP, Bench, quiet, workflow

from pytest_workrail.engine.model.events import CapabilityObserved, DivergenceRecorded
from pytest_workrail.engine.model.reasons import UserOnlyDependency, user_dependency

LOOP_CONTROL = "wr.contracts.loop_control"
GO = {"kind": "wr.loop_control", "decision": "continue", "loopId": "refine"}
STOP = {"kind": "wr.loop_control", "decision": "stop", "loopId": "refine"}


def locked(*authored: dict[str, Any]) -> Bench:
    return Bench(*authored, profile="locked")


def refine(*body: dict[str, Any], limit: int, **members: Any) -> dict[str, Any]:
    """The loop of these conversations, driven by an artifact."""
    source = {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": "refine"}
    return {
        "id": "refine",
        "type": "loop",
        "title": "Refine",
        "loop": {"type": "while", "maxIterations": limit, "conditionSource": source},
        "body": list(body),
        **members,
    }


def limited() -> dict[str, Any]:
    decide = quiet("decide", outputContract={"contractRef": LOOP_CONTROL})
    return workflow("limited", refine(quiet("draft"), decide, limit=1), quiet("ship"))


# A decision step that is left out, so that the loop has neither a decision nor a gate.
NO_DECISION = quiet("decide", runCondition={"var": "never"}, outputContract={"contractRef": LOOP_CONTROL})


def undecided(*more: dict[str, Any], limit: int = 3) -> dict[str, Any]:
    return workflow("undecided", refine(quiet("draft"), *more, NO_DECISION, limit=limit), quiet("ship"))


def gated(*more: dict[str, Any], limit: int = 3) -> dict[str, Any]:
    """No step of the body decides, so that the compiler adds one that does."""
    return workflow("gated", refine(quiet("draft"), *more, limit=limit), quiet("ship"), metricsProfile="coding")


def only_blocker(answer: dict[str, Any]) -> dict[str, Any]:
    (blocker,) = answer["blockers"]["blockers"]
    assert isinstance(blocker, dict)
    return blocker


LIMIT = {"loopId": "refine", "iteration": 1, "maxIterations": 1}


def test_a_loop_at_its_limit_blocks() -> None:
    bench = locked(limited())
    bench.start()
    bench.advance("CT1")
    blocked = bench.go("CT2", artifacts=[GO])
    assert (blocked["kind"], blocked["pending"]["stepId"], blocked["retryable"]) == ("blocked", "decide", True)
    assert only_blocker(blocked) == {
        "code": "INVARIANT_VIOLATION",
        "pointer": {"kind": "workflow_step", "stepId": "refine"},
        "message": "Loop 'refine' would start iteration 1 but is limited to 1.",
        "suggestedFix": "⟪FIX⟫",
        "details": LIMIT,
    }
    accepted = bench.go(blocked["retryContinueToken"].strip("«»"), artifacts=[STOP])
    assert (accepted["kind"], accepted["pending"]["stepId"]) == ("step", "ship")
    assert bench.log(9) == (
        "9:advance_recorded 10:node_created(blocked_attempt) 11:edge_created(intentional_fork) "
        "12:node_output_appended 13:advance_recorded 14:validation_performed 15:decision_trace_appended "
        "16:node_created(step) 17:edge_created(intentional_fork) 18:node_output_appended"
    )


def test_a_loop_at_its_limit_is_left_with_a_gap_when_the_run_never_stops() -> None:
    bench = locked(limited())
    bench.start(preferences={"autonomy": "full_auto_never_stop"})
    bench.advance("CT1")
    answer = bench.go("CT2", artifacts=[GO])
    assert (answer["kind"], answer["pending"]["stepId"]) == ("step", "ship")
    (gap,) = bench.gaps()
    assert {name: gap[name] for name in ("severity", "reason", "summary", "details")} == {
        "severity": "critical",
        "reason": {"category": "unexpected", "detail": "invariant_violation"},
        "summary": "Loop limit reached: refine (iteration=1, maxIterations=1)",
        "details": LIMIT,
    }


def test_a_counted_loop_blocks_until_its_count_fits() -> None:
    body = [quiet("pass-one")]
    loop = {"id": "rounds", "type": "loop", "title": "Rounds", "body": body}
    counted = {**loop, "loop": {"type": "for", "count": "n", "maxIterations": 2}}
    for count in (2, 3):
        bench = locked(workflow("counted", counted, quiet("ship")))
        bench.start(initialContext={"n": count})
        bench.advance("CT1")
        answer = bench.advance("CT2")
        if count == 2:
            assert answer["pending"]["stepId"] == "ship"
            continue
        assert only_blocker(answer)["details"] == {"loopId": "rounds", "iteration": 2, "maxIterations": 2}
        retried = bench.advance(answer["retryContinueToken"].strip("«»"), context={"n": 2})
        assert retried["pending"]["stepId"] == "ship"


@pytest.mark.parametrize(
    ("submitted", "code", "issues"),
    [
        ([], "MISSING_REQUIRED_OUTPUT", None),
        ([{"kind": "wr.loop_control", "decision": "stop"}], "INVALID_REQUIRED_OUTPUT", ["loopId: Required"]),
        (
            [{"kind": "wr.loop_control", "decision": "stop", "loopId": "other"}],
            "INVALID_REQUIRED_OUTPUT",
            ['loopId: Invalid literal value, expected "refine"'],
        ),
    ],
)
def test_a_loop_without_a_usable_decision_blocks(submitted: list[Any], code: str, issues: list[str] | None) -> None:
    bench = locked(undecided())
    bench.start()
    blocked = bench.advance("CT1", artifacts=submitted)
    blocker = only_blocker(blocked)
    assert (blocker["code"], blocker["pointer"]) == (code, {"kind": "output_contract", "contractRef": LOOP_CONTROL})
    assert blocker["details"] == {"loopId": "refine", "iteration": 0}
    assert blocked.get("validation", {}).get("issues") == issues
    assert ("validation_performed" in bench.log()) == (issues is not None)


def test_a_decision_starts_the_next_iteration() -> None:
    bench = locked(undecided())
    bench.start()
    assert bench.go("CT1", artifacts=[GO])["pending"]["stepId"] == "draft"


def test_a_decision_of_an_earlier_step_counts_for_its_iteration_only() -> None:
    bench = locked(undecided(quiet("later")))
    bench.start()
    assert bench.go("CT1", artifacts=[GO])["pending"]["stepId"] == "later"
    assert bench.advance("CT2")["pending"]["stepId"] == "draft"
    assert bench.advance("CT3")["pending"]["stepId"] == "later"
    blocked = bench.advance("CT4")
    assert only_blocker(blocked)["details"] == {"loopId": "refine", "iteration": 1}
    # What was submitted with the blocked attempt itself is not part of the iteration.
    assert bench.go(blocked["retryContinueToken"].strip("«»"), artifacts=[STOP])["pending"]["stepId"] == "ship"


def test_a_decision_of_a_branch_left_behind_does_not_count() -> None:
    bench = locked(undecided(quiet("later")))
    bench.start()
    bench.go("CT1", artifacts=[GO])
    again = bench.look("CT1")
    on_branch = bench.advance(again["continueToken"].strip("«»"))
    assert bench.advance(on_branch["continueToken"].strip("«»"))["kind"] == "blocked"


def test_a_loop_that_nobody_can_decide_at_the_start() -> None:
    never = quiet("draft", runCondition={"var": "never"})
    authored = workflow("stuck", refine(never, NO_DECISION, limit=3), quiet("ship"))
    bench = locked(authored)
    refused = bench.start()
    assert refused["code"] == "PRECONDITION_FAILED"
    assert refused["details"]["details"] == {"kind": "missing_required_output", "contractRef": LOOP_CONTROL}
    assert bench.home.stores.sessions.list_sessions().value == ()
    started = bench.start(preferences={"autonomy": "full_auto_never_stop"})
    assert started["pending"]["stepId"] == "ship"
    assert started["preferences"] == NEVER_STOP
    (gap,) = bench.gaps()
    assert gap["gapId"] == "gap_initial_0"
    assert [event.kind for event in bench.events[5:]] == ["decision_trace_appended", "gap_recorded"]


def test_a_loop_without_a_decision_step_gets_a_gate() -> None:
    """@enforces loop-gate-by-construction"""
    bench = locked(gated())
    bench.start()
    gate = bench.advance("CT1")["pending"]
    assert (gate["stepId"], gate["title"]) == ("refine__gate", "Decide: Refine")
    assert gate["prompt"].endswith("⟪CONTRACT⟫"), "no banner, no notes, no metrics"
    blocked = bench.advance("CT2")
    assert only_blocker(blocked)["code"] == "MISSING_REQUIRED_OUTPUT"
    again = bench.go(blocked["retryContinueToken"].strip("«»"), artifacts=[GO])
    assert again["pending"]["stepId"] == "draft"
    assert bench.advance(again["continueToken"].strip("«»"))["pending"]["stepId"] == "refine__gate"
    last = f"CT{bench._counts['CT']}"
    assert bench.go(last, artifacts=[STOP])["pending"]["stepId"] == "ship"


@pytest.mark.parametrize(("decision", "then"), [(GO, "draft"), (STOP, "ship")])
def test_a_gate_does_not_ask_what_is_decided(decision: dict[str, Any], then: str) -> None:
    """@enforces loop-gate-by-construction"""
    bench = locked(gated())
    bench.start()
    assert bench.go("CT1", artifacts=[decision])["pending"]["stepId"] == then
    unusable = locked(gated())
    unusable.start()
    assert unusable.go("CT1", artifacts=[decision | {"loopId": "other"}])["pending"]["stepId"] == "refine__gate"


def test_a_gate_counts_a_decision_of_its_own_iteration_only() -> None:
    bench = locked(gated(quiet("later")))
    bench.start()
    assert bench.go("CT1", artifacts=[GO])["pending"]["stepId"] == "later"
    assert bench.advance("CT2")["pending"]["stepId"] == "draft"
    assert bench.advance("CT3")["pending"]["stepId"] == "later"
    assert bench.advance("CT4")["pending"]["stepId"] == "refine__gate"


def test_a_gate_passed_over_ends_the_loop_with_one_gap() -> None:
    bench = locked(gated())
    bench.start(preferences={"autonomy": "full_auto_never_stop"})
    bench.advance("CT1")
    assert bench.advance("CT2")["pending"]["stepId"] == "ship"
    assert [gap["summary"] for gap in bench.gaps()] == [f"Missing required output for contractRef={LOOP_CONTROL}"]


def test_the_public_engine_has_no_gates() -> None:
    """@enforces loop-gate-by-construction"""
    bench = Bench(gated(limit=2))
    bench.start()
    assert [bench.advance(f"CT{number}")["pending"]["stepId"] for number in (1, 2)] == ["draft", "ship"]


BROWSING = workflow("browsing", quiet("work"), quiet("more"), capabilities={"web_browsing": "required"})


def observed(status: str, **provenance: str) -> dict[str, Any]:
    return {
        "kind": "wr.capability_observation",
        "capability": "web_browsing",
        "status": status,
        "provenance": provenance,
    }


CLAIM = observed("available", kind="manual_claim", claimedBy="agent")
PROBED = observed("available", kind="probe_step", result="success")
FAILED = observed("unavailable", kind="probe_step", result="failure")
POINTER = {"kind": "capability", "capability": "web_browsing"}


def test_a_required_capability_is_enforced() -> None:
    """@enforces ir-probe-before-first-step"""
    bench = locked(BROWSING)
    assert bench.start()["pending"]["stepId"] == "wr_probe_web_browsing"
    missing = bench.advance(bench.look("CT1")["continueToken"].strip("«»"))
    codes = [blocker["code"] for blocker in missing["blockers"]["blockers"]]
    # The missing artifact comes first and makes the block retryable; that nothing is known follows from it.
    assert (codes, missing["retryable"]) == (["MISSING_REQUIRED_OUTPUT", "REQUIRED_CAPABILITY_UNKNOWN"], True)

    claimed = bench.go("CT1", artifacts=[CLAIM])
    blocker = only_blocker(claimed)
    assert (blocker["code"], blocker["pointer"]) == ("REQUIRED_CAPABILITY_UNKNOWN", POINTER)
    assert claimed["retryable"] is False
    assert "retryContinueToken" not in claimed
    (weak,) = (event for event in bench.events if isinstance(event, CapabilityObserved))
    assert weak.data.provenance.enforcement_grade == "weak"
    assert bench.advance(claimed["continueToken"].strip("«»"))["code"] == "TOKEN_SCOPE_MISMATCH"

    failed = bench.go(bench.look("CT1")["continueToken"].strip("«»"), artifacts=[FAILED])
    assert only_blocker(failed)["code"] == "REQUIRED_CAPABILITY_UNAVAILABLE"

    probed = bench.go(bench.look("CT1")["continueToken"].strip("«»"), artifacts=[PROBED])
    assert (probed["kind"], probed["pending"]["stepId"]) == ("step", "work")

    lost = observed("unavailable", kind="attempted_use", result="failure", failureCode="tool_missing")
    blocked = bench.go(probed["continueToken"].strip("«»"), artifacts=[lost])
    assert only_blocker(blocked)["code"] == "REQUIRED_CAPABILITY_UNAVAILABLE"
    forked = bench.advance(bench.look(probed["continueToken"].strip("«»"))["continueToken"].strip("«»"))
    assert (forked["kind"], forked["pending"]["stepId"]) == ("step", "more")


def test_a_missing_capability_is_one_gap_when_the_run_never_stops() -> None:
    bench = locked(BROWSING)
    bench.start(preferences={"autonomy": "full_auto_never_stop"})
    for call in ({"artifacts": [FAILED]}, {"intent": "advance"}, {"intent": "advance"}):
        answer = bench.go(f"CT{bench._counts['CT']}", **call)
    assert answer["kind"] == "complete"
    assert [gap["summary"] for gap in bench.gaps()] == ["Required capability unavailable: web_browsing"]
    assert bench.status() == "complete_with_gaps"


def test_a_tolerant_risk_policy_warns_of_an_unknown_capability() -> None:
    bench = locked(BROWSING)
    bench.start(preferences={"riskPolicy": "balanced"})
    assert bench.go("CT1", artifacts=[CLAIM])["kind"] == "step"
    (gap,) = bench.gaps()
    assert gap["gapId"].startswith("warn_")
    assert gap["severity"] == "warning"


@pytest.mark.parametrize(
    ("confirmation", "intent"),
    [(True, "await_user_confirmation"), ({"kind": "coordinator_eval"}, "perform_pending_then_continue")],
)
def test_a_parallel_step_waits_for_a_person_and_for_nobody_else(confirmation: Any, intent: str) -> None:
    fan_out = {
        "id": "fan-out",
        "type": "parallel",
        "title": "Fan out",
        "notesOptional": True,
        "requireConfirmation": confirmation,
        "parallelDelegations": [{"workflowId": "test.other"}],
    }
    bench = locked(workflow("parallel", fan_out, quiet("rest")))
    assert bench.start(preferences={"autonomy": "full_auto_stop_on_user_deps"})["nextIntent"] == intent
    assert bench.advance("CT1")["kind"] == ("blocked" if confirmation is True else "step")


def test_an_approval_that_only_a_person_can_give() -> None:
    bench = locked(workflow("approval", quiet("risky", requireConfirmation=True), quiet("rest")))
    started = bench.start(preferences={"autonomy": "full_auto_stop_on_user_deps"})
    assert started["nextIntent"] == "await_user_confirmation"
    blocked = bench.advance("CT1")
    assert blocked["retryable"] is False
    assert only_blocker(blocked) == {
        "code": "USER_ONLY_DEPENDENCY",
        "pointer": {"kind": "workflow_step", "stepId": "risky"},
        "message": "Step requires user input: needs_user_approval.",
        "suggestedFix": "⟪FIX⟫",
        "details": {"detail": "needs_user_approval"},
    }
    bench.prefer("CT1", "guided", "conservative")
    answer = bench.advance(bench.look("CT1")["continueToken"].strip("«»"))
    assert answer["kind"] == "step"
    assert bench.log(5) == (
        "5:advance_recorded 6:node_created(blocked_attempt) 7:edge_created(intentional_fork) 8:preferences_changed "
        "9:advance_recorded 10:decision_trace_appended 11:node_created(step) 12:edge_created(non_tip_advance)"
    )


def test_declared_dependencies_hold_until_they_are_answered() -> None:
    """@enforces user-only-dependency-closed-set
    @enforces non-assumable-choice-closed-set
    """
    bench = locked(workflow("choice", quiet("pick"), quiet("rest")))
    bench.engine.dependencies.declare(UserOnlyDependency("needs_user_choice", "pick", "scope_boundary"))
    bench.engine.dependencies.declare(UserOnlyDependency("needs_user_artifact", "pick"))
    bench.start()
    blocked = bench.advance("CT1")
    assert [blocker["details"] for blocker in blocked["blockers"]["blockers"]] == [
        {"detail": "needs_user_choice", "choice": "scope_boundary"},
        {"detail": "needs_user_artifact"},
    ]
    bench.engine.dependencies.answer("pick", "needs_user_choice")
    again = bench.advance(bench.look("CT1")["continueToken"].strip("«»"))
    assert only_blocker(again)["details"] == {"detail": "needs_user_artifact"}
    bench.engine.dependencies.answer("pick", "needs_user_artifact")
    assert bench.advance(bench.look("CT1")["continueToken"].strip("«»"))["kind"] == "step"


@pytest.mark.parametrize(("detail", "choice"), [("needs_user_choice", None), ("needs_user_approval", "scope_boundary")])
def test_a_choice_goes_with_the_choice_detail_and_no_other(detail: Any, choice: Any) -> None:
    with pytest.raises(ValueError, match="choice"):
        user_dependency(detail, "pick", choice)


def test_a_divergence_is_an_event() -> None:
    bench = locked(workflow("diverge", quiet("plain"), quiet("rest")))
    bench.start()
    divergence = {"kind": "wr.workflow_divergence", "summary": "Skipped the survey."}
    good, odd = divergence | {"reason": "efficiency_skip"}, divergence | {"reason": "because"}
    assert bench.go("CT1", artifacts=[good, odd])["kind"] == "step"
    assert bench.log(5) == (
        "5:advance_recorded 6:gap_recorded 7:decision_trace_appended 8:divergence_recorded 9:node_created(step) "
        "10:edge_created(intentional_fork) 11:node_output_appended 12:node_output_appended"
    )
    (gap,) = bench.gaps()
    assert (gap["severity"], gap["summary"]) == (
        "warning",
        "Invalid required output for contractRef=wr.contracts.workflow_divergence",
    )
    (event,) = (event for event in bench.events if isinstance(event, DivergenceRecorded))
    assert (event.data.reason, event.data.summary) == ("efficiency_skip", "Skipped the survey.")
