"""Why an advance can't simply go on. Each class owns everything that is said of its reason.

A reason stops a run as a blocker or, in a run that goes on, is recorded as a gap. A snapshot keeps the primary reason
of a block; the members listed in `transient` are facts for the blocker and the gap, and are not stored.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, get_args

from pytest_workrail.engine.model.base import Closed, Index, NonEmpty
from pytest_workrail.engine.model.blockers import (
    AssessmentDimensionPointer,
    Blocker,
    BlockerPointer,
    CapabilityPointer,
    ContextBudgetPointer,
    ContextKeyPointer,
    Gap,
    OutputContractPointer,
    ReasonDetails,
    Unmet,
    WorkflowStepPointer,
)
from pytest_workrail.engine.model.ids import SafeId, StepId
from pytest_workrail.engine.model.step_keys import (
    LoopPosition,
    is_safe_id,
    truncate_marked,
    utf8_prefix,
)
from pytest_workrail.engine.model.words import (
    MAX_BLOCKER_MESSAGE_BYTES,
    MAX_BLOCKER_SUGGESTED_FIX_BYTES,
    MAX_BLOCKERS,
    MAX_CONTEXT_KEY_BYTES,
    Capability,
    GapCategory,
    GapSeverity,
    NonAssumableChoice,
)
from workrail_lint.systems.workrail.blocker_codes import BlockerCode, GapDetail, UserDependency

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.ir import Program, ProgramStep


class Fixes(Protocol):
    """The facts that a suggested fix can use."""

    @property
    def tool(self) -> str:
        """The tool with which this agent submits a step."""
        ...

    def guidance(self, contract_ref: str, loop_id: str | None) -> Sequence[str] | None:
        """Return what an agent has to know about a contract; None for one that is not known here."""
        ...


# ------------------------------------------------------------------------------------------------------------ reasons

_RUN = ContextBudgetPointer()
R = TypeVar("R", bound="Reason")


class Reason(Closed, frozen=True, tag_field="kind"):
    """The base of all reasons."""

    code: ClassVar[BlockerCode]
    heading: ClassVar[str]  # what a block with this reason is called
    is_retryable: ClassVar[bool]  # whether submitting again can help
    gap_reason: ClassVar[tuple[GapCategory, GapDetail]]  # category and detail of the gap
    transient: ClassVar[tuple[str, ...]] = ()
    # The questions of a profile and the answers under which the reason arises; empty where it does under each profile.
    choices: ClassVar[tuple[tuple[str, str], ...]] = ()
    # What a run was refused for, in the name of a scenario; empty where no answer of an agent can bring it about.
    cause: ClassVar[str] = ""

    @classmethod
    def is_asked_of(cls, step: "ProgramStep", program: "Program") -> bool:
        """Return whether a submission of the step can lack what this reason is about."""
        return False

    def message(self) -> str:
        """Return what is wrong, in a sentence for the agent."""
        raise NotImplementedError

    def fix(self, fixes: Fixes) -> str:
        """Return what to do about it, in one or two sentences."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return what a gap says."""
        raise NotImplementedError

    def pointer(self) -> BlockerPointer:
        """Return what the blocker is about."""
        return _RUN

    def details(self) -> ReasonDetails | None:
        """Return facts that go along with a blocker or a gap."""
        return None

    def blocker(self, fixes: Fixes) -> Blocker:
        """Return the reason as a blocker, its texts cut to their budgets."""
        return Blocker(
            self.code,
            self.pointer(),
            truncate_marked(self.message(), MAX_BLOCKER_MESSAGE_BYTES),
            truncate_marked(self.fix(fixes), MAX_BLOCKER_SUGGESTED_FIX_BYTES),
            self.details(),
        )

    def as_gap(self, severity: GapSeverity = "critical") -> Gap:
        """Return the reason as a gap; `warning` is for reasons that the risk policy tolerates."""
        category, detail = self.gap_reason
        return Gap(severity, category, detail, self.summary(), self.details())

    def stored(self: R) -> R:
        """Return the reason as a snapshot keeps it."""
        return self if self.is_stored else self.replaced(**dict.fromkeys(self.transient, None))

    @property
    def is_stored(self) -> bool:
        """Whether all members are those that a snapshot keeps."""
        return all(getattr(self, name) is None for name in self.transient)


class _Output(Reason, frozen=True):
    contract_ref: NonEmpty
    # What was submitted instead; None when there was nothing to name.
    kinds: tuple[str, ...] | None = None
    loop: LoopPosition | None = None

    transient = ("kinds", "loop")

    def pointer(self) -> BlockerPointer:
        return OutputContractPointer(self.contract_ref)

    def details(self) -> ReasonDetails | None:
        at = self.loop
        return None if at is None else ReasonDetails(loop_id=at.loop_id, iteration=at.iteration)

    def _with_guidance(self, opening: str, fixes: Fixes) -> str:
        lines = fixes.guidance(self.contract_ref, None if self.loop is None else self.loop.loop_id)
        if lines is not None:
            return "\n".join([opening, *(f"- {line}" for line in lines)])
        if self.contract_ref.startswith("wr.contracts."):
            return opening
        return (
            f"Call {fixes.tool} again with the retry token and, in `output.notesMarkdown`, notes that meet the "
            "criteria of this step."
        )


