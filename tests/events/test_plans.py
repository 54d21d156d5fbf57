"""Append plans: their order, their keys, their pins.

@enforces dedupe-key-stable
@enforces output-ordering-deterministic
"""

from __future__ import annotations

import itertools

import pytest
from event_samples import ATTEMPT, DATA, NODE, OTHER, RUN, SESSION
from sample_sessions import WORKFLOW_HASH, Story, artifact, recap, running

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import GapRecordedData
from pytest_workrail.engine.model.events import (
    AssessmentRecordedData,
    CapabilityObservedData,
    ConsequenceAppliedData,
    ContextSetData,
    DivergenceData,
    ObservationData,
    RunCompletedData,
    RunStartedData,
    ValidationPerformedData,
)
from pytest_workrail.engine.model.ids import AttemptId, EventId, NodeId, RunId, SessionId
from pytest_workrail.engine.model.trace import DecisionTraceData
from pytest_workrail.engine.store import plan
from pytest_workrail.engine.store.plan import Conclusions, EventBuilder, SnapshotPin, Step

S, R, N, M, A = SessionId(SESSION), RunId(RUN), NodeId(NODE), NodeId(OTHER), AttemptId(ATTEMPT)
REF = running([], "a").ref
STEP = Step(N, A, M, WORKFLOW_HASH, REF, "intentional_fork")
IDS = [EventId("evt_" + letters * 13) for letters in map("".join, itertools.product("ab", "cdefghijkl"))]


def made(kind):
    types = {
        "gap_recorded": GapRecordedData,
        "context_set": ContextSetData,
        "validation_performed": ValidationPerformedData,
        "decision_trace_appended": DecisionTraceData,
        "assessment_recorded": AssessmentRecordedData,
        "assessment_consequence_applied": ConsequenceAppliedData,
        "capability_observed": CapabilityObservedData,
        "divergence_recorded": DivergenceData,
        "run_completed": RunCompletedData,
        "observation_recorded": ObservationData,
        "run_started": RunStartedData,
    }
    return types[kind].from_wire(DATA[kind])


@pytest.fixture
def builder():
    return EventBuilder(S, R, first_index=7, timestamp_ms=5, new_event_id=iter(IDS).__next__)


def kinds(appended):
    return [event.kind for event in appended.events]


def key_of(appended, kind):
    return next(event.dedupe_key for event in appended.events if event.kind == kind)


OBSERVED = Conclusions([made("assessment_recorded")], [made("capability_observed")], [made("divergence_recorded")])


def test_a_start(builder):
    appended = plan.start_plan(
        builder,
        run=made("run_started"),
        root=N,
        snapshot_ref=REF,
        preferences=Story.preferences(keys.INITIAL_CHANGE, "guided", "system"),
        context=made("context_set"),
        observations=[made("observation_recorded")],
        gaps=[made("gap_recorded")],
    )
    assert kinds(appended) == [
        "session_created",
        "run_started",
        "node_created",
        "preferences_changed",
        "context_set",
        "observation_recorded",
        "gap_recorded",
    ]
    assert [event.dedupe_key for event in appended.events] == [
        f"session_created:{S}",
        f"run_started:{S}:{R}",
        f"node_created:{S}:{R}:{N}",
        f"preferences_changed:{S}:{R}:{N}:prefs_initial",
        f"context_set:{S}:{R}:initial",
        f"observation_recorded:{S}:git_branch",
        f"gap_recorded:{S}:g",
    ]
    assert appended.snapshot_pins == (SnapshotPin(9, REF, appended.events[2].event_id),)
    assert [event.scope and event.scope.to_wire() for event in appended.events] == [
        None,
        {"runId": R},
        {"runId": R, "nodeId": N},
        {"runId": R, "nodeId": N},
        {"runId": R},
        None,
        {"runId": R, "nodeId": N},
    ]


def test_an_advance(builder):
    appended = plan.advance_plan(
        builder,
        STEP,
        gaps=[made("gap_recorded")],
        context=made("context_set"),
        validation=made("validation_performed"),
        trace=made("decision_trace_appended"),
        observed=OBSERVED,
        completion=made("run_completed"),
        outputs=[artifact(A, 0, {"x": 1}), recap(A, "notes"), artifact(A, 1, {"y": 2})],
    )
    assert kinds(appended) == [
        "advance_recorded",
        "gap_recorded",
        "context_set",
        "validation_performed",
        "decision_trace_appended",
        "assessment_recorded",
        "capability_observed",
        "divergence_recorded",
        "run_completed",
        "node_created",
        "edge_created",
        "node_output_appended",
        "node_output_appended",
        "node_output_appended",
    ]
    assert [event.event_index for event in appended.events] == list(range(7, 21))
    advance, node, edge = appended.events[0], appended.events[9], appended.events[10]
    assert edge.data.cause.to_wire() == {"kind": "intentional_fork", "eventId": advance.event_id}
    assert (node.scope.node_id, node.data.parent_node_id, node.data.node_kind) == (M, N, "step")
    assert {event.scope.node_id for event in appended.events if event.scope.node_id} == {N, M}
    assert all(event.scope.node_id == N for event in appended.events[11:])
    assert appended.snapshot_pins == (SnapshotPin(16, REF, node.event_id),)
    outputs = [event.data for event in appended.events[11:]]
    assert outputs[0].output_id == f"out_recap_{A}"
    assert [output.payload.sha256 for output in outputs[1:]] == sorted(output.payload.sha256 for output in outputs[1:])
    assert key_of(appended, "advance_recorded") == f"advance_recorded:{S}:{N}:{A}"
    assert key_of(appended, "context_set") == f"context_set:{S}:{R}:{A}"
    assert key_of(appended, "validation_performed") == f"validation_performed:{S}:{A}"
    assert key_of(appended, "assessment_recorded") == f"assessment_recorded:{S}:{N}:{A}:a"
    assert key_of(appended, "run_completed") == f"run_completed:{S}:{R}:{M}"
    assert key_of(appended, "edge_created") == f"edge_created:{S}:{R}:{N}->{M}:acked_step"
    assert key_of(appended, "node_output_appended") == f"node_output_appended:{S}:out_recap_{A}"
    assert key_of(appended, "capability_observed") == f"capability_observed:{S}:c"
    assert key_of(appended, "divergence_recorded") == f"divergence_recorded:{S}:d"
    assert key_of(appended, "decision_trace_appended") == f"decision_trace_appended:{S}:t"


