"""Offsets in code points against an editor's lines and columns; offsets and findings of one text in a later one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from copy import copy

from lsprotocol import types as lsp

from workrail_lint.documents.json_edit import difference
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Finding

_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """One text. `encoding` is what client and server agreed to count columns in."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._text = text
        self._starts = SourceText(text).line_starts
        self._codec, self._size = _UNITS[encoding]

    def position(self, offset: int) -> lsp.Position:
        offset = max(0, min(offset, len(self._text)))
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : offset]
        units = len(before) if before.isascii() else len(before.encode(self._codec, "surrogatepass")) // self._size
        return lsp.Position(line, units)

    def range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(start), self.position(end))

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; one past the end of its line is the end of the line."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        is_last = position.line + 1 == len(self._starts)
        line = self._text[start : None if is_last else self._starts[position.line + 1]].rstrip("\r\n")
        if line.isascii():
            return start + min(position.character, len(line))
        units = line.encode(self._codec, "surrogatepass")[: self._size * position.character]
        return start + len(units.decode(self._codec, "ignore"))


def shifted(findings: Iterable[Finding], old: str, new: str) -> list[Finding]:
    """Copies of the findings with their spans in the new text. They have no fixes: those are about the old one."""
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
