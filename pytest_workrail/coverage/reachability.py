"""What conditions can come out as, so that nobody is asked to show what can't happen.

An outcome is no goal when the solver proves that no context brings it about together with everything else that has to
hold at the same time: what makes the step run, and what keeps the loop around it going.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from workrail_lint.base import js
from workrail_lint.systems.workrail.solver import IMPOSSIBLE, Comparison, Solver, Wish, comparisons_in

# A loop with more iterations is looked at only where somebody compares with their number.
_FEW = 12
_BY_VALUE = frozenset(("equals", "not_equals", "gt", "gte", "lt", "lte", "in", ""))


class ConditionScope:
    """Where conditions are looked at: at the top level or inside a loop, while certain things hold."""

    __slots__ = ("_last", "held", "loop", "solver")

    def __init__(
        self,
        solver: Solver,
        loop_step: dict[str, Any] | None = None,
        held: tuple[Wish, ...] = (),
        last_iteration: int = 0,
    ) -> None:
        self.solver = solver
        self.loop = loop_step
        self.held = held
        self._last = last_iteration

    def inside(self, loop_step: dict[str, Any]) -> ConditionScope:
        """In the body of a loop. The variables may have changed since it was entered, but it still goes on."""
        return ConditionScope(self.solver, loop_step, (), _last_iteration(self.solver, loop_step))

    def where(self, *wishes: Wish) -> ConditionScope:
        """The same place, while this holds too."""
        return ConditionScope(self.solver, self.loop, (*self.held, *wishes), self._last)

    def allows(self, *wishes: Wish) -> bool:
        """Whether nothing proves that not everything can come out as wished at the same time."""
        return next(self.chances(*wishes), None) is not None

    def chances(self, *wishes: Wish) -> Iterator[int]:
        """The iterations in which everything can come out as wished; 0 outside of loops."""
        for iteration in self.iterations(wishes):
            if self.solver.solve(self.together(iteration, wishes), fixed=self.fixed(iteration)).verdict != IMPOSSIBLE:
                yield iteration

    def together(self, iteration: int, wishes: Sequence[Wish]) -> list[Wish]:
        """All that has to hold in an iteration."""
        going = () if self.loop is None else continuing(self.loop, iteration)
        return [*self.held, *going, *wishes]

    def fixed(self, iteration: int) -> dict[str, int]:
        """The variables that nobody can set there."""
        return {} if self.loop is None else loop_numbers(self.loop, iteration)

    def iterations(self, wishes: Sequence[Wish] = ()) -> list[int]:
        """The iterations that make a difference: the first, the last, and those that somebody compares with."""
        if self.loop is None:
            return [0]
        compared = [*comparisons_in(*(condition for condition, _ in self.together(0, wishes)))]
        found = {0, self._last}
        for name, first in loop_numbers(self.loop, 0).items():
            own = [each for each in compared if each.variable == name]
            if own and (self._last < _FEW or any(each.operator not in _BY_VALUE for each in own)):
                return list(range(self._last + 1))
            found |= {near - first for each in own for near in _near(each)}
        return sorted(iteration for iteration in found if 0 <= iteration <= self._last)


def _near(comparison: Comparison) -> Iterator[int]:
    """The whole numbers at which what a comparison says about numbers can change."""
    operands = comparison.operand if isinstance(comparison.operand, list) else [comparison.operand]
    for operand in operands:
        if isinstance(operand, bool):
            yield from (0, 1)
        elif operand is not None and not isinstance(operand, dict | list):
            number = js.to_number(operand)
            if abs(number) < js.MAX_SAFE_INTEGER:
                yield from (math.floor(number) - 1, math.floor(number), math.ceil(number), math.ceil(number) + 1)


def _last_iteration(solver: Solver, loop_step: dict[str, Any]) -> int:
    """The last iteration that a loop can come to: none is left out on the way there."""
    count = loop_step["loop"]["source"].get("count", math.inf)
    last: int = math.ceil(min(count, loop_step["loop"]["maxIterations"])) - 1
    if not counts_iterations(loop_step):
        return last
    ends = (
        at
        for at in range(1, last + 1)
        if not solver.is_possible(continuing(loop_step, at), loop_numbers(loop_step, at))
    )
    return next(ends, last + 1) - 1


def counts_iterations(loop_step: dict[str, Any]) -> bool:
    """Whether the condition of a loop looks at the number of its iteration."""
    name = loop_step["loop"]["variables"]["iteration"]
    return any(each.variable == name for each in comparisons_in(loop_step["loop"]["source"].get("condition")))


def continuing(loop_step: dict[str, Any], iteration: int, *, goes_on: bool = True) -> tuple[Wish, ...]:
    """What has to hold so that a loop goes on with an iteration, or does not, as far as the context decides."""
    source = loop_step["loop"]["source"]
    match source["kind"]:
        case "condition":
            return ((source["condition"], goes_on is (loop_step["loop"]["kind"] != "until")),)
        case "count" if "variable" in source:
            return (({"var": source["variable"], "gt" if goes_on else "lte": iteration}, True),)
        case _:
            return ()


def loop_numbers(loop_step: dict[str, Any], iteration: int) -> dict[str, int]:
    """The variables of a loop that count. Its elements are as free as the list they come from."""
    names = loop_step["loop"]["variables"]
    counted = {names["iteration"]: iteration + 1}
    return counted | {names["index"]: iteration} if "index" in names else counted
