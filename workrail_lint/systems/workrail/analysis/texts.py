"""The texts of a compiled workflow, each with the place where it was written.

Authored text is read where it stands, so that a finding can name the very item; what templates, features, refs and
bindings bring in points at the place that took it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.typed import TYPE_CHECKING, Any
from workrail_lint.documents.pointer import child
from workrail_lint.systems.workrail.analysis.records import (
    AUTHORED,
    BINDING,
    FEATURE,
    REF,
    VIRTUAL,
    Condition,
    Origin,
    Text,
)
from workrail_lint.systems.workrail.author_texts import Text as AuthorText
from workrail_lint.systems.workrail.author_texts import top_texts
from workrail_lint.systems.workrail.compiler.bindings import PREFIX, TOKEN
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.analysis.flow import Flow
    from workrail_lint.systems.workrail.catalog.catalog import Catalog

TextsOf = Callable[[dict[str, Any], str], list[AuthorText]]

# The virtual step that shows a text of its parent.
_BLOCK_OF = {
    "verification": "verification",
    "command": "verification",
    "audit": "audit",
    "rubric": "audit",
    "synthesis": "synthesis",
}
# Members whose texts are shown elsewhere, under a condition, or to nobody.
_WITH_OTHER_TEXTS = ("guidance", "promptFragments", "verification", "audit", "synthesis")
CALLER_FIELDS = frozenset(("preconditions", "clarificationPrompts"))
_NAME_LIKE = Pattern(
    r"[`'\"={]|[a-z0-9][A-Z_]|_[a-z]|\bvariable|\((?:number|boolean|bool|array|list|string|integer|object|enum)"
)
_tuple = tuple.__new__


def build_texts(definition: dict[str, Any], flow: Flow, catalog: Catalog, texts_of: TextsOf) -> list[Text]:
    """All texts: those outside the steps, then step by step."""
    found = [
        _tuple(Text, (place, None, field, field in CALLER_FIELDS, None, AUTHORED, text))
        for text, place, field in top_texts(definition)
    ]
    found += _functions(definition)
    features = _feature_texts(definition, catalog)
    authored = flow.authored
    virtual: dict[tuple[str, str], int] = {}
    called: set[str] = set()
    for index, step in enumerate(flow.steps):
        node = flow.nodes[index]
        if step.origin.via == VIRTUAL and node.origin is not None:
            virtual[step.pointer, node.origin.part] = index
        elif step.origin.via == AUTHORED:
            source = authored.get(step.pointer, node.step)
            found += _step_texts(index, source, step.pointer, texts_of)
            blocks = source.get("promptBlocks")
            if isinstance(blocks, dict):
                found += _ref_texts(index, blocks, f"{step.pointer}/promptBlocks", catalog)
                found += [_tuple(Text, (text.pointer, index, *text[2:])) for text in features]
        else:
            if step.pointer not in called:
                called.add(step.pointer)
                found += _arguments(index, authored.get(step.pointer, {}), step.pointer)
            found += _foreign_texts(index, node.step, step.origin, texts_of)
    if virtual:
        found = [_on_virtual_step(text, flow, virtual) for text in found]
    if definition.get("extensionPoints"):
        found += _binding_texts(definition, found)
    return found


def _step_texts(index: int, step: dict[str, Any], pointer: str, texts_of: TextsOf) -> list[Text]:
    if step.keys().isdisjoint(_WITH_OTHER_TEXTS):
        return [
            _tuple(Text, (place, index, field, True, None, AUTHORED, text))
            for text, place, field in texts_of(step, pointer)
        ]
    found: list[Text] = []
    for text, place, field in texts_of(step, pointer):
        when = _fragment_condition(step, place) if field == "fragment" else None
        via = VIRTUAL if field in _BLOCK_OF else AUTHORED
        found.append(_tuple(Text, (place, index, field, field != "guidance", when, via, text)))
    return found


def _fragment_condition(step: dict[str, Any], pointer: str) -> Condition | None:
    number = int(pointer.rsplit("/", 2)[1])
    when = step["promptFragments"][number].get("when")
    return when if isinstance(when, dict) and when else None


def _foreign_texts(index: int, step: dict[str, Any], origin: Origin, texts_of: TextsOf) -> Iterator[Text]:
    for text, place, field in texts_of(step, ""):
        when = _fragment_condition(step, place) if field == "fragment" else None
        yield _tuple(Text, (origin.pointer, index, field, field != "guidance", when, origin.via, text))


def _arguments(index: int, caller: dict[str, Any], pointer: str) -> Iterator[Text]:
    """What a template call passes is the author's own text."""
    call = caller.get("templateCall")
    args = call.get("args") if isinstance(call, dict) else None
    for name, value in args.items() if isinstance(args, dict) else ():
        if isinstance(value, str):
            place = child(f"{pointer}/templateCall/args", name)
            yield Text(place, index, "argument", True, None, AUTHORED, value)


