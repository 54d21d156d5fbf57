"""Offsets to lines and columns, for the few places that are reported."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from workrail_lint.base.patterns import Pattern

_LINE_END = Pattern(r"\r\n|\r|\n")


class Position(NamedTuple):
    """A place in a text: 1-based line and column in code points, and both offsets."""

    line: int
    column: int
    offset: int
    byte_offset: int


class Span(NamedTuple):
    """A range of text, end exclusive."""

    start: Position
    end: Position


class SourceText:
    """A text and its line index, which is built on demand."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None

    @property
    def line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return self._starts

    def position(self, offset: int) -> Position:
        """1-based line and column in code points, with the offset in code points and in UTF-8 bytes."""
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return Position(
            line,
            offset - starts[line - 1] + 1,
            offset,
            len(self.text[:offset].encode("utf-8", "surrogatepass")),
        )

    def span(self, start: int, end: int) -> Span:
        return Span(self.position(start), self.position(end))

    def line(self, number: int) -> str:
        """The text of a 1-based line without its terminator."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")
