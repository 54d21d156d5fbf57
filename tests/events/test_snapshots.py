"""Execution snapshots: content addresses, and states that can't be.

@enforces snapshot-content-addressed
@enforces snapshot-discriminated-union
@enforces snapshot-pending-explicit
@enforces snapshot-impossible-state-rejected
@enforces snapshot-loop-id-unique
@enforces snapshot-completed-sorted
@enforces snapshot-rehydration-only
@enforces step-instance-key-delimiter-safe
@enforces illegal-states-unrepresentable
@enforces blocker-codes-closed-set
@enforces non-assumable-choice-closed-set
"""

from __future__ import annotations

import copy

import pytest
from event_samples import ATTEMPT, BLOCKER
from hypothesis import given
from hypothesis import strategies as st
from sample_sessions import blocked, complete, running

from pytest_workrail.engine.model.base import ShapeError
from pytest_workrail.engine.model.ids import AttemptId
from pytest_workrail.engine.model.snapshot import CompletedSet, read_snapshot, snapshot_from
from pytest_workrail.engine.model.step_keys import collated
from workrail_lint.base.result import Err, Ok


def state(**changes):
    return {
        "kind": "running",
        "completed": {"kind": "set", "values": []},
        "loopStack": [],
        "pending": {"kind": "none"},
        **changes,
    }


def snapshot(engine_state, **more):
    return {"v": 1, "kind": "execution_snapshot", "enginePayload": {"v": 1, "engineState": engine_state, **more}}


def pending(step, *path):
    loop_path = [{"loopId": loop, "iteration": iteration} for loop, iteration in path]
    return {"kind": "some", "step": {"stepId": step, "loopPath": loop_path}}


def block(kind="retryable_block", **changes):
    retry = {"retryAttemptId": ATTEMPT} if kind == "retryable_block" else {}
    return {"kind": kind, **retry, "blockers": {"blockers": [BLOCKER]}, **changes}


def frame(loop, iteration=0, body=0):
    return {"loopId": loop, "iteration": iteration, "bodyIndex": body}


RETRYABLE = [
    {"kind": "missing_required_output", "contractRef": "c"},
    {"kind": "invalid_required_output", "contractRef": "c"},
    {"kind": "missing_notes", "stepId": "a.b"},
    {"kind": "assessment_followup_required", "assessmentId": "a", "dimensionId": "d", "level": "l", "guidance": "g"},
    {"kind": "missing_context_key", "key": "k"},
    {"kind": "context_budget_exceeded"},
    {"kind": "loop_limit", "loopId": "l", "iteration": 1, "maxIterations": 1},
]
TERMINAL = [
    {"kind": "user_only_dependency", "detail": "needs_user_approval", "stepId": "s"},
    {"kind": "required_capability_unknown", "capability": "delegation"},
    {"kind": "required_capability_unavailable", "capability": "web_browsing"},
    {"kind": "invariant_violation"},
    {"kind": "storage_corruption_detected"},
    {"kind": "evaluation_error"},
]
STEP_IN_LOOP = state(
    completed={"kind": "set", "values": ["loop@0::a", "loop@0::b", "setup"]},
    loopStack=[frame("loop", 1)],
    pending=pending("a", ("loop", 1)),
)
GOOD = [
    snapshot({"kind": "init"}),
    snapshot({"kind": "complete"}),
    snapshot(state()),
    snapshot(STEP_IN_LOOP),
    snapshot(state(pending=pending("a.b.c")), gateCheckpoint={"stepId": "a.b.c", "gateKind": "human_approval"}),
    snapshot(state(), gateCheckpoint={"stepId": "a", "gateKind": "confirmation_required"}),
    *(snapshot(state(kind="blocked", blocked=block(reason=reason))) for reason in RETRYABLE),
    *(snapshot(state(kind="blocked", blocked=block("terminal_block", reason=reason))) for reason in TERMINAL),
    snapshot(state(kind="blocked", blocked=block(reason=RETRYABLE[0], validationRef="validation_x"))),
]


@pytest.mark.parametrize("value", GOOD)
def test_snapshots_are_read_and_written_as_they_were(value):
    made = snapshot_from(value).value
    assert made.to_wire() == value
    assert read_snapshot(made.to_bytes()) == Ok(made)


@pytest.mark.parametrize(
    ("value", "digest"),
    [
        (running([], "gather"), "sha256:b62380a227c09414f5f9b6004bf4f0a51274e747053d55406f794815aea8659b"),
        (running(["step-one"], "step-two"), "sha256:ebff5b690b2e156a64f782189d76bc624cbccf5d0791bfba6587ea6878987c08"),
        (complete(), "sha256:e5839a07041b0c9b886ee2eec70b0f44a8c279b8458d7ee8b0e9b3eb97b0532a"),
    ],
)
def test_the_worked_content_addresses(value, digest):
    assert value.ref == digest


