"""Blockers and gaps: the same reasons, told to an agent that has to stop or recorded by a run that goes on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Literal, TypeAlias, assert_never

from pytest_workrail.engine.core.guidance import contract_guidance
from pytest_workrail.engine.core.packs import ContractPack
from pytest_workrail.engine.core.reasons import (
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
)
from pytest_workrail.engine.core.values import CollationKey, collation_key, is_safe_id, truncate_marked, utf8_prefix
from pytest_workrail.engine.core.vocabulary import (
    MAX_BLOCKER_MESSAGE_BYTES,
    MAX_BLOCKER_SUGGESTED_FIX_BYTES,
    MAX_BLOCKERS,
    MAX_CONTEXT_KEY_BYTES,
    BlockerCode,
    GapSeverity,
)
from pytest_workrail.records import Record
from workrail_lint.base.js import Json

Pointer: TypeAlias = dict[str, Json]
GapCategory: TypeAlias = Literal["contract_violation", "capability_missing", "user_only_dependency", "unexpected"]


class BlockKind(str, Enum):
    """Whether submitting again can help."""

    RETRYABLE = "retryable_block"
    TERMINAL = "terminal_block"


class Blocker(Record):
    """One structured reason why a run can't advance, within its budgets."""

    code: BlockerCode
    pointer: Pointer
    message: str
    suggested_fix: str
    details: dict[str, Json] | None = None

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "code": self.code,
            "pointer": self.pointer,
            "message": self.message,
            "suggestedFix": self.suggested_fix,
        }
        return shown if self.details is None else {**shown, "details": self.details}


class Gap(Record):
    """The same reason, recorded by a run that goes on."""

    severity: GapSeverity
    category: GapCategory
    detail: str
    summary: str
    details: dict[str, Json] | None = None
    # The events that show it.
    evidence: tuple[str, ...] = ()

    def to_json(self, gap_id: str) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "gapId": gap_id,
            "severity": self.severity,
            "reason": {"category": self.category, "detail": self.detail},
            "summary": self.summary,
            "resolution": {"kind": "unresolved"},
        }
        if self.evidence:
            shown["evidenceRefs"] = [{"kind": "event", "eventId": event_id} for event_id in self.evidence]
        return shown if self.details is None else {**shown, "details": self.details}


