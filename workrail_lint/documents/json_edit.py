"""Fix operations to text edits that keep the author's formatting.

Operations of a fix are applied one after the other, each to the result of the one before, so the pointers of an
operation refer to the document after the earlier ones. Independent operations give separate edits; otherwise one edit
replaces the range that changed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from workrail_lint.base.js import Json, json_text
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import JsonDocument, NodeSpan, read_json
from workrail_lint.documents.operations import (
    Change,
    Cut,
    Edit,
    Insert,
    Operation,
    Remove,
    Rename,
    Replace,
    ReplaceText,
    Respell,
)
from workrail_lint.documents.source_text import in_order

_INDENT = re.compile(r"\n([ \t]+)\S")


def fix_edits(document: JsonDocument, fix: Change) -> tuple[Edit, ...]:
    """Return the edits of one fix; for many fixes of one text use an `Editor`."""
    return Editor(document).edits(fix)


def apply_edit(text: str, edit: Edit) -> str:
    return text[: edit.start] + edit.text + text[edit.end :]


def apply_fix(text: str, edits: tuple[Edit, ...]) -> str:
    """Return the text after the edits of one fix, which never overlap."""
    return apply_fixes(text, [edits])[0]


def apply_fixes(text: str, fixes: list[tuple[Edit, ...]]) -> tuple[str, list[bool]]:
    """Apply fixes that do not overlap, first come first served; says which were applied. A fix is applied whole."""
    accepted: list[Edit] = []
    applied: list[bool] = []
    for edits in fixes:
        free = all(_is_free(edit, accepted) for edit in edits)
        applied.append(free)
        if free:
            for edit in edits:
                insort(accepted, edit, key=in_order)
    parts: list[str] = []
    at = 0
    for edit in accepted:
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join([*parts, text[at:]]), applied


def _is_free(edit: Edit, accepted: list[Edit]) -> bool:
    """Return whether an edit overlaps none of those that were taken, which are sorted by both of their ends."""
    at = bisect_left(accepted, edit.end, key=_start)
    if at > 0 and accepted[at - 1].end > edit.start:
        return False
    # Two insertions at one place have no defined order.
    return not (edit.start == edit.end and at < len(accepted) and accepted[at].start == accepted[at].end == edit.start)


def _start(edit: Edit) -> int:
    return edit.start


def difference(old: str, new: str) -> Edit | None:
    """Return the smallest single edit from one text to another."""
    if old == new:
        return None
    start = _shared(old, new)
    end = _shared(old[start:][::-1], new[start:][::-1])
    return Edit(start, len(old) - end, new[start : len(new) - end])


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many items two sequences begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Style(NamedTuple):
    """How a text is laid out."""

    unit: str  # of indentation
    newline: str
    has_lines: bool


class _Children(NamedTuple):
    """The elements or members of a container, in the order of the text, and where each begins."""

    spans: list[NodeSpan]
    begins: list[int]


class Editor:
    """Turns fixes of one text into edits. What several of them need to know is worked out once."""

    def __init__(self, document: JsonDocument, style: _Style | None = None) -> None:
        """`style` is that of the whole text, when the document is a part of it."""
        self.document = document
        self._given = style
        self._known: dict[str, _Children] = {}
        self._done: dict[int, tuple[Change, tuple[Edit, ...]]] = {}  # by identity: findings may share a large fix

    def edits(self, fix: Change) -> tuple[Edit, ...]:
        """Return the edits of a fix; none when it can't be applied (its place is gone) or changes nothing."""
        if id(fix) not in self._done:
            self._done[id(fix)] = fix, self._edits(fix)
        return self._done[id(fix)][1]

    def _edits(self, fix: Change) -> tuple[Edit, ...]:
        text = self.document.text
        operations = _from_the_end(fix.operations)
        if _are_apart(operations):
            edits = [self._edit(operation) for operation in operations]
            changes = [edit for edit in edits if edit is not None and text[edit.start : edit.end] != edit.text]
            return () if None in edits else tuple(sorted(changes, key=in_order))
        change = self._one_by_one(operations)
        return () if change is None else (change,)

    def _one_by_one(self, operations: list[Operation]) -> Edit | None:
        """Return one edit for operations that build on each other, computed on the part of the text they are about."""
        base = _common_place(operations)
        node = self.document.node(base) if base else None
        if base and node is None:
            return None
        part, shift = self._part(node)
        changed = part
        for operation in operations:
            editor = Editor(read_json(changed, parity=True, max_bytes=None), self._style)
            edit = editor._edit(_moved(operation, base))
            if edit is None:
                return None
            changed = apply_edit(changed, edit)
        change = difference(part, changed)
        return None if change is None else Edit(change.start + shift, change.end + shift, change.text)

    def _part(self, node: NodeSpan | None) -> tuple[str, int]:
        """Return a value as separate text, indented as in its line, and how far that moves its offsets."""
        text = self.document.text
        if node is None:
            return text, 0
        margin = _margin(text, node.start)
        return margin + text[node.start : node.end], node.start - len(margin)

    def _edit(self, operation: Operation) -> Edit | None:
        match operation:
            case Cut(start, end):
                return Edit(start, end, "")
            case Respell(start, end, text):
                return Edit(start, end, text)
            case Rename(pointer, name):
                node = self.document.node(pointer)
                if node is None or node.name is None:
                    return None
                if self.document.node(renamed(operation)) not in (None, node):
                    return None  # of two members with one name only the last would count
                return Edit(*node.name, json_text(name))
            case Replace(pointer, value):
                node = self.document.node(pointer)
                return None if node is None else Edit(node.start, node.end, self._written(node, value))
            case ReplaceText(pointer, old, new):
                return self._replace_text(pointer, old, new)
            case Remove(pointer):
                return self._remove(pointer)
            case Insert(pointer, name, index, value):
                return self._insert(pointer, name, index, value)
            case _:
                raise AssertionError(operation)

    def _replace_text(self, pointer: str, old: str, new: str) -> Edit | None:
        node = self.document.node(pointer)
        if node is None:
            return None
        raw = self.document.text[node.start : node.end]
        if "\\" not in raw and _plain(old) and _plain(new):
            changed = raw.replace(old, new)
        else:
            value = pointers.resolve(self.document.value, pointer)
            changed = json_text(value.replace(old, new)) if isinstance(value, str) else raw
        return Edit(node.start, node.end, changed)

    def _remove(self, pointer: str) -> Edit | None:
        parent = pointers.parent(pointer)
        node, outer = self.document.node(pointer), self.document.node(parent)
        if node is None or outer is None or not pointer:
            return None
        spans, begins = self._children(parent)
        here = bisect_left(begins, _begin(node))
        if here + 1 < len(begins):
            return Edit(begins[here], begins[here + 1], "")
        if here > 0:
            return Edit(spans[here - 1].end, node.end, "")
        return Edit(outer.start + 1, outer.end - 1, "")

    def _insert(self, pointer: str, name: str | None, index: int | None, value: Json) -> Edit | None:
        outer = self.document.node(pointer)
        if outer is None:
            return None
        spans, begins = self._children(pointer)
        label = "" if name is None else f"{json_text(name)}: "
        if not spans:
            return Edit(outer.start + 1, outer.end - 1, self._only_child(outer, label, value))
        position = len(spans) if index is None else max(0, min(index, len(spans)))
        gap = _gap(self.document.text, outer, spans)
        if position == len(spans):
            last = spans[-1]
            return Edit(last.end, last.end, f",{gap}{label}{self._written_at(begins[-1], value)}")
        following = begins[position]
        return Edit(following, following, f"{label}{self._written_at(following, value)},{gap}")

    def _only_child(self, outer: NodeSpan, label: str, value: Json) -> str:
        """Return the text between the brackets of a container when its first element is inserted."""
        unit, newline, has_lines = self._style
        if not has_lines:
            return label + self._written_at(outer.start, value)
        margin = _margin(self.document.text, outer.start)
        text = label + _dump_indented(value, margin + unit, unit, newline)
        return f"{newline}{margin}{unit}{text}{newline}{margin}"

    def _children(self, pointer: str) -> _Children:
        if pointer not in self._known:
            container = pointers.resolve(self.document.value, pointer)
            names: list[str] = []
            if isinstance(container, dict):
                names = [pointers.child(pointer, name) for name in container]
            elif isinstance(container, list):
                names = [f"{pointer}/{index}" for index in range(len(container))]
            spans = sorted((span for span in map(self.document.node, names) if span is not None), key=_begin)
            self._known[pointer] = _Children(spans, [_begin(span) for span in spans])
        return self._known[pointer]

    # ------------------------------------------------------------------------------------------------- layout

    @cached_property
    def _style(self) -> _Style:
        if self._given is not None:
            return self._given
        text = self.document.text
        indent = _INDENT.search(text)
        return _Style(indent[1] if indent else "  ", "\r\n" if "\r\n" in text else "\n", "\n" in text)

    def _written(self, node: NodeSpan, value: Json) -> str:
        """Return a value in the place of another: on one line when that was."""
        old = self.document.text[node.start : node.end]
        if isinstance(value, dict | list) and old[:1] in "{[" and "\n" not in old:
            return json_text(value)
        return self._written_at(_begin(node), value)

    def _written_at(self, offset: int, value: Json) -> str:
        """Return a value written like the text: indented if the text is, from the margin of its line."""
        unit, newline, has_lines = self._style
        if not isinstance(value, dict | list) or not has_lines:
            return json_text(value)
        return _dump_indented(value, _margin(self.document.text, offset), unit, newline)


