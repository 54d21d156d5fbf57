"""The stored form of blockers: why an attempt could not advance, as a snapshot remembers it."""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pytest_workrail.engine.core.vocabulary import (
    MAX_BLOCKER_MESSAGE_BYTES,
    MAX_BLOCKER_SUGGESTED_FIX_BYTES,
    MAX_BLOCKERS,
    MAX_CONTEXT_KEY_BYTES,
    BlockerCode,
    Capability,
    NonAssumableChoice,
    UserOnlyDependency,
)
from pytest_workrail.engine.events.fields import SafeId, StepId
from pytest_workrail.engine.events.shapes import Sized, Tagged
from pytest_workrail.engine.events.wire import ClosedWire, Index, Items, JsonObject, NonEmpty, max_utf8

# Names of context variables are the author's own.
ContextKey: TypeAlias = Annotated[NonEmpty, max_utf8(MAX_CONTEXT_KEY_BYTES)]


class ContextKeyPointer(ClosedWire):
    """A key the context lacks."""

    kind: Literal["context_key"] = "context_key"
    key: ContextKey


class ContextBudgetPointer(ClosedWire):
    """The run as a whole; also where nothing more precise can be named."""

    kind: Literal["context_budget"] = "context_budget"


class OutputContractPointer(ClosedWire):
    """The contract an output had to meet."""

    kind: Literal["output_contract"] = "output_contract"
    contract_ref: NonEmpty


class CapabilityPointer(ClosedWire):
    """A capability of the agent's environment."""

    kind: Literal["capability"] = "capability"
    capability: Capability


class AssessmentDimensionPointer(ClosedWire):
    """One dimension of an assessment."""

    kind: Literal["assessment_dimension"] = "assessment_dimension"
    assessment_id: NonEmpty
    dimension_id: SafeId


class WorkflowStepPointer(ClosedWire):
    """A step of the workflow."""

    kind: Literal["workflow_step"] = "workflow_step"
    step_id: StepId


BlockerPointer: TypeAlias = Annotated[
    ContextKeyPointer
    | ContextBudgetPointer
    | OutputContractPointer
    | CapabilityPointer
    | AssessmentDimensionPointer
    | WorkflowStepPointer,
    Tagged("kind"),
]


class LoopDetails(ClosedWire):
    """Which loop and iteration a reason is about; the limit only when the limit is the reason."""

    loop_id: SafeId
    iteration: Index
    max_iterations: Index | None = None


class DependencyDetails(ClosedWire):
    """What only a person can provide."""

    detail: UserOnlyDependency
    choice: NonAssumableChoice | None = None


class UnsetActual(ClosedWire):
    """The variable is not set."""

    kind: Literal["unset"] = "unset"


class ValueActual(ClosedWire):
    """What the variable holds."""

    kind: Literal["value"] = "value"
    value: object


class LargeActual(ClosedWire):
    """The variable holds more than is told."""

    kind: Literal["large"] = "large"
    type: NonEmpty
    bytes: Index


class Unmet(ClosedWire):
    """A comparison that is to blame for a step that was passed over. An operand may be null."""

    keeps_null: ClassVar[frozenset[str]] = frozenset({"expected"})

    variable: str
    operator: NonEmpty
    expected: object = None
    negated: Literal[True] | None = None
    actual: Annotated[UnsetActual | ValueActual | LargeActual, Tagged("kind")]


class QuestionDetails(ClosedWire):
    """Which step waits for a variable, why, and a value under which it would run."""

    step_id: StepId
    unmet: Items[Unmet]
    suggested: object


class DecisionDetails(ClosedWire):
    """A variable that was asked for and left unset, and the step that is left out because of it."""

    variable: ContextKey
    step_id: StepId


ReasonDetails: TypeAlias = LoopDetails | DependencyDetails | QuestionDetails | DecisionDetails


class Blocker(ClosedWire):
    """One structured reason why a run can't advance."""

    code: BlockerCode
    pointer: BlockerPointer
    message: Annotated[NonEmpty, max_utf8(MAX_BLOCKER_MESSAGE_BYTES)]
    suggested_fix: Annotated[NonEmpty, max_utf8(MAX_BLOCKER_SUGGESTED_FIX_BYTES)]
    details: ReasonDetails | None = None


class BlockerReport(ClosedWire):
    """The blockers of one attempt, at most ten."""

    blockers: Annotated[Items[Blocker], Sized(1, MAX_BLOCKERS)]


class OutputReason(ClosedWire):
    """An output that is missing or does not meet its contract."""

    kind: Literal["missing_required_output", "invalid_required_output"]
    contract_ref: NonEmpty


class MissingNotesReason(ClosedWire):
    """Notes the step requires."""

    kind: Literal["missing_notes"] = "missing_notes"
    step_id: StepId


class FollowupReason(ClosedWire):
    """An assessment whose level asks for a follow-up."""

    kind: Literal["assessment_followup_required"] = "assessment_followup_required"
    assessment_id: NonEmpty
    dimension_id: NonEmpty
    level: NonEmpty
    guidance: NonEmpty


class MissingContextKeyReason(ClosedWire):
    """A context key that has to be there. A question also says which step waits, and what to set."""

    kind: Literal["missing_context_key"] = "missing_context_key"
    key: NonEmpty
    step_id: StepId | None = None
    patch: JsonObject | None = None


class ContextBudgetReason(ClosedWire):
    """A context larger than its budget."""

    kind: Literal["context_budget_exceeded"] = "context_budget_exceeded"


class LoopLimitReason(ClosedWire):
    """A loop that would start an iteration beyond its limit."""

    kind: Literal["loop_limit"] = "loop_limit"
    loop_id: SafeId
    iteration: Index
    max_iterations: Index


class UserDependencyReason(ClosedWire):
    """Something only a person can do."""

    kind: Literal["user_only_dependency"] = "user_only_dependency"
    detail: UserOnlyDependency
    step_id: StepId


class CapabilityReason(ClosedWire):
    """A required capability that is unknown or unavailable."""

    kind: Literal["required_capability_unknown", "required_capability_unavailable"]
    capability: Capability


class InternalReason(ClosedWire):
    """A failure that is nobody's submission."""

    kind: Literal["invariant_violation", "storage_corruption_detected", "evaluation_error"]


RetryableReason: TypeAlias = Annotated[
    OutputReason
    | MissingNotesReason
    | FollowupReason
    | MissingContextKeyReason
    | ContextBudgetReason
    | LoopLimitReason,
    Tagged("kind"),
]
TerminalReason: TypeAlias = Annotated[UserDependencyReason | CapabilityReason | InternalReason, Tagged("kind")]
