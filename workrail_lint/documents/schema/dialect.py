"""The part of JSON Schema draft-07 that our schemas use: keywords, patterns, equality.

Draft-07, because every editor supports all of it, and later drafts add nothing that we need.
"""

from __future__ import annotations

from collections.abc import Sequence

from workrail_lint.base import js

METASCHEMA = "http://json-schema.org/draft-07/schema#"

ANNOTATIONS = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "definitions"}
)
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
BY_TYPE = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems", "maxItems", "uniqueItems"}),
    "string": frozenset({"minLength", "maxLength", "pattern"}),
    "number": _BOUNDS,
    "integer": _BOUNDS,
    "boolean": frozenset(),
    "null": frozenset(),
}
GENERAL = frozenset(
    {"enum", "const", "propertyNames", "minProperties", "maxProperties", "allOf", "anyOf", "oneOf", "not", "if"}
)
KEYWORDS = ANNOTATIONS.union(GENERAL, *BY_TYPE.values(), ("$ref", "type", "then", "else"))

_ESCAPED_IN_CLASS = frozenset("[&~|")  # Python reserves these for set operations
_ANY_BUT_LINE_ENDS = r"[^\n\r\u2028\u2029]"
_NO_EQUIVALENT = frozenset({"", "p", "P", "k", "c"})


def python_pattern(pattern: str) -> str:
    """An ECMAScript pattern (`u` flag) as one for Python's `re` with its ASCII flag.

    Raises ValueError for a construct that has no equivalent in Python.
    """
    out: list[str] = []
    in_class = False
    index = 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "\\":
            out.append(_escape(pattern, index, in_class=in_class))
            index += 1
        elif in_class:
            in_class = char != "]"
            out.append(f"\\{char}" if char in _ESCAPED_IN_CLASS else char)
        elif char == "[":
            in_class = True
            if pattern.startswith(("]", "^]"), index):
                raise ValueError(f"an empty class in {pattern!r}")
            out.append(char)
        elif char == "(" and pattern.startswith("?<", index) and not pattern.startswith(("?<=", "?<!"), index):
            out.append("(?P")
            index += 1
        else:
            out.append({"$": r"\Z", ".": _ANY_BUT_LINE_ENDS}.get(char, char))
    return "".join(out)


def _escape(pattern: str, index: int, *, in_class: bool) -> str:
    char = pattern[index : index + 1]
    if char == "s":
        return js.WHITESPACE_CLASS if in_class else f"[{js.WHITESPACE_CLASS}]"
    if char == "S" and not in_class:
        return f"[^{js.WHITESPACE_CLASS}]"
    if char == "S" or char in _NO_EQUIVALENT or pattern.startswith("u{", index):
        raise ValueError(f"\\{char} in {pattern!r} has no equivalent")
    return "/" if char == "/" else f"\\{char}"


def duplicates(items: Sequence[object]) -> list[tuple[int, int]]:
    """The later and the first index of every element that repeats an earlier one, by deep equality."""
    try:
        # Python's equality is the coarser one (True == 1), so what it finds distinct is distinct; and objects are that
        # differ in their first member, which mostly is an id.
        first = items[0]
        name = next(iter(first), None) if isinstance(first, dict) else None
        if len(set(items if name is None else [item[name] for item in items])) == len(items):  # type: ignore[index]
            return []
    except (TypeError, KeyError, IndexError):
        pass  # containers can't be hashed as they are
    seen: dict[tuple[object, ...], int] = {}
    pairs = []
    for index, item in enumerate(items):
        first = seen.setdefault(_fingerprint(item), index)
        if first != index:
            pairs.append((index, first))
    return pairs


_OBJECT, _ARRAY, _TRUE, _FALSE = object(), object(), object(), object()


def _fingerprint(root: object) -> tuple[object, ...]:
    """A flat, hashable spelling of a value; equal exactly when the values are deeply equal."""
    out: list[object] = []
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            names = sorted(value, reverse=True)
            out += (_OBJECT, len(names), *names)
            stack += [value[name] for name in names]
        elif isinstance(value, list):
            out += (_ARRAY, len(value))
            stack += value
        elif isinstance(value, bool):
            out.append(_TRUE if value else _FALSE)
        else:
            out.append(value)
    return tuple(out)
