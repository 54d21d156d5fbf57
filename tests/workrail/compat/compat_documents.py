"""The smallest documents in the design form, and what normalizing them says."""

from __future__ import annotations

from typing import Any

from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.compat import Normalized, normalize


def workflow(*steps: Any, **members: Any) -> dict[str, Any]:
    return {"id": "demo.rules", "name": "N", "description": "D", "version": "1.0.0", **members, "steps": list(steps)}


def step(name: str = "one", **members: Any) -> dict[str, Any]:
    return {"id": name, "title": "T", "prompt": "P", **members}


def loop(**members: Any) -> dict[str, Any]:
    return {
        "type": "loop",
        "loopId": "go-on",
        "while": {"kind": "condition_ref", "conditionId": "more"},
        "maxIterations": 3,
        "body": [step("inner")],
        **members,
    }


def codes(result: Normalized) -> list[str]:
    return [warning.code for warning in result.warnings]


def errors(result: Normalized) -> list[tuple[str, str]]:
    return [(error.code, error.pointer) for error in result.errors]


def first_step(result: Normalized) -> Any:
    return result.document["steps"][0]


def refused(document: dict[str, Any], code: str, pointer: str) -> Normalized:
    """Normalize a document that has exactly one error, of which the place stays as written."""
    result = normalize(document)
    assert errors(result) == [(code, pointer)]
    assert result.errors[0].name == code
    assert result.errors[0].severity is Severity.ERROR
    assert result.is_refused(pointer)
    return result


def call(template_id: Any = "wr.templates.routine.plan-generation", **members: Any) -> dict[str, Any]:
    return {"type": "template_call", "templateId": template_id, **members}
