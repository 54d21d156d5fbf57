"""The members of a condition, and which of them decided.

A condition of several comparisons can be true and false in a suite while one of its members never mattered. A member
decides if the whole would come out the other way with that member flipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_workrail.coverage.points import truth_case
from workrail_lint.systems.workrail.solver.expression import Comparison, Expression, comparison_of, read
from workrail_lint.systems.workrail.solver.search import Wish

_TRUE: dict[str, Any] = {"and": []}
_FALSE: dict[str, Any] = {"or": []}


class Members:
    """The comparisons of a condition, each with the place where it comes first."""

    def __init__(self, condition: object) -> None:
        self.condition = condition
        self.expression: Expression | None = read(condition)
        self.places: dict[Comparison, str] = {}
        if isinstance(condition, dict) and self.expression is not None and self.expression.is_sound:
            for place, node in _leaves(condition, ""):
                self.places.setdefault(comparison_of(node), place)
        if len(self.places) < 2:
            self.places = {}

    def deciding(self, context: Mapping[str, Any]) -> Iterator[str]:
        """Yield the members that decide about the condition in a context, as cases."""
        if not self.places or self.expression is None:
            return
        truths = {each: each.holds(context.get(each.variable)) for each in self.places}
        outcome = self.expression.value(truths)
        if outcome is None:
            return
        for member, place in self.places.items():
            truth = truths[member]
            if truth is not None and self.expression.value({**truths, member: not truth}) is not outcome:
                yield decides_case(place, truth)

    def wishes(self) -> Iterator[tuple[str, list[Wish]]]:
        """For each case what has to hold so that the member decides."""
        for member, place in self.places.items():
            with_it, without = (_replaced(self.condition, member, value) for value in (_TRUE, _FALSE))
            differs = {"or": [{"and": [with_it, {"not": without}]}, {"and": [{"not": with_it}, without]}]}
            leaf = {"var": member.variable, **({member.operator: member.operand} if member.operator else {})}
            for truth in (True, False):
                yield decides_case(place, truth), [(differs, True), (leaf, truth)]


def decides_case(place: str, truth: bool) -> str:
    """Return the case of a member that decided, by its pointer in the condition."""
    return f"{place} {truth_case(truth)}"


def _leaves(condition: Any, place: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if "var" in condition:
        yield place or "/", condition
        return
    for logic in ("and", "or"):
        if logic in condition:
            for index, member in enumerate(condition[logic]):
                yield from _leaves(member, f"{place}/{logic}/{index}")
            return
    if "not" in condition:
        yield from _leaves(condition["not"], f"{place}/not")


def _replaced(condition: Any, member: Comparison, value: dict[str, Any]) -> Any:
    if "var" in condition:
        return value if comparison_of(condition) == member else condition
    for logic in ("and", "or"):
        if logic in condition:
            return {logic: [_replaced(each, member, value) for each in condition[logic]]}
    return {"not": _replaced(condition["not"], member, value)} if "not" in condition else condition


class MemberTable:
    """The members of the conditions of one IR, read once. Conditions are known by their place in memory."""

    def __init__(self) -> None:
        self._known: dict[int, Members] = {}

    def __getitem__(self, condition: object) -> Members:
        found = self._known.get(id(condition))
        if found is None:
            found = self._known[id(condition)] = Members(condition)
        return found
