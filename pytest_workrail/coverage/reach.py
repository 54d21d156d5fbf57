"""What conditions can come out as and how loops can end, so that nobody is asked to show what can't happen.

An outcome is no goal when the solver proves that no context brings it about together with everything else that has to
hold at the same time: what makes the step run, and what keeps the loop around it going. A loop ends after no iteration,
one or many, or at its limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.engine.core.profiles import LoopIdCheck, LoopLimit, Profile
from workrail_lint.base import js
from workrail_lint.systems.workrail.solver.expression import IMPOSSIBLE, Comparison, comparisons_in
from workrail_lint.systems.workrail.solver.search import Solver, Wish

# A loop with more iterations is looked at only where somebody compares with their number.
_FEW = 12
_BY_VALUE = frozenset(("equals", "not_equals", "gt", "gte", "lt", "lte", "in", ""))

ZERO, ONE, MANY, LIMIT = "zero", "one", "many", "limit"


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
        """Return whether nothing proves that not everything can come out as wished at the same time."""
        return next(self.chances(*wishes), None) is not None

    def chances(self, *wishes: Wish) -> Iterator[int]:
        """Yield the iterations in which everything can come out as wished; 0 outside of loops."""
        for iteration in self.iterations(wishes):
            if self.solver.solve(self.together(iteration, wishes), fixed=self.fixed(iteration)).verdict != IMPOSSIBLE:
                yield iteration

    def together(self, iteration: int, wishes: Sequence[Wish]) -> list[Wish]:
        """Return all that has to hold in an iteration."""
        going = () if self.loop is None else continuing(self.loop, iteration)
        return [*self.held, *going, *wishes]

    def fixed(self, iteration: int) -> dict[str, int]:
        """Return the variables that nobody can set there."""
        return {} if self.loop is None else loop_numbers(self.loop, iteration)

    def iterations(self, wishes: Sequence[Wish] = ()) -> list[int]:
        """Return the iterations that make a difference: the first, the last, and those that somebody compares with."""
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
    """Yield the whole numbers at which what a comparison says about numbers can change."""
    operands = comparison.operand if isinstance(comparison.operand, list) else [comparison.operand]
    for operand in operands:
        if isinstance(operand, bool):
            yield from (0, 1)
        elif operand is not None and not isinstance(operand, dict | list):
            number = js.to_number(operand)
            if abs(number) < js.MAX_SAFE_INTEGER:
                yield from (math.floor(number) - 1, math.floor(number), math.ceil(number), math.ceil(number) + 1)


def _last_iteration(solver: Solver, loop_step: dict[str, Any]) -> int:
    """Return the last iteration that a loop can come to: none is left out on the way there."""
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
    """Return whether the condition of a loop looks at the number of its iteration."""
    name = loop_step["loop"]["variables"]["iteration"]
    return any(each.variable == name for each in comparisons_in(loop_step["loop"]["source"].get("condition")))


def continuing(loop_step: dict[str, Any], iteration: int, *, goes_on: bool = True) -> tuple[Wish, ...]:
    """Return what has to hold so that a loop goes on with an iteration, or does not, as far as the context decides."""
    source = loop_step["loop"]["source"]
    match source["kind"]:
        case "condition":
            return ((source["condition"], goes_on is (loop_step["loop"]["kind"] != "until")),)
        case "count" if "variable" in source:
            return (({"var": source["variable"], "gt" if goes_on else "lte": iteration}, True),)
        case _:
            return ()


def loop_numbers(loop_step: dict[str, Any], iteration: int) -> dict[str, int]:
    """Return the variables of a loop that count. Its elements are as free as the list they come from."""
    names = loop_step["loop"]["variables"]
    counted = {names["iteration"]: iteration + 1}
    return counted | {names["index"]: iteration} if "index" in names else counted


def natural_exit(iterations: int) -> str:
    """Return the case of a loop that ended by itself."""
    return (ZERO, ONE)[iterations] if iterations < 2 else MANY


def iteration_count(source: dict[str, Any], context: Mapping[str, Any]) -> int | float | None:
    """How often a loop runs that knows it beforehand; None where it is decided from one iteration to the next."""
    match source["kind"]:
        case "count":
            count: int | float = source["count"] if "count" in source else context[source["variable"]]
            return count
        case "items":
            return len(context[source["variable"]])
        case _:
            return None


def asks_about_limit(loop_step: dict[str, Any], profile: Profile) -> bool:
    """Return whether a loop is asked once more after the last iteration that its limit allows."""
    return profile.loop_limit is LoopLimit.REPORT or loop_step["loop"]["source"]["kind"] in ("count", "items")


def loop_exits(
    loop_step: dict[str, Any], profile: Profile, scope: ConditionScope, *, skippable: bool = False
) -> list[str]:
    """Return the ways in which a loop can end, where `scope` is what holds when it is entered; none if it can't be run.

    Where nobody is asked any more after the last iteration that the limit allows, that one counts as the limit.
    `skippable` means that a decision about another loop can end this one before it begins.
    """
    limit, source = loop_step["loop"]["maxIterations"], loop_step["loop"]["source"]
    if source["kind"] == "none" or limit != int(limit) or limit < 1:
        return []
    if "count" in source:
        return [LIMIT if source["count"] > limit else natural_exit(math.ceil(source["count"]))]
    last = int(limit) if asks_about_limit(loop_step, profile) else int(limit) - 1
    return _Decisions(loop_step, scope, skippable).exits(last)


def skippable_loops(ir: dict[str, Any], profile: Profile, solver: Solver) -> frozenset[str]:
    """Return the loops that a decision to stop another one can end before they begin.

    A decision counts for every loop that the same choice asks, unless the profile looks at the loop it names. So the
    other loop has to be the last thing that is done before this one is asked: all steps between them are left out at
    that choice, or were done before the other loop was entered.
    """
    if profile.loop_id is LoopIdCheck.MATCH:
        return frozenset()
    steps: list[dict[str, Any]] = ir["steps"]
    decided = [at for at, step in enumerate(steps) if step["type"] == "loop" and _is_decided(step)]
    return frozenset(
        steps[at]["id"]
        for at in decided
        if any(other != at and _follows(steps, other, at, solver) for other in decided)
    )


def _is_decided(step: dict[str, Any]) -> bool:
    return bool(step["loop"]["source"]["kind"] == "artifact")


def _follows(steps: Sequence[dict[str, Any]], other: int, at: int, solver: Solver) -> bool:
    """Return whether the choice that ends one loop can ask another one."""
    own: list[Wish] = [(steps[at].get("runCondition"), True)]
    if other > at:
        # It was passed over when the other loop was entered, and applies when that one ends.
        entered: list[Wish] = [(steps[at].get("runCondition"), False), (steps[other].get("runCondition"), True)]
        return "runCondition" in steps[at] and solver.is_possible(entered)
    between = steps[other + 1 : at]
    if "runCondition" in steps[other]:
        # What can run while the other loop does not is done before it.
        late: Wish = (steps[other]["runCondition"], False)
        if solver.is_possible([late]):
            between = [step for step in between if not solver.is_possible([late, (step.get("runCondition"), True)])]
    skipped: list[Wish] = [(step.get("runCondition"), False) for step in between]
    return solver.is_possible([*own, *skipped])


class _Decisions:
    """What can be decided about a loop each time it is asked whether to go on with an iteration."""

    def __init__(self, loop_step: dict[str, Any], scope: ConditionScope, skippable: bool) -> None:
        self._loop = loop_step
        self._scope = scope
        self._skippable = skippable
        # Where no condition looks at the number of the iteration, the second stands for all that follow.
        by_count = "variable" in loop_step["loop"]["source"]
        self._same_from = math.inf if counts_iterations(loop_step) or by_count else 1
        self._known: dict[tuple[int, bool], bool] = {}

    def exits(self, last: int) -> list[str]:
        """Return the ways to end, if the loop is asked about every iteration up to the last of these."""
        found: dict[str, None] = {}
        for iteration in range(last + 1):
            if self._can(iteration, goes_on=False):
                found[natural_exit(iteration)] = None
            if not self._can(iteration, goes_on=True):
                return list(found)
        return [*found, LIMIT]

    def _can(self, iteration: int, *, goes_on: bool) -> bool:
        key = (int(min(iteration, self._same_from)), goes_on)
        if key not in self._known:
            self._known[key] = self._is_possible(key[0], goes_on)
        return self._known[key]

    def _is_possible(self, iteration: int, goes_on: bool) -> bool:
        if self._loop["loop"]["source"]["kind"] == "artifact":
            # A decision is submitted inside the loop, so it has a first iteration unless another one's counts.
            return goes_on or iteration > 0 or self._skippable
        # Only when it is entered does the loop look at the same variables as its own run condition.
        held = self._scope.held if iteration == 0 else ()
        wishes = [*held, *continuing(self._loop, iteration, goes_on=goes_on)]
        return self._scope.solver.is_possible(wishes, loop_numbers(self._loop, iteration))