def _ref_texts(index: int, blocks: dict[str, Any], pointer: str, catalog: Catalog) -> Iterator[Text]:
    lists: list[tuple[Any, str]] = [(blocks.get("goal"), f"{pointer}/goal")]
    for section in LIST_SECTIONS:
        items = blocks.get(section)
        if isinstance(items, list) and list in map(type, items):
            lists += [(item, f"{pointer}/{section}/{i}") for i, item in enumerate(items) if type(item) is list]
    for parts, place in lists:
        if type(parts) is list:
            for i, part in enumerate(parts):
                ref = part.get("refId") if isinstance(part, dict) and part.get("kind") == "ref" else None
                if isinstance(ref, str) and ref in catalog.refs:
                    yield Text(f"{place}/{i}", index, "part", True, None, REF, catalog.refs[ref].text)


def _feature_texts(definition: dict[str, Any], catalog: Catalog) -> list[Text]:
    found: list[Text] = []
    features = definition.get("features")
    for index, ident in enumerate(features if isinstance(features, list) else ()):
        feature = catalog.features.get(ident) if isinstance(ident, str) else None
        if feature is None:
            continue
        for section in LIST_SECTIONS:
            for value in getattr(feature, section):
                text = value if isinstance(value, str) else _joined(value, catalog)
                if _may_name_variables(text):
                    found.append(Text(f"/features/{index}", None, section, True, None, FEATURE, text))
    return found


@lru_cache(maxsize=512)
def _may_name_variables(text: str) -> bool:
    """Whether a text that goes into every step has anything like the name of a variable."""
    return _NAME_LIKE.search(text) is not None


def _joined(parts: object, catalog: Catalog) -> str:
    """A feature's text that is made of parts."""
    found: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            ref = catalog.refs.get(part.get("refId", "")) if part.get("kind") == "ref" else None
            found.append(ref.text if ref is not None else str(part.get("text", "")))
    return "".join(found)


def _on_virtual_step(text: Text, flow: Flow, virtual: dict[tuple[str, str], int]) -> Text:
    """The prompt of a verification, audit or synthesis is shown by the step made from it."""
    if text.via != VIRTUAL or text.step is None:
        return text
    made = virtual.get((flow.steps[text.step].pointer, _BLOCK_OF[text.field]))
    return text if made is None else text._replace(step=made)


def _binding_texts(definition: dict[str, Any], texts: list[Text]) -> list[Text]:
    """What the slots hold that texts take in."""
    slots: dict[str, tuple[str, str]] = {}
    points = definition["extensionPoints"]
    for index, point in enumerate(points if isinstance(points, list) else ()):
        if isinstance(point, dict) and isinstance(point.get("slotId"), str):
            default = point.get("default")
            slots.setdefault(
                point["slotId"], (f"/extensionPoints/{index}", default if isinstance(default, str) else "")
            )
    found: list[Text] = []
    for text in texts:
        if PREFIX in text.text and text.via == AUTHORED and text.step is not None:
            for slot in TOKEN.findall(text.text):
                if slot in slots:
                    place, value = slots[slot]
                    found.append(text._replace(pointer=place, via=BINDING, text=value))
    return found


def _functions(definition: dict[str, Any]) -> Iterator[Text]:
    functions = definition.get("functionDefinitions")
    for index, function in enumerate(functions if isinstance(functions, list) else ()):
        text = function.get("definition") if isinstance(function, dict) else None
        if isinstance(text, str):
            place = f"/functionDefinitions/{index}/definition"
            yield Text(place, None, "function", False, None, AUTHORED, text)
