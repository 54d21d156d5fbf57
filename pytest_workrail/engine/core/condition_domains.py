"""Values worth trying for a context variable: those on both sides of every comparison that reads it.

The order is a preference. What an author wrote comes first, made-up values come last.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from pytest_workrail.engine.core.conditions import deciding_operator
from pytest_workrail.engine.core.logic import Members, Negation, combination
from pytest_workrail.engine.model.words import METRICS_OUTCOMES
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json
from workrail_lint.base.pattern_texts import matching_texts

_FILLER = " "
_MAX_JOINED = 64
_TEXTUAL = ("startsWith", "contains", "endsWith")
_ORDERED = ("gt", "gte", "lt", "lte")
# Any one of these is contained in an operand only if it is that operand.
_OTHER_TEXTS: tuple[str, ...] = ("other", *"qzxjkvw0123456789~#%&")


def comparisons(condition: object) -> list[dict[str, Any]]:
    """Every comparison of a condition in reading order; members that the language ignores are not read."""
    found: list[dict[str, Any]] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        if "var" in node:
            found.append(node)
            continue
        match combination(node):
            case Members(_, members):
                stack.extend(reversed(members))
            case Negation(member):
                stack.append(member)
    return found


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
    found = [text for operand in _operands(decided, "matches") for text in matching_texts(js.text(operand), "i")]
    yield from found
    yield from (True, False)
    yield from _operands(decided, "not_equals")
    yield _unlike(decided)
    yield ""
    yield from _numbers(decided)
    yield from islice(_joined(texts, found), _MAX_JOINED)
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


def _joined(texts: dict[str, list[str]], found: Sequence[str]) -> Iterator[str]:
    """Texts that begin, go on and end as several operators ask for at once."""
    infixes = "".join(texts["contains"])
    for start in texts["startsWith"] or [""]:
        for filler in ("", _FILLER):
            for end in (*texts["endsWith"], *found) or ("",):
                yield start + filler + infixes + end
