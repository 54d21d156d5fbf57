"""A compiled workflow as a diagram: what runs after what, under which condition, how often."""

from __future__ import annotations

import json
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

FORMATS = ("mermaid", "dot", "svg", "html")
_MAX_LABEL = 44


class Box(NamedTuple):
    """A step in the diagram."""

    id: str
    title: str
    kind: str  # step, parallel or virtual
    notes: tuple[str, ...]  # condition, gate, contract: one short line each


class Frame(NamedTuple):
    """A loop and the steps of its body."""

    id: str
    title: str
    rule: str  # how often, in words
    notes: tuple[str, ...]
    boxes: tuple[Box, ...]


Item = Box | Frame


def diagram(ir: dict[str, Any]) -> list[Item]:
    """The items of a workflow from top to bottom."""
    return [_frame(step) if step["type"] == "loop" else _box(step) for step in ir["steps"]]


def render(ir: dict[str, Any], form: str) -> str:
    items = diagram(ir)
    match form:
        case "mermaid":
            return _mermaid(items)
        case "dot":
            return _dot(items, str(ir["name"]))
        case "svg":
            return _svg(items, str(ir["name"]))
        case _:
            return _html(items, ir)


def _box(step: dict[str, Any]) -> Box:
    virtual = step["provenance"]["source"] == "virtual"
    kind = "virtual" if virtual else ("parallel" if step["type"] == "parallel" else "step")
    return Box(step["id"], step["title"], kind, tuple(_notes(step)))


def _frame(step: dict[str, Any]) -> Frame:
    body = tuple(_box(inner) for inner in step["body"])
    return Frame(step["id"], step["title"], _loop_rule(step["loop"]), tuple(_notes(step)), body)


def _notes(step: dict[str, Any]) -> list[str]:
    notes = []
    if "runCondition" in step:
        notes.append(f"if {condition_text(step['runCondition'])}")
    confirmation = step["confirmation"]
    if confirmation["kind"] != "never":
        who = "a person" if confirmation["gate"] == "human_approval" else "the coordinator"
        when = f" if {condition_text(confirmation['condition'])}" if "condition" in confirmation else ""
        notes.append(f"confirmed by {who}{when}")
    output = step.get("output", {})
    if "contract" in output:
        notes.append(f"hands in {output['contract']['ref']}")
    if "assessments" in output:
        notes.append(f"assessed: {', '.join(output['assessments']['refs'])}")
    notes += [f"delegates to {item['workflowId']}" for item in step.get("delegations", ())]
    return notes


def _loop_rule(loop: dict[str, Any]) -> str:
    source = loop["source"]
    limit = f"at most {loop['maxIterations']} times"
    match source["kind"]:
        case "count":
            return f"{source.get('count', source.get('variable'))} times, {limit}"
        case "items":
            return f"for each of {source['variable']}, {limit}"
        case "condition":
            return f"{loop['kind']} {condition_text(source['condition'])}, {limit}"
        case "artifact":
            return f"until an artifact says stop, {limit}"
        case _:
            return limit


_OPERATORS = {
    "equals": "is",
    "not_equals": "is not",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "contains": "contains",
    "in": "is one of",
}


def condition_text(condition: Any, depth: int = 0) -> str:
    """A condition in words; one that nests deeply is cut short."""
    if not isinstance(condition, dict) or not condition:
        return "always"
    if depth > 3:
        return "…"
    if "var" in condition:
        for name, word in _OPERATORS.items():
            if name in condition:
                return f"{condition['var']} {word} {json.dumps(condition[name], ensure_ascii=False)}"
        return f"{condition['var']} is set"
    if "not" in condition:
        return f"not ({condition_text(condition['not'], depth + 1)})"
    for name in ("and", "or"):
        if name in condition:
            parts = [condition_text(item, depth + 1) for item in condition[name]]
            return f" {name} ".join(parts) if parts else ("always" if name == "and" else "never")
    return "always"


