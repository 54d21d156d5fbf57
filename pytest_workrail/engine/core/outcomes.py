"""The result of a search for the next step: its trace, the steps it passed over, and its errors.

Of a step that was passed over, the comparisons to blame and what they found are not computed while a step is chosen,
but on request. Errors are a closed set, each with its own facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import (
    MAX_DEPTH,
    Context,
    Members,
    Negation,
    combination,
    compare,
    deciding_operator,
    value_of,
)
from pytest_workrail.engine.core.smallest_set import ConditionSolver
from pytest_workrail.engine.model.base import UNSET, canonical
from pytest_workrail.engine.model.blockers import LargeActual, Unmet, UnsetActual, ValueActual
from pytest_workrail.engine.model.reasons import (
    InvalidRequiredOutput,
    LoopLimitReached,
    MissingContextKey,
    MissingRequiredOutput,
    Reason,
)
from pytest_workrail.engine.model.step_keys import LoopPosition, truncate_marked
from pytest_workrail.engine.model.trace import SkippedList, SkippedStep, TraceEntry, TraceRef
from pytest_workrail.engine.model.words import (
    MAX_SHOWN_VALUE_BYTES,
    MAX_SKIPPED_BYTES,
    MAX_SKIPPED_ENTRIES,
    MAX_TRACE_ENTRIES,
    MAX_TRACE_SUMMARY_BYTES,
    MAX_TRACE_TOTAL_BYTES,
    TraceKind,
)
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL

# Less than this would be hardly more than the truncation marker itself.
_MIN_CUT_BYTES = 24
# A character takes at most four bytes, so this many summaries of this length fit without measuring.
_SHORT = MAX_TRACE_SUMMARY_BYTES // 4
_FEW = MAX_TRACE_TOTAL_BYTES // MAX_TRACE_SUMMARY_BYTES


def within_budget(entries: Sequence[TraceEntry]) -> tuple[TraceEntry, ...]:
    """The entries that fit, the last one cut if need be."""
    if len(entries) <= _FEW and all(len(entry.summary) <= _SHORT for entry in entries):
        return tuple(entries)
    kept: list[TraceEntry] = []
    left = MAX_TRACE_TOTAL_BYTES
    for entry in entries:
        if len(kept) == MAX_TRACE_ENTRIES:
            break
        summary = truncate_marked(entry.summary, MAX_TRACE_SUMMARY_BYTES)
        size = js.u8_length(summary)
        if size > left:
            if left >= _MIN_CUT_BYTES:
                kept.append(entry.replaced(summary=truncate_marked(summary, left)))
            break
        kept.append(entry if summary is entry.summary else entry.replaced(summary=summary))
        left -= size
    return tuple(kept)


class Tracer:
    """Collects entries and stops when no more can count, so a long search costs no memory."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[TraceEntry] = []

    @property
    def is_full(self) -> bool:
        """True when whatever comes is beyond the budget."""
        return len(self._entries) >= MAX_TRACE_ENTRIES

    def add(self, entry: TraceEntry) -> None:
        if not self.is_full:
            self._entries.append(entry)

    def record(self, kind: TraceKind, summary: str, *refs: TraceRef) -> None:
        self.add(TraceEntry(kind, summary, refs))

    def entries(self) -> tuple[TraceEntry, ...]:
        """The trace within its budget."""
        return within_budget(self._entries)


Because: TypeAlias = Literal["unset", "value", "never"]
_TRUTHY = "truthy"


class PassedOver(Struct, frozen=True):
    """A condition that kept something from being selected. `own` are the variables of the loop around it."""

    step_id: str
    solver: ConditionSolver
    wanted: bool = True
    loop: LoopPosition | None = None
    own: Mapping[str, Any] = {}

    def patch(self, context: Context, declined: frozenset[str] = frozenset()) -> dict[str, Json] | None:
        """The smallest change under which the condition comes out as wanted."""
        return self.solver.smallest(self.wanted, {**context, **self.own}, declined.union(self.own))

    def unmet(self, context: Context) -> tuple[Unmet, ...]:
        """The comparisons to blame."""
        return blame(self.solver.condition, self.wanted, {**context, **self.own})

    def skipped(self, context: Context) -> SkippedStep:
        because, unmet = self.because(context), self.unmet(context)
        return SkippedStep(step_id=self.step_id, loop=self.loop, because=because, unmet=unmet)

    def because(self, context: Context) -> Because:
        """Whether setting variables would help, or other values of them, or nothing."""
        if self.patch(context) is not None:
            return "unset"
        return "value" if self.solver.is_possible(self.wanted) else "never"


