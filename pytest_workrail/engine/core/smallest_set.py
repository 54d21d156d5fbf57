"""The smallest set of unset variables that makes a condition come out as wanted, and a value for each.

A condition is turned into alternatives: for each variable that may be chosen, the values it may have. A value that
stays unset is one of them, so an alternative costs as many variables as can't stay unset. Exact for truth, equality,
lists and order; for text operators as far as the values tried go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeAlias

from pytest_workrail.engine.core.conditions import Context, compare, evaluate
from pytest_workrail.engine.core.logic import MAX_DEPTH, Members, Negation, combination
from pytest_workrail.engine.model.words import MAX_CONTEXT_KEY_BYTES, RESERVED_KEYS, SYSTEM_KEYS
from workrail_lint.base import js
from workrail_lint.base.js import Json

MAX_ALTERNATIVES = 4096
# Beyond this many, looking for alternatives that others contain costs more than it saves.
_MAX_COMPARED = 512

# Which values of a variable are left, as bits; bit 0 stands for staying unset. A variable that is not named is free.
Alternative: TypeAlias = dict[str, int]
_UNSET = 1


class _TooMany(Exception):  # noqa: N818 - a signal inside this module
    """There are more alternatives than can be looked at."""


class ConditionSolver:
    """One condition. What it reads is found out when it is first asked for, and then kept."""

    __slots__ = ("_domains", "_masks", "_order", "condition")

    def __init__(self, condition: object) -> None:
        self.condition = condition
        self._order: tuple[str, ...] | None = None
        self._domains: dict[str, list[Json]] = {}
        self._masks: dict[tuple[int, bool], int] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConditionSolver) and self.condition == other.condition

    __hash__ = None  # type: ignore[assignment]  # a condition is JSON, which has no hash

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the condition reads, in reading order."""
        if self._order is None:
            from pytest_workrail.engine.core.condition_domains import comparisons, values_for

            read: dict[str, list[dict[str, Any]]] = {}
            for node in comparisons(self.condition):
                read.setdefault(js.text(node["var"]), []).append(node)
            self._domains = {name: values_for(name, nodes) for name, nodes in read.items()}
            self._order = tuple(read)
        return self._order

    def smallest(self, wanted: bool, context: Context, fixed: Collection[str] = ()) -> dict[str, Json] | None:
        """What to set so that the condition comes out as wanted, in reading order; None when nothing was found.

        Only unset variables are set, and none of those that are `fixed`.
        """
        order = [name for name in self.variables if name not in context and name not in fixed and _is_settable(name)]
        try:
            found = self._alternatives(wanted, context, frozenset(order))
        except _TooMany:
            return None
        places = {name: place for place, name in enumerate(order)}

        def cost(alternative: Alternative) -> tuple[int, list[int], list[int]]:
            needed = _needed(alternative, places)
            return len(needed), [places[name] for name in needed], [_first(alternative[name]) for name in needed]

        for alternative in sorted(found, key=cost):
            patch = {name: self._domains[name][_first(alternative[name]) - 1] for name in _needed(alternative, places)}
            if evaluate(self.condition, {**context, **patch}) is wanted:
                return patch
        return None

    def is_possible(self, wanted: bool) -> bool:
        """Whether any values at all make the condition come out as wanted. Where there are too many, some may."""
        free = frozenset(name for name in self.variables if name not in RESERVED_KEYS)
        try:
            return bool(self._alternatives(wanted, {}, free))
        except _TooMany:
            return True

    def _alternatives(self, wanted: bool, context: Context, free: Collection[str]) -> list[Alternative]:
        condition = self.condition
        if not isinstance(condition, dict | list) or not condition:
            return [{}] if wanted else []
        return self._of(condition, wanted, context, free, 0)

    def _of(self, node: object, wanted: bool, context: Context, free: Collection[str], depth: int) -> list[Alternative]:
        if not isinstance(node, dict):
            return []
        if depth > MAX_DEPTH:
            raise _TooMany
        if "var" in node:
            return self._of_comparison(node, wanted, context, free)

        def of(member: object, as_wanted: bool) -> list[Alternative]:
            return self._of(member, as_wanted, context, free, depth + 1)

        match combination(node):
            case Negation(member):
                return of(member, not wanted)
            case Members(decisive, members):
                return _any(members, wanted, of) if wanted is decisive else _every(members, wanted, of)
            case _:
                return []

    def _of_comparison(
        self, node: dict[str, Any], wanted: bool, context: Context, free: Collection[str]
    ) -> list[Alternative]:
        name = js.text(node["var"])
        if name not in free:
            return [{}] if compare(node, context) is wanted else []
        mask = self._mask(node, name, wanted)
        if mask == self._full(name):
            return [{}]
        return [{name: mask}] if mask else []

    def _full(self, name: str) -> int:
        return (2 << len(self._domains[name])) - 1

    def _mask(self, node: dict[str, Any], name: str, wanted: bool) -> int:
        """The values for which a comparison comes out as wanted. The condition outlives this, so its parts have ids."""
        known = self._masks.get((id(node), wanted))
        if known is None:
            contexts: list[Context] = [{}, *({name: value} for value in self._domains[name])]
            known = sum(1 << place for place, context in enumerate(contexts) if compare(node, context) is wanted)
            self._masks[id(node), wanted] = known
        return known


def _is_settable(name: str) -> bool:
    """Whether an agent can set a variable of this name."""
    return name not in RESERVED_KEYS and name not in SYSTEM_KEYS and 0 < js.u8_length(name) <= MAX_CONTEXT_KEY_BYTES


def _needed(alternative: Alternative, places: dict[str, int]) -> list[str]:
    """The variables that can't stay unset, in reading order."""
    return sorted((name for name, mask in alternative.items() if not mask & _UNSET), key=places.__getitem__)


def _first(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


_Of: TypeAlias = Callable[[object, bool], list[Alternative]]


def _every(members: Iterable[object], wanted: bool, of: _Of) -> list[Alternative]:
    found: list[Alternative] = [{}]
    for member in members:
        found = _combined(found, of(member, wanted))
        if not found:
            break
    return found


def _any(members: Iterable[object], wanted: bool, of: _Of) -> list[Alternative]:
    """Each member as wanted and those before it the other way, since the first that is as wanted decides."""
    found: list[Alternative] = []
    before: list[Alternative] = [{}]
    for member in members:
        found += _combined(before, of(member, wanted))
        before = _combined(before, of(member, not wanted))
        if not before:
            break
    return _distinct(found)


def _combined(ones: list[Alternative], others: list[Alternative]) -> list[Alternative]:
    if len(ones) * len(others) > 16 * MAX_ALTERNATIVES:
        raise _TooMany
    return _distinct(both for one in ones for other in others if (both := _both(one, other)) is not None)


def _both(one: Alternative, other: Alternative) -> Alternative | None:
    both = dict(one)
    for name, mask in other.items():
        left = both.get(name, mask) & mask
        if not left:
            return None
        both[name] = left
    return both


def _distinct(found: Iterable[Alternative]) -> list[Alternative]:
    """The alternatives without those that another one contains."""
    kept = list({frozenset(each.items()): each for each in found}.values())
    if len(kept) > MAX_ALTERNATIVES:
        raise _TooMany
    if not 1 < len(kept) <= _MAX_COMPARED:
        return kept
    return [one for one in kept if not any(other is not one and _contains(other, one) for other in kept)]


def _contains(other: Alternative, one: Alternative) -> bool:
    return all(name in one and not one[name] & ~mask for name, mask in other.items())
