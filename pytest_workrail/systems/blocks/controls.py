"""Nodes that steer a run: they start no block of their own, leave no file and tell nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.nodes import Halt
from pytest_workrail.systems.blocks.run_state import Stage, start_variables
from workrail_lint.base.result import Err
from workrail_lint.systems.blocks.definition import Node
from workrail_lint.systems.blocks.expressions import holds
from workrail_lint.systems.blocks.limits import FOR_EACH_ITERATIONS, MAX_SUB_WORKFLOW_DEPTH
from workrail_lint.systems.blocks.plan import body_order, make_plan
from workrail_lint.systems.blocks.transitions import transition_holds
from workrail_lint.systems.blocks.vocabulary import ControlType, ExecutionStatus, NodeStatus

RunNode = Callable[[Stage, Node], Halt]
Walk = Callable[[Stage], Halt]


def run_control(stage: Stage, node: Node, run_node: RunNode, walk: Walk) -> Halt:
    """Do what a control says, with the ways to run a node and a whole definition."""
    match node.control:
        case ControlType.CONDITION:
            return _condition(stage, node)
        case ControlType.FOR_EACH:
            return _for_each(stage, node, run_node)
        case ControlType.SUB_WORKFLOW:
            return _sub_workflow(stage, node, walk)
        case None:
            raise AssertionError("a control that does not say what it does is an error of the definition")


def _condition(stage: Stage, node: Node) -> Halt:
    config = node.settings("conditionConfig")
    value = holds(config.get("expression"), stage.variables, stage.definition.language)
    stage.variables[node.id] = value
    stage.skips[config["falseBranchNodeId" if value else "trueBranchNodeId"]] = "branch"
    stage.statuses[node.id] = NodeStatus.COMPLETED
    return None


def _for_each(stage: Stage, node: Node, run_node: RunNode) -> Halt:
    config = node.settings("forEachConfig")
    items = stage.variables.get(config["collectionVariable"])
    most = int(config.get("maxIterations", FOR_EACH_ITERATIONS))
    body = [stage.definition.by_id[ident] for ident in body_order(stage.definition, node)]
    inside = _inside(stage, node)
    decided = {ident: stage.skips[ident] for ident in inside if ident in stage.skips}
    outer, failed = stage.iteration, False
    for number, item in enumerate(items[:most] if isinstance(items, list) else ()):
        stage.variables[config["itemVariable"]] = item
        stage.iteration = number
        # A condition outside the body has decided for all passes; one inside it decides in each anew.
        for ident in inside:
            stage.skips.pop(ident, None)
        stage.skips.update(decided)
        halted = _iteration(stage, body, run_node)
        stage.iteration = outer
        if halted is not None:
            return halted
        failed = failed or any(stage.statuses[each.id] is NodeStatus.FAILED for each in body)
    stage.statuses[node.id] = NodeStatus.FAILED if failed else NodeStatus.COMPLETED
    return None


def _inside(stage: Stage, owner: Node) -> list[str]:
    """The nodes of a body, and of the loops in it."""
    found = list(owner.body)
    for ident in found:
        found += [inner for inner in stage.definition.by_id[ident].body if inner not in found]
    return found


def _iteration(stage: Stage, body: list[Node], run_node: RunNode) -> Halt:
    """One pass: the nodes of the body in their order, judged by the transitions between them alone."""
    names = {node.id for node in body}
    for node in body:
        stage.statuses.pop(node.id, None)
    for node in body:
        inner = [edge for edge in stage.definition.incoming[node.id] if edge.source in names]
        language = stage.definition.language
        if inner and not any(transition_holds(edge, stage.statuses, stage.variables, language) for edge in inner):
            stage.skips.setdefault(node.id, "condition")
        halted = run_node(stage, node)
        if halted is not None:
            return halted
    return None


def _sub_workflow(stage: Stage, node: Node, walk: Walk) -> Halt:
    """Run another definition in the same workspace, with variables handed in and out."""
    shared, config = stage.shared, node.settings("subWorkflowConfig")
    if stage.depth >= MAX_SUB_WORKFLOW_DEPTH:
        stage.statuses[node.id] = NodeStatus.FAILED
        shared.blockers.append(blockers.too_deep(node.id, MAX_SUB_WORKFLOW_DEPTH))
        return None
    definition = shared.setup.workflows[config["workflowId"]]
    plan = make_plan(definition)
    if isinstance(plan, Err):
        stage.statuses[node.id] = NodeStatus.FAILED
        shared.blockers.append(blockers.plan_cycle(definition, plan.error))
        return None
    given = _mapped(config.get("inputMappings"), stage.variables)
    inner = Stage(shared, definition, plan.value, start_variables(definition, given), stage.depth + 1)
    halted = walk(inner)
    if halted not in (None, ExecutionStatus.FAILED):
        return halted
    stage.variables.update(_mapped(config.get("outputMappings"), inner.variables))
    stage.statuses[node.id] = NodeStatus.FAILED if inner.failed else NodeStatus.COMPLETED
    return None


def _mapped(mappings: Any, source: dict[str, Any]) -> dict[str, Any]:
    """Variables under other names; what the source does not have is not handed over."""
    pairs = mappings.items() if isinstance(mappings, dict) else ()
    return {name: source[origin] for name, origin in pairs if isinstance(origin, str) and origin in source}
