"""The behaviour of a workflow, facet by facet (its outline), and the differences between two of them.

A facet is one aspect of behaviour (a step's prompt, its condition, a loop's limit). Lockfiles keep long facets
as digests, so that a changed prompt is noticed and named without storing the prompt.

Facets are JSON values, not typed nodes: they are compared as values, hashed, and stored in lockfiles, and a member that
the IR gains is a facet without a line here.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.line_diff import unified_diff

Facets = dict[str, Any]
# Members of the IR that are told apart step by step, or that say how it came about rather than what it does.
_NOT_TOP_FACETS = ("format", "workflowId", "steps", "contracts", "warnings")
_NOT_STEP_FACETS = ("id", "body", "loop", "output", "provenance")
# A facet longer than this (in canonical bytes) is kept as its digest.
_VERBATIM_BYTES = 96
_EMPTY: tuple[object, ...] = ([], {}, None)


class StepOutline:
    """A step's facets and the loop it stands in ("" at the top level)."""

    __slots__ = ("facets", "id", "parent")

    def __init__(self, ident: str, parent: str, facets: Facets) -> None:
        self.id = ident
        self.parent = parent
        self.facets = facets

    @property
    def key(self) -> str:
        """Unique even when two loops run the same step by reference."""
        return f"{self.parent}/{self.id}" if self.parent else self.id


class Outline:
    """The facets of a workflow and of its steps, in execution order."""

    __slots__ = ("steps", "workflow")

    def __init__(self, workflow: Facets, steps: list[StepOutline]) -> None:
        self.workflow = workflow
        self.steps = steps

    def as_json(self) -> dict[str, Any]:
        """Return the form a lockfile keeps: short facets as they are, long ones as digests."""
        return {
            "workflow": {name: _kept(value) for name, value in sorted(self.workflow.items())},
            "steps": [
                {
                    "id": step.id,
                    **({"loop": step.parent} if step.parent else {}),
                    "facets": {name: _kept(value) for name, value in sorted(step.facets.items())},
                }
                for step in self.steps
            ],
        }


def outline(ir: dict[str, Any]) -> Outline:
    """Return the outline of an IR."""
    facets = {name: value for name, value in ir.items() if name not in _NOT_TOP_FACETS and value not in _EMPTY}
    facets.update((f"contract {pack['ref']}", {"schema": pack["schema"]}) for pack in ir["contracts"])
    steps: list[StepOutline] = []
    for step in ir["steps"]:
        steps.append(StepOutline(step["id"], "", _step_facets(step)))
        steps += [StepOutline(inner["id"], step["id"], _step_facets(inner)) for inner in step.get("body", ())]
    return Outline(facets, steps)


def outline_from_json(data: dict[str, Any]) -> Outline:
    """Return the outline a lockfile kept. Raises KeyError or TypeError when it is not one."""
    steps = [StepOutline(item["id"], item.get("loop", ""), dict(item["facets"])) for item in data["steps"]]
    return Outline(dict(data["workflow"]), steps)


def digested(full: Outline) -> Outline:
    """Return an outline as it would come back from a lockfile, to be compared with one that did."""
    return outline_from_json(full.as_json())


def _step_facets(step: dict[str, Any]) -> Facets:
    facets = {name: value for name, value in step.items() if name not in _NOT_STEP_FACETS and value not in _EMPTY}
    facets.update((f"loop.{name}", value) for name, value in step.get("loop", {}).items())
    facets.update((f"output.{name}", value) for name, value in step.get("output", {}).items())
    return facets


def _kept(value: object) -> object:
    data = canonical_bytes(value)
    return value if len(data) <= _VERBATIM_BYTES else {"sha256": digest(data)[7:23]}


def is_digest(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == {"sha256"}


class Change(NamedTuple):
    """One difference. `facet` is empty when a whole step came, went, moved or was renamed.

    A step that moved has in `before` the key it had, in `after` the id of the step it now follows (None: it is the
    first), and in `followed` the key of the one it followed. One that was removed has in `before` the key of the step
    it followed and in `lost` its facets, one that was renamed the key it had.
    """

    kind: str  # "added", "removed", "moved", "renamed" or "changed"
    step: str  # the step's key, "" for the workflow itself
    facet: str
    before: Any
    after: Any
    followed: str | None = None
    lost: Facets | None = None

    def as_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "step": self.step or None}
        if self.facet:
            record["facet"] = self.facet
        match self.kind:
            case "changed":
                record |= {"before": self.before, "after": self.after}
            case "moved":
                record |= {"from": self.before, "followed": self.followed, "follows": self.after}
            case "renamed":
                record["from"] = self.before
            case "removed":
                record["followed"] = self.before
                record |= self._lost_step
        return record

    @property
    def _lost_step(self) -> dict[str, Any]:
        """Return what a removed step was, as far as a lockfile has not put a digest in its place."""
        kept = {name: value for name, value in (self.lost or {}).items() if not is_digest(value)}
        lane = {"loop": self.step.rpartition("/")[0] or None, "runCondition": kept.get("runCondition")}
        return {**({"title": kept["title"]} if "title" in kept else {}), "lane": lane}


