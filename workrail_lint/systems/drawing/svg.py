"""A drawing as SVG, which needs nothing else and follows the reader's light or dark theme; and in each other form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape

from workrail_lint.systems.drawing.flowchart import dot, mermaid, times
from workrail_lint.systems.drawing.railway import (
    BOLD_SIZE,
    LABEL_LINE,
    TITLE_LINE,
    Frame,
    Label,
    Layout,
    Node,
    Point,
    Rail,
    layout,
    layout_data,
)
from workrail_lint.systems.drawing.shapes import Block, Data, Note, tree_data
from workrail_lint.systems.drawing.texts import clean, fitted, pixels

_RADIUS = 9
_STYLE = (
    "svg{background:#f6f6f3;font:14px system-ui,sans-serif}text{fill:#1c2024}"
    ".id{font:11px ui-monospace,monospace;fill:#5c636e}.t{font-weight:600}.n{font-size:12px;fill:#5c636e}"
    ".l{font-size:12px}.card,.label{fill:#fff;stroke:#c9ccd1}.frame{fill:#1f54c4;fill-opacity:.05;stroke:#9fb4e0}"
    ".template{fill:#6a3db3;stroke:#b9a4dd}.parallel{fill:#0a6b6b;stroke:#8fbcbc}"
    ".edge{fill:#1f54c4}.e-template{fill:#6a3db3}.e-virtual{fill:#5c636e}"
    ".rail{fill:none;stroke:#4b525c;stroke-width:1.6}.skip{stroke:#8b919a;stroke-dasharray:2 4}"
    ".back{stroke:#1f54c4}.tip{fill:#4b525c}.dot{fill:#4b525c}.joint{fill:#fff;stroke:#4b525c;stroke-width:1.6}"
    ".bar{fill:#4b525c}.badge{fill:#fff;stroke:#1f54c4}.note{fill:none;stroke:#5c636e;stroke-width:1.4}"
)
_DARK = (
    "svg{background:#131619}text{fill:#e8eaed}.id,.n{fill:#a0a8b3}.card,.label{fill:#1a1e23;stroke:#3a414a}"
    ".frame{fill:#8db4ff;stroke:#40598a}.template{fill:#c6abff;stroke:#5f4d82}.parallel{fill:#63d2ca;stroke:#33635f}"
    ".edge{fill:#8db4ff}.e-template{fill:#c6abff}.e-virtual{fill:#a0a8b3}.rail{stroke:#aab1bb}"
    ".skip{stroke:#6f7782}.back{stroke:#8db4ff}.tip,.dot,.bar{fill:#aab1bb}.joint{fill:#1a1e23;stroke:#aab1bb}"
    ".badge{fill:#1a1e23;stroke:#8db4ff}.note{stroke:#a0a8b3}"
)
# Small pictures of what a step asks for, in a square of 14.
_ICONS = {
    "gate": "M4 7V4M7 7V2M10 7V4M4 7c-2-1-3 1-2 2l3 4h4l3-5V6",
    "contract": "M3 1h6l3 3v9H3zM5 8l2 2 3-4",
    "assessment": "M1 11a6 6 0 0 1 12 0zM7 11l3-4",
    "fragments": "M1 4h12M1 7h7M1 10h12",
}


def markup(text: str) -> str:
    """Return text for HTML and SVG. What can't be printed is left out: XML forbids most of it."""
    return escape(clean(text))


def svg(drawing: Layout, name: str) -> str:
    """Return a picture of the whole workflow."""
    parts = [
        *map(_frame, drawing.frames),
        *(_rail(rail) for kind in ("skip", "main", "branch", "back") for rail in drawing.rails if rail.kind == kind),
        *(f'<rect class="bar" x="{bar.x}" y="{bar.y}" width="{bar.w}" height="4" rx="2"/>' for bar in drawing.bars),
        *(f'<circle class="joint" cx="{at.x}" cy="{at.y}" r="4"/>' for at in drawing.joints),
        *map(_label, drawing.labels),
        *map(_card, drawing.nodes),
        f'<circle class="dot" cx="{drawing.start.x}" cy="{drawing.start.y}" r="5"/>',
        f'<circle class="joint" cx="{drawing.end.x}" cy="{drawing.end.y}" r="6"/>',
        f'<circle class="dot" cx="{drawing.end.x}" cy="{drawing.end.y}" r="3"/>',
    ]
    width, height = drawing.width, drawing.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{markup(name)}"><style>{_STYLE}@media(prefers-color-scheme:dark){{{_DARK}}}</style>'
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto">'
        f'<path class="tip" d="M0 1L7 4L0 7z"/></marker></defs>{"".join(parts)}</svg>\n'
    )


