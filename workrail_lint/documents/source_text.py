"""Offsets to lines and columns, for the few places that are reported."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from workrail_lint.base.patterns import Pattern

_LINE_END = Pattern(r"\r\n|\r|\n")
_STRIDE = 1_024


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


class Edit(NamedTuple):
    """Replace the characters `start` to `end` (code points) with `text`."""

    start: int
    end: int
    text: str


class SourceText:
    """A text and its line index, which is built on demand."""

    __slots__ = ("_bytes", "_data", "_lines", "_starts", "text")

    def __init__(self, text: str, data: bytes | None = None) -> None:
        self.text = text
        self._data = data  # the same in UTF-8, if it is at hand
        self._starts: list[int] | None = None
        self._lines: list[int] | None = None  # of every _STRIDE-th code point; none if one ends in CR
        self._bytes: list[int] | None = None  # of every _STRIDE-th code point; none in plain ASCII

    @property
    def data(self) -> bytes:
        """The text in UTF-8."""
        if self._data is None:
            self._data = self.text.encode("utf-8", "surrogatepass")
        return self._data

    @property
    def line_starts(self) -> list[int]:
        if self._starts is None:
            if "\r" in self.text:
                self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
            else:
                self._starts = [0, *accumulate([len(line) + 1 for line in self.text.split("\n")])]
                self._starts.pop()
        return self._starts

    def _byte_offset(self, offset: int) -> int:
        """The offset in UTF-8; what lies before the nearest mark is counted once for all places."""
        if self._bytes is None:
            self._bytes = []
            if not self.text.isascii():
                total = 0
                for at in range(0, len(self.text), _STRIDE):
                    self._bytes.append(total)
                    total += len(self.text[at : at + _STRIDE].encode("utf-8", "surrogatepass"))
        if not self._bytes:
            return offset
        mark = min(offset // _STRIDE, len(self._bytes) - 1)
        return self._bytes[mark] + len(self.text[mark * _STRIDE : offset].encode("utf-8", "surrogatepass"))

    def position(self, offset: int) -> Position:
        """1-based line and column in code points, with the offset in code points and in UTF-8 bytes."""
        text, lines = self.text, self._lines
        if lines is None:
            lines = self._lines = self._counted_lines()
        if lines:
            # The lines before the nearest mark were counted once for all places.
            mark = min(offset // _STRIDE, len(lines) - 1)
            line = lines[mark] + text.count("\n", mark * _STRIDE, offset)
            last = text.rfind("\n", 0, offset) if line > 1 else -1
        else:
            from bisect import bisect_right  # here, because few texts have such line ends

            line = bisect_right(self.line_starts, offset)
            last = self.line_starts[line - 1] - 1
        byte_offset = offset if self._bytes == [] else self._byte_offset(offset)
        return tuple.__new__(Position, (line, offset - last, offset, byte_offset))

    def _counted_lines(self) -> list[int]:
        text = self.text
        starts = range(0, len(text) + 1, _STRIDE) if "\r" not in text else ()
        return list(accumulate([text.count("\n", at, at + _STRIDE) for at in starts], initial=1)) if starts else []

    def span(self, start: int, end: int) -> Span:
        first = self.position(start)
        if not self._lines or self.text.find("\n", start, end) >= 0:
            return Span(first, self.position(end))
        byte_offset = end if self._bytes == [] else self._byte_offset(end)
        return Span(first, Position(first.line, first.column + end - start, end, byte_offset))

    def line(self, number: int) -> str:
        """The text of a 1-based line without its terminator."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")
