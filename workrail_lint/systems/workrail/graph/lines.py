"""Text for boxes: harmless, and broken into lines that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from html import escape

MOST_LINES = 6
_ELLIPSIS = "…"
# Hundredths of the font size that a letter takes, larger than in any usual font, so that texts fit on every machine.
_NARROW, _NORMAL, _CAPITAL, _BROAD, _FULL = 32, 56, 68, 92, 100
_NARROW_LETTERS = frozenset("ijl.,:;'|!()[]")
_BROAD_LETTERS = frozenset("mwMW@%—")

Width = Callable[[str], int]


def clean(text: str) -> str:
    """One line without anything that moves a cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def markup(text: str) -> str:
    """Text for HTML and SVG. What can't be printed is left out: XML forbids most of it."""
    return escape(clean(text))


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(2 if c in "mwMW@%" or unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pixels(text: str, size: int) -> int:
    """How wide a text is at a font size, rounded up."""
    return -(-sum(map(_letter, text)) * size // 100)


@lru_cache(maxsize=4096)
def _letter(letter: str) -> int:
    if letter in _NARROW_LETTERS:
        return _NARROW
    if letter in _BROAD_LETTERS:
        return _BROAD
    if unicodedata.east_asian_width(letter) in "WF" or ord(letter) > 0x2E80:
        return _FULL
    return _CAPITAL if letter.isupper() else _NORMAL


def fitted(text: str, room: int, width: Width = columns, most: int = MOST_LINES) -> list[str]:
    """Lines that take at most so much room. A text that needs too many lines ends with an ellipsis."""
    lines, line, used, blank = [], "", 0, width(" ")
    for word in clean(text).split(" "):
        for piece in _pieces(word, room, width):
            taken = width(piece)
            if line and used + blank + taken > room:
                lines.append(line)
                line, used = piece, taken
            else:
                line, used = (f"{line} {piece}", used + blank + taken) if line else (piece, taken)
            if len(lines) > most:
                break
    lines.append(line)
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and width(f"{last} {_ELLIPSIS}") > room:
        last = last.rpartition(" ")[0] or last[:-1]
    return [*lines[: most - 1], f"{last} {_ELLIPSIS}".lstrip()]


def _pieces(word: str, room: int, width: Width) -> list[str]:
    """A word, cut where it is longer than a line."""
    if width(word) <= room:
        return [word]
    pieces, piece, used = [], "", 0
    for character in word:
        taken = width(character)
        if piece and used + taken > room:
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + character, used + taken
    return [*pieces, piece]