def path(points: Sequence[Point], radius: int = _RADIUS) -> str:
    """Return a line through points with round corners, as the data of an SVG path."""
    first, last = points[0], points[-1]
    parts = [f"M{first.x} {first.y}"]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        room = min(radius, _distance(before, at) // 2, _distance(at, after) // 2)
        start, end = _towards(at, before, room), _towards(at, after, room)
        parts.append(f"L{start.x} {start.y}Q{at.x} {at.y} {end.x} {end.y}")
    return f"{''.join(parts)}L{last.x} {last.y}"


def _distance(a: Point, b: Point) -> int:
    return abs(a.x - b.x) + abs(a.y - b.y)


def _towards(start: Point, end: Point, distance: int) -> Point:
    def sign(number: int) -> int:
        return (number > 0) - (number < 0)

    return Point(start.x + sign(end.x - start.x) * distance, start.y + sign(end.y - start.y) * distance)


def _rail(rail: Rail) -> str:
    tip = ' marker-end="url(#tip)"' if rail.target is not None and rail.kind != "back" else ""
    return f'<path class="rail {rail.kind}" d="{path(rail.points)}"{tip}/>'


def _card(node: Node) -> str:
    card = node.card
    icons = [note for note in card.notes if note.kind in _ICONS]
    titles = (
        f'<text class="t" x="{node.x + 14}" y="{node.y + 20 + TITLE_LINE * number}">{markup(line)}</text>'
        for number, line in enumerate(node.lines)
    )
    under = node.y + node.h - 11
    about = node.id if card.about is None else card.about
    hint = "\n".join(map(markup, (node.id, *(note.text for note in card.notes))))
    return (
        f"<g><title>{hint}</title>"
        f'<rect class="card" x="{node.x}" y="{node.y}" width="{node.w}" height="{node.h}" rx="9"/>'
        f'<rect class="edge e-{card.writer}" x="{node.x}" y="{node.y + 6}" width="4" height="{node.h - 12}" '
        f'rx="2"/>{"".join(titles)}<text class="id" x="{node.x + 14}" y="{under}">'
        f"{markup(_shortened(about, node.w - 30 - 20 * len(icons)))}</text>{''.join(_icons(node, icons))}</g>"
    )


def _shortened(text: str, room: int) -> str:
    return fitted(text, room, lambda part: pixels(part, 12), 1)[0]


def _icons(node: Node, icons: list[Note]) -> Iterable[str]:
    x = node.x + node.w - 10
    for note in reversed(icons):
        x -= 18
        yield f'<path class="note" transform="translate({x} {node.y + node.h - 22})" d="{_ICONS[note.kind]}"/>'


def _frame(frame: Frame) -> str:
    bound = "" if frame.bound is None else f", at most {times(frame.bound)}"
    title = fitted(frame.title, frame.w - 28, partial(pixels, size=BOLD_SIZE), 1)[0]
    room = frame.w - 46 - pixels(title, BOLD_SIZE)
    drawn = (
        f'<rect class="frame {frame.kind}" x="{frame.x}" y="{frame.y}" width="{frame.w}" height="{frame.h}" rx="13"/>'
        f'<text class="t" x="{frame.x + 14}" y="{frame.y + 24}">{markup(title)}</text>'
    )
    if room > 40:
        at = f'x="{frame.x + frame.w - 14}" y="{frame.y + 24}" text-anchor="end"'
        drawn += f'<text class="n" {at}>{markup(_shortened(frame.note, room))}</text>'
    if frame.bound is not None:
        drawn += _badge(frame, f"≤ {frame.bound}")
    return f"<g><title>{markup(frame.id)}\n{markup(frame.note)}{bound}</title>{drawn}</g>"


def _badge(frame: Frame, text: str) -> str:
    """Return the bound of a loop, on its back rail."""
    width = pixels(text, 12) + 10
    x, y = max(frame.x + 16 - width // 2, frame.x), frame.y + frame.h // 2 - 9
    return (
        f'<rect class="badge" x="{x}" y="{y}" width="{width}" height="18" rx="9"/>'
        f'<text class="n" x="{x + width // 2}" y="{y + 13}" text-anchor="middle">{markup(text)}</text>'
    )


def _label(label: Label) -> str:
    middle = label.x + label.w // 2
    texts = (
        f'<text class="l" x="{middle}" y="{label.y + 14 + LABEL_LINE * number}" text-anchor="middle">'
        f"{markup(line)}</text>"
        for number, line in enumerate(label.lines)
    )
    return (
        f'<g><title>{markup(label.text)}</title><rect class="label" x="{label.x}" y="{label.y}" width="{label.w}" '
        f'height="{label.h}" rx="{6 if label.kind == "subject" else 10}"/>{"".join(texts)}</g>'
    )


def render(blocks: Sequence[Block], form: str, name: str) -> str:
    """Return a drawing as Mermaid, Graphviz or SVG text."""
    match form:
        case "mermaid":
            return mermaid(blocks)
        case "dot":
            return dot(blocks, name)
        case _:
            return svg(layout(blocks), name)


def drawing_data(blocks: Sequence[Block]) -> Data:
    """Return a drawing as plain data: places, and the tree behind it."""
    return {"layout": layout_data(layout(blocks)), "tree": tree_data(blocks)}
