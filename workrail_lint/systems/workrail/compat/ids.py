"""Step ids: the design form allows underscores and one or two characters, the shipping form does not."""

from __future__ import annotations

import re

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat.codes import ID_UNDERSCORE
from workrail_lint.systems.workrail.compat.draft import Draft, Frame, Shape

MIN_LENGTH = 3
MAX_LENGTH = 64
_DESIGN_ID = re.compile(r"[a-z0-9_-]+")
_OUTSIDE = re.compile(r"[^a-z0-9-]")
_RUN = re.compile(r"-{2,}")


class IdPlan:
    """Which id becomes which, decided for the whole document before any step is touched."""

    __slots__ = ("_renamed", "_taken")

    def __init__(self, frames: list[Frame]) -> None:
        owners: dict[str, str] = {}
        renamed: dict[str, str] = {}
        wanting: list[tuple[Frame, str, str]] = []
        for frame in frames:
            old = authored_id(frame)
            if old is None:
                continue
            frame.final_id = old
            new = _shipping_id(frame, old)
            if new == old:
                owners[old] = old
            else:
                wanting.append((frame, old, new))
        # An id that is fine keeps its name; of those that have to change, the first one written wins.
        for frame, old, new in wanting:
            owner = owners.setdefault(new, old)
            if owner == old:
                frame.final_id = renamed[old] = new
            else:
                frame.clash = owner
        self._taken = {frame.final_id for frame in frames if frame.final_id is not None}
        self._renamed = {old: new for old, new in renamed.items() if owners.get(old) != old}

    def renamed(self, name: str) -> str | None:
        """The new id of the step a body refers to, or None when the reference is right as it is."""
        return self._renamed.get(name)

    def generate(self, template_id: str) -> str:
        """An unused id, made from the last part of a template's id."""
        base = _OUTSIDE.sub("-", js.lower(template_id.rpartition(".")[2]))
        base = _RUN.sub("-", base).strip("-")
        if len(base) < MIN_LENGTH:
            base = f"tpl-{base}"
        candidate = base[:MAX_LENGTH]
        number = 1
        while candidate in self._taken:
            number += 1
            suffix = f"-{number}"
            candidate = base[: MAX_LENGTH - len(suffix)] + suffix
        self._taken.add(candidate)
        return candidate


def authored_id(frame: Frame) -> str | None:
    """The id as written: a design-form loop says `loopId`."""
    names = ("id", "loopId") if frame.shape is Shape.LOOP else ("id",)
    for name in names:
        if name in frame.step:
            value = frame.step[name]
            return value if isinstance(value, str) else None
    return None


def dashed(identifier: str) -> str | None:
    """The shipping spelling of a design-form id; None for text that is no id in either form."""
    new = identifier.replace("_", "-")
    if len(new) < MIN_LENGTH:
        new = f"s-{new}"
    return new if _DESIGN_ID.fullmatch(identifier) and len(new) <= MAX_LENGTH else None


def humanized(identifier: str) -> str:
    """A title for a step that has none: `dig-in` reads `Dig in`."""
    words = identifier.replace("-", " ")
    return words[:1].upper() + words[1:]


def dash_id(draft: Draft, frame: Frame) -> None:
    """D10: `_` in a step's id becomes `-`."""
    old = frame.step.get("id")
    if not isinstance(old, str) or "_" not in old or dashed(old) is None:
        return
    pointer = pointers.child(frame.origin, "id")
    if draft.rejects(ID_UNDERSCORE, pointer):
        return
    if frame.clash is not None:
        reject_clash(draft, frame, old, pointer)
    elif draft.allows(ID_UNDERSCORE, pointer, "id", old, frame.final_id, step=frame.pointer):
        draft.own(frame.path)["id"] = frame.final_id


def dash_references(draft: Draft, frame: Frame, plan: IdPlan) -> None:
    """D10: what names a renamed step follows it: a body by reference, and the loop's own artifact source."""
    if frame.shape is not Shape.LOOP:
        return
    body = frame.step.get("body")
    new = plan.renamed(body) if isinstance(body, str) else None
    if new is not None:
        pointer = pointers.child(frame.origin, "body")
        if draft.allows(ID_UNDERSCORE, pointer, "body", body, new, step=frame.pointer):
            draft.own(frame.path)["body"] = new
    _dash_source(draft, frame)


def _dash_source(draft: Draft, frame: Frame) -> None:
    loop = frame.step.get("loop")
    source = loop.get("conditionSource") if isinstance(loop, dict) else None
    if not isinstance(source, dict) or frame.final_id == authored_id(frame):
        return
    if source.get("loopId") != authored_id(frame):
        return
    tokens = ("loop", "conditionSource")
    pointer = frame.origin + pointers.encode((*tokens, "loopId"))
    if draft.allows(ID_UNDERSCORE, pointer, "loopId", source["loopId"], frame.final_id, step=frame.pointer):
        draft.own((*frame.path, *tokens))["loopId"] = frame.final_id


def reject_clash(draft: Draft, frame: Frame, old: str, pointer: str) -> None:
    draft.refuse(
        ID_UNDERSCORE.name,
        pointer,
        f"id `{old}` would become `{dashed(old)}`, which step `{frame.clash}` already uses; rename one of them",
    )


def _shipping_id(frame: Frame, old: str) -> str:
    """The new id; the same if it needs no change or can't be fixed."""
    if "_" not in old and "id" in frame.step:
        return old
    return dashed(old) or old
