"""A short way to most answers: whether values that the conditions themselves name make them come out as wanted.

Values that do are an answer. That none do is a proof only where no others have to be tried: the values of a variable
are all known, or a condition names the one that it must have. Everything else is left to the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from workrail_lint.systems.workrail.condition_logic import FALSE_WORDS, TRUE_WORDS, compare, normal_text
from workrail_lint.systems.workrail.solver.expression import ANYTHING, Comparison, Expression, Values

# Comparisons that are looked at before the search takes over.
_MOST_STEPS = 300
_LARGEST = 2**53
_TRUE, _FALSE = (True, *TRUE_WORDS), (False, *FALSE_WORDS)
_OTHERS = (True, False, 0, 1, "other")

# Expressions that have to come out in a certain way, as a linked list.
Pending: TypeAlias = "tuple[Expression, bool, Pending] | None"


def is_impossible(pending: Pending, values: Mapping[str, Values]) -> bool | None:
    """Whether no values make all of them come out as wanted; None where only the search can tell."""
    attempt = _Attempt(values)
    if attempt.meets(pending):
        return False
    return True if attempt.is_exhaustive else None


class _Attempt:
    """A walk through the alternatives. Along each, a variable has comparisons to meet, and a value that meets them."""

    __slots__ = ("_demands", "_held", "_steps", "_values", "is_exhaustive")

    def __init__(self, values: Mapping[str, Values]) -> None:
        self._values = values
        self._demands: dict[str, list[tuple[Comparison, bool]]] = {}
        self._held: dict[str, Any] = {}
        self._steps = 0
        self.is_exhaustive = True

    def meets(self, pending: Pending) -> bool:
        trail: list[str] = []
        while pending is not None:
            expression, wanted, pending = pending
            comparison = expression.comparison
            if comparison is not None:
                trail.append(comparison.variable)
                if not self._add(comparison, wanted):
                    self._undo(trail)
                    return False
                continue
            members = expression.members
            if expression.logic == "not":
                pending = (members[0], not wanted, pending)
            elif wanted is (expression.logic == "and"):
                for member in reversed(members):
                    pending = (member, wanted, pending)
            else:
                if any(self.meets((member, wanted, pending)) for member in members):
                    return True
                self._undo(trail)
                return False
        return True

    def _undo(self, trail: list[str]) -> None:
        # What the variable holds stays: it meets the demands that are left as well.
        for name in trail:
            self._demands[name].pop()

    def _add(self, comparison: Comparison, wanted: bool) -> bool:
        """Whether the variable has a value that meets this too."""
        self._steps += 1
        name = comparison.variable
        demands = self._demands.setdefault(name, [])
        demands.append((comparison, wanted))
        if self._steps > _MOST_STEPS:
            self.is_exhaustive = False
            return False
        if name in self._held and compare(comparison.operator, self._held[name], comparison.operand) is wanted:
            return True
        allowed = self._values.get(name, ANYTHING)
        if not (allowed.closed or allowed.may_be_unset):
            self.is_exhaustive = False  # the search has its own choice of values for these
            return False
        trials = _all_values(demands, allowed)
        for value in _some_values(demands, allowed) if trials is None else trials:
            for (_, _, operator, operand), truth in demands:
                if compare(operator, value, operand) is not truth:
                    break
            else:
                self._held[name] = value
                return True
        if trials is None:
            self.is_exhaustive = False
        return False


def _all_values(demands: list[tuple[Comparison, bool]], allowed: Values) -> tuple[Any, ...] | None:
    """One value for each class that has to be tried, where that is known; None stands for a missing value."""
    if allowed.closed:
        return (*allowed.values, None) if allowed.may_be_unset else allowed.values
    found: tuple[Any, ...] | None = None
    for (_, _, operator, operand), wanted in demands:
        if operator == "contains":
            return None
        if found is None and operator in ("equals", "not_equals") and wanted is (operator == "equals"):
            found = _equal_values(operand)
        elif found is None and operator == "in" and wanted:
            found = ()
            for item in operand:
                equal = _equal_values(item)
                if equal is None:
                    found = None
                    break
                found += equal
    return found


def _equal_values(operand: Any) -> tuple[Any, ...] | None:
    """What equals an operand; None where many spellings do, as with numbers."""
    if operand is None:
        return (None,)
    if operand is True:
        return _TRUE
    if operand is False:
        return _FALSE
    if isinstance(operand, str):
        text = normal_text(operand)
        # Words for true and false equal these too, and what may be a number equals that.
        if text[:1].isalpha() and text not in _TRUE and text not in _FALSE and text != "infinity":
            return (operand,)
    return None


def _some_values(demands: list[tuple[Comparison, bool]], allowed: Values) -> Iterator[Any]:
    """Values that may do; None stands for a missing one."""
    yield None
    yield from allowed.values
    for (_, _, operator, operand), _ in demands:
        for item in operand if operator == "in" else (operand,):
            if isinstance(item, str | bool):
                yield item
            elif isinstance(item, int | float) and -_LARGEST < item < _LARGEST:
                yield item
                yield item + 1
                yield item - 1
    yield from _OTHERS
