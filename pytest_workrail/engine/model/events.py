"""Events: the closed set of kinds, each with its scope and data, in one envelope."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

from msgspec import Meta, Struct

from pytest_workrail.engine.model.base import (
    UNSET,
    Closed,
    CorruptionReason,
    Index,
    JsonObject,
    NonEmpty,
    Shape,
    StoredRecord,
    UnsetType,
    Value,
    check_bytes,
    check_length,
)
from pytest_workrail.engine.model.blockers import BlockerReport, GapRecordedData
from pytest_workrail.engine.model.ids import (
    AttemptId,
    DedupeKey,
    Digest,
    EventId,
    GitSha,
    NodeId,
    RunId,
    SessionId,
    SnapshotRef,
    StepId,
    WorkflowHash,
)
from pytest_workrail.engine.model.trace import (
    DecisionTraceData,
)
from pytest_workrail.engine.model.words import (
    MAX_NOTES_BYTES,
    MAX_PATH_LENGTH,
    MAX_SHORT_STRING_LENGTH,
    MAX_VALIDATION_ISSUE_BYTES,
    MAX_VALIDATION_LIST_BYTES,
    MAX_VALIDATION_SUGGESTION_BYTES,
    Autonomy,
    Capability,
    CapabilityStatus,
    ContextSource,
    DivergenceReason,
    EdgeCauseKind,
    EdgeKind,
    NodeKind,
    OutputChannel,
    Preferences,
    PreferenceSource,
    RiskPolicy,
    WorkflowSourceKind,
)
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class SessionCreatedData(Value, frozen=True):
    """A session began, perhaps on behalf of another one."""

    parent_session_id: SessionId | None = None


class ShortString(Value, frozen=True, tag_field="type", tag="short_string"):
    """A short text, such as a branch name."""

    value: NonEmpty

    def __post_init__(self) -> None:
        check_length(self.value, MAX_SHORT_STRING_LENGTH)


class GitSha1(Value, frozen=True, tag_field="type", tag="git_sha1"):
    """A commit."""

    value: GitSha


class Sha256(Value, frozen=True, tag_field="type", tag="sha256"):
    """A digest."""

    value: Digest


class PathText(Value, frozen=True, tag_field="type", tag="path"):
    """A path on the machine where the session ran."""

    value: NonEmpty

    def __post_init__(self) -> None:
        check_length(self.value, MAX_PATH_LENGTH)


ObservationValue: TypeAlias = ShortString | GitSha1 | Sha256 | PathText
ObservationKey: TypeAlias = Literal["git_branch", "git_head_sha", "repo_root_hash", "repo_root"]


class ObservationData(Value, frozen=True):
    """A fact about the workspace the session belongs to."""

    key: ObservationKey
    value: ObservationValue
    confidence: Literal["low", "med", "high"]


class RunStartedData(Value, frozen=True):
    """A run of one pinned workflow began."""

    workflow_id: NonEmpty
    workflow_hash: WorkflowHash
    workflow_source_kind: WorkflowSourceKind
    workflow_source_ref: str
    trigger_source: Literal["daemon", "mcp"] | None = None


class NodeCreatedData(Value, frozen=True):
    """A node of the run: a state that can be continued from."""

    node_kind: NodeKind
    parent_node_id: NodeId | None
    workflow_hash: WorkflowHash
    snapshot_ref: SnapshotRef


class EdgeCause(Value, frozen=True):
    """Why an edge exists, and the event that made it."""

    kind: EdgeCauseKind
    event_id: EventId


class EdgeCreatedData(Value, frozen=True):
    """One node follows from another."""

    edge_kind: EdgeKind
    from_node_id: NodeId
    to_node_id: NodeId
    cause: EdgeCause

    def __post_init__(self) -> None:
        if (self.edge_kind == "checkpoint") != (self.cause.kind == "checkpoint_created"):
            raise ValueError("an edge is a checkpoint exactly when a checkpoint caused it")


class AdvancedOutcome(Value, frozen=True, tag_field="kind", tag="advanced"):
    """The attempt led to a node, which may be a blocked one."""

    to_node_id: NodeId


class BlockedOutcome(Value, frozen=True, tag_field="kind", tag="blocked"):
    """The old way to say that an attempt was blocked. Read, never written."""

    blockers: BlockerReport

    @property
    def is_plain(self) -> bool:
        return self.blockers.is_plain


class AdvanceRecordedData(Value, frozen=True, omit_defaults=False):
    """The outcome of one attempt."""

    attempt_id: AttemptId
    outcome: AdvancedOutcome | BlockedOutcome
    intent: Literal["ack_pending"] = "ack_pending"

    @property
    def is_plain(self) -> bool:
        return self.outcome.is_plain


class ValidationResult(Closed, frozen=True):
    """Whether a submission was valid, and what to say about it."""

    valid: bool
    issues: tuple[NonEmpty, ...]
    suggestions: tuple[NonEmpty, ...]

    def __post_init__(self) -> None:
        for texts, limit in (
            (self.issues, MAX_VALIDATION_ISSUE_BYTES),
            (self.suggestions, MAX_VALIDATION_SUGGESTION_BYTES),
        ):
            for text in texts:
                check_bytes(text, limit)
            if sum(map(js.u8_length, texts)) > MAX_VALIDATION_LIST_BYTES:
                raise ValueError(f"a list must not exceed {MAX_VALIDATION_LIST_BYTES} bytes")


class ValidationPerformedData(Closed, frozen=True):
    """A submission was checked."""

    validation_id: NonEmpty
    attempt_id: AttemptId
    contract_ref: NonEmpty
    result: ValidationResult


class NotesPayload(Value, frozen=True, tag_field="payloadKind", tag="notes"):
    """The agent's own words about a step."""

    notes_markdown: NonEmpty

    def __post_init__(self) -> None:
        check_bytes(self.notes_markdown, MAX_NOTES_BYTES)


