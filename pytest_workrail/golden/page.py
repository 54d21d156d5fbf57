"""Changes of goldens as one page for a browser: every change once, before and after side by side, word by word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from pytest_workrail.golden.causes import Group, headline
from pytest_workrail.golden.decisions import PendingChanges
from pytest_workrail.golden.show import Mark, Span, spans, spans_by_line
from workrail_lint.base.terminal import printable
from workrail_lint.base.wording import counted

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


def page(changes: PendingChanges, groups: Sequence[Group]) -> str:
    """The page, in one file that loads nothing."""
    goldens = {name for group in groups for name in group.goldens}
    title = f"{counted(len(groups), 'change')} in {counted(len(goldens), 'golden')}"
    contents = "".join(
        f'<li><a href="#{group.key.id}">{_text(headline(group.difference))}</a>, '
        f"in {counted(len(group.goldens), 'run')}</li>"
        for group in groups
    )
    others = [each for each in changes.proposals if each.problem]
    remarks = "".join(f"<li><code>{_text(each.name)}</code>: {_text(each.problem)}</li>" for each in others)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n<nav><ol>{contents}</ol></nav>\n"
        + "\n".join(map(_section, groups))
        + (f"<section><h2>Can't be accepted</h2><ul>{remarks}</ul></section>" if remarks else "")
        + "\n</body></html>\n"
    )


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
    """Both sides line by line; what is far from any change is left out."""
    lines = spans_by_line(whole)
    touched = [number for number, line in enumerate(lines) if any(span.mark != "same" for span in line)]
    shown: list[str] = []
    is_folded = False
    for number, line in enumerate(lines):
        if all(abs(number - near) > _CONTEXT for near in touched):
            if not is_folded:
                shown.append('<tr class="fold"><td>⋮</td><td>⋮</td></tr>')
            is_folded = True
            continue
        is_folded = False
        shown.append(f"<tr><td>{_side(line, 'gone', 'del')}</td><td>{_side(line, 'come', 'ins')}</td></tr>")
    return "".join(shown)


def _side(line: Iterable[Span], mark: Mark, element: str) -> str:
    """One side of a line: what stayed, and what is on this side alone."""
    return "".join(
        f"<{element}>{_text(span.text)}</{element}>" if span.mark == mark else _text(span.text)
        for span in line
        if span.mark in ("same", mark)
    )


def _text(text: str) -> str:
    return escape(printable(text))
