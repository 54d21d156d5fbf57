"""Changes of goldens for people: each once, word by word, as lines of a terminal or as one page for a browser."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from pytest_workrail.golden.diff import Difference, Group, pieces
from pytest_workrail.golden.files import ENDING, FOLDER
from workrail_lint.base.terminal import Style, printable
from workrail_lint.base.wording import counted

Mark = Literal["same", "gone", "come"]
_AROUND = 50
_LONGEST = 300
_MOST_LINES = 12
_MOST_GOLDENS = 3


class Span(NamedTuple):
    """A stretch of text that stayed, went or came."""

    mark: Mark
    text: str


def spans(difference: Difference) -> list[Span]:
    """Return a difference as one text with its edits in place."""
    if difference.change == "changed" and isinstance(difference.old, str) and isinstance(difference.new, str):
        result: list[Span] = []
        for piece in pieces(difference.old, difference.new):
            if not piece.is_edit:
                result.append(Span("same", piece.old))
                continue
            result += (Span("gone", piece.old),) if piece.old else ()
            result += (Span("come", piece.new),) if piece.new else ()
        return result
    result = [] if difference.change == "added" else [Span("gone", _value(difference.old))]
    return result if difference.change == "removed" else [*result, Span("come", _value(difference.new))]


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def spans_by_line(whole: Sequence[Span]) -> list[list[Span]]:
    """Return the same, line by line."""
    lines: list[list[Span]] = [[]]
    for mark, text in whole:
        first, *others = text.split("\n")
        if first:
            lines[-1].append(Span(mark, first))
        lines += ([Span(mark, other)] if other else [] for other in others)
    return lines


def change_lines(difference: Difference, style: Style, most: int | None = _MOST_LINES, context: int = 1) -> list[str]:
    """Return the lines that changed, and some on either side of them; long ones only around what changed."""
    lines = spans_by_line(spans(difference))
    touched = {number for number, line in enumerate(lines) if any(span.mark != "same" for span in line)}
    around = range(-context, context + 1)
    kept = sorted({number + off for number in touched for off in around if 0 <= number + off < len(lines)})
    # An empty line around a change shows nothing.
    kept = [number for number in kept if lines[number] or number in touched]
    rows: list[str] = []
    for at, number in enumerate(kept):
        if at and kept[at - 1] + 1 < number and any(lines[kept[at - 1] + 1 : number]):
            rows.append("⋮")
        rows.append(_line(lines[number], number in touched, style))
    if most is not None and len(rows) > most:
        left = len(rows) - most + 1
        rows = [*rows[: most - 1], f"… and {counted(left, 'more line')}"]
    return rows


def _line(line: Sequence[Span], is_touched: bool, style: Style) -> str:
    parts: list[str] = []
    for at, (mark, text) in enumerate(line):
        if mark == "same":
            parts.append(printable(_cropped(text, at == 0, at == len(line) - 1) if is_touched else _short(text)))
            continue
        plain = printable(text)
        colour = "red" if mark == "gone" else "green"
        opening, closing = ("[-", "-]") if mark == "gone" else ("{+", "+}")
        parts.append(style(plain, colour, "bold") if style.enabled else f"{opening}{plain}{closing}")
    return "".join(parts)


def _cropped(text: str, is_first: bool, is_last: bool) -> str:
    """Return what stayed between two edits, or at an end of the line: as much of it as says where one is."""
    if len(text) <= 2 * _AROUND:
        return text
    start = "" if is_first else text[:_AROUND]
    end = "" if is_last else text[-_AROUND:]
    return f"{start}…{end}"


def _short(text: str) -> str:
    return text if len(text) <= 2 * _AROUND else f"{text[: 2 * _AROUND]}…"


def side_lines(difference: Difference, style: Style, most: int | None = _MOST_LINES) -> list[str]:
    """Return the lines of before and of now, below one another, with a line around them."""
    rows: list[str] = []
    for block in _blocks_of_change(difference):
        if block is None:
            rows.append("⋮")
        elif all(span.mark == "same" for line in block for span in line):
            rows += (f"  {_line(line, False, style)}" for line in block)
        else:
            rows += _side_rows(block, "gone", style)
            rows += _side_rows(block, "come", style)
    if most is not None and len(rows) > most:
        left = len(rows) - most + 1
        rows = [*rows[: most - 1], f"… and {counted(left, 'more line')}"]
    return rows


def _blocks_of_change(difference: Difference) -> Iterator[list[list[Span]] | None]:
    """Yield the lines that changed together, and single lines around them; None where lines are left out."""
    lines = spans_by_line(spans(difference))
    is_touched = [any(span.mark != "same" for span in line) for line in lines]
    kept = [number for number in range(len(lines)) if any(is_touched[max(0, number - 1) : number + 2])]
    last = -1
    block: list[list[Span]] = []
    for number in kept:
        if block and (number != last + 1 or not is_touched[number] or not is_touched[last]):
            yield block
            block = []
        if last >= 0 and number != last + 1:
            yield None
        if is_touched[number] or lines[number]:
            block.append(lines[number])
        last = number
    if block:
        yield block


def _side_rows(block: Sequence[Sequence[Span]], side: Mark, style: Style) -> Iterator[str]:
    """Yield one side of lines that changed: a line that only came or only went is on one side alone."""
    sign, colour = ("-", "red") if side == "gone" else ("+", "green")
    for line in block:
        whole = [span for span in line if span.mark in ("same", side)]
        if not any(span.mark == side for span in whole) and not any(
            span.mark == "same" and span.text.strip() for span in whole
        ):
            continue
        texts = []
        for at, (mark, text) in enumerate(whole):
            if mark == "same":
                texts.append(printable(_cropped(text, at == 0, at == len(whole) - 1)))
            else:
                texts.append(style(printable(text), colour, "bold"))
        yield f"{style(sign, colour)} {''.join(texts)}"


def group_lines(group: Group, style: Style, *, all_goldens: bool = False, in_full: bool = False) -> Iterator[str]:
    """Yield one change: its title, its lines before and now, and where it is."""
    yield _titled(group, style)
    yield from (f"    {line}" for line in side_lines(group.difference, style, None if in_full else _MOST_LINES))
    yield from (f"    {line}" for line in golden_names(group.goldens, all_goldens=all_goldens))


def group_summary(group: Group, style: Style) -> Iterator[str]:
    """Yield the same as short as can be, for the end of a test report."""
    yield f"{_titled(group, style)}: {''.join(golden_names(group.goldens, all_goldens=False))}"
    yield from (f"    {line}" for line in change_lines(group.difference, style, _MOST_LINES, context=0))


def _titled(group: Group, style: Style) -> str:
    return f"{style(f'[{group.key.id}]', 'bold')} {group.title}"


def golden_names(goldens: Sequence[str], *, all_goldens: bool) -> Iterator[str]:
    """Yield the goldens of a change: a few in one line, or all of them."""
    if all_goldens:
        yield from map(printable, goldens)
        return
    first, *others = goldens[:_MOST_GOLDENS]
    names = [first, *(posixpath.basename(name) if _folder(name) == _folder(first) else name for name in others)]
    left = len(goldens) - len(names)
    more = f" and {left} more" if left else ""
    yield printable(", ".join(name.removesuffix(ENDING).replace(f"{FOLDER}/", "") for name in names)) + more


def _folder(name: str) -> str:
    return posixpath.dirname(name)
