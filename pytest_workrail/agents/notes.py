"""Notes that meet an author's criteria, as short as they can be, or break them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice, permutations, product
from typing import Any, NamedTuple

from pytest_workrail.agents.schema_values import padded, smallest
from pytest_workrail.engine.core.conditions import Context, evaluate
from pytest_workrail.engine.core.criteria import evaluate_criteria
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.pattern_texts import matching_texts
from workrail_lint.base.result import Ok

_MAX_PLANS = 64
_MAX_TRIES = 2_000
_MAX_DOCUMENTS = 200
_SECONDS = 2.0
# Notes that meet no criteria by accident: too short for a floor, and without any word.
_POOR = ("-", ".", "x", "no", "{}", "[]", "0")

# For criteria that will have no small letters, or no letters at all.
_PLAIN = ("X", "1", "-")


class _Demand(NamedTuple):
    """A rule that has to hold, or must not."""

    rule: dict[str, Any]
    holds: bool


class _Bounds(NamedTuple):
    """The lengths a text may have, in UTF-16 units."""

    low: int
    high: int | None


def fitting_notes(criteria: object, context: Context, words: str) -> str | None:
    """Notes that the criteria accept, made of these words where they leave the choice; None when no guess was right."""
    plans = islice(_plans(criteria, True, context), _MAX_PLANS)
    texts = (text for plan in plans for text in _texts(plan, words))
    return next((text for text in islice(texts, _MAX_TRIES) if _accepted(criteria, text, context)), None)


def failing_notes(criteria: object, context: Context) -> str | None:
    """Notes that the criteria refuse, although there are some; None when they accept whatever is tried."""
    plans = islice(_plans(criteria, False, context), _MAX_PLANS)
    texts = (*_POOR, *islice((text for plan in plans for text in _texts(plan, "no")), _MAX_TRIES))
    return next((text for text in texts if not js.is_blank(text) and _refused(criteria, text, context)), None)


def _accepted(criteria: object, text: str, context: Context) -> bool:
    validation = evaluate_criteria(criteria, text, context, _SECONDS)
    return not js.is_blank(text) and isinstance(validation, Ok) and validation.value.valid


def _refused(criteria: object, text: str, context: Context) -> bool:
    validation = evaluate_criteria(criteria, text, context, _SECONDS)
    return isinstance(validation, Ok) and not validation.value.valid


def _plans(node: object, holds: bool, context: Context) -> Iterator[list[_Demand]]:
    """The ways to make criteria hold, or fail, each as a list of demands on single rules."""
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


def _texts(plan: Sequence[_Demand], words: str) -> Iterator[str]:
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
    """The pieces a plan names, put together in every way that may matter."""
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
    """What has to be found in a text, once for each way to meet the patterns."""
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
    for found in islice(product(*patterns), 32):
        yield list(dict.fromkeys((*pieces, *found)))


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
    for found in ([], *pieces):
        for each in (value, full) if not found else _grafted(full if full is not None else value, " ".join(found)):
            if each is value or fits(schema, each):
                yield json.dumps(each, ensure_ascii=False)
                yield json.dumps(each, ensure_ascii=False, separators=(",", ":"))


def _grafted(value: Json, text: str) -> Iterator[Json]:
    """The value with the text somewhere in it, once for each place."""
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
    """What a plan says about length; a rule that must fail can fail at either end."""
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
