"""The context of a run: what a caller may put into it, and how a change is merged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_workrail.engine.model.words import METRICS_OUTCOMES, RESERVED_KEYS
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.shapes import ToolName
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes
from workrail_lint.base.js import Json

MAX_CONTEXT_BYTES = 262_144
MAX_CONTEXT_DEPTH = 64
_MEASURE = "jcs_utf8_bytes"


def context_problem(context: object, tool: ToolName) -> ToolError | None:
    """What is wrong with a submitted context, first things first; None when it can be used."""
    if not isinstance(context, dict):
        message = f"context must be an object, not {_type_name(context)}."
        return _refused(tool, "context_invalid_shape", message, {"expected": "object"})
    return (
        _unusable_value(context, tool)
        or _size_problem(context, tool)
        or _metrics_problem(context, tool)
        or _name_problem(context, tool)
    )


def merged(stored: Mapping[str, Any] | None, delta: Mapping[str, Any] | None) -> dict[str, Any]:
    """The context after a change: members replace each other as a whole, null removes one."""
    result = dict(stored or {})
    for name, value in (delta or {}).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def _refused(tool: ToolName, kind: str, message: str, facts: Mapping[str, Json], advice: str = "") -> ToolError:
    return ToolError(
        "VALIDATION_ERROR",
        message,
        advice or f"Correct the context and call {tool} again; nothing was written.",
        details={"details": {"kind": kind, "tool": tool, **facts}},
    )


def _unusable_value(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    """Depth first: too deep, not JSON, not a number JSON has, or the same container twice."""
    seen: set[int] = set()
    stack: list[tuple[object, str, int]] = [(context, "$", 0)]
    while stack:
        value, path, depth = stack.pop()
        if depth > MAX_CONTEXT_DEPTH:
            facts: dict[str, Json] = {"path": path, "maxDepth": MAX_CONTEXT_DEPTH}
            return _refused(tool, "context_too_deep", f"context is nested too deeply at {path}.", facts)
        if isinstance(value, float) and not math.isfinite(value):
            shown = js.number_text(value)
            message = f"context holds {shown} at {path}, which JSON can't express."
            return _refused(tool, "context_non_finite_number", message, {"path": path, "value": shown})
        if isinstance(value, dict | list):
            if id(value) in seen:
                message = f"context holds the same container twice, the second time at {path}."
                return _refused(tool, "context_circular_reference", message, {"path": path})
            seen.add(id(value))
            inner = _members(value, path, depth)
            if isinstance(inner, str):
                message = f"context has a member at {path} whose name is not a text."
                return _refused(tool, "context_unsupported_value", message, {"path": path, "valueType": inner})
            stack.extend(reversed(inner))
        elif not (value is None or isinstance(value, str | bool | int | float)):
            facts = {"path": path, "valueType": type(value).__name__}
            return _refused(tool, "context_unsupported_value", f"context holds no JSON value at {path}.", facts)
    return None


def _members(value: dict[Any, Any] | list[Any], path: str, depth: int) -> list[tuple[object, str, int]] | str:
    """What a container holds and where; the type of a member name that is no text."""
    if isinstance(value, list):
        return [(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    for name in value:
        if not isinstance(name, str):
            return type(name).__name__
    return [(item, f"{path}.{name}", depth + 1) for name, item in value.items()]


def _size_problem(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    try:
        size = len(canonical_bytes(context))
    except CanonicalError as problem:
        facts: dict[str, Json] = {"measuredAs": _MEASURE, "code": problem.code, "message": str(problem)}
        return _refused(tool, "context_not_canonical_json", "context has no canonical form.", facts)
    if size <= MAX_CONTEXT_BYTES:
        return None
    return _refused(
        tool,
        "context_budget_exceeded",
        f"context is too large for {tool}: {size} bytes (max {MAX_CONTEXT_BYTES}). "
        "Keep large texts in files and send only what later steps need.",
        {"measuredBytes": size, "maxBytes": MAX_CONTEXT_BYTES, "measuredAs": _MEASURE},
        f"Send less context and call {tool} again; nothing was written.",
    )


def _metrics_problem(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    outcome = context.get("metrics_outcome")
    if outcome is None or outcome in METRICS_OUTCOMES:
        return None
    return _refused(
        tool,
        "context_invalid_metrics_outcome",
        f"metrics_outcome must be one of {', '.join(METRICS_OUTCOMES)}.",
        {"invalidValue": js.text(outcome), "validValues": list(METRICS_OUTCOMES)},
        f"Set metrics_outcome to one of the listed words and call {tool} again.",
    )


def _name_problem(context: dict[str, Any], tool: ToolName) -> ToolError | None:
    for name in RESERVED_KEYS:
        if name in context:
            message = f"context must not have a member named {name}."
            return _refused(tool, "context_reserved_key", message, {"key": name}, f"Rename {name} and call again.")
    return None


def _type_name(value: object) -> str:
    from workrail_lint.base.js import type_name

    return type_name(value)
