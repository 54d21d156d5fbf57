"""What a diagram shows: steps, loops with their bodies, and a few words about each."""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Box(NamedTuple):
    """A step in the diagram."""

    id: str
    title: str
    kind: str  # step, parallel or virtual
    notes: tuple[str, ...]  # condition, gate, contract: a sentence each
    prompt: str


class Frame(NamedTuple):
    """A loop and the steps of its body."""

    id: str
    title: str
    notes: tuple[str, ...]  # the first one says how often
    boxes: tuple[Box, ...]


Item = Box | Frame


def diagram(ir: dict[str, Any]) -> list[Item]:
    """The items of a workflow from top to bottom."""
    return [_frame(step) if step["type"] == "loop" else _box(step) for step in ir["steps"]]


def _box(step: dict[str, Any]) -> Box:
    virtual = step["provenance"]["source"] == "virtual"
    kind = "virtual" if virtual else ("parallel" if step["type"] == "parallel" else "step")
    return Box(step["id"], step["title"], kind, tuple(_notes(step)), step.get("prompt", ""))


def _frame(step: dict[str, Any]) -> Frame:
    body = tuple(_box(inner) for inner in step["body"])
    return Frame(step["id"], step["title"], (_loop_rule(step["loop"]), *_notes(step)), body)


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
_DEEPEST = 8


def condition_text(condition: Any, depth: int = 0) -> str:
    """A condition in words, as the engine reads it: the first member it knows decides. Deep ones are cut short."""
    if not isinstance(condition, dict) or not condition:
        return "always" if depth == 0 else "never"
    if depth > _DEEPEST:
        return "…"
    if "var" in condition:
        for name, word in _OPERATORS.items():
            if name in condition:
                return f"{condition['var']} {word} {json.dumps(condition[name], ensure_ascii=False)}"
        return f"{condition['var']} is set"
    for name, of_none in (("and", "always"), ("or", "never")):
        if name in condition:
            parts = [_operand(child, depth, len(condition[name])) for child in condition[name]]
            return f" {name} ".join(parts) or of_none
    return f"not ({condition_text(condition['not'], depth + 1)})" if "not" in condition else "always"


def _operand(condition: Any, depth: int, siblings: int) -> str:
    """One of several conditions, in brackets where it could be read as a part of its neighbours."""
    text = condition_text(condition, depth + 1)
    bare = siblings == 1 or not isinstance(condition, dict) or "var" in condition
    return text if bare or not ("and" in condition or "or" in condition) else f"({text})"
