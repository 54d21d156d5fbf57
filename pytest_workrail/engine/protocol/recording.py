"""The records of an outcome: the snapshot of the new node, and the events of one plan."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.criteria import Validation
from pytest_workrail.engine.core.interpreter import snapshot_of, state_of
from pytest_workrail.engine.core.modes import is_autonomous
from pytest_workrail.engine.core.outcomes import Passed, skipped_list
from pytest_workrail.engine.core.outputs import (
    Invalid,
    Judgement,
    Missing,
    Submission,
    stored_artifacts,
    stored_notes,
    stored_validation,
)
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.prompts import FixContext, fixed_members
from pytest_workrail.engine.model import keys
from pytest_workrail.engine.model.blockers import BlockerReport, GapRecordedData, resolving_gap
from pytest_workrail.engine.model.events import (
    ConsequenceAppliedData,
    ConsequenceTrigger,
    ContextSetData,
    FollowupEffect,
    NodeOutputData,
    NotesPayload,
    RunCompletedData,
    ValidationPerformedData,
)
from pytest_workrail.engine.model.ids import AttemptId, NodeId, SnapshotRef, child_attempt
from pytest_workrail.engine.model.reasons import Reason, blocker_report
from pytest_workrail.engine.model.snapshot import (
    Block,
    ExecutionSnapshot,
    GateCheckpoint,
    RetryableBlock,
    TerminalBlock,
)
from pytest_workrail.engine.model.trace import DecisionTraceData, SkippedList, TraceEntry
from pytest_workrail.engine.projections.session_facts import workspace
from pytest_workrail.engine.protocol.advance_outcome import (
    Accepted,
    AdvanceAttempt,
    AdvanceOutcome,
    Asked,
    Gated,
    Refused,
)
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.ports import GitEnd
from pytest_workrail.engine.protocol.sessions import NodePosition
from pytest_workrail.engine.store.plan import (
    AppendPlan,
    Conclusions,
    EventBuilder,
    Step,
    advance_plan,
    block_plan,
    gate_plan,
    question_plan,
)
from workrail_lint.base.result import Err, Ok

_NO_CONTRACT = "none"


class AttemptEntry(Struct, frozen=True):
    """One attempt about to be written: what was submitted, and where it leads.

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
            gate = GateCheckpoint(entry.attempted.instance.step_id, outcome.gate)
            return snapshot_of(state_of(entry.position.snapshot), gate=gate)
        case Refused():
            has_validation = outcome.validation is not None or _lacks_notes(outcome.judgement, profile) is not None
            block = _block(entry, outcome.reasons, has_validation, profile)
        case Asked():
            block = _block(entry, outcome.question.reasons(), False, profile)
    return snapshot_of(state_of(entry.position.snapshot), blocked=block)


def _block(entry: AttemptEntry, reasons: Sequence[Reason], has_validation: bool, profile: Profile) -> Block:
    attempted = entry.attempted
    path = attempted.instance.loop_path
    fixes = FixContext(
        attempted.position.program.index.packs,
        is_autonomous(attempted.context),
        fixed_members(attempted.step, path[-1].loop_id if path else None, profile),
    )
    reason = reasons[0].stored()
    blockers = BlockerReport(blocker_report(reasons, fixes))
    validation_ref = keys.validation_id(entry.attempt) if has_validation else None
    if not reason.is_retryable:
        return TerminalBlock(reason, blockers, validation_ref)  # type: ignore[arg-type]  # a test holds the union
    return RetryableBlock(
        reason=reason,  # type: ignore[arg-type]  # as above
        blockers=blockers,
        validation_ref=validation_ref,
        retry_attempt_id=child_attempt(entry.attempt),
    )


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
            [recorded.data(entry.attempt) for recorded in outcome.judgement.assessments],
            [observed.data(entry.attempt) for observed in outcome.reports.observations],
            [divergence.data(entry.attempt) for divergence in outcome.reports.divergences],
        )
    if isinstance(outcome, Refused):
        return block_plan(
            builder,
            step,
            validation=_refused_validation(outcome, entry.attempt, profile),
            observed=observed,
            consequences=_consequences(outcome.judgement, entry.attempt),
            artifacts=artifacts,
        )
    context = entry.attempted.context
    validation = _accepted_validation(entry, outcome.judgement, profile)
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
    return stored


