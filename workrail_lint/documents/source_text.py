"""Text from bytes, the problems that a reader reports in it, and offsets as lines and columns."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Record

_LINE_END = Pattern(r"\r\n|\r|\n")
_STRIDE = 1_024


class Position(Record):
    """A place in a text: 1-based line and column in code points, and both offsets."""

    __slots__ = ("byte_offset", "column", "line", "offset")

    def __init__(self, line: int, column: int, offset: int, byte_offset: int) -> None:
        self.line = line
        self.column = column
        self.offset = offset
        self.byte_offset = byte_offset


class Span(Record):
    """A range of text, end exclusive."""

    __slots__ = ("end", "start")

    def __init__(self, start: Position, end: Position) -> None:
        self.start = start
        self.end = end


class Edit(Record):
    """Replace the characters `start` to `end` (code points) with `text`."""

    __slots__ = ("end", "start", "text")

    def __init__(self, start: int, end: int, text: str) -> None:
        self.start = start
        self.end = end
        self.text = text


def in_order(edit: Edit) -> tuple[int, int, str]:
    """Return what edits are sorted by."""
    return edit.start, edit.end, edit.text


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
        """Return the offset in UTF-8; what lies before the nearest mark is counted once for all places."""
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
        """Return the 1-based line and column in code points, with the offset in code points and in UTF-8 bytes."""
        text, lines = self.text, self._lines
        if lines is None:
            lines = self._lines = self._counted_lines()
        if lines:
            # The lines before the nearest mark were counted once for all places.
            mark = min(offset // _STRIDE, len(lines) - 1)
            line = lines[mark] + text.count("\n", mark * _STRIDE, offset)
            last = text.rfind("\n", 0, offset) if line > 1 else -1
        else:
            line = bisect_right(self.line_starts, offset)
            last = self.line_starts[line - 1] - 1
        byte_offset = offset if self._bytes == [] else self._byte_offset(offset)
        return Position(line, offset - last, offset, byte_offset)

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
        """Return the text of a 1-based line without its terminator."""
        starts = self.line_starts
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")


class Problem:
    """A problem in the text: its name, a message, its offsets, and what to cut to fix it.

    `blocking` is false for problems that do not make the text invalid for the reference engine.
    """

    __slots__ = ("blocking", "end", "message", "name", "pointer", "removes", "start")

    def __init__(
        self,
        name: str,
        message: str,
        start: int,
        end: int,
        *,
        pointer: str = "",
        removes: tuple[tuple[int, int], ...] = (),
        blocking: bool = True,
    ) -> None:
        self.name = name
        self.message = message
        self.start = start
        self.end = end
        self.pointer = pointer
        self.removes = removes
        self.blocking = blocking

    def __repr__(self) -> str:
        return f"Problem({self.name} {self.start}-{self.end}: {self.message})"


def decoded(data: bytes | str, format_name: str, max_bytes: int | None) -> tuple[str, Problem | None]:
    """Return the text, and why it can't be read, if so. For a text that is too long the result is empty."""
    size = len(data) if isinstance(data, bytes) else js.u8_length(data)
    if max_bytes is not None and size > max_bytes:
        return "", Problem("file-too-large", f"the file has {size:,} bytes; the limit is {max_bytes:,}", 0, 0)
    if isinstance(data, str):
        return data, None
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        at = error.start
    start = len(data[:at].decode(errors="replace"))
    message = f"the file is not UTF-8: invalid byte 0x{data[at]:02x} at offset {at}"
    return data.decode(errors="replace"), Problem(f"{format_name}-invalid-utf8", message, start, start + 1)
