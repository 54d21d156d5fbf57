"""C3 to C5: features add to prompt blocks, refs become text, blocks become the prompt.

What features and refs insert is marked, so that the rendered prompt knows which parts the author did not write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.catalog.catalog import Catalog
from workrail_lint.systems.workrail.compiler.nodes import (
    Injection,
    MarkedText,
    Node,
    catalog_hint,
    compile_error,
    step_label,
)
from workrail_lint.systems.workrail.model.workflow import PromptBlocks, PromptPart, PromptValue

LIST_SECTIONS = ("constraints", "procedure", "verify")
_STRINGS = frozenset((str,))
MAX_REF_BYTES = 4096
MAX_INJECTED_BYTES = 16384
BUDGET_EXCEEDED = "INJECTED_TEXT_BUDGET_EXCEEDED"


class _FeatureItems:
    """The items that features append to a section, rendered once for each number of the first item."""

    __slots__ = ("_items", "_parts", "_rendered")

    def __init__(self, items: list[MarkedText]) -> None:
        self._items = items
        self._rendered: dict[int, MarkedText] = {}
        self._parts = tuple(injection for item in items for injection in item.injections)

    def rendered(self, first: int) -> MarkedText:
        """The items as lines, numbered from `first`, or with dashes if it is 0."""
        if first not in self._rendered:
            text, shifted = "", []
            for number, item in enumerate(self._items, first):
                text += ("\n" if text else "") + (f"{number}. " if first else "- ")
                shifted += [_shifted(injection, len(text)) for injection in item.injections]
                text += item.text
            self._rendered[first] = MarkedText(text, tuple(shifted), self._parts)
        return self._rendered[first]


def _shifted(item: Injection, start: int) -> Injection:
    return Injection(item.kind, item.id, item.text, start + item.start, start + item.end)


class _UnknownRef(Exception):  # noqa: N818 - control flow inside this module
    def __init__(self, ref: str, place: str) -> None:
        self.ref = ref
        self.place = place  # of the part that names it, below the blocks


def apply_features(
    steps: list[Node], features: Sequence[str], written: Sequence[str], catalog: Catalog
) -> list[Finding]:
    """C3: each feature's texts, in the given order, are added to the steps, which all have prompt blocks.

    `written` is the list of the author, to which pointers refer; it may repeat an id.
    """
    errors = [
        _unknown_feature(ident, index, catalog) for index, ident in numbered(written) if ident not in catalog.features
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


def _of_feature(feature: str, value: str | list[dict[str, str]], catalog: Catalog) -> MarkedText:
    """A feature's value, the same for every step."""
    if isinstance(value, str):
        inner = MarkedText(value, ())
    else:
        inner = _resolved([(part.get("refId"), part.get("text", ""), "") for part in value], catalog)
    whole = Injection("feature", feature, inner.text, 0, len(inner.text))
    return MarkedText(inner.text, (whole, *inner.injections))


def _resolved(parts: Iterable[tuple[str | None, str, str]], catalog: Catalog) -> MarkedText:
    """Parts (a ref or None, literal text, and the place below the blocks) as one string, with the text of refs."""
    text = ""
    injections: list[Injection] = []
    known: list[Injection] = []
    for ref, literal, place in parts:
        if ref is None:
            text += literal
            continue
        if ref not in catalog.refs:
            raise _UnknownRef(ref, place)
        inserted = catalog.refs[ref].text
        injections.append(Injection("ref", ref, inserted, len(text), len(text) + len(inserted)))
        known.append(_of_ref(ref, inserted))
        text += inserted
    return MarkedText(text, tuple(injections), tuple(known))


@lru_cache(maxsize=256)
def _of_ref(ref: str, text: str) -> Injection:
    return Injection("ref", ref, text, 0, len(text))


def render_blocks(steps: list[Node], catalog: Catalog, *, budgeted: bool) -> tuple[list[Finding], list[Finding]]:
    """C4 and C5: refs become text and prompt blocks the prompt, and the injected parts are recorded.

    The errors are those of each pass. With `budgeted`, too much injected text in one step is an error.
    """
    of_refs: list[Finding] = []
    of_blocks: list[Finding] = []
    for node in steps:
        step = node.model
        assert step.kind == "standard"
        assert step.prompt_blocks is not None
        writer = _PromptWriter(catalog)
        is_known = True
        try:
            writer.write(step.prompt_blocks, node.added)
        except _UnknownRef as unknown:
            is_known = False
            of_refs.append(_unknown_ref(node, unknown, catalog))
        if is_known and budgeted and writer.inserted and (error := _over_budget(node, writer.inserted)):
            of_refs.append(error)
        if step.prompt:
            of_blocks.append(_both_set(node))
        elif not is_known:
            pass
        elif not writer.pieces:
            if not step.prompt_blocks.is_partial:
                of_blocks.append(_empty_blocks(node))
        else:
            node.render(writer.pieces, writer.inserted)
    return of_refs, of_blocks