def compare(old: Outline, new: Outline) -> list[Change]:
    """Return the changes from one outline to the other: workflow first, then steps in the new order."""
    changes = _facet_changes("", old.workflow, new.workflow)
    before = {step.key: step for step in old.steps}
    origin = _origins(old.steps, new.steps)
    kept = set(origin.values())
    followed = dict(zip(before, (None, *before), strict=False))
    changes += [
        Change("removed", key, "", followed[key], None, lost=was.facets)
        for key, was in before.items()
        if key not in kept
    ]
    renamed = {origin[step.key].rpartition("/")[2]: step.id for step in new.steps if step.key in origin}
    moved = _moved(old.steps, new.steps, origin)
    for step in new.steps:
        if step.key not in origin:
            changes.append(Change("added", step.key, "", None, None))
            continue
        was = before[origin[step.key]]
        if step.id != was.id:
            changes.append(Change("renamed", step.key, "", was.key, None))
        if step.key in moved:
            changes.append(Change("moved", step.key, "", was.key, moved[step.key], followed[was.key]))
        changes += _facet_changes(step.key, _with_new_ids(was, step, renamed), step.facets)
    return changes


def _origins(old: list[StepOutline], new: list[StepOutline]) -> dict[str, str]:
    """Return the former key of each step by its key now: the same one, the same id elsewhere, or the same content.

    The content decides only where it leaves no doubt: one step that is gone and one that is new have it.
    """
    known = {step.key for step in old}
    origin = {step.key: step.key for step in new if step.key in known}
    used = set(origin.values())
    inside_old, inside_new = _by_parent(old), _by_parent(new)
    for content in (_ident, _content, _content_but_title):
        gone = _by_content([step for step in old if step.key not in used], inside_old, content)
        come = _by_content([step for step in new if step.key not in origin and step.facets], inside_new, content)
        for key, steps in come.items():
            if len(steps) == 1 and len(gone.get(key, ())) == 1:
                now, was = steps[0], gone[key][0]
                origin[now.key] = was.key
                used.add(was.key)
                if not now.parent and not was.parent:
                    pairs = _same_ids(inside_new.get(now.id, ()), inside_old.get(was.id, ()))
                    bodies = {key: before for key, before in pairs if before not in used}
                    origin |= bodies
                    used.update(bodies.values())
    return origin


_Inside = dict[str, list[StepOutline]]  # the steps of each loop, by its id


def _by_parent(steps: list[StepOutline]) -> _Inside:
    result: _Inside = {}
    for step in steps:
        if step.parent:
            result.setdefault(step.parent, []).append(step)
    return result


def _same_ids(new: Iterable[StepOutline], old: Iterable[StepOutline]) -> list[tuple[str, str]]:
    """Pair the steps of a loop whose id changed with those that had the same ids in it before: keys now and then."""
    before = {step.id: step.key for step in old}
    return [(step.key, before[step.id]) for step in new if step.id in before]


def _by_content(
    steps: list[StepOutline], inside: _Inside, content: Callable[[StepOutline, _Inside], str]
) -> dict[str, list[StepOutline]]:
    result: dict[str, list[StepOutline]] = {}
    for step in steps:
        result.setdefault(content(step, inside), []).append(step)
    return result


def _ident(step: StepOutline, inside: _Inside) -> str:
    return step.id


def _content(step: StepOutline, inside: _Inside, without: str = "") -> str:
    """Return what a step does, with its own id taken out, and what the steps in it do when it is a loop."""
    facets = {name: _renamed(value, step.id, "") for name, value in step.facets.items() if name != without}
    body = [(inner.id, inner.facets) for inner in (() if step.parent else inside.get(step.id, ()))]
    return json.dumps([facets, body], sort_keys=True)


def _content_but_title(step: StepOutline, inside: _Inside) -> str:
    return _content(step, inside, "title")


def _renamed(value: Any, ident: str, name: str) -> Any:
    """Return a facet with an id in it (a loop names itself where its decision is made) under another name."""
    if isinstance(value, dict):
        return {member: _renamed(item, ident, name) if member == "loopId" else item for member, item in value.items()}
    return name if value == ident else value