def test_the_order_of_artifacts_does_not_depend_on_the_submission(builder):
    contents = [{"x": 1}, None, [2], "text", 3]
    orders = set()
    for order in itertools.permutations(contents):
        some_pen = EventBuilder(S, R, first_index=0, timestamp_ms=5, new_event_id=iter(IDS).__next__)
        outputs = [artifact(A, index, content) for index, content in enumerate(order)]
        events = plan.advance_plan(some_pen, STEP, outputs=outputs).events
        orders.add(tuple(event.data.payload.sha256 for event in events if event.kind == "node_output_appended"))
    assert len(orders) == 1


def test_the_longest_names_of_authors_fit_a_key():
    fits = keys.consequence_applied(S, N, A, "q" * 64, "d" * 60, 1)
    assert fits.endswith(f":{'q' * 64}:{'d' * 60}")
    longer = [keys.consequence_applied(S, N, A, "q" * 64, each * 64, count) for each in "de" for count in (1, 2)]
    assert len(set(longer)) == 4
    assert all(len(key) < 256 and key.startswith(f"assessment_consequence_applied:{S}:{N}:{A}:") for key in longer)


def test_a_block(builder):
    twice = [made("assessment_consequence_applied")] * 2
    appended = plan.block_plan(
        builder,
        STEP,
        validation=made("validation_performed"),
        observed=OBSERVED,
        consequences=twice,
        artifacts=[artifact(A, 0, {})],
    )
    assert kinds(appended) == [
        "advance_recorded",
        "validation_performed",
        "assessment_recorded",
        "assessment_consequence_applied",
        "assessment_consequence_applied",
        "capability_observed",
        "divergence_recorded",
        "node_created",
        "edge_created",
        "node_output_appended",
    ]
    base = f"assessment_consequence_applied:{S}:{N}:{A}:a:d"
    assert [event.dedupe_key for event in appended.events[3:5]] == [base, f"{base}:2"]
    assert appended.events[7].data.node_kind == "blocked_attempt"


def test_a_gate(builder):
    appended = plan.gate_plan(builder, STEP)
    assert kinds(appended) == ["advance_recorded", "node_created", "edge_created"]
    assert appended.events[1].data.node_kind == "gate_checkpoint"


def test_a_checkpoint(builder):
    appended = plan.checkpoint_plan(builder, STEP)
    assert kinds(appended) == ["node_created", "edge_created"]
    node, edge = appended.events
    assert node.dedupe_key == f"checkpoint_node:checkpoint:{S}:{R}:{N}:{A}"
    assert edge.dedupe_key == f"checkpoint:{S}:{R}:{N}:{A}"
    assert edge.data.cause.to_wire() == {"kind": "checkpoint_created", "eventId": node.event_id}
    assert edge.data.edge_kind == node.data.node_kind == "checkpoint"


def test_a_change_of_preferences(builder):
    appended = plan.preferences_plan(builder, N, Story.preferences("by-hand", "guided"))
    assert [event.dedupe_key for event in appended.events] == [f"preferences_changed:{S}:{R}:{N}:by-hand"]
    assert appended.snapshot_pins == ()


@pytest.mark.parametrize("name", ["Readiness", "a.b", "größe", "with space", "\ud800"])
def test_names_a_key_can_not_hold_are_digested(name):
    key = keys.assessment_recorded(S, N, A, name)
    tail = key.rpartition(":")[2]
    assert len(tail) == 16
    assert key != keys.assessment_recorded(S, N, A, name + "x")
    assert key == keys.assessment_recorded(S, N, A, name)


def test_keys_are_the_same_for_the_same_thing_and_hold_nothing_fresh():
    """Two pens with other event ids, indexes and times write the same keys."""
    first = EventBuilder(S, R, first_index=0, timestamp_ms=1, new_event_id=iter(IDS).__next__)
    second = EventBuilder(S, R, first_index=50, timestamp_ms=999, new_event_id=iter(reversed(IDS)).__next__)
    one, other = plan.block_plan(first, STEP, observed=OBSERVED), plan.block_plan(second, STEP, observed=OBSERVED)
    assert [event.dedupe_key for event in one.events] == [event.dedupe_key for event in other.events]
    assert not any(event.event_id in event.dedupe_key for event in one.events)


def test_derived_names():
    assert keys.gap_id(A, 1) == f"gap_{A}_1"
    assert keys.gap_id(None, 0) == "gap_initial_0"
    assert keys.downgraded_gap_id(A, 0) == f"warn_{A}_0"
    assert keys.recommendation_gap_id(A, 0) == f"rec_warn_{A}_0"
    assert keys.context_id(None) == "ctx_initial"
    assert keys.context_id(A) == f"ctx_{A}"
    assert keys.trace_id(A) == f"trace_{A}"
    assert keys.validation_id(A) == f"validation_{A}"
    assert keys.observation_id(A, 2) == f"capobs_{A}_2"
    assert keys.divergence_id(A, 3) == f"div_{A}_3"
    assert keys.artifact_output_id(A, 4) == f"out_artifact_{A}_4"
