"""C8, C11, C12: the step index, loop bodies, what decides whether a loop continues, and the gate that asks for it."""

from __future__ import annotations

from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes, Origin, compile_error, did_you_mean
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL

GATE = "gate"
GATE_ID_COLLISION = "VIRTUAL_STEP_ID_COLLISION"
_GATE_PROMPT = (
    "Judge the pass of this loop that you have just finished. Decide `continue` only if another pass would change the "
    "result, and say in `metadata.reason` what it would change; otherwise decide `stop`. The loop runs at most {} "
    "time(s)."
)


class Loop:
    """A loop with its body resolved.

    `gate` is the step that asks for a decision where no step of the body does. It is in the IR only: the public engine
    has none.
    """

    __slots__ = ("body", "gate", "node", "source")

    def __init__(self, node: Node, body: Nodes, source: dict[str, Any] | None, gate: Node | None = None) -> None:
        self.node = node
        self.body = body
        self.source = source
        self.gate = gate


class LoopIndex:
    """The loops by id, every step by id, and the ids that run only inside a loop."""

    __slots__ = ("body_ids", "by_id", "caller_ids", "loops")

    def __init__(self) -> None:
        self.by_id: dict[str, Node] = {}
        self.loops: dict[str, Loop] = {}
        self.body_ids: set[str] = set()
        self.caller_ids: set[str | None] = set()  # of template calls that were expanded

    def add(self, nodes: Nodes) -> None:
        """Add steps, but for those whose id is taken: that was reported by C7 or is reported here."""
        by_id = self.by_id
        for node in nodes:
            if node.id not in by_id:
                by_id[node.id] = node
                if node.origin is not None:
                    self.caller_ids.add(_caller_id(node))


def resolve_loops(nodes: Nodes, workflow_id: str) -> tuple[LoopIndex, list[Finding]]:
    index = LoopIndex()
    errors: list[Finding] = []
    index.add(nodes)
    for node in [node for node in nodes if node.is_loop]:
        body = _inline_body(node, index, workflow_id, errors) if node.body else _referenced_body(node, index, errors)
        index.body_ids.update(inner.id for inner in body)
        source = condition_source(node, body)
        index.loops.setdefault(node.id, Loop(node, body, source, _gate(node, body, source)))
    errors += [
        _taken_gate_id(loop, workflow_id)
        for loop in index.loops.values()
        if loop.gate is not None and loop.gate.id in index.by_id
    ]
    return index, errors


def _gate(node: Node, body: Nodes, source: dict[str, Any] | None) -> Node | None:
    """The decision step of an artifact-driven loop whose body has none, not even a conditional one."""
    by_artifact = source is not None and source.get("kind") == "artifact_contract"
    if not by_artifact or not body or any(inner.model.decides_loop for inner in body):
        return None
    step = {
        "id": f"{node.id}__{GATE}",
        "title": f"Decide: {node.model.title}",
        "prompt": _GATE_PROMPT.format(js.text(node.step["loop"].get("maxIterations"))),
        "notesOptional": True,
        "outputContract": {"contractRef": LOOP_CONTROL},
    }
    return Node(step, node.pointer, origin=Origin("virtual", node.id, GATE), loop_id=node.id)


def _taken_gate_id(loop: Loop, workflow_id: str) -> Finding:
    assert loop.gate is not None
    return compile_error(
        GATE_ID_COLLISION,
        "virtual-id-collision",
        "C12",
        loop.node,
        f"loop {quoted(loop.node.id)}: id {quoted(loop.gate.id)}, generated for the decision step of the loop, already "
        f"exists in workflow {quoted(workflow_id)}; rename the other step",
        f"{loop.node.pointer}/id",
        engine=False,
        details={"block": GATE},
    )


def _inline_body(node: Node, index: LoopIndex, workflow_id: str, errors: list[Finding]) -> Nodes:
    for inner in node.body or ():
        if inner.is_loop:
            errors.append(_nested(node, inner.id, f"{inner.pointer}/type"))
            continue
        if inner.id in index.by_id:
            errors.append(
                compile_error(
                    "LOOP_BODY_ID_COLLISION",
                    "step-id-collision",
                    "C11",
                    inner,
                    f"loop {quoted(node.id)}: body step id {quoted(inner.id)} is already used in workflow "
                    f"{quoted(workflow_id)}; step ids must be unique",
                    f"{inner.pointer}/id" if inner.origin is None else inner.place,
                )
            )
        index.add((inner,))
    return node.body or ()


def _referenced_body(node: Node, index: LoopIndex, errors: list[Finding]) -> Nodes:
    body_id = node.model.body if node.model.kind == "loop" else None
    if not isinstance(body_id, str):
        return ()
    pointer = f"{node.pointer}/body"
    target = index.by_id.get(body_id)
    if target is None and body_id in index.caller_ids:
        message = (
            f"loop {quoted(node.id)}: the body names the template call {quoted(body_id)}, whose id no longer exists "
            "after it is expanded; put the call inline in the loop's body"
        )
        errors.append(compile_error("LOOP_BODY_MISSING", "loop-body-ref-template", "C11", node, message, pointer))
        return ()
    if target is None:
        _, details = did_you_mean(body_id, index.by_id.keys() - {node.id})
        hint = f"; did you mean {quoted(details['suggestion'])}?" if details else ""
        errors.append(
            compile_error(
                "LOOP_BODY_MISSING",
                "loop-body-missing-step",
                "C11",
                node,
                f"loop {quoted(node.id)}: the body names the step {quoted(body_id)}, which does not exist at the "
                f"top level after templates are expanded{hint}",
                pointer,
                details=details,
            )
        )
        return ()
    if target.is_loop:
        errors.append(_nested(node, body_id, pointer))
        return ()
    return (target,)


def _caller_id(node: Node) -> str | None:
    """The id of the step whose template call this step was expanded from."""
    origin = node.origin
    if origin is None or origin.source != "template":
        return None
    return node.id.removesuffix(f".{origin.part}")


def _nested(node: Node, inner_id: str, pointer: str) -> Finding:
    return compile_error(
        "LOOP_NESTED",
        "loop-nested",
        "C11",
        node,
        f"loop {quoted(node.id)}: contains loop {quoted(inner_id)}, but loops can't be nested",
        pointer,
    )


def condition_source(node: Node, body: Nodes) -> dict[str, Any] | None:
    """C12: an explicit source, else a loop-control step in the body, else the plain condition."""
    if node.model.kind != "loop" or node.model.loop.type not in ("while", "until"):
        return None
    config = node.model.loop
    if config.condition_source is not None:
        return dict(config.condition_source.raw)
    if any(inner.model.decides_loop for inner in body):
        return {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": node.id}
    if config.condition is not None:
        return {"kind": "context_variable", "condition": config.condition.raw, "derived": "legacy"}
    return None