class ArtifactPayload(Value, frozen=True, tag_field="payloadKind", tag="artifact_ref"):
    """A submitted artifact, addressed by its content. A null artifact is an artifact too."""

    sha256: Digest
    content_type: NonEmpty
    byte_length: Index
    content: Any | UnsetType = UNSET

    @property
    def artifact(self) -> Any:
        """The artifact; None also where the log holds only its digest."""
        return None if self.content is UNSET else self.content

    @property
    def is_plain(self) -> bool:
        return False


class NodeOutputData(Value, frozen=True):
    """The output of an attempt on the node it started from."""

    output_id: NonEmpty
    output_channel: OutputChannel
    payload: NotesPayload | ArtifactPayload
    supersedes_output_id: NonEmpty | None = None

    def __post_init__(self) -> None:
        if self.output_channel == "recap" and not isinstance(self.payload, NotesPayload):
            raise ValueError("a recap holds notes")

    @property
    def is_plain(self) -> bool:
        return self.payload.is_plain


class ContextSetData(Value, frozen=True):
    """The whole context of the run from here on."""

    context_id: NonEmpty
    context: JsonObject
    source: ContextSource

    @property
    def is_plain(self) -> bool:
        return False


class RunCompletedData(Value, frozen=True):
    """A branch of the run reached its end."""

    start_git_sha: GitSha | None
    end_git_sha: GitSha | None
    git_branch: NonEmpty | None
    agent_commit_shas: tuple[GitSha, ...]
    capture_confidence: Literal["high", "none"]
    duration_ms: Index | None = None

    def __post_init__(self) -> None:
        if self.capture_confidence == "high" and not self.agent_commit_shas:
            raise ValueError("high confidence needs at least one commit")


class RecordedDimension(Value, frozen=True):
    """The level an assessment gave to one dimension."""

    dimension_id: NonEmpty
    level: NonEmpty
    normalization: Literal["exact", "normalized"]
    rationale: NonEmpty | None = None


class AssessmentRecordedData(Value, frozen=True):
    """A valid assessment."""

    assessment_id: NonEmpty
    attempt_id: AttemptId
    artifact_output_id: NonEmpty
    normalization_notes: tuple[str, ...]
    dimensions: Annotated[tuple[RecordedDimension, ...], Meta(min_length=1)]
    summary: str | None = None


class ConsequenceTrigger(Value, frozen=True):
    """The level that set a consequence off."""

    dimension_id: NonEmpty
    level: NonEmpty


class FollowupEffect(Value, frozen=True, tag_field="kind", tag="require_followup"):
    """The only effect there is: do more before going on."""

    guidance: NonEmpty


class ConsequenceAppliedData(Value, frozen=True):
    """An assessment had a consequence."""

    attempt_id: AttemptId
    assessment_id: NonEmpty
    trigger: ConsequenceTrigger
    effect: FollowupEffect


class AutonomyChange(Value, frozen=True, tag_field="key", tag="autonomy"):
    """A new autonomy."""

    value: Autonomy


class RiskPolicyChange(Value, frozen=True, tag_field="key", tag="riskPolicy"):
    """A new risk policy."""

    value: RiskPolicy


