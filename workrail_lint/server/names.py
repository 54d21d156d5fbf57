"""The names in a workflow and everything that mentions them: steps, variables, assessments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.documents.pointer import decode, encode
from workrail_lint.server.document import OpenDocument
from workrail_lint.server.place import Place

STEP, VARIABLE, ASSESSMENT = "step", "variable", "assessment"
_WORD = re.compile(r"[A-Za-z_]\w*")
# Members that name a step of the same workflow.
_STEP_MEMBERS = frozenset(("stepId", "body", "bodyStepId"))


class Name(NamedTuple):
    """A name under a cursor."""

    kind: str
    text: str


class Mention(NamedTuple):
    """A place that has the name. The definition is where it is made."""

    start: int
    end: int
    is_definition: bool


def name_at(document: OpenDocument, place: Place, offset: int) -> Name | None:
    """The name that a cursor is on."""
    if place.is_name or not place.in_string or not document.is_workflow:
        return None
    value, last = document.at(place.tokens), place.tokens[-1] if place.tokens else ""
    parent = place.tokens[-2] if len(place.tokens) > 1 else ""
    if not isinstance(value, str):
        return None
    if last == "id" and _is_step(place.tokens[:-1]):
        return Name(STEP, value)
    if value in step_ids(document) and (last in _STEP_MEMBERS or parent in _STEP_MEMBERS):
        return Name(STEP, value)
    if (last == "id" and parent.isdecimal() and place.tokens[0] == "assessments") or parent == "assessmentRefs":
        return Name(ASSESSMENT, value)
    if last in ("var", "items", "countVar"):
        return Name(VARIABLE, value)
    analysis = document.analysis
    if analysis is None:
        return None
    for match in _WORD.finditer(document.text, place.start, place.end):
        if match.start() <= offset <= match.end() and match[0] in analysis.by_name:
            return Name(VARIABLE, match[0])
    return None


def step_ids(document: OpenDocument) -> dict[str, tuple[str, ...]]:
    """The steps by id, with the tokens of their place."""
    return {step["id"]: tokens for tokens, step in steps(document) if isinstance(step.get("id"), str)}


def steps(document: OpenDocument) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every step with its place, those of loop bodies after their loop."""
    value = document.value
    listed = value.get("steps") if isinstance(value, dict) else None
    for number, step in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(step, dict):
            continue
        yield ("steps", str(number)), step
        body = step.get("body")
        for inner, each in enumerate(body if isinstance(body, list) else ()):
            if isinstance(each, dict):
                yield ("steps", str(number), "body", str(inner)), each


def _is_step(tokens: tuple[str, ...]) -> bool:
    return len(tokens) in (2, 4) and tokens[0] == "steps" and (len(tokens) == 2 or tokens[2] == "body")


def mentions(document: OpenDocument, name: Name) -> list[Mention]:
    """Every place that has the name, in order, each once."""
    found = {
        STEP: _step_mentions,
        VARIABLE: _variable_mentions,
        ASSESSMENT: _assessment_mentions,
    }[name.kind](document, name.text)
    unique: dict[tuple[int, int], bool] = {}
    for start, end, is_definition in found:
        unique[start, end] = unique.get((start, end), False) or is_definition
    return [Mention(start, end, made) for (start, end), made in sorted(unique.items())]


def _step_mentions(document: OpenDocument, ident: str) -> Iterator[Mention]:
    word = re.compile(rf"(?<![\w.-]){re.escape(ident)}(?![\w-]|\.\w)")
    for tokens, value in _strings(document.value, ()):
        last, parent = tokens[-1], tokens[-2] if len(tokens) > 1 else ""
        if value == ident and (last == "id" or last in _STEP_MEMBERS or parent in _STEP_MEMBERS):
            if last == "id" and not _is_step(tokens[:-1]):
                continue
            yield from _whole(document, tokens, last == "id")
        elif "-" in ident and ident in value:
            # Prose names a step by its id; a plain word may mean anything.
            for match in word.finditer(value):
                yield from _part(document, tokens, match.start(), match.end(), False)


def _assessment_mentions(document: OpenDocument, ident: str) -> Iterator[Mention]:
    for tokens, value in _strings(document.value, ()):
        if value != ident or len(tokens) < 2:
            continue
        is_definition = tokens[0] == "assessments" and tokens[-1] == "id"
        if is_definition or tokens[-2] == "assessmentRefs" or tokens[-1] in ("assessmentId", "assessmentRef"):
            yield from _whole(document, tokens, is_definition)


def _variable_mentions(document: OpenDocument, name: str) -> Iterator[Mention]:
    analysis = document.analysis
    if analysis is None:
        return
    token = re.compile(rf"\{{\{{\s*({re.escape(name)})(?!\w)")
    for tokens, value in _strings(document.value, ()):
        if value == name and tokens[-1] in ("var", "items", "countVar"):
            yield from _whole(document, tokens, False)
        for match in token.finditer(value) if "{{" in value else ():
            yield from _part(document, tokens, match.start(1), match.end(1), False)
    for made in analysis.definitions(name):
        if made.span[1] > made.span[0]:
            yield from _span(document, made.pointer, made.span, name, True)
    for mention in analysis.mentions(name):
        yield from _span(document, mention.pointer, mention.span, name, False)


def _span(document: OpenDocument, pointer: str, span: tuple[int, int], name: str, made: bool) -> Iterator[Mention]:
    tokens = tuple(decode(pointer))
    value = document.at(tokens)
    if isinstance(value, str) and value[span[0] : span[1]] == name:
        yield from _part(document, tokens, *span, made)


def _whole(document: OpenDocument, tokens: tuple[str, ...], made: bool) -> Iterator[Mention]:
    place = document.range_of(tokens)
    if place is not None:
        yield Mention(place[0] + 1, place[1] - 1, made)


def _part(document: OpenDocument, tokens: tuple[str, ...], start: int, end: int, made: bool) -> Iterator[Mention]:
    place = document.part_of(encode(tokens), start, end)
    if place is not None:
        yield Mention(*place, made)


def _strings(value: Any, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    pending = [(tokens, value)]
    while pending:
        at, item = pending.pop()
        if isinstance(item, str):
            yield at, item
        elif isinstance(item, dict):
            pending.extend(((*at, name), each) for name, each in reversed(item.items()))
        elif isinstance(item, list):
            pending.extend(((*at, str(n)), each) for n, each in reversed([*enumerate(item)]))
