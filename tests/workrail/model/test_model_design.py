"""The design form takes each construct that the compatibility pass rewrites, which the shipping form refuses."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tools.models.workrail.design import DesignWorkflow
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import load_schema

SHIPPING = compile_schema(load_schema("workflow"))
DESIGN = compile_schema(load_schema("workflow-design"))
STEP: dict[str, Any] = {"id": "one-step", "title": "One", "prompt": "Go."}
CONDITIONS: list[dict[str, Any]] = [{"id": "go_on", "kind": "loop_control"}]
LOOP: dict[str, Any] = {
    "type": "loop",
    "loopId": "dig_in",
    "while": {"kind": "condition_ref", "conditionId": "go_on"},
    "maxIterations": 5,
    "body": [STEP],
}
FULL_LOOP: dict[str, Any] = {
    "id": "a-loop",
    "type": "loop",
    "title": "Loop",
    "loop": {"type": "for", "count": 1, "maxIterations": 1},
    "body": [STEP],
}
SLOT: dict[str, Any] = {"purpose": "Checks.", "defaultBinding": "routine-check"}


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    document = {"id": "demo.design", "name": "Design", "description": "A design.", "version": "1.0.0"}
    return {**document, "steps": list(steps or (STEP,)), **members}


def criteria(value: Any) -> dict[str, Any]:
    return workflow({**STEP, "validationCriteria": value})


CONSTRUCTS = {
    "template call": workflow({"type": "template_call", "templateId": "wr.templates.x", "args": {}}),
    "template call with id": workflow(
        {"type": "template_call", "templateId": "wr.templates.x", "id": "my_call", "title": "Call"}
    ),
    "named loop": workflow(LOOP, conditions=CONDITIONS),
    "loop control with a decision": workflow(
        LOOP, conditions=[{"id": "go_on", "kind": "loop_control", "continueWhen": "stop"}]
    ),
    "fixed conditions": workflow(
        STEP, conditions=[{"id": "a", "kind": "always_true"}, {"id": "b", "kind": "always_false"}]
    ),
    "output contract": workflow({**STEP, "output": {"contractRef": "wr.contracts.x"}}),
    "output hints": workflow({**STEP, "output": {"hints": {"notes": "Short."}}}),
    "capabilities": workflow(capabilities={"delegation": "required", "web_browsing": "disabled"}),
    "feature settings": workflow(features=[{"id": "wr.features.capabilities", "config": {"probeVisibility": "x"}}]),
    "role for all": workflow(agentRole="A careful engineer"),
    "underscore in a step id": workflow({**STEP, "id": "one_step"}),
    "short step id": workflow({**STEP, "id": "a"}),
    "underscore in a loop id": workflow({**FULL_LOOP, "id": "a_loop"}),
    "no version": {name: value for name, value in workflow().items() if name != "version"},
    "map of slots": workflow(
        extensionPoints={"final_check": {**SLOT, "acceptedKinds": ["routine"], "inputContract": {}}}
    ),
    "kind": workflow(kind="routine"),
    "extension contract": workflow(extensionContract={"accepts": ["goal"]}),
    "bare rule": criteria({"type": "contains", "value": "x", "message": "m"}),
    "rule without message": criteria([{"type": "contains", "value": "x"}]),
    "composition without message": criteria({"and": [{"type": "contains", "value": "x"}]}),
    "body of one step": workflow({**FULL_LOOP, "body": STEP}),
    "template call in a body": workflow({**LOOP, "body": [{"type": "template_call", "templateId": "x"}]}),
}


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_each_construct(construct: str) -> None:
    document = CONSTRUCTS[construct]
    assert SHIPPING.violations(document) != []
    assert DESIGN.violations(document) == []
    DesignWorkflow.model_validate(document)


@pytest.mark.parametrize(
    ("document", "pointer", "keyword"),
    [
        (workflow({**LOOP, "while": {"kind": "condition"}}), "/steps/0/while", "required"),
        (workflow({**LOOP, "loop": {}}), "/steps/0/loop", "additionalProperties"),
        (workflow({**LOOP, "loopId": "Dig"}), "/steps/0/loopId", "pattern"),
        (workflow({**LOOP, "body": [LOOP]}), "/steps/0/body/0/type", "enum"),
        (workflow({**FULL_LOOP, "body": FULL_LOOP}), "/steps/0/body/type", "enum"),
        (workflow({"type": "template_call"}), "/steps/0", "required"),
        (workflow({"type": "standard"}), "/steps/0/type", "enum"),
        (workflow(conditions=[{"id": "x", "kind": "maybe"}]), "/conditions/0/kind", "enum"),
        (
            workflow(conditions=[{"id": "x", "kind": "always_true", "continueWhen": "stop"}]),
            "/conditions/0/continueWhen",
            "additionalProperties",
        ),
        (workflow(capabilities={"terminal": "required"}), "/capabilities/terminal", "additionalProperties"),
        (workflow(capabilities={"delegation": "maybe"}), "/capabilities/delegation", "enum"),
        (workflow(agentRole="dev"), "/agentRole", "minLength"),
        (workflow(version="1.0"), "/version", "pattern"),
        (workflow(version=None), "/version", "type"),
        (workflow(features=[{"config": {}}]), "/features/0", "required"),
        (workflow(extensionPoints={"Final": SLOT}), "/extensionPoints/Final", "pattern"),
        (workflow(extensionPoints={"final_check": {"purpose": "x"}}), "/extensionPoints/final_check", "required"),
        (workflow(extensionPoints="final_check"), "/extensionPoints", "type"),
        (workflow(tags=["x"]), "/tags", "additionalProperties"),
        (criteria({"value": "x"}), "/steps/0/validationCriteria", "required"),
        (
            workflow({**STEP, "runCondition": {"startsWith": "x"}}),
            "/steps/0/runCondition/startsWith",
            "additionalProperties",
        ),
    ],
)
def test_it_is_still_a_closed_form(document: dict[str, Any], pointer: str, keyword: str) -> None:
    found = DESIGN.violations(document)
    assert (found[0].pointer, found[0].keyword) == (pointer, keyword)
    with pytest.raises(ValidationError):
        DesignWorkflow.model_validate(document)