# --------------------------------------------------------------------------------------------------- operations


def renamed(operation: Rename) -> str:
    """Return the pointer of a member once it has its new name."""
    return pointers.child(pointers.parent(operation.pointer), operation.name)


def _from_the_end(operations: tuple[Operation, ...]) -> list[Operation]:
    """Return the raw cuts from the last to the first, as they use the original offsets; then the others."""
    raw = [op for op in operations if isinstance(op, Cut | Respell)]
    return sorted(raw, key=lambda op: -op.start) + [op for op in operations if not isinstance(op, Cut | Respell)]


def _are_apart(operations: list[Operation]) -> bool:
    """Return whether the order of operations does not matter, because none changes what another one reads."""
    if len(operations) == 1 or all(isinstance(op, Cut | Respell) for op in operations):
        return True
    if any(isinstance(op, Cut | Respell) for op in operations):
        return False
    places = sorted(f"{_place(op)}/" for op in operations)
    return not any(later.startswith(earlier) for earlier, later in pairwise(places))


def _place(operation: Operation) -> str:
    """Return the value that an operation changes: a container that gains, loses or renames something changes as a
    whole.
    """
    match operation:
        case Remove(pointer) | Rename(pointer, _):
            return pointers.parent(pointer)
        case Insert(pointer, _, _, _) | Replace(pointer, _) | ReplaceText(pointer, _, _):
            return pointer
        case _:
            return ""


