"""The edits of a workflow that explain changes of goldens.

An edit is what the author did: a step that is new, another bound, another word of a prompt. A change of goldens belongs
to the edit that it shows directly; what merely follows, such as turns that a loop no longer makes, belongs to the edit
that comes before it. A change that no edit explains is one a reviewer has to read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from pytest_workrail.golden.diff import Difference, Group, edits, word_count
from workrail_lint.base.wording import counted
from workrail_lint.cli import UsageError
from workrail_lint.cli.arguments import found_files, read_workflows
from workrail_lint.cli.diff import former_path, read_outline, workflow_id
from workrail_lint.cli.lock import read_lockfile
from workrail_lint.cli.revision import Revision
from workrail_lint.project.config import Config
from workrail_lint.systems.workrail.diff import (
    Change,
    Outline,
    StepOutline,
    compare,
    digested,
    is_digest,
    outline_from_json,
)
from workrail_lint.systems.workrail.graph.texts import condition_text
from workrail_lint.systems.workrail.lockfile import FILE_NAME, Lockfile
from workrail_lint.systems.workrail.model.build import unchecked_condition
from workrail_lint.systems.workrail.settings import Settings

Kind = Literal[
    "bound", "added", "removed", "moved", "renamed", "condition", "confirmation", "contract", "prompt", "other"
]
# In this order people read edits, and a change that two of them would explain belongs to the first.
KINDS: tuple[Kind, ...] = (
    *("bound", "added", "removed", "moved", "renamed", "condition", "confirmation", "contract", "prompt", "other"),
)
# Edits after which a run may go another way.
_STRUCTURAL = ("bound", "added", "removed", "moved", "condition", "confirmation", "contract")
_KIND_OF_FACET: dict[str, Kind] = {
    "runCondition": "condition",
    "confirmation": "confirmation",
    "prompt": "prompt",
    "fragments": "prompt",
    "output.contract": "contract",
    "output.assessments": "contract",
    "output.criteria": "contract",
}
_PROMPT_FIELDS = ("prompt", "pending/prompt")
_SHORT = 30


@dataclass(frozen=True)
class Edit:
    """One edit of a workflow, with the changes of goldens that it explains."""

    workflow: str
    kind: Kind
    step: str  # the id of the step, "" for the workflow itself
    facet: str
    before: Any
    after: Any
    title: str
    groups: list[Group] = field(default_factory=list)

    @property
    def id(self) -> str:
        """A short name to call it by: the same as long as the edit is the same."""
        record = [self.workflow, self.kind, self.step, self.facet, self.before, self.after]
        return "e" + sha256(json.dumps(record, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:6]

    @property
    def goldens(self) -> list[str]:
        """The goldens that have one of its changes."""
        return sorted({name for group in self.groups for name in group.goldens})

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "workflow": self.workflow,
            "kind": self.kind,
            "step": self.step or None,
            "before": self.before,
            "after": self.after,
            "title": self.title,
            "groups": [group.key.id for group in self.groups],
            "goldens": self.goldens,
        }


def edits_of(workflow: str, old: Outline, new: Outline) -> list[Edit]:
    """Return the edits of a workflow between two outlines, each once, in the order in which people read them."""
    titles = {step.id: _title(step) for step in (*old.steps, *new.steps)}
    result = [_edit(workflow, change, titles) for change in compare(old, new)]
    order = {step.id: number for number, step in enumerate(new.steps)}
    return sorted(result, key=lambda each: (KINDS.index(each.kind), order.get(each.step, -1), each.facet))


def _title(step: StepOutline) -> str:
    title = step.facets.get("title")
    return title if isinstance(title, str) else step.id


def _edit(workflow: str, change: Change, titles: dict[str, str]) -> Edit:
    step = change.step.rpartition("/")[2]
    name = f"“{titles.get(step, step)}”"
    kind, title, before, after = _described(change, name, titles)
    return Edit(workflow, kind, step, change.facet, before, after, title)


def _described(change: Change, name: str, titles: dict[str, str]) -> tuple[Kind, str, Any, Any]:
    match change.kind:
        case "added":
            return "added", f"Step {name} is new", None, None
        case "removed":
            return "removed", f"Step {name} is gone", None, None
        case "moved":
            where = f"after “{titles.get(change.after, change.after)}”" if change.after else "first"
            return "moved", f"Step {name} now comes {where}", change.followed, change.after
        case "renamed":
            was = change.before.rpartition("/")[2]
            return "renamed", f"Step {name} has another id: {change.step.rpartition('/')[2]}, was {was}", was, None
        case _:
            title = _facet_title(change, name if change.step else "the workflow")
            return _kind_of(change), title, _kept(change.before), _kept(change.after)


def _kind_of(change: Change) -> Kind:
    if change.facet.startswith("loop."):
        return "bound" if change.step else "other"
    if not change.step:
        return "contract" if change.facet.startswith(("contract ", "assessments")) else "other"
    return _KIND_OF_FACET.get(change.facet, "other")


def _kept(value: Any) -> Any:
    """Return a facet, without one that a lockfile keeps as its digest."""
    return None if is_digest(value) else value


def _facet_title(change: Change, name: str) -> str:
    before, after = change.before, change.after
    match change.facet:
        case "loop.maxIterations":
            return f"Loop {name} stops after {_passes(after)}, was {before}"
        case "runCondition":
            now = _condition(after)
            was = _condition(before)
            return f"{name} runs if {now}, was {was}" if after is not None else f"{name} always runs, was if {was}"
        case "confirmation" if _waits(after) != _waits(before):
            return (
                f"{name} now waits for {_waits(after)}"
                if _waits(after)
                else f"{name} no longer waits for {_waits(before)}"
            )
        case "prompt":
            return f"Prompt of {name}{_words(before, after)}"
        case "title" if isinstance(before, str) and isinstance(after, str):
            return f"“{before}” is now called “{after}”"
        case facet:
            verb = "is new" if before is None else "is gone" if after is None else "changed"
            return f"{facet} of {name} {verb}"


def _waits(rule: Any) -> str:
    """Return whom a step waits for, and when; nothing where it waits for nobody."""
    if not isinstance(rule, dict) or is_digest(rule) or rule.get("kind") == "never":
        return ""
    by_person = rule.get("gate") == "human_approval" or not rule.get("explicit")
    when = f" if {_condition(rule['condition'])}" if rule.get("condition") else ""
    return ("a person" if by_person else "the coordinator") + when


def _passes(count: Any) -> str:
    return "1 pass" if count == 1 else f"{count} passes"


def _condition(value: Any) -> str:
    if value is None:
        return "always"
    return condition_text(unchecked_condition(value)) if isinstance(value, dict) and not is_digest(value) else "…"


def _words(before: Any, after: Any) -> str:
    if not isinstance(before, str) or not isinstance(after, str):
        return " changed"
    changes = edits(before, after)
    if len(changes) == 1:
        (piece,) = changes
        old, new = piece.old.strip(), piece.new.strip()
        if old and new and len(old) <= _SHORT and len(new) <= _SHORT and not {" ", "\n"} & {*old, *new}:
            return f": {old} → {new}"
    count = counted(word_count(changes), "word")
    if all(not piece.old.strip() for piece in changes):
        return f": {count} more"
    return f": {count} fewer" if all(not piece.new.strip() for piece in changes) else f": {count} changed"


Outlines = Mapping[str, tuple[Outline, Outline]]


class Explained:
    """Changes of goldens by the edits that explain them. `base` is what workflows were compared with, if anything."""

    def __init__(self, groups: Iterable[Group], outlines: Outlines, base: str | None) -> None:
        self.base = base
        self.edits = [each for workflow in sorted(outlines) for each in edits_of(workflow, *outlines[workflow])]
        maps = {workflow: _Map(*pair) for workflow, pair in outlines.items()}
        left = list(groups)
        for belongs in (_shows, _goes_with, _follows):
            left = [group for group in left if not self._give(group, maps, belongs)]
        self.unexplained = left

    def _give(self, group: Group, maps: Mapping[str, _Map], belongs: Callable[[Edit, Group, _Map], bool]) -> bool:
        """Give a change to the first edit that it belongs to."""
        for each in self.edits:
            if each.workflow == group.key.workflow and belongs(each, group, maps[each.workflow]):
                each.groups.append(group)
                return True
        return False

    @property
    def in_goldens(self) -> list[Edit]:
        """The edits that goldens show."""
        return [each for each in self.edits if each.groups]

    def to_json(self) -> dict[str, Any]:
        return {
            "base": self.base,
            "edits": [each.to_json() for each in self.edits],
            "unexplained": [group.key.id for group in self.unexplained],
        }


def outlines_since(
    groups: Sequence[Group], base: str | None, config: Config, active: Settings
) -> tuple[Outlines, str | None]:
    """Return the workflows that changes of goldens are about, before and now, and what "before" is.

    Without a base, that is the last commit or the project's lockfile, if there is either.
    """
    known = _base(base, config) if groups else None
    if known is None:
        return {}, None
    wanted = {group.key.workflow for group in groups}
    return dict(_outlines(wanted, known, config, active)), known.name


class _LockedBase:
    """The outlines that a lockfile keeps."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.lock: Lockfile = read_lockfile(path)
        self.root = os.path.dirname(os.path.abspath(path))


