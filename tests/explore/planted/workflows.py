"""The workflows in which planted bugs show."""

from __future__ import annotations

from functools import cache
from typing import Any

from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.compile import compile_workflow


def _step(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "title": name.title(), "prompt": f"Do {name}. Tell what you did.", **more}


def _workflow(name: str, steps: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": name, "name": name, "description": "For the search.", "version": "1.0.0", "steps": steps, **more}


_LOOP_CONTRACT = {"outputContract": {"contractRef": "wr.contracts.loop_control"}}
WORKFLOWS: dict[str, dict[str, Any]] = {
    "decision": _workflow(
        "decision",
        [
            _step("plan"),
            {
                "id": "rounds",
                "type": "loop",
                "title": "Rounds",
                "loop": {
                    "type": "while",
                    "conditionSource": {
                        "kind": "artifact_contract",
                        "contractRef": "wr.contracts.loop_control",
                        "loopId": "rounds",
                    },
                    "maxIterations": 3,
                },
                "body": [_step("work"), _step("decide", **_LOOP_CONTRACT)],
            },
            _step("ship", runCondition={"var": "size", "equals": "large"}),
            _step("close"),
        ],
    ),
    "assessed": _workflow(
        "assessed",
        [
            _step("draft"),
            _step(
                "judge",
                assessmentRefs=["quality"],
                assessmentConsequences=[
                    {
                        "when": {"anyEqualsLevel": "low"},
                        "effect": {"kind": "require_followup", "guidance": "Look again at the weak parts."},
                    }
                ],
            ),
            _step("close"),
        ],
        assessments=[
            {
                "id": "quality",
                "purpose": "How good it is.",
                "dimensions": [
                    {"id": "depth", "purpose": "How deep.", "levels": ["low", "high"]},
                    {"id": "width", "purpose": "How wide.", "levels": ["low", "high"]},
                ],
            }
        ],
    ),
    "conditions": _workflow(
        "conditions",
        [
            _step("ask"),
            _step("early", runCondition={"var": "mode", "equals": "early"}),
            {
                "id": "passes",
                "type": "loop",
                "title": "Passes",
                "loop": {
                    "type": "until",
                    "condition": {"var": "ready", "equals": True},
                    "maxIterations": 3,
                    "iterationVar": "pass",
                },
                "body": [
                    _step("prepare", runCondition={"var": "mode", "equals": "careful"}),
                    _step("try"),
                    _step("again", runCondition={"var": "pass", "gt": 1}),
                ],
            },
            _step("close"),
        ],
    ),
    "approval": _workflow("approval", [_step("plan"), _step("delete", requireConfirmation=True), _step("close")]),
    "long": _workflow(
        "long",
        [*(_step(f"step-{n}", runCondition={"var": f"v{n}", "equals": "on"}) for n in range(30)), _step("close")],
    ),
    "list": _workflow(
        "list",
        [
            _step("collect"),
            {
                "id": "each",
                "type": "loop",
                "title": "Each",
                "loop": {"type": "forEach", "items": "files", "maxIterations": 4},
                "body": [_step("visit"), _step("note")],
            },
            _step("close"),
        ],
    ),
}


@cache
def compiled(name: str) -> dict[str, Any]:
    made = compile_workflow(WORKFLOWS[name])
    assert isinstance(made, Ok), made.error
    return made.value.ir
