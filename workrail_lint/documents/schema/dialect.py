"""The part of JSON Schema draft-07 that our schemas use: keywords, patterns, equality.

Draft-07, because every editor supports all of it, and later drafts add nothing that we need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from workrail_lint.base import js

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


def plain_text(pattern: str) -> Callable[[str], bool]:
    """A quick test that accepts nearly all values that match the commonest patterns, ids and versions."""
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
    """A word, or two with a dot between them, that begin with a letter."""
    return all(len(part) > 1 and part[0].isalpha() and _is_plain_word(part) for part in text.split(".", 1))


def _is_plain_version(text: str) -> bool:
    """Three numbers, without a suffix."""
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
    """The words that a member of an object must be, when a schema asks nothing else."""
    if schema.keys() != {"type", "required", "properties"} or schema["type"] != "object":
        return None
    members = schema["properties"]
    if members.keys() != {name} or members[name].keys() not in ({"enum"}, {"const"}):
        return None
    tags = members[name].get("enum", (members[name].get("const"),))
    return tuple(tags) if all(type(tag) is str for tag in tags) else None


def summary(schema: Schema | bool) -> object:
    """An alternative in a word: the member it asks for, the definition or the type it names."""
    if isinstance(schema, bool):
        return schema
    match schema:
        case {"required": [name], **rest} if not rest:
            return name
        case {"$ref": target}:
            return str(target).rpartition("/")[2]
    return schema.get("type", schema.get("const", "any"))
