"""Whether a run can start: the first authored step must still exist after expansion."""

from __future__ import annotations

from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding, Phase, Severity


def start_findings(definition: dict[str, Any]) -> list[Finding]:
    """Only a template call can remove the first step: expanded ids never equal the caller's."""
    steps = definition.get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    if not isinstance(first, dict) or first.get("type") == "loop" or not js.truthy(first.get("templateCall")):
        return []
    name = "template-call-first-step"
    message = (
        f"step {quoted(first.get('id', ''))}: a run can't start at a template call, because expanding it removes the "
        "step; put a plain step before it"
    )
    details: dict[str, object] = {"engine": True}
    pointer = "/steps/0/templateCall"
    return [Finding(name, name, Severity.ERROR, message, pointer, phase=Phase.START, details=details, on_name=True)]
