"""C3 to C5: features are appended to prompt blocks, refs become text, blocks become the prompt.

The three passes share one shape: a step's `promptBlocks`. Features and refs are marked when they are inserted, so
that the rendered prompt knows which parts the author did not write.
"""

from __future__ import annotations

from functools import lru_cache

from workrail_lint.base import js
from workrail_lint.base.typed import TYPE_CHECKING, Any
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import (
    Injection,
    Node,
    Rich,
    Step,
    catalog_hint,
    compile_error,
    step_label,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog

LIST_SECTIONS = ("constraints", "procedure", "verify")
MAX_REF_BYTES = 4096
MAX_INJECTED_BYTES = 16384
BUDGET_EXCEEDED = "INJECTED_TEXT_BUDGET_EXCEEDED"


class _FeatureItems:
    """What features add at the end of a section: one value, rendered once for each number that its first item gets."""

    __slots__ = ("_items", "_rendered", "injections")

    def __init__(self, items: list[Rich]) -> None:
        self._items = items
        self._rendered: dict[int, Rich] = {}
        self.injections = tuple(injection for item in items for injection in item.injections)

    def rendered(self, first: int) -> Rich:
        """The items as lines, numbered from `first`, or with dashes if it is 0."""
        if first not in self._rendered:
            text, shifted = "", []
            for number, item in enumerate(self._items, first):
                text += ("\n" if text else "") + (f"{number}. " if first else "- ")
                shifted += [_shifted(injection, len(text)) for injection in item.injections]
                text += item.text
            self._rendered[first] = Rich(text, tuple(shifted), self.injections)
        return self._rendered[first]


def _shifted(item: Injection, start: int) -> Injection:
    return Injection(item.kind, item.id, item.text, start + item.start, start + item.end)


class _UnknownRef(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, ref: object, position: int) -> None:
        self.ref = ref
        self.position = position


def feature_ids(features: object) -> list[str]:
    return [item for item in features if isinstance(item, str)] if isinstance(features, list) else []


def apply_features(steps: list[Node], features: list[str], catalog: Catalog, authored: object = None) -> list[Finding]:
    """C3: append each feature's texts, in the given order, to the steps, which all have prompt blocks.

    `authored` is the list as written, to which pointers refer; it may repeat an id or contain values that are not ids.
    """
    errors = [
        _unknown_feature(ident, index, catalog)
        for index, ident in enumerate(authored if isinstance(authored, list) else features)
        if isinstance(ident, str) and ident not in catalog.features
    ]
    if errors or not features:
        return errors
    try:
        injected = _feature_items(tuple(features), catalog)
    except _UnknownRef as unknown:
        return [_broken_feature(unknown, catalog)]
    for node in steps:
        blocks = node.step["promptBlocks"]
        lists = {
            section: [*(blocks.get(section) or ()), items]
            for section, items in injected.items()
            if isinstance(blocks.get(section) or [], list)
        }
        node.step = {**node.step, "promptBlocks": {**blocks, **lists}}
    return []


def _feature_items(features: tuple[str, ...], catalog: Catalog) -> dict[str, _FeatureItems]:
    """By section; the same for every step of every workflow with these features."""
    known: dict[tuple[str, ...], dict[str, _FeatureItems]] = catalog.feature_items
    if features not in known:
        values = {
            section: [
                _of_feature(ident, value, catalog)
                for ident in features
                for value in getattr(catalog.features[ident], section)
            ]
            for section in LIST_SECTIONS
        }
        known[features] = {section: _FeatureItems(items) for section, items in values.items() if items}
    return known[features]


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


def resolve_refs(steps: list[Node], catalog: Catalog, *, budgeted: bool) -> list[Finding]:
    """C4: part lists become text. With `budgeted`, too much injected text in one step is an error."""
    errors: list[Finding] = []
    for node in steps:
        blocks = node.step["promptBlocks"]
        changes: Step = {}
        place = "goal"
        try:
            if isinstance(blocks.get("goal"), list):
                changes["goal"] = _resolved(blocks["goal"], catalog)
            for section in LIST_SECTIONS:
                items = _items(blocks, section)
                if list in map(type, items):
                    made: list[Any] = []
                    for index, item in enumerate(items):
                        place = f"{section}/{index}"
                        made.append(_resolved(item, catalog) if type(item) is list else item)
                    changes[section] = made
        except _UnknownRef as unknown:
            errors.append(_unknown_ref(node, f"{place}/{unknown.position}", unknown.ref, catalog))
            continue
        if changes:
            blocks = {**blocks, **changes}
            node.step = {**node.step, "promptBlocks": blocks}
        if budgeted and (error := _over_budget(node, blocks)):
            errors.append(error)
    return errors


def _items(blocks: Step, section: str) -> list[Any]:
    items = blocks.get(section)
    return items if isinstance(items, list) else []


def _over_budget(node: Node, blocks: Step) -> Finding | None:
    values = [item for section in LIST_SECTIONS for item in _items(blocks, section) if type(item) is not str]
    values.append(blocks.get("goal"))
    injections = [value.injections for value in values if type(value) is Rich or type(value) is _FeatureItems]
    if not injections:
        return None
    total, (size, ref) = _sizes(tuple(injections))
    if size > MAX_REF_BYTES:
        return _budget_error(node, f"ref {quoted(ref)} has {size} bytes; at most {MAX_REF_BYTES} are allowed")
    if total > MAX_INJECTED_BYTES:
        return _budget_error(
            node, f"features and refs inject {total} bytes of text; at most {MAX_INJECTED_BYTES} are allowed"
        )
    return None


@lru_cache(maxsize=256)
def _sizes(values: tuple[tuple[Injection, ...], ...]) -> tuple[int, tuple[int, str]]:
    """The bytes that values bring into a step, and the largest of their refs."""
    total, largest = 0, (0, "")
    for injections in values:
        features = [item for item in injections if item.kind == "feature"]
        # A ref inside a feature's text is part of that text and counts once.
        total += sum(js.u8_length(item.text) for item in features or injections)
        refs = [(js.u8_length(item.text), item.id) for item in injections if item.kind == "ref"]
        largest = max([largest, *refs])
    return total, largest


def render_blocks(steps: list[Node]) -> list[Finding]:
    """C5: prompt blocks become the prompt, and the injected parts are recorded."""
    errors: list[Finding] = []
    for node in steps:
        step = {**node.step}
        blocks = step.pop("promptBlocks")
        if js.truthy(step.get("prompt")):
            errors.append(_both_set(node))
            continue
        writer = _PromptWriter()
        writer.blocks(blocks)
        if writer.unresolved:
            continue  # C4 reported the ref
        if not writer.sections:
            errors.append(_empty_blocks(node))
            continue
        step["prompt"] = "".join(writer.pieces)
        node.step, node.inserted, node.prompt_member = step, tuple(writer.inserted), "promptBlocks"
    return errors


class _PromptWriter:
    """Writes the sections in their fixed order and keeps track of the injected text."""

    __slots__ = ("_counted", "_length", "inserted", "pieces", "sections", "unresolved")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._length = self._counted = 0  # the length of the pieces counted so far
        self.sections = 0
        self.inserted: list[tuple[int, Rich]] = []
        self.unresolved = False

    def blocks(self, blocks: Step) -> None:
        if "goal" in blocks:
            self.heading("Goal")
            self.value(blocks["goal"])
        self.items("Constraints", blocks.get("constraints"))
        self.items("Procedure", blocks.get("procedure"), numbered=True)
        output = blocks.get("outputRequired")
        if isinstance(output, dict) and output:
            self.heading("Output Required")
            self.pieces.append("\n".join([f"- **{name}**: {js.text(output[name])}" for name in js.keys(output)]))
        self.items("Verify", blocks.get("verify"))

    def heading(self, title: str) -> None:
        self.pieces.append(f"\n\n## {title}\n" if self.sections else f"## {title}\n")
        self.sections += 1

    def items(self, title: str, values: object, *, numbered: bool = False) -> None:
        if not isinstance(values, list) or not values:
            return
        self.heading(title)
        start, write = "", self.pieces.append
        for number, value in enumerate(values, 1):
            if type(value) is _FeatureItems:
                write(start)
                self.value(value.rendered(number if numbered else 0))
                return  # always the last
            mark = f"{start}{number}. " if numbered else f"{start}- "
            if type(value) is str:
                write(mark + value)
            else:
                write(mark)
                self.value(value)
            start = "\n"

    def value(self, value: Any) -> None:
        if type(value) is Rich:
            if value.injections:
                self._length += sum(map(len, self.pieces[self._counted :]))
                self._counted = len(self.pieces)
                self.inserted.append((self._length, value))
            self.pieces.append(value.text)
        elif isinstance(value, list):
            self.unresolved = True
        else:
            self.pieces.append(js.text(value))


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