class FixContext(Record):
    """What a suggested fix can refer to."""

    packs: Mapping[str, ContractPack]
    is_autonomous: bool = False
    fixed: Mapping[str, str] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The tool with which this agent hands in a step."""
        return "complete_step" if self.is_autonomous else "continue_workflow"


def blocker_report(reasons: Sequence[Reason], fixes: FixContext) -> tuple[Blocker, ...]:
    """All reasons as blockers in a stable order, the first ten."""
    blockers = sorted((_blocker(reason, fixes) for reason in reasons), key=_sort_key)
    return tuple(blockers[:MAX_BLOCKERS])


def _sort_key(blocker: Blocker) -> CollationKey:
    stable = "|".join(str(value) for name, value in blocker.pointer.items() if name != "kind")
    return collation_key(f"{blocker.code}|{blocker.pointer['kind']}|{stable}")


def _blocker(reason: Reason, fixes: FixContext) -> Blocker:
    code, pointer, message = _facts(reason)
    return Blocker(
        code,
        pointer,
        truncate_marked(message, MAX_BLOCKER_MESSAGE_BYTES),
        truncate_marked(_fix(reason, fixes), MAX_BLOCKER_SUGGESTED_FIX_BYTES),
        reason_details(reason),
    )


_RUN: Pointer = {"kind": "context_budget"}


def _facts(reason: Reason) -> tuple[BlockerCode, Pointer, str]:
    match reason:
        case MissingRequiredOutput(ref, kinds):
            return "MISSING_REQUIRED_OUTPUT", _contract_pointer(ref), _missing_output(ref, kinds)
        case InvalidRequiredOutput(ref):
            return "INVALID_REQUIRED_OUTPUT", _contract_pointer(ref), f"Invalid output for contractRef={ref}."
        case MissingNotes(step_id):
            message = f'Step "{step_id}" requires notes documenting your work (output.notesMarkdown).'
            return "MISSING_REQUIRED_NOTES", _step_pointer(step_id), message
        case FollowupRequired(assessment_id, dimension_id, level, _):
            place = f"{assessment_id}.{dimension_id}"
            message = f'Follow-up required before this step can proceed: {place} matched "{level}".'
            pointer: Pointer = {
                "kind": "assessment_dimension",
                "assessmentId": assessment_id,
                "dimensionId": _safe(dimension_id),
            }
            return "ASSESSMENT_FOLLOWUP_REQUIRED", pointer, message
        case MissingContextKey(key):
            pointer = {"kind": "context_key", "key": utf8_prefix(key, MAX_CONTEXT_KEY_BYTES) or "-"}
            return "MISSING_CONTEXT_KEY", pointer, f"Missing required context key: {key}"
        case ContextBudgetExceeded():
            return "CONTEXT_BUDGET_EXCEEDED", _RUN, "The context is larger than its budget allows."
        case CapabilityUnknown(capability):
            message = f"Required capability status is unknown: {capability}."
            return "REQUIRED_CAPABILITY_UNKNOWN", _capability_pointer(capability), message
        case CapabilityUnavailable(capability):
            message = f"Required capability is unavailable: {capability}."
            return "REQUIRED_CAPABILITY_UNAVAILABLE", _capability_pointer(capability), message
        case UserOnlyDependency(detail, step_id, _):
            return "USER_ONLY_DEPENDENCY", _step_pointer(step_id), f"Step requires user input: {detail}."
        case LoopLimitReached(loop_id, iteration, limit):
            message = f"Loop '{loop_id}' would start iteration {iteration} but is limited to {limit}."
            return "INVARIANT_VIOLATION", _step_pointer(loop_id), message
        case InvariantViolation():
            return "INVARIANT_VIOLATION", _RUN, "The run is in a state that it should never be in."
        case EvaluationFailed():
            return "INVARIANT_VIOLATION", _RUN, "The validation criteria of this step could not be evaluated."
        case StorageCorruption():
            return "STORAGE_CORRUPTION_DETECTED", _RUN, "The stored session is damaged."
        case _:
            assert_never(reason)


def _missing_output(ref: str, kinds: tuple[str, ...] | None) -> str:
    if kinds is None:
        return f"Missing required output (contractRef={ref})."
    if not kinds:
        return f"Your output.artifacts was empty. This step requires contractRef={ref}."
    named = ", ".join(f"'{kind}'" for kind in kinds)
    return f"You submitted kind {named}, but this step requires contractRef={ref}."


def _contract_pointer(ref: str) -> Pointer:
    return {"kind": "output_contract", "contractRef": ref}


def _capability_pointer(capability: str) -> Pointer:
    return {"kind": "capability", "capability": capability}


def _step_pointer(step_id: str) -> Pointer:
    return {"kind": "workflow_step", "stepId": step_id}


def _safe(name: str) -> str:
    """A name that can stand in a pointer; authors may call dimensions and keys anything."""
    return name if is_safe_id(name) else re.sub("[^a-z0-9_-]+", "-", name.lower()) or "-"


def _fix(reason: Reason, fixes: FixContext) -> str:
    """What to do about it, in one or two sentences."""
    match reason:
        case MissingRequiredOutput():
            return _with_guidance(f"Call {fixes.tool} again with the artifact in `output.artifacts`.", reason, fixes)
        case InvalidRequiredOutput():
            opening = f"Correct what the issues name and call {fixes.tool} again with `output.artifacts`."
            return _with_guidance(opening, reason, fixes)
        case MissingNotes():
            return (
                f"Call {fixes.tool} again with the retry token and `output.notesMarkdown`: what you did in this step, "
                "what you decided and why, what you found, what is still open."
            )
        case FollowupRequired(guidance=guidance):
            return guidance
        case MissingContextKey(key, None):
            return f"Set `{key}` in `context` and call {fixes.tool} again."
        case MissingContextKey(key, step_id):
            return (
                f"Step `{step_id}` waits for `{key}`, which is not set. Call {fixes.tool} again with its true value in "
                "`context`; the suggested value is only one under which the step runs. If you advance without it, the "
                "step is left out and that decision goes on record."
            )
        case ContextBudgetExceeded():
            return "Send less: keep large texts in files and put only what later steps need into the context."
        case CapabilityUnknown(capability) | CapabilityUnavailable(capability):
            return (
                f"Have {capability} provided, rehydrate the step above this block, and advance it with an observation "
                "that comes from trying the capability; a claim is not enough."
            )
        case UserOnlyDependency(detail="needs_user_approval"):
            return (
                "Ask the person to approve this step. Once they have set the run to guided, rehydrate the step above "
                "this block and advance it; nothing you submit stands in for their approval."
            )
        case UserOnlyDependency():
            return "Ask the person for it. Once they have provided it, rehydrate the step above this block and advance."
        case LoopLimitReached():
            return (
                f"End the loop: call {fixes.tool} again with the decision `stop`, or with context that lets the loop's "
                "own condition end it."
            )
        case EvaluationFailed():
            return "Tell the author of the workflow: the criteria of this step have to be corrected."
        case InvariantViolation():
            return "Stop and report this; submitting again does not help."
        case StorageCorruption():
            return "Stop and report this; export what is left of the session before anything else."
        case _:
            assert_never(reason)


def _with_guidance(opening: str, reason: MissingRequiredOutput | InvalidRequiredOutput, fixes: FixContext) -> str:
    ref = reason.contract_ref
    pack = fixes.packs.get(ref)
    if pack is None and not ref.startswith("wr.contracts."):
        return (
            f"Call {fixes.tool} again with the retry token and, in `output.notesMarkdown`, notes that meet the "
            "criteria of this step."
        )
    if pack is None:
        return opening
    fixed = fixes.fixed if reason.loop is None else {"loopId": reason.loop.loop_id}
    return "\n".join([opening, *(f"- {line}" for line in contract_guidance(ref, pack, fixed))])


def reason_details(reason: Reason) -> dict[str, Json] | None:
    """Facts that go along with a blocker or a gap."""
    match reason:
        case LoopLimitReached(loop_id, iteration, limit):
            return {"loopId": loop_id, "iteration": iteration, "maxIterations": limit}
        case MissingRequiredOutput(loop=at) | InvalidRequiredOutput(loop=at) if at is not None:
            return {"loopId": at.loop_id, "iteration": at.iteration}
        case UserOnlyDependency(detail, _, choice):
            return {"detail": detail} if choice is None else {"detail": detail, "choice": choice}
        case MissingContextKey(_, step_id, unmet, suggested) if step_id is not None:
            return {"stepId": step_id, "unmet": list(unmet), "suggested": suggested}
        case _:
            return None


def gap_for(reason: Reason, severity: GapSeverity = "critical") -> Gap:
    """A reason as a gap; `warning` is for reasons that the risk policy tolerates."""
    category, detail, summary = _gap_facts(reason)
    return Gap(severity, category, detail, summary, reason_details(reason))


def _gap_facts(reason: Reason) -> tuple[GapCategory, str, str]:
    match reason:
        case MissingRequiredOutput(ref):
            return "contract_violation", reason.kind, f"Missing required output for contractRef={ref}"
        case InvalidRequiredOutput(ref):
            return "contract_violation", reason.kind, f"Invalid required output for contractRef={ref}"
        case MissingNotes(step_id):
            return "contract_violation", "missing_required_notes", f"Missing required notes for stepId={step_id}"
        case FollowupRequired(assessment_id, dimension_id, level, _):
            summary = f"Assessment follow-up required: {assessment_id}.{dimension_id} == {level}"
            return "contract_violation", reason.kind, summary
        case MissingContextKey(key):
            return "unexpected", "invariant_violation", f"Missing required context key: {key}"
        case ContextBudgetExceeded():
            return "unexpected", "invariant_violation", "Context budget exceeded"
        case CapabilityUnknown(capability):
            return "capability_missing", reason.kind, f"Required capability status unknown: {capability}"
        case CapabilityUnavailable(capability):
            return "capability_missing", reason.kind, f"Required capability unavailable: {capability}"
        case UserOnlyDependency(detail, step_id, _):
            return "user_only_dependency", detail, f"User-only dependency: {detail} (stepId={step_id})"
        case LoopLimitReached(loop_id, iteration, limit):
            summary = f"Loop limit reached: {loop_id} (iteration={iteration}, maxIterations={limit})"
            return "unexpected", "invariant_violation", summary
        case InvariantViolation():
            return "unexpected", reason.kind, "Invariant violation"
        case StorageCorruption():
            return "unexpected", reason.kind, "Storage corruption detected"
        case EvaluationFailed():
            return "unexpected", reason.kind, "Validation evaluation failed"
        case _:
            assert_never(reason)


def decision_gap(variable: str, step_id: str, asked_by: str) -> Gap:
    """A variable was asked for and the agent went on without it: its decision, on record."""
    return Gap(
        "info",
        "unexpected",
        "invariant_violation",
        f"Left unset by decision: {variable} (stepId={step_id})",
        {"variable": variable, "stepId": step_id},
        (asked_by,),
    )


def distinct_gaps(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """Gaps of one advance, each category, detail and summary once."""
    seen: dict[tuple[str, str, str], Gap] = {}
    for gap in gaps:
        seen.setdefault((gap.category, gap.detail, gap.summary), gap)
    return tuple(seen.values())


def block_kind(reason: Reason) -> BlockKind:
    """Whether submitting again can help; the primary reason decides for a whole block."""
    match reason:
        case (
            MissingRequiredOutput()
            | InvalidRequiredOutput()
            | MissingNotes()
            | FollowupRequired()
            | MissingContextKey()
            | ContextBudgetExceeded()
            | LoopLimitReached()
        ):
            return BlockKind.RETRYABLE
        case (
            CapabilityUnknown()
            | CapabilityUnavailable()
            | UserOnlyDependency()
            | InvariantViolation()
            | StorageCorruption()
            | EvaluationFailed()
        ):
            return BlockKind.TERMINAL
        case _:
            assert_never(reason)


def snapshot_reason(reason: Reason) -> dict[str, Json]:
    """The primary reason of a block as a snapshot remembers it."""
    named: dict[str, Json] = {"kind": reason.kind}
    match reason:
        case MissingRequiredOutput(ref) | InvalidRequiredOutput(ref):
            return {**named, "contractRef": ref}
        case MissingNotes(step_id):
            return {**named, "stepId": step_id}
        case FollowupRequired(assessment_id, dimension_id, level, guidance):
            facts: dict[str, Json] = {"assessmentId": assessment_id, "dimensionId": dimension_id}
            return {**named, **facts, "level": level, "guidance": guidance}
        case MissingContextKey(key, None):
            return {**named, "key": key}
        case MissingContextKey(key, step_id, patch=patch):
            return {**named, "key": key, "stepId": step_id, "patch": dict(patch or {})}
        case UserOnlyDependency(detail, step_id, _):
            return {**named, "detail": detail, "stepId": step_id}
        case CapabilityUnknown(capability) | CapabilityUnavailable(capability):
            return {**named, "capability": capability}
        case LoopLimitReached(loop_id, iteration, limit):
            return {**named, "loopId": loop_id, "iteration": iteration, "maxIterations": limit}
        case ContextBudgetExceeded() | InvariantViolation() | StorageCorruption() | EvaluationFailed():
            return named
        case _:
            assert_never(reason)
