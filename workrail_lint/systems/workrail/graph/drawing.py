"""Diagrams as drawings: boxes from top to bottom, loops as frames around their bodies."""

from __future__ import annotations

from workrail_lint.systems.workrail.graph.items import Box, Frame, Item
from workrail_lint.systems.workrail.graph.lines import fitted, markup

_WIDTH, _PAD, _LINE, _GAP = 480, 12, 18, 26
# The widest fonts in use need about this much for a letter.
_TITLE_LETTER, _NOTE_LETTER = 8, 7
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.t{font-weight:600}.n{fill:#57606a;font-size:12px}"
    ".step{fill:#ddf4ff;stroke:#0969da}.parallel{fill:#fff8c5;stroke:#9a6700}.virtual{fill:#f6f8fa;stroke:#8c959f;"
    "stroke-dasharray:4 3}.loop{fill:#dafbe1;fill-opacity:.45;stroke:#1a7f37}.arrow{stroke:#57606a;fill:none}"
    ".tip{fill:#57606a}"
)
_DARK = (
    "text{fill:#e6edf3}.n{fill:#9198a1}.step{fill:#0c2d6b}.parallel{fill:#4b2900}.virtual{fill:#21262d}"
    ".loop{fill:#04260f}.arrow{stroke:#9198a1}.tip{fill:#9198a1}"
)


def svg(items: list[Item], name: str, *, dark: bool = False) -> str:
    """A picture; `dark` lets it follow a page that follows the reader's wish."""
    canvas = _Canvas()
    for number, item in enumerate(items):
        if number:
            canvas.arrow()
        if isinstance(item, Frame):
            canvas.frame(item)
        else:
            canvas.box(_PAD, _WIDTH, item)
    width, height = _WIDTH + 2 * _PAD, canvas.y + _PAD
    style = f"{_STYLE}@media(prefers-color-scheme:dark){{{_DARK}}}" if dark else _STYLE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{markup(name)}"><style>{style}</style><defs><marker id="tip" markerWidth="8" '
        'markerHeight="8" refX="5" refY="4" orient="auto"><path class="tip" d="M0 0L6 4L0 8z"/></marker></defs>'
        f"{''.join(canvas.parts)}</svg>\n"
    )


class _Canvas:
    """Draws from top to bottom; keeps the height as it goes."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = _PAD

    def box(self, x: int, width: int, box: Box) -> None:
        top, texts = self.y, self._texts(x + _PAD, width - 2 * _PAD, box)
        self.y += _PAD
        self.parts.append(_shape(box, box.kind, x, top, width, self.y - top, texts))

    def frame(self, frame: Frame) -> None:
        top, slot = self.y, len(self.parts)
        texts = self._texts(2 * _PAD, _WIDTH - 2 * _PAD, frame)
        self.y += _PAD
        for number, box in enumerate(frame.boxes):
            if number:
                self.arrow()
            self.box(3 * _PAD, _WIDTH - 4 * _PAD, box)
        self.y += _PAD
        # Behind its body: what is drawn later lies on top.
        self.parts.insert(slot, _shape(frame, "loop", _PAD, top, _WIDTH, self.y - top, texts))

    def arrow(self) -> None:
        middle = _PAD + _WIDTH // 2
        self.parts.append(
            f'<path class="arrow" marker-end="url(#tip)" d="M{middle} {self.y + 2}V{self.y + _GAP - 4}"/>'
        )
        self.y += _GAP

    def _texts(self, x: int, width: int, item: Item) -> str:
        """The title and the notes, each on as many lines as it needs."""
        lines = [("t", line) for line in fitted(item.title, width // _TITLE_LETTER)]
        lines += [("n", line) for note in item.notes for line in fitted(note, width // _NOTE_LETTER)]
        drawn = []
        for style, line in lines:
            self.y += _LINE
            drawn.append(f'<text class="{style}" x="{x}" y="{self.y}">{markup(line)}</text>')
        return "".join(drawn)


def _shape(item: Item, kind: str, x: int, y: int, width: int, height: int, texts: str) -> str:
    return (
        f'<g><title>{markup(item.id)}</title><rect class="{kind}" x="{x}" y="{y}" width="{width}" '
        f'height="{height}" rx="8"/>{texts}</g>'
    )
