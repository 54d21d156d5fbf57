"""Append plans: what one tool call adds to a session, all of it or nothing.

`Pen` gives events their place, id, time and dedupe key; the functions below it put them into the one order
each kind of call writes them in. Callers decide what happened, never how it is laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct

from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.blockers import GapRecordedData
from pytest_workrail.engine.model.events import (
    AdvancedOutcome,
    AdvanceRecorded,
    AdvanceRecordedData,
    ArtifactPayload,
    AssessmentConsequenceApplied,
    AssessmentRecorded,
    AssessmentRecordedData,
    CapabilityObserved,
    CapabilityObservedData,
    ConsequenceAppliedData,
    ContextSet,
    ContextSetData,
    DecisionTraceAppended,
    DivergenceData,
    DivergenceRecorded,
    EdgeCause,
    EdgeCreated,
    EdgeCreatedData,
    Envelope,
    Event,
    GapRecorded,
    Log,
    NodeCreated,
    NodeCreatedData,
    NodeOutputAppended,
    NodeOutputData,
    NodeScope,
    ObservationData,
    ObservationRecorded,
    PreferencesChanged,
    PreferencesChangedData,
    RunCompleted,
    RunCompletedData,
    RunScope,
    RunStarted,
    RunStartedData,
    SessionCreated,
    SessionCreatedData,
    ValidationPerformed,
    ValidationPerformedData,
)
from pytest_workrail.engine.model.ids import AttemptId, EventId, NodeId, RunId, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.manifest import ManifestRecord, SegmentClosed
from pytest_workrail.engine.model.step_keys import collation_key
from pytest_workrail.engine.model.trace import DecisionTraceData
from pytest_workrail.engine.model.words import EdgeCauseKind, NodeKind
from pytest_workrail.engine.projections.incremental import grown, log_index, longer


class AppendPermit:
    """Made by the gate for one call and dead after it."""

    __slots__ = ("_is_locked", "_live", "session_id")

    def __init__(self, session_id: SessionId, is_locked: Callable[[], bool] = lambda: True) -> None:
        self.session_id = session_id
        self._live = True
        self._is_locked = is_locked

    @property
    def is_held(self) -> bool:
        """True while the gate call that made it lasts, as long as its lock does: a copy of this process has none."""
        return self._live and self._is_locked()

    def revoke(self) -> None:
        """The gate call is over."""
        self._live = False


class SessionTruth(Struct, frozen=True):
    """The events of a session in order, and its manifest."""

    events: Log = ()
    manifest: Sequence[ManifestRecord] = ()

    @property
    def next_index(self) -> int:
        """The index the next event gets."""
        return len(self.events)

    def find(self, dedupe_key: str) -> Event | None:
        """The event known by a dedupe key."""
        return log_index(self.events).find(dedupe_key)

    def extended(self, events: Log, records: tuple[ManifestRecord, ...]) -> SessionTruth:
        """The session after an append."""
        return SessionTruth(longer(self.events, events), grown(self.manifest, records))

    def as_of(self, event_index: int) -> Log:
        """The log as it stood when the append that holds this event was done.

        A replayed answer is rendered from this, so that it can't differ from the first one.
        """
        # Backwards, because most questions are about what happened last.
        for record in reversed(self.manifest):
            if isinstance(record, SegmentClosed) and record.first_event_index <= event_index:
                if event_index > record.last_event_index:
                    break
                return self.events[: record.last_event_index + 1]
        raise IndexError(f"no event has index {event_index}")


class Complete(Struct, frozen=True):
    """Everything the manifest attests is there."""


class Truncated(Struct, frozen=True):
    """The log goes on, but from here it can't be trusted."""

    reason: CorruptionReason


class ValidatedPrefix(Struct, frozen=True):
    """The salvaged part of a log: to read and export, never to continue from."""

    truth: SessionTruth
    extent: Complete | Truncated


class SessionEntry(Struct, frozen=True):
    """A session on the list, and when it last changed."""

    session_id: SessionId
    modified_ms: int


