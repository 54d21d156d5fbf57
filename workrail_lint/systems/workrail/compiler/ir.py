"""The IR renderer (docs/ir.md): executable nodes to the frozen, self-contained document that is hashed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from workrail_lint.base.canonical import digest
from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compat import SideModel
from workrail_lint.systems.workrail.compiler.nodes import Injection, Node, Nodes, RawStep
from workrail_lint.systems.workrail.compiler.steps import Loop, LoopIndex
from workrail_lint.systems.workrail.compiler.tokens import Bound
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import (
    Condition,
    Confirmation,
    ConfirmationGate,
    LoopConfig,
    StandardStep,
)

FORMAT = "workrail.ir/1"
ASSESSMENT = "wr.contracts.assessment"
_DEFAULT_GATE = "coordinator_eval"
_TOP_LISTS = ("metaGuidance", "preconditions", "clarificationPrompts", "examples", "assessments", "references")
_TOP_OPTIONAL = ("about", "recommendedPreferences", "modelTier", "metricsProfile")


def render_ir(
    definition: dict[str, Any],
    nodes: Nodes,
    index: LoopIndex,
    bound: Bound,
    catalog: Catalog,
    side: SideModel | None,
    warnings: list[tuple[str, str]],
) -> dict[str, Any]:
    steps = [
        _loop(index.loops[node.id]) if node.is_loop else _step(node) for node in nodes if node.id not in index.body_ids
    ]
    ir: dict[str, Any] = {
        "format": FORMAT,
        "workflowId": definition["id"],
        "name": definition["name"],
        "description": definition["description"],
        "version": definition["version"],
        "kind": workflow_kind(definition["id"]),
        "capabilities": dict(side.capabilities) if side else {},
        "features": _features(definition, side),
        "contracts": _contracts(steps, catalog),
        "functions": definition.get("functionDefinitions", []),
        "conditions": sorted(side.conditions, key=lambda c: str(c.get("id"))) if side else [],
        "steps": steps,
        "bindings": {"resolved": bound.resolved, "overrides": bound.overrides},
        "warnings": [
            {"code": code, "pointer": pointer}
            for code, pointer in sorted(warnings, key=lambda w: (pointers.sort_key(w[1]), w[0]))
        ],
    }
    for name in _TOP_LISTS:
        ir[name] = definition.get(name, [])
    for name in _TOP_OPTIONAL:
        if name in definition:
            ir[name] = definition[name]
    if side and side.agent_role is not None:
        ir["agentRole"] = side.agent_role
    return ir


def workflow_kind(workflow_id: str) -> str:
    """By id alone, because nothing in the IR may depend on a path."""
    return "routine" if workflow_id.startswith(("wr.routine-", "routine-")) else "workflow"


def _features(definition: dict[str, Any], side: SideModel | None) -> list[dict[str, Any]]:
    configs = side.feature_configs if side else {}
    return [{"id": ident, "config": configs.get(ident) or {}} for ident in sorted(set(definition.get("features", [])))]


def _contracts(steps: list[RawStep], catalog: Catalog) -> list[dict[str, Any]]:
    refs: set[str] = set()
    loops = [step for step in steps if "loop" in step]
    for step in (*steps, *[inner for loop in loops for inner in loop["body"]]):
        output = step.get("output")
        if output:
            if "contract" in output:
                refs.add(output["contract"]["ref"])
            if "assessments" in output:
                refs.add(ASSESSMENT)
    if any(loop["loop"]["source"]["kind"] == "artifact" for loop in loops):
        refs.add(LOOP_CONTROL)
    packs = [(ref, catalog.contracts[ref]) for ref in sorted(refs) if ref in catalog.contracts]
    return [
        {
            "ref": ref,
            "artifactKind": pack.artifact_kind,
            "mode": pack.mode,
            "runtimeValidated": pack.runtime_validated,
            "schema": pack.schema,
            "example": pack.example,
        }
        for ref, pack in packs
    ]


def _common(node: Node, kind: str) -> RawStep:
    model = node.model
    result: RawStep = {
        "id": node.id,
        "title": model.title,
        "confirmation": _confirmation(model.require_confirmation),
        "notes": "optional" if model.notes_optional else "required",
        "provenance": _provenance(node),
        "type": kind,
    }
    if model.run_condition is not None:
        result["runCondition"] = model.run_condition.raw
    return result


def _provenance(node: Node) -> dict[str, Any]:
    origin = node.origin
    injected = list(_injected(tuple([marked.parts for _, marked in node.inserted]))) if node.inserted else []
    if origin is None:
        return {"source": "authored", "injected": injected}
    return {"source": origin.source, "injected": injected, "origin": origin.text}


@lru_cache(maxsize=256)
def _injected(inserted: tuple[tuple[Injection, ...], ...]) -> list[dict[str, Any]]:
    """The records of what builtins brought into a step, one for each; features bring the same into step after step."""
    pieces: dict[tuple[str, str], list[str]] = {}
    for injections in inserted:
        for item in injections:
            pieces.setdefault((item.kind, item.id), []).append(item.text)
    return [_record(kind, ident, tuple(texts)) for (kind, ident), texts in pieces.items()]


@lru_cache(maxsize=256)
def _record(kind: str, ident: str, texts: tuple[str, ...]) -> dict[str, Any]:
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    return {"kind": kind, "id": ident, "sha256": digest(data), "bytes": len(data)}


def _confirmation(rule: Confirmation | None) -> dict[str, Any]:
    match rule:
        case None | False:
            return {"kind": "never"}
        case True:
            return {"kind": "always", "gate": _DEFAULT_GATE}
        case Condition():
            return {"kind": "when", "gate": _DEFAULT_GATE, "condition": rule.raw}
        case ConfirmationGate():
            gate = {"kind": "always", "gate": rule.kind, "explicit": True}
            return gate if rule.condition is None else {**gate, "kind": "when", "condition": rule.condition.raw}


# Members of a step that the IR carries as they are.
CARRIED = ("agentRole", "modelTier")
# Its lists, by their names in the IR.
_STEP_LISTS = {
    "guidance": "guidance",
    "fragments": "promptFragments",
    "functions": "functionDefinitions",
    "functionCalls": "functionCalls",
    "functionReferences": "functionReferences",
}


def _step(node: Node) -> RawStep:
    model = node.model
    step = model.raw
    if model.kind != "standard":
        return {**_common(node, "parallel"), "delegations": step["parallelDelegations"]}
    result = _common(node, "step")
    result["prompt"] = node.prompt
    result["output"] = _output(model, node.origin.capability if node.origin else None)
    for name, member in _STEP_LISTS.items():
        result[name] = step.get(member, [])
    for name in CARRIED:
        if name in step:
            result[name] = step[name]
    return result


def _output(step: StandardStep, capability: str | None) -> dict[str, Any]:
    output: dict[str, Any] = {}
    contract = step.output_contract
    if contract is not None:
        output["contract"] = {"ref": contract.contract_ref, "required": contract.required is not False}
        if capability is not None:
            output["contract"]["capability"] = capability
    if step.assessment_refs:
        output["assessments"] = {
            "refs": step.assessment_refs,
            "consequences": step.raw.get("assessmentConsequences", []),
        }
    if "validationCriteria" in step:
        output["criteria"] = step.raw["validationCriteria"]
    return output


def _loop(loop: Loop) -> RawStep:
    config = loop.config
    kind = config.type
    variables = {"iteration": config.iteration_var or "currentIteration"}
    if kind == "forEach":
        variables["item"] = config.item_var or "currentItem"
        variables["index"] = config.index_var or "currentIndex"
    result = {
        **_common(loop.node, "loop"),
        "loop": {
            "kind": kind,
            "maxIterations": config.max_iterations,
            "source": _source(config, loop.source),
            "variables": variables,
        },
        "body": [_step(node) for node in (loop.body if loop.gate is None else (*loop.body, loop.gate))],
        "functions": loop.node.model.raw.get("functionDefinitions", []),
    }
    if loop.body and not loop.node.body:
        # The public engine treats such a body differently, also depending on where the step is.
        places = [pointers.sort_key(node.pointer) for node in (loop.body[0], loop.node)]
        result["bodyRef"] = "earlier" if places[0] < places[1] else "later"
    return result


def _source(config: LoopConfig, source: dict[str, Any] | None) -> dict[str, Any]:
    if config.type == "for" and config.count is not None:
        return {"kind": "count", "variable" if isinstance(config.count, str) else "count": config.count}
    if config.type == "forEach" and config.items:
        return {"kind": "items", "variable": config.items}
    if source is None:
        return {"kind": "none"}
    if source["kind"] == "context_variable":
        return {
            "kind": "condition",
            "condition": source["condition"],
            "derived": source.get("derived", "source"),
        }
    result = {"kind": "artifact", "contractRef": source["contractRef"]}
    if "loopId" in source:
        result["loopId"] = source["loopId"]
    return result