class MissingRequiredOutput(_Output, frozen=True, tag="missing_required_output"):
    """No artifact meets the contract. `kinds` are those submitted instead."""

    code = "MISSING_REQUIRED_OUTPUT"
    heading = "Missing Required Output"
    is_retryable = True
    gap_reason = ("contract_violation", "missing_required_output")
    cause = "missing-output"

    def message(self) -> str:
        if self.kinds is None:
            return f"Missing required output (contractRef={self.contract_ref})."
        if not self.kinds:
            return f"Your output.artifacts was empty. This step requires contractRef={self.contract_ref}."
        named = ", ".join(f"'{kind}'" for kind in self.kinds)
        return f"You submitted kind {named}, but this step requires contractRef={self.contract_ref}."

    def fix(self, fixes: Fixes) -> str:
        return self._with_guidance(f"Call {fixes.tool} again with the artifact in `output.artifacts`.", fixes)

    def summary(self) -> str:
        return f"Missing required output for contractRef={self.contract_ref}"


class InvalidRequiredOutput(_Output, frozen=True, tag="invalid_required_output"):
    """The submitted output violates the contract."""

    code = "INVALID_REQUIRED_OUTPUT"
    heading = "Invalid Output"
    is_retryable = True
    gap_reason = ("contract_violation", "invalid_required_output")
    cause = "invalid-output"

    def message(self) -> str:
        return f"Invalid output for contractRef={self.contract_ref}."

    def fix(self, fixes: Fixes) -> str:
        opening = f"Correct what the issues name and call {fixes.tool} again with `output.artifacts`."
        return self._with_guidance(opening, fixes)

    def summary(self) -> str:
        return f"Invalid required output for contractRef={self.contract_ref}"


class MissingNotes(Reason, frozen=True, tag="missing_notes"):
    """The step requires notes."""

    step_id: StepId

    code = "MISSING_REQUIRED_NOTES"
    heading = "Missing Required Notes"
    is_retryable = True
    gap_reason = ("contract_violation", "missing_required_notes")
    cause = "missing-notes"

    @classmethod
    def is_asked_of(cls, step: "ProgramStep", program: "Program") -> bool:
        return step.requires_notes

    def pointer(self) -> BlockerPointer:
        return WorkflowStepPointer(self.step_id)

    def message(self) -> str:
        return f'Step "{self.step_id}" requires notes documenting your work (output.notesMarkdown).'

    def fix(self, fixes: Fixes) -> str:
        return (
            f"Call {fixes.tool} again with the retry token and `output.notesMarkdown`: what you did in this step, "
            "what you decided and why, what you found, what is still open."
        )

    def summary(self) -> str:
        return f"Missing required notes for stepId={self.step_id}"


class FollowupRequired(Reason, frozen=True, tag="assessment_followup_required"):
    """An assessment came to a level that asks for more work first."""

    assessment_id: NonEmpty
    dimension_id: NonEmpty
    level: NonEmpty
    guidance: NonEmpty

    code = "ASSESSMENT_FOLLOWUP_REQUIRED"
    heading = "ASSESSMENT_FOLLOWUP_REQUIRED"
    is_retryable = True
    gap_reason = ("contract_violation", "assessment_followup_required")
    cause = "follow-up"

    @classmethod
    def is_asked_of(cls, step: "ProgramStep", program: "Program") -> bool:
        return step.assessments is not None and bool(step.assessments.consequences)

    def pointer(self) -> BlockerPointer:
        return AssessmentDimensionPointer(self.assessment_id, _safe(self.dimension_id))

    def message(self) -> str:
        place = f"{self.assessment_id}.{self.dimension_id}"
        return f'Follow-up required before this step can proceed: {place} matched "{self.level}".'

    def fix(self, fixes: Fixes) -> str:
        return self.guidance

    def summary(self) -> str:
        return f"Assessment follow-up required: {self.assessment_id}.{self.dimension_id} == {self.level}"


def _safe(name: str) -> str:
    """Return a name that can stand in a pointer; authors may call dimensions anything."""
    return name if is_safe_id(name) else re.sub("[^a-z0-9_-]+", "-", name.lower()) or "-"


