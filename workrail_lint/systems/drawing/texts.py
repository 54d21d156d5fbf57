"""The words of a drawing: one line without control characters, and lines that fit into a box."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache

MOST_LINES = 6
_ELLIPSIS = "…"
# Hundredths of the font size that a letter takes, larger than in any usual font, so that texts fit on every machine.
_NARROW, _NORMAL, _CAPITAL, _BROAD, _FULL = 32, 56, 68, 92, 100
_NARROW_LETTERS = frozenset("ijl.,:;'|!()[]")
_BROAD_LETTERS = frozenset("mwMW@%—")

Width = Callable[[str], int]


def clean(text: str) -> str:
    """Return one line without anything that moves a cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return sum(2 if c in "mwMW@%" or unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pixels(text: str, size: int) -> int:
    """Return how wide a text is at a font size, rounded up."""
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
    """Return lines that take at most so much room. A text that needs too many lines ends with an ellipsis."""
    lines, line, used, blank = [], "", 0, width(" ")
    for word in clean(text).split(" "):
        for piece in _pieces(word, room, width):
            needed = width(piece)
            if line and used + blank + needed > room:
                lines.append(line)
                line, used = piece, needed
            else:
                line, used = (f"{line} {piece}", used + blank + needed) if line else (piece, needed)
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
    """Return a word, cut where it is longer than a line."""
    if width(word) <= room:
        return [word]
    pieces, piece, used = [], "", 0
    for character in word:
        needed = width(character)
        if piece and used + needed > room:
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + character, used + needed
    return [*pieces, piece]
