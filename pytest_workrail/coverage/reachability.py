"""What conditions can come out as, so that nobody is asked to show what can't happen.

An outcome counts as impossible when no context brings it about together with everything else that has to hold at the
same time: what makes the step run, and what keeps the loop around it going. All contexts that can make a difference are
tried; where there are too many of them, the outcome counts as possible.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from pytest_workrail.agents.condition_solver import distinguishing_values, is_settleable
from workrail_lint.base import js

# A condition, and whether it is to hold.
Wish: TypeAlias = tuple[object, bool]


class ConditionScope:
    """Where conditions are looked at: at the top level or inside a loop, while certain things hold."""

    __slots__ = ("_held", "_last", "_loop")

    def __init__(
        self, loop_step: dict[str, Any] | None = None, held: tuple[Wish, ...] = (), last_iteration: int = 0
    ) -> None:
        self._loop = loop_step
        self._held = held
        self._last = last_iteration

    @classmethod
    def inside(cls, loop_step: dict[str, Any]) -> ConditionScope:
        """In the body of a loop. The variables may have changed since it was entered, but it still goes on."""
        source = loop_step["loop"]["source"]
        goes_on = ((source["condition"], continuing_value(loop_step)),) if source["kind"] == "condition" else ()
        return cls(loop_step, goes_on, _last_iteration(loop_step, goes_on))

    def where(self, *wishes: Wish) -> ConditionScope:
        """The same place, while this holds too."""
        return ConditionScope(self._loop, (*self._held, *wishes), self._last)

    def allows(self, *wishes: Wish) -> bool:
        """Whether everything can come out as wished at the same time."""
        together = (*self._held, *wishes)
        if self._loop is None:
            return is_settleable(together, {})
        return any(is_settleable(together, _numbers(self._loop, at)) for at in self._iterations(together))

    def allows_at(self, iteration: int, loop_step: dict[str, Any], *wishes: Wish) -> bool:
        """The same for what a loop looks at when it is asked about an iteration."""
        return is_settleable((*self._held, *wishes), _numbers(loop_step, iteration))

    def _iterations(self, wishes: tuple[Wish, ...]) -> list[int]:
        """The iterations that make a difference: the first, the last, and those that somebody compares with."""
        assert self._loop is not None
        found = {0, self._last}
        values = distinguishing_values([condition for condition, _ in wishes])
        for name, first in _numbers(self._loop, 0).items():
            numbers = {js.to_number(value) for value in values.get(name, ())}
            found |= {int(number) - first for number in numbers if abs(number) <= js.MAX_SAFE_INTEGER}
        return sorted(iteration for iteration in found if 0 <= iteration <= self._last)


def _last_iteration(loop_step: dict[str, Any], goes_on: tuple[Wish, ...]) -> int:
    """The last iteration that a loop can come to: none is left out on the way there."""
    count = loop_step["loop"]["source"].get("count", math.inf)
    last: int = math.ceil(min(count, loop_step["loop"]["maxIterations"])) - 1
    if loop_step["loop"]["variables"]["iteration"] not in distinguishing_values(
        [condition for condition, _ in goes_on]
    ):
        return last
    ends = (at for at in range(1, last + 1) if not is_settleable(goes_on, _numbers(loop_step, at)))
    return next(ends, last + 1) - 1


def continuing_value(loop_step: dict[str, Any]) -> bool:
    """What the condition of a loop comes out as while the loop goes on."""
    return bool(loop_step["loop"]["kind"] != "until")


def _numbers(loop_step: dict[str, Any], iteration: int) -> dict[str, int]:
    """The variables of a loop that count. Its elements are as free as the list they come from."""
    names = loop_step["loop"]["variables"]
    counted = {names["iteration"]: iteration + 1}
    return counted | {names["index"]: iteration} if "index" in names else counted
