"""Changes of goldens for people: each once, word by word, as lines of a terminal or as one page for a browser."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, Literal, NamedTuple

from pytest_workrail.golden.diff import Difference, Group, headline, pieces
from pytest_workrail.golden.files import ENDING, FOLDER
from pytest_workrail.golden.pending import PendingChanges
from workrail_lint.base.html import html_page
from workrail_lint.base.terminal import Style, printable
from workrail_lint.base.wording import counted

Mark = Literal["same", "gone", "come"]
_AROUND = 50
_LONGEST = 300
_MOST_LINES = 12
_MOST_GOLDENS = 3

_STYLE = """
:root { color-scheme: light dark; --gone: #ffd7d5; --come: #ccffd8; --line: #d0d7de; --soft: #656d76; }
@media (prefers-color-scheme: dark) { :root { --gone: #67060c; --come: #033a16; --line: #444c56; --soft: #9198a1; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0; }
section { border: 1px solid var(--line); border-radius: 6px; margin: 1rem 0; padding: .8rem 1rem; }
code, pre, table { font: 13px/1.5 ui-monospace, monospace; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; margin: .6rem 0; }
th { text-align: left; color: var(--soft); font-weight: normal; }
td { vertical-align: top; padding: 0 .5rem; white-space: pre-wrap; overflow-wrap: anywhere; width: 50%; }
td + td, th + th { border-left: 1px solid var(--line); padding-left: .5rem; }
del { background: var(--gone); text-decoration: none; border-radius: 2px; }
ins { background: var(--come); text-decoration: none; border-radius: 2px; }
.id, summary, nav { color: var(--soft); } nav li { margin: .1rem 0; } .fold td { color: var(--soft); }
"""
_CONTEXT = 2


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


def group_lines(group: Group, style: Style, *, all_goldens: bool = False, in_full: bool = False) -> Iterator[str]:
    """Yield one change: its title, its words with a line around them, and where it is."""
    yield _titled(group, style)
    yield from (f"    {line}" for line in change_lines(group.difference, style, None if in_full else _MOST_LINES))
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


def page(changes: PendingChanges, groups: Sequence[Group]) -> str:
    """Return the page, in one file that loads nothing."""
    goldens = {name for group in groups for name in group.goldens}
    title = f"{counted(len(groups), 'change')} in {counted(len(goldens), 'golden')}"
    contents = "".join(
        f'<li><a href="#{group.key.id}">{_text(headline(group.difference))}</a>, '
        f"in {counted(len(group.goldens), 'run')}</li>"
        for group in groups
    )
    others = [each for each in changes.proposals if each.problem]
    remarks = "".join(f"<li><code>{_text(each.name)}</code>: {_text(each.problem)}</li>" for each in others)
    body = (
        f"\n<h1>{title}</h1>\n<nav><ol>{contents}</ol></nav>\n"
        + "\n".join(map(_section, groups))
        + (f"<section><h2>Can't be accepted</h2><ul>{remarks}</ul></section>\n" if remarks else "\n")
    )
    return html_page(title, _STYLE, body)


def _section(group: Group) -> str:
    names = "".join(f"<li><code>{_text(name)}</code></li>" for name in group.goldens)
    title = f'{_text(headline(group.difference))} <span class="id">{group.key.id}</span>'
    return (
        f'<section id="{group.key.id}"><h2>{title}</h2>'
        f'<div class="id">{_text(group.key.workflow)} <code>{_text(group.difference.pointer)}</code></div>'
        "<table><thead><tr><th>golden</th><th>this run</th></tr></thead>"
        f"<tbody>{_rows(spans(group.difference))}</tbody></table>"
        f"<details><summary>{counted(len(group.goldens), 'run')}</summary><ul>{names}</ul></details></section>"
    )


def _rows(whole: Sequence[Span]) -> str:
    """Return both sides line by line; what is far from any change is left out."""
    lines = spans_by_line(whole)
    touched = [number for number, line in enumerate(lines) if any(span.mark != "same" for span in line)]
    rows: list[str] = []
    is_folded = False
    for number, line in enumerate(lines):
        if all(abs(number - near) > _CONTEXT for near in touched):
            if not is_folded:
                rows.append('<tr class="fold"><td>⋮</td><td>⋮</td></tr>')
            is_folded = True
            continue
        is_folded = False
        rows.append(f"<tr><td>{_side(line, 'gone', 'del')}</td><td>{_side(line, 'come', 'ins')}</td></tr>")
    return "".join(rows)


def _side(line: Iterable[Span], mark: Mark, element: str) -> str:
    """Return one side of a line: what stayed, and what is on this side alone."""
    return "".join(
        f"<{element}>{_text(span.text)}</{element}>" if span.mark == mark else _text(span.text)
        for span in line
        if span.mark in ("same", mark)
    )


def _text(text: str) -> str:
    return escape(printable(text))