def _with_new_ids(was: StepOutline, now: StepOutline, renamed: dict[str, str]) -> Facets:
    """Return the facets of a step as they would be if only ids had changed."""
    if was.id == now.id and was.parent == now.parent:
        return was.facets
    facets = was.facets
    for ident, name in ((was.id, now.id), (was.parent, now.parent)):
        if ident and name and renamed.get(ident) == name:
            facets = {
                facet: _renamed(value, ident, name) if isinstance(value, dict) else value
                for facet, value in facets.items()
            }
    return facets


def _facet_changes(step: str, old: Facets, new: Facets) -> list[Change]:
    return [
        Change("changed", step, name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if (name in old) != (name in new) or not js.deep_equal(old[name], new[name])
    ]


def _moved(old: list[StepOutline], new: list[StepOutline], origin: dict[str, str]) -> dict[str, str | None]:
    """Return the steps that moved, each with the id of the step before it: those in another loop, and of the others the
    fewest that, taken out, leave the rest in the same order. What stands in a loop moves along with it.
    """
    place = {step.key: number for number, step in enumerate(old)}
    parent = {step.key: step.parent for step in old}
    loops = {step.id: origin[step.key] for step in new if not step.parent and step.key in origin}
    moved: dict[str, str | None] = {}
    siblings: dict[str, list[StepOutline]] = {}
    for step in new:
        siblings.setdefault(step.parent, []).append(step)
    for holder, steps in siblings.items():
        stayed = [s for s in steps if s.key in origin and parent[origin[s.key]] == loops.get(holder, holder)]
        kept = _ascending([place[origin[step.key]] for step in stayed])
        steady = {step.key for number, step in enumerate(stayed) if number in kept}
        for before, step in zip([None, *steps], steps, strict=False):
            if step.key in origin and step.key not in steady:
                moved[step.key] = None if before is None else before.id
    return moved


def _ascending(numbers: list[int]) -> set[int]:
    """Return the positions of a longest ascending subsequence.

    Of two that changed places the one now behind is left out.
    """
    tails: list[int] = []  # the position that a sequence of each length begins at, seen from the end
    following: dict[int, int | None] = {}
    for at in range(len(numbers) - 1, -1, -1):
        length = bisect_left([-numbers[tail] for tail in tails], -numbers[at])
        following[at] = tails[length - 1] if length else None
        tails[length : length + 1] = [at]
    result: set[int] = set()
    at_last: int | None = tails[-1] if tails else None
    while at_last is not None:
        result.add(at_last)
        at_last = following[at_last]
    return result


def describe(change: Change) -> list[str]:
    """Return a change in words: one line, and for texts the lines that differ below it."""
    subject = f"step '{change.step}'" if change.step else "workflow"
    if not change.facet:
        return [f"{subject}: {_whole_step(change)}"]
    head = f"{subject}: {change.facet}"
    before, after = change.before, change.after
    if before is None:
        return [f"{head} added{_shown(after)}"]
    if after is None:
        return [f"{head} removed{_shown(before)}"]
    if is_digest(before) or is_digest(after):
        return [f"{head} changed"]
    match before, after:
        case str(), str() if "\n" in before + after or len(before + after) > 80:
            return [f"{head} changed", *_text_diff(before, after)]
        case (dict() | list(), _) | (_, dict() | list()):
            return [f"{head} changed", *_text_diff(_pretty(before), _pretty(after))]
        case _:
            return [f"{head} changed: {_plain(before)} -> {_plain(after)}"]


def _whole_step(change: Change) -> str:
    match change.kind:
        case "renamed":
            return f"renamed from '{change.before.rpartition('/')[2]}'"
        case "moved":
            old, new = change.before.rpartition("/")[0], change.step.rpartition("/")[0]
            where = f"after '{change.after}'" if change.after else "to the start"
            if change.after and old != new:
                into = f"into loop '{new}'" if new else f"out of loop '{old}'"
                return f"moved {into}, {where}"
            return f"moved {where} of loop '{new}'" if new and not change.after else f"moved {where}"
        case kind:
            return kind


def _shown(value: Any) -> str:
    text = _plain(value)
    return f": {text}" if not is_digest(value) and len(text) <= 80 else ""


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def _text_diff(before: str, after: str) -> list[str]:
    # Two lines name the files; a line of the text may look like them once it has its mark.
    lines = list(unified_diff(before.splitlines(), after.splitlines(), context=1))
    return [f"    {line}" for line in lines if not line.startswith("@@")]