def _recap(entry: AttemptEntry) -> list[NodeOutputData]:
    notes = stored_notes(entry.attempted.submission.notes)
    if notes is None or entry.attempted.is_resubmission:
        return []
    payload = NotesPayload(notes_markdown=notes)
    return [NodeOutputData(output_id=keys.recap_output_id(entry.attempt), output_channel="recap", payload=payload)]


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
    return ValidationPerformedData(
        validation_id=keys.validation_id(attempt),
        attempt_id=attempt,
        contract_ref=contract_ref,
        result=stored_validation(validation),
    )


def _refused_validation(outcome: Refused, attempt: AttemptId, profile: Profile) -> ValidationPerformedData | None:
    notes = _lacks_notes(outcome.judgement, profile)
    if outcome.validated is not None and outcome.validation is not None:
        return _validation(attempt, outcome.validated, _joined(outcome.validation, notes))
    return None if notes is None else _validation(attempt, _NO_CONTRACT, _joined(outcome.validation, notes))


def _lacks_notes(judgement: Judgement, profile: Profile) -> Validation | None:
    """Return what is on record about notes that are missing, where the profile records it."""
    match profile.notes_validation:
        case "omit":
            return None
        case "record" if judgement.lacks_notes and not judgement.failed:
            return Validation(False, (f"Missing required notes for stepId={judgement.step_id}",))
        case "record":
            return None


def _joined(validation: Validation | None, notes: Validation | None) -> Validation:
    if validation is None or notes is None:
        return validation or notes or Validation(True)
    return Validation(False, (*validation.issues, *notes.issues), validation.suggestions)


def _accepted_validation(entry: AttemptEntry, judgement: Judgement, profile: Profile) -> ValidationPerformedData | None:
    """Return the result that goes on record with a success: of a retry always, else where notes are missing."""
    notes = _lacks_notes(judgement, profile)
    if entry.attempted.is_retry:
        return _retry_validation(judgement, entry.attempt, notes)
    return None if notes is None else _validation(entry.attempt, _NO_CONTRACT, notes)


def _retry_validation(judgement: Judgement, attempt: AttemptId, notes: Validation | None) -> ValidationPerformedData:
    """A retry that goes through says what was wrong with it, or that nothing was."""
    validation = judgement.validation if notes is None else _joined(judgement.validation, notes)
    match judgement.requirement:
        case Missing(ref):
            missing = Validation(False, (f"Missing required output for contractRef={ref}",))
            return _validation(attempt, ref, validation or missing)
        case Invalid(ref):
            return _validation(attempt, ref, validation or Validation(True))
        case _:
            return _validation(attempt, _NO_CONTRACT, validation or Validation(True))


def _gaps(outcome: Accepted, attempt: AttemptId) -> list[GapRecordedData]:
    resolving = [
        resolving_gap(
            keys.resolving_gap_id(attempt, index), each.gap, keys.artifact_output_id(attempt, each.artifact_index)
        )
        for index, each in enumerate(outcome.resolved)
    ]
    recorded = [
        gap.recorded(name(attempt, index))
        for gaps, name in (
            (outcome.passed_over, keys.gap_id),
            (outcome.tolerated, keys.downgraded_gap_id),
            (outcome.recommendations, keys.recommendation_gap_id),
        )
        for index, gap in enumerate(gaps)
    ]
    return [*recorded, *resolving]


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

    What was passed over goes along where the profile asks about it, because a replay evaluates nothing.
    """
    if not trace:
        return None
    skipped: SkippedList | None = None
    match profile.unset_condition:
        case "pass_over":
            pass
        case "ask" if passed:
            skipped = skipped_list(passed, context)
        case "ask":
            pass
    if skipped is None:
        return DecisionTraceData(keys.trace_id(attempt), tuple(trace))
    return DecisionTraceData(keys.trace_id(attempt), tuple(trace), skipped.entries, skipped.omitted or None)


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