class SnapshotPin(Struct, frozen=True):
    """A snapshot that the event at an index introduces."""

    event_index: int
    snapshot_ref: SnapshotRef
    created_by_event_id: EventId


class AppendPlan(Struct, frozen=True):
    """The events of one call and the snapshots they need."""

    events: tuple[Event, ...]
    snapshot_pins: tuple[SnapshotPin, ...]


def pins_of(events: Iterable[Event]) -> tuple[SnapshotPin, ...]:
    """One pin for each node these events create."""
    return tuple(
        [
            SnapshotPin(event.event_index, event.data.snapshot_ref, event.event_id)
            for event in events
            if isinstance(event, NodeCreated)
        ]
    )


Kind = TypeVar("Kind", bound=Envelope)


class EventBuilder:
    """Writes the events of one plan, in order."""

    def __init__(
        self,
        session_id: SessionId,
        run_id: RunId,
        *,
        first_index: int,
        timestamp_ms: int,
        new_event_id: Callable[[], EventId],
    ) -> None:
        if timestamp_ms <= 0:
            raise ValueError("an event happens after 1970")
        self.session_id = session_id
        self.run_id = run_id
        self._first_index = first_index
        self._timestamp_ms = timestamp_ms
        self._new_event_id = new_event_id
        self._events: list[Event] = []
        self._scopes: dict[NodeId | None, RunScope | NodeScope] = {}

    def write(self, kind: type[Kind], dedupe_key: str, data: object, node: NodeId | None = None) -> EventId:
        """Add the next event. Only `session_created` and observations belong to no run."""
        scope: RunScope | NodeScope | None = None
        if node is not None or (kind is not SessionCreated and kind is not ObservationRecorded):
            scope = self._scopes.get(node)
            if scope is None:
                run = self.run_id
                scope = RunScope(run_id=run) if node is None else NodeScope(run_id=run, node_id=node)
                self._scopes[node] = scope
        if not keys.is_dedupe_key(dedupe_key):
            raise ValueError(f"not a dedupe key: {dedupe_key!r}")
        event_id = self._new_event_id()
        members: dict[str, Any] = {} if scope is None else {"scope": scope}
        event = kind(
            v=1,
            event_id=event_id,
            event_index=self._first_index + len(self._events),
            session_id=self.session_id,
            dedupe_key=dedupe_key,
            timestamp_ms=self._timestamp_ms,
            data=data,  # type: ignore[call-arg]  # every kind has data
            **members,
        )
        self._events.append(event)  # type: ignore[arg-type]  # the kinds are exactly Event
        return event_id

    def plan(self) -> AppendPlan:
        """Return the plan of everything written so far; each new node pins its snapshot."""
        return AppendPlan(tuple(self._events), pins_of(self._events))


class Conclusions(Struct, frozen=True):
    """The conclusions from an attempt, besides where it led."""

    assessments: Sequence[AssessmentRecordedData] = ()
    capabilities: Sequence[CapabilityObservedData] = ()
    divergences: Sequence[DivergenceData] = ()


class Step(Struct, frozen=True):
    """One attempt on one node, and the node it leads to."""

    source: NodeId
    attempt: AttemptId
    target: NodeId
    workflow_hash: WorkflowHash
    snapshot_ref: SnapshotRef
    cause: EdgeCauseKind


def start_plan(
    builder: EventBuilder,
    *,
    run: RunStartedData,
    root: NodeId,
    snapshot_ref: SnapshotRef,
    preferences: PreferencesChangedData,
    context: ContextSetData,
    trace: DecisionTraceData | None = None,
    observations: Sequence[ObservationData] = (),
    gaps: Sequence[GapRecordedData] = (),
) -> AppendPlan:
    """A new session with one run at its first step. `trace` is given when steps before it were passed over."""
    session, run_id = builder.session_id, builder.run_id
    builder.write(SessionCreated, keys.session_created(session), SessionCreatedData())
    builder.write(RunStarted, keys.run_started(session, run_id), run)
    node = NodeCreatedData(
        node_kind="step", parent_node_id=None, workflow_hash=run.workflow_hash, snapshot_ref=snapshot_ref
    )
    builder.write(NodeCreated, keys.node_created(session, run_id, root), node, root)
    _preferences(builder, root, preferences)
    builder.write(ContextSet, keys.context_set(session, run_id, None), context)
    _trace(builder, root, trace)
    for observation in observations:
        builder.write(ObservationRecorded, keys.observation_recorded(session, observation.key), observation)
    _gaps(builder, root, gaps)
    return builder.plan()


