"""Events: the closed set of kinds, each with its scope and data, in one envelope."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pytest_workrail.engine.core.vocabulary import HostKind
from pytest_workrail.engine.events.fields import DedupeKey, EventId, NodeId, RunId, SessionId
from pytest_workrail.engine.events.judgements import (
    AssessmentRecordedData,
    CapabilityObservedData,
    ConsequenceAppliedData,
    DivergenceData,
    GapRecordedData,
    PreferencesChangedData,
)
from pytest_workrail.engine.events.payloads import (
    AdvanceRecordedData,
    ContextSetData,
    DecisionTraceData,
    EdgeCreatedData,
    NodeCreatedData,
    NodeOutputData,
    ObservationData,
    RunCompletedData,
    RunStartedData,
    SessionCreatedData,
    ValidationPerformedData,
)
from pytest_workrail.engine.events.shapes import Above, Shape, Tagged
from pytest_workrail.engine.events.wire import (
    CorruptionReason,
    Index,
    JsonObject,
    Wire,
    read_record,
    read_value,
)
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class OpenScope(Wire):
    """A scope of which nothing is required."""

    run_id: RunId | None = None
    node_id: NodeId | None = None


class RunScope(Wire):
    """Belongs to a run."""

    run_id: RunId
    node_id: NodeId | None = None


class NodeScope(Wire):
    """Belongs to a node of a run."""

    run_id: RunId
    node_id: NodeId


class Envelope(Wire):
    """What every event carries. The time informs people; nothing is ever decided by it."""

    v: Literal[1] = 1
    event_id: EventId
    event_index: Index
    session_id: SessionId
    dedupe_key: DedupeKey
    timestamp_ms: Annotated[int, Above(0)]


class SessionCreated(Envelope):
    """The first event of a session."""

    kind: Literal["session_created"] = "session_created"
    scope: OpenScope | None = None
    data: SessionCreatedData


class ObservationRecorded(Envelope):
    """A fact about the workspace; belongs to the session as a whole."""

    kind: Literal["observation_recorded"] = "observation_recorded"
    scope: None = None
    data: ObservationData


class RunStarted(Envelope):
    """A run began."""

    kind: Literal["run_started"] = "run_started"
    scope: RunScope
    data: RunStartedData


class NodeCreated(Envelope):
    """A node exists; its snapshot is pinned by the manifest."""

    kind: Literal["node_created"] = "node_created"
    scope: NodeScope
    data: NodeCreatedData


class EdgeCreated(Envelope):
    """Two nodes are connected."""

    kind: Literal["edge_created"] = "edge_created"
    scope: RunScope
    data: EdgeCreatedData


class AdvanceRecorded(Envelope):
    """An attempt was decided; asking again gives the same answer."""

    kind: Literal["advance_recorded"] = "advance_recorded"
    scope: NodeScope
    data: AdvanceRecordedData


class ValidationPerformed(Envelope):
    """A submission was checked."""

    kind: Literal["validation_performed"] = "validation_performed"
    scope: NodeScope
    data: ValidationPerformedData


class NodeOutputAppended(Envelope):
    """Notes or an artifact."""

    kind: Literal["node_output_appended"] = "node_output_appended"
    scope: NodeScope
    data: NodeOutputData


class AssessmentRecorded(Envelope):
    """An assessment was accepted."""

    kind: Literal["assessment_recorded"] = "assessment_recorded"
    scope: NodeScope
    data: AssessmentRecordedData


class AssessmentConsequenceApplied(Envelope):
    """An assessment asked for a follow-up."""

    kind: Literal["assessment_consequence_applied"] = "assessment_consequence_applied"
    scope: NodeScope
    data: ConsequenceAppliedData


class PreferencesChanged(Envelope):
    """Preferences from this node on."""

    kind: Literal["preferences_changed"] = "preferences_changed"
    scope: NodeScope
    data: PreferencesChangedData


class CapabilityObserved(Envelope):
    """Something was learnt about a capability."""

    kind: Literal["capability_observed"] = "capability_observed"
    scope: NodeScope
    data: CapabilityObservedData


class GapRecorded(Envelope):
    """The run went on although it had a reason to stop."""

    kind: Literal["gap_recorded"] = "gap_recorded"
    scope: NodeScope
    data: GapRecordedData


class ContextSet(Envelope):
    """The context was replaced as a whole."""

    kind: Literal["context_set"] = "context_set"
    scope: RunScope
    data: ContextSetData


class DivergenceRecorded(Envelope):
    """The agent left the path."""

    kind: Literal["divergence_recorded"] = "divergence_recorded"
    scope: NodeScope
    data: DivergenceData


class DecisionTraceAppended(Envelope):
    """How the next step was chosen."""

    kind: Literal["decision_trace_appended"] = "decision_trace_appended"
    scope: NodeScope
    data: DecisionTraceData


class RunCompleted(Envelope):
    """A branch ended."""

    kind: Literal["run_completed"] = "run_completed"
    scope: RunScope
    data: RunCompletedData


class HostEvent(Envelope):
    """Telemetry of another host, accepted so that its sessions load. Nothing here depends on it."""

    kind: HostKind
    scope: OpenScope | None = None
    data: JsonObject


Event: TypeAlias = (
    SessionCreated
    | ObservationRecorded
    | RunStarted
    | NodeCreated
    | EdgeCreated
    | AdvanceRecorded
    | ValidationPerformed
    | NodeOutputAppended
    | AssessmentRecorded
    | AssessmentConsequenceApplied
    | PreferencesChanged
    | CapabilityObserved
    | GapRecorded
    | ContextSet
    | DivergenceRecorded
    | DecisionTraceAppended
    | RunCompleted
    | HostEvent
)
Log: TypeAlias = Sequence[Event]  # the events of a session, in order
_EVENT: Shape[Event] = Shape(Annotated[Event, Tagged("kind")])


def read_event(raw: bytes) -> Ok[Event] | Err[CorruptionReason]:
    """The event in one line."""
    return read_record(raw, _EVENT)


def read_back(event: Event, raw: bytes) -> Ok[Event] | Err[CorruptionReason]:
    """The event in a line that was made of one: no other kind has to be known for that."""
    return read_record(raw, Shape(type(event)))


def event_from(value: Json) -> Ok[Event] | Err[CorruptionReason]:
    """The event in a decoded JSON value."""
    return read_value(value, _EVENT)
