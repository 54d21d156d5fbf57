"""The compiled steps in the order in which a run meets them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.systems.workrail.analysis.records import (
    AUTHORED,
    FEATURE,
    TEMPLATE,
    VIRTUAL,
    Condition,
    Origin,
    Step,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compiler.loops import Loop
    from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes


class LoopFacts(NamedTuple):
    """What the analysis needs of a loop."""

    step: int  # index of the loop step
    kind: str  # for, forEach, while, until
    variables: dict[str, str]  # name to iteration, item or index
    items: str | None
    condition: Condition | None  # the context condition that decides it
    condition_place: str  # below the loop step
    surely_entered: bool


class Flow(NamedTuple):
    """Steps, and the compiled node of each; loops by id; the authored steps by pointer."""

    steps: list[Step]
    nodes: list[Node]
    loops: dict[str, LoopFacts]
    authored: dict[str, dict[str, Any]]


_tuple = tuple.__new__
_VIA = {"template": TEMPLATE, "virtual": VIRTUAL, "feature": FEATURE}


def build_flow(definition: dict[str, Any], nodes: Nodes, loops: dict[str, Loop], trusted: set[str] | None) -> Flow:
    """`trusted` are the pointers of the steps whose shape is sound; None when all are."""
    flow = Flow([], [], {}, _authored_steps(definition))
    moved = {inner.id: loop.node.id for loop in reversed(loops.values()) if not loop.node.body for inner in loop.body}
    for top, node in enumerate(nodes):
        if not node.is_loop:
            if node.id not in moved:
                _add(flow, node, (top, 0), None, trusted)
            continue
        loop = loops.get(node.id)
        if loop is None or loop.node is not node:  # a repeated id, which is reported elsewhere
            _add(flow, node, (top, 0), None, trusted)
            continue
        facts = _loop_facts(node, loop, len(flow.steps))
        flow.loops[node.id] = facts
        _add(flow, node, (top, 0), None, trusted)
        for position, inner in enumerate(loop.body, 1):
            if node.body or moved.get(inner.id) == node.id:
                _add(flow, inner, (top, position), node, trusted)
    return flow


def _add(flow: Flow, node: Node, position: tuple[int, int], loop: Node | None, trusted: set[str] | None) -> None:
    data, pointer = node.step, node.pointer
    own, kind = data.get("runCondition"), data.get("type")
    conditions: tuple[Condition, ...] = (own,) if own and isinstance(own, dict) else ()
    loop_id, surely_entered = None, True
    if loop is not None:
        loop_id = loop.id
        surely_entered = flow.loops[loop_id].surely_entered
        around = loop.step.get("runCondition")
        if around and isinstance(around, dict):
            conditions += (around,)
    origin = (pointer, AUTHORED) if node.origin is None else (node.place, _VIA.get(node.origin.source, AUTHORED))
    flow.steps.append(
        _tuple(
            Step,
            (
                node.id,
                pointer,
                position,
                loop_id,
                conditions,
                kind if kind in ("loop", "parallel") else "standard",
                _tuple(Origin, origin),
                surely_entered,
                trusted is not None and pointer not in trusted,
            ),
        )
    )
    flow.nodes.append(node)


def _loop_facts(node: Node, loop: Loop, step: int) -> LoopFacts:
    found = node.step.get("loop")
    config: dict[str, Any] = found if isinstance(found, dict) else {}
    kind = config.get("type")
    variables = {_name(config, "iterationVar", "currentIteration"): "iteration"}
    if kind == "forEach":
        variables[_name(config, "itemVar", "currentItem")] = "item"
        variables[_name(config, "indexVar", "currentIndex")] = "index"
    source = loop.source or {}
    condition = source.get("condition") if source.get("kind") == "context_variable" else None
    count = config.get("count")
    counted = kind == "for" and isinstance(count, int | float) and count >= 1
    place = "loop/condition" if source.get("derived") else "loop/conditionSource/condition"
    items = config.get("items")
    return LoopFacts(
        step,
        kind if isinstance(kind, str) else "",
        variables,
        items if kind == "forEach" and isinstance(items, str) else None,
        condition if isinstance(condition, dict) else None,
        place,
        counted or source.get("kind") == "artifact_contract",
    )


def _name(config: dict[str, Any], member: str, default: str) -> str:
    name = config.get(member)
    return name if isinstance(name, str) and name else default


def _authored_steps(definition: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    steps = definition.get("steps")
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if not isinstance(step, dict):
            continue
        found[f"/steps/{index}"] = step
        body = step.get("body")
        if isinstance(body, list):
            for inner, item in enumerate(body):
                if isinstance(item, dict):
                    found[f"/steps/{index}/body/{inner}"] = item
    return found
