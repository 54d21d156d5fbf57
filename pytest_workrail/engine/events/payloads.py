"""What each kind of event says: the `data` member, one model per kind."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pytest_workrail.engine.core.vocabulary import (
    MAX_NOTES_BYTES,
    MAX_PATH_LENGTH,
    MAX_SHORT_STRING_LENGTH,
    MAX_SKIPPED_ENTRIES,
    MAX_TRACE_ENTRIES,
    MAX_TRACE_REFS,
    MAX_TRACE_SUMMARY_BYTES,
    MAX_TRACE_TOTAL_BYTES,
    MAX_VALIDATION_ISSUE_BYTES,
    MAX_VALIDATION_LIST_BYTES,
    MAX_VALIDATION_SUGGESTION_BYTES,
    ContextSource,
    EdgeCauseKind,
    EdgeKind,
    NodeKind,
    OutputChannel,
    TraceKind,
    WorkflowSourceKind,
)
from pytest_workrail.engine.events.blockers import BlockerReport, Unmet
from pytest_workrail.engine.events.fields import (
    AttemptId,
    Digest,
    EventId,
    GitSha,
    NodeId,
    SafeId,
    SessionId,
    SnapshotRef,
    StepId,
    WorkflowHash,
)
from pytest_workrail.engine.events.shapes import Sized, Tagged
from pytest_workrail.engine.events.wire import ClosedWire, Index, Items, JsonObject, NonEmpty, Wire, max_u16, max_utf8
from workrail_lint.base import js


class SessionCreatedData(Wire):
    """A session began, perhaps on behalf of another one."""

    parent_session_id: SessionId | None = None


class ShortString(Wire):
    """A short text, such as a branch name."""

    type: Literal["short_string"] = "short_string"
    value: Annotated[NonEmpty, max_u16(MAX_SHORT_STRING_LENGTH)]


class GitSha1(Wire):
    """A commit."""

    type: Literal["git_sha1"] = "git_sha1"
    value: GitSha


class Sha256(Wire):
    """A digest."""

    type: Literal["sha256"] = "sha256"
    value: Digest


class PathText(Wire):
    """A path on the machine where the session ran."""

    type: Literal["path"] = "path"
    value: Annotated[NonEmpty, max_u16(MAX_PATH_LENGTH)]


ObservationValue: TypeAlias = Annotated[ShortString | GitSha1 | Sha256 | PathText, Tagged("type")]
ObservationKey: TypeAlias = Literal["git_branch", "git_head_sha", "repo_root_hash", "repo_root"]


class ObservationData(Wire):
    """A fact about the workspace the session belongs to."""

    key: ObservationKey
    value: ObservationValue
    confidence: Literal["low", "med", "high"]


class RunStartedData(Wire):
    """A run of one pinned workflow began."""

    workflow_id: NonEmpty
    workflow_hash: WorkflowHash
    workflow_source_kind: WorkflowSourceKind
    workflow_source_ref: str
    trigger_source: Literal["daemon", "mcp"] | None = None


class NodeCreatedData(Wire):
    """A node of the run: a state that can be continued from."""

    node_kind: NodeKind
    parent_node_id: NodeId | None
    workflow_hash: WorkflowHash
    snapshot_ref: SnapshotRef


class EdgeCause(Wire):
    """Why an edge exists, and the event that made it."""

    kind: EdgeCauseKind
    event_id: EventId


class EdgeCreatedData(Wire):
    """One node follows from another."""

    edge_kind: EdgeKind
    from_node_id: NodeId
    to_node_id: NodeId
    cause: EdgeCause

    def check_together(self) -> None:
        if (self.edge_kind == "checkpoint") != (self.cause.kind == "checkpoint_created"):
            raise ValueError("an edge is a checkpoint exactly when a checkpoint caused it")


class AdvancedOutcome(Wire):
    """The attempt led to a node, which may be a blocked one."""

    kind: Literal["advanced"] = "advanced"
    to_node_id: NodeId


class BlockedOutcome(Wire):
    """The old way to say that an attempt was blocked. Read, never written."""

    kind: Literal["blocked"] = "blocked"
    blockers: BlockerReport


class AdvanceRecordedData(Wire):
    """What became of one attempt."""

    attempt_id: AttemptId
    intent: Literal["ack_pending"] = "ack_pending"
    outcome: Annotated[AdvancedOutcome | BlockedOutcome, Tagged("kind")]


class ValidationResult(ClosedWire):
    """Whether a submission was valid, and what to say about it."""

    valid: bool
    issues: Items[Annotated[NonEmpty, max_utf8(MAX_VALIDATION_ISSUE_BYTES)]]
    suggestions: Items[Annotated[NonEmpty, max_utf8(MAX_VALIDATION_SUGGESTION_BYTES)]]

    def check_together(self) -> None:
        for texts in (self.issues, self.suggestions):
            if sum(map(js.u8_length, texts)) > MAX_VALIDATION_LIST_BYTES:
                raise ValueError(f"a list must not exceed {MAX_VALIDATION_LIST_BYTES} bytes")


class ValidationPerformedData(ClosedWire):
    """A submission was checked."""

    validation_id: NonEmpty
    attempt_id: AttemptId
    contract_ref: NonEmpty
    result: ValidationResult


class NotesPayload(Wire):
    """The agent's own words about a step."""

    payload_kind: Literal["notes"] = "notes"
    notes_markdown: Annotated[NonEmpty, max_utf8(MAX_NOTES_BYTES)]


