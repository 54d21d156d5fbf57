"""The smallest artifacts that a schema accepts, and the shortest notes that criteria accept or reject."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice, permutations, product
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, evaluate
from pytest_workrail.engine.core.criteria import evaluate_criteria
from workrail_lint.base import js
from workrail_lint.base.ecma_regex import compile_pattern, matching_texts
from workrail_lint.base.js import Json
from workrail_lint.base.result import Ok
from workrail_lint.documents.pointer import resolve

Schema: TypeAlias = "dict[str, Any] | bool"
Fits: TypeAlias = Callable[[dict[str, Any], Json], bool]

_MAX_DEPTH = 40
_MAX_VALUES = 200
_PATTERN_SECONDS = 0.5
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

_MAX_PLANS = 64
_MAX_NOTES = 2_000
_MAX_DOCUMENTS = 200
_CRITERIA_SECONDS = 2.0
# Notes that meet no criteria by accident: too short for a floor, and without any word.
_POOR = ("-", ".", "x", "no", "{}", "[]", "0")
# For criteria that will have no small letters, or no letters at all.
_PLAIN = ("X", "1", "-")


def smallest(schema: dict[str, Any], fits: Fits, name: str = "text") -> Json | None:
    """Return the first candidate that fits; None when none does. `name` is what a free text is made of."""
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
        for value in islice(self._candidates(schema, name, depth), _MAX_VALUES):
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
        """Yield the schema without references and combinations, once for each way to choose among alternatives."""
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
        value_of: dict[str, Json] = {}
        while len(wanted) < schema.get("minProperties", 0):
            wanted.append(self._free_name(schema, wanted, depth))
        for name in wanted:  # which grows by what a member brings along
            wanted += [other for other in _dependent_members(schema, name) if other not in wanted]
            inner = _member(schema, name)
            value = self.first(inner, name, depth + 1)
            if value is None and not self._takes_null(inner):
                return
            value_of[name] = value
        yield value_of

    def _free_name(self, schema: dict[str, Any], used: list[str], depth: int) -> str:
        """Return a name for one member more."""
        plain = f"member{len(used) + 1}"
        patterned = (text for pattern in schema.get("patternProperties", {}) for text in matching_texts(pattern, "u"))
        names = schema.get("propertyNames", True)
        fitting = self._fitting(names, plain, depth + 1) if isinstance(names, dict) else iter(())
        return next((name for name in chain(fitting, patterned) if isinstance(name, str) and name not in used), plain)

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
    """Return what the member with a name has to be."""
    members: dict[str, Schema] = schema.get("properties", {})
    if name in members:
        return members[name]
    for pattern, inner in schema.get("patternProperties", {}).items():
        compiled = compile_pattern(pattern, "u")
        if isinstance(compiled, Ok) and compiled.value.search(name, _PATTERN_SECONDS) == Ok(True):
            return inner  # type: ignore[no-any-return]  # a schema, as its author wrote it
    others = schema.get("additionalProperties", True)
    return others if isinstance(others, dict) else True


def _dependent_members(schema: dict[str, Any], name: str) -> list[str]:
    """Return the members that have to be there because of another."""
    dependents = [schema.get(word, {}).get(name) for word in ("dependencies", "dependentRequired")]
    return [other for names in dependents if isinstance(names, list) for other in names]


def _parts(word: str, schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the ways to satisfy one combination, each as a schema to merge in."""
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
    """Return the text, made as long as it has to be: in whole words, cut where it is long enough."""
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


class _Demand(NamedTuple):
    """A rule that has to hold, or must not."""

    rule: dict[str, Any]
    holds: bool


class _Bounds(Struct, frozen=True):
    """The lengths a text may have, in UTF-16 units."""

    low: int
    high: int | None


