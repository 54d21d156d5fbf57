"""The page: shell, script, style and data in one file that loads nothing and lets nothing else in."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import chain
from typing import Any
from urllib.parse import quote

from workrail_lint.base.files import read_shipped
from workrail_lint.base.html import html_page
from workrail_lint.base.version import VERSION
from workrail_lint.studio.inputs import Inputs
from workrail_lint.studio.page_data import Data, PackedWorkflows, ProjectView, Reports
from workrail_lint.studio.project import project_data
from workrail_lint.studio.workflow import Source, program_view
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.model.ir import Program

_WEB = os.path.join(os.path.dirname(__file__), "web")
# The modules of the script, in the order in which they need each other.
MODULES = (
    *("dom", "words", "store", "live", "outcomes", "layers", "panel", "graph", "worklists", "runs", "charts", "front"),
    *("goldens", "catalog", "rules", "search", "app"),
)
# Modules with a style of their own.
STYLES = ("runs", "charts", "goldens")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
# Comments and indentation are for those who read the sources; the page has no use for them.
_COMMENT = re.compile(r"/\*\*[\s\S]*?\*/ ?|^ *//.*\n", re.MULTILINE)
_INDENTATION = re.compile(r"^\s+", re.MULTILINE)
# What is quoted: a string, a template, which may hold another one, or a regular expression.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_TEMPLATE_TEXT = r"[^`\\$]|\\.|\$(?!\{)"
_TEMPLATE_CODE = r"[^{}`]|\{[^{}`]*\}"
_INNER = rf"`(?:{_TEMPLATE_TEXT}|\$\{{(?:{_TEMPLATE_CODE})*\}})*`"
_TEMPLATE = rf"`(?:{_TEMPLATE_TEXT}|\$\{{(?:{_TEMPLATE_CODE}|{_INNER})*\}})*`"
_PATTERN = r"(?<=[(,=:!?&|;\n ])/(?![/* ])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
# Signs that need no space around them; after the first ones no new line either.
_SCRIPT_SPACE = re.compile(rf"({_STRING}|{_TEMPLATE}|{_PATTERN})| *([;,({{\[]) *\n?| *([*/%=<>!?:.)}}\]&|]) *")
_EXPORT = re.compile(r"^export (?=async |function|const|let|class)", re.MULTILINE)
_STYLE_SPACE = re.compile(r"\s*;?\s*(\})\s*|\s*([{;])\s*|(?<=[a-z-])(:) |(,)\s+")


def page(data: dict[str, Any], title: str) -> str:
    """Return the whole page as text. The same data gives the same bytes."""
    return page_bytes(data, title).decode()


def goldens_page(goldens: Data, title: str) -> bytes:
    """Return a page of one view: pending changes of goldens, as `workrail-test golden diff --json` prints them."""
    pending = Inputs(goldens=goldens).redacted.pending_goldens
    view = ProjectView(title, VERSION, None, {}, PackedWorkflows(has_revision=False), [], pending, [], None)
    return page_bytes({**view.as_json(), "views": ["goldens"]}, title)


def mutants_page(sources: Sequence[Source], report: Data, catalog: Catalog, title: str) -> bytes:
    """Return a page of one layer: what `workrail-test mutate --json` found out about workflows."""
    data = project_data(title, sources, Inputs(mutation=report), catalog)
    idents = [workflow["id"] for workflow in data["workflows"]]
    return page_bytes({**data, "catalog": [], **_one_layer(idents, "mutants")}, title)


def sessions_page(pins: Iterable[tuple[str, Program]], inputs: Inputs, title: str) -> bytes:
    """Return a page of sessions, or of counts over them, on the workflows that they were pinned to, by hash."""
    inputs = inputs.redacted
    workflows = PackedWorkflows(has_revision=False)
    hashes = {}
    for pin_hash, program in pins:
        view = program_view(program, pin_hash)
        view.reports = Reports(None, None, inputs.sessions_of(view.id, {pin_hash}), None, None)
        workflows.add(view)
        hashes[view.id] = pin_hash
    runs = [{**run, "stale": run["hash"] != hashes.get(run["workflow"])} for run in inputs.runs]
    data = ProjectView(title, VERSION, None, {}, workflows, runs, None, [], None).as_json()
    if runs or not hashes:
        start = {"start": f"~run/{quote(runs[0]['name'], safe='')}"} if len(runs) == 1 else {}
        return page_bytes({**data, "views": ["runs", "run"], **start}, title)
    return page_bytes({**data, **_one_layer([*hashes], "sessions")}, title)


def _one_layer(idents: Sequence[str], layer: str) -> Data:
    """Return what makes a page one of a single layer; with one workflow it begins there."""
    if len(idents) != 1:
        return {"views": ["front", "workflow"], "layer": layer}
    return {"views": ["workflow"], "layer": layer, "start": f"{quote(idents[0], safe='')}?layer={layer}"}


def page_bytes(data: dict[str, Any], title: str) -> bytes:
    """Return the whole page as bytes, which are in memory only once."""
    modules = modules_for(data)
    script, style = script_text(modules), style_text(modules)
    # A watched page looks at its own file in a frame; no other page loads anything.
    frames = "file: 'self'" if data.get("watched") else ""
    start = '<script type="application/json" id="data">'
    body = (
        '<div id="app"></div><noscript>This page needs JavaScript. It loads nothing from the network.</noscript>'
        f"{start}</script>"
    )
    shell = html_page(f"{title} - studio", style, body, script=script, frames=frames)
    before, marker, after = shell.partition(start)
    return _joined(chain((before, marker), script_pieces(data), (after,)))


def script_bytes(data: dict[str, Any]) -> bytes:
    """Return JSON in ASCII that is safe inside a script element."""
    return _joined(script_pieces(data))


def script_pieces(data: dict[str, Any]) -> Iterator[str]:
    """Yield that JSON in pieces, so that only one of many workflows is in memory as text."""
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


def modules_for(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules that a page needs: views that have nothing to show are left out."""
    runs = data.get("runs") or ()
    needed = {
        "runs": bool(runs),
        "charts": any(run["kind"] in ("team", "blocks") for run in runs),
        "goldens": data.get("goldens") is not None,
        "catalog": bool(data.get("catalog") or data.get("locks")),
    }
    return tuple(name for name in MODULES if needed.get(name, True))


def style_text(modules: Collection[str] = MODULES) -> str:
    """Return the style of a page, without the spaces that only its readers need."""
    names = ("style", *(name for name in STYLES if name in modules))
    text = "".join(read_shipped(os.path.join(_WEB, f"{name}.css")).decode() for name in names)
    return _STYLE_SPACE.sub(lambda match: match[match.lastindex or 0], _COMMENT.sub("", text))


def script_text(modules: Iterable[str] = MODULES) -> str:
    """Return the modules as one script: they import only each other and every name at their top level is unique."""
    parts = []
    for name in modules:
        text = read_shipped(os.path.join(_WEB, f"{name}.js")).decode()
        parts.append(_EXPORT.sub("", _INDENTATION.sub("", _IMPORT.sub("", _COMMENT.sub("", text)))))
    script = _SCRIPT_SPACE.sub(lambda match: match[match.lastindex or 0], "".join(parts))
    return f'"use strict";(() => {{\n{script}\n}})();\n'
