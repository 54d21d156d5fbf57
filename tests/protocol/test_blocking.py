"""Blocks: every reason as blocker, snapshot, response and text; chains of them, and where they end."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from protocol_bench import Bench, compiled, quiet, step, workflow

from pytest_workrail.engine.core.outputs import Judgement, NotRequired, Submission
from pytest_workrail.engine.core.profiles import LOCKED
from pytest_workrail.engine.core.prompts import FixContext
from pytest_workrail.engine.model.events import (
    AdvanceRecorded,
    GapRecorded,
    NodeOutputAppended,
    NotesPayload,
    ValidationPerformed,
)
from pytest_workrail.engine.model.ids import child_attempt
from pytest_workrail.engine.model.reasons import REASONS as REASON_TYPES
from pytest_workrail.engine.model.reasons import (
    CapabilityUnavailable,
    CapabilityUnknown,
    ContextBudgetExceeded,
    EvaluationFailed,
    FollowupRequired,
    InvalidRequiredOutput,
    InvariantViolation,
    LoopLimitReached,
    MissingContextKey,
    MissingNotes,
    MissingRequiredOutput,
    Reason,
    StorageCorruption,
    UserOnlyDependency,
    blocker_report,
)
from pytest_workrail.engine.model.snapshot import BlockedState
from pytest_workrail.engine.model.step_keys import LoopPosition
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.engine.protocol import recording
from pytest_workrail.engine.protocol.advance_outcome import AdvanceAttempt, Refused, Reports
from pytest_workrail.engine.protocol.ports import GitEnd
from pytest_workrail.engine.protocol.recording import AttemptEntry
from pytest_workrail.engine.protocol.sessions import find_node, load_session, open_node
from workrail_lint.systems.workrail.blocker_codes import BlockerCode

GATE_REF = "wr.contracts.gate_verdict"
LOOP_REF = "wr.contracts.loop_control"
OUTPUT = {"kind": "output_contract", "contractRef": GATE_REF}
BUDGET = {"kind": "context_budget"}

# Reason, code, pointer, message (None: our own words), details, can it be tried again.
REASONS: list[tuple[Reason, str, Any, str | None, Any, bool]] = [
    (
        MissingRequiredOutput(GATE_REF),
        "MISSING_REQUIRED_OUTPUT",
        OUTPUT,
        f"Missing required output (contractRef={GATE_REF}).",
        None,
        True,
    ),
    (
        MissingRequiredOutput(GATE_REF, ("a", "b")),
        "MISSING_REQUIRED_OUTPUT",
        OUTPUT,
        f"You submitted kind 'a', 'b', but this step requires contractRef={GATE_REF}.",
        None,
        True,
    ),
    (
        MissingRequiredOutput(GATE_REF, ()),
        "MISSING_REQUIRED_OUTPUT",
        OUTPUT,
        f"Your output.artifacts was empty. This step requires contractRef={GATE_REF}.",
        None,
        True,
    ),
    (
        MissingRequiredOutput(LOOP_REF, loop=LoopPosition("round", 2)),
        "MISSING_REQUIRED_OUTPUT",
        {"kind": "output_contract", "contractRef": LOOP_REF},
        f"Missing required output (contractRef={LOOP_REF}).",
        {"loopId": "round", "iteration": 2},
        True,
    ),
    (
        InvalidRequiredOutput(GATE_REF),
        "INVALID_REQUIRED_OUTPUT",
        OUTPUT,
        f"Invalid output for contractRef={GATE_REF}.",
        None,
        True,
    ),
    (
        MissingNotes("part.one"),
        "MISSING_REQUIRED_NOTES",
        {"kind": "workflow_step", "stepId": "part.one"},
        'Step "part.one" requires notes documenting your work (output.notesMarkdown).',
        None,
        True,
    ),
    (
        FollowupRequired("ready", "sure", "low", "Look again."),
        "ASSESSMENT_FOLLOWUP_REQUIRED",
        {"kind": "assessment_dimension", "assessmentId": "ready", "dimensionId": "sure"},
        'Follow-up required before this step can proceed: ready.sure matched "low".',
        None,
        True,
    ),
    (
        MissingContextKey("topic"),
        "MISSING_CONTEXT_KEY",
        {"kind": "context_key", "key": "topic"},
        "Missing required context key: topic",
        None,
        True,
    ),
    (ContextBudgetExceeded(), "CONTEXT_BUDGET_EXCEEDED", BUDGET, None, None, True),
    (
        LoopLimitReached("round", 3, 3),
        "INVARIANT_VIOLATION",
        {"kind": "workflow_step", "stepId": "round"},
        "Loop 'round' would start iteration 3 but is limited to 3.",
        {"loopId": "round", "iteration": 3, "maxIterations": 3},
        True,
    ),
    (
        CapabilityUnknown("delegation"),
        "REQUIRED_CAPABILITY_UNKNOWN",
        {"kind": "capability", "capability": "delegation"},
        "Required capability status is unknown: delegation.",
        None,
        False,
    ),
    (
        CapabilityUnavailable("web_browsing"),
        "REQUIRED_CAPABILITY_UNAVAILABLE",
        {"kind": "capability", "capability": "web_browsing"},
        "Required capability is unavailable: web_browsing.",
        None,
        False,
    ),
    (
        UserOnlyDependency("needs_user_choice", "pick", "scope_boundary"),
        "USER_ONLY_DEPENDENCY",
        {"kind": "workflow_step", "stepId": "pick"},
        "Step requires user input: needs_user_choice.",
        {"detail": "needs_user_choice", "choice": "scope_boundary"},
        False,
    ),
    (InvariantViolation(), "INVARIANT_VIOLATION", BUDGET, None, None, False),
    (StorageCorruption(), "STORAGE_CORRUPTION_DETECTED", BUDGET, None, None, False),
    (EvaluationFailed(), "INVARIANT_VIOLATION", BUDGET, None, None, False),
]


def test_the_table_names_every_code() -> None:
    """@enforces blocker-codes-closed-set"""
    assert {code for _, code, *_ in REASONS} == set(get_args(BlockerCode))
    assert {type(reason) for reason, *_ in REASONS} == set(REASON_TYPES)


def put_block(bench: Bench, reason: Reason) -> str:
    """Record a block for this reason, whether or not an advance can come to it, and give back the token."""
    engine = bench.engine
    loader, writer = engine.loader, engine._writer
    grant = bench.home.issuer.resolve_continue(bench.actual("CT1")).value
    session = load_session(loader, grant.place.session_id).value
    position = open_node(loader, session, *find_node(session, grant.place).value).value
    instance = position.snapshot.pending_step
    assert instance is not None
    attempted = AdvanceAttempt(position, instance, Submission(), {}, DEFAULT_PREFERENCES, False)
    judgement = Judgement(instance.step_id, NotRequired(), None, False, (), (), False)
    outcome = Refused((reason,), judgement, Reports(), None, None)
    entry = AttemptEntry(attempted, grant.attempt_id, bench.home.mint.node(), False, GitEnd())

    def append(permit: Any, session: Any) -> Any:
        ref = writer.store_snapshot(recording.snapshot_for(entry, outcome, LOCKED)).value
        builder = writer.builder(session, bench.run_id)
        return writer.append(permit, recording.plan_for(entry, outcome, [], ref, builder, LOCKED))

    assert writer.write(bench.session_id, append).is_ok
    return bench.actual("CT1")


@pytest.mark.parametrize("row", REASONS, ids=lambda row: f"{row[0].kind}")
def test_every_reason(row: tuple[Reason, str, Any, str | None, Any, bool]) -> None:
    """@enforces reason-code-unified"""
    reason, code, pointer, message, details, retryable = row
    bench = Bench(workflow("reasons", quiet("one"), quiet("two")))
    bench.start()
    answer = bench.advance(put_block(bench, reason))
    (blocker,) = answer["blockers"]["blockers"]
    assert (blocker["code"], blocker["pointer"], blocker.get("details")) == (code, pointer, details)
    assert blocker["message"] if message is None else blocker["message"] == message
    assert (answer["retryable"], reason.is_retryable) == (retryable, retryable)
    assert ("retryContinueToken" in answer) is retryable
    retry = answer.get("retryContinueToken", answer["continueToken"])
    assert answer["nextCall"]["params"]["continueToken"] == retry
    state = bench.snapshots()[-1].state
    assert isinstance(state, BlockedState)
    assert state.blocked.reason.kind == reason.kind
    assert bench.reply is not None
    text = bench.reply.text[0]
    assert blocker["message"] in text
    if not retryable:
        assert bench.advance(answer["continueToken"].strip("«»"))["code"] == "TOKEN_SCOPE_MISMATCH"


def test_a_criterion_that_can_not_be_evaluated() -> None:
    rule = {"type": "regex", "pattern": "(", "message": "m"}
    authored = workflow("broken-rule", step("one", "One", "Do."), quiet("two"))
    ir = compiled(authored)
    ir["steps"][0]["output"]["criteria"] = [rule]
    bench = Bench(ir)
    bench.start()
    blocked = bench.go("CT1", notes="n")
    assert [blocker["code"] for blocker in blocked["blockers"]["blockers"]] == ["INVARIANT_VIOLATION"]
    # A validation took place and the snapshot names it, but nothing of it is on record.
    assert "validation" not in blocked
    assert "validation_performed" not in bench.log()
    state = bench.snapshots()[-1].state
    assert isinstance(state, BlockedState)
    assert state.blocked.validation_ref is not None

    never = Bench(ir)
    never.start(preferences={"autonomy": "full_auto_never_stop"})
    assert never.go("CT1", notes="n")["pending"]["stepId"] == "two"
    assert [gap["summary"] for gap in never.gaps()] == ["Validation evaluation failed"]


VERDICT = workflow("verdict", step("judge", "Judge", "Judge.", outputContract={"contractRef": GATE_REF}), quiet("rest"))


def retry_until_refused(bench: Bench, call: Any) -> tuple[int, dict[str, Any]]:
    """How many blocks it takes until the engine has enough."""
    blocked = 0
    token = "CT1"
    while True:
        answer = bench.go(token, **call)
        if answer.get("kind") != "blocked":
            return blocked, answer
        blocked += 1
        token = answer["retryContinueToken"].strip("«»")


@pytest.mark.parametrize(("autonomous", "limit"), [(None, 10), ("true", 3), (True, 3), ("yes", 10), (False, 10)])
def test_attempts_are_limited(autonomous: Any, limit: int) -> None:
    bench = Bench(VERDICT)
    bench.start(initialContext={} if autonomous is None else {"is_autonomous": autonomous})
    count, refused = retry_until_refused(bench, {"intent": "advance"})
    assert (count, refused["code"]) == (limit, "PRECONDITION_FAILED")
    assert GATE_REF in refused["message"]
    assert bench.log().count("node_created(blocked_attempt)") == limit


def test_the_limit_counts_a_chain_and_nothing_else() -> None:
    bench = Bench(workflow("notes", step("write", "Write", "Write."), quiet("rest")))
    bench.start()
    _, refused = retry_until_refused(bench, {"intent": "advance"})
    assert "required output of this step" in refused["message"]
    # Looking at the blocked node does not help.
    tip = bench.look(f"CT{bench._counts['CT']}")["continueToken"].strip("«»")
    assert bench.go(tip, notes="n")["code"] == "PRECONDITION_FAILED"
    # Going back to the step does.
    fresh = bench.look("CT1")["continueToken"].strip("«»")
    blocked = bench.advance(fresh)
    assert blocked["kind"] == "blocked"
    assert bench.go(blocked["retryContinueToken"].strip("«»"), notes="n")["kind"] == "ok"


def test_the_advice_never_says_that_looking_starts_a_new_series() -> None:
    bench = Bench(VERDICT)
    bench.start()
    _, refused = retry_until_refused(bench, {"intent": "advance"})
    raw = bench.engine.continue_workflow(
        {"continueToken": bench.actual(f"CT{bench._counts['CT']}"), "intent": "advance"}
    ).error
    assert raw.code == refused["code"]
    assert "rewind" in raw.suggestion
    assert "Rehydrate" in raw.suggestion


def test_both_tokens_of_a_block_are_one_attempt() -> None:
    bench = Bench(VERDICT)
    bench.start()
    blocked = bench.advance("CT1")
    good = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "low", "rationale": "x" * 20}
    accepted = bench.go(blocked["continueToken"].strip("«»"), artifacts=[good])
    assert accepted["kind"] == "ok"
    # Whichever is used first decides; the other repeats its answer.
    assert bench.advance(blocked["retryContinueToken"].strip("«»")) == accepted


def test_attempts_follow_from_each_other() -> None:
    bench = Bench(VERDICT)
    bench.start()
    for _ in range(3):
        bench.advance(f"CT{bench._counts['CT']}")
    attempts = [event.data.attempt_id for event in bench.events if isinstance(event, AdvanceRecorded)]
    assert attempts[1:] == [child_attempt(attempt) for attempt in attempts[:-1]]


def test_what_a_block_keeps() -> None:
    bench = Bench(VERDICT)
    bench.start()
    bench.go("CT1", notes="gone", artifacts=[{"kind": "other"}], context={"gone": True})
    outputs = [event.data for event in bench.events if isinstance(event, NodeOutputAppended)]
    assert [output.output_channel for output in outputs] == ["artifact"]
    assert "gone" not in str([event.to_wire() for event in bench.events])


def test_notes_are_kept_when_the_prose_fails_beside_a_contract() -> None:
    criteria = [{"type": "contains", "value": "yes", "message": "say yes"}]
    bench = Bench(
        workflow(
            "both",
            step("judge", "Judge", "Judge.", outputContract={"contractRef": GATE_REF}, validationCriteria=criteria),
            quiet("rest"),
        )
    )
    bench.start()
    good = {"kind": "wr.gate_verdict", "version": 1, "verdict": "approved", "confidence": "low", "rationale": "x" * 20}
    assert bench.go("CT1", notes="no", artifacts=[good])["kind"] == "ok"
    notes = [
        event.data.payload.notes_markdown
        for event in bench.events
        if isinstance(event, NodeOutputAppended) and isinstance(event.data.payload, NotesPayload)
    ]
    assert notes == ["no"]
    assert not any(isinstance(event, ValidationPerformed) for event in bench.events)


def test_a_retry_that_succeeds_says_what_was_found() -> None:
    criteria = [{"type": "contains", "value": "yes", "message": "say yes"}]
    bench = Bench(workflow("prose", step("say", "Say", "Say.", validationCriteria=criteria), quiet("rest")))
    bench.start()
    blocked = bench.go("CT1", notes="no")
    token = blocked["retryContinueToken"].strip("«»")
    bench.prefer(token, "full_auto_never_stop")
    assert bench.go(token, notes="still no")["kind"] == "ok"
    first, second = (event.data for event in bench.events if isinstance(event, ValidationPerformed))
    assert (first.contract_ref, second.contract_ref) == ("wr.validationCriteria", "wr.validationCriteria")
    assert (second.result.valid, second.result.issues) == (False, ("say yes",))
    assert any(isinstance(event, GapRecorded) for event in bench.events)


def test_a_missing_requirement_that_a_retry_passes_over() -> None:
    bench = Bench(VERDICT)
    bench.start()
    token = bench.advance("CT1")["retryContinueToken"].strip("«»")
    bench.prefer(token, "full_auto_never_stop")
    assert bench.advance(token)["kind"] == "ok"
    (performed,) = (event.data for event in bench.events if isinstance(event, ValidationPerformed))
    assert performed.result.to_wire() == {
        "valid": False,
        "issues": [f"Missing required output for contractRef={GATE_REF}"],
        "suggestions": [],
    }


def test_more_blockers_than_fit() -> None:
    """@enforces blocker-budget"""
    reasons = tuple(MissingContextKey(f"k{number}") for number in range(12))
    report = blocker_report(reasons, FixContext({}))
    keys = [blocker.pointer.key for blocker in report]  # type: ignore[union-attr]
    assert keys == ["k0", "k1", "k10", "k11", "k2", "k3", "k4", "k5", "k6", "k7"]


def test_a_long_guidance_is_cut_and_the_block_stands() -> None:
    guidance = "é" * 2000
    consequence = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "g"}}
    authored = workflow(
        "long",
        quiet("assess", assessmentRefs=["ready"], assessmentConsequences=[consequence]),
        assessments=[
            {
                "id": "ready",
                "purpose": "Ready?",
                "dimensions": [{"id": "sure", "purpose": "How sure", "levels": ["low", "high"]}],
            }
        ],
    )
    ir = compiled(authored)
    ir["steps"][0]["output"]["assessments"]["consequences"][0]["effect"]["guidance"] = guidance
    bench = Bench(ir)
    bench.start()
    blocked = bench.go("CT1", artifacts=[{"kind": "wr.assessment", "dimensions": {"sure": "low"}}])
    assert blocked["assessmentFollowup"]["guidance"] == guidance
    state = bench.snapshots()[-1].state
    assert isinstance(state, BlockedState)
    fix = state.blocked.blockers.blockers[0].suggested_fix
    assert fix.endswith("\n\n[TRUNCATED]")
    assert len(fix.encode()) <= 1024