class MissingContextKey(Reason, frozen=True, tag="missing_context_key"):
    """A context key has to be there. What follows the key is there when a step waits for it.

    `patch` holds a value under which the step runs for each key it waits for, `suggested` the one for this key;
    `unmet` are the comparisons that read it.
    """

    key: NonEmpty
    step_id: StepId | None = None
    patch: dict[str, Any] | None = None
    unmet: tuple[Unmet, ...] | None = None
    suggested: Any = None

    code = "MISSING_CONTEXT_KEY"
    heading = "Missing Context"
    is_retryable = True
    gap_reason = ("unexpected", "invariant_violation")
    choices = (("unset_condition", "ask"), ("loop_variable", "ask"))
    transient = ("unmet", "suggested")

    @property
    def is_plain(self) -> bool:
        return self.patch is None

    def pointer(self) -> BlockerPointer:
        return ContextKeyPointer(utf8_prefix(self.key, MAX_CONTEXT_KEY_BYTES) or "-")

    def message(self) -> str:
        return f"Missing required context key: {self.key}"

    def fix(self, fixes: Fixes) -> str:
        if self.step_id is None:
            return f"Set `{self.key}` in `context` and call {fixes.tool} again."
        return (
            f"Step `{self.step_id}` waits for `{self.key}`, which is not set. Call {fixes.tool} again with its true "
            "value in `context`; the suggested value is only one under which the step runs. If you advance without "
            "it, the step is left out and that decision goes on record."
        )

    def summary(self) -> str:
        return self.message()

    def details(self) -> ReasonDetails | None:
        if self.step_id is None:
            return None
        return ReasonDetails(step_id=self.step_id, unmet=self.unmet or (), suggested=self.suggested)


class ContextBudgetExceeded(Reason, frozen=True, tag="context_budget_exceeded"):
    """The context is too large."""

    code = "CONTEXT_BUDGET_EXCEEDED"
    heading = "Context Budget Exceeded"
    is_retryable = True
    gap_reason = ("unexpected", "invariant_violation")

    def message(self) -> str:
        return "The context is larger than its budget allows."

    def fix(self, fixes: Fixes) -> str:
        return "Send less: keep large texts in files and put only what later steps need into the context."

    def summary(self) -> str:
        return "Context budget exceeded"


class LoopLimitReached(Reason, frozen=True, tag="loop_limit"):
    """A loop would start an iteration that its limit does not allow."""

    loop_id: SafeId
    iteration: Index
    max_iterations: Index

    code = "INVARIANT_VIOLATION"
    heading = "Invariant Violation"
    is_retryable = True
    gap_reason = ("unexpected", "invariant_violation")
    choices = (("loop_limit", "report"),)
    cause = "loop-limit"

    def pointer(self) -> BlockerPointer:
        return WorkflowStepPointer(self.loop_id)

    def message(self) -> str:
        return f"Loop '{self.loop_id}' would start iteration {self.iteration} but is limited to {self.max_iterations}."

    def fix(self, fixes: Fixes) -> str:
        return (
            f"End the loop: call {fixes.tool} again with the decision `stop`, or with context that lets the loop's "
            "own condition end it."
        )

    def summary(self) -> str:
        numbers = f"iteration={self.iteration}, maxIterations={self.max_iterations}"
        return f"Loop limit reached: {self.loop_id} ({numbers})"

    def details(self) -> ReasonDetails:
        return ReasonDetails(loop_id=self.loop_id, iteration=self.iteration, max_iterations=self.max_iterations)


class _Capability(Reason, frozen=True):
    capability: Capability

    @classmethod
    def is_asked_of(cls, step: "ProgramStep", program: "Program") -> bool:
        return step.probed_capability in program.required_capabilities

    def pointer(self) -> BlockerPointer:
        return CapabilityPointer(self.capability)

    def fix(self, fixes: Fixes) -> str:
        return (
            f"Have {self.capability} provided, rehydrate the step above this block, and advance it with an "
            "observation that comes from trying the capability; a claim is not enough."
        )


class CapabilityUnknown(_Capability, frozen=True, tag="required_capability_unknown"):
    """Nothing has shown that a required capability is there."""

    code = "REQUIRED_CAPABILITY_UNKNOWN"
    heading = "Unknown Capability Required"
    is_retryable = False
    gap_reason = ("capability_missing", "required_capability_unknown")
    choices = (("capabilities", "enforce"),)
    cause = "unknown-capability"

    def message(self) -> str:
        return f"Required capability status is unknown: {self.capability}."

    def summary(self) -> str:
        return f"Required capability status unknown: {self.capability}"


class CapabilityUnavailable(_Capability, frozen=True, tag="required_capability_unavailable"):
    """A required capability is not there."""

    code = "REQUIRED_CAPABILITY_UNAVAILABLE"
    heading = "Capability Unavailable"
    is_retryable = False
    gap_reason = ("capability_missing", "required_capability_unavailable")
    choices = (("capabilities", "enforce"),)
    cause = "missing-capability"

    def message(self) -> str:
        return f"Required capability is unavailable: {self.capability}."

    def summary(self) -> str:
        return f"Required capability unavailable: {self.capability}"


