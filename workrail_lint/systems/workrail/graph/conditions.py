"""Conditions in words, and the parts of them that a drawing compares."""

from __future__ import annotations

import json
import re
from typing import Any

from workrail_lint.systems.workrail.condition_logic import comparisons

Condition = dict[str, Any]

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


def condition_text(condition: Any, depth: int = 0) -> str:
    """A condition in words, as the engine reads it: the first member it knows decides. Deep ones are cut short."""
    if not isinstance(condition, dict) or not condition:
        return "always" if depth == 0 else "never"
    if depth > _DEEPEST:
        return "…"
    if "var" in condition:
        return f"{condition['var']} {comparison_text(condition)}"
    for name, of_none in (("and", "always"), ("or", "never")):
        if name in condition:
            parts = [_operand(child, depth, len(condition[name])) for child in condition[name]]
            return f" {name} ".join(parts) or of_none
    return f"not ({condition_text(condition['not'], depth + 1)})" if "not" in condition else "always"


def comparison_text(condition: Condition) -> str:
    """What a comparison asks of its variable: `is full`, `> 3`, `is truthy`."""
    named = comparisons(condition)
    if not named:
        return "is truthy"
    literal = condition[named[0]]
    values = literal if named[0] == "in" and isinstance(literal, list) else [literal]
    return f"{_WORDS[named[0]]} {', '.join(map(_value_text, values)) or 'nothing'}"


def _value_text(value: Any) -> str:
    """A value as short as it can be without reading like another one."""
    if isinstance(value, str) and _BARE.fullmatch(value) and value not in _LITERALS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _operand(condition: Any, depth: int, siblings: int) -> str:
    """One of several conditions, in brackets where it could be read as a part of its neighbours."""
    text = condition_text(condition, depth + 1)
    bare = siblings == 1 or not isinstance(condition, dict) or "var" in condition
    return text if bare or not ("and" in condition or "or" in condition) else f"({text})"


def conjuncts(condition: Any) -> list[Condition]:
    """The conditions that all have to hold, from left to right."""
    found: list[Condition] = []
    pending = [condition]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict) or not part:
            continue
        if "var" not in part and isinstance(part.get("and"), list):
            pending.extend(reversed(part["and"]))
        else:
            found.append(part)
    return found


def variables(condition: Any) -> set[str]:
    """The names that a condition reads."""
    found: set[str] = set()
    pending = [condition]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending.extend(part)
        elif isinstance(part, dict):
            name = part.get("var")
            if isinstance(name, str):
                found.add(name)
            else:
                pending.extend(part.values())
    return found


def key(condition: Condition) -> str:
    """Equal for conditions that are the same to the letter."""
    return json.dumps(condition, sort_keys=True)