def advance_plan(
    builder: EventBuilder,
    step: Step,
    *,
    gaps: Sequence[GapRecordedData] = (),
    context: ContextSetData | None = None,
    validation: ValidationPerformedData | None = None,
    trace: DecisionTraceData | None = None,
    observed: Conclusions | None = None,
    completion: RunCompletedData | None = None,
    outputs: Sequence[NodeOutputData] = (),
) -> AppendPlan:
    """An attempt that succeeded. `gaps`: reasons first, then downgraded ones, then recommendations."""
    session, run_id, source = builder.session_id, builder.run_id, step.source
    advance = _advance(builder, step)
    _gaps(builder, source, gaps)
    if context is not None:
        builder.write(ContextSet, keys.context_set(session, run_id, step.attempt), context)
    _validation(builder, source, validation)
    _trace(builder, source, trace)
    _observed(builder, step, observed or Conclusions())
    if completion is not None:
        builder.write(RunCompleted, keys.run_completed(session, run_id, step.target), completion)
    _node_and_edge(builder, step, "step", advance)
    _outputs(builder, source, outputs)
    return builder.plan()


def block_plan(
    builder: EventBuilder,
    step: Step,
    *,
    validation: ValidationPerformedData | None = None,
    observed: Conclusions | None = None,
    consequences: Sequence[ConsequenceAppliedData] = (),
    artifacts: Sequence[NodeOutputData] = (),
) -> AppendPlan:
    """An attempt that was blocked. Its notes and context are not kept, its artifacts are."""
    advance = _advance(builder, step)
    _validation(builder, step.source, validation)
    _observed(builder, step, observed or Conclusions(), consequences)
    _node_and_edge(builder, step, "blocked_attempt", advance)
    _outputs(builder, step.source, artifacts)
    return builder.plan()


def question_plan(
    builder: EventBuilder,
    step: Step,
    *,
    context: ContextSetData | None = None,
    validation: ValidationPerformedData | None = None,
    trace: DecisionTraceData | None = None,
    observed: Conclusions | None = None,
    outputs: Sequence[NodeOutputData] = (),
) -> AppendPlan:
    """An attempt with nothing wrong, blocked by a question. What it submitted is kept, so it need not come again."""
    advance = _advance(builder, step)
    if context is not None:
        builder.write(ContextSet, keys.context_set(builder.session_id, builder.run_id, step.attempt), context)
    _validation(builder, step.source, validation)
    _trace(builder, step.source, trace)
    _observed(builder, step, observed or Conclusions())
    _node_and_edge(builder, step, "blocked_attempt", advance)
    _outputs(builder, step.source, outputs)
    return builder.plan()


def gate_plan(builder: EventBuilder, step: Step) -> AppendPlan:
    """An attempt that waits at a gate; nothing of its submission is kept."""
    advance = _advance(builder, step)
    _node_and_edge(builder, step, "gate_checkpoint", advance)
    return builder.plan()


def checkpoint_plan(builder: EventBuilder, step: Step) -> AppendPlan:
    """A checkpoint: a second node with the same snapshot, below the first."""
    session, run_id = builder.session_id, builder.run_id
    event_id = builder.write(
        NodeCreated,
        keys.checkpoint_node(session, run_id, step.source, step.attempt),
        _node(step, "checkpoint"),
        step.target,
    )
    edge = EdgeCreatedData(
        edge_kind="checkpoint",
        from_node_id=step.source,
        to_node_id=step.target,
        cause=EdgeCause(kind="checkpoint_created", event_id=event_id),
    )
    builder.write(EdgeCreated, keys.checkpoint(session, run_id, step.source, step.attempt), edge)
    return builder.plan()