class LoopUnset(Struct, frozen=True):
    """A loop that was left, or can't be entered, because the variable it runs over is not set."""

    step_id: str
    variable: str
    operator: Literal["count", "items"]
    suggested: Json

    def unmet(self, context: Context) -> tuple[Unmet, ...]:
        return (Unmet(variable=self.variable, operator=self.operator, actual=actual(self.variable, context)),)

    def skipped(self, context: Context) -> SkippedStep:
        return SkippedStep(step_id=self.step_id, because=self.because(context), unmet=self.unmet(context))

    def because(self, context: Context) -> Because:
        return "unset"

    def reason(self, context: Context) -> MissingContextKey:
        """The reason of a run that goes on without the variable."""
        patch = {self.variable: self.suggested}
        return MissingContextKey(self.variable, self.step_id, patch, self.unmet(context), self.suggested)


Passed: TypeAlias = PassedOver | LoopUnset


def skipped_list(passed: Sequence[Passed], context: Context) -> SkippedList:
    """The steps a selection passed over, in the order it met them."""
    kept: list[SkippedStep] = []
    size = len(b"[]")
    for each in passed:
        if len(kept) == MAX_SKIPPED_ENTRIES:
            break
        entry = each.skipped(context)
        size += len(canonical(entry)) + bool(kept)
        if size > MAX_SKIPPED_BYTES:
            break
        kept.append(entry)
    return SkippedList(tuple(kept), len(passed) - len(kept))


def actual(name: str, context: Context) -> UnsetActual | ValueActual | LargeActual:
    """Return the value of a variable: unset, a value, or one too large to show."""
    if name not in context:
        return UnsetActual()
    value = context[name]
    size = len(canonical_bytes(value))
    return LargeActual(js.type_name(value), size) if size > MAX_SHOWN_VALUE_BYTES else ValueActual(value)


def blame(condition: Json, wanted: bool, context: Context) -> tuple[Unmet, ...]:
    """The comparisons because of which a condition did not come out as wanted, in reading order, each once."""
    unmet: list[Unmet] = []
    _collect(condition, wanted, context, unmet, 0)
    if len(unmet) < 2:
        return tuple(unmet)
    return tuple({canonical(each): each for each in unmet}.values())


def _collect(node: object, wanted: bool, context: Context, unmet: list[Unmet], depth: int) -> None:
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return
    if "var" in node:
        if compare(node, context) is (not wanted):
            unmet.append(_unmet(node, wanted, context))
        return
    match combination(node):
        case Negation(member):
            _collect(member, not wanted, context, unmet, depth + 1)
        case Members(_, members):
            for member in members:
                if value_of(member, context) is (not wanted):
                    _collect(member, wanted, context, unmet, depth + 1)


def _unmet(node: dict[str, Any], wanted: bool, context: Context) -> Unmet:
    name, operator = js.text(node["var"]), deciding_operator(node)
    return Unmet(
        variable=name,
        operator=operator or _TRUTHY,
        expected=UNSET if operator is None else node[operator],
        negated=None if wanted else True,
        actual=actual(name, context),
    )


InterpreterErrorCode: TypeAlias = Literal[
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

    code: ClassVar[InterpreterErrorCode] = "InvalidState"
    message: str
    loop_id: str | None = None


class InvalidLoop(Struct, frozen=True):
    """A loop that nothing can decide."""

    code: ClassVar[InterpreterErrorCode] = "InvalidLoop"
    message: str
    loop_id: str


class WrongLoopVariable(Struct, frozen=True):
    """The variable a loop runs over holds something else than it has to."""

    variable: str
    expected: Literal["number", "array", "array_of_objects"]
    actual: UnsetActual | ValueActual | LargeActual


class MissingContext(Struct, frozen=True):
    """A loop needs a context variable that is absent or of another type. Supplying it helps."""

    code: ClassVar[InterpreterErrorCode] = "MissingContext"
    message: str
    loop_id: str
    wrong: WrongLoopVariable | None = None


class LoopVariableUnset(Struct, frozen=True):
    """A loop can't be entered before its variable is set. `trace` and `passed` are what was found on the way."""

    code: ClassVar[InterpreterErrorCode] = "LoopVariableUnset"
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

    code: ClassVar[InterpreterErrorCode] = "MaxIterationsExceeded"
    loop_id: str
    iteration: int
    max_iterations: int

    @property
    def message(self) -> str:
        return self.reason().message()

    def reason(self) -> Reason:
        return LoopLimitReached(self.loop_id, self.iteration, self.max_iterations)


class MissingLoopControl(Struct, frozen=True):
    """An iteration ended without a decision about whether the loop continues."""

    code: ClassVar[InterpreterErrorCode] = "MissingLoopControl"
    loop_id: str
    iteration: int

    @property
    def message(self) -> str:
        return f"Iteration {self.iteration} of loop '{self.loop_id}' ended without a loop-control artifact."

    def reason(self) -> Reason:
        return MissingRequiredOutput(LOOP_CONTROL, loop=LoopPosition(self.loop_id, self.iteration))


class InvalidLoopControl(Struct, frozen=True):
    """An iteration ended and every decision about it has issues; these are the last one's."""

    code: ClassVar[InterpreterErrorCode] = "InvalidLoopControl"
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