def _over_budget(node: Node, inserted: list[tuple[int, MarkedText]]) -> Finding | None:
    total, largest = 0, (0, "")
    for _, marked in inserted:
        size, ref = marked.size or _measure(marked)
        total += size
        if ref > largest:
            largest = ref
    size, ref_id = largest
    if size > MAX_REF_BYTES:
        return _budget_error(node, f"ref {quoted(ref_id)} has {size} bytes; at most {MAX_REF_BYTES} are allowed")
    if total > MAX_INJECTED_BYTES:
        return _budget_error(
            node, f"features and refs inject {total} bytes of text; at most {MAX_INJECTED_BYTES} are allowed"
        )
    return None


def _measure(marked: MarkedText) -> tuple[int, tuple[int, str]]:
    """The bytes that a value brings into a step, and the largest of its refs."""
    features = [item for item in marked.parts if item.kind == "feature"]
    # A ref inside a feature's text is part of that text and counts once.
    total = sum([js.u8_length(item.text) for item in features or marked.parts])
    refs = [(js.u8_length(item.text), item.id) for item in marked.parts if item.kind == "ref"]
    marked.size = total, max(refs, default=(0, ""))
    return marked.size


class _PromptWriter:
    """Writes the sections in their fixed order and keeps track of the injected text."""

    __slots__ = ("_catalog", "inserted", "pieces")

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.pieces: list[str] = []
        self.inserted: list[tuple[int, MarkedText]] = []  # by the index of their piece

    def write(self, blocks: PromptBlocks, added: dict[str, _FeatureItems]) -> None:
        """Write all sections. Raises _UnknownRef."""
        pieces = self.pieces
        if blocks.goal is not None:
            pieces.append("\n\n## Goal\n")
            self._value(blocks.goal)
        self._items("\n\n## Constraints\n", "constraints", blocks.constraints, added)
        self._items("\n\n## Procedure\n", "procedure", blocks.procedure, added)
        output = blocks.output_required
        if output:
            pieces.append("\n\n## Output Required\n")
            pieces.append("\n".join([f"- **{name}**: {output[name]}" for name in js.keys(output)]))
        self._items("\n\n## Verify\n", "verify", blocks.verify, added)
        if pieces:
            pieces[0] = pieces[0][2:]

    def _items(
        self, heading: str, section: str, values: Sequence[PromptValue], added: dict[str, _FeatureItems]
    ) -> None:
        if not values and section not in added:
            return
        pieces = self.pieces
        pieces.append(heading)
        is_numbered = section == "procedure"
        if not _STRINGS.issuperset(map(type, values)):
            for number, value in enumerate(values, 1):
                start = "\n" if number > 1 else ""
                pieces.append(f"{start}{number}. " if is_numbered else f"{start}- ")
                self._value(value)
        elif is_numbered:
            pieces.append("\n".join([f"{number}. {value}" for number, value in enumerate(values, 1)]))
        elif values:
            pieces.append("\n".join([f"- {value}" for value in values]))
        if section in added:
            if values:
                pieces.append("\n")
            marked = added[section].rendered(len(values) + 1 if is_numbered else 0)
            self.inserted.append((len(pieces), marked))
            pieces.append(marked.text)

    def _value(self, value: PromptValue) -> None:
        if isinstance(value, str):
            self.pieces.append(value)
            return
        marked = _resolved([_part(part) for part in value], self._catalog)
        if marked.injections:
            self.inserted.append((len(self.pieces), marked))
        self.pieces.append(marked.text)


def _part(part: PromptPart) -> tuple[str | None, str, str]:
    if part.kind == "text":
        return None, part.text, part.key
    return part.ref_id if part.has("refId") else None, "", part.key


def _unknown_feature(ident: str, index: int, catalog: Catalog) -> Finding:
    hint, details = catalog_hint(ident, catalog.features)
    return compile_error(
        "UNKNOWN_FEATURE",
        "catalog-id-unknown",
        "C3",
        None,
        f"unknown feature {quoted(ident)}{hint}",
        f"/features/{index}",
        details=details,
    )


def _unknown_ref(node: Node, unknown: _UnknownRef, catalog: Catalog) -> Finding:
    hint, details = catalog_hint(unknown.ref, catalog.refs)
    return compile_error(
        "UNKNOWN_REF",
        "catalog-id-unknown",
        "C4",
        node,
        f"{step_label(node)}: unknown ref {quoted(unknown.ref)}{hint}",
        f"{node.pointer}/promptBlocks/{unknown.place}/refId",
        details=details,
    )


def _broken_feature(unknown: _UnknownRef, catalog: Catalog) -> Finding:
    return compile_error(
        "UNKNOWN_REF",
        "catalog-id-unknown",
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
        "prompt-source-invalid",
        "C5",
        node,
        f"{step_label(node)} has `prompt` and `promptBlocks`; keep one of them",
        f"{node.pointer}/promptBlocks",
    )


def _empty_blocks(node: Node) -> Finding:
    return compile_error(
        "EMPTY_BLOCKS",
        "prompt-source-invalid",
        "C5",
        node,
        f"{step_label(node)}: `promptBlocks` renders to an empty prompt; add a goal or at least one item",
        f"{node.pointer}/promptBlocks",
    )
