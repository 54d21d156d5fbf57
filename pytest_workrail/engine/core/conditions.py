"""The condition language: when a step runs, a loop goes on, a gate stands.

Evaluation is total. A condition that can't be evaluated is false as a whole, also under `not`, unless a
member that decides comes before the broken one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.ecma_regex import DEFAULT_TIMEOUT, compile_pattern
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.model.workflow import Condition


class Members(Struct, frozen=True):
    """A combination: `decisive` is the member value that settles it at once; without one, its opposite holds."""

    decisive: bool
    members: list[Any]


class Negation(Struct, frozen=True):
    """The opposite of what it holds."""

    member: Any


# Conditions nested deeper than this are not explained: the explanation would be unreadable, and the search recurses.
MAX_DEPTH = 100

# None: the node can't be evaluated.
Expansion: TypeAlias = bool | Members | Negation | None


_NEGATING: tuple[bool, None] = (False, None)
_END: Any = object()


def combination(node: dict[str, Any]) -> Members | Negation | None:
    """Return the operands of `and`, else `or`, else `not`; None without any of them or when they are not a list."""
    for name, decisive in (("and", False), ("or", True)):
        if name in node:
            members = node[name]
            return Members(decisive, members) if isinstance(members, list) else None
    return Negation(node["not"]) if "not" in node else None


def fold(node: Any, expand: Callable[[Any], Expansion]) -> bool | None:
    """The value of a tree, left to right and only as far as needed; None once a needed node has no value."""
    frames: list[tuple[bool, Iterator[Any] | None]] = []  # what decides a combination and its other members; None: not
    while True:
        match expand(node):
            case None:
                return None
            case bool(value):
                pass
            case Members(decisive, members):
                value = not decisive
                frames.append((decisive, iter(members)))
            case Negation(member):
                frames.append(_NEGATING)
                node = member
                continue
        node = _END
        while frames and node is _END:
            decisive, rest = frames[-1]
            if rest is None:
                value = not value
                frames.pop()
            elif value is decisive or (node := next(rest, _END)) is _END:
                frames.pop()
        if node is _END:
            return value


Context: TypeAlias = Mapping[str, Any]

_COMBINATORS = ("and", "or", "not")
_TRUE_WORDS = frozenset(("true", "1", "yes"))
_FALSE_WORDS = frozenset(("false", "0", "no"))


def evaluate(condition: Json, context: Context) -> bool:
    """Whether the condition holds. No condition at all, or an empty one, holds."""
    if not isinstance(condition, dict | list) or not condition:
        return True
    if isinstance(condition, dict) and "var" in condition:
        return compare(condition, context) is True
    return value_of(condition, context) is True


def is_met(condition: Condition | None, context: Context) -> bool:
    """Whether a condition of a compiled workflow holds. The language reads JSON, since its evaluation is total."""
    return condition is None or evaluate(condition.raw, context)


def json_of(condition: Condition | None) -> dict[str, Any] | None:
    """A condition of a compiled workflow as the functions of the language read it."""
    return None if condition is None else condition.raw


def value_of(node: object, context: Context) -> bool | None:
    """Return the value of a part of a condition; None if it can't be evaluated, such as an empty part."""

    def expand(part: object) -> Expansion:
        if not isinstance(part, dict):
            return None
        return compare(part, context) if "var" in part else combination(part)

    return fold(node, expand)


def compare(node: dict[str, Any], context: Context) -> bool | None:
    """One variable against the first comparison there is, by the order of the language."""
    value = context.get(js.text(node["var"]))
    for operator, holds in _COMPARISONS.items():
        if operator in node:
            return holds(value, node[operator])
    return js.truthy(value)


def deciding_operator(node: dict[str, Any]) -> str | None:
    """The key that decides a comparison; None when the variable alone does."""
    return next((operator for operator in _COMPARISONS if operator in node), None)


def lenient_equal(a: object, b: object) -> bool:
    """Equality as authors mean it: case, white space and the type of a written number do not matter."""
    if a is None or b is None:
        return a is b
    if isinstance(a, str):
        if isinstance(b, str):
            return _folded(a) == _folded(b)
        if isinstance(b, bool):
            return _says(a, b)
        if js.is_number(b):
            return _same_number(a, b)
    elif isinstance(b, str):
        if isinstance(a, bool):
            return _says(b, a)
        if js.is_number(a):
            return _same_number(b, a)
    return js.strict_equal(a, b)


