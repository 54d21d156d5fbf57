"""The smallest value that fits a JSON Schema: required members only, as few elements and characters as allowed.

Written for the schemas inside an IR: those of contract packs and those that authors put into criteria. Where
a schema leaves alternatives, each is tried until one fits; the caller brings the check.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, TypeAlias

from workrail_lint.base import js
from workrail_lint.base.ecma_regex import compile_pattern
from workrail_lint.base.js import Json
from workrail_lint.base.pattern_texts import matching_texts
from workrail_lint.base.result import Ok
from workrail_lint.documents.pointer import resolve

Schema: TypeAlias = "dict[str, Any] | bool"
Fits: TypeAlias = Callable[[dict[str, Any], Json], bool]

_MAX_DEPTH = 40
_MAX_TRIES = 200
_SECONDS = 0.5
_TYPES = ("string", "object", "array", "integer", "number", "boolean", "null")
_OF_TYPE = {
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
        *("dependencies", "dependentRequired"),
    ),
    "array": ("items", "minItems", "contains"),
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
_NAMED = ("definitions", "$defs")


def smallest(schema: dict[str, Any], fits: Fits, name: str = "text") -> Json | None:
    """The first candidate that fits; None when none does. `name` is what a free text is made of."""
    return _ValueBuilder(schema, fits).first(schema, name, 0)


class _ValueBuilder:
    """Makes values for one schema and the schemas inside it."""

    def __init__(self, root: dict[str, Any], fits: Fits) -> None:
        self._root = root
        self._fits = fits
        self._shared = {word: root[word] for word in _NAMED if word in root}

    def first(self, schema: Schema, name: str, depth: int) -> Json | None:
        return next(self._fitting(schema, name, depth), None)

    def _fitting(self, schema: Schema, name: str, depth: int) -> Iterator[Json]:
        if isinstance(schema, bool):
            yield from (name,) if schema else ()
            return
        judged = {**self._shared, **schema}
        for value in islice(self._candidates(schema, name, depth), _MAX_TRIES):
            if self._fits(judged, value):
                yield value

    def _candidates(self, schema: dict[str, Any], name: str, depth: int) -> Iterator[Json]:
        if depth > _MAX_DEPTH:
            return
        for flat in self._flat(schema, depth):
            if "const" in flat:
                yield flat["const"]
            elif "enum" in flat:
                yield from flat["enum"]
            else:
                for kind in _kinds(flat):
                    yield from self._of_kind(kind, flat, name, depth)

    def _flat(self, schema: dict[str, Any], depth: int) -> Iterator[dict[str, Any]]:
        """The schema without references and combinations, once for each way to choose among alternatives."""
        if depth > _MAX_DEPTH:
            return
        if isinstance(schema.get("$ref"), str):
            target = self._target(schema["$ref"])
            if target is not None:
                yield from self._flat(target, depth + 1)
            return
        for word in ("allOf", "anyOf", "oneOf", "if"):
            if word in schema:
                rest = {name: value for name, value in schema.items() if name not in (word, "then", "else")}
                for part in _parts(word, schema):
                    yield from self._flat(_merged(rest, part), depth + 1)
                return
        yield schema

    def _target(self, reference: str) -> dict[str, Any] | None:
        try:
            target = resolve(self._root, reference.removeprefix("#"))
        except (KeyError, ValueError):
            return None
        return target if isinstance(target, dict) else None

    def _of_kind(self, kind: str, schema: dict[str, Any], name: str, depth: int) -> Iterator[Json]:
        match kind:
            case "string":
                yield from _texts(schema, name)
            case "object":
                yield from self._objects(schema, depth)
            case "array":
                yield from self._arrays(schema, name, depth)
            case "integer" | "number":
                yield from _numbers(schema, kind == "integer")
            case "boolean":
                yield from (False, True)
            case _:
                yield None

    def _objects(self, schema: dict[str, Any], depth: int) -> Iterator[Json]:
        members: dict[str, Schema] = schema.get("properties", {})
        wanted = list(schema.get("required", ()))
        missing = schema.get("minProperties", 0) - len(wanted)
        wanted += [name for name in members if name not in wanted][: max(0, missing)]
        made: dict[str, Json] = {}
        while len(wanted) < schema.get("minProperties", 0):
            wanted.append(self._free_name(schema, wanted, depth))
        for name in wanted:  # which grows by what a member brings along
            wanted += [other for other in _dependent_members(schema, name) if other not in wanted]
            inner = _member(schema, name)
            value = self.first(inner, name, depth + 1)
            if value is None and not self._takes_null(inner):
                return
            made[name] = value
        yield made

    def _free_name(self, schema: dict[str, Any], taken: list[str], depth: int) -> str:
        """A name for one member more."""
        plain = f"member{len(taken) + 1}"
        patterned = (text for pattern in schema.get("patternProperties", {}) for text in matching_texts(pattern, "u"))
        names = schema.get("propertyNames", True)
        fitting = self._fitting(names, plain, depth + 1) if isinstance(names, dict) else iter(())
        return next((name for name in chain(fitting, patterned) if isinstance(name, str) and name not in taken), plain)

    def _arrays(self, schema: dict[str, Any], name: str, depth: int) -> Iterator[Json]:
        count = schema.get("minItems", 0)
        items = schema.get("items", True)
        if isinstance(items, list):
            more = [schema.get("additionalItems", True)] * (count - len(items))
            yield [self.first(inner, name, depth + 1) for inner in (*items, *more)]
            return
        inner = schema["contains"] if isinstance(schema.get("contains"), dict) else items
        count = max(count, 1) if "contains" in schema else count
        if not count:
            yield []
            return
        element = self.first(inner, name, depth + 1)
        if element is None and not self._takes_null(inner):
            return
        yield [element] * count
        if count > 1:
            # A list that must not repeat itself needs elements that differ.
            different = dict.fromkeys(map(json.dumps, self._fitting(inner, name, depth + 1)))
            yield [json.loads(text) for text in islice(different, count)]
            yield [_varied(element, number) for number in range(count)]

    def _takes_null(self, schema: Schema) -> bool:
        return schema is True or (isinstance(schema, dict) and self._fits({**self._shared, **schema}, None))


def _member(schema: dict[str, Any], name: str) -> Schema:
    """What the member with a name has to be."""
    members: dict[str, Schema] = schema.get("properties", {})
    if name in members:
        return members[name]
    for pattern, inner in schema.get("patternProperties", {}).items():
        compiled = compile_pattern(pattern, "u")
        if isinstance(compiled, Ok) and compiled.value.search(name, _SECONDS) == Ok(True):
            return inner  # type: ignore[no-any-return]  # a schema, as its author wrote it
    others = schema.get("additionalProperties", True)
    return others if isinstance(others, dict) else True


def _dependent_members(schema: dict[str, Any], name: str) -> list[str]:
    """The members that have to be there because of another."""
    found = [schema.get(word, {}).get(name) for word in ("dependencies", "dependentRequired")]
    return [other for names in found if isinstance(names, list) for other in names]


def _parts(word: str, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The ways to satisfy one combination, each as a schema to merge in."""
    parts = schema[word]
    if word == "if":
        # The condition met, with what follows from it; then not met, as far as that can be left to chance.
        if isinstance(parts, dict):
            met = schema.get("then", {})
            yield _merged(parts, met if isinstance(met, dict) else {})
        unmet = schema.get("else", {})
        yield unmet if isinstance(unmet, dict) else {}
    elif word == "allOf":
        whole: dict[str, Any] = {}
        for part in parts:
            whole = _merged(whole, part if isinstance(part, dict) else {})
        yield whole
    else:
        yield from (part for part in parts if isinstance(part, dict))


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Two schemas that must both hold, as one; bounds are left to whoever judges the result."""
    result = {**one, **other}
    for word in ("allOf", "anyOf", "oneOf", "if"):
        if word in one and word in other:
            # Both combinations count, and only `allOf` can hold two of a kind.
            result.pop(word)
            result["allOf"] = [*result.get("allOf", ()), {word: one[word]}, {word: other[word]}]
    if "required" in one and "required" in other:
        result["required"] = list(dict.fromkeys((*one["required"], *other["required"])))
    if isinstance(one.get("properties"), dict) and isinstance(other.get("properties"), dict):
        both = dict(one["properties"])
        for name, inner in other["properties"].items():
            known = both.get(name)
            both[name] = _merged(known, inner) if isinstance(known, dict) and isinstance(inner, dict) else inner
        result["properties"] = both
    return result


def _kinds(schema: dict[str, Any]) -> list[str]:
    """The types a value can have, the likeliest first."""
    named = schema.get("type")
    if named is not None:
        return list(named) if isinstance(named, list) else [named]
    hinted = [kind for kind, words in _OF_TYPE.items() if any(word in schema for word in words)]
    return hinted + [kind for kind in _TYPES if kind not in hinted]


def _texts(schema: dict[str, Any], name: str) -> Iterator[str]:
    low = schema.get("minLength", 0)
    if isinstance(schema.get("pattern"), str):
        for text in matching_texts(schema["pattern"], "u"):
            yield text
            yield padded(text, low)
    yield "" if low == 0 else padded(name, low)
    yield padded(name, low)
    yield "x" * low


def padded(text: str, low: int) -> str:
    """The text, made as long as it has to be: in whole words, cut where it is long enough."""
    missing = low - js.u16_length(text)
    if missing <= 0:
        return text
    # Plain characters only, so that each of them counts as one.
    filler = f" {(text.strip() if text.isascii() else '') or 'text'}"
    return text + (filler * (missing // len(filler) + 1))[:missing]


def _numbers(schema: dict[str, Any], whole: bool) -> Iterator[int | float]:
    bounds = [schema.get(word) for word in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")]
    step = schema.get("multipleOf")
    nearby: list[float] = [0, 1, *([step, -step] if step else ())]
    for bound in bounds:
        if isinstance(bound, bool) or not isinstance(bound, int | float):
            continue
        nearby += [bound, bound + 1, bound - 1]
        nearby += [] if whole else [bound + 0.5, bound - 0.5]
        nearby += [bound // step * step, (bound // step + 1) * step] if step else []
    for number in nearby:
        yield int(number) if float(number).is_integer() else number


def _varied(element: Json, number: int) -> Json:
    if number == 0:
        return element
    if isinstance(element, str):
        return f"{element}{number}"
    if isinstance(element, int | float) and not isinstance(element, bool):
        return element + number
    if isinstance(element, dict):
        return {name: _varied(value, number) for name, value in element.items()}
    return element
