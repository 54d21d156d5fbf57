"""What changed in behaviour between two outlines, and how to tell a person."""

from __future__ import annotations

import difflib
import json
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.systems.workrail.outline import Facets, Outline, StepOutline, is_digest


class Change(NamedTuple):
    """One difference. `facet` is empty when a whole step came, went or moved."""

    kind: str  # "added", "removed", "moved" or "changed"
    step: str  # the step's key, "" for the workflow itself
    facet: str
    before: Any
    after: Any

    def as_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "step": self.step or None}
        if self.facet:
            record["facet"] = self.facet
        if self.kind == "changed":
            record |= {"before": self.before, "after": self.after}
        return record


def compare(old: Outline, new: Outline) -> list[Change]:
    """The changes from one outline to the other: workflow first, then steps in the new order."""
    changes = _facet_changes("", old.workflow, new.workflow)
    before = {step.key: step for step in old.steps}
    after = {step.key: step for step in new.steps}
    changes += [Change("removed", key, "", None, None) for key in before if key not in after]
    moved = _moved(old.steps, new.steps)
    for key, step in after.items():
        if key not in before:
            changes.append(Change("added", key, "", None, None))
            continue
        if key in moved:
            changes.append(Change("moved", key, "", None, None))
        changes += _facet_changes(key, before[key].facets, step.facets)
    return changes


def _facet_changes(step: str, old: Facets, new: Facets) -> list[Change]:
    return [
        Change("changed", step, name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if (name in old) != (name in new) or not js.deep_equal(old[name], new[name])
    ]


def _moved(old: list[StepOutline], new: list[StepOutline]) -> set[str]:
    """The fewest steps that, taken out, leave the rest in the same order."""
    common = {step.key for step in old} & {step.key for step in new}
    first = [step.key for step in old if step.key in common]
    second = [step.key for step in new if step.key in common]
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    kept = {key for block in matcher.get_matching_blocks() for key in first[block.a : block.a + block.size]}
    return common - kept


def describe(change: Change) -> list[str]:
    """A change in words: one line, and for texts the lines that differ below it."""
    subject = f"step '{change.step}'" if change.step else "workflow"
    if not change.facet:
        return [f"{subject}: {change.kind}"]
    head = f"{subject}: {change.facet}"
    before, after = change.before, change.after
    if before is None:
        return [f"{head} added{_shown(after)}"]
    if after is None:
        return [f"{head} removed{_shown(before)}"]
    if is_digest(before) or is_digest(after):
        return [f"{head} changed"]
    if isinstance(before, str) and isinstance(after, str) and ("\n" in before + after or len(before + after) > 80):
        return [f"{head} changed", *_text_diff(before, after)]
    if isinstance(before, dict | list) or isinstance(after, dict | list):
        return [f"{head} changed", *_text_diff(_pretty(before), _pretty(after))]
    return [f"{head} changed: {_plain(before)} -> {_plain(after)}"]


def _shown(value: Any) -> str:
    shown = _plain(value)
    return f": {shown}" if not is_digest(value) and len(shown) <= 80 else ""


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)


def _text_diff(before: str, after: str) -> list[str]:
    # Two lines name the files; a line of the text may look like them once it has its mark.
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))[2:]
    return [f"    {line}" for line in lines if not line.startswith("@@")]
