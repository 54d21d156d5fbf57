"""The analysis as plain JSON data, and under which values each step, fragment, confirmation and loop exit happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from workrail_lint.systems.workrail.analysis.analysis import Analysis
from workrail_lint.systems.workrail.analysis.definitions_and_uses import AUTHORED, CERTAIN, UNSET_TEXT, Example, Origin
from workrail_lint.systems.workrail.analysis.logic import IMPOSSIBLE, POSSIBLE, UNKNOWN, UNSET, Answer
from workrail_lint.systems.workrail.analysis.prose import sentence_at
from workrail_lint.systems.workrail.model.workflow import Condition

_KINDS = {"fragment": "fragment", "gate": "gate", "delegation": "delegation"}


def examples(analysis: Analysis) -> list[Example]:
    """The first assignment found for each, with the values in the order in which the texts name them."""
    result = [_example(analysis, step.origin.pointer, "step", step.conditions) for step in analysis.steps]
    for decision in analysis.decisions:
        step = analysis.steps[decision.step]
        if decision.origin.via == AUTHORED and decision.kind in _KINDS:
            conditions = (decision.condition, *step.conditions)
            result.append(_example(analysis, decision.pointer, _KINDS[decision.kind], conditions))
    for facts in analysis.loops.values():
        if facts.condition is None:
            continue
        # A while loop ends when its condition fails, an until loop when it holds.
        holds, fails = ((facts.condition,), ()) if facts.kind == "until" else ((), (facts.condition,))
        result.append(_example(analysis, facts.condition.pointer, "loop exit", holds, fails))
    return result


def _example(
    analysis: Analysis,
    pointer: str,
    kind: str,
    holds: tuple[Condition, ...],
    fails: tuple[Condition, ...] = (),
) -> Example:
    answer = analysis.satisfy(holds, fails, within_domains=True)
    if answer.verdict != POSSIBLE:
        # What the prompts say is no proof: only a contradiction for any values at all is one.
        loose = analysis.satisfy(holds, fails)
        if answer.verdict == IMPOSSIBLE and loose.verdict != IMPOSSIBLE:
            answer = Answer(UNKNOWN) if loose.assignment is None else loose
    return Example(pointer, kind, answer.verdict, _shown(answer.assignment))


def _shown(assignment: dict[str, Any] | None) -> dict[str, Any] | None:
    if assignment is None:
        return None
    return {name: UNSET_TEXT if value is UNSET else value for name, value in sorted(assignment.items())}


# The analysis as plain JSON data: every record, sorted by pointer, then name.


Map = Callable[[str], str]
Row = dict[str, Any]


_NOWHERE = (0, 0)  # the span of what is said by a whole text


def analysis_data(analysis: Analysis, source: Map = lambda pointer: pointer) -> Row:
    """All records. `source` leads from the normalized document to the one on disk."""
    names = sorted(analysis.all_names | {name for facts in analysis.loops.values() for name in facts.variables})
    ids = [step.id for step in analysis.steps]

    def step_id(index: int | None) -> str | None:
        return None if index is None else ids[index]

    def origin(value: Origin) -> Row:
        return {"pointer": source(value.pointer), "via": value.via}

    steps = [
        {
            "id": step.id,
            "pointer": source(step.pointer),
            "position": list(step.position),
            "loop": step.loop,
            "conditions": [condition.raw for condition in step.conditions],
            "kind": step.kind,
            "origin": origin(step.origin),
        }
        for step in analysis.steps
    ]
    texts = [
        {
            "pointer": source(text.pointer),
            "step": step_id(text.step),
            "field": text.field,
            "delivered": text.delivered,
            "when": _written(text.when),
            "origin": origin(text.origin),
        }
        for text in analysis.texts
    ]
    uses = [
        {
            "name": use.name,
            "path": use.path,
            "step": step_id(use.step),
            "pointer": source(use.pointer),
            "kind": use.kind,
            "leaf": _written(use.leaf),
            "when": _written(use.when),
            "origin": origin(use.origin),
        }
        for use in analysis.uses
    ]
    definitions = [
        {
            "name": definition.name,
            "step": step_id(definition.step),
            "pointer": source(definition.pointer),
            "span": list(definition.span),
            "kind": definition.kind,
            "confidence": definition.confidence,
            "sentence": _sentence(definition.text, definition.span if definition.kind != "token" else _NOWHERE),
            "when": _written(definition.when),
            "scope": step_id(definition.step) if definition.confidence == CERTAIN else None,
            "origin": origin(definition.origin),
        }
        for name in names
        for definition in analysis.definitions(name)
    ]
    domains = [
        {
            "name": item.name,
            "values": list(item.values),
            "closed": item.closed,
            "kind": item.kind,
            "pointer": source(item.pointer),
            "span": list(item.span),
            "sentence": _sentence(item.text, item.span),
        }
        for name in names
        for item in analysis.statements(name)
    ]
    mentions = [
        {
            "name": item.name,
            "step": step_id(item.step),
            "pointer": source(item.pointer),
            "span": list(item.span),
            "role": item.role,
        }
        for name in names
        for item in analysis.mentions(name)
    ]
    reached = [
        {
            "pointer": source(item.pointer),
            "kind": item.kind,
            "verdict": item.verdict,
            "example": None if item.assignment is None else {k: _finite(v) for k, v in item.assignment.items()},
        }
        for item in examples(analysis)
    ]
    return {
        "version": 1,
        "workflowId": analysis.workflow.raw.get("id"),
        "steps": _ordered(steps, "id"),
        "texts": _ordered(texts, "field"),
        "uses": _ordered(uses, "name"),
        "definitions": _ordered(definitions, "name"),
        "domains": _ordered(domains, "name"),
        "mentions": _ordered(mentions, "name"),
        "reachability": _ordered(reached, "kind"),
    }


def _written(condition: Condition | None) -> Row | None:
    return None if condition is None else condition.raw


def _sentence(text: str, span: tuple[int, int]) -> str:
    return text[:200] if span == _NOWHERE else sentence_at(text, *span)


def _finite(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _ordered(rows: Iterable[Row], second: str) -> list[Row]:
    return sorted(rows, key=lambda row: (_key(row["pointer"]), str(row[second]), row.get("span") or []))


def _key(pointer: str) -> list[tuple[int, int, str]]:
    """Numbers in a pointer count as numbers, so that step 10 comes after step 9."""
    return [
        (0, int(token), "") if token.isdecimal() and token.isascii() else (1, 0, token) for token in pointer.split("/")
    ]
