"""Places of a workflow in messages, and the members of the shapes that its objects can have."""

from __future__ import annotations

from functools import cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.documents.schema.messages import Place, shown
from workrail_lint.systems.schemas import load_schema

_FEW = 2  # places that a message can name
STEP_SHAPES = {"StandardStep": "a standard step", "LoopStep": "a loop step", "ParallelStep": "a parallel step"}


class StepPlace(Place):
    """A place in a workflow: messages start with the step it is in."""

    __slots__ = ()

    def __init__(self, pointer: str, definition: dict[str, Any]) -> None:
        super().__init__(pointer, definition)
        self.part_length = self._step_length()
        self.noun = "the step" if self.part_length else "the workflow"

    def _step_length(self) -> int:
        tokens = self.tokens
        if len(tokens) < 2 or tokens[0] != "steps" or js.list_in(self.definition, "steps") is None:
            return 0
        if len(tokens) >= 4 and tokens[2] == "body" and js.list_in(self.value(tokens[:2]), "body") is not None:
            return 4
        return 2

    @property
    def label(self) -> str:  # type: ignore[override]  # constant where a document has no parts
        """`step 'plan'`, and the loop it is in; "" outside of steps."""
        if not self.part_length:
            return ""
        label = self._step_label(self.tokens[: self.part_length])
        if self.part_length == 4:
            ident = js.string_in(self.value(self.tokens[:2]), "id")
            label += f" (in loop {shown(ident)})" if ident is not None else ""
        return label

    def _step_label(self, tokens: list[str]) -> str:
        step = self.value(tokens)
        ident = js.string_in(step, "id")
        kind = "loop" if js.string_in(step, "type") == "loop" else "step"
        return f"{kind} {shown(ident)}" if ident is not None else f"{kind} number {int(tokens[-1]) + 1}"


@cache
def _shapes() -> dict[str, tuple[str, ...]]:
    definitions = load_schema("workflow")["definitions"]
    return {name: tuple(definition.get("properties", ())) for name, definition in definitions.items()}


def choices(definition: str) -> tuple[str, ...]:
    """Return the closed set that a definition of the schema is."""
    return tuple(load_schema("workflow")["definitions"][definition]["enum"])


def members(shape: str) -> tuple[str, ...]:
    """Return the members of a shape, in the order of the documentation."""
    return _shapes().get(shape, ())


def other_step_shapes(name: str, shape: str) -> list[str]:
    """Return the kinds of steps that have a member which this kind does not have."""
    if shape not in STEP_SHAPES:
        return []
    return [label for other, label in STEP_SHAPES.items() if other != shape and name in members(other)]


def elsewhere(name: str, shape: str) -> str | None:
    """Return where a member belongs that is in the wrong object of the right document."""
    if shape in STEP_SHAPES and name in members("LoopConfig"):
        return "inside `loop` of a loop step"
    if shape in STEP_SHAPES and name in members("Workflow"):
        return "at the top level of the workflow"
    if shape == "LoopStep" and name == "loopId":
        return "to the design form, which the engine rejects; write `id`"
    if shape == "LoopConfig" and name in members("LoopStep"):
        return "on the loop step itself, next to `loop`"
    if shape == "Workflow":
        kinds = [label for step, label in STEP_SHAPES.items() if name in members(step)]
        if kinds:
            return f"on {' or '.join(kinds)}"
        place = _inside(name, "StandardStep")
        return f"{place} of a step" if place is not None else _inside(name, shape)
    return _inside(name, shape)


def is_list_of_strings(schema: dict[str, Any]) -> bool:
    """Return whether a part of the schema asks for a list of strings."""
    return schema.get("type") == "array" and schema.get("items", {}).get("type") == "string"


def _inside(name: str, shape: str) -> str | None:
    """Return which member of a shape is the object, or the list of objects, that has a member of this name."""
    holders: list[str] = []
    for member, schema in load_schema("workflow")["definitions"].get(shape, {}).get("properties", {}).items():
        for part, where in ((schema, f"inside `{member}`"), (schema.get("items", {}), f"in an item of `{member}`")):
            reference = part.get("$ref", "") if isinstance(part, dict) else ""
            if name in members(reference.rpartition("/")[2]):
                holders.append(where)
    return " or ".join(holders) if 0 < len(holders) <= _FEW else None