class UserOnlyDependency(Reason, frozen=True, tag="user_only_dependency"):
    """Only a person can provide this. A choice is named exactly when the detail is a choice."""

    detail: UserDependency
    step_id: StepId
    choice: NonAssumableChoice | None = None

    code = "USER_ONLY_DEPENDENCY"
    heading = "User Input Required"
    is_retryable = False
    gap_reason = ("user_only_dependency", "needs_user_approval")
    choices = (("confirmation", "user_dependency"),)
    cause = "approval"
    transient = ("choice",)

    @classmethod
    def is_asked_of(cls, step: "ProgramStep", program: "Program") -> bool:
        return step.may_need_person

    def pointer(self) -> BlockerPointer:
        return WorkflowStepPointer(self.step_id)

    def message(self) -> str:
        return f"Step requires user input: {self.detail}."

    def fix(self, fixes: Fixes) -> str:
        if self.detail == "needs_user_approval":
            return (
                "Ask the person to approve this step. Once they have set the run to guided, rehydrate the step above "
                "this block and advance it; nothing you submit stands in for their approval."
            )
        return "Ask the person for it. Once they have provided it, rehydrate the step above this block and advance."

    def summary(self) -> str:
        return f"User-only dependency: {self.detail} (stepId={self.step_id})"

    def details(self) -> ReasonDetails:
        return ReasonDetails(detail=self.detail, choice=self.choice)

    def as_gap(self, severity: GapSeverity = "critical") -> Gap:
        return super().as_gap(severity).replaced(detail=self.detail)


def user_dependency(
    detail: UserDependency, step_id: str, choice: NonAssumableChoice | None = None
) -> UserOnlyDependency:
    """Return a declared dependency. Raise ValueError unless a choice is named exactly where one is needed."""
    if (detail == "needs_user_choice") != (choice is not None):
        raise ValueError("a choice is named with needs_user_choice and with nothing else")
    return UserOnlyDependency(detail, step_id, choice)


class InvariantViolation(Reason, frozen=True, tag="invariant_violation"):
    """The engine found itself in a state that can't be."""

    code = "INVARIANT_VIOLATION"
    heading = "Invariant Violation"
    is_retryable = False
    gap_reason = ("unexpected", "invariant_violation")

    def message(self) -> str:
        return "The run is in a state that it should never be in."

    def fix(self, fixes: Fixes) -> str:
        return "Stop and report this; submitting again does not help."

    def summary(self) -> str:
        return "Invariant violation"


class StorageCorruption(Reason, frozen=True, tag="storage_corruption_detected"):
    """The stored data can't be trusted."""

    code = "STORAGE_CORRUPTION_DETECTED"
    heading = "Storage Error"
    is_retryable = False
    gap_reason = ("unexpected", "storage_corruption_detected")

    def message(self) -> str:
        return "The stored session is damaged."

    def fix(self, fixes: Fixes) -> str:
        return "Stop and report this; export what is left of the session before anything else."

    def summary(self) -> str:
        return "Storage corruption detected"


class EvaluationFailed(Reason, frozen=True, tag="evaluation_error"):
    """The step's own criteria can't be evaluated."""

    code = "INVARIANT_VIOLATION"
    heading = "Invariant Violation"
    is_retryable = False
    gap_reason = ("unexpected", "evaluation_error")

    def message(self) -> str:
        return "The validation criteria of this step could not be evaluated."

    def fix(self, fixes: Fixes) -> str:
        return "Tell the author of the workflow: the criteria of this step have to be corrected."

    def summary(self) -> str:
        return "Validation evaluation failed"


RetryableReason: TypeAlias = (
    MissingRequiredOutput
    | InvalidRequiredOutput
    | MissingNotes
    | FollowupRequired
    | MissingContextKey
    | ContextBudgetExceeded
    | LoopLimitReached
)
TerminalReason: TypeAlias = (
    CapabilityUnknown
    | CapabilityUnavailable
    | UserOnlyDependency
    | InvariantViolation
    | StorageCorruption
    | EvaluationFailed
)
REASONS: tuple[type[Reason], ...] = (*get_args(RetryableReason), *get_args(TerminalReason))
# What a block is called by its first blocker.
HEADINGS: dict[BlockerCode, str] = {reason.code: reason.heading for reason in REASONS}


def blocker_report(reasons: Iterable[Reason], fixes: Fixes) -> tuple[Blocker, ...]:
    """Return all reasons as blockers in a stable order, the first ten."""
    blockers = sorted((reason.blocker(fixes) for reason in reasons), key=lambda blocker: blocker.order)
    return tuple(blockers[:MAX_BLOCKERS])
