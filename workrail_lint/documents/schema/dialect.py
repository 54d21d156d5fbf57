"""The part of JSON Schema draft-07 that our schemas use: keywords, patterns, equality, and how each is checked.

Draft-07, because every editor supports all of it, and later drafts add nothing that we need.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from workrail_lint.base import js
from workrail_lint.documents import pointer
from workrail_lint.documents.schema import dialect

Schema: TypeAlias = "dict[str, Any]"

METASCHEMA = "http://json-schema.org/draft-07/schema#"

ANNOTATIONS = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "definitions"}
)
# What contract packs add: whether unknown members are refused, and how lengths are counted from there on down.
OBJECT_MODES = ("strict", "strip", "open")
LENGTH_UNITS = ("u16",)
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
BY_TYPE = {
    "object": frozenset({"properties", "required", "additionalProperties", "x-objectMode"}),
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
KEYWORDS = ANNOTATIONS.union(GENERAL, *BY_TYPE.values(), ("$ref", "type", "then", "else", "x-lengthUnit"))

_ESCAPED_IN_CLASS = frozenset("[&~|")  # Python reserves these for set operations
_ANY_BUT_LINE_ENDS = r"[^\n\r\u2028\u2029]"
_NO_EQUIVALENT = frozenset({"", "p", "P", "k", "c"})


def python_pattern(pattern: str) -> str:
    """Return an ECMAScript pattern (`u` flag) as one for Python's `re` with its ASCII flag.

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
    """Return the later and the first index of every element that repeats an earlier one, by deep equality."""
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
    """Return a flat, hashable spelling of a value; equal exactly when the values are deeply equal."""
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


def plain_text(pattern: str) -> Callable[[str], bool]:
    """Return a quick test that accepts nearly all values that match the commonest patterns, ids and versions."""
    if pattern in ("^[a-z0-9-]+$", "^[a-z0-9_-]+$"):
        return _is_plain_word
    if pattern == rf"^([a-z0-9_-]+|{_NAME}\.{_NAME})$":
        return _is_plain_id
    if pattern.startswith(rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-") and pattern.endswith(")?$"):
        return _is_plain_version
    return lambda text: False


_WORD_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789-"
_NAME, _NUMBER = "[a-z][a-z0-9_-]+", r"(0|[1-9]\d*)"


def _is_plain_word(text: str) -> bool:
    return text != "" and not text.strip(_WORD_CHARACTERS)


def _is_plain_id(text: str) -> bool:
    """Return whether a string is a word, or two with a dot between them, that begin with a letter."""
    return all(len(part) > 1 and part[0].isalpha() and _is_plain_word(part) for part in text.split(".", 1))


def _is_plain_version(text: str) -> bool:
    """Return whether a string is three numbers, without a suffix."""
    numbers = text.split(".") if text.isascii() else ()
    return len(numbers) == 3 and all(each.isdecimal() and (each[0] != "0" or each == "0") for each in numbers)


# ------------------------------------------------------------------------------------------ alternatives


def tag_of(schemas: Sequence[Any]) -> str | None:
    """Return the member whose required constant tells the alternatives of a union apart, if there is one."""
    if (
        not schemas
        or not all(type(each) is dict for each in schemas)
        or any(each.get("type") != schemas[0].get("type") for each in schemas)
    ):
        return None
    if schemas[0].get("type") != "object" and (len(schemas) < 2 or "type" in schemas[0]):
        return None  # alternatives that accept other values than objects
    for name in schemas[0].get("properties", ()):
        tags = [_tag(each, name) for each in schemas]
        if None not in tags and len(set(tags)) == len(tags):
            return str(name)
    return None


def _tag(schema: Schema, name: str) -> str | None:
    member = schema.get("properties", {}).get(name, {})
    tag = member.get("const") if type(member) is dict else None
    return tag if type(tag) is str and name in schema.get("required", ()) else None


def required_tags(schema: Schema, name: str) -> tuple[str, ...] | None:
    """Return the words that a member of an object must be, when a schema asks nothing else."""
    if schema.keys() != {"type", "required", "properties"} or schema["type"] != "object":
        return None
    members = schema["properties"]
    if members.keys() != {name} or members[name].keys() not in ({"enum"}, {"const"}):
        return None
    tags = members[name].get("enum", (members[name].get("const"),))
    return tuple(tags) if all(type(tag) is str for tag in tags) else None


def summary(schema: Schema | bool) -> object:
    """Return an alternative in a word: the member it asks for, the definition or the type it names."""
    if isinstance(schema, bool):
        return schema
    match schema:
        case {"required": [name], **rest} if not rest:
            return name
        case {"$ref": target}:
            return str(target).rpartition("/")[2]
    return schema.get("type", schema.get("const", "any"))


# ------------------------------------------------- checks: closures that return None for a valid value


class Part:
    """A schema object, the definition it belongs to, and how the lengths of strings are counted in it.

    `owner` is the reference to that definition, and `shape` the name that violations have.
    """

    __slots__ = ("owner", "schema", "shape", "u16")

    def __init__(self, schema: Schema, shape: str, u16: bool, owner: str) -> None:
        self.schema = schema
        self.shape = shape
        self.owner = owner
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
    """Return all of several checks. A value of the wrong type has no other faults worth reporting."""
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
    """Return a string out of a closed set, which is what most closed sets are."""
    schema = part.schema
    keyword, expected = ("enum", tuple(schema["enum"])) if "enum" in schema else ("const", schema["const"])
    allowed = expected if keyword == "enum" else (expected,)

    def check(value: Any) -> Found:
        if type(value) is not str:
            return [Entry("type", ("string",), part, value)]
        return None if value in allowed else [Entry(keyword, expected, part, value)]

    return check


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}


def number(part: Part, other: Check, *, whole: bool, finite: bool) -> Check:
    schema = part.schema
    bounds = [(keyword, schema[keyword], holds) for keyword, holds in _COMPARISONS.items() if keyword in schema]

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
