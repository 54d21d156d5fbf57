"""The texts of a compiled workflow, each with the place where it was written.

Authored text is read where it stands, so that a finding can name the very item; what templates, features, refs and
bindings bring in points at the place that took it in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.typed import TYPE_CHECKING, Any, NamedTuple, cached_property
from workrail_lint.documents.pointer import child
from workrail_lint.systems.workrail.analysis.records import (
    AUTHORED,
    BINDING,
    FEATURE,
    REF,
    VIRTUAL,
    Condition,
    Text,
)
from workrail_lint.systems.workrail.author_texts import Text as AuthorText
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
# Members whose texts are shown elsewhere or not at all.
_WITH_OTHER_TEXTS = ("guidance", "verification", "audit", "synthesis")
_GUIDANCE, _OUTPUT = "guidance", "outputRequired"
CALLER_FIELDS = frozenset(("preconditions", "clarificationPrompts"))
_NAME_LIKE = Pattern(
    r"[`'\"={]|[a-z0-9][A-Z_]|_[a-z]|\bvariable|\((?:number|boolean|bool|array|list|string|integer|object|enum)"
)
_BREAK = "\n\0\n"  # nothing that is searched for runs over it
_text_of, _field_of = itemgetter(0), itemgetter(2)
_tuple = tuple.__new__


class _Source(NamedTuple):
    """What consecutive texts have in common."""

    step: int | None
    data: dict[str, Any]  # the step they are from
    via: str
    place: str  # of all of them; empty where each has its own


class Texts:
    """All texts: those outside the steps, then step by step.

    They are searched as one string. Few are ever asked for, so that only those become records.
    """

    def __init__(
        self,
        definition: dict[str, Any],
        flow: Flow,
        catalog: Catalog,
        texts_of: TextsOf,
        top: list[AuthorText],
    ) -> None:
        self._steps = flow.steps
        self._written: list[AuthorText] = []
        self._sources: list[_Source] = []
        self._firsts: list[int] = []  # of each source, the number of its first text
        self._made: dict[int, Text] = {}
        self._virtual: dict[tuple[str, str], int] = {}  # the steps made from blocks of others
        self._add([*top, *_functions(definition)], None, definition, AUTHORED)
        self._outside = len(self._written)
        self._collect(definition, flow, catalog, texts_of)
        if definition.get("extensionPoints"):
            self._add_bindings(definition)
        self._strings = list(map(_text_of, self._written))
        self.whole = _BREAK.join(self._strings)
        self._starts = [0, *accumulate(map(len(_BREAK).__add__, map(len, self._strings)))]  # and one after the end

    def _collect(self, definition: dict[str, Any], flow: Flow, catalog: Catalog, texts_of: TextsOf) -> None:
        features = _feature_texts(definition, catalog)
        authored = flow.authored
        called: set[str] = set()
        for index, step in enumerate(flow.steps):
            node, pointer, via = flow.nodes[index], step.pointer, step.origin.via
            if via == AUTHORED:
                source = authored.get(pointer, node.step)
                self._add(texts_of(source, pointer), index, source, via)
                blocks = source.get("promptBlocks")
                if isinstance(blocks, dict):
                    refs = _ref_texts(blocks, f"{pointer}/promptBlocks", catalog)
                    if refs:
                        self._add(refs, index, source, REF)
                    if features:
                        self._add(features, index, source, FEATURE)
            elif via == VIRTUAL and node.origin is not None:
                self._virtual[pointer, node.origin.part] = index
            else:
                if pointer not in called:
                    called.add(pointer)
                    caller = authored.get(pointer, {})
                    self._add(_arguments(caller, pointer), index, caller, AUTHORED)
                self._add(texts_of(node.step, ""), index, node.step, via, step.origin.pointer)

    def _add(self, texts: list[AuthorText], step: int | None, data: dict[str, Any], via: str, place: str = "") -> None:
        if texts:
            self._firsts.append(len(self._written))
            self._sources.append(_tuple(_Source, (step, data, via, place)))
            self._written += texts

    def _add_bindings(self, definition: dict[str, Any]) -> None:
        """What the slots hold that texts take in."""
        slots: dict[str, tuple[str, str]] = {}
        points = definition["extensionPoints"]
        for index, point in enumerate(points if isinstance(points, list) else ()):
            if isinstance(point, dict) and isinstance(point.get("slotId"), str):
                default = point.get("default")
                slots.setdefault(
                    point["slotId"], (f"/extensionPoints/{index}", default if isinstance(default, str) else "")
                )
        for text in [self[number] for number, written in enumerate(self._written) if PREFIX in written.text]:
            for slot in TOKEN.findall(text.text) if text.via == AUTHORED and text.step is not None else ():
                if slot in slots:
                    place, value = slots[slot]
                    self._made[len(self._written)] = text._replace(pointer=place, via=BINDING, text=value)
                    self._add([AuthorText(value, place, text.field)], text.step, {}, BINDING)

    def __getitem__(self, number: int) -> Text:
        return self._made.get(number) or self._record(number)

    def __iter__(self) -> Iterator[Text]:
        return map(self.__getitem__, range(len(self._written)))

    def _record(self, number: int) -> Text:
        text, pointer, field = self._written[number]
        step, data, via, place = self._sources[bisect_right(self._firsts, number) - 1]
        delivered = field != _GUIDANCE
        when = _fragment_condition(data, pointer) if field == "fragment" else None
        if step is None:
            delivered = field in CALLER_FIELDS
        elif via == AUTHORED and field in _BLOCK_OF:
            step, via = self._shown_by(step, field), VIRTUAL
        made = self._made[number] = _tuple(Text, (place or pointer, step, field, delivered, when, via, text))
        return made

    def _shown_by(self, step: int, field: str) -> int:
        """The step made from a verification, audit or synthesis shows its prompt."""
        return self._virtual.get((self._steps[step].pointer, _BLOCK_OF[field]), step)

    def at(self, place: int) -> tuple[Text, int]:
        """The text at an offset of the whole, and the offset in that text."""
        number = bisect_right(self._starts, place) - 1
        return self._made.get(number) or self._record(number), place - self._starts[number]

    def having(self, part: str) -> list[Text]:
        """The texts that contain a string."""
        found: list[Text] = []
        at = self.whole.find(part)
        while at >= 0:
            number = bisect_right(self._starts, at)
            found.append(self[number - 1])
            at = self.whole.find(part, self._starts[number])
        return found

    @cached_property
    def outputs(self) -> dict[str, list[int]]:
        """The texts of `outputRequired` by their keys."""
        found: dict[str, list[int]] = {}
        for number in self._numbers(_OUTPUT):
            place = self._sources[bisect_right(self._firsts, number) - 1].place or self._written[number].pointer
            key = place.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
            found.setdefault(key, []).append(number)
        return found

    @cached_property
    def _fields(self) -> list[str]:
        return list(map(_field_of, self._written))

    def _numbers(self, field: str) -> list[int]:
        """The texts of a field."""
        found: list[int] = []
        at = -1
        for _ in range(self._fields.count(field)):
            at = self._fields.index(field, at + 1)
            found.append(at)
        return found

    @cached_property
    def read(self) -> list[str]:
        """What agents and callers read."""
        strings, start = self._strings, self._outside
        found = [strings[number] for field in CALLER_FIELDS for number in self._numbers(field)]
        for number in self._numbers(_GUIDANCE):
            found += strings[start:number]
            start = number + 1
        return found + strings[start:]

    @cached_property
    def read_in_step(self) -> dict[int, list[str]]:
        """What agents read, by step."""
        found: dict[int, list[str]] = {}
        ends = [*self._firsts[1:], len(self._strings)]
        for (step, data, via, _), first, end in zip(self._sources, self._firsts, ends, strict=True):
            if step is None:
                continue
            shown = found.setdefault(step, [])
            if via != BINDING and data.keys().isdisjoint(_WITH_OTHER_TEXTS):
                shown += self._strings[first:end]
                continue
            for text, _, field in self._written[first:end]:
                if via == AUTHORED and field in _BLOCK_OF:
                    found.setdefault(self._shown_by(step, field), []).append(text)
                elif field != _GUIDANCE:
                    shown.append(text)
        return found


def _fragment_condition(step: dict[str, Any], pointer: str) -> Condition | None:
    number = int(pointer.rsplit("/", 2)[1])
    when = step["promptFragments"][number].get("when")
    return when if isinstance(when, dict) and when else None


def _arguments(caller: dict[str, Any], pointer: str) -> list[AuthorText]:
    """What a template call passes is the author's own text."""
    call = caller.get("templateCall")
    args = call.get("args") if isinstance(call, dict) else None
    place = f"{pointer}/templateCall/args"
    return [
        AuthorText(value, child(place, name), "argument")
        for name, value in (args.items() if isinstance(args, dict) else ())
        if isinstance(value, str)
    ]


