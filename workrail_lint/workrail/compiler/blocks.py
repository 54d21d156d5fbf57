"""C3 to C5: features are appended to prompt blocks, refs become text, blocks become the prompt.

The three passes share one shape: a step's `promptBlocks`. Features and refs are marked as they are put
in, so that the rendered prompt knows which of its stretches nobody wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workrail_lint import js
from workrail_lint.findings import Finding
from workrail_lint.workrail.compiler.nodes import (
    Injection,
    Node,
    Nodes,
    Step,
    compile_error,
    did_you_mean,
    listed,
    map_steps,
    one_line,
    step_label,
)

if TYPE_CHECKING:
    from workrail_lint.workrail.catalog.catalog import Catalog

LIST_SECTIONS = ("constraints", "procedure", "verify")
MAX_REF_BYTES = 4096
MAX_INJECTED_BYTES = 16384
# Marks travel inside prompt parts between C3 and C5 under names no document can carry past the schema.
_FEATURE, _REF = "\x00feature", "\x00ref"


def feature_ids(features: object) -> list[str]:
    return [item for item in features if isinstance(item, str)] if isinstance(features, list) else []


def apply_features(nodes: Nodes, features: list[str], catalog: Catalog) -> tuple[Nodes, list[Finding]]:
    """C3: append each feature's texts, in the given order, to the steps that have prompt blocks."""
    errors = [
        _unknown_feature(ident, index, catalog) for index, ident in enumerate(features) if ident not in catalog.features
    ]
    if errors or not features:
        return nodes, errors
    injected = {
        section: [_marked(ident, value) for ident in features for value in getattr(catalog.features[ident], section)]
        for section in LIST_SECTIONS
    }

    def change(node: Node) -> Node:
        blocks = node.step.get("promptBlocks")
        if not isinstance(blocks, dict):
            return node
        lists = {
            section: [*(blocks.get(section) or ()), *values]
            for section, values in injected.items()
            if values and isinstance(blocks.get(section) or [], list)
        }
        return node.with_step({**node.step, "promptBlocks": {**blocks, **lists}})

    return map_steps(nodes, change), []


def _marked(feature: str, value: js.Json) -> list[Step]:
    """A feature's value as a part list that remembers whose it is."""
    parts = value if isinstance(value, list) else [{"kind": "text", "text": value}]
    return [{**part, _FEATURE: feature} for part in parts if isinstance(part, dict)]


def resolve_refs(nodes: Nodes, catalog: Catalog, *, budgeted: bool) -> tuple[Nodes, list[Finding]]:
    """C4: ref parts become text parts. With `budgeted`, too much injected text is an error."""
    errors: list[Finding] = []

    def change(node: Node) -> Node:
        blocks = node.step.get("promptBlocks")
        if not isinstance(blocks, dict) or not _has_parts(blocks):
            return node
        resolved = dict(blocks)
        for section, index, value in _part_values(blocks):
            parts: list[Any] = []
            for position, part in enumerate(value):
                if isinstance(part, dict) and part.get("kind") == "ref":
                    ref = part.get("refId")
                    if not isinstance(ref, str) or ref not in catalog.refs:
                        errors.append(_unknown_ref(node, section, index, position, ref, catalog))
                        return node
                    part = {**part, "kind": "text", "text": catalog.refs[ref].text, _REF: ref}
                parts.append(part)
            if index is None:
                resolved[section] = parts
            else:
                items = list(resolved[section])
                items[index] = parts
                resolved[section] = items
        if budgeted and (error := _over_budget(node, resolved)):
            errors.append(error)
        return node.with_step({**node.step, "promptBlocks": resolved})

    return map_steps(nodes, change), errors


def _has_parts(blocks: Step) -> bool:
    return isinstance(blocks.get("goal"), list) or any(
        isinstance(item, list) for section in LIST_SECTIONS for item in _items(blocks, section)
    )


def _items(blocks: Step, section: str) -> list[Any]:
    items = blocks.get(section)
    return items if isinstance(items, list) else []


def _part_values(blocks: Step) -> list[tuple[str, int | None, list[Any]]]:
    found: list[tuple[str, int | None, list[Any]]] = []
    if isinstance(blocks.get("goal"), list):
        found.append(("goal", None, blocks["goal"]))
    for section in LIST_SECTIONS:
        found += [(section, i, item) for i, item in enumerate(_items(blocks, section)) if isinstance(item, list)]
    return found


def _over_budget(node: Node, blocks: Step) -> Finding | None:
    total = 0
    for _, _, value in _part_values(blocks):
        for part in value:
            if not isinstance(part, dict) or not (_FEATURE in part or _REF in part):
                continue
            size = js.u8_length(str(part.get("text", "")))
            total += size
            if _REF in part and size > MAX_REF_BYTES:
                return _budget_error(node, f"ref {one_line(part[_REF])} has {size} bytes, over {MAX_REF_BYTES}")
    if total > MAX_INJECTED_BYTES:
        return _budget_error(node, f"{total} bytes of feature and ref text are injected, over {MAX_INJECTED_BYTES}")
    return None