class PreferencesChangedData(Value, frozen=True):
    """Preferences changed at a node and below it."""

    change_id: NonEmpty
    source: PreferenceSource
    delta: Annotated[tuple[AutonomyChange | RiskPolicyChange, ...], Meta(min_length=1)]
    effective: Preferences

    def __post_init__(self) -> None:
        if len({type(change) for change in self.delta}) != len(self.delta):
            raise ValueError("a preference may change once per event")

    @property
    def preferences(self) -> Preferences:
        """The preferences from here on. A log that is read leniently holds them in a type that equals no other."""
        return Preferences(self.effective.autonomy, self.effective.risk_policy)


class ProbeDetail(Value, frozen=True):
    """A probe step tried the capability."""

    probe_template_id: NonEmpty
    probe_step_id: StepId
    result: Literal["success", "failure"]


class AttemptDetail(Value, frozen=True):
    """The capability was tried in earnest."""

    attempt_context: Literal["workflow_step", "system_probe"]
    result: Literal["success", "failure"]
    failure_code: Literal["tool_missing", "tool_error", "policy_blocked", "unknown"] | None = None

    def __post_init__(self) -> None:
        if (self.failure_code is not None) != (self.result == "failure"):
            raise ValueError("a failure, and nothing else, has a failure code")


class ClaimDetail(Value, frozen=True):
    """Somebody said so."""

    claimed_by: Literal["agent", "user"]
    claim: Literal["available", "unavailable"]


class ProbeProvenance(Value, frozen=True, omit_defaults=False, tag_field="kind", tag="probe_step"):
    """Known from a probe step."""

    detail: ProbeDetail
    enforcement_grade: Literal["strong"] = "strong"


class AttemptProvenance(Value, frozen=True, omit_defaults=False, tag_field="kind", tag="attempted_use"):
    """Known from use."""

    detail: AttemptDetail
    enforcement_grade: Literal["strong"] = "strong"


class ClaimProvenance(Value, frozen=True, omit_defaults=False, tag_field="kind", tag="manual_claim"):
    """Known by hearsay."""

    detail: ClaimDetail
    enforcement_grade: Literal["weak"] = "weak"


Provenance: TypeAlias = ProbeProvenance | AttemptProvenance | ClaimProvenance


class CapabilityObservedData(Value, frozen=True):
    """The status of a capability, and its provenance."""

    cap_obs_id: NonEmpty
    capability: Capability
    status: CapabilityStatus
    provenance: Provenance


class DivergenceData(Value, frozen=True):
    """The agent left the path and says why."""

    divergence_id: NonEmpty
    reason: DivergenceReason
    summary: NonEmpty
    related_step_id: StepId | None = None


class OpenScope(Value, frozen=True):
    """A scope of which nothing is required."""

    run_id: RunId | None = None
    node_id: NodeId | None = None


class RunScope(Value, frozen=True):
    """Belongs to a run."""

    run_id: RunId
    node_id: NodeId | None = None


class NodeScope(Value, frozen=True):
    """Belongs to a node of a run."""

    run_id: RunId
    node_id: NodeId


class _KindOf(dict[type[Struct], str]):
    """The kind of each type of events. Types of other engines' events are derived from ours and share their kinds."""

    def __missing__(self, event_type: type[Struct]) -> str:
        kind = self[event_type] = str(event_type.__struct_config__.tag)
        return kind


_KIND_OF = _KindOf()  # every projection asks for the kind of every event


class Envelope(StoredRecord, frozen=True, tag_field="kind"):
    """The members of every event. The time is for people; no decision depends on it."""

    v: Literal[1]
    event_id: EventId
    event_index: Index
    session_id: SessionId
    dedupe_key: DedupeKey
    timestamp_ms: Annotated[int, Meta(gt=0, le=js.MAX_SAFE_INTEGER)]

    @property
    def kind(self) -> str:
        return _KIND_OF[type(self)]

    @property
    def is_plain(self) -> bool:
        return bool(self.data.is_plain)  # type: ignore[attr-defined]  # every kind has data


class SessionCreated(Envelope, frozen=True, tag="session_created"):
    """The first event of a session."""

    data: SessionCreatedData
    scope: OpenScope | None = None


class ObservationRecorded(Envelope, frozen=True, tag="observation_recorded"):
    """A fact about the workspace; belongs to the session as a whole."""

    data: ObservationData
    scope: None = None


class RunStarted(Envelope, frozen=True, tag="run_started"):
    """A run began."""

    scope: RunScope
    data: RunStartedData


