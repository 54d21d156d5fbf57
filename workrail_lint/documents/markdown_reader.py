"""Markdown to lines and headings with their places: only what a contract about sections needs.

Headings are ATX and setext ones outside front matter, fenced code and comments. Nothing is rendered, and the scanner
goes back one line at most, so that the time is linear in the length of any text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.json_reader import MAX_BYTES
from workrail_lint.documents.source_text import Problem, SourceText, Span, decoded

_LINE = Pattern(r"[^\n]*\n|[^\n]+")
_ATX = Pattern(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_SETEXT = Pattern(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = Pattern(r"[ \t]*(`{3,}|~{3,})(.*)$")
# Lines that can't be above a setext underline: a list item, a quote, a table row, an indented block.
_NO_PARAGRAPH = Pattern(r"\s*(?:[-+*]\s|\d{1,9}[.)]\s|>|\|)|    |\t")
_INLINE = Pattern(r"!?\[([^\]\[]*)\]\([^()]*\)|<[^<>]*>|`+|\*+|~~|(?<!\w)_+|_+(?!\w)|\\(?=[!-/:-@\[-`{-~])")


class Line(NamedTuple):
    """A line without its end; `kind` is text, heading, code (fences included), comment or matter."""

    text: str
    start: int
    kind: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def says_something(self) -> bool:
        return self.kind in ("text", "code") and not js.is_blank(self.text)


class Heading(NamedTuple):
    """A heading: its level, its text without markup, and its lines."""

    level: int
    title: str
    first: int  # index of its first line
    last: int  # index of its last line, the underline of a setext heading


class MarkdownDocument:
    """A Markdown text, its lines and headings, and what was wrong with it."""

    __slots__ = ("headings", "lines", "problems", "readable", "source")
    value: js.Json = None  # prose has none

    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self.readable = False
        self.problems: list[Problem] = []
        self.lines: list[Line] = []
        self.headings: list[Heading] = []

    @property
    def text(self) -> str:
        return self.source.text

    def body(self, index: int) -> list[Line]:
        """Return the lines of a section: up to the next heading of the same or a higher level."""
        heading = self.headings[index]
        for place in range(index + 1, len(self.headings)):
            if self.headings[place].level <= heading.level:
                return self.lines[heading.last + 1 : self.headings[place].first]
        return self.lines[heading.last + 1 :]

    def heading_of(self, offset: int) -> Heading | None:
        """Return the heading above a place; None before the first one."""
        above = [heading for heading in self.headings if self.lines[heading.first].start <= offset]
        return above[-1] if above else None

    def locate(self, pointer: str, on_name: bool = False) -> Span | None:
        """Return the span of the heading that `#title` names; that of the first line for the whole document."""
        if not pointer:
            return self.source.span(0, self.lines[0].end if self.lines else 0)
        for heading in self.headings:
            if pointer == f"#{heading.title}":
                return self.source.span(self.lines[heading.first].start, self.lines[heading.last].end)
        return None


def read_markdown(data: bytes | str, *, max_bytes: int | None = MAX_BYTES) -> MarkdownDocument:
    """Read a Markdown text. Never raises on bad input: `problems` says what is wrong."""
    text, problem = decoded(data, "markdown", max_bytes)
    document = MarkdownDocument(text)
    if problem is not None:
        document.problems.append(problem)
        return document
    _Scanner(document).scan()
    document.readable = True
    return document


class _Scanner:
    """Classifies the lines of one text."""

    __slots__ = ("_document", "_fence", "_in_comment", "_paragraph")

    def __init__(self, document: MarkdownDocument) -> None:
        self._document = document
        self._fence = ""
        self._in_comment = False
        self._paragraph: int | None = None  # index of the first line of the paragraph that is open

    def scan(self) -> None:
        lines = self._document.lines
        text = self._document.text
        matter = _front_matter(text)
        for match in _LINE.finditer(text):
            raw = match[0].rstrip("\r\n")
            if match.start() == 0 and raw.startswith("\ufeff"):
                raw = " " + raw[1:]
            kind = "matter" if match.start() < matter else self._kind(raw, len(lines))
            lines.append(Line(raw, match.start(), kind))

    def _kind(self, raw: str, index: int) -> str:
        if self._fence:
            fence = _FENCE.match(raw)
            if fence and fence[1][0] == self._fence[0] and len(fence[1]) >= len(self._fence) and not fence[2].strip():
                self._fence = ""
            return "code"
        if self._in_comment or raw.lstrip().startswith("<!--"):
            self._in_comment = "-->" not in raw
            self._paragraph = None
            return "comment"
        fence = _FENCE.match(raw)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence = fence[1]
            self._paragraph = None
            return "code"
        return self._heading(raw, index)

    def _heading(self, raw: str, index: int) -> str:
        document = self._document
        atx = _ATX.match(raw)
        if atx:
            title = _without_closing((atx[2] or "").strip())
            document.headings.append(Heading(len(atx[1]), plain_text(title), index, index))
            self._paragraph = None
            return "heading"
        underline = _SETEXT.match(raw) if self._paragraph is not None else None
        if underline and self._paragraph is not None:
            first = self._paragraph
            title = " ".join(line.text.strip() for line in document.lines[first:])
            document.headings.append(Heading(1 if underline[1][0] == "=" else 2, plain_text(title), first, index))
            document.lines[first:] = [line._replace(kind="heading") for line in document.lines[first:]]
            self._paragraph = None
            return "heading"
        if js.is_blank(raw) or _NO_PARAGRAPH.match(raw):
            self._paragraph = None
        elif self._paragraph is None:
            self._paragraph = index
        return "text"


def _without_closing(title: str) -> str:
    """Return an ATX title without the closing `#` characters."""
    kept = title.rstrip("#")
    return kept.rstrip() if kept != title and (not kept or kept[-1] in " \t") else title


def _front_matter(text: str) -> int:
    """Return where the text after YAML front matter begins; 0 if there is none."""
    if not text.startswith(("---\n", "---\r\n")):
        return 0
    closing = re.search(r"\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)", text)
    return closing.end() if closing else 0


def plain_text(text: str) -> str:
    """Return a line without inline markup; the words of links, code and emphasis remain."""
    return _INLINE.compiled.sub(lambda match: match[1] or "", text).strip()
