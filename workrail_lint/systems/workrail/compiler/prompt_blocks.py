"""C3 to C5: features add to prompt blocks, refs become text, blocks become the prompt.

What features and refs insert is marked, so that the rendered prompt knows which parts the author did not write.
"""

from __future__ import annotations

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
_STRINGS = frozenset((str,))
MAX_REF_BYTES = 4096
MAX_INJECTED_BYTES = 16384
BUDGET_EXCEEDED = "INJECTED_TEXT_BUDGET_EXCEEDED"


class _FeatureItems:
    """What features add at the end of a section, rendered once for each number that its first item gets."""

    __slots__ = ("_items", "_parts", "_rendered")

    def __init__(self, items: list[Rich]) -> None:
        self._items = items
        self._rendered: dict[int, Rich] = {}
        self._parts = tuple(injection for item in items for injection in item.injections)

    def rendered(self, first: int) -> Rich:
        """The items as lines, numbered from `first`, or with dashes if it is 0."""
        if first not in self._rendered:
            text, shifted = "", []
            for number, item in enumerate(self._items, first):
                text += ("\n" if text else "") + (f"{number}. " if first else "- ")
                shifted += [_shifted(injection, len(text)) for injection in item.injections]
                text += item.text
            self._rendered[first] = Rich(text, tuple(shifted), self._parts)
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
    """C3: each feature's texts, in the given order, are added to the steps, which all have prompt blocks.

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
        node.added = injected
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


def render_blocks(steps: list[Node], catalog: Catalog, *, budgeted: bool) -> tuple[list[Finding], list[Finding]]:
    """C4 and C5: refs become text and prompt blocks the prompt, and the injected parts are recorded.

    The errors are those of each pass. With `budgeted`, too much injected text in one step is an error.
    """
    of_refs: list[Finding] = []
    of_blocks: list[Finding] = []
    for node in steps:
        step = {**node.step}
        writer = _PromptWriter(catalog, step.pop("promptBlocks"), node.added)
        is_known = True
        try:
            writer.write()
        except _UnknownRef as unknown:
            is_known = False
            of_refs.append(_unknown_ref(node, f"{writer.place}/{unknown.position}", unknown.ref, catalog))
        if is_known and budgeted and writer.inserted and (error := _over_budget(node, writer.inserted)):
            of_refs.append(error)
        if js.truthy(step.get("prompt")):
            of_blocks.append(_both_set(node))
        elif not is_known:
            pass
        elif not writer.sections:
            of_blocks.append(_empty_blocks(node))
        else:
            step["prompt"] = "".join(writer.pieces)
            node.step, node.inserted, node.prompt_member = step, tuple(writer.inserted), "promptBlocks"
    return of_refs, of_blocks


def _over_budget(node: Node, inserted: list[tuple[int, Rich]]) -> Finding | None:
    total, largest = 0, (0, "")
    for _, rich in inserted:
        size, ref = rich.size or _measure(rich)
        total += size
        largest = max(largest, ref)
    size, ref_id = largest
    if size > MAX_REF_BYTES:
        return _budget_error(node, f"ref {quoted(ref_id)} has {size} bytes; at most {MAX_REF_BYTES} are allowed")
    if total > MAX_INJECTED_BYTES:
        return _budget_error(
            node, f"features and refs inject {total} bytes of text; at most {MAX_INJECTED_BYTES} are allowed"
        )
    return None


def _measure(rich: Rich) -> tuple[int, tuple[int, str]]:
    """The bytes that a value brings into a step, and the largest of its refs."""
    features = [item for item in rich.parts if item.kind == "feature"]
    # A ref inside a feature's text is part of that text and counts once.
    total = sum([js.u8_length(item.text) for item in features or rich.parts])
    rich.size = total, max([(js.u8_length(item.text), item.id) for item in rich.parts if item.kind == "ref"] or [_NO_REF])
    return rich.size


_NO_REF = (0, "")


class _PromptWriter:
    """Writes the sections in their fixed order and keeps track of the injected text."""

    __slots__ = ("_added", "_blocks", "_catalog", "_counted", "_length", "inserted", "pieces", "place", "sections")

    def __init__(self, catalog: Catalog, blocks: Step, added: dict[str, Any]) -> None:
        self._catalog = catalog
        self._blocks = blocks
        self._added: dict[str, _FeatureItems] = added
        self._length = self._counted = 0  # the length of the pieces counted so far
        self.pieces: list[str] = []
        self.sections = 0
        self.inserted: list[tuple[int, Rich]] = []
        self.place = ""  # of the parts that were resolved last, below the blocks

    def write(self) -> None:
        """Write all sections. Raises _UnknownRef."""
        blocks = self._blocks
        if "goal" in blocks:
            self._heading("Goal")
            self._value(blocks["goal"], "goal")
        self._items("Constraints", "constraints")
        self._items("Procedure", "procedure", numbered=True)
        output = blocks.get("outputRequired")
        if isinstance(output, dict) and output:
            self._heading("Output Required")
            self.pieces.append("\n".join([f"- **{name}**: {_text(output[name])}" for name in js.keys(output)]))
        self._items("Verify", "verify")

    def _heading(self, title: str) -> None:
        self.pieces.append(f"\n\n## {title}\n" if self.sections else f"## {title}\n")
        self.sections += 1

    def _items(self, title: str, section: str, *, numbered: bool = False) -> None:
        values = self._blocks.get(section) or []
        added = self._added.get(section)
        if not isinstance(values, list) or not (values or added):
            return
        self._heading(title)
        write = self.pieces.append
        if not _STRINGS.issuperset(map(type, values)):
            for index, value in enumerate(values):
                line = "\n" if index else ""
                write(f"{line}{index + 1}. " if numbered else f"{line}- ")
                self._value(value, f"{section}/{index}")
        elif values:
            lines = [f"{number}. {value}" for number, value in enumerate(values, 1)] if numbered else values
            write("\n".join(lines) if numbered else "- " + "\n- ".join(lines))
        if added:
            if values:
                write("\n")
            self._insert(added.rendered(len(values) + 1 if numbered else 0))

    def _value(self, value: Any, place: str) -> None:
        if isinstance(value, list):
            self.place = place
            self._insert(_resolved(value, self._catalog))
        else:
            self.pieces.append(_text(value))

    def _insert(self, value: Rich) -> None:
        if value.injections:
            self._length += sum(map(len, self.pieces[self._counted :]))
            self._counted = len(self.pieces)
            self.inserted.append((self._length, value))
        self.pieces.append(value.text)


def _text(value: Any) -> str:
    return value if type(value) is str else js.text(value)


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
