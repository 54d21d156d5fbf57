"""Fix operations to text edits that keep the author's formatting.

Operations are applied one after the other, each on the result of the one before, so pointers in a later
operation see the earlier ones done. What comes out is one edit for the stretch that changed.
"""

from __future__ import annotations

import json
import re

from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import JsonDocument, NodeSpan, read_json
from workrail_lint.findings.fix import Cut, Edit, Fix, Insert, Operation, Remove, Rename, Replace, ReplaceText, Respell
from workrail_lint.js import Json

_INDENT = re.compile(r"\n([ \t]+)\S")


def fix_edit(document: JsonDocument, fix: Fix) -> Edit | None:
    """The one edit a fix makes, or None when it can't be applied (its place is gone) or changes nothing."""
    text = document.text
    if len(fix.operations) == 1:
        edit = _edit(document, fix.operations[0])
        return edit if edit is not None and text[edit.start : edit.end] != edit.text else None
    current = document
    for operation in _from_the_end(fix.operations):
        edit = _edit(current, operation)
        if edit is None:
            return None
        changed = apply_edit(current.text, edit)
        current = read_json(changed, parity=True, max_bytes=None)
    return difference(text, current.text)


def apply_edit(text: str, edit: Edit) -> str:
    return text[: edit.start] + edit.text + text[edit.end :]


def apply_edits(text: str, edits: list[Edit]) -> tuple[str, list[bool]]:
    """Apply edits that do not overlap, first come first served; says which were applied."""
    taken: list[tuple[int, int]] = []
    applied: list[bool] = []
    for edit in edits:
        free = all(edit.end <= start or edit.start >= end for start, end in taken)
        # Two insertions at one place have no order of their own.
        free = free and not any(edit.start == edit.end == start == end for start, end in taken)
        applied.append(free)
        if free:
            taken.append((edit.start, edit.end))
    chosen = [edit for edit, is_applied in zip(edits, applied, strict=True) if is_applied]
    for edit in sorted(chosen, reverse=True):
        text = apply_edit(text, edit)
    return text, applied


def difference(old: str, new: str) -> Edit | None:
    """The smallest single edit from one text to another."""
    if old == new:
        return None
    start = 0
    limit = min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return Edit(start, len(old) - end, new[start : len(new) - end])


def _from_the_end(operations: tuple[Operation, ...]) -> list[Operation]:
    """Raw cuts speak of the original offsets, so the last one goes first; the others keep their order."""
    raw = [op for op in operations if isinstance(op, Cut | Respell)]
    return sorted(raw, key=lambda op: -op.start) + [op for op in operations if not isinstance(op, Cut | Respell)]


def _edit(document: JsonDocument, operation: Operation) -> Edit | None:
    match operation:
        case Cut(start, end):
            return Edit(start, end, "")
        case Respell(start, end, text):
            return Edit(start, end, text)
        case Rename(pointer, name):
            node = document.node(pointer)
            if node is None or node.name_start is None or node.name_end is None:
                return None
            return Edit(node.name_start, node.name_end, _dump(name))
        case Replace(pointer, value):
            node = document.node(pointer)
            return None if node is None else Edit(node.start, node.end, _styled(document, node, value))
        case ReplaceText(pointer, old, new):
            return _replace_text(document, pointer, old, new)
        case Remove(pointer):
            return _remove(document, pointer)
        case Insert(pointer, name, index, value):
            return _insert(document, pointer, name, index, value)
        case _:
            raise AssertionError(operation)


def _replace_text(document: JsonDocument, pointer: str, old: str, new: str) -> Edit | None:
    node = document.node(pointer)
    if node is None:
        return None
    raw = document.text[node.start : node.end]
    if "\\" not in raw and _plain(old) and _plain(new):
        changed = raw.replace(old, new)
    else:
        value = pointers.resolve(document.value, pointer)
        changed = _dump(value.replace(old, new)) if isinstance(value, str) else raw
    return Edit(node.start, node.end, changed)


