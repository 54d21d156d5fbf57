"""C2: binding tokens become the project's override or the slot's default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest_id
from workrail_lint.base.wording import quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    RawStep,
    compile_error,
    name_hint,
    step_label,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import ExtensionPoint, PromptBlocks, StandardStep, Step

TOKEN = Pattern(r"\{\{wr\.bindings\.([^" + js.WHITESPACE_CLASS + r"{}]+)\}\}")
PREFIX = "{{wr.bindings."
RESERVED_KEY = "__proto__"


_Resolve: TypeAlias = Callable[[str, str], str]


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
    using = [node for node in steps if _has_tokens(node.model)]
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
        assert node.model.kind == "standard"
        try:
            node.step = _resolve_step(node.model, resolve)
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


def _has_tokens(step: Step) -> bool:
    """Whether the pass would change a step; most have no bindings."""
    if step.kind != "standard":
        return False
    if step.prompt_blocks is not None and RESERVED_KEY in step.prompt_blocks.output_required:
        return True
    # Looking for one character takes a fraction of looking for a token, and few texts have a brace.
    return any("{" in text and PREFIX in text for text, _ in step.bound_texts())


def _resolve_step(step: StandardStep, resolve: _Resolve) -> RawStep:
    changes: RawStep = {}
    if step.prompt is not None and (text := resolve(step.prompt, "prompt")) is not step.prompt:
        changes["prompt"] = text
    if step.prompt_blocks is not None:
        blocks = _resolve_blocks(step.prompt_blocks, resolve)
        if blocks:
            changes["promptBlocks"] = {**step.prompt_blocks.raw, **blocks}
    return {**step.raw, **changes} if changes else step.raw


def _resolve_blocks(blocks: PromptBlocks, resolve: _Resolve) -> RawStep:
    """The sections that change."""
    changes: RawStep = {}
    if isinstance(blocks.goal, str) and (text := resolve(blocks.goal, "promptBlocks/goal")) is not blocks.goal:
        changes["goal"] = text
    for section, items in blocks.sections:
        texts = {
            index: text
            for index, item in numbered(items)
            if isinstance(item, str) and (text := resolve(item, f"promptBlocks/{section}/{index}")) is not item
        }
        if texts:
            changes[section] = [texts.get(index, item) for index, item in enumerate(blocks.raw[section])]
    output = blocks.output_required
    values = {name: resolve(text, f"promptBlocks/outputRequired/{name}") for name, text in output.items()}
    # The engine rebuilds this object by assignment, which sets the prototype and drops this name.
    values.pop(RESERVED_KEY, None)
    if values != output:
        changes["outputRequired"] = {**blocks.raw["outputRequired"], **values}
        changes["outputRequired"].pop(RESERVED_KEY, None)
    return changes


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
