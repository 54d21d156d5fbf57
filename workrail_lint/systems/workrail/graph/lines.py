"""Text for boxes: harmless, and broken into lines that fit."""

from __future__ import annotations

import unicodedata
from html import escape

_MOST_LINES = 6
# Letters that take about twice the room of others.
_BROAD = frozenset("mwMW@%")


def clean(text: str) -> str:
    """One line without anything that moves a cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def markup(text: str) -> str:
    """Text for HTML and SVG. What can't be printed is left out: XML forbids most of it."""
    return escape(clean(text))


def fitted(text: str, columns: int) -> list[str]:
    """Lines of at most so many columns. A text that needs too many ends with an ellipsis."""
    lines, line, used = [], "", 0
    for word in clean(text).split(" "):
        for piece in _pieces(word, columns):
            width = _width(piece)
            if line and used + 1 + width > columns:
                lines.append(line)
                line, used = piece, width
            else:
                line, used = (f"{line} {piece}", used + 1 + width) if line else (piece, width)
    lines.append(line)
    return lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1]} …"]


def _pieces(word: str, columns: int) -> list[str]:
    """A word, cut where it is longer than a line."""
    pieces, piece, used = [], "", 0
    for character in word:
        width = _width(character)
        if used + width > columns:
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + character, used + width
    return [*pieces, piece]


def _width(text: str) -> int:
    return sum(2 if c in _BROAD or unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
