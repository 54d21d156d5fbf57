"""Sets of characters as ranges of code points: enough to ask whether two of them share one."""

from __future__ import annotations

from workrail_lint.base import js

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
EVERYTHING: Ranges = ((0, LAST),)
NOTHING: Ranges = ()
DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_LETTERS: Ranges = ((0x41, 0x5A), (0x61, 0x7A), (0x80, LAST))


def union(*sets: Ranges) -> Ranges:
    """Return everything that is in one of the sets, sorted and without overlaps."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for ranges in sets for pair in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    gaps: list[tuple[int, int]] = []
    start = 0
    for low, high in union(ranges):
        if low > start:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


def overlap(a: Ranges, b: Ranges) -> bool:
    """Return whether two sorted sets share a character."""
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][1] < b[j][0]:
            i += 1
        elif b[j][1] < a[i][0]:
            j += 1
        else:
            return True
    return False


def any_case(ranges: Ranges) -> Ranges:
    """Return the set with both cases of its ASCII letters; what else folds does not matter for an overlap."""
    added: list[tuple[int, int]] = []
    for low, high in ranges:
        for first, last, shift in ((0x41, 0x5A, 0x20), (0x61, 0x7A, -0x20)):
            if low <= last and high >= first:
                added.append((max(low, first) + shift, min(high, last) + shift))
    return union(ranges, tuple(added)) if added else ranges


SPACE: Ranges = union(tuple((ord(char), ord(char)) for char in js.WHITESPACE))
SHORTHANDS: dict[str, Ranges] = {
    "d": DIGITS,
    "D": complement(DIGITS),
    "w": WORD,
    "W": complement(WORD),
    "s": SPACE,
    "S": complement(SPACE),
}
DOT = complement(_LINE_ENDS)
_PUNCTUATION: Ranges = (*complement(union(WORD, SPACE, ((0, 0x1F), (0x7F, LAST)))), (0x5F, 0x5F), (0x80, LAST))
# Properties by the first letter of a general category; any other is taken for every character.
_PROPERTIES: dict[str, Ranges] = {
    "L": _LETTERS,
    "N": union(DIGITS, ((0x80, LAST),)),
    "P": union(_PUNCTUATION),
    "S": union(_PUNCTUATION),
    "Z": SPACE,
}


def of_property(expression: str, negated: bool) -> Ranges:
    """Return roughly the characters of a `\\p{…}`: a superset where it matters, which is ASCII."""
    if negated:
        return EVERYTHING
    value = expression.rpartition("=")[2]
    is_category = len(value) <= 2 or value in ("Letter", "Number", "Punctuation", "Symbol", "Separator")
    if value == "Separator":
        value = "Z"
    return _PROPERTIES.get(value[:1], EVERYTHING) if is_category else EVERYTHING
