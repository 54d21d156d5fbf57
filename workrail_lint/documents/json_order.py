"""The members of a JSON text in the order of their schema. Only the order changes: every value keeps its text."""

from __future__ import annotations

import re
from typing import NamedTuple

from workrail_lint.documents.schema.walk import Schema, SchemaWalk

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|[^\[\]{}",:\s]++')


class _Value(NamedTuple):
    """A value with its place in the text. Members by name, elements in order; nothing for a scalar."""

    start: int
    end: int
    members: list[tuple[str, _Value]] | None = None  # with the names as they are written
    items: list[_Value] | None = None


def ordered(text: str, walk: SchemaWalk) -> str:
    """Valid JSON text with known members first, in the order of the schema, then the others as they were."""
    tokens = list(_TOKEN.finditer(text))
    value, _ = _parsed(tokens, 0)
    return text[: value.start] + _written(value, text, walk, walk.at(())) + text[value.end :]


def _parsed(tokens: list[re.Match[str]], at: int) -> tuple[_Value, int]:
    opening = tokens[at]
    if opening[0] == "{":
        members: list[tuple[str, _Value]] = []
        at += 1
        while tokens[at][0] != "}":
            name = tokens[at][0]
            inner, at = _parsed(tokens, at + 2)
            members.append((name, inner))
            at += tokens[at][0] == ","
        return _Value(opening.start(), tokens[at].end(), members), at + 1
    if opening[0] == "[":
        items: list[_Value] = []
        at += 1
        while tokens[at][0] != "]":
            inner, at = _parsed(tokens, at)
            items.append(inner)
            at += tokens[at][0] == ","
        return _Value(opening.start(), tokens[at].end(), None, items), at + 1
    return _Value(opening.start(), opening.end()), at + 1


def _written(value: _Value, text: str, walk: SchemaWalk, schemas: list[Schema]) -> str:
    """The text of a value. One in which nothing moves keeps its text, whitespace included."""
    if value.members:
        order = {f'"{member.name}"': number for number, member in enumerate(walk.members(schemas))}
        inner = {member.name: member.schemas for member in walk.members(schemas)}
        wanted = sorted(value.members, key=lambda member: order.get(member[0], len(order)))
        parts = [_written(each, text, walk, inner.get(name[1:-1], [])) for name, each in wanted]
        if wanted == value.members:
            return _filled(value, text, [each for _, each in wanted], parts)
        return "{" + ",\n".join(f"{name}: {part}" for (name, _), part in zip(wanted, parts, strict=True)) + "\n}"
    if value.items:
        below = walk.below(schemas)
        return _filled(value, text, value.items, [_written(each, text, walk, below) for each in value.items])
    return text[value.start : value.end]


def _filled(value: _Value, text: str, inner: list[_Value], parts: list[str]) -> str:
    """A container with its own text between its values."""
    made: list[str] = []
    at = value.start
    for each, part in zip(inner, parts, strict=True):
        made += [text[at : each.start], part]
        at = each.end
    return "".join([*made, text[at : value.end]])
