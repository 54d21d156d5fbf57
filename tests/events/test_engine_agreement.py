"""Whatever the engine says, the log can hold: reasons, blockers, gaps, traces, observations, states.

@enforces reason-code-unified
@enforces blocker-codes-closed-set
@enforces snapshot-rehydration-only
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from event_samples import ATTEMPT
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.engine.core.interpreter import Complete, Init, Running, snapshot_of, state_of
from pytest_workrail.engine.core.prompts import FixContext
from pytest_workrail.engine.model import reasons
from pytest_workrail.engine.model.blockers import BlockerReport, GapRecordedData
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.model.reasons import blocker_report
from pytest_workrail.engine.model.snapshot import (
    BlockedState,
    GateCheckpoint,
    RetryableBlock,
    TerminalBlock,
    read_snapshot,
)
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame, LoopPosition, StepInstance
from pytest_workrail.engine.model.trace import DecisionTraceData, IterationRef, LoopRef, StepRef, TraceEntry
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.result import Ok

LOOP = LoopPosition("refine", 1)
REASONS = [
    reasons.MissingRequiredOutput("wr.contracts.gate_verdict", ("a", "b")),
    reasons.MissingRequiredOutput("wr.contracts.loop_control", loop=LOOP),
    reasons.InvalidRequiredOutput("wr.contracts.gate_verdict"),
    reasons.InvalidRequiredOutput("wr.contracts.loop_control", loop=LOOP),
    reasons.MissingNotes("a.b"),
    reasons.FollowupRequired("Readiness", "Über all", "low", "g" * 3000),
    reasons.MissingContextKey("a key"),
    reasons.ContextBudgetExceeded(),
    reasons.CapabilityUnknown("web_browsing"),
    reasons.CapabilityUnavailable("delegation"),
    reasons.UserOnlyDependency("needs_user_approval", "risky"),
    reasons.UserOnlyDependency("needs_user_choice", "risky", "scope_boundary"),
    reasons.InvariantViolation(),
    reasons.StorageCorruption(),
    reasons.EvaluationFailed(),
    reasons.LoopLimitReached("refine", 1, 1),
]
UNDER_WAY = Running(
    CompletedKeys(["setup", "refine@0::draft"]),
    (LoopFrame("refine", 1, 0),),
    StepInstance("draft", (LoopPosition("refine", 1),)),
)


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.kind)
def test_a_block_for_any_reason_can_be_stored(reason):
    report = BlockerReport.from_wire(
        {"blockers": [each.to_wire() for each in blocker_report([reason], FixContext({}))]}
    )
    members = {"reason": reason.stored().to_wire(), "blockers": report.to_wire()}
    if reason.is_retryable:
        block = RetryableBlock.from_wire({**members, "retryAttemptId": AttemptId(ATTEMPT)})
    else:
        block = TerminalBlock.from_wire(members)
    snapshot = snapshot_of(UNDER_WAY, blocked=block)
    assert isinstance(snapshot.state, BlockedState)
    assert read_snapshot(snapshot.to_bytes()) == Ok(snapshot)
    # The interpreter goes on from it as if the attempt had not been made.
    assert state_of(snapshot) == UNDER_WAY


@pytest.mark.parametrize("severity", ["critical", "warning"])
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.kind)
def test_a_gap_for_any_reason_can_be_stored(reason, severity):
    shown = reason.as_gap(severity).recorded("gap_x").to_wire()
    assert GapRecordedData.from_wire(shown).to_wire() == shown


@pytest.mark.parametrize("state", [Init(), Complete(), Running(), UNDER_WAY], ids=["init", "complete", "empty", "loop"])
def test_any_state_can_be_stored_and_gone_on_from(state):
    snapshot = snapshot_of(state)
    assert state_of(read_snapshot(snapshot.to_bytes()).value) == state


def test_a_gate_is_kept_beside_the_state():
    gate = GateCheckpoint(step_id="draft", gate_kind="human_approval")
    snapshot = snapshot_of(UNDER_WAY, gate=gate)
    assert snapshot.engine_payload.gate_checkpoint == gate
    assert state_of(snapshot) == UNDER_WAY
    assert snapshot.ref != snapshot_of(UNDER_WAY).ref


def test_a_trace_can_be_stored():
    refs = (StepRef("draft"), LoopRef("refine"), IterationRef(0))
    shown = {"traceId": "t", "entries": [TraceEntry("entered_loop", "s", refs).to_wire()]}
    assert DecisionTraceData.from_wire(shown).to_wire() == shown


STEP_IDS = st.from_regex(r"[a-z0-9_-]{1,6}", fullmatch=True)


@given(st.lists(STEP_IDS, min_size=1, max_size=12, unique=True), st.booleans())
def test_a_state_that_grew_is_stored_like_one_that_was_read(steps, is_blocked):
    """Keys are checked and put in order once, however many snapshots of a run hold them."""
    block = RetryableBlock.from_wire(
        {
            "reason": reasons.MissingNotes("a.b").stored().to_wire(),
            "blockers": {"blockers": [each.to_wire() for each in blocker_report([REASONS[4]], FixContext({}))]},
            "retryAttemptId": AttemptId(ATTEMPT),
        }
    )
    completed = CompletedKeys()
    for step, following in pairwise([*steps, None]):
        completed = completed.with_key(step)
        state = Running(completed, pending=StepInstance(following) if following else None)
        snapshot = snapshot_of(state, blocked=block if is_blocked else None)
        assert snapshot.to_bytes() == canonical_bytes(snapshot.to_wire())
        assert read_snapshot(snapshot.to_bytes()) == Ok(snapshot)
        assert state_of(read_snapshot(snapshot.to_bytes()).value) == state_of(snapshot) == state


@pytest.mark.parametrize("before", [(), ("setup",)], ids=["first", "later"])
def test_a_state_that_no_reader_would_take_is_not_stored(before):
    completed = CompletedKeys(before)
    snapshot_of(Running(completed))
    with pytest.raises(ValueError, match="key of a step instance"):
        snapshot_of(Running(completed.with_key("Not a step")))
    with pytest.raises(ValueError, match="completed step can't be pending"):
        snapshot_of(Running(completed.with_key("done"), pending=StepInstance("done")))
    with pytest.raises(ValueError, match="loop stack"):
        snapshot_of(Running(completed, (LoopFrame("loop", 0, 0),), StepInstance("draft")))
