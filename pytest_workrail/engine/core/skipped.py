"""Steps that a selection passed over, as data: which comparisons are to blame, and what they found.

Nothing here is evaluated while a step is chosen. The interpreter notes what it passed over; whoever has to tell it
asks for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pytest_workrail.engine.core.conditions import Context, compare, deciding_operator, value_of
from pytest_workrail.engine.core.logic import MAX_DEPTH, Members, Negation, combination
from pytest_workrail.engine.core.values import LoopPosition
from pytest_workrail.engine.core.vocabulary import MAX_SHOWN_VALUE_BYTES, MAX_SKIPPED_BYTES, MAX_SKIPPED_ENTRIES
from pytest_workrail.records import Record
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json

if TYPE_CHECKING:
    from pytest_workrail.engine.core.smallest_set import ConditionSolver

# unset: setting unset variables would do. value: only other values would. never: nothing would.
Because: TypeAlias = Literal["unset", "value", "never"]
_TRUTHY = "truthy"


class Unmet(NamedTuple):
    """One comparison that is to blame. `expected` is None without an operand, else it holds the operand."""

    variable: str
    operator: str
    expected: tuple[Json] | None
    negated: bool
    actual: dict[str, Json]

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {"variable": self.variable, "operator": self.operator}
        if self.expected is not None:
            shown["expected"] = self.expected[0]
        if self.negated:
            shown["negated"] = True
        return {**shown, "actual": self.actual}


class Skipped(Record):
    """A step or loop that was passed over; `loop` is the pass, for a step inside a loop."""

    step_id: str
    because: Because
    unmet: tuple[Unmet, ...]
    loop: LoopPosition | None = None

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {"stepId": self.step_id}
        if self.loop is not None:
            shown["loop"] = {"loopId": self.loop.loop_id, "iteration": self.loop.iteration}
        return {**shown, "because": self.because, "unmet": [each.to_json() for each in self.unmet]}


class PassedOver(NamedTuple):
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

    def told(self, context: Context) -> Skipped:
        return Skipped(self.step_id, self._because(context), self.unmet(context), self.loop)

    def _because(self, context: Context) -> Because:
        if self.patch(context) is not None:
            return "unset"
        return "value" if self.solver.is_possible(self.wanted) else "never"


class LoopUnset(NamedTuple):
    """A loop that was left, or can't be entered, because the variable it runs over is not set."""

    step_id: str
    variable: str
    operator: Literal["count", "items"]
    suggested: Json

    def unmet(self, context: Context) -> tuple[Unmet, ...]:
        return (Unmet(self.variable, self.operator, None, False, actual(self.variable, context)),)

    def told(self, context: Context) -> Skipped:
        return Skipped(self.step_id, "unset", self.unmet(context))


Passed: TypeAlias = PassedOver | LoopUnset


class SkippedList(NamedTuple):
    """What is told of a selection, within its budget; `omitted` is how much is not."""

    entries: tuple[dict[str, Json], ...] = ()
    omitted: int = 0


NOTHING_SKIPPED = SkippedList()


def skipped_list(passed: Sequence[Passed], context: Context) -> SkippedList:
    """The steps a selection passed over, in the order it met them."""
    kept: list[dict[str, Json]] = []
    size = len(b"[]")
    for each in passed:
        if len(kept) == MAX_SKIPPED_ENTRIES:
            break
        entry = each.told(context).to_json()
        size += len(canonical_bytes(entry)) + bool(kept)
        if size > MAX_SKIPPED_BYTES:
            break
        kept.append(entry)
    return SkippedList(tuple(kept), len(passed) - len(kept))


def actual(name: str, context: Context) -> dict[str, Json]:
    """What a variable holds: nothing, a value, or one too large to be told."""
    if name not in context:
        return {"kind": "unset"}
    value = context[name]
    size = len(canonical_bytes(value))
    if size > MAX_SHOWN_VALUE_BYTES:
        return {"kind": "large", "type": js.type_name(value), "bytes": size}
    return {"kind": "value", "value": value}


def blame(condition: object, wanted: bool, context: Context) -> tuple[Unmet, ...]:
    """The comparisons because of which a condition did not come out as wanted, in reading order, each once."""
    found: list[Unmet] = []
    _collect(condition, wanted, context, found, 0)
    return tuple({canonical_bytes(each.to_json()): each for each in found}.values())


def _collect(node: object, wanted: bool, context: Context, found: list[Unmet], depth: int) -> None:
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return
    if "var" in node:
        if compare(node, context) is (not wanted):
            found.append(_unmet(node, wanted, context))
        return
    match combination(node):
        case Negation(member):
            _collect(member, not wanted, context, found, depth + 1)
        case Members(_, members):
            for member in members:
                if value_of(member, context) is (not wanted):
                    _collect(member, wanted, context, found, depth + 1)


def _unmet(node: dict[str, Any], wanted: bool, context: Context) -> Unmet:
    name, operator = js.text(node["var"]), deciding_operator(node)
    expected = None if operator is None else (node[operator],)
    return Unmet(name, operator or _TRUTHY, expected, not wanted, actual(name, context))
