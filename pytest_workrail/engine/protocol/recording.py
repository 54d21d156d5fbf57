"""What is written for an outcome: the snapshot of the new node, and the events of one plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_workrail.engine.core.blockers import BlockKind, FixContext, Gap, block_kind, blocker_report, snapshot_reason
from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.confirmation import is_autonomous
from pytest_workrail.engine.core.guidance import fixed_members
from pytest_workrail.engine.core.outputs import (
    Invalid,
    Judgement,
    Missing,
    Submission,
    stored_artifacts,
    stored_notes,
    stored_validation,
)
from pytest_workrail.engine.core.profiles import Profile, UnsetCondition
from pytest_workrail.engine.core.reasons import Reason
from pytest_workrail.engine.core.skipped import Passed, skipped_list
from pytest_workrail.engine.core.trace import IterationRef, LoopRef, StepRef, TraceEntry
from pytest_workrail.engine.core.validation import Validation
from pytest_workrail.engine.events import keys, payloads
from pytest_workrail.engine.events.ids import AttemptId, NodeId, SnapshotRef, child_attempt
from pytest_workrail.engine.events.judgements import (
    AssessmentRecordedData,
    CapabilityObservedData,
    ConsequenceAppliedData,
    ConsequenceTrigger,
    DivergenceData,
    FollowupEffect,
    GapRecordedData,
    RecordedDimension,
)
from pytest_workrail.engine.events.payloads import (
    ArtifactPayload,
    ContextSetData,
    DecisionTraceData,
    NodeOutputData,
    NotesPayload,
    RunCompletedData,
    SkippedStep,
    ValidationPerformedData,
    ValidationResult,
)
from pytest_workrail.engine.events.plan import (
    AppendPlan,
    Conclusions,
    EventBuilder,
    Step,
    advance_plan,
    block_plan,
    gate_plan,
    question_plan,
)
from pytest_workrail.engine.events.snapshot import ExecutionSnapshot, snapshot_of
from pytest_workrail.engine.projections.facts import workspace
from pytest_workrail.engine.protocol.advance_outcome import (
    Accepted,
    AdvanceAttempt,
    AdvanceOutcome,
    Asked,
    Gated,
    Refused,
    Reports,
)
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.ports import GitEnd
from pytest_workrail.engine.protocol.sessions import NodePosition
from pytest_workrail.records import Record
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

if TYPE_CHECKING:
    from pytest_workrail.engine.core.assessments import RecordedAssessment

_NO_CONTRACT = "none"


class AttemptEntry(Record, guarded=False):
    """One attempt about to be written: what was handed in, and where it leads.

    `has_context` tells whether the call carried a context; the merged one is in `attempted`.
    """

    attempted: AdvanceAttempt
    attempt: AttemptId
    target: NodeId
    has_context: bool
    git_end: GitEnd

    @property
    def position(self) -> NodePosition:
        return self.attempted.position

    def step(self, ref: SnapshotRef) -> Step:
        """The attempt as plans know it, given the snapshot it leads to."""
        node = self.position.node
        cause = self.position.run.advance_cause(node.node_id)
        return Step(node.node_id, self.attempt, self.target, node.workflow_hash, ref, cause)


def snapshot_for(entry: AttemptEntry, outcome: AdvanceOutcome, profile: Profile) -> ExecutionSnapshot:
    """The state of the node that the attempt leads to."""
    match outcome:
        case Accepted():
            return snapshot_of(outcome.selection.state)
        case Gated():
            gate: dict[str, Json] = {"stepId": entry.attempted.instance.step_id, "gateKind": outcome.gate}
            return snapshot_of(entry.position.snapshot.execution_state, gate=gate)
        case Refused():
            block = _block(entry, outcome.reasons, outcome.validation is not None, profile)
        case Asked():
            block = _block(entry, outcome.question.reasons(), False, profile)
    return snapshot_of(entry.position.snapshot.execution_state, blocked=block)


def _block(entry: AttemptEntry, reasons: Sequence[Reason], has_validation: bool, profile: Profile) -> dict[str, Json]:
    attempted = entry.attempted
    path = attempted.instance.loop_path
    fixes = FixContext(
        attempted.position.program.index.packs,
        is_autonomous(attempted.context),
        fixed_members(attempted.step, path[-1].loop_id if path else None, profile),
    )
    blockers: list[Json] = [blocker.to_json() for blocker in blocker_report(reasons, fixes)]
    primary = reasons[0]
    kind = block_kind(primary)
    block: dict[str, Json] = {"kind": kind.value, "reason": snapshot_reason(primary)}
    if kind is BlockKind.RETRYABLE:
        block["retryAttemptId"] = child_attempt(entry.attempt)
    if has_validation:
        block["validationRef"] = keys.validation_id(entry.attempt)
    return block | {"blockers": {"blockers": blockers}}


def plan_for(
    entry: AttemptEntry,
    outcome: AdvanceOutcome,
    artifacts: Sequence[NodeOutputData],
    ref: SnapshotRef,
    builder: EventBuilder,
    profile: Profile,
) -> AppendPlan:
    """The events of the attempt."""
    step = entry.step(ref)
    if isinstance(outcome, Gated):
        return gate_plan(builder, step)
    observed = None
    if not entry.attempted.is_resubmission:
        observed = Conclusions(
            [_assessment(recorded, entry.attempt) for recorded in outcome.judgement.assessments],
            *_reported(outcome.reports, entry.attempt),
        )
    if isinstance(outcome, Refused):
        return block_plan(
            builder,
            step,
            validation=_refused_validation(outcome, entry.attempt),
            observed=observed,
            consequences=_consequences(outcome.judgement, entry.attempt),
            artifacts=artifacts,
        )
    context = entry.attempted.context
    validation = _retry_validation(outcome.judgement, entry.attempt) if entry.attempted.is_retry else None
    if isinstance(outcome, Asked):
        return question_plan(
            builder,
            step,
            context=_context(entry),
            validation=validation,
            trace=trace_data(outcome.trace, outcome.passed, context, entry.attempt, profile),
            observed=observed,
            outputs=[*_recap(entry), *artifacts],
        )
    selection = outcome.selection
    return advance_plan(
        builder,
        step,
        gaps=_gaps(outcome, entry.attempt),
        context=_context(entry),
        validation=validation,
        trace=trace_data(selection.trace, selection.passed, context, entry.attempt, profile),
        observed=observed,
        completion=_completion(entry) if outcome.selection.is_complete else None,
        outputs=[*_recap(entry), *artifacts],
    )


def artifact_outputs(submission: Submission, attempt: AttemptId) -> Ok[list[NodeOutputData]] | Err[ToolError]:
    """The submitted artifacts as they are kept; an error when one of them is not JSON."""
    stored = stored_artifacts(submission.artifacts, attempt)
    if isinstance(stored, Err):
        advice = "Submit artifacts that are plain JSON; nothing was written."
        return Err(ToolError("VALIDATION_ERROR", stored.error, advice))
    return Ok(
        [
            NodeOutputData(
                output_id=artifact.output_id,
                output_channel="artifact",
                payload=ArtifactPayload.from_wire(artifact.payload()),
            )
            for artifact in stored.value
        ]
    )


def _recap(entry: AttemptEntry) -> list[NodeOutputData]:
    notes = stored_notes(entry.attempted.submission.notes)
    if notes is None or entry.attempted.is_resubmission:
        return []
    payload = NotesPayload.built(notes_markdown=notes)
    return [
        NodeOutputData.built(output_id=keys.recap_output_id(entry.attempt), output_channel="recap", payload=payload)
    ]


def _assessment(recorded: RecordedAssessment, attempt: AttemptId) -> AssessmentRecordedData:
    return AssessmentRecordedData(
        assessment_id=recorded.assessment_id,
        attempt_id=attempt,
        artifact_output_id=keys.artifact_output_id(attempt, recorded.artifact_index),
        summary=recorded.summary,
        normalization_notes=recorded.normalization_notes,
        dimensions=tuple(
            RecordedDimension(
                dimension_id=dimension.dimension_id,
                level=dimension.level,
                rationale=dimension.rationale,
                normalization=dimension.normalization,
            )
            for dimension in recorded.dimensions
        ),
    )


def _reported(reports: Reports, attempt: AttemptId) -> tuple[list[CapabilityObservedData], list[DivergenceData]]:
    capabilities = [
        CapabilityObservedData.from_wire(
            {
                "capObsId": keys.observation_id(attempt, observation.artifact_index),
                "capability": observation.capability,
                "status": observation.status,
                "provenance": observation.provenance,
            }
        )
        for observation in reports.observations
    ]
    divergences = [
        DivergenceData(
            divergence_id=keys.divergence_id(attempt, divergence.artifact_index),
            reason=divergence.reason,
            summary=divergence.summary,
            related_step_id=divergence.related_step_id,
        )
        for divergence in reports.divergences
    ]
    return capabilities, divergences


def _consequences(judgement: Judgement, attempt: AttemptId) -> list[ConsequenceAppliedData]:
    return [
        ConsequenceAppliedData(
            attempt_id=attempt,
            assessment_id=followup.assessment_id,
            trigger=ConsequenceTrigger(dimension_id=followup.dimension_id, level=followup.level),
            effect=FollowupEffect(guidance=followup.guidance),
        )
        for followup in judgement.followups
    ]


def _validation(attempt: AttemptId, contract_ref: str, validation: Validation) -> ValidationPerformedData:
    stored = stored_validation(validation)
    return ValidationPerformedData(
        validation_id=keys.validation_id(attempt),
        attempt_id=attempt,
        contract_ref=contract_ref,
        result=ValidationResult(valid=stored.valid, issues=stored.issues, suggestions=stored.suggestions),
    )


def _refused_validation(outcome: Refused, attempt: AttemptId) -> ValidationPerformedData | None:
    if outcome.validated is None or outcome.validation is None:
        return None
    return _validation(attempt, outcome.validated, outcome.validation)


def _retry_validation(judgement: Judgement, attempt: AttemptId) -> ValidationPerformedData:
    """A retry that goes through says what was wrong with it, or that nothing was."""
    found = judgement.validation
    match judgement.requirement:
        case Missing(ref):
            missing = Validation(False, (f"Missing required output for contractRef={ref}",))
            return _validation(attempt, ref, found or missing)
        case Invalid(ref):
            return _validation(attempt, ref, found or Validation(True))
        case _:
            return _validation(attempt, _NO_CONTRACT, found or Validation(True))


def gap_data(gap: Gap, gap_id: str) -> GapRecordedData:
    """A gap as it is recorded."""
    return GapRecordedData.from_wire(gap.to_json(gap_id))


def _gaps(outcome: Accepted, attempt: AttemptId) -> list[GapRecordedData]:
    return [
        gap_data(gap, name(attempt, index))
        for gaps, name in (
            (outcome.passed_over, keys.gap_id),
            (outcome.tolerated, keys.downgraded_gap_id),
            (outcome.recommendations, keys.recommendation_gap_id),
        )
        for index, gap in enumerate(gaps)
    ]


def _context(entry: AttemptEntry) -> ContextSetData | None:
    if not entry.has_context:
        return None
    return ContextSetData(
        context_id=keys.context_id(entry.attempt), context=entry.attempted.context, source="agent_delta"
    )


def trace_data(
    trace: Sequence[TraceEntry],
    passed: Sequence[Passed],
    context: Context,
    attempt: AttemptId | None,
    profile: Profile,
) -> DecisionTraceData | None:
    """How the next step was chosen; nothing when there was nothing to choose.

    What was passed over goes along where a profile tells of it, because a replay evaluates nothing.
    """
    if not trace:
        return None
    told: dict[str, object] = {}
    match profile.unset_condition:
        case UnsetCondition.PASS_OVER:
            pass
        case UnsetCondition.ASK if passed:
            skipped, omitted = skipped_list(passed, context)
            told = {"skipped": tuple([SkippedStep.from_wire(each) for each in skipped])}
            if omitted:
                told["skipped_omitted"] = omitted
        case UnsetCondition.ASK:
            pass
    entries = tuple([_trace_entry(entry) for entry in trace])
    return DecisionTraceData.built(trace_id=keys.trace_id(attempt), entries=entries, **told)


_REFS: dict[type, type[payloads.StepRef | payloads.LoopRef | payloads.IterationRef]] = {
    StepRef: payloads.StepRef,
    LoopRef: payloads.LoopRef,
    IterationRef: payloads.IterationRef,
}


def _trace_entry(entry: TraceEntry) -> payloads.TraceEntry:
    """An entry as it is stored. Its length was limited when it was made; its ids come from the workflow."""
    refs = tuple([_REFS[type(ref)].from_wire(ref.to_json()) for ref in entry.refs])
    return payloads.TraceEntry.built(kind=entry.kind, summary=entry.summary, refs=refs)


def _completion(entry: AttemptEntry) -> RunCompletedData:
    events = entry.position.events
    place = workspace(events)
    end = entry.git_end
    is_known = end.head_sha is not None and bool(end.commit_shas)
    return RunCompletedData(
        start_git_sha=place.git_head_sha,
        end_git_sha=end.head_sha,
        git_branch=place.git_branch,
        agent_commit_shas=end.commit_shas,
        capture_confidence="high" if is_known else "none",
        duration_ms=max(0, events[-1].timestamp_ms - events[0].timestamp_ms),
    )
