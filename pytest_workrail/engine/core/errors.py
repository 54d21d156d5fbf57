"""What can go wrong while the next step is chosen: a closed set, each error with its own facts."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.skipped import LoopUnset, Passed
from pytest_workrail.engine.model.blockers import LargeActual, UnsetActual, ValueActual
from pytest_workrail.engine.model.places import LoopPosition
from pytest_workrail.engine.model.reasons import InvalidRequiredOutput, LoopLimitReached, MissingRequiredOutput, Reason
from pytest_workrail.engine.model.trace import TraceEntry
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL

ErrorCode: TypeAlias = Literal[
    "WorkflowNotFound",
    "InvalidState",
    "InvalidLoop",
    "ConditionEvalFailed",
    "MaxIterationsExceeded",
    "MissingContext",
    "MissingLoopControl",
    "InvalidLoopControl",
    "LoopVariableUnset",
]


class InvalidState(Struct, frozen=True):
    """The state can't be continued as asked."""

    code: ClassVar[ErrorCode] = "InvalidState"
    message: str
    loop_id: str | None = None


class InvalidLoop(Struct, frozen=True):
    """A loop that nothing can decide."""

    code: ClassVar[ErrorCode] = "InvalidLoop"
    message: str
    loop_id: str


class WrongLoopVariable(Struct, frozen=True):
    """The variable a loop runs over holds something else than it has to."""

    variable: str
    expected: Literal["number", "array", "array_of_objects"]
    actual: UnsetActual | ValueActual | LargeActual


class MissingContext(Struct, frozen=True):
    """A loop needs a context variable that is absent or of another type. Supplying it helps."""

    code: ClassVar[ErrorCode] = "MissingContext"
    message: str
    loop_id: str
    wrong: WrongLoopVariable | None = None


class LoopVariableUnset(Struct, frozen=True):
    """A loop can't be entered before its variable is set. `trace` and `passed` are what was found on the way."""

    code: ClassVar[ErrorCode] = "LoopVariableUnset"
    unset: LoopUnset
    trace: tuple[TraceEntry, ...] = ()
    passed: tuple[Passed, ...] = ()

    @property
    def loop_id(self) -> str:
        return self.unset.step_id

    @property
    def message(self) -> str:
        return f"Loop '{self.unset.step_id}' needs the variable '{self.unset.variable}', which is not set."


class MaxIterationsExceeded(Struct, frozen=True):
    """A loop would start iteration `iteration`, counted from zero, which its limit does not allow."""

    code: ClassVar[ErrorCode] = "MaxIterationsExceeded"
    loop_id: str
    iteration: int
    max_iterations: int

    @property
    def message(self) -> str:
        return self.reason().message()

    def reason(self) -> Reason:
        return LoopLimitReached(self.loop_id, self.iteration, self.max_iterations)


class MissingLoopControl(Struct, frozen=True):
    """An iteration ended and nobody decided whether the loop goes on."""

    code: ClassVar[ErrorCode] = "MissingLoopControl"
    loop_id: str
    iteration: int

    @property
    def message(self) -> str:
        return f"Iteration {self.iteration} of loop '{self.loop_id}' ended without a loop-control artifact."

    def reason(self) -> Reason:
        return MissingRequiredOutput(LOOP_CONTROL, loop=LoopPosition(self.loop_id, self.iteration))


class InvalidLoopControl(Struct, frozen=True):
    """An iteration ended and every decision about it has issues; these are the last one's."""

    code: ClassVar[ErrorCode] = "InvalidLoopControl"
    loop_id: str
    iteration: int
    issues: tuple[str, ...]

    @property
    def message(self) -> str:
        return f"Iteration {self.iteration} of loop '{self.loop_id}' has no valid loop-control artifact."

    def reason(self) -> Reason:
        return InvalidRequiredOutput(LOOP_CONTROL, loop=LoopPosition(self.loop_id, self.iteration))


LoopReportError: TypeAlias = MaxIterationsExceeded | MissingLoopControl | InvalidLoopControl
InterpreterError: TypeAlias = InvalidState | InvalidLoop | MissingContext | LoopVariableUnset | LoopReportError