def _common_place(operations: list[Operation]) -> str:
    """Return the innermost container that all operations are inside of; the root when some speak of raw characters."""
    values = (Replace, ReplaceText)
    places = [pointers.parent(_place(op)) if isinstance(op, values) else _place(op) for op in operations]
    shared, *others = [pointers.decode(place) for place in places]
    for other in others:
        shared = shared[: _shared(shared, other)]
    return pointers.encode(shared)


def _moved(operation: Operation, base: str) -> Operation:
    """Return the operation as it is seen from inside a container."""
    if not base:
        return operation
    moved = copy(operation)
    assert isinstance(moved, Remove | Insert | Rename | Replace | ReplaceText)
    moved.pointer = moved.pointer[len(base) :]
    return moved


# --------------------------------------------------------------------------------------------------------- text


def _begin(node: NodeSpan) -> int:
    return node.extent(on_name=True)[0]


def _plain(text: str) -> bool:
    """Return whether a text is the same in a JSON string."""
    return text.isprintable() and '"' not in text and "\\" not in text


def _gap(text: str, outer: NodeSpan, children: list[NodeSpan]) -> str:
    """Return the white space between two siblings."""
    if len(children) > 1:
        between = text[children[0].end : _begin(children[1])]
        return between.partition(",")[2] if not between.partition(",")[2].strip() else " "
    before = text[outer.start + 1 : _begin(children[0])]
    return before if "\n" in before and not before.strip() else " "


def _dump_indented(value: Json, margin: str, unit: str, newline: str) -> str:
    return json_text(value, unit).replace("\n", newline + margin)


def _margin(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]
