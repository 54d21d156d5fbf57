"""The source frame: the line a finding points at, with a caret under the place.

Workflow files hold whole prompts on one line, so a line is shown through a window around the place. Widths are
counted in terminal cells: wide characters take two, combining ones none, and what is escaped takes more than one.
"""

from __future__ import annotations

from typing import NamedTuple

from workrail_lint.base.terminal import LOG_COMMAND, Style, printable
from workrail_lint.documents.source_text import SourceText
from workrail_lint.findings import Span

_TAB = "    "
_OPENERS = ("{", "[")
_MORE_LINES = 2
_LEAST_WIDTH = 20


class Frame(NamedTuple):
    """The lines, and how many cells their numbers take."""

    lines: list[str]
    gutter: int


class _Window(NamedTuple):
    """The part of a line that is shown, and how many cells it takes up to the marked stretch and in it."""

    text: str
    indent: int
    marked: int


def frame(source: SourceText, span: Span, width: int, style: Style, colour: str) -> Frame:
    """The frame of a place; without lines when the text no longer has the place."""
    first = span.start.line
    if first > len(source.line_starts):
        return Frame([], 1)
    line = source.line(first)
    start = min(span.start.column - 1, len(line))
    end = max(start, min(span.end.column - 1, len(line))) if span.end.line == first else len(line)
    # A lone bracket says nothing about what it opens; the next lines do.
    lone = span.end.line > first and line[start:].strip() in _OPENERS
    numbers = range(first, min(first + (_MORE_LINES if lone else 0), len(source.line_starts)) + 1)
    gutter = len(str(numbers[-1]))
    room = max(_LEAST_WIDTH, width - gutter - 3)
    window = _window(line, start, end, room)
    caret = " " * window.indent + style("^" * max(1, window.marked), colour, "bold")
    note = style(f" to line {span.end.line}", colour) if span.end.line > first else ""
    bar = style("|", "blue")
    labels = [style(str(number).rjust(gutter), "blue") for number in numbers]
    empty = f"{' ' * gutter} {bar}"
    lines = [empty, f"{labels[0]} {bar} {window.text}".rstrip(), f"{empty} {caret}{note}"]
    for label, number in zip(labels[1:], numbers[1:], strict=True):
        lines.append(f"{label} {bar} {_window(source.line(number), 0, 0, room).text}".rstrip())
    return Frame(lines, gutter)


def cells(text: str) -> int:
    """Return how many terminal cells a printable text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _cells(char: str) -> int:
    import unicodedata  # here, because most lines are plain ASCII

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _shown(char: str) -> str:
    return _TAB if char == "\t" else printable(char)


def _window(line: str, start: int, end: int, room: int) -> _Window:
    """The part of a line that is shown: the marked stretch, a part of what is before it, and what fits after it."""
    room -= 2  # for the ellipses
    marked = _fitting(line, start, end, room * 3 // 4)
    free = room - _width(line, start, marked)
    following = _width(line, marked, _fitting(line, marked, len(line), free // 3)) if marked == end else 0
    left = _fitting_back(line, start, free - following)
    free = room - _width(line, left, start)
    marked = _fitting(line, start, end, free)
    right = _fitting(line, marked, len(line), free - _width(line, start, marked)) if marked == end else marked
    cut, more = "…" if left > 0 else "", "…" if right < len(line) else ""
    visible = line[left:right]
    if _is_plain(visible) and "##" not in visible:
        return _Window(f"{cut}{visible}{more}", len(cut) + start - left, marked - start)
    pieces = [_shown(char) for char in visible]
    for match in LOG_COMMAND.finditer(line, left, right):
        pieces[match.start() + 1 - left] = "\\u0023"
    before, inside, after = ("".join(part) for part in _split(pieces, start - left, marked - left))
    return _Window(f"{cut}{before}{inside}{after}{more}", len(cut) + cells(before), cells(inside))


def _split(pieces: list[str], start: int, end: int) -> tuple[list[str], list[str], list[str]]:
    return pieces[:start], pieces[start:end], pieces[end:]


def _is_plain(text: str) -> bool:
    """Return whether every character takes one cell, as in nearly all lines."""
    return text.isascii() and text.isprintable()


def _width(line: str, start: int, end: int) -> int:
    if _is_plain(line[start:end]):
        return max(0, end - start)
    return sum(cells(_shown(char)) for char in line[start:end])


def _fitting(line: str, start: int, end: int, room: int) -> int:
    """Where to stop so that what is shown from `start` on fits."""
    if _is_plain(line[start : min(end, start + max(room, 0) + 1)]):
        return min(end, start + max(room, 0)) if end > start else end
    used = 0
    for index in range(start, end):
        used += cells(_shown(line[index]))
        if used > room:
            return index
    return end


def _fitting_back(line: str, end: int, room: int) -> int:
    """Where to begin so that what is shown up to `end` fits."""
    if _is_plain(line[max(0, end - max(room, 0) - 1) : end]):
        return max(0, end - max(room, 0))
    used = 0
    for index in range(end - 1, -1, -1):
        used += cells(_shown(line[index]))
        if used > room:
            return index + 1
    return 0