def preferences_plan(builder: EventBuilder, node: NodeId, change: PreferencesChangedData) -> AppendPlan:
    """A person changes the preferences at a node."""
    _preferences(builder, node, change)
    return builder.plan()


def _advance(builder: EventBuilder, step: Step) -> EventId:
    data = AdvanceRecordedData(attempt_id=step.attempt, outcome=AdvancedOutcome(to_node_id=step.target))
    key = keys.advance_recorded(builder.session_id, step.source, step.attempt)
    return builder.write(AdvanceRecorded, key, data, step.source)


def _node(step: Step, kind: NodeKind) -> NodeCreatedData:
    return NodeCreatedData(
        node_kind=kind,
        parent_node_id=step.source,
        workflow_hash=step.workflow_hash,
        snapshot_ref=step.snapshot_ref,
    )


def _node_and_edge(builder: EventBuilder, step: Step, kind: NodeKind, advance: EventId) -> None:
    session, run_id = builder.session_id, builder.run_id
    builder.write(NodeCreated, keys.node_created(session, run_id, step.target), _node(step, kind), step.target)
    edge = EdgeCreatedData(
        edge_kind="acked_step",
        from_node_id=step.source,
        to_node_id=step.target,
        cause=EdgeCause(kind=step.cause, event_id=advance),
    )
    builder.write(EdgeCreated, keys.edge_created(session, run_id, step.source, step.target), edge)


def _preferences(builder: EventBuilder, node: NodeId, change: PreferencesChangedData) -> None:
    key = keys.preferences_changed(builder.session_id, builder.run_id, node, change.change_id)
    builder.write(PreferencesChanged, key, change, node)


def _gaps(builder: EventBuilder, node: NodeId, gaps: Sequence[GapRecordedData]) -> None:
    for gap in gaps:
        builder.write(GapRecorded, keys.gap_recorded(builder.session_id, gap.gap_id), gap, node)


def _trace(builder: EventBuilder, node: NodeId, trace: DecisionTraceData | None) -> None:
    if trace is not None:
        key = keys.decision_trace_appended(builder.session_id, trace.trace_id)
        builder.write(DecisionTraceAppended, key, trace, node)


def _validation(builder: EventBuilder, node: NodeId, validation: ValidationPerformedData | None) -> None:
    if validation is not None:
        key = keys.validation_performed(builder.session_id, validation.attempt_id)
        builder.write(ValidationPerformed, key, validation, node)


def _observed(
    builder: EventBuilder, step: Step, observed: Conclusions, consequences: Sequence[ConsequenceAppliedData] = ()
) -> None:
    session, node, attempt = builder.session_id, step.source, step.attempt
    for assessment in observed.assessments:
        key = keys.assessment_recorded(session, node, attempt, assessment.assessment_id)
        builder.write(AssessmentRecorded, key, assessment, node)
    seen: dict[tuple[str, str], int] = {}
    for consequence in consequences:
        pair = (consequence.assessment_id, consequence.trigger.dimension_id)
        seen[pair] = seen.get(pair, 0) + 1
        key = keys.consequence_applied(session, node, attempt, *pair, occurrence=seen[pair])
        builder.write(AssessmentConsequenceApplied, key, consequence, node)
    for capability in observed.capabilities:
        builder.write(CapabilityObserved, keys.capability_observed(session, capability.cap_obs_id), capability, node)
    for divergence in observed.divergences:
        key = keys.divergence_recorded(session, divergence.divergence_id)
        builder.write(DivergenceRecorded, key, divergence, node)


def _outputs(builder: EventBuilder, node: NodeId, outputs: Sequence[NodeOutputData]) -> None:
    """The recap comes first, artifacts follow by content, whatever order they were submitted in."""

    def place(output: NodeOutputData) -> tuple[bool, object, object]:
        payload = output.payload
        if not isinstance(payload, ArtifactPayload):
            return (False, (), ())
        return (True, collation_key(payload.sha256), collation_key(payload.content_type))

    for output in sorted(outputs, key=place):
        builder.write(NodeOutputAppended, keys.node_output_appended(builder.session_id, output.output_id), output, node)
