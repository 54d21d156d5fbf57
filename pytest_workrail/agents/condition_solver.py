"""Which variables to set so that a condition holds, or does not: as few as possible, each to a plain value."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Any

from pytest_workrail.agents.pattern_texts import matching_texts
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.protocol.context import METRICS_OUTCOMES, RESERVED_KEYS, SYSTEM_KEYS, merged
from workrail_lint.base import js
from workrail_lint.base.js import Json

_MAX_TRIES = 20_000
_OTHER = "other"


def solve(
    condition: object, wanted: bool, context: Mapping[str, Any], shadowed: Mapping[str, Any], kept: Collection[str] = ()
) -> dict[str, Json] | None:
    """A change to the context after which the condition comes out as wanted; None when none was found.

    `shadowed` are values that lie on top of the context whatever is set in it, such as a loop's own variables;
    `kept` are variables that must stay as they are. A change to null removes a variable.
    """
    return solve_all([(condition, wanted)], context, shadowed, kept)


def solve_all(
    wishes: Sequence[tuple[object, bool]],
    context: Mapping[str, Any],
    shadowed: Mapping[str, Any],
    kept: Collection[str] = (),
) -> dict[str, Json] | None:
    """A change to the context after which every one of these conditions comes out as wanted."""
    candidates = {
        name: _acceptable(name, values)
        for name, values in distinguishing_values([condition for condition, _ in wishes]).items()
        if name and name not in shadowed and name not in kept
    }
    changes = (
        dict(zip(names, values, strict=True))
        for size in range(len(candidates) + 1)
        for names in combinations(candidates, size)
        for values in product(*(candidates[name] for name in names))
    )
    for change in islice(changes, _MAX_TRIES):
        changed = {**merged(context, change), **shadowed}
        if all(evaluate(condition, changed) is wanted for condition, wanted in wishes):
            return change
    return None


def _acceptable(name: str, values: list[Json]) -> list[Json]:
    """The values that an agent may give a variable: some are the host's, and one takes only certain words."""
    if name in RESERVED_KEYS or name in SYSTEM_KEYS:
        return []
    if name == "metrics_outcome":
        return [*METRICS_OUTCOMES, None]
    return values


def is_settleable(wishes: Sequence[tuple[object, bool]], shadowed: Mapping[str, Any]) -> bool:
    """Whether conditions can come out as wanted in some context. Where there are too many to try, they well may."""
    values = distinguishing_values([condition for condition, _ in wishes])
    ways = math.prod(1 + len(values[name]) for name in values if name not in shadowed)
    return ways > _MAX_TRIES or solve_all(wishes, {}, shadowed) is not None


def distinguishing_values(condition: object) -> dict[str, list[Json]]:
    """The variables of conditions, each with values that make a difference to it."""
    found: dict[str, list[Json]] = {}
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict) and "var" in node:
            values = found.setdefault(js.text(node["var"]), [])
            values.extend(value for value in _distinguishing(node) if not any(_same(value, known) for known in values))
        elif isinstance(node, dict):
            stack.extend(node.get(name) for name in ("not", "or", "and"))
    return found


def _distinguishing(comparison: dict[str, Any]) -> Iterator[Json]:
    """Values on both sides of one comparison, the plainest first; null takes the variable away."""
    for operator, operand in comparison.items():
        match operator:
            case "equals" | "not_equals":
                yield operand
            case "gt" | "gte" | "lt" | "lte":
                bound = js.to_number(operand)
                if bound == bound and abs(bound) < js.MAX_SAFE_INTEGER:
                    whole = int(bound)
                    yield from (whole, whole + 1, whole - 1)
            case "contains" | "startsWith" | "endsWith":
                yield js.text(operand)
            case "in" if isinstance(operand, list):
                yield from operand
            case "matches":
                yield from matching_texts(js.text(operand), "i")
            case _:
                continue
    yield from (True, False, _OTHER, None)


def _same(one: Json, other: Json) -> bool:
    """Equal and of the same type: 1 and true are two values."""
    return type(one) is type(other) and one == other
