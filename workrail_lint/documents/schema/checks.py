"""The checks of single keywords, and what they report: closures that return None for a valid value."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from workrail_lint.base import js
from workrail_lint.documents import pointer
from workrail_lint.documents.schema import dialect
from workrail_lint.documents.schema.dialect import Schema


class Part:
    """A schema object, the definition it belongs to, and how the lengths of strings are counted in it."""

    __slots__ = ("schema", "shape", "u16")

    def __init__(self, schema: Schema, shape: str, u16: bool) -> None:
        self.schema = schema
        self.shape = shape
        self.u16 = u16 or schema.get("x-lengthUnit") == "u16"


class Entry:
    """A violation or a pending check, with the path to it from where the check began, deepest first."""

    __slots__ = ("check", "expected", "keyword", "part", "path", "value")

    def __init__(
        self, keyword: str, expected: object, part: Part | None, value: object, check: Check | None = None
    ) -> None:
        self.path: list[pointer.Token] = []
        self.keyword = keyword
        self.expected = expected
        self.part = part
        self.value = value
        self.check = check


Found: TypeAlias = "list[Entry] | None"
Check: TypeAlias = Callable[[Any], Found]
Test: TypeAlias = Callable[[Any], bool]


def joined(entries: Found, inner: list[Entry], token: pointer.Token) -> list[Entry]:
    """Add the violations of one level down, with that level in their path."""
    for entry in inner:
        entry.path.append(token)
    if entries is None:
        return inner
    entries += inner
    return entries


def accept(value: object) -> Found:
    return None


def refuse(types: tuple[str, ...], part: Part) -> Check:
    return lambda value: [Entry("type", types, part, value)]


def together(checks: list[Check]) -> Check | None:
    """All of several checks. A value of the wrong type has no further faults worth naming."""
    if len(checks) < 2:
        return checks[0] if checks else None

    def check(value: Any) -> Found:
        entries: list[Entry] = []
        for part in checks:
            inner = part(value)
            if inner is not None:
                if inner[0].keyword == "type" and not inner[0].path:
                    return inner
                entries += inner
        return entries or None

    return check


def are_strings(values: list[Any], shortest: int, longest: int) -> bool:
    """Return whether all values are strings of these lengths."""
    if not _STRINGS.issuperset(map(type, values)):
        return False
    if longest == UNBOUNDED and shortest < 2:
        return not (shortest and "" in values)
    lengths = list(map(len, values)) or [shortest]
    return shortest <= min(lengths) and max(lengths) <= longest


def search(pattern: str) -> Test:
    """Return whether a pattern is found in a string; a pattern costs more to compile than a document to check."""
    search: Callable[[str], object] | None = None

    def test(text: str) -> bool:
        nonlocal search
        if search is None:
            search = re.compile(dialect.python_pattern(pattern), re.ASCII).search
        return search(text) is not None

    return test


UNBOUNDED = sys.maxsize
_STRINGS = frozenset((str,))


def word(part: Part) -> Check:
    """A string out of a closed set, which is what most closed sets are."""
    schema = part.schema
    keyword, expected = ("enum", tuple(schema["enum"])) if "enum" in schema else ("const", schema["const"])
    allowed = expected if keyword == "enum" else (expected,)

    def check(value: Any) -> Found:
        if type(value) is not str:
            return [Entry("type", ("string",), part, value)]
        return None if value in allowed else [Entry(keyword, expected, part, value)]

    return check


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}


def number(part: Part, other: Check, *, whole: bool, finite: bool) -> Check:
    schema = part.schema
    bounds = [(keyword, schema[keyword], holds) for keyword, holds in _BOUNDS.items() if keyword in schema]

    def check(value: Any) -> Found:
        kind = type(value)
        if kind is float:
            if not (value.is_integer() if whole else not finite or value - value == 0):  # infinity - infinity is NaN
                return other(value)
        elif kind is not int:
            return other(value)
        for keyword, bound, holds in bounds:
            if not holds(value, bound):
                return [Entry(keyword, bound, part, value)]
        return None

    return check


def one_of(keyword: str, expected: object, allowed: tuple[object, ...], part: Part) -> Check:
    def check(value: Any) -> Found:
        if any(js.deep_equal(value, member) for member in allowed):
            return None
        return [Entry(keyword, expected, part, value)]

    return check


def names(name_check: Check | None) -> Check | None:
    if name_check is None:
        return None

    def check(value: Any) -> Found:
        result: Found = None
        for name in value if type(value) is dict else ():
            inner = name_check(name)
            if inner is not None:
                result = joined(result, inner, name)
        return result

    return check


def size(keyword: str, holds: Callable[[int, int], bool], bound: int, part: Part) -> Check:
    def check(value: Any) -> Found:
        if type(value) is dict and not holds(len(value), bound):
            return [Entry(keyword, bound, part, value)]
        return None

    return check
