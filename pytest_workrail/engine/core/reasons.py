"""Why an advance can't simply go on: a tagged union, turned into blockers or gaps elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias, assert_never

from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.errors import (
    InvalidLoopControl,
    LoopReportError,
    MaxIterationsExceeded,
    MissingLoopControl,
)
from pytest_workrail.engine.core.packs import LOOP_CONTROL
from pytest_workrail.engine.core.skipped import LoopUnset
from pytest_workrail.engine.core.values import LoopPosition
from pytest_workrail.engine.core.vocabulary import Capability, NonAssumableChoice
from pytest_workrail.engine.core.vocabulary import UserOnlyDependency as DependencyDetail
from pytest_workrail.records import Record
from workrail_lint.base.js import Json


class MissingRequiredOutput(Record):
    """No artifact meets the contract. `kinds` are those submitted instead, None when there was none to name."""

    kind: ClassVar[str] = "missing_required_output"
    contract_ref: str
    kinds: tuple[str, ...] | None = None
    loop: LoopPosition | None = None


class InvalidRequiredOutput(Record):
    """What was submitted breaks the contract."""

    kind: ClassVar[str] = "invalid_required_output"
    contract_ref: str
    loop: LoopPosition | None = None


class MissingNotes(Record):
    """The step wants notes."""

    kind: ClassVar[str] = "missing_notes"
    step_id: str


class FollowupRequired(Record):
    """An assessment came to a level that asks for more work first."""

    kind: ClassVar[str] = "assessment_followup_required"
    assessment_id: str
    dimension_id: str
    level: str
    guidance: str


class MissingContextKey(Record):
    """A context key has to be there. What follows the key is there when a step waits for it.

    `unmet` are the comparisons that read it, `suggested` is a value under which the step runs, and `patch` holds
    these values for all keys the step waits for.
    """

    kind: ClassVar[str] = "missing_context_key"
    key: str
    step_id: str | None = None
    unmet: tuple[dict[str, Json], ...] = ()
    suggested: Json = None
    patch: Mapping[str, Json] | None = None


class ContextBudgetExceeded(Record):
    """The context is too large."""

    kind: ClassVar[str] = "context_budget_exceeded"


class CapabilityUnknown(Record):
    """Nobody has shown that a required capability is there."""

    kind: ClassVar[str] = "required_capability_unknown"
    capability: Capability


class CapabilityUnavailable(Record):
    """A required capability is not there."""

    kind: ClassVar[str] = "required_capability_unavailable"
    capability: Capability


class UserOnlyDependency(Record):
    """Only a person can provide this. A choice is named exactly when the detail is a choice."""

    kind: ClassVar[str] = "user_only_dependency"
    detail: DependencyDetail
    step_id: str
    choice: NonAssumableChoice | None = None

    def __post_init__(self) -> None:
        if (self.detail == "needs_user_choice") != (self.choice is not None):
            raise ValueError("a choice is named with needs_user_choice and with nothing else")


class InvariantViolation(Record):
    """The engine found itself in a state that can't be."""

    kind: ClassVar[str] = "invariant_violation"


class StorageCorruption(Record):
    """What was stored can't be trusted."""

    kind: ClassVar[str] = "storage_corruption_detected"


class EvaluationFailed(Record):
    """The step's own criteria can't be evaluated."""

    kind: ClassVar[str] = "evaluation_error"


class LoopLimitReached(Record):
    """A loop would start an iteration that its limit does not allow."""

    kind: ClassVar[str] = "loop_limit"
    loop_id: str
    iteration: int
    max_iterations: int


Reason: TypeAlias = (
    MissingRequiredOutput
    | InvalidRequiredOutput
    | MissingNotes
    | FollowupRequired
    | MissingContextKey
    | ContextBudgetExceeded
    | CapabilityUnknown
    | CapabilityUnavailable
    | UserOnlyDependency
    | InvariantViolation
    | StorageCorruption
    | EvaluationFailed
    | LoopLimitReached
)


def loop_reason(error: LoopReportError) -> Reason:
    """The reason behind an error that a loop reports."""
    match error:
        case MaxIterationsExceeded(loop_id, iteration, max_iterations):
            return LoopLimitReached(loop_id, iteration, max_iterations)
        case MissingLoopControl(loop_id, iteration):
            return MissingRequiredOutput(LOOP_CONTROL, loop=LoopPosition(loop_id, iteration))
        case InvalidLoopControl(loop_id, iteration):
            return InvalidRequiredOutput(LOOP_CONTROL, loop=LoopPosition(loop_id, iteration))
        case _:
            assert_never(error)


def unset_reason(unset: LoopUnset, context: Context) -> MissingContextKey:
    """The reason behind a loop whose variable is not set."""
    unmet = tuple(each.to_json() for each in unset.unmet(context))
    return MissingContextKey(unset.variable, unset.step_id, unmet, unset.suggested, {unset.variable: unset.suggested})