def fitting_notes(criteria: object, context: Context, words: str) -> str | None:
    """Notes that the criteria accept, made of these words where they leave the choice; None when no guess was right."""
    plans = islice(_plans(criteria, True, context), _MAX_PLANS)
    texts = (text for plan in plans for text in _note_texts(plan, words))
    return next((text for text in islice(texts, _MAX_NOTES) if _accepted(criteria, text, context)), None)


def failing_notes(criteria: object, context: Context) -> str | None:
    """Notes that the criteria refuse, although there are some; None when they accept whatever is tried."""
    plans = islice(_plans(criteria, False, context), _MAX_PLANS)
    texts = (*_POOR, *islice((text for plan in plans for text in _note_texts(plan, "no")), _MAX_NOTES))
    return next((text for text in texts if not js.is_blank(text) and _refused(criteria, text, context)), None)


def _accepted(criteria: object, text: str, context: Context) -> bool:
    validation = evaluate_criteria(criteria, text, context, _CRITERIA_SECONDS)
    return not js.is_blank(text) and isinstance(validation, Ok) and validation.value.valid


def _refused(criteria: object, text: str, context: Context) -> bool:
    validation = evaluate_criteria(criteria, text, context, _CRITERIA_SECONDS)
    return isinstance(validation, Ok) and not validation.value.valid


def _plans(node: object, holds: bool, context: Context) -> Iterator[list[_Demand]]:
    """Yield the ways to make criteria hold, or fail, each as a list of demands on single rules."""
    if isinstance(node, list):
        node = {"and": node}
    if not isinstance(node, dict) or not node:
        if holds:
            yield []
        return
    if "type" in node:
        applies = evaluate(node.get("condition"), context)
        if applies:
            yield [_Demand(node, holds)]
        elif holds:
            yield []
    elif "not" in node and "and" not in node and "or" not in node:
        yield from _plans(node["not"], not holds, context)
    else:
        name = "and" if "and" in node else "or"
        members = node.get(name)
        members = members if isinstance(members, list) else []
        if (name == "and") is holds:
            choices = [list(islice(_plans(member, holds, context), _MAX_PLANS)) for member in members]
            for chosen in product(*choices):
                yield [demand for plan in chosen for demand in plan]
        else:
            for member in members:
                yield from _plans(member, holds, context)


def _note_texts(plan: Sequence[_Demand], words: str) -> Iterator[str]:
    """Texts made of what a plan asks for: in this order, in that, padded at either end."""
    schemas = [demand.rule.get("schema") for demand in plan if demand.holds and demand.rule["type"] == "schema"]
    if schemas:
        yield from _documents_of_length(schemas, plan)
        return
    bodies = list(_bodies(plan, words))
    for bounds in _lengths(plan):
        for body in bodies:
            missing = bounds.low - js.u16_length(body)
            yield padded(body, bounds.low)
            if missing > 0:
                # Where the end has to stay as it is, the front can grow.
                yield padded("", missing)[:missing] + body
            if bounds.high is not None:
                yield js.u16_prefix(padded(body, bounds.low), bounds.high)
    for bounds in _lengths(plan):
        yield from _framed(plan, bounds.low)
        yield from (padded(body, bounds.low) for body in _PLAIN)


def _bodies(plan: Sequence[_Demand], words: str) -> Iterator[str]:
    """Yield the pieces a plan names, put together in every way that may matter."""
    for parts in _pieces(plan):
        if parts:
            for order in (parts, parts[::-1]):
                yield " ".join(order)
                yield "\n".join(order)
                yield "".join(order)
        yield from (f"{words}\n{' '.join(parts)}" if parts else words, "x", *parts)


def _framed(plan: Sequence[_Demand], low: int) -> Iterator[str]:
    """The pieces with each of them once at the front and once at the end, and what has to be filled up in between."""
    for parts in _pieces(plan):
        for head, foot in permutations(range(len(parts)), 2):
            inner = [part for number, part in enumerate(parts) if number not in (head, foot)]
            for gap in (" ", "\n"):
                text = gap.join((parts[head], *inner, parts[foot]))
                yield text
                missing = low - js.u16_length(text) - len(gap)
                if missing > 0:
                    yield gap.join((parts[head], padded("", missing), *inner, parts[foot]))


