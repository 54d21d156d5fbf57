"""How loops can end: after no iteration, one or many by themselves, or at their limit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_workrail.agents.condition_solver import distinguishing_values
from pytest_workrail.coverage.reachability import ConditionScope, continuing_value
from pytest_workrail.engine.core.profiles import LoopLimit, Profile

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


def loop_exits(loop_step: dict[str, Any], profile: Profile, scope: ConditionScope) -> list[str]:
    """The ways in which a loop can end, where `scene` is what holds when it is entered; none if it can't be run.

    Where nobody is asked any more after the last iteration that the limit allows, that one counts as the limit.
    """
    limit, source = loop_step["loop"]["maxIterations"], loop_step["loop"]["source"]
    if source["kind"] == "none" or limit != int(limit) or limit < 1:
        return []
    if "count" in source:
        return [LIMIT if source["count"] > limit else natural_exit(math.ceil(source["count"]))]
    is_asked_to_the_end = profile.loop_limit is LoopLimit.REPORT or source["kind"] in ("count", "items")
    last = int(limit) if is_asked_to_the_end else int(limit) - 1
    return _Decisions(loop_step, scope).exits(last)


class _Decisions:
    """What can be decided about a loop each time it is asked whether to go on with an iteration."""

    def __init__(self, loop_step: dict[str, Any], scope: ConditionScope) -> None:
        self._loop = loop_step
        self._scene = scope
        self._source: dict[str, Any] = loop_step["loop"]["source"]
        counts = loop_step["loop"]["variables"]["iteration"] in distinguishing_values(self._source.get("condition"))
        # Where no condition looks at the number of the iteration, the second stands for all that follow.
        self._same_from = math.inf if counts else 1
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
        match self._source["kind"]:
            case "condition":
                # Only when it is entered does the loop look at the same variables as its own run condition.
                scope = self._scene if iteration == 0 else ConditionScope()
                wish = (self._source["condition"], goes_on is continuing_value(self._loop))
                return scope.allows_at(iteration, self._loop, wish)
            case "artifact":
                # A decision is handed in inside the loop, so such a loop always has a first iteration.
                return goes_on or iteration > 0
            case _:
                return True
