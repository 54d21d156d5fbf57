"""Offsets in code points against an editor's lines and columns; offsets and findings of one text in a later one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from copy import copy
from functools import cached_property
from itertools import accumulate

from lsprotocol import types as lsp

from workrail_lint.documents.json_edit import difference
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Finding

_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_STRIDE = 1024


class Positions:
    """One text. `encoding` is what client and server agreed to count columns in."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._text = text
        self._starts = SourceText(text).line_starts
        self._codec, self._size = _UNITS[encoding]

    @cached_property
    def _marks(self) -> list[int]:
        """The units before every _STRIDE-th code point, so that no place costs as much as the line before it."""
        parts = (self._text[at : at + _STRIDE] for at in range(0, len(self._text), _STRIDE))
        return list(accumulate((self._length(part) for part in parts), initial=0))

    def _length(self, part: str) -> int:
        return len(part) if part.isascii() else len(part.encode(self._codec, "surrogatepass")) // self._size

    def _units(self, offset: int) -> int:
        mark = offset // _STRIDE
        return self._marks[mark] + self._length(self._text[mark * _STRIDE : offset])

    def position(self, offset: int) -> lsp.Position:
        offset = max(0, min(offset, len(self._text)))
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        is_plain = self._text.isascii()
        return lsp.Position(line, offset - start if is_plain else self._units(offset) - self._units(start))

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def offset(self, position: lsp.Position) -> int:
        """Return the offset of a position; one past the end of its line is the end of the line."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        is_last = position.line + 1 == len(self._starts)
        end = len(self._text) if is_last else self._starts[position.line + 1]
        while end > start and self._text[end - 1] in "\r\n":
            end -= 1
        if self._text.isascii():
            return min(start + position.character, end)
        places = range(start, end + 1)
        return places[bisect_right(places, self._units(start) + position.character, key=self._units) - 1]


def shifted(findings: Iterable[Finding], old: str, new: str) -> list[Finding]:
    """Return copies of the findings with their spans in the new text.

    They have no fixes: those are about the old one.
    """
    change = difference(old, new)
    source = SourceText(new)
    moved = []
    for finding in findings:
        copied = copy(finding)
        copied.details = dict(finding.details)
        if change is not None:
            copied.fix = None
            if finding.span is not None:
                by = len(change.text) - (change.end - change.start)
                ends = (
                    at + by if at >= change.end else min(at, change.start + len(change.text))
                    for at in (finding.span.start.offset, finding.span.end.offset)
                )
                copied.span = source.span(*ends)
        moved.append(copied)
    return moved
