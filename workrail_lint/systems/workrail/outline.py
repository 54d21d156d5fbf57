"""What a workflow does, facet by facet: the shape that lockfiles keep and diffs compare.

A facet is one aspect of behaviour (a step's prompt, its condition, a loop's limit). Lockfiles keep long facets
as digests, so that a changed prompt is noticed and named without storing the prompt.
"""

from __future__ import annotations

from typing import Any

from workrail_lint.base.canonical import canonical_bytes, digest

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
        """The form a lockfile keeps: short facets as they are, long ones as digests."""
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
    """The outline of an IR."""
    facets = {name: value for name, value in ir.items() if name not in _NOT_TOP_FACETS and value not in _EMPTY}
    facets.update((f"contract {pack['ref']}", {"schema": pack["schema"]}) for pack in ir["contracts"])
    steps: list[StepOutline] = []
    for step in ir["steps"]:
        steps.append(StepOutline(step["id"], "", _step_facets(step)))
        steps += [StepOutline(inner["id"], step["id"], _step_facets(inner)) for inner in step.get("body", ())]
    return Outline(facets, steps)


def outline_from_json(data: dict[str, Any]) -> Outline:
    """The outline a lockfile kept. Raises KeyError or TypeError when it is not one."""
    steps = [StepOutline(item["id"], item.get("loop", ""), dict(item["facets"])) for item in data["steps"]]
    return Outline(dict(data["workflow"]), steps)


def digested(full: Outline) -> Outline:
    """An outline as it would come back from a lockfile, to be compared with one that did."""
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
