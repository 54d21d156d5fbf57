"""A compiled workflow as a diagram: what runs after what, under which condition, how often."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.workrail.graph.items import diagram

# The analysis (`json`) is no drawing; it is made from the definition, see `workrail_lint.systems.workrail.analysis`.
DIAGRAMS = ("mermaid", "dot", "svg", "html")
FORMATS = (*DIAGRAMS, "json")


def render(ir: dict[str, Any], form: str) -> str:
    """A workflow in one of the forms."""
    items = diagram(ir)
    match form:
        case "mermaid":
            from workrail_lint.systems.workrail.graph.texts import mermaid

            return mermaid(items)
        case "dot":
            from workrail_lint.systems.workrail.graph.texts import dot

            return dot(items, ir["name"])
        case "svg":
            from workrail_lint.systems.workrail.graph.drawing import svg

            return svg(items, ir["name"])
        case _:
            from workrail_lint.systems.workrail.graph.page import html

            return html(items, ir)