DETAILS = [
    ("loop", {"loopId": "l", "iteration": 1}, True),
    ("loop limit", {"loopId": "l", "iteration": 1, "maxIterations": 1}, True),
    ("dependency", {"detail": "needs_user_choice", "choice": "irreversible_action"}, True),
    ("unknown choice", {"detail": "needs_user_choice", "choice": "taste"}, False),
    ("open", {"loopId": "l", "iteration": 1, "more": 1}, False),
    ("neither", {}, False),
]


@pytest.mark.parametrize(("details", "is_good"), [case[1:] for case in DETAILS], ids=[case[0] for case in DETAILS])
def test_the_details_of_a_blocker(details, is_good):
    reported = {"blockers": [{**BLOCKER, "details": details}]}
    value = snapshot(state(kind="blocked", blocked=block(reason=RETRYABLE[0], blockers=reported)))
    assert snapshot_from(value).is_ok is is_good


BAD = {
    "unsorted": state(completed={"kind": "set", "values": ["b", "a"]}),
    "sorted by code point only": state(completed={"kind": "set", "values": ["a-b", "a_b"]}),
    "twice": state(completed={"kind": "set", "values": ["a", "a"]}),
    "not a key": state(completed={"kind": "set", "values": ["a::b::c"]}),
    "a list instead of a set": state(completed=[]),
    "loop twice": state(loopStack=[frame("l"), frame("l", 1)]),
    "pending beside the stack": state(loopStack=[frame("l")], pending=pending("a")),
    "pending in another iteration": state(loopStack=[frame("l", 1)], pending=pending("a", ("l", 0))),
    "pending in no loop": state(pending=pending("a", ("l", 0))),
    "pending and completed": state(completed={"kind": "set", "values": ["a"]}, pending=pending("a")),
    "delimiter in a loop id": state(loopStack=[frame("l@1")]),
    "delimiter in a step id": state(pending=pending("a/b")),
    "negative iteration": state(loopStack=[frame("l", -1)]),
    "no pending": {name: member for name, member in state().items() if name != "pending"},
    "null pending": state(pending=None),
    "boolean flag": state(isComplete=False),
    "unknown kind": {"kind": "paused"},
    "blocked without a block": state(kind="blocked"),
    "running with a block": state(blocked=block(reason=RETRYABLE[0])),
    "terminal reason on a retryable block": state(kind="blocked", blocked=block(reason=TERMINAL[0])),
    "retryable reason on a terminal block": state(kind="blocked", blocked=block("terminal_block", reason=RETRYABLE[0])),
    "reason with more": state(kind="blocked", blocked=block(reason={**RETRYABLE[0], "why": "x"})),
    "cached prompt": state(prompt="Do it."),
}


@pytest.mark.parametrize("name", BAD)
def test_impossible_states_are_refused(name):
    assert snapshot_from(snapshot(BAD[name])).error.code == "schema_validation_failed"


@pytest.mark.parametrize("where", [(), ("enginePayload",)])
@pytest.mark.parametrize("change", [{"v": 2}, {"cache": 1}])
def test_closed_and_versioned_at_every_level(where, change):
    value = copy.deepcopy(GOOD[2])
    place = value
    for name in where:
        place = place[name]
    place.update(change)
    assert isinstance(snapshot_from(value), Err)


def test_impossible_states_can_not_be_built_either():
    with pytest.raises(ShapeError, match="sorted and unique"):
        CompletedSet.from_wire({"kind": "set", "values": ["b", "a"]})
    with pytest.raises(ValueError, match="can't be pending"):
        running(["a"], "a")


@given(st.sets(st.from_regex(r"([a-z0-9_-]{1,4}@[0-9]{1,2}::)?[a-z0-9_-]{1,5}", fullmatch=True), max_size=8))
def test_any_set_of_keys_in_collation_order_is_a_completed_set(values):
    stored = {"kind": "set", "values": collated(values)}
    assert CompletedSet.from_wire(stored).to_wire() == stored


@given(st.binary(max_size=40))
def test_reading_is_total(raw):
    assert isinstance(read_snapshot(raw), Err)


def test_what_a_snapshot_says():
    assert running(["a"], "b").pending_step.key == "b"
    assert not running(["a"], "b").is_complete
    assert complete().is_complete
    assert complete().pending_step is None
    assert blocked([], "a", AttemptId(ATTEMPT)).pending_step.step_id == "a"
    assert snapshot_from(snapshot(STEP_IN_LOOP)).value.pending_step.key == "loop@1::a"
