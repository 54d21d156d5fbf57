"""Comparisons as the engine evaluates them: its operators, and the lenient equality of values."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.result import Err

LOGIC = ("and", "or", "not")
# The first of these beside `var` decides; the others are not looked at.
COMPARISONS = ("equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "startsWith", "endsWith", "matches", "in")
TRUE_WORDS = ("true", "1", "yes")
FALSE_WORDS = ("false", "0", "no")
_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
BOUNDS = frozenset(_BOUNDS)


def lenient_equal(a: object, b: object) -> bool:
    """Return whether a condition takes two values for equal; None stands for a missing value too."""
    if a is None or b is None:
        return a is b
    match a, b:
        case str(), str():
            return normal_text(a) == normal_text(b)
        case (str() as text, bool() as flag) | (bool() as flag, str() as text):
            return normal_text(text) in (TRUE_WORDS if flag else FALSE_WORDS)
        case (str() as text, int() | float() as number) | (int() | float() as number, str() as text):
            return js.to_number(text) == js.to_number(number)
        case _:
            return js.strict_equal(a, b)


@lru_cache(maxsize=2048)
def normal_text(text: str) -> str:
    """Return what is left of a text when a condition compares it: case and surrounding space do not count."""
    return js.lower(js.trim(text))


def is_structure(operand: object) -> bool:
    """Return whether a condition compares with an object or a list, which nothing equals."""
    return isinstance(operand, (dict, list))


def comparisons(condition: dict[str, Any]) -> list[str]:
    """Return the comparisons a condition names, the one that decides first."""
    return [name for name in COMPARISONS if name in condition]


def compare(name: str, value: object, operand: Any) -> bool | None:
    """Return what the engine answers to one comparison; None where it has no answer, and the whole condition is false.

    Without a name the value is asked for its truth. A missing value is None.
    """
    match name:
        case "equals":
            return lenient_equal(value, operand)
        case "not_equals":
            return not lenient_equal(value, operand)
        case "":
            return js.truthy(value)
        case "in":
            return any(lenient_equal(value, item) for item in operand) if isinstance(operand, list) else None
        case "contains":
            return _needle(operand) in _haystack(value)
        case "startsWith":
            return _haystack(value).startswith(_needle(operand))
        case "endsWith":
            return _haystack(value).endswith(_needle(operand))
        case "matches":
            return _matches(value, operand)
        case bound:
            # Text is beyond no bound; a bound that is no number holds for nothing, and neither does NaN.
            return js.is_number(value) and _BOUNDS[bound](js.to_number(value), js.to_number(operand))


def _haystack(value: object) -> str:
    return "" if value is None else normal_text(js.text(value))


_needle = _haystack


def _matches(value: object, pattern: object) -> bool | None:
    from workrail_lint.base.ecma_regex import DEFAULT_TIMEOUT, compile_pattern  # few conditions have a pattern

    compiled = compile_pattern(js.text(pattern), "i")
    if isinstance(compiled, Err):
        return False
    match = compiled.value.search(js.trim("" if value is None else js.text(value)), DEFAULT_TIMEOUT)
    return None if isinstance(match, Err) else match.value
