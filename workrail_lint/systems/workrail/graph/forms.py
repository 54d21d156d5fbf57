"""A compiled workflow as a diagram, in each form it can be asked for."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.workrail.analysis.analysis import Analysis
from workrail_lint.systems.workrail.graph.flowchart import dot, mermaid
from workrail_lint.systems.workrail.graph.railway import layout, layout_data, tree_data
from workrail_lint.systems.workrail.graph.svg import svg
from workrail_lint.systems.workrail.graph.tree import structure
from workrail_lint.systems.workrail.model.ir import Program


def render(program: Program, form: str, analysis: Analysis | None = None) -> str:
    """Return a workflow as Mermaid, Graphviz or SVG text."""
    blocks = structure(program, analysis)
    match form:
        case "mermaid":
            return mermaid(blocks)
        case "dot":
            return dot(blocks, program.name)
        case _:
            return svg(layout(blocks), program.name)


def drawing_data(program: Program, analysis: Analysis | None = None) -> dict[str, Any]:
    """Return the drawing as plain data: places, and the tree behind it."""
    blocks = structure(program, analysis)
    return {"layout": layout_data(layout(blocks)), "tree": tree_data(blocks)}
