"""Loop configuration and what a loop body may be."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import Node, Nodes
from workrail_lint.systems.workrail.structural.common import finding, members_of


def check_loops(nodes: Nodes) -> Iterator[Finding]:
    by_id: dict[str, Node] = {}
    for node in nodes:
        by_id.setdefault(node.id, node)
    # A body can be neither a loop nor a step that a template replaces.
    fitting = {ident for ident, node in by_id.items() if not node.is_loop and "templateCall" not in node.step}
    body_ids: set[str] = set()
    for loop in (node for node in nodes if node.is_loop):
        yield from _source(loop)
        if isinstance(loop.step.get("body"), str):
            body_ids.add(loop.step["body"])
            yield from _referenced_body(loop, by_id, fitting)
        body_ids.update(inner.id for inner in loop.body or ())
    for node in nodes:
        if node.id in body_ids and js.truthy(node.step.get("runCondition")):
            yield finding(
                "loop-body-ref-run-condition",
                f"{node.pointer}/runCondition",
                f"step {quoted(node.id)}: a step that is the body of a loop can't have a runCondition; move the step "
                "into the loop's body",
            )


def _source(loop: Node) -> Iterator[Finding]:
    config = members_of(loop.step.get("loop"))
    pointer = f"{loop.pointer}/loop"
    count = config.get("count")
    if config.get("type") == "for" and js.is_number(count) and not count > 0:  # type: ignore[operator]
        yield finding(
            "loop-count-not-positive",
            f"{pointer}/count",
            f"loop {quoted(loop.id)}: count must be greater than 0 or the name of a context variable",
        )
    if config.get("type") == "forEach" and config.get("items") == "":
        yield finding(
            "loop-items-missing",
            f"{pointer}/items",
            f"loop {quoted(loop.id)}: items must be the name of a context variable",
        )


def _referenced_body(loop: Node, by_id: dict[str, Node], fitting: set[str]) -> Iterator[Finding]:
    body_id: str = loop.step["body"]
    pointer = f"{loop.pointer}/body"
    if body_id == "":
        yield finding("loop-body-empty", pointer, f"loop {quoted(loop.id)}: the body is empty; name a step")
        return
    target = by_id.get(body_id)
    if target is None:
        suggestion = nearest(body_id, fitting)
        hint = f"; did you mean {quoted(suggestion)}?" if suggestion else ""
        yield finding(
            "loop-body-missing-step",
            pointer,
            f"loop {quoted(loop.id)}: the body names the step {quoted(body_id)}, which does not exist{hint}",
            suggestion=suggestion,
        )
    elif target.is_loop:
        yield finding(
            "loop-body-ref-is-loop",
            pointer,
            f"loop {quoted(loop.id)}: the body names the loop {quoted(body_id)}; loops can't be nested",
        )
    elif target.step.get("type") != "parallel":
        for block in ("verification", "audit"):
            if block in target.step:
                yield finding(
                    "loop-body-ref-virtual",
                    f"{target.pointer}/{block}",
                    f"step {quoted(body_id)}: loop {quoted(loop.id)} names this step as its body, so it can't have "
                    f"{block}; move the step into the loop's body",
                )
