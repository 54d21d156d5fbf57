"""The shape of a document: symbols, folding, hints beside the text, tokens inside of prompts, lenses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.base.terminal import printable
from workrail_lint.documents.pointer import decode
from workrail_lint.server.document import OpenDocument
from workrail_lint.server.names import steps

_TEMPLATE_TOKEN = re.compile(r"\{\{[^{}]*\}\}")


class Symbol(NamedTuple):
    """A step, or a loop with its steps."""

    name: str
    detail: str
    kind: str  # step, loop, parallel, template
    start: int
    end: int
    name_start: int
    name_end: int
    inner: tuple[Symbol, ...]


def symbols(document: OpenDocument) -> list[Symbol]:
    """The steps of a workflow as a tree."""
    if not document.is_workflow or not isinstance(document.value, dict):
        return []
    found: list[Symbol] = []
    for tokens, step in steps(document):
        place, name = document.range_of(tokens), document.range_of((*tokens, "id"))
        if place is None:
            continue
        kind = step["type"] if step.get("type") in ("loop", "parallel") else "step"
        kind = "template" if "templateCall" in step else kind
        ident, title = printable(str(step.get("id", "step"))), printable(str(step.get("title", "")))
        made = Symbol(ident, title, kind, *place, *(name or place), ())
        if len(tokens) == 4 and found:
            found[-1] = found[-1]._replace(inner=(*found[-1].inner, made))
        else:
            found.append(made)
    return found


def folds(document: OpenDocument) -> Iterator[tuple[int, int]]:
    """The offsets of objects and lists that span several lines."""
    opened: list[int] = []
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*+"?|[{}\[\]]', document.text):
        if match[0] in "{[":
            opened.append(match.start())
        elif match[0] in "}]" and opened:
            start = opened.pop()
            if "\n" in document.text[start : match.start()]:
                yield start, match.start()


class Hint(NamedTuple):
    offset: int
    text: str


def hints(document: OpenDocument, start: int, end: int) -> list[Hint]:
    """Where the variable of a condition is set, and how long a compiled prompt is."""
    analysis = document.analysis
    if analysis is None:
        return []
    found: list[Hint] = []
    for use in analysis.uses:
        place = document.range_of(use.pointer) if use.leaf is not None else None
        if place is None or not start <= place[1] <= end:
            continue
        setters = [analysis.steps[made.step].id for made in analysis.definitions(use.name) if made.step is not None]
        if setters:
            found.append(Hint(place[1], f"set in {setters[0]}"))
        elif not analysis.is_given(use.name):
            found.append(Hint(place[1], "never set"))
    compiled = document.compiled.compiled
    for node in () if compiled is None else compiled.nodes:
        prompt = node.step.get("prompt")
        place = document.range_of(f"{node.pointer}/{node.prompt_member}", on_name=True)
        if node.origin is None and isinstance(prompt, str) and place is not None and start <= place[1] <= end:
            found.append(Hint(place[1], f"{len(prompt.encode('utf-8', 'surrogatepass'))} bytes"))
    return sorted(set(found))


def prompt_tokens(document: OpenDocument) -> list[tuple[int, int, str]]:
    """The parts of prompts that mean something: tokens, and variables that a sentence sets."""
    analysis = document.analysis
    found: set[tuple[int, int, str]] = set()
    for match in _TEMPLATE_TOKEN.finditer(document.text):
        found.add((match.start(), match.end(), "macro"))
    if analysis is not None:
        for name in analysis.by_name:
            for made in analysis.definitions(name):
                tokens = decode(made.pointer)
                value: Any = document.at(tuple(tokens))
                if isinstance(value, str) and value[made.span[0] : made.span[1]] == name:
                    place = document.part_of(made.pointer, *made.span)
                    if place is not None:
                        found.add((*place, "variable"))
    ordered: list[tuple[int, int, str]] = []
    for item in sorted(found):
        if not ordered or item[0] >= ordered[-1][1]:
            ordered.append(item)
    return ordered
