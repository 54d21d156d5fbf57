"""The smallest set of unset variables that makes a condition come out as wanted, and a value for each.

A condition is turned into alternatives: for each variable that may be chosen, the values it may have. A value that
stays unset is one of them, so an alternative costs as many variables as can't stay unset. Exact for truth, equality,
lists and order; for text operators as far as the values tried go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, TypeAlias

from pytest_workrail.engine.core.conditions import (
    MAX_DEPTH,
    Context,
    Members,
    Negation,
    combination,
    compare,
    deciding_operator,
    evaluate,
)
from pytest_workrail.engine.model.words import MAX_CONTEXT_KEY_BYTES, METRICS_OUTCOMES, RESERVED_KEYS, SYSTEM_KEYS
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.ecma_regex import matching_texts
from workrail_lint.base.js import Json

_FILLER = " "
_MAX_JOINED = 64
_TEXTUAL = ("startsWith", "contains", "endsWith")
_ORDERED = ("gt", "gte", "lt", "lte")
# Any one of these is contained in an operand only if it is that operand.
_OTHER_TEXTS: tuple[str, ...] = ("other", *"qzxjkvw0123456789~#%&")


def comparisons(condition: object) -> list[dict[str, Any]]:
    """Every comparison of a condition in reading order; members that the language ignores are not read."""
    nodes: list[dict[str, Any]] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        if "var" in node:
            nodes.append(node)
            continue
        match combination(node):
            case Members(_, members):
                stack.extend(reversed(members))
            case Negation(member):
                stack.append(member)
    return nodes


def values_for(name: str, read: Sequence[dict[str, Any]]) -> list[Json]:
    """The values to try for a variable, given the comparisons that read it; null is not one of them."""
    candidates = iter(METRICS_OUTCOMES) if name == "metrics_outcome" else _candidates(read)
    kept: dict[tuple[str, bytes], Json] = {}
    for value in candidates:
        if value is not None:
            kept.setdefault((js.type_name(value), canonical_bytes(value)), value)
    return list(kept.values())


def _candidates(read: Sequence[dict[str, Any]]) -> Iterator[Json]:
    decided = [(operator, node.get(operator or "")) for node in read for operator in (deciding_operator(node),)]
    yield from _operands(decided, "equals", "in")
    for operator, operand in decided:
        yield from _nearest(operator, js.to_number(operand))
    texts = {name: [js.text(operand) for operand in _operands(decided, name)] for name in _TEXTUAL}
    yield from (js.text(operand) for operator, operand in decided if operator in _TEXTUAL and operand is not None)
    matching = [text for operand in _operands(decided, "matches") for text in matching_texts(js.text(operand), "i")]
    yield from matching
    yield from (True, False)
    yield from _operands(decided, "not_equals")
    yield _unlike(decided)
    yield ""
    yield from _numbers(decided)
    yield from islice(_joined(texts, matching), _MAX_JOINED)
    yield _FILLER


def _operands(decided: Sequence[tuple[str | None, Any]], *operators: str) -> Iterator[Json]:
    for operator, operand in decided:
        if operator in operators:
            yield from operand if operator == "in" and isinstance(operand, list) else [operand]


def _nearest(operator: str | None, bound: float) -> Iterator[Json]:
    """The number next to a bound that is within it."""
    if operator not in _ORDERED or not math.isfinite(bound):
        return
    match operator:
        case "gt":
            yield _number(math.floor(bound) + 1)
        case "lt":
            yield _number(math.ceil(bound) - 1)
        case _:
            yield _number(bound)


def _number(value: float) -> int | float:
    whole = float(value).is_integer() and abs(value) <= js.MAX_SAFE_INTEGER
    return int(value) if whole else float(value)


def _numbers(decided: Sequence[tuple[str | None, Any]]) -> Iterator[Json]:
    """Numbers on every side of the numbers that are compared with."""
    named = _operands(decided, "equals", "not_equals", "in", *_ORDERED)
    bounds = sorted({bound for each in named if math.isfinite(bound := _bound(each))})
    for low, high in pairwise(bounds):
        middle = low / 2 + high / 2
        yield from (_number(middle), _number(low / 2 + middle / 2))
    if bounds:
        low, high = bounds[0], bounds[-1]
        yield from (_number(low - 1), _number(low - 2), _number(high + 1), _number(high + 2))
    yield from map(_number, bounds)
    yield 0


def _bound(operand: object) -> float:
    """The number that a comparison takes an operand for, blank texts and containers aside."""
    is_plain = js.is_number(operand) or (isinstance(operand, str) and not js.is_blank(operand))
    return js.to_number(operand) if is_plain else math.nan


def _unlike(decided: Sequence[tuple[str | None, Any]]) -> str:
    """A text that contains none of the operands."""
    operands: set[str] = {js.lower(js.trim(js.text(each))) for _, operand in decided for each in _flat(operand)} - {""}
    unlike = (text for text in _OTHER_TEXTS if not any(each in text for each in operands))
    return next(unlike, _OTHER_TEXTS[0])


def _flat(operand: object) -> list[Any]:
    return operand if isinstance(operand, list) else [operand]


def _joined(texts: dict[str, list[str]], matching: Sequence[str]) -> Iterator[str]:
    """Texts that begin, go on and end as several operators ask for at once."""
    infixes = "".join(texts["contains"])
    for start in texts["startsWith"] or [""]:
        for filler in ("", _FILLER):
            for end in (*texts["endsWith"], *matching) or ("",):
                yield start + filler + infixes + end


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

    __slots__ = ("_domains", "_masks", "_order", "_possible", "condition")

    def __init__(self, condition: Json) -> None:
        self.condition = condition
        self._order: tuple[str, ...] | None = None
        self._domains: dict[str, list[Json]] = {}
        self._masks: dict[tuple[int, bool], int] = {}
        self._possible: dict[bool, bool] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConditionSolver) and self.condition == other.condition

    __hash__ = None  # type: ignore[assignment]  # a condition is JSON, which has no hash

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables the condition reads, in reading order."""
        if self._order is None:
            read: dict[str, list[dict[str, Any]]] = {}
            for node in comparisons(self.condition):
                read.setdefault(js.text(node["var"]), []).append(node)
            self._domains = {name: values_for(name, nodes) for name, nodes in read.items()}
            self._order = tuple(read)
        return self._order

    def smallest(self, wanted: bool, context: Context, fixed: Collection[str] = ()) -> dict[str, Json] | None:
        """Return the values to set so that the condition has the wanted value, in reading order; None if not found.

        Only unset variables are set, and none of those that are `fixed`.
        """
        order = [name for name in self.variables if name not in context and name not in fixed and _is_settable(name)]
        try:
            alternatives = self._alternatives(wanted, context, frozenset(order))
        except _TooMany:
            return None
        places = {name: place for place, name in enumerate(order)}

        def cost(alternative: Alternative) -> tuple[int, list[int], list[int]]:
            needed = _needed(alternative, places)
            return len(needed), [places[name] for name in needed], [_first(alternative[name]) for name in needed]

        for alternative in sorted(alternatives, key=cost):
            patch = {name: self._domains[name][_first(alternative[name]) - 1] for name in _needed(alternative, places)}
            if evaluate(self.condition, {**context, **patch}) is wanted:
                return patch
        return None

    def is_possible(self, wanted: bool) -> bool:
        """Whether any values at all make the condition come out as wanted. Where there are too many, some may."""
        if wanted not in self._possible:
            free = frozenset(name for name in self.variables if name not in RESERVED_KEYS)
            try:
                self._possible[wanted] = bool(self._alternatives(wanted, {}, free))
            except _TooMany:
                self._possible[wanted] = True
        return self._possible[wanted]

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
    alternatives: list[Alternative] = [{}]
    for member in members:
        alternatives = _combined(alternatives, of(member, wanted))
        if not alternatives:
            break
    return alternatives


def _any(members: Iterable[object], wanted: bool, of: _Of) -> list[Alternative]:
    """Each member as wanted and those before it the other way, since the first that is as wanted decides."""
    alternatives: list[Alternative] = []
    before: list[Alternative] = [{}]
    for member in members:
        alternatives += _combined(before, of(member, wanted))
        before = _combined(before, of(member, not wanted))
        if not before:
            break
    return _distinct(alternatives)


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


def _distinct(alternatives: Iterable[Alternative]) -> list[Alternative]:
    """The alternatives without those that another one contains."""
    kept = list({frozenset(each.items()): each for each in alternatives}.values())
    if len(kept) > MAX_ALTERNATIVES:
        raise _TooMany
    if not 1 < len(kept) <= _MAX_COMPARED:
        return kept
    return [one for one in kept if not any(other is not one and _contains(other, one) for other in kept)]


def _contains(other: Alternative, one: Alternative) -> bool:
    return all(name in one and not one[name] & ~mask for name, mask in other.items())
