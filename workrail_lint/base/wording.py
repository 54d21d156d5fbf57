"""Numbers, names and lists inside sentences, and columns of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

_LEAST_ROOM = 20


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def folded(text: str, width: int | None, first: int, rest: int, cells: Callable[[str], int] = len) -> list[str]:
    """Return a text as lines of whole words, where `first` and `rest` cells are taken before the first and the others.

    Without a width, or where too little of it is left to read well, it is one line. The first line is empty if no word
    fits on it.
    """
    if width is None or width - rest < _LEAST_ROOM:
        return [text]
    lines, room = [""], width - first
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(longer) > room and (lines[-1] or (len(lines) == 1 and first > rest)):
            lines.append(word)
            room = width - rest
        else:
            lines[-1] = longer
    return lines


def article(number: int) -> str:
    """Return the article before a number: `an` 8, `an` 11, `an` 18, `an` 80, `a` 12."""
    return "an" if number in (11, 18) or str(number).startswith("8") else "a"


def listed(words: Iterable[str], last: str = "and") -> str:
    """Return words as a list in a sentence: `a, b and c`."""
    *head, tail = list(words) or [""]
    return f"{', '.join(head)} {last} {tail}" if head else tail


# Of more names than this only the first are shown, or each of many findings would repeat them all.
_MOST_NAMES = 30


def quoted(text: object, longest: int | None = None) -> str:
    """Return author text for a message: quoted, on one line, with control characters visible, cut when it is long."""
    whole = str(text)
    if longest is not None and len(whole) > longest:
        whole = f"{whole[: longest - 1]}…"
    return f"'{_on_one_line(whole)}'"


def name_list(names: Iterable[object]) -> str:
    """Return known names inside a message."""
    known = list(names)
    more = f" and {len(known) - _MOST_NAMES} more" if len(known) > _MOST_NAMES else ""
    return ", ".join(_on_one_line(str(name)) for name in known[:_MOST_NAMES]) + more if known else "(none)"


def columns(rows: Sequence[Sequence[str]], *, numbers: bool = False) -> list[str]:
    """Return rows as lines with columns of one width; with `numbers`, all but the first end at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if numbers and at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _on_one_line(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
