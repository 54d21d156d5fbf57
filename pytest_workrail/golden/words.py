"""Two versions of a text, word by word: what stayed, what went and what came."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from workrail_lint.base.typed import NamedTuple

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_IS_WORD = re.compile(r"\w+")
# Comparing every word with every other one takes its time, and nobody reads such a change word by word.
_MOST_PAIRS = 1_000_000


class Piece(NamedTuple):
    """A part of the text before and after; the same in both where nothing was edited."""

    old: str
    new: str

    @property
    def is_edit(self) -> bool:
        return self.old != self.new


@lru_cache(maxsize=512)
def pieces(old: str, new: str) -> tuple[Piece, ...]:
    """Both texts in pieces, in order. First by lines, then by words within the lines that changed."""
    found: list[Piece] = []
    before, after = _LINE.findall(old), _LINE.findall(new)
    for i, j in _blocks(before, after):
        if i == j:
            found.append(Piece("".join(i), "".join(j)))
        else:
            found += _words("".join(i), "".join(j))
    return tuple(_tidied(found))


def edits(old: str, new: str) -> tuple[Piece, ...]:
    """What was edited, without what stayed."""
    return tuple(piece for piece in pieces(old, new) if piece.is_edit)


def word_count(changes: Iterable[Piece]) -> int:
    """How many words some edits touch: those that went or those that came, whichever are more."""
    return sum(max(1, len(_IS_WORD.findall(each.old)), len(_IS_WORD.findall(each.new))) for each in changes)


def _words(old: str, new: str) -> Iterator[Piece]:
    before, after = _WORD.findall(old), _WORD.findall(new)
    changed = [(a, b) for a, b in _blocks(before, after) if a != b]
    touched = max(sum(len(a) for a, _ in changed), sum(len(b) for _, b in changed))
    # Where hardly a word stayed, crumbs of the old text between those of the new one can't be read.
    if 2 * touched > max(len(before), len(after)) and len(changed) > 2:
        yield Piece(old, new)
        return
    for a, b in _blocks(before, after):
        yield Piece("".join(a), "".join(b))


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Items that stayed and items that changed, in turns."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    yield old[:start], new[:start]
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if len(middle_old) * len(middle_new) > _MOST_PAIRS:
        yield middle_old, middle_new
    else:
        for _, i1, i2, j1, j2 in SequenceMatcher(None, middle_old, middle_new, False).get_opcodes():
            yield middle_old[i1:i2], middle_new[j1:j2]
    yield old[len(old) - end :], new[len(new) - end :]


def _tidied(found: Iterable[Piece]) -> list[Piece]:
    """No empty pieces; edits with nothing but white space between them are one edit."""
    made: list[Piece] = []
    for piece in found:
        if piece == ("", ""):
            continue
        if made and made[-1].is_edit == piece.is_edit:
            made[-1] = Piece(made[-1].old + piece.old, made[-1].new + piece.new)
        elif piece.is_edit and len(made) > 1 and made[-1].old.strip() == "" and "\n" not in made[-1].old:
            gap, last = made.pop(), made.pop()
            made.append(Piece(last.old + gap.old + piece.old, last.new + gap.new + piece.new))
        else:
            made.append(piece)
    return made
