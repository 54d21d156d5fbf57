"""Function definitions: the ones a step can see, for an agent that lost its memory."""

from __future__ import annotations

from typing import Any

from pytest_workrail.engine.model.places import collation_key

_RANK = {"step": 0, "loop": 1, "workflow": 2}


def functions_block(ir: dict[str, Any], step: dict[str, Any], loops: tuple[dict[str, Any], ...] = ()) -> str:
    """The visible functions as one fenced block; empty when there is none. `loops` lie around the step."""
    visible: dict[str, dict[str, Any]] = {}
    for scope, holder in (("workflow", ir), *(("loop", loop) for loop in loops), ("step", step)):
        for function in holder.get("functions", []):
            if function.get("scope", scope) == scope:
                visible[_bare(function["name"])] = function
    wanted = {_bare(reference) for reference in step.get("functionReferences", [])}
    shown = [function for name, function in visible.items() if not wanted or name in wanted]
    if not shown:
        return ""
    shown.sort(key=lambda function: (_RANK[function.get("scope", "workflow")], collation_key(function["name"])))
    definitions = (f"function {_bare(function['name'])}(...)\n  {function['definition']}" for function in shown)
    return "```\n" + "\n\n".join(definitions) + "\n```"


def _bare(name: str) -> str:
    """A name without the parentheses with which authors refer to it."""
    return name.removesuffix("()")
