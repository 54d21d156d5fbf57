"""Whether conditions of a workflow can hold together, and under which values: what rules ask the solver.

Only conditions that the engine evaluates in full are judged. Three truths: only "impossible" is a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workrail_lint.base import js
from workrail_lint.systems.workrail.condition_logic import BOUNDS, LOGIC
from workrail_lint.systems.workrail.solver.attempt import Pending, is_impossible
from workrail_lint.systems.workrail.solver.expression import (
    IMPOSSIBLE,
    POSSIBLE,
    UNKNOWN,
    UNSET,
    Answer,
    Comparison,
    Expression,
    Values,
    made_comparison,
)

__all__ = [
    "BOUNDS",
    "IMPOSSIBLE",
    "ONLY_UNSET",
    "POSSIBLE",
    "UNKNOWN",
    "UNSET",
    "Answer",
    "Comparison",
    "Node",
    "Values",
    "exclusive",
    "impossible",
    "parse",
    "satisfy",
]
# Larger conditions are not judged: they are not written by hand.
_MAX_NODES = 200
_MAX_DEPTH = 30
_KNOWN = frozenset(("var", "equals", "not_equals", *BOUNDS, "contains", "in", *LOGIC))
ONLY_UNSET = Values((), True, True)
_EMPTY: Mapping[str, Values] = {}

Node = Expression


def parse(condition: object) -> Node | None:
    """A condition as a tree; None when the engine would not evaluate all of it, or it is too large to be judged."""
    if condition == {}:
        return Expression("and")  # of nothing, which holds
    return _parsed(condition, 0, [_MAX_NODES])


def _parsed(value: object, depth: int, left: list[int]) -> Expression | None:
    """A part at some depth, with as many parts as are left."""
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH or not isinstance(value, dict) or not value.keys() <= _KNOWN:
        return None
    if "var" in value:
        comparison = _comparison(value)
        return None if comparison is None else Expression("is", (), comparison)
    if len(value) != 1:
        return None
    ((logic, inner),) = value.items()
    if logic == "not":
        inner = [inner]
    elif logic not in LOGIC or not isinstance(inner, list):
        return None
    members = []
    for part in inner:
        member = _parsed(part, depth + 1, left)
        if member is None:
            return None
        members.append(member)
    return Expression(logic, tuple(members))


def _comparison(value: dict[str, Any]) -> Comparison | None:
    """One comparison with a fitting operand, or none at all."""
    variable = value["var"]
    if type(variable) is not str or len(value) > 2:
        return None
    operator, operand = "", None
    for name, literal in value.items():
        if name != "var":
            operator, operand = name, literal
    if operator in BOUNDS:
        fits = js.is_number(operand)
    elif operator == "in":
        fits = isinstance(operand, list)
    elif operator == "contains":
        fits = isinstance(operand, str)
    else:
        fits = operator not in LOGIC
    return made_comparison(variable, operator, operand) if fits else None


def satisfy(
    positive: Iterable[Node | None], negative: Iterable[Node | None] = (), values: Mapping[str, Values] = _EMPTY
) -> Answer:
    """Is there an assignment under which all of `positive` hold and none of `negative` does?"""
    from workrail_lint.systems.workrail.solver.search import Solver

    wanted = [*((node, True) for node in positive), *((node, False) for node in negative)]
    return Solver().judge(wanted, values=values)


def impossible(
    positive: Sequence[Node | None], negative: Sequence[Node | None] = (), values: Mapping[str, Values] = _EMPTY
) -> bool:
    """Whether it is certain that there is none, which is mostly known without a search."""
    pending: Pending = None
    for node in reversed(negative):
        pending = pending if node is None else (node, False, pending)
    for node in reversed(positive):
        pending = pending if node is None else (node, True, pending)
    found = is_impossible(pending, values)
    return satisfy(positive, negative, values).verdict == IMPOSSIBLE if found is None else found


def exclusive(first: object, second: object) -> bool:
    """Whether no context satisfies both conditions; false wherever that is not certain."""
    if not isinstance(first, dict) or not isinstance(second, dict) or not first or not second:
        return False
    return impossible((parse(first), parse(second)))
