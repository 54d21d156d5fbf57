"""Extension points and the binding tokens that use them."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.bindings import PREFIX, TOKEN, declared_slots, using_bindings
from workrail_lint.systems.workrail.compiler.nodes import Node, name_hint, step_label
from workrail_lint.systems.workrail.structural.common import (
    Definition,
    Steps,
    finding,
    items_of,
    members_of,
    repeated,
)


def check_slots(definition: Definition, steps: Steps) -> Iterator[Finding]:
    points = items_of(definition.get("extensionPoints"))
    pairs = ((members_of(point).get("slotId"), f"/extensionPoints/{i}/slotId") for i, point in enumerate(points))
    for slot, pointer, first in repeated(pairs):
        message = f"duplicate slot {quoted(slot)}; extensionPoints[{first}] already declares it"
        yield finding("extension-slot-duplicate", pointer, message)
    using = using_bindings(steps)
    declared = declared_slots(points) if using else {}
    for node in using:
        for text, pointer in surfaces(node):
            if PREFIX in text:
                yield from _check_text(node, text, pointer, declared, bool(points))


def _check_text(node: Node, text: str, pointer: str, declared: dict[str, str], has_points: bool) -> Iterator[Finding]:
    if not has_points:
        # If nothing is declared, the engine searches for the bare prefix, even of a malformed token.
        yield finding(
            "binding-no-extension-points",
            pointer,
            f"{step_label(node)}: uses a binding token, but the workflow declares no extensionPoints; declare the slot",
        )
        return
    for slot in dict.fromkeys(match[1] for match in TOKEN.finditer(text)):
        if slot not in declared:
            suggestion = nearest(slot, declared)
            hint = name_hint(suggestion, "declared slots", declared)
            yield finding(
                "binding-slot-undeclared",
                pointer,
                f"{step_label(node)}: unknown binding slot {quoted(slot)}{hint}",
                suggestion=suggestion,
            )


def surfaces(node: Node) -> Iterator[tuple[str, str]]:
    """The strings of a step in which binding tokens are resolved, with their pointers."""
    prompt = node.step.get("prompt")
    if isinstance(prompt, str):
        yield prompt, f"{node.pointer}/prompt"
    blocks = members_of(node.step.get("promptBlocks"))
    base = f"{node.pointer}/promptBlocks"
    if isinstance(blocks.get("goal"), str):
        yield blocks["goal"], f"{base}/goal"
    for section in ("constraints", "procedure", "verify"):
        for index, item in enumerate(items_of(blocks.get(section))):
            if isinstance(item, str):
                yield item, f"{base}/{section}/{index}"
    for name, value in members_of(blocks.get("outputRequired")).items():
        if isinstance(value, str):
            yield value, child(f"{base}/outputRequired", name)