def _plain(text: str) -> bool:
    """True for text that stands in a JSON string as it is."""
    return text.isprintable() and '"' not in text and "\\" not in text


def _siblings(document: JsonDocument, pointer: str) -> list[str]:
    """The pointers of a container's children, in document order."""
    container = pointers.resolve(document.value, pointer)
    if isinstance(container, dict):
        return [pointers.child(pointer, name) for name in container]
    return [f"{pointer}/{index}" for index in range(len(container))] if isinstance(container, list) else []


def _begin(node: NodeSpan) -> int:
    return node.start if node.name_start is None else node.name_start


def _remove(document: JsonDocument, pointer: str) -> Edit | None:
    parent = pointers.parent(pointer)
    node, outer = document.node(pointer), document.node(parent)
    if node is None or outer is None or not pointer:
        return None
    children = [child for child in map(document.node, _siblings(document, parent)) if child is not None]
    begins = sorted(_begin(child) for child in children)
    here = begins.index(_begin(node))
    if here + 1 < len(begins):
        return Edit(begins[here], begins[here + 1], "")
    if here > 0:
        before = max(child.end for child in children if child.end <= _begin(node))
        return Edit(before, node.end, "")
    return Edit(outer.start + 1, outer.end - 1, "")


def _insert(document: JsonDocument, pointer: str, name: str | None, index: int | None, value: Json) -> Edit | None:
    outer = document.node(pointer)
    if outer is None:
        return None
    children = sorted(
        (child for child in map(document.node, _siblings(document, pointer)) if child is not None), key=_begin
    )
    label = "" if name is None else f"{_dump(name)}: "
    if not children:
        unit, newline = _unit(document), _newline(document)
        if "\n" not in document.text:
            return Edit(outer.start + 1, outer.end - 1, label + _styled_at(document, outer.start, value))
        margin = _margin(document.text, outer.start)
        inner = newline + margin + unit
        shown = label + _dump_indented(value, margin + unit, unit, newline)
        return Edit(outer.start + 1, outer.end - 1, f"{inner}{shown}{newline}{margin}")
    position = len(children) if index is None else max(0, min(index, len(children)))
    if position == len(children):
        last = children[-1]
        gap = _gap(document.text, outer, children)
        return Edit(last.end, last.end, f",{gap}{label}{_styled_at(document, _begin(last), value)}")
    following = _begin(children[position])
    gap = _gap(document.text, outer, children)
    return Edit(following, following, f"{label}{_styled_at(document, following, value)},{gap}")


def _gap(text: str, outer: NodeSpan, children: list[NodeSpan]) -> str:
    """The white space between two siblings."""
    if len(children) > 1:
        between = text[children[0].end : _begin(children[1])]
        return between.partition(",")[2] if not between.partition(",")[2].strip() else " "
    before = text[outer.start + 1 : _begin(children[0])]
    return before if "\n" in before and not before.strip() else " "


def _styled(document: JsonDocument, node: NodeSpan, value: Json) -> str:
    old = document.text[node.start : node.end]
    if isinstance(value, dict | list) and old[:1] in "{[" and "\n" not in old:
        return _dump(value)
    return _styled_at(document, _begin(node), value)


def _styled_at(document: JsonDocument, offset: int, value: Json) -> str:
    """A value written the way the document is: indented when it is, from the margin of its line."""
    if not isinstance(value, dict | list) or "\n" not in document.text:
        return _dump(value)
    return _dump_indented(value, _margin(document.text, offset), _unit(document), _newline(document))


def _dump_indented(value: Json, margin: str, unit: str, newline: str) -> str:
    shown = json.dumps(value, ensure_ascii=False, indent=unit)
    return shown.replace("\n", newline + margin)


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _margin(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(document: JsonDocument) -> str:
    match = _INDENT.search(document.text)
    return match[1] if match else "  "


def _newline(document: JsonDocument) -> str:
    return "\r\n" if "\r\n" in document.text else "\n"
