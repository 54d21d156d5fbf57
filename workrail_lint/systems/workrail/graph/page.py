"""A workflow as a page: the drawing, and beside it what the agent is told at each step."""

from __future__ import annotations

from html import escape
from typing import Any

from workrail_lint.systems.workrail.graph.drawing import svg
from workrail_lint.systems.workrail.graph.items import Box, Frame, Item
from workrail_lint.systems.workrail.graph.lines import markup

_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;"
    "padding:0 1rem;overflow-wrap:anywhere}code,.notes{color:GrayText}"
    "main{display:flex;flex-wrap:wrap;gap:2rem;align-items:flex-start}"
    "main>svg{flex:none;max-width:100%;height:auto}section{flex:1 1 25rem;min-width:0}"
    "summary{cursor:pointer;font-weight:600}.loop{border-left:3px solid #1a7f37;padding-left:1rem;margin:.5rem 0}"
    "pre{white-space:pre-wrap;border:1px solid;border-color:GrayText;border-radius:6px;"
    "padding:.75rem}ul{margin:.25rem 0}"
)


def html(items: list[Item], ir: dict[str, Any]) -> str:
    """One file that needs nothing else: no script, no address."""
    title = markup(ir["name"])
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{title}</title><style>{_STYLE}</style></head><body>'
        f"<h1>{title}</h1><p>{markup(ir['description'])}</p>"
        f"<p><code>{markup(ir['workflowId'])} {markup(ir['version'])}</code></p>"
        f"<main>{svg(items, ir['name'], dark=True)}"
        f"<section><h2>What the agent is told</h2>{''.join(map(_told, items))}</section></main></body></html>\n"
    )


def _told(item: Item) -> str:
    if isinstance(item, Frame):
        body = "".join(map(_told, item.boxes))
        return f'<div class="loop"><strong>{markup(item.title)}</strong>{_notes(item)}{body}</div>'
    return f"<details><summary>{markup(item.title)}</summary>{_notes(item)}{_prompt(item)}</details>"


def _notes(item: Item) -> str:
    return f'<ul class="notes">{"".join(f"<li>{markup(note)}</li>" for note in item.notes)}</ul>' if item.notes else ""


def _prompt(box: Box) -> str:
    text = "".join(c if c.isprintable() or c == "\n" else " " for c in box.prompt)
    return f"<pre>{escape(text)}</pre>"
