"""The compiled steps in the order in which a run meets them."""

from __future__ import annotations

from workrail_lint.systems.workrail.analysis.definitions_and_uses import (
    AUTHORED,
    FEATURE,
    TEMPLATE,
    VIRTUAL,
    Origin,
    PlacedStep,
)
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes
from workrail_lint.systems.workrail.compiler.steps import Loop
from workrail_lint.systems.workrail.model import workflow as model
from workrail_lint.systems.workrail.model.workflow import Condition, Workflow


class LoopFacts:
    """The facts about a loop that the analysis uses."""

    __slots__ = ("condition", "items", "kind", "step", "surely_entered", "variables")

    def __init__(
        self,
        step: int,
        kind: str,
        variables: dict[str, str],
        items: str | None,
        condition: Condition | None,
        surely_entered: bool,
    ) -> None:
        self.step = step  # index of the loop step
        self.kind = kind  # for, forEach, while, until
        self.variables = variables  # name to iteration, item or index
        self.items = items
        self.condition = condition  # the context condition that decides it
        self.surely_entered = surely_entered


class Flow:
    """Steps, and the compiled node of each; loops by id; the authored steps by pointer."""

    __slots__ = ("authored", "loops", "nodes", "steps")

    def __init__(
        self, steps: list[PlacedStep], nodes: list[Node], loops: dict[str, LoopFacts], authored: dict[str, model.Step]
    ) -> None:
        self.steps = steps
        self.nodes = nodes
        self.loops = loops
        self.authored = authored


_VIA = {"template": TEMPLATE, "virtual": VIRTUAL, "feature": FEATURE}


def build_flow(workflow: Workflow, nodes: Nodes, loops: dict[str, Loop]) -> Flow:
    flow = Flow([], [], {}, {step.pointer: step for step in workflow.all_steps})
    sound = {step.pointer for top in workflow.sound().steps for step in (top, *top.inline)}
    moved = {inner.id: loop.node.id for loop in reversed(loops.values()) if not loop.node.body for inner in loop.body}
    for top, node in enumerate(nodes):
        if not node.is_loop:
            if node.id not in moved:
                _add(flow, node, (top, 0), None, sound)
            continue
        loop = loops.get(node.id)
        if loop is None or loop.node is not node:  # a repeated id, which is reported elsewhere
            _add(flow, node, (top, 0), None, sound)
            continue
        flow.loops[node.id] = _loop_facts(loop, len(flow.steps))
        _add(flow, node, (top, 0), None, sound)
        for position, inner in enumerate(loop.body, 1):
            if node.body or moved.get(inner.id) == node.id:
                _add(flow, inner, (top, position), node, sound)
    return flow


def _add(flow: Flow, node: Node, position: tuple[int, int], loop: Node | None, sound: set[str]) -> None:
    pointer = node.pointer
    conditions = _run_condition(node)
    loop_id, surely_entered = None, True
    if loop is not None:
        loop_id = loop.id
        surely_entered = flow.loops[loop_id].surely_entered
        conditions += _run_condition(loop)
    origin = (pointer, AUTHORED) if node.origin is None else (node.place, _VIA.get(node.origin.source, AUTHORED))
    flow.steps.append(
        PlacedStep(
            node.id,
            pointer,
            position,
            loop_id,
            conditions,
            node.model.kind,
            Origin(*origin),
            surely_entered,
            pointer not in sound and pointer in flow.authored,
        )
    )
    flow.nodes.append(node)


def _run_condition(node: Node) -> tuple[Condition, ...]:
    """The condition of a step; an empty one always holds."""
    condition = node.model.run_condition
    return (condition,) if condition is not None and condition.raw else ()


def _loop_facts(loop: Loop, step: int) -> LoopFacts:
    written = loop.node.model
    assert written.kind == "loop"
    config = written.loop
    variables = {config.iteration_var or "currentIteration": "iteration"}
    if config.type == "forEach":
        variables[config.item_var or "currentItem"] = "item"
        variables[config.index_var or "currentIndex"] = "index"
    source = loop.source or {}
    condition = None
    if source.get("kind") == "context_variable":
        explicit = config.condition_source
        condition = explicit.condition if explicit is not None and explicit.kind == "context_variable" else None
        condition = config.condition if explicit is None else condition
    counted = config.type == "for" and isinstance(config.count, int | float) and config.count >= 1
    return LoopFacts(
        step,
        config.type or "",
        variables,
        config.items if config.type == "forEach" else None,
        condition,
        counted or source.get("kind") == "artifact_contract",
    )
