"""The page: shell, script, style and data in one file that loads nothing and lets nothing else in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain
from typing import Any

from workrail_lint.base.files import read_shipped
from workrail_lint.base.html import html_page
from workrail_lint.studio.page_data import PackedWorkflows

_WEB = os.path.join(os.path.dirname(__file__), "web")
# In the order in which they need each other.
MODULES = ("dom", "words", "store", "layers", "graph", "panel", "runs", "front", "goldens", "catalog", "app")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
# Comments and indentation are for those who read the sources; the page has no use for them.
_COMMENT = re.compile(r"/\*\*[\s\S]*?\*/ ?|^ *//.*\n", re.MULTILINE)
_INDENTATION = re.compile(r"^\s+", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=function|const|let|class)", re.MULTILINE)


def page(data: dict[str, Any], title: str) -> str:
    """The whole page as text. The same data gives the same bytes."""
    return page_bytes(data, title).decode()


def page_bytes(data: dict[str, Any], title: str) -> bytes:
    """The same as bytes, which are in memory once."""
    script, style = _script(), _INDENTATION.sub("", read_shipped(os.path.join(_WEB, "style.css")).decode())
    # A watched page looks at its own file in a frame; no other page loads anything.
    frames = "file: 'self'" if data.get("watched") else ""
    start = '<script type="application/json" id="data">'
    body = (
        '<div id="app"></div><noscript>This page needs JavaScript. It loads nothing from the network.</noscript>'
        f"{start}</script>"
    )
    before, marker, after = html_page(f"{title} - studio", style, body, script=script, frames=frames).partition(start)
    return _joined(chain((before, marker), script_pieces(data), (after,)))


def script_bytes(data: dict[str, Any]) -> bytes:
    """JSON in ASCII that can stand inside a script element."""
    return _joined(script_pieces(data))


def script_pieces(data: dict[str, Any]) -> Iterator[str]:
    """Yield the same in pieces, so that a page of many workflows is made of one at a time."""
    separator = "{"
    for name, value in data.items():
        yield f"{separator}{_script_json(name)}:"
        if isinstance(value, PackedWorkflows):
            yield from (f"{',' if number else '['}{_script_json(each)}" for number, each in enumerate(value))
            yield "]" if value else "[]"
        else:
            yield _script_json(value)
        separator = ","
    yield "}" if data else "{}"


def _script_json(value: Any) -> str:
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _joined(pieces: Iterable[str]) -> bytes:
    content = BytesIO()
    for piece in pieces:
        content.write(piece.encode())
    return content.getvalue()


def _script() -> str:
    """The modules as one script: they import only each other and every name at their top level is unique."""
    parts = []
    for name in MODULES:
        text = read_shipped(os.path.join(_WEB, f"{name}.js")).decode()
        parts.append(_EXPORT.sub("", _INDENTATION.sub("", _IMPORT.sub("", _COMMENT.sub("", text)))))
    return f'"use strict";(() => {{\n{"".join(parts)}\n}})();\n'
