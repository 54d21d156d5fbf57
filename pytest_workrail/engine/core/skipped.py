"""Steps that a selection passed over, as data: which comparisons are to blame, and what they found.

Nothing here is evaluated while a step is chosen. The interpreter notes what it passed over; whoever has to tell it
asks for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from pytest_workrail.engine.core.conditions import Context, compare, deciding_operator, value_of
from pytest_workrail.engine.core.logic import MAX_DEPTH, Members, Negation, combination
from pytest_workrail.engine.model.base import UNSET, canonical
from pytest_workrail.engine.model.events import SkippedStep
from pytest_workrail.engine.model.places import LoopPosition
from pytest_workrail.engine.model.reasons import LargeActual, MissingContextKey, Unmet, UnsetActual, ValueActual
from pytest_workrail.engine.model.words import MAX_SHOWN_VALUE_BYTES, MAX_SKIPPED_BYTES, MAX_SKIPPED_ENTRIES
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json

if TYPE_CHECKING:
    from pytest_workrail.engine.core.smallest_set import ConditionSolver

Because: TypeAlias = Literal["unset", "value", "never"]
_TRUTHY = "truthy"


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

    def skipped(self, context: Context) -> SkippedStep:
        because, unmet = self._because(context), self.unmet(context)
        return SkippedStep(step_id=self.step_id, loop=self.loop, because=because, unmet=unmet)

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
        return (Unmet(variable=self.variable, operator=self.operator, actual=actual(self.variable, context)),)

    def skipped(self, context: Context) -> SkippedStep:
        return SkippedStep(step_id=self.step_id, because="unset", unmet=self.unmet(context))

    def reason(self, context: Context) -> MissingContextKey:
        """The reason of a run that goes on without the variable."""
        patch = {self.variable: self.suggested}
        return MissingContextKey(self.variable, self.step_id, patch, self.unmet(context), self.suggested)


Passed: TypeAlias = PassedOver | LoopUnset


class SkippedList(NamedTuple):
    """What is recorded of a selection, within its budget; `omitted` is how many steps are not."""

    entries: tuple[SkippedStep, ...] = ()
    omitted: int = 0


NOTHING_SKIPPED = SkippedList()


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
    """What a variable holds: nothing, a value, or one too large to be shown."""
    if name not in context:
        return UnsetActual()
    value = context[name]
    size = len(canonical_bytes(value))
    return LargeActual(js.type_name(value), size) if size > MAX_SHOWN_VALUE_BYTES else ValueActual(value)


def blame(condition: object, wanted: bool, context: Context) -> tuple[Unmet, ...]:
    """The comparisons because of which a condition did not come out as wanted, in reading order, each once."""
    found: list[Unmet] = []
    _collect(condition, wanted, context, found, 0)
    return tuple({canonical(each): each for each in found}.values())


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
    return Unmet(
        variable=name,
        operator=operator or _TRUTHY,
        expected=UNSET if operator is None else node[operator],
        negated=None if wanted else True,
        actual=actual(name, context),
    )