class ArtifactPayload(Wire):
    """A submitted artifact, addressed by its content. A null artifact is an artifact too."""

    keeps_null: ClassVar[frozenset[str]] = frozenset({"content"})

    payload_kind: Literal["artifact_ref"] = "artifact_ref"
    sha256: Digest
    content_type: NonEmpty
    byte_length: Index
    content: object = None


class NodeOutputData(Wire):
    """What an attempt left behind on the node it started from."""

    output_id: NonEmpty
    supersedes_output_id: NonEmpty | None = None
    output_channel: OutputChannel
    payload: Annotated[NotesPayload | ArtifactPayload, Tagged("payload_kind")]

    def check_together(self) -> None:
        if self.output_channel == "recap" and not isinstance(self.payload, NotesPayload):
            raise ValueError("a recap holds notes")


class ContextSetData(Wire):
    """The whole context of the run from here on."""

    context_id: NonEmpty
    context: JsonObject
    source: ContextSource


class StepRef(ClosedWire):
    """A step."""

    kind: Literal["step_id"] = "step_id"
    step_id: StepId


class LoopRef(ClosedWire):
    """A loop."""

    kind: Literal["loop_id"] = "loop_id"
    loop_id: SafeId


class ConditionRef(ClosedWire):
    """A condition."""

    kind: Literal["condition_id"] = "condition_id"
    condition_id: NonEmpty


class IterationRef(ClosedWire):
    """An iteration, counted from zero."""

    kind: Literal["iteration"] = "iteration"
    value: Index


class TraceEntry(Wire):
    """One decision on the way to the next step."""

    kind: TraceKind
    summary: Annotated[NonEmpty, max_utf8(MAX_TRACE_SUMMARY_BYTES)]
    refs: (
        Annotated[
            Items[Annotated[StepRef | LoopRef | ConditionRef | IterationRef, Tagged("kind")]],
            Sized(most=MAX_TRACE_REFS),
        ]
        | None
    ) = None


class SkippedPass(ClosedWire):
    """A pass of a loop, counted from zero."""

    loop_id: SafeId
    iteration: Index


class SkippedStep(ClosedWire):
    """A step or loop that was passed over, and what kept it from being chosen."""

    step_id: StepId
    loop: SkippedPass | None = None
    because: Literal["unset", "value", "never"]
    unmet: Items[Unmet]


class DecisionTraceData(Wire):
    """How the next step was chosen. `skipped` is there when steps were passed over and the profile records it."""

    trace_id: NonEmpty
    entries: Annotated[Items[TraceEntry], Sized(1, MAX_TRACE_ENTRIES)]
    skipped: Annotated[Items[SkippedStep], Sized(most=MAX_SKIPPED_ENTRIES)] | None = None
    skipped_omitted: Index | None = None

    def check_together(self) -> None:
        if sum(js.u8_length(entry.summary) for entry in self.entries) > MAX_TRACE_TOTAL_BYTES:
            raise ValueError(f"summaries must not exceed {MAX_TRACE_TOTAL_BYTES} bytes together")


class RunCompletedData(Wire):
    """A branch of the run reached its end."""

    start_git_sha: GitSha | None
    end_git_sha: GitSha | None
    git_branch: NonEmpty | None
    agent_commit_shas: Items[GitSha]
    capture_confidence: Literal["high", "none"]
    duration_ms: Index | None = None

    def check_together(self) -> None:
        if self.capture_confidence == "high" and not self.agent_commit_shas:
            raise ValueError("high confidence needs at least one commit")