def _folded(text: str) -> str:
    return js.lower(js.trim(text))


def _says(text: str, flag: bool) -> bool:
    return _folded(text) in (_TRUE_WORDS if flag else _FALSE_WORDS)


def _same_number(text: str, number: object) -> bool:
    # NaN equals nothing, itself included, so a text that is no number is never the same.
    return js.to_number(text) == js.to_number(number)


def _not_equal(value: object, expected: object) -> bool:
    return not lenient_equal(value, expected)


def _ordered(holds: Callable[[float, float], bool]) -> Callable[[object, object], bool]:
    def compare(value: object, threshold: object) -> bool:
        if not js.is_number(value):
            return False
        bound = js.to_number(threshold)
        return not math.isnan(bound) and holds(js.to_number(value), bound)

    return compare


def _textual(holds: Callable[[str, str], bool]) -> Callable[[object, object], bool]:
    def compare(value: object, needle: object) -> bool:
        return holds(_folded(_plain(value)), _folded(_plain(needle)))

    return compare


def _plain(value: object) -> str:
    return "" if value is None else js.text(value)


def _matches(value: object, pattern: object) -> bool | None:
    compiled = compile_pattern(js.text(pattern), "i")
    if isinstance(compiled, Err):
        return False
    matched = compiled.value.search(js.trim(_plain(value)), DEFAULT_TIMEOUT)
    return None if isinstance(matched, Err) else matched.value


def _is_in(value: object, members: object) -> bool | None:
    if not isinstance(members, list):
        return None
    return any(lenient_equal(member, value) for member in members)


_COMPARISONS: dict[str, Callable[[object, object], bool | None]] = {
    "equals": lenient_equal,
    "not_equals": _not_equal,
    "gt": _ordered(lambda a, b: a > b),
    "gte": _ordered(lambda a, b: a >= b),
    "lt": _ordered(lambda a, b: a < b),
    "lte": _ordered(lambda a, b: a <= b),
    "contains": _textual(lambda text, needle: needle in text),
    "startsWith": _textual(lambda text, needle: text.startswith(needle)),
    "endsWith": _textual(lambda text, needle: text.endswith(needle)),
    "matches": _matches,
    "in": _is_in,
}


def passed_summary(condition: Json, context: Context) -> str:
    """Return the line of a decision trace for a condition that held."""
    match _shape(condition):
        case _Compound(combinator):
            return f"PASS: {combinator}-condition met"
        case _Comparison(variable, operator, expected):
            value = js.text(context[variable]) if variable in context else "(unset)"
            wanted = f": {expected}" if expected is not None else ""
            return f"PASS: {variable}={value} ({operator}{wanted})"
        case _:
            return "PASS: condition met"


def skipped_summary(condition: Json) -> str:
    """Return the line of a decision trace for a condition that did not hold; it never contains values."""
    match _shape(condition):
        case _Compound(combinator):
            return f"SKIP: {combinator}-condition not met"
        case _Comparison(variable, operator, _):
            return f"SKIP: {variable} ({operator})"
        case _:
            return "SKIP: condition not met"


class _Compound(Struct, frozen=True):
    combinator: str


class _Comparison(Struct, frozen=True):
    variable: str
    operator: str
    expected: str | None


def _shape(condition: object) -> _Compound | _Comparison | None:
    """A condition as a trace names it; combinators are named first, also beside a variable."""
    if not isinstance(condition, dict):
        return None
    for combinator in _COMBINATORS:
        if combinator in condition:
            return _Compound(combinator)
    variable = js.text(condition.get("var", ""))
    if not variable:
        return None
    for operator in _COMPARISONS:
        if operator in condition:
            return _Comparison(variable, operator, _expected_text(operator, condition[operator]))
    return _Comparison(variable, "condition", None)


def _expected_text(operator: str, expected: object) -> str:
    if operator != "in":
        return js.text(expected)
    return canonical_bytes(expected).decode()
