"""C3 to C5: features are appended to prompt blocks, refs become text, blocks become the prompt.

The three passes share one shape: a step's `promptBlocks`. Features and refs are marked when they are inserted, so
that the rendered prompt knows which parts the author did not write.
"""

from __future__ import annotations

from workrail_lint.base import js
from workrail_lint.base.typed import TYPE_CHECKING, Any
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import (
    Injection,
    Node,
    Nodes,
    Step,
    catalog_hint,
    compile_error,
    map_steps,
    step_label,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog

LIST_SECTIONS = ("constraints", "procedure", "verify")
MAX_REF_BYTES = 4096
MAX_INJECTED_BYTES = 16384
BUDGET_EXCEEDED = "INJECTED_TEXT_BUDGET_EXCEEDED"


class Rich:
    """A prompt value whose text is final, with the parts of it that the author did not write."""

    __slots__ = ("injected_bytes", "injections", "largest_ref", "text")

    def __init__(self, text: str, injections: tuple[Injection, ...]) -> None:
        self.text = text
        self.injections = injections
        # A ref inside a feature's text is part of that text and counts once.
        outermost = [item for item in injections if item.kind == "feature"] or injections
        self.injected_bytes = sum(js.u8_length(item.text) for item in outermost)
        self.largest_ref = max(
            ((js.u8_length(item.text), item.id) for item in injections if item.kind == "ref"), default=(0, "")
        )


class _UnknownRef(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, ref: object, position: int) -> None:
        self.ref = ref
        self.position = position


def feature_ids(features: object) -> list[str]:
    return [item for item in features if isinstance(item, str)] if isinstance(features, list) else []


def apply_features(
    nodes: Nodes, features: list[str], catalog: Catalog, authored: object = None
) -> tuple[Nodes, list[Finding]]:
    """C3: append each feature's texts, in the given order, to the steps that have prompt blocks.

    `authored` is the list as written, to which pointers refer; it may repeat an id or contain values that are not ids.
    """
    errors = [
        _unknown_feature(ident, index, catalog)
        for index, ident in enumerate(authored if isinstance(authored, list) else features)
        if isinstance(ident, str) and ident not in catalog.features
    ]
    if errors or not features:
        return nodes, errors
    try:
        injected = {
            section: [
                _of_feature(ident, value, catalog)
                for ident in features
                for value in getattr(catalog.features[ident], section)
            ]
            for section in LIST_SECTIONS
        }
    except _UnknownRef as unknown:
        return nodes, [_broken_feature(unknown, catalog)]

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


def _of_feature(feature: str, value: Any, catalog: Catalog) -> Rich:
    """A feature's value, the same for every step."""
    inner = _resolved(value, catalog) if isinstance(value, list) else Rich(js.text(value), ())
    whole = Injection("feature", feature, inner.text, 0, len(inner.text))
    return Rich(inner.text, (whole, *inner.injections))


def _resolved(parts: list[Any], catalog: Catalog) -> Rich:
    """A list of parts as one string, with refs replaced by their text."""
    text = ""
    injections: list[Injection] = []
    for position, part in enumerate(parts):
        if not isinstance(part, dict):
            continue
        if part.get("kind") != "ref":
            text += js.text(part.get("text", ""))
            continue
        ref = part.get("refId")
        if not isinstance(ref, str) or ref not in catalog.refs:
            raise _UnknownRef(ref, position)
        inserted = catalog.refs[ref].text
        injections.append(Injection("ref", ref, inserted, len(text), len(text) + len(inserted)))
        text += inserted
    return Rich(text, tuple(injections))


def resolve_refs(nodes: Nodes, catalog: Catalog, *, budgeted: bool) -> tuple[Nodes, list[Finding]]:
    """C4: part lists become text. With `budgeted`, too much injected text in one step is an error."""
    errors: list[Finding] = []

    def change(node: Node) -> Node:
        blocks = node.step.get("promptBlocks")
        if not isinstance(blocks, dict):
            return node
        changes: Step = {}
        place = "goal"
        try:
            if isinstance(blocks.get("goal"), list):
                changes["goal"] = _resolved(blocks["goal"], catalog)
            for section in LIST_SECTIONS:
                items = _items(blocks, section)
                if any(type(item) is list for item in items):
                    made: list[Any] = []
                    for index, item in enumerate(items):
                        place = f"{section}/{index}"
                        made.append(_resolved(item, catalog) if type(item) is list else item)
                    changes[section] = made
        except _UnknownRef as unknown:
            errors.append(_unknown_ref(node, f"{place}/{unknown.position}", unknown.ref, catalog))
            return node
        resolved = {**blocks, **changes} if changes else blocks
        if budgeted and (error := _over_budget(node, resolved)):
            errors.append(error)
        return node.with_step({**node.step, "promptBlocks": resolved}) if changes else node

    return map_steps(nodes, change), errors


def _items(blocks: Step, section: str) -> list[Any]:
    items = blocks.get(section)
    return items if isinstance(items, list) else []


def _over_budget(node: Node, blocks: Step) -> Finding | None:
    rich = [item for section in LIST_SECTIONS for item in _items(blocks, section) if type(item) is Rich]
    if type(blocks.get("goal")) is Rich:
        rich.append(blocks["goal"])
    if not rich:
        return None
    size, ref = max((value.largest_ref for value in rich), default=(0, ""))
    if size > MAX_REF_BYTES:
        return _budget_error(node, f"ref {quoted(ref)} has {size} bytes; at most {MAX_REF_BYTES} are allowed")
    total = sum(value.injected_bytes for value in rich)
    if total > MAX_INJECTED_BYTES:
        return _budget_error(
            node, f"features and refs inject {total} bytes of text; at most {MAX_INJECTED_BYTES} are allowed"
        )
    return None


def render_blocks(nodes: Nodes) -> tuple[Nodes, list[Finding]]:
    """C5: prompt blocks become the prompt, and the injected parts are recorded."""
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
        if writer.unresolved:
            return node  # C4 reported the ref
        if not writer.sections:
            errors.append(_empty_blocks(node))
            return node
        step = {name: value for name, value in node.step.items() if name != "promptBlocks"}
        step["prompt"] = writer.text
        return node.replaced(step=step, injections=tuple(writer.injections), prompt_member="promptBlocks")

    return map_steps(nodes, change), errors


class _PromptWriter:
    """Writes the sections in their fixed order and keeps track of the injected text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self.sections = 0
        self.injections: list[Injection] = []
        self.unresolved = False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def blocks(self, blocks: Step) -> None:
        if "goal" in blocks:
            self.heading("Goal")
            self.value(blocks["goal"])
        self.items("Constraints", _items(blocks, "constraints"))
        self.items("Procedure", _items(blocks, "procedure"), numbered=True)
        output = blocks.get("outputRequired")
        if isinstance(output, dict) and output:
            self.heading("Output Required")
            self.write("\n".join(f"- **{name}**: {js.text(output[name])}" for name in js.keys(output)))
        self.items("Verify", _items(blocks, "verify"))

    def heading(self, title: str) -> None:
        self.write(f"\n\n## {title}\n" if self.sections else f"## {title}\n")
        self.sections += 1

    def items(self, title: str, values: list[Any], *, numbered: bool = False) -> None:
        if not values:
            return
        self.heading(title)
        for number, value in enumerate(values, 1):
            mark = f"{number}. " if numbered else "- "
            start = mark if number == 1 else f"\n{mark}"
            if type(value) is str:
                self.write(start + value)
            else:
                self.write(start)
                self.value(value)

    def value(self, value: Any) -> None:
        if type(value) is Rich:
            start = self._length
            for item in value.injections:
                self.injections.append(Injection(item.kind, item.id, item.text, start + item.start, start + item.end))
            self.write(value.text)
        elif isinstance(value, list):
            self.unresolved = True
        else:
            self.write(js.text(value))


def _unknown_feature(ident: str, index: int, catalog: Catalog) -> Finding:
    hint, details = catalog_hint(ident, catalog.features)
    return compile_error(
        "UNKNOWN_FEATURE",
        "feature-unknown",
        "C3",
        None,
        f"unknown feature {quoted(ident)}{hint}",
        f"/features/{index}",
        details=details,
    )


def _unknown_ref(node: Node, place: str, ref: object, catalog: Catalog) -> Finding:
    hint, details = catalog_hint(str(ref), catalog.refs)
    return compile_error(
        "UNKNOWN_REF",
        "ref-unknown",
        "C4",
        node,
        f"{step_label(node)}: unknown ref {quoted(ref)}{hint}",
        f"{node.pointer}/promptBlocks/{place}/refId",
        details=details,
    )


def _broken_feature(unknown: _UnknownRef, catalog: Catalog) -> Finding:
    return compile_error(
        "UNKNOWN_REF",
        "ref-unknown",
        "C4",
        None,
        f"a feature of catalog {quoted(catalog.catalog_id)} uses unknown ref {quoted(unknown.ref)}",
        "/features",
    )


def _budget_error(node: Node, what: str) -> Finding:
    return compile_error(
        BUDGET_EXCEEDED,
        "prompt-refs-budget",
        "C4",
        node,
        f"{step_label(node)}: {what}; use fewer refs or features, because injected text is never truncated",
        f"{node.pointer}/promptBlocks",
        engine=False,
    )


def _both_set(node: Node) -> Finding:
    return compile_error(
        "PROMPT_AND_BLOCKS_BOTH_SET",
        "prompt-source-multiple",
        "C5",
        node,
        f"{step_label(node)} has `prompt` and `promptBlocks`; keep one of them",
        f"{node.pointer}/promptBlocks",
    )


def _empty_blocks(node: Node) -> Finding:
    return compile_error(
        "EMPTY_BLOCKS",
        "prompt-blocks-empty",
        "C5",
        node,
        f"{step_label(node)}: `promptBlocks` renders to an empty prompt; add a goal or at least one item",
        f"{node.pointer}/promptBlocks",
    )