def render_blocks(nodes: Nodes) -> tuple[Nodes, list[Finding]]:
    """C5: prompt blocks become the prompt, and the injected stretches are noted."""
    errors: list[Finding] = []

    def change(node: Node) -> Node:
        blocks = node.step.get("promptBlocks")
        if not isinstance(blocks, dict):
            return node
        if js.truthy(node.step.get("prompt")):
            errors.append(_both_set(node))
            return node
        writer = _PromptWriter()
        writer.blocks(blocks)
        if writer.unresolved is not None:
            return node  # C4 said which ref it was
        if not writer.sections:
            errors.append(_empty_blocks(node))
            return node
        step = {name: value for name, value in node.step.items() if name != "promptBlocks"}
        step["prompt"] = writer.text
        return node.replaced(step=step, injections=tuple(writer.injections), prompt_member="promptBlocks")

    return map_steps(nodes, change), errors


class _PromptWriter:
    """Writes the sections in their fixed order and keeps track of where injected text stands."""

    def __init__(self) -> None:
        self.text = ""
        self.sections = 0
        self.injections: list[Injection] = []
        self.unresolved: str | None = None

    def blocks(self, blocks: Step) -> None:
        if "goal" in blocks:
            self.heading("Goal")
            self.value(blocks["goal"])
        self.items("Constraints", _items(blocks, "constraints"))
        self.items("Procedure", _items(blocks, "procedure"), numbered=True)
        output = blocks.get("outputRequired")
        if isinstance(output, dict) and output:
            self.heading("Output Required")
            self.text += "\n".join(f"- **{name}**: {js.text(output[name])}" for name in js.keys(output))
        self.items("Verify", _items(blocks, "verify"))

    def heading(self, title: str) -> None:
        self.text += f"{'' if not self.sections else chr(10) * 2}## {title}\n"
        self.sections += 1

    def items(self, title: str, values: list[Any], *, numbered: bool = False) -> None:
        if not values:
            return
        self.heading(title)
        for number, value in enumerate(values, 1):
            self.text += f"{'' if number == 1 else chr(10)}{f'{number}.' if numbered else '-'} "
            self.value(value)

    def value(self, value: Any) -> None:
        if not isinstance(value, list):
            self.text += js.text(value)
            return
        start = len(self.text)
        inner: list[Injection] = []
        feature: str | None = None
        for part in value:
            if not isinstance(part, dict):
                continue
            if part.get("kind") == "ref":
                self.unresolved = str(part.get("refId"))
            at = len(self.text)
            self.text += str(part.get("text", ""))
            feature = part.get(_FEATURE, feature)
            if _REF in part:
                inner.append(Injection("ref", part[_REF], self.text[at:], at, len(self.text)))
        if feature is not None:
            self.injections.append(Injection("feature", feature, self.text[start:], start, len(self.text)))
        self.injections += inner


def _unknown_feature(ident: str, index: int, catalog: Catalog) -> Finding:
    hint, details = did_you_mean(ident, catalog.features)
    return compile_error(
        "UNKNOWN_FEATURE",
        "feature-unknown",
        "C3",
        None,
        f"Unknown feature {one_line(ident)}.{hint} Known features: {listed(catalog.features)}",
        f"/features/{index}",
        details=details,
    )


def _unknown_ref(node: Node, section: str, index: int | None, position: int, ref: object, catalog: Catalog) -> Finding:
    hint, details = did_you_mean(str(ref), catalog.refs)
    place = "" if index is None else f"/{index}"
    return compile_error(
        "UNKNOWN_REF",
        "ref-unknown",
        "C4",
        node,
        f"{step_label(node)}: unknown ref {one_line(ref)}.{hint} Known refs: {listed(catalog.refs)}",
        f"{node.pointer}/promptBlocks/{section}{place}/{position}/refId",
        details=details,
    )


def _budget_error(node: Node, what: str) -> Finding:
    return compile_error(
        "INJECTED_TEXT_BUDGET_EXCEEDED",
        "prompt-refs-budget",
        "C4",
        node,
        f"{step_label(node)}: {what}; injected text is never cut",
        f"{node.pointer}/promptBlocks",
        engine=False,
    )


def _both_set(node: Node) -> Finding:
    return compile_error(
        "PROMPT_AND_BLOCKS_BOTH_SET",
        "prompt-source-multiple",
        "C5",
        node,
        f"{step_label(node)}: has both prompt and promptBlocks; keep one",
        f"{node.pointer}/promptBlocks",
    )


def _empty_blocks(node: Node) -> Finding:
    return compile_error(
        "EMPTY_BLOCKS",
        "prompt-blocks-empty",
        "C5",
        node,
        f"{step_label(node)}: promptBlocks render to nothing; give a goal or at least one item",
        f"{node.pointer}/promptBlocks",
    )