def _ref_texts(blocks: dict[str, Any], pointer: str, catalog: Catalog) -> list[AuthorText]:
    goal = blocks.get("goal")
    lists: list[tuple[list[Any], str]] = [(goal, f"{pointer}/goal")] if type(goal) is list else []
    for section in LIST_SECTIONS:
        items = blocks.get(section)
        if items and isinstance(items, list) and list in map(type, items):
            lists += [(item, f"{pointer}/{section}/{i}") for i, item in enumerate(items) if type(item) is list]
    found: list[AuthorText] = []
    for parts, place in lists:
        for i, part in enumerate(parts):
            ref = part.get("refId") if isinstance(part, dict) and part.get("kind") == "ref" else None
            if isinstance(ref, str) and ref in catalog.refs:
                found.append(AuthorText(catalog.refs[ref].text, f"{place}/{i}", "part"))
    return found


def _feature_texts(definition: dict[str, Any], catalog: Catalog) -> list[AuthorText]:
    found: list[AuthorText] = []
    features = definition.get("features")
    for index, ident in enumerate(features if isinstance(features, list) else ()):
        feature = catalog.features.get(ident) if isinstance(ident, str) else None
        if feature is None:
            continue
        for section in LIST_SECTIONS:
            for value in getattr(feature, section):
                text = value if isinstance(value, str) else _joined(value, catalog)
                if _may_name_variables(text):
                    found.append(AuthorText(text, f"/features/{index}", section))
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


def _functions(definition: dict[str, Any]) -> Iterator[AuthorText]:
    functions = definition.get("functionDefinitions")
    for index, function in enumerate(functions if isinstance(functions, list) else ()):
        text = function.get("definition") if isinstance(function, dict) else None
        if isinstance(text, str):
            yield AuthorText(text, f"/functionDefinitions/{index}/definition", "function")