class NodeCreated(Envelope, frozen=True, tag="node_created"):
    """A node exists; its snapshot is pinned by the manifest."""

    scope: NodeScope
    data: NodeCreatedData


class EdgeCreated(Envelope, frozen=True, tag="edge_created"):
    """Two nodes are connected."""

    scope: RunScope
    data: EdgeCreatedData


class AdvanceRecorded(Envelope, frozen=True, tag="advance_recorded"):
    """An attempt was decided; asking again gives the same answer."""

    scope: NodeScope
    data: AdvanceRecordedData


class ValidationPerformed(Envelope, frozen=True, tag="validation_performed"):
    """A submission was checked."""

    scope: NodeScope
    data: ValidationPerformedData


class NodeOutputAppended(Envelope, frozen=True, tag="node_output_appended"):
    """Notes or an artifact."""

    scope: NodeScope
    data: NodeOutputData


class AssessmentRecorded(Envelope, frozen=True, tag="assessment_recorded"):
    """An assessment was accepted."""

    scope: NodeScope
    data: AssessmentRecordedData


class AssessmentConsequenceApplied(Envelope, frozen=True, tag="assessment_consequence_applied"):
    """An assessment asked for a follow-up."""

    scope: NodeScope
    data: ConsequenceAppliedData


class PreferencesChanged(Envelope, frozen=True, tag="preferences_changed"):
    """Preferences from this node on."""

    scope: NodeScope
    data: PreferencesChangedData


class CapabilityObserved(Envelope, frozen=True, tag="capability_observed"):
    """Something was learnt about a capability."""

    scope: NodeScope
    data: CapabilityObservedData


class GapRecorded(Envelope, frozen=True, tag="gap_recorded"):
    """The run went on although it had a reason to stop."""

    scope: NodeScope
    data: GapRecordedData


class ContextSet(Envelope, frozen=True, tag="context_set"):
    """The context was replaced as a whole."""

    scope: RunScope
    data: ContextSetData


class DivergenceRecorded(Envelope, frozen=True, tag="divergence_recorded"):
    """The agent left the path."""

    scope: NodeScope
    data: DivergenceData


class DecisionTraceAppended(Envelope, frozen=True, tag="decision_trace_appended"):
    """How the next step was chosen."""

    scope: NodeScope
    data: DecisionTraceData


class RunCompleted(Envelope, frozen=True, tag="run_completed"):
    """A branch ended."""

    scope: RunScope
    data: RunCompletedData


class HostEvent(Envelope, frozen=True):
    """Telemetry of another host, accepted so that its sessions load. Nothing here depends on it."""

    data: JsonObject
    scope: OpenScope | None = None

    @property
    def is_plain(self) -> bool:
        return False


class DeliveryRecorded(HostEvent, frozen=True, tag="delivery_recorded"):
    """A host delivered a result."""


class ReviewDraftSubmitted(HostEvent, frozen=True, tag="review_draft_submitted"):
    """A host submitted a draft of a review."""


class UsageRecorded(HostEvent, frozen=True, tag="usage_recorded"):
    """A host counted what was used."""


class TokenCheckpoint(HostEvent, frozen=True, tag="token_checkpoint"):
    """A host counted tokens."""


class GitStartRecorded(HostEvent, frozen=True, tag="git_start_recorded"):
    """A host recorded the state of the repository at the start."""


class GitMetricsRecorded(HostEvent, frozen=True, tag="git_metrics_recorded"):
    """A host measured the changes to the repository."""


# What happens within a run that was started.
RunEvent: TypeAlias = (
    NodeCreated
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
)
Event: TypeAlias = (
    SessionCreated
    | ObservationRecorded
    | RunStarted
    | RunEvent
    | DeliveryRecorded
    | ReviewDraftSubmitted
    | UsageRecorded
    | TokenCheckpoint
    | GitStartRecorded
    | GitMetricsRecorded
)
Log: TypeAlias = Sequence[Event]  # the events of a session, in order
EVENT_TYPES: tuple[type[Envelope], ...] = get_args(Event)
HOST_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in EVENT_TYPES if issubclass(kind, HostEvent))
EVENTS: Shape[Event] = Shape(Event)


def read_event(raw: bytes) -> Ok[Event] | Err[CorruptionReason]:
    """Return the event in one line."""
    return EVENTS.read_line(raw)


def event_from(value: Json) -> Ok[Event] | Err[CorruptionReason]:
    """Return the event in a decoded JSON value."""
    return EVENTS.read_value(value)
