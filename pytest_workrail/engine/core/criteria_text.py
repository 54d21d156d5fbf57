"""Prose criteria in words: one line for each thing that notes have to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_workrail.engine.core.conditions import deciding_operator
from pytest_workrail.engine.model.places import utf8_prefix
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.js import Json

MAX_LINES = 25
MAX_BYTES = 4096
_MAX_SCHEMA_BYTES = 512
# Deeper compositions are not told: no reader could follow them.
_MAX_DEPTH = 20


def criteria_lines(criteria: object) -> list[str]:
    """Every criterion as a line, as many as fit; the last line says how many do not."""
    lines = list(_lines(criteria, 0))
    kept: list[str] = []
    size = 0
    for line in lines:
        size += js.u8_length(line)
        if len(kept) == MAX_LINES or size > MAX_BYTES:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return [*kept, f"… and {left} more"] if left else kept


def _lines(node: object, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for member in node:
            yield from [_pattern(member)] if isinstance(member, str) and depth == 0 else _lines(member, depth + 1)
    elif isinstance(node, dict) and "type" in node:
        line = requirement(node) or _schema(node)
        if line is not None:
            yield line + _proviso(node.get("condition"))
    elif isinstance(node, dict) and isinstance(node.get("and"), list):
        yield from _lines(node["and"], depth + 1)
    elif isinstance(node, dict) and isinstance(node.get("or"), list):
        members = [text for member in node["or"] if (text := _together(member, depth))]
        if members:
            yield f"One of: {'; '.join(members)}"
    elif isinstance(node, dict) and "not" in node:
        text = _together(node["not"], depth)
        if text:
            yield f"Not: {text}"


def _together(member: object, depth: int) -> str:
    """A member of a composition in one piece."""
    return " and ".join(_lines(member, depth + 1))


def requirement(rule: dict[str, Any]) -> str | None:
    """What a rule asks for; None where one line can't say it."""
    match rule["type"]:
        case "contains" if rule.get("value"):
            return f'Must contain: "{js.text(rule["value"])}"'
        case "regex" if rule.get("pattern"):
            flags = f" (flags: {js.text(rule['flags'])})" if rule.get("flags") else ""
            return _pattern(rule["pattern"]) + flags
        case "length":
            low, high = rule.get("min"), rule.get("max")
            bounds = [f"≥{js.text(low)} chars"] if low is not None else []
            bounds += [f"≤{js.text(high)} chars"] if high is not None else []
            return f"Length: {', '.join(bounds)}" if bounds else None
        case _:
            return None


def _pattern(pattern: object) -> str:
    return f"Must match pattern: {js.text(pattern)}"


def _schema(rule: dict[str, Any]) -> str | None:
    if rule["type"] != "schema" or "schema" not in rule:
        return None
    return f"Must be JSON that fits: {utf8_prefix(_json(rule['schema']), _MAX_SCHEMA_BYTES)}"


def _proviso(condition: object) -> str:
    """When a rule applies, for one that does not always."""
    if not isinstance(condition, dict) or not condition:
        return ""
    if "var" not in condition:
        return " (under a condition)"
    operator = deciding_operator(condition)
    if operator is None:
        return f" (when {js.text(condition['var'])} truthy)"
    return f" (when {js.text(condition['var'])} {operator} {_json(condition[operator])})"


def _json(value: Json) -> str:
    return canonical_bytes(value).decode("utf-8", "replace")
