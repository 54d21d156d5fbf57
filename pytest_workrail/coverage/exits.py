"""How loops can end: after no iteration, one or many by themselves, or at their limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_workrail.coverage.reachability import ConditionScope, continuing, counts_iterations, loop_numbers
from pytest_workrail.engine.core.profiles import LoopIdCheck, LoopLimit, Profile
from workrail_lint.systems.workrail.solver import Solver, Wish

ZERO, ONE, MANY, LIMIT = "zero", "one", "many", "limit"


def natural_exit(iterations: int) -> str:
    """The case of a loop that ended by itself."""
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
    """Whether a loop is asked once more after the last iteration that its limit allows."""
    return profile.loop_limit is LoopLimit.REPORT or loop_step["loop"]["source"]["kind"] in ("count", "items")


def loop_exits(
    loop_step: dict[str, Any], profile: Profile, scope: ConditionScope, *, skippable: bool = False
) -> list[str]:
    """The ways in which a loop can end, where `scope` is what holds when it is entered; none if it can't be run.

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
    """The loops that a decision to stop another one can end before they begin.

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
    """Whether the choice that ends one loop can ask another one."""
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
        """The ways to end, if the loop is asked about every iteration up to the last of these."""
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
            # A decision is handed in inside the loop, so it has a first iteration unless another one's counts.
            return goes_on or iteration > 0 or self._skippable
        # Only when it is entered does the loop look at the same variables as its own run condition.
        held = self._scope.held if iteration == 0 else ()
        wishes = [*held, *continuing(self._loop, iteration, goes_on=goes_on)]
        return self._scope.solver.is_possible(wishes, loop_numbers(self._loop, iteration))