def _short(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MAX_LABEL else line[: _MAX_LABEL - 1] + "…"


# -- text forms -------------------------------------------------------------------------------------------------------


def _mermaid(items: list[Item]) -> str:
    lines = ["flowchart TD"]
    for number, item in enumerate(items):
        if isinstance(item, Box):
            lines.append(f"  {_mermaid_box(f'n{number}', item)}")
            continue
        lines.append(f'  subgraph n{number}["{_mermaid_text(item.title, item.rule, *item.notes)}"]')
        for inner, box in enumerate(item.boxes):
            lines.append(f"    {_mermaid_box(f'n{number}_{inner}', box)}")
        lines += [f"    n{number}_{inner} --> n{number}_{inner + 1}" for inner in range(len(item.boxes) - 1)]
        lines.append("  end")
    lines += [f"  n{number} --> n{number + 1}" for number in range(len(items) - 1)]
    return "\n".join(lines) + "\n"


def _mermaid_box(name: str, box: Box) -> str:
    text = _mermaid_text(box.title, *box.notes)
    match box.kind:
        case "parallel":
            return f'{name}[["{text}"]]'
        case "virtual":
            return f'{name}(["{text}"])'
        case _:
            return f'{name}["{text}"]'


def _mermaid_text(*lines: str) -> str:
    return "<br/>".join(escape(_short(line)).replace("#", "#35;") for line in lines)


def _dot(items: list[Item], name: str) -> str:
    lines = [f"digraph {_quoted(_short(name))} {{", "  node [shape=box, style=rounded];", "  compound=true;"]
    ends: list[tuple[str, str, str]] = []  # first node, last node, cluster
    for number, item in enumerate(items):
        if isinstance(item, Box):
            lines.append(f"  n{number} [label={_quoted(_dot_text(item.title, *item.notes))}];")
            ends.append((f"n{number}", f"n{number}", ""))
            continue
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(_dot_text(item.title, item.rule, *item.notes))};")
        for inner, box in enumerate(item.boxes):
            lines.append(f"    n{number}_{inner} [label={_quoted(_dot_text(box.title, *box.notes))}];")
        lines += [f"    n{number}_{inner} -> n{number}_{inner + 1};" for inner in range(len(item.boxes) - 1)]
        lines.append("  }")
        ends.append((f"n{number}_0", f"n{number}_{len(item.boxes) - 1}", f"cluster_{number}"))
    for (_, last, tail), (first, _, head) in pairwise(ends):
        options = [f"{word}={cluster}" for word, cluster in (("ltail", tail), ("lhead", head)) if cluster]
        lines.append(f"  {last} -> {first}{' [' + ', '.join(options) + ']' if options else ''};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _dot_text(*lines: str) -> str:
    return "\n".join(_short(line) for line in lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# -- drawings ---------------------------------------------------------------------------------------------------------

_WIDTH, _PAD, _LINE, _GAP = 400, 12, 18, 26
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.t{font-weight:600}.n{fill:#57606a;font-size:12px}"
    ".step{fill:#ddf4ff;stroke:#0969da}.parallel{fill:#fff8c5;stroke:#9a6700}.virtual{fill:#f6f8fa;stroke:#8c959f;"
    "stroke-dasharray:4 3}.loop{fill:#dafbe1;fill-opacity:.45;stroke:#1a7f37}.arrow{stroke:#57606a;fill:none}"
)


class _Canvas:
    """Boxes from top to bottom; keeps the height as it goes."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = _PAD

    def box(self, x: int, width: int, kind: str, ident: str, lines: list[str]) -> None:
        height = _PAD + _LINE * len(lines)
        self.parts.append(
            f'<g><title>{escape(ident)}</title><rect class="{kind}" x="{x}" y="{self.y}" width="{width}" '
            f'height="{height}" rx="8"/>'
        )
        for number, line in enumerate(lines):
            y = self.y + _LINE * (number + 1)
            self.parts.append(
                f'<text class="{"n" if number else "t"}" x="{x + _PAD}" y="{y}">{escape(_short(line))}</text>'
            )
        self.parts.append("</g>")
        self.y += height

    def arrow(self) -> None:
        middle = _PAD + _WIDTH // 2
        self.parts.append(
            f'<path class="arrow" marker-end="url(#tip)" d="M{middle} {self.y + 2}V{self.y + _GAP - 4}"/>'
        )
        self.y += _GAP

    def frame(self, frame: Frame) -> None:
        top, slot = self.y, len(self.parts)
        self.y += _LINE * (2 + len(frame.notes)) + _PAD
        for number, box in enumerate(frame.boxes):
            if number:
                self.arrow()
            self.box(2 * _PAD + _PAD, _WIDTH - 4 * _PAD, box.kind, box.id, [box.title, *box.notes])
        self.y += _PAD
        lines = [frame.title, frame.rule, *frame.notes]
        texts = "".join(
            f'<text class="{"n" if number else "t"}" x="{2 * _PAD}" y="{top + _LINE * (number + 1)}">'
            f"{escape(_short(line))}</text>"
            for number, line in enumerate(lines)
        )
        self.parts.insert(
            slot,
            f'<g><title>{escape(frame.id)}</title><rect class="loop" x="{_PAD}" y="{top}" width="{_WIDTH}" '
            f'height="{self.y - top}" rx="12"/>{texts}</g>',
        )


def _svg(items: list[Item], name: str) -> str:
    canvas = _Canvas()
    for number, item in enumerate(items):
        if number:
            canvas.arrow()
        if isinstance(item, Frame):
            canvas.frame(item)
        else:
            canvas.box(_PAD, _WIDTH, item.kind, item.id, [item.title, *item.notes])
    width, height = _WIDTH + 2 * _PAD, canvas.y + _PAD
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(_short(name))}"><style>{_STYLE}</style><defs><marker id="tip" '
        'markerWidth="8" markerHeight="8" refX="5" refY="4" orient="auto"><path d="M0 0L6 4L0 8z" fill="#57606a"/>'
        f"</marker></defs>{''.join(canvas.parts)}</svg>\n"
    )


def _html(items: list[Item], ir: dict[str, Any]) -> str:
    title = escape(str(ir["name"]))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{title}</title><style>body{{font:15px system-ui,sans-serif;margin:2rem;'
        "color:#1f2328;background:#fff}code{color:#57606a}</style></head><body>"
        f"<h1>{title}</h1><p>{escape(str(ir['description']))}</p>"
        f"<p><code>{escape(str(ir['workflowId']))} {escape(str(ir['version']))}</code></p>"
        f"{_svg(items, str(ir['name']))}</body></html>\n"
    )
