"""Checks a JSON value against the schema subset that catalogs use.

The result is plain data: a violation has the place, the keyword, the expected and the actual value. Its readers write
the message: the issues of a contract pack, which agents read, and the findings about a catalog file differ.

The subset is JSON Schema draft-07's `type const enum properties required additionalProperties items
minItems maxItems minLength maxLength pattern minimum maximum oneOf`, plus `x-objectMode` (what unknown
members of an object mean) and `x-lengthUnit` (how the length of the strings from there on down is measured).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.documents.schema.dialect import python_pattern

Schema = dict[str, Any]
Path = tuple[str | int, ...]
Matcher = Callable[[str, str], bool]

OBJECT_MODES = ("strict", "strip", "open")
LENGTH_UNITS = ("u16",)
TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")


class Violation(NamedTuple):
    """One broken keyword: where, which, the schema that holds it, and the value that broke it.

    `required` has the path and the schema of the missing member; `additionalProperties` has the path of the object,
    and its `actual` is the list of unknown names.
    """

    path: Path
    keyword: str
    schema: Schema
    actual: Any


def violations(schema: Schema, value: object, matches: Matcher | None = None) -> list[Violation]:
    """Everything in `value` that breaks `schema`: declared members in declared order, unknown ones last."""
    walk = _Walk(matches or search)
    walk.check(schema, value, (), u16=False)
    return walk.found


def has_type(name: str, value: object) -> bool:
    """Whether a value is of a JSON Schema type; an integer is a number without a fraction, `1.0` too."""
    if name != "integer":
        return js.type_name(value) == name
    return type(value) is int or (isinstance(value, float) and value.is_integer())


def search(pattern: str, text: str) -> bool:
    """ECMAScript `RegExp.prototype.test`, without a time limit, so only for our own patterns."""
    return _compiled(pattern).search(text) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(python_pattern(pattern), re.ASCII)


def tag_of(alternatives: list[Schema]) -> str | None:
    """The member whose constant distinguishes the alternatives of a union, if there is one."""
    first = alternatives[0].get("properties") if alternatives else None
    for name in first or ():
        tags = [_tag(alternative, name) for alternative in alternatives]
        if None not in tags and len(set(tags)) == len(tags):
            return str(name)
    return None


def _tag(alternative: Schema, name: str) -> str | None:
    member = alternative.get("properties", {}).get(name, {})
    tag = member.get("const")
    return tag if isinstance(tag, str) and name in alternative.get("required", ()) else None


def _by_type(alternatives: list[Schema], value: object) -> Schema | None:
    """The one alternative of the value's type, if the alternatives differ in type."""
    types = [alternative.get("type") for alternative in alternatives]
    if None in types or len(set(types)) < len(types) or {"integer", "number"} <= set(types):
        return None
    fitting = [a for a, name in zip(alternatives, types, strict=True) if has_type(str(name), value)]
    return fitting[0] if fitting else None


def is_closed(schema: Schema) -> bool:
    """Whether an object may have only declared members."""
    return schema.get("x-objectMode") == "strict" or schema.get("additionalProperties") is False


class _Walk:
    """Schemas are finite and hold no references, so the walk is no deeper than the schema itself."""

    __slots__ = ("found", "matches")

    def __init__(self, matches: Matcher) -> None:
        self.found: list[Violation] = []
        self.matches = matches

    def check(self, schema: Schema, value: object, path: Path, u16: bool) -> None:
        u16 = u16 or schema.get("x-lengthUnit") == "u16"
        # A value outside its constant, set or type is one violation, not several.
        if "const" in schema and not js.deep_equal(schema["const"], value):
            self.report(path, "const", schema, value)
        elif "enum" in schema and not any(js.deep_equal(member, value) for member in schema["enum"]):
            self.report(path, "enum", schema, value)
        elif "type" in schema and not has_type(schema["type"], value):
            self.report(path, "type", schema, value)
        else:
            self.content(schema, value, path, u16)

    def content(self, schema: Schema, value: object, path: Path, u16: bool) -> None:
        if "oneOf" in schema:
            self.one_of(schema, value, path, u16)
        if isinstance(value, str):
            self.string(schema, value, path, u16)
        elif isinstance(value, dict):
            self.object(schema, value, path, u16)
        elif isinstance(value, list):
            self.array(schema, value, path, u16)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self.number(schema, value, path)

    def report(self, path: Path, keyword: str, schema: Schema, actual: Any) -> None:
        self.found.append(Violation(path, keyword, schema, actual))

    def one_of(self, schema: Schema, value: object, path: Path, u16: bool) -> None:
        alternatives: list[Schema] = schema["oneOf"]
        tag = tag_of(alternatives)
        if tag is None:
            chosen = _by_type(alternatives, value)
            if chosen is not None:
                self.check(chosen, value, path, u16)
            elif sum(self.fits(alternative, value, u16) for alternative in alternatives) != 1:
                self.report(path, "oneOf", schema, value)
            return
        if not isinstance(value, dict):
            self.report(path, "type", {"type": "object"}, value)
            return
        tags = [alternative["properties"][tag]["const"] for alternative in alternatives]
        if tag not in value:
            self.report((*path, tag), "required", {"enum": tags}, None)
        elif value[tag] not in tags:
            self.report((*path, tag), "enum", {"enum": tags}, value[tag])
        else:
            self.check(alternatives[tags.index(value[tag])], value, path, u16)

    def fits(self, schema: Schema, value: object, u16: bool) -> bool:
        walk = _Walk(self.matches)
        walk.check(schema, value, (), u16)
        return not walk.found

    def string(self, schema: Schema, value: str, path: Path, u16: bool) -> None:
        if "minLength" in schema or "maxLength" in schema:
            length = js.u16_length(value) if u16 else len(value)
            if length < schema.get("minLength", 0):
                self.report(path, "minLength", schema, value)
            if length > schema.get("maxLength", length):
                self.report(path, "maxLength", schema, value)
        if "pattern" in schema and not self.matches(schema["pattern"], value):
            self.report(path, "pattern", schema, value)

    def number(self, schema: Schema, value: int | float, path: Path) -> None:
        if "minimum" in schema and not value >= schema["minimum"]:
            self.report(path, "minimum", schema, value)
        if "maximum" in schema and not value <= schema["maximum"]:
            self.report(path, "maximum", schema, value)

    def array(self, schema: Schema, value: list[object], path: Path, u16: bool) -> None:
        if len(value) < schema.get("minItems", 0):
            self.report(path, "minItems", schema, value)
        if len(value) > schema.get("maxItems", len(value)):
            self.report(path, "maxItems", schema, value)
        items = schema.get("items")
        if items:
            for index, item in enumerate(value):
                self.check(items, item, (*path, index), u16)

    def object(self, schema: Schema, value: dict[str, object], path: Path, u16: bool) -> None:
        declared: dict[str, Schema] = schema.get("properties", {})
        required = schema.get("required", ())
        for name, member in declared.items():
            if name in value:
                self.check(member, value[name], (*path, name), u16)
            elif name in required:
                self.report((*path, name), "required", member, None)
        for name in required:
            if name not in declared and name not in value:
                self.report((*path, name), "required", {}, None)
        others = [name for name in js.keys(value) if name not in declared] if value.keys() - declared else []
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict):
            for name in others:
                self.check(additional, value[name], (*path, name), u16)
        elif others and is_closed(schema):
            self.report(path, "additionalProperties", schema, others)