def _base(name: str | None, config: Config) -> Revision | _LockedBase | None:
    if name is not None:
        return _LockedBase(name) if os.path.isfile(name) else Revision(name, config.root, config.root)
    try:
        return Revision("HEAD", config.root, config.root)
    except UsageError:
        path = os.path.join(config.root, FILE_NAME)
        return _LockedBase(path) if os.path.isfile(path) else None


def _outlines(
    wanted: Collection[str], base: Revision | _LockedBase, config: Config, active: Settings
) -> Iterator[tuple[str, tuple[Outline, Outline]]]:
    """Yield the wanted workflows by their ids: as they were, and as they are."""
    for file in read_workflows(found_files([os.path.relpath(config.root)], config)):
        ident = workflow_id(file.data)
        new = read_outline(file.path, file.data, active, quiet=True) if ident in wanted else None
        if ident is None or new is None:
            continue
        if isinstance(base, _LockedBase):
            entry = base.lock.workflows.get(os.path.relpath(file.path, base.root).replace(os.sep, "/"))
            if entry is not None:
                yield ident, (outline_from_json(entry["outline"]), digested(new))
            continue
        path = file.path if base.holds(file.path) else former_path(file.data, base)
        old = None if path is None else read_outline(path, base.read(path), active, quiet=True)
        if old is not None:
            yield ident, (old, new)


