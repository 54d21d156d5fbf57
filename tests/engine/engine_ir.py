"""IRs for unit tests, written by hand: also shapes that no compiler would let through."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.workrail.catalog import load_core
from workrail_lint.systems.workrail.model.build import program_model

LOOP_CONTROL = "wr.contracts.loop_control"
GO = {"kind": "wr.loop_control", "decision": "continue"}
STOP = {"kind": "wr.loop_control", "decision": "stop"}


def pack(ref: str) -> dict[str, Any]:
    """A contract pack of the shipped catalog as an IR embeds it."""
    contract = load_core().contracts[ref]
    return {
        "ref": ref,
        "artifactKind": contract.artifact_kind,
        "mode": contract.mode,
        "runtimeValidated": contract.runtime_validated,
        "schema": contract.schema,
        "example": contract.example,
    }


def _common(step_id: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
    made = {
        "id": step_id,
        "title": given.pop("title", step_id),
        "type": kind,
        "confirmation": given.pop("confirmation", {"kind": "never"}),
        "notes": given.pop("notes", "required"),
        "provenance": given.pop("provenance", {"source": "authored", "injected": []}),
    }
    condition = given.pop("when", None)
    return made if condition is None else {**made, "runCondition": condition}


def step(step_id: str, **given: Any) -> dict[str, Any]:
    """A plain step; `when` is its run condition, `contract` the ref it requires."""
    contract = given.pop("contract", None)
    output = given.pop("output", {"contract": {"ref": contract, "required": True}} if contract else {})
    made = _common(step_id, "step", given)
    defaults = {
        "prompt": f"Do {step_id}.",
        "guidance": [],
        "output": output,
        "fragments": [],
        "functions": [],
        "functionCalls": [],
        "functionReferences": [],
    }
    return {**made, **defaults, **given}


def parallel(step_id: str, *delegations: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A parallel step."""
    return {**_common(step_id, "parallel", given), "delegations": list(delegations), **given}


def loop(loop_id: str, kind: str, source: dict[str, Any], *body: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A loop; `limit` is its maxIterations, `variables` renames what it sets."""
    variables = {"iteration": "currentIteration"}
    if kind == "forEach":
        variables |= {"item": "currentItem", "index": "currentIndex"}
    variables |= given.pop("variables", {})
    made = {"kind": kind, "maxIterations": given.pop("limit", 5), "source": source, "variables": variables}
    common = _common(loop_id, "loop", given)
    return {**common, "loop": made, "body": list(body), "functions": [], **given}


def for_count(loop_id: str, count: float | str, *body: dict[str, Any], **given: Any) -> dict[str, Any]:
    source = {"kind": "count", "variable": count} if isinstance(count, str) else {"kind": "count", "count": count}
    return loop(loop_id, "for", source, *body, **given)


def for_each(loop_id: str, variable: str, *body: dict[str, Any], **given: Any) -> dict[str, Any]:
    return loop(loop_id, "forEach", {"kind": "items", "variable": variable}, *body, **given)


def while_condition(loop_id: str, condition: Any, *body: dict[str, Any], **given: Any) -> dict[str, Any]:
    source = {"kind": "condition", "condition": condition, "derived": given.pop("derived", "source")}
    return loop(loop_id, given.pop("kind", "while"), source, *body, **given)


def while_artifact(loop_id: str, *body: dict[str, Any], **given: Any) -> dict[str, Any]:
    source = {"kind": "artifact", "contractRef": LOOP_CONTROL, "loopId": given.pop("named", loop_id)}
    return loop(loop_id, given.pop("kind", "while"), source, *body, **given)


def typed(step: dict[str, Any]) -> Any:
    """A step as a typed node."""
    return program_model({"steps": [step]}).steps[0]


def workflow(*steps: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A whole IR with the packs its steps need."""
    refs = {LOOP_CONTROL}
    for each in (inner for top in steps for inner in (top, *top.get("body", ()))):
        output = each.get("output", {})
        if "contract" in output:
            refs.add(output["contract"]["ref"])
        if "assessments" in output:
            refs.add("wr.contracts.assessment")
    known = load_core().contracts
    made: dict[str, Any] = {
        "format": "workrail.ir/1",
        "workflowId": "test.workflow",
        "name": "Test",
        "description": "d",
        "version": "1.0.0",
        "kind": "workflow",
        "metaGuidance": [],
        "preconditions": [],
        "clarificationPrompts": [],
        "examples": [],
        "capabilities": {},
        "features": [],
        "contracts": [pack(ref) for ref in sorted(refs) if ref in known],
        "assessments": [],
        "functions": [],
        "references": [],
        "conditions": [],
        "steps": list(steps),
        "bindings": {"resolved": {}, "overrides": {}},
        "warnings": [],
    }
    return {**made, **given}
