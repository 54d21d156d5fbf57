"""The shape of a document: symbols, folding, hints beside the text, tokens inside of prompts, lenses above steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.base.terminal import printable
from workrail_lint.documents.markdown_reader import read_markdown
from workrail_lint.documents.pointer import decode
from workrail_lint.server import configuration
from workrail_lint.server.document import CONFIGURATION, OpenDocument
from workrail_lint.server.names import STEP, Name, mentions, steps_by_id
from workrail_lint.systems.workrail.compiler.nodes import walk as walk_nodes

_TEMPLATE_TOKEN = re.compile(r"\{\{[^{}\"\n]*\}\}")
_BRACKETS = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[{}\[\]]')
_LABELS = ("id", "name", "label", "title", "step", "slotId", "blockId", "decision_id")
_DEEPEST = 4
_SYMBOL_KINDS = {"standard": "step", "loop": "loop", "parallel": "parallel"}


class Symbol(NamedTuple):
    """A step, a loop with its steps, or another part of a document."""

    name: str
    detail: str
    kind: str  # step, loop, parallel, template, entry, member, heading, table
    start: int
    end: int
    name_start: int
    name_end: int
    inner: tuple[Symbol, ...]


def symbols(document: OpenDocument) -> list[Symbol]:
    """Return the parts of a document as a tree: the steps of a workflow, the entries of other documents, headings."""
    if document.kind is None:
        return []
    if document.kind == CONFIGURATION:
        return [
            Symbol(
                ".".join(key.path), "", "table" if key.is_head else "member", key.name[0], key.value[1], *key.name, ()
            )
            for key in configuration.symbols(document.path, document.text)
        ]
    if document.path.endswith(".md"):
        return _headings(document)
    if document.is_workflow:
        return _steps(document)
    return list(_parts(document, (), document.value, 0))


def _steps(document: OpenDocument) -> list[Symbol]:
    result: list[Symbol] = []
    bodies: list[list[Symbol]] = []  # of each of them
    for step in document.steps:
        place, name = document.range_of(step.pointer), document.range_of(step.at("id"))
        if place is None:
            continue
        kind = "template" if step.calls_template else _SYMBOL_KINDS[step.kind]
        ident, title = printable(step.id or "step"), printable(step.title)
        symbol = Symbol(ident, title, kind, *place, *(name or place), ())
        if step.around is not None and result:
            bodies[-1].append(symbol)
        else:
            result.append(symbol)
            bodies.append([])
    return [symbol._replace(inner=tuple(body)) for symbol, body in zip(result, bodies, strict=True)]


def _parts(document: OpenDocument, tokens: tuple[str, ...], value: Any, depth: int) -> Iterator[Symbol]:
    """Yield members that hold something, and entries that say what they are called."""
    if depth > _DEEPEST:
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        at = (*tokens, str(key))
        place = document.range_of(at)
        if place is None or not isinstance(item, dict | list):
            continue
        label, name = str(key), document.range_of(at, on_name=True)
        if isinstance(value, list):
            label = next((str(item[m]) for m in _LABELS if isinstance(item, dict) and item.get(m)), label)
            name = (place[0], place[0] + 1)
        inner = tuple(_parts(document, at, item, depth + 1))
        start = min(place[0], (name or place)[0])
        kind = "entry" if isinstance(value, list) else "member"
        yield Symbol(label, "", kind, start, place[1], *(name or place), inner)


def _headings(document: OpenDocument) -> list[Symbol]:
    headings: list[tuple[int, Symbol]] = []
    for level, title, start, line_end, end in _sections(document.text):
        headings.append((level, Symbol(title or "section", "", "heading", start, end, start, line_end, ())))
    return [symbol for symbol, _ in _nested(headings, 0, 0)[0]]


def _sections(text: str) -> list[tuple[int, str, int, int, int]]:
    """Return the headings: level, title, start, end of the line, end of the section."""
    document = read_markdown(text, max_bytes=None)
    result = []
    for number, heading in enumerate(document.headings):
        later = (
            document.lines[each.first].start for each in document.headings[number + 1 :] if each.level <= heading.level
        )
        line = document.lines[heading.first]
        result.append((heading.level, heading.title, line.start, line.end, next(later, len(text))))
    return result


def _nested(headings: list[tuple[int, Symbol]], at: int, level: int) -> tuple[list[tuple[Symbol, int]], int]:
    """Return the symbols below a level, each with its inner ones; and where they end."""
    symbols: list[tuple[Symbol, int]] = []
    while at < len(headings) and headings[at][0] > level:
        own, symbol = headings[at]
        inner, at = _nested(headings, at + 1, own)
        symbols.append((symbol._replace(inner=tuple(each for each, _ in inner)), own))
    return symbols, at


def folds(document: OpenDocument) -> Iterator[tuple[int, int]]:
    """Yield the offsets of parts that span several lines."""
    text = document.text
    if document.kind == CONFIGURATION:
        heads = [key.name[0] for key in configuration.symbols(document.path, text) if key.is_head]
        for start, end in zip(heads, [*heads[1:], len(text) + 1], strict=True):
            yield start, _trimmed(text, end - 1) + 1
    elif document.path.endswith(".md"):
        yield from ((start, _trimmed(text, end) + 1) for _, _, start, _, end in _sections(text))
    elif document.is_json:
        opened: list[int] = []
        for match in _BRACKETS.finditer(text):
            if match[0] in "{[":
                opened.append(match.start())
            elif match[0] in "}]" and opened:
                start = opened.pop()
                if "\n" in text[start : match.start()]:
                    yield start, match.start()
    elif document.value is not None:
        yield from _spans(list(_parts(document, (), document.value, 0)), text)


def _spans(symbols: list[Symbol] | tuple[Symbol, ...], text: str) -> Iterator[tuple[int, int]]:
    for symbol in symbols:
        yield symbol.start, _trimmed(text, symbol.end) + 1
        yield from _spans(symbol.inner, text)


def _trimmed(text: str, end: int) -> int:
    """Return where the white space before an offset begins."""
    while end > 0 and text[end - 1].isspace():
        end -= 1
    return end


class Hint(NamedTuple):
    offset: int
    text: str


def hints(document: OpenDocument, start: int, end: int) -> list[Hint]:
    """Return where the variable of a condition is set, and how long a compiled prompt is."""
    analysis = document.analysis
    if analysis is None:
        return []
    result: list[Hint] = []
    for use in analysis.uses:
        place = document.range_of(use.pointer) if use.leaf is not None else None
        if place is None or not start <= place[1] <= end:
            continue
        steps = [definition.step for definition in analysis.definitions(use.name)]
        setters = [analysis.steps[step].id for step in steps if step is not None]
        if setters:
            result.append(Hint(place[1], f"set in {setters[0]}"))
        elif not analysis.is_given(use.name):
            result.append(Hint(place[1], "never set"))
    compiled = document.compiled.compiled
    for node in () if compiled is None else walk_nodes(compiled.nodes):
        prompt = node.prompt
        place = document.range_of(f"{node.pointer}/{node.prompt_member}", on_name=True)
        if node.origin is None and prompt is not None and place is not None and start <= place[1] <= end:
            result.append(Hint(place[1], f"{len(prompt.encode('utf-8', 'surrogatepass'))} bytes"))
    return sorted(set(result))


def prompt_tokens(document: OpenDocument) -> list[tuple[int, int, str]]:
    """Return the meaningful parts of prompts: tokens, variables that a sentence sets or reads, steps it names."""
    if not document.is_workflow:
        return []
    analysis = document.analysis
    tokens: set[tuple[int, int, str]] = set()
    for match in _TEMPLATE_TOKEN.finditer(document.text):
        tokens.add((match.start(), match.end(), "macro"))
    if analysis is not None:
        for name in analysis.by_name:
            spots = [(definition.pointer, definition.span) for definition in analysis.definitions(name)]
            spots += [(mention.pointer, mention.span) for mention in analysis.mentions(name)]
            for pointer, (start, end) in spots:
                value = document.string_at(tuple(decode(pointer)))
                place = document.part_of(pointer, start, end) if value is not None else None
                if place is not None and value is not None and value[start:end] == name:
                    tokens.add((*place, "variable"))
        for ident in steps_by_id(document):
            named = mentions(document, Name(STEP, ident)) if document.text.count(ident) > 1 else ()
            tokens |= {(each.start, each.end, "function") for each in named}
    ordered: list[tuple[int, int, str]] = []
    for item in sorted(tokens):
        if not ordered or item[0] >= ordered[-1][1]:
            ordered.append(item)
    return ordered


class Lens(NamedTuple):
    """A command above a line. `command` is None for what is only shown."""

    offset: int
    title: str
    command: str | None
    arguments: tuple[str, ...]


def lenses(document: OpenDocument, coverage: dict[str, tuple[int, int]] | None) -> list[Lens]:
    """Return the commands of a workflow and, if known, above each step how many of its goals scenarios show."""
    if not document.is_workflow or document.compiled.compiled is None:
        return []
    path = document.path
    result = [
        Lens(0, "Run with the automatic agent", "workrail.run", (path,)),
        Lens(0, "Generate scenarios", "workrail.generate", (path,)),
        Lens(0, "Coverage of each step", "workrail.coverage", (path,)),
        Lens(0, "Score its tests", "workrail.mutate", (path,)),
    ]
    for ident, step in steps_by_id(document).items():
        place = document.range_of(step.pointer)
        if coverage is not None and place is not None and ident in coverage:
            covered, goals = coverage[ident]
            result.append(Lens(place[0], f"{covered} of {goals} goals covered", "workrail.coverage", (path,)))
    return result