class _Map:
    """Which steps an edit of a step can reach: those in its loop, and those that come after it."""

    def __init__(self, old: Outline, new: Outline) -> None:
        self._places = [{step.id: number for number, step in enumerate(each.steps)} for each in (old, new)]
        self._loops = [{step.id: step.parent for step in each.steps} for each in (old, new)]
        self._facets = {step.id: step.facets for step in (*old.steps, *new.steps)}

    def is_inside(self, step: str, loop: str) -> bool:
        return step == loop or any(loops.get(step) == loop for loops in self._loops)

    def is_behind(self, step: str, before: str) -> bool:
        """Return whether a run may come to a step after another one, in either version."""
        for places, loops in zip(self._places, self._loops, strict=True):
            loop = loops.get(before)
            if loop and loops.get(step) == loop:
                return True
            if step in places and before in places and places[step] >= places[before]:
                return True
        return False

    def uses(self, step: str, facet: str) -> bool:
        """Return whether a step uses a contract or an assessment of its workflow."""
        facets = self._facets.get(step, {})
        if facet.startswith("contract "):
            contract = facets.get("output.contract")
            return is_digest(contract) or (isinstance(contract, dict) and f"contract {contract.get('ref')}" == facet)
        return "output.assessments" in facets


def _shows(edit: Edit, group: Group, steps: _Map) -> bool:
    """Return whether a change of goldens shows an edit itself."""
    difference = group.difference
    at, is_prompt = difference.step, difference.field in _PROMPT_FIELDS
    match edit.kind:
        case "added" | "removed":
            return at == edit.step or (at == "" and _names(difference, edit.step))
        case "bound":
            return difference.sort == "turn" and steps.is_inside(at, edit.step)
        case "moved" | "condition":
            return difference.sort == "turn" and steps.is_inside(at, edit.step)
        case "renamed":
            return at in (edit.step, edit.before)
        case "prompt":
            return at == edit.step and is_prompt and _says(edit, difference)
        case "contract" if not edit.step:
            return not is_prompt and steps.uses(at, edit.facet)
        case _:
            is_title = difference.field == "pending/title"
            return at == edit.step and bool(at) and not is_prompt and (edit.facet == "title") == is_title


def _names(difference: Difference, step: str) -> bool:
    """Return whether a difference that came or went as a whole is about a step."""
    value = difference.new if difference.change == "added" else difference.old
    return difference.change != "changed" and isinstance(value, dict) and step in value.values()


def _says(edit: Edit, difference: Difference) -> bool:
    """Return whether the words that differ are those that the author edited, as far as both are known."""
    if not isinstance(edit.before, str) or not isinstance(edit.after, str) or difference.change != "changed":
        return True
    sides = edits(edit.before, edit.after)
    return all(
        any(
            # What an agent reads has values where the author wrote names.
            "{{" in side.old + side.new or (one.old.strip() in side.old and one.new.strip() in side.new)
            for side in sides
        )
        for one in difference.edits
    )


def _goes_with(edit: Edit, group: Group, steps: _Map) -> bool:
    """Return whether all goldens that have a change show an edit that it may be a consequence of."""
    return set(group.goldens) <= set(edit.goldens) and _follows(edit, group, steps)


def _follows(edit: Edit, group: Group, steps: _Map) -> bool:
    """Return whether a change of goldens may be a consequence of an edit that makes runs go another way."""
    difference = group.difference
    if edit.kind not in _STRUCTURAL or difference.field in _PROMPT_FIELDS:
        return False
    if not edit.step:
        return bool(edit.groups)
    return (
        not difference.step
        or steps.is_inside(difference.step, edit.step)
        or steps.is_behind(difference.step, edit.step)
    )
