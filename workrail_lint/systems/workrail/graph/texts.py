"""Diagrams as text that other programs draw: Mermaid and Graphviz."""

from __future__ import annotations

import re
from itertools import pairwise

from workrail_lint.systems.workrail.graph.items import Box, Item
from workrail_lint.systems.workrail.graph.lines import clean, fitted

_COLUMNS = 48
# Mermaid writes entities with a number sign; a quote ends a label, an angle bracket begins markup, a backtick Markdown.
_MERMAID_SPECIAL = re.compile(r"""["#&;<>`]""")


def mermaid(items: list[Item]) -> str:
    """A flowchart for Mermaid."""
    lines = ["flowchart TD"]
    for number, item in enumerate(items):
        if isinstance(item, Box):
            lines.append(f"  {_mermaid_box(f'n{number}', item)}")
            continue
        lines.append(f'  subgraph n{number}["{_mermaid_text(item.title, *item.notes)}"]')
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


def _mermaid_text(*texts: str) -> str:
    return "<br/>".join(_MERMAID_SPECIAL.sub(lambda found: f"#{ord(found[0])};", line) for line in _lines(texts))


def dot(items: list[Item], name: str) -> str:
    """A graph for Graphviz."""
    lines = [f"digraph {_quoted([clean(name)])} {{", "  node [shape=box, style=rounded];", "  compound=true;"]
    ends: list[tuple[str, str, str]] = []  # first node, last node, cluster
    for number, item in enumerate(items):
        label = _quoted(_lines((item.title, *item.notes)))
        if isinstance(item, Box):
            lines.append(f"  n{number} [label={label}];")
            ends.append((f"n{number}", f"n{number}", ""))
            continue
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={label};")
        for inner, box in enumerate(item.boxes):
            lines.append(f"    n{number}_{inner} [label={_quoted(_lines((box.title, *box.notes)))}];")
        lines += [f"    n{number}_{inner} -> n{number}_{inner + 1};" for inner in range(len(item.boxes) - 1)]
        lines.append("  }")
        ends.append((f"n{number}_0", f"n{number}_{len(item.boxes) - 1}", f"cluster_{number}"))
    for (_, last, tail), (first, _, head) in pairwise(ends):
        options = [f"{word}={cluster}" for word, cluster in (("ltail", tail), ("lhead", head)) if cluster]
        lines.append(f"  {last} -> {first}{' [' + ', '.join(options) + ']' if options else ''};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(lines: list[str]) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'


def _lines(texts: tuple[str, ...]) -> list[str]:
    return [line for text in texts for line in fitted(text, _COLUMNS)]
