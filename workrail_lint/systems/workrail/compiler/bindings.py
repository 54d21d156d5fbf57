"""C2: binding tokens become the project's override or the slot's default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest_id
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    RawStep,
    compile_error,
    name_hint,
    step_label,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import ExtensionPoint

TOKEN = Pattern(r"\{\{wr\.bindings\.([^" + js.WHITESPACE_CLASS + r"{}]+)\}\}")
PREFIX = "{{wr.bindings."
RESERVED_KEY = "__proto__"


class Bound(NamedTuple):
    """What the pass found: the slots that were used, and those that the project overrides."""

    resolved: dict[str, str]
    overrides: dict[str, str]


class _UnknownSlot(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, slot: str, part: str) -> None:
        self.slot = slot
        self.part = part


def resolve_bindings(
    steps: list[Node], extension_points: Sequence[ExtensionPoint], overrides: dict[str, str]
) -> tuple[Bound, list[Finding]]:
    """Replace the tokens in the fields that allow them."""
    using = using_bindings(steps)
    if not using:
        return Bound({}, {}), []
    defaults = declared_slots(extension_points)
    bound = Bound({}, {})
    errors: list[Finding] = []

    def lookup(slot: str, part: str) -> str:
        if slot in overrides:
            bound.overrides[slot] = overrides[slot]
            value = overrides[slot]
        elif slot in defaults:
            value = defaults[slot]
        else:
            raise _UnknownSlot(slot, part)
        bound.resolved[slot] = value
        return value

    def resolve(text: str, part: str) -> str:
        if PREFIX not in text:
            return text
        current = text
        for match in TOKEN.finditer(text):
            # Every occurrence in the current text, so a token inside a default may be resolved too.
            current = current.replace(match[0], lookup(match[1], part))
        return current

    for node in using:
        try:
            node.step = _resolve_step(node.step, resolve)
        except _UnknownSlot as unknown:
            errors.append(_unknown(node, unknown, defaults))
    return bound, errors


def declared_slots(extension_points: Sequence[ExtensionPoint]) -> dict[str, str]:
    """Return the default of each slot; the first declaration of a slot counts."""
    slots: dict[str, str] = {}
    for point in extension_points:
        if point.has("slotId"):
            slots.setdefault(point.slot_id, point.default)
    return slots


def using_bindings(steps: list[Node]) -> list[Node]:
    """The steps that this pass would change; most have no bindings. Also used before templates are expanded."""
    for node in steps:
        if node.has_tokens is None:
            node.has_tokens = _has_tokens(node.step)
    return [node for node in steps if node.has_tokens]


def _has_tokens(step: RawStep) -> bool:
    prompt = step.get("prompt")
    # Looking for one character takes a fraction of looking for a token, and few texts have a brace.
    if type(prompt) is str and "{" in prompt and PREFIX in prompt:
        return True
    if "promptBlocks" not in step or type(blocks := step["promptBlocks"]) is not dict:
        return False
    for value in blocks.values():
        if type(value) is dict:
            if RESERVED_KEY in value:
                return True
            value = list(value.values())
        elif type(value) is not list:
            value = (value,)
        for text in value:
            if type(text) is str and "{" in text and PREFIX in text:
                return True
    return False


def _resolve_step(step: RawStep, resolve: Any) -> RawStep:
    changes: RawStep = {}
    prompt = step.get("prompt")
    if isinstance(prompt, str) and (text := resolve(prompt, "prompt")) is not prompt:
        changes["prompt"] = text
    blocks = step.get("promptBlocks")
    if isinstance(blocks, dict):
        new_blocks = _resolve_blocks(blocks, resolve)
        if new_blocks is not blocks:
            changes["promptBlocks"] = new_blocks
    return {**step, **changes} if changes else step


def _resolve_blocks(blocks: RawStep, resolve: Any) -> RawStep:
    changes: RawStep = {}
    goal = blocks.get("goal")
    if isinstance(goal, str) and (text := resolve(goal, "promptBlocks/goal")) is not goal:
        changes["goal"] = text
    for section in ("constraints", "procedure", "verify"):
        items = blocks.get(section)
        if not isinstance(items, list):
            continue
        part = f"promptBlocks/{section}"
        new = [resolve(x, f"{part}/{i}") if isinstance(x, str) else x for i, x in enumerate(items)]
        if any(a is not b for a, b in zip(new, items, strict=True)):
            changes[section] = new
    output = blocks.get("outputRequired")
    if isinstance(output, dict):
        values = {
            name: resolve(value, f"promptBlocks/outputRequired/{name}") if isinstance(value, str) else value
            for name, value in output.items()
        }
        # The engine rebuilds this object by assignment, which sets the prototype and drops this name.
        values.pop(RESERVED_KEY, None)
        if len(values) != len(output) or any(values[name] is not output[name] for name in values):
            changes["outputRequired"] = values
    return {**blocks, **changes} if changes else blocks


def _unknown(node: Node, unknown: _UnknownSlot, declared: dict[str, str]) -> Finding:
    slot = unknown.slot
    found = nearest_id(slot, declared)
    details: dict[str, object] = {} if found is None else {"suggestion": found}
    from_template = node.origin is not None and node.origin.source == "template"
    return compile_error(
        "UNKNOWN_BINDING_SLOT",
        "binding-slot-undeclared",
        "C2",
        node,
        f"{step_label(node)}: unknown binding slot {quoted(slot)}{name_hint(found, 'declared slots', declared)}",
        node.place if from_template else f"{node.pointer}/{unknown.part}",
        details={"slot": slot, **details},
    )
