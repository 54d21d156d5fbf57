"""The words of a workflow's drawing: conditions, and what a step asks for beyond its prompt."""

from __future__ import annotations

import json
import re
from typing import Any

from workrail_lint.systems.drawing.shapes import Note
from workrail_lint.systems.workrail.condition_logic import comparisons
from workrail_lint.systems.workrail.model.ir import ConfirmationRule, ProgramStep
from workrail_lint.systems.workrail.model.workflow import Condition

_WORDS = {
    "equals": "is",
    "not_equals": "is not",
    "gt": ">",
    "gte": ">=",
    "lt": "<",
    "lte": "<=",
    "contains": "contains",
    "startsWith": "starts with",
    "endsWith": "ends with",
    "matches": "matches",
    "in": "is one of",
}
_DEEPEST = 8
_BARE = re.compile(r"[A-Za-z][\w.-]*")
_LITERALS = frozenset(("true", "false", "null"))


def condition_text(condition: Condition | None, depth: int = 0) -> str:
    """Return a condition in words, as the engine reads it: the first member it knows decides. Deep ones are cut."""
    if condition is None or not condition.raw:
        return "always" if depth == 0 else "never"
    if depth > _DEEPEST:
        return "…"
    if "var" in condition:
        return f"{condition.var} {comparison_text(condition)}"
    for name, inner, of_none in (("and", condition.and_, "always"), ("or", condition.or_, "never")):
        if name in condition:
            return f" {name} ".join(_operand(child, depth, len(inner)) for child in inner) or of_none
    return f"not ({condition_text(condition.not_, depth + 1)})" if "not" in condition else "always"


def comparison_text(condition: Condition) -> str:
    """Return what a comparison asks of its variable: `is full`, `> 3`, `is truthy`."""
    named = comparisons(condition.raw)
    if not named:
        return "is truthy"
    literal = condition.raw[named[0]]
    values = literal if named[0] == "in" else [literal]
    return f"{_WORDS[named[0]]} {', '.join(map(_value_text, values)) or 'nothing'}"


def _value_text(value: Any) -> str:
    """Return a value as short as it can be without reading like another one."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value not in _LITERALS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _operand(condition: Condition, depth: int, siblings: int) -> str:
    """Return one of several conditions, in brackets where it could be read as a part of its neighbours."""
    text = condition_text(condition, depth + 1)
    bare = siblings == 1 or "var" in condition
    return text if bare or not ("and" in condition or "or" in condition) else f"({text})"


def conjuncts(condition: Condition | None) -> list[Condition]:
    """Return the conditions that all have to hold, from left to right."""
    result: list[Condition] = []
    pending = [] if condition is None else [condition]
    while pending:
        part = pending.pop()
        if "var" not in part and "and" in part:
            pending.extend(reversed(part.and_))
        elif part.raw:
            result.append(part)
    return result


def variables(*conditions: Condition) -> set[str]:
    """Return the names that conditions read."""
    names: set[str] = set()
    pending = list(conditions)
    while pending:
        part = pending.pop()
        if part.var is not None:
            names.add(part.var)
        else:
            pending += [*part.and_, *part.or_]
            pending += [] if part.not_ is None else [part.not_]
    return names


def key(condition: Condition) -> str:
    """Return a string that is equal for conditions that are the same to the letter."""
    return json.dumps(condition.raw, sort_keys=True)


def notes(step: ProgramStep) -> tuple[Note, ...]:
    """Return the notes of a step, its condition left out: drawings show it as a branch."""
    result = []
    if step.confirmation.kind != "never":
        who = "a person" if needs_person(step.confirmation) else "the coordinator"
        condition = step.confirmation_condition
        when = "" if condition is None else f" if {condition_text(condition)}"
        result.append(Note("gate", f"confirmed by {who}{when}"))
    if step.contract is not None:
        result.append(Note("contract", f"submits {step.contract.ref}"))
    if step.assessments is not None:
        result.append(Note("assessment", f"assessed: {', '.join(step.assessments.refs)}"))
    if step.fragments:
        count = len(step.fragments)
        result.append(Note("fragments", f"{count} conditional {'text' if count == 1 else 'texts'}"))
    return tuple(result)


def needs_person(confirmation: ConfirmationRule) -> bool:
    """Return whether a person confirms: always, unless the author named the coordinator for it."""
    if confirmation.kind == "never":
        return False
    return confirmation.gate == "human_approval" or not confirmation.explicit