def _pieces(plan: Sequence[_Demand]) -> Iterator[list[str]]:
    """Yield what has to be found in a text, once for each way to meet the patterns."""
    contained = [
        rule["value"]
        for rule, holds in plan
        if holds and rule["type"] == "contains" and isinstance(rule.get("value"), str)
    ]
    pieces = [text for text in contained if not any(text in other for other in contained if other != text)]
    patterns = [
        matching_texts(js.text(rule["pattern"]), js.text(rule.get("flags", "")))
        for rule, holds in plan
        if holds and rule["type"] == "regex" and "pattern" in rule
    ]
    for combination in islice(product(*patterns), 32):
        yield list(dict.fromkeys((*pieces, *combination)))


def _documents_of_length(schemas: Sequence[object], plan: Sequence[_Demand]) -> Iterator[str]:
    """JSON texts that the schemas accept, made as long as they must be by white space, which means nothing there."""
    known = [schema for schema in schemas if isinstance(schema, dict)]
    documents = list(islice(_documents(known, list(_pieces(plan))), _MAX_DOCUMENTS)) if known else ["{}"]
    for bounds in _lengths(plan):
        for text in documents:
            yield text + " " * (bounds.low - js.u16_length(text))


def _documents(schemas: Sequence[dict[str, Any]], pieces: Sequence[list[str]]) -> Iterator[str]:
    """JSON texts with what has to be found in them: as a member more, or in the place of a text."""
    schema = schemas[0] if len(schemas) == 1 else {"allOf": list(schemas)}

    def fits(inner: dict[str, Any], value: Json) -> bool:
        rule = {"type": "schema", "schema": inner, "message": "fits"}
        return _accepted([rule], json.dumps(value), {})

    value = smallest(schema, fits)
    full = smallest({**schema, "required": list(members)}, fits) if (members := schema.get("properties")) else value
    for group in ([], *pieces):
        for each in (value, full) if not group else _grafted(full if full is not None else value, " ".join(group)):
            if each is value or fits(schema, each):
                yield json.dumps(each, ensure_ascii=False)
                yield json.dumps(each, ensure_ascii=False, separators=(",", ":"))


def _grafted(value: Json, text: str) -> Iterator[Json]:
    """Yield the value with the text somewhere in it, once for each place."""
    match value:
        case str():
            yield text
        case dict():
            yield {**value, "note": text}
            for name, inner in value.items():
                yield from ({**value, name: each} for each in _grafted(inner, text))
        case list():
            yield [*value, text]
            for index, inner in enumerate(value):
                yield from ([*value[:index], each, *value[index + 1 :]] for each in _grafted(inner, text))
        case _:
            return


def _lengths(plan: Sequence[_Demand]) -> Iterator[_Bounds]:
    """Yield what a plan says about length; a rule that must fail can fail at either end."""
    low, high = 0, None
    broken: list[_Bounds] = []
    for rule, holds in plan:
        if rule["type"] != "length":
            continue
        least, most = _whole(rule.get("min")), _whole(rule.get("max"))
        if holds:
            low = max(low, least or 0)
            high = most if high is None else min(high, most if most is not None else high)
        else:
            broken += [_Bounds(0, least - 1)] if least else []
            broken += [_Bounds(most + 1, None)] if most is not None else []
    if not broken:
        yield _Bounds(low, high)
    for bounds in broken:
        yield _Bounds(max(low, bounds.low), bounds.high if high is None else min(high, bounds.high or high))


def _whole(bound: object) -> int | None:
    number = js.to_number(bound) if bound is not None else float("nan")
    return -int(-number // 1) if number == number and abs(number) < js.MAX_SAFE_INTEGER else None
