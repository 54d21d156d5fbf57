"""What the engine makes of a comparison: its operators, and the lenient equality of values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from workrail_lint.base import js

LOGIC = ("and", "or", "not")
# The first of these beside `var` decides; the others are not looked at.
COMPARISONS = ("equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "startsWith", "endsWith", "matches", "in")
_TRUE_WORDS = ("true", "1", "yes")
_FALSE_WORDS = ("false", "0", "no")


def lenient_equal(a: object, b: object) -> bool:
    """The equality of conditions; None stands for a missing value too."""
    if a is None or b is None:
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return normal_text(a) == normal_text(b)
    if isinstance(b, str):
        a, b = b, a
    if isinstance(a, str):
        if isinstance(b, bool):
            return normal_text(a) in (_TRUE_WORDS if b else _FALSE_WORDS)
        if js.is_number(b):
            return js.to_number(a) == js.to_number(b)
    return js.strict_equal(a, b)


@lru_cache(maxsize=2048)
def normal_text(text: str) -> str:
    """What is left of a text when a condition compares it: case and surrounding space do not count."""
    return js.lower(js.trim(text))


def comparisons(condition: dict[str, Any]) -> list[str]:
    """The comparisons a condition names, the one that decides first."""
    return [name for name in COMPARISONS if name in condition]
