"""The steps of a document as the rules see them: their original place, their new place, and their shape."""

from __future__ import annotations

from enum import Enum
from typing import Any

from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat.draft import Path


class Shape(Enum):
    """Which rules apply to a step."""

    STANDARD = "standard"
    TEMPLATE_CALL = "template_call"
    LOOP = "loop"
    OTHER = "other"


class Frame:
    """One step. `step` and `origin` belong to the original, `path` and `pointer` to the result."""

    __slots__ = ("clash", "final_id", "origin", "path", "pointer", "shape", "step")

    def __init__(self, step: dict[str, Any], path: Path, origin: str) -> None:
        self.step = step
        self.path = path
        self.pointer = pointers.encode(path)
        self.origin = origin
        self.shape = _shape(step)
        # Set once all ids of the document are known.
        self.final_id: str | None = None
        self.clash: str | None = None

    @property
    def is_standard(self) -> bool:
        return self.shape is Shape.STANDARD or self.shape is Shape.TEMPLATE_CALL


def frames_of(document: dict[str, Any]) -> list[Frame]:
    """Top-level steps and the steps of inline bodies, in document order. Loops do not nest."""
    frames: list[Frame] = []
    steps = document.get("steps")
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if not isinstance(step, dict):
            continue
        origin = pointers.encode(("steps", index))
        frame = Frame(step, ("steps", index), origin)
        frames.append(frame)
        if frame.shape is Shape.LOOP:
            frames += _body_frames(step.get("body"), (*frame.path, "body"), pointers.child(origin, "body"))
    return frames


def _body_frames(body: object, path: Path, origin: str) -> list[Frame]:
    if isinstance(body, dict) and body:
        return [Frame(body, (*path, 0), origin)]
    if not isinstance(body, list):
        return []
    return [
        Frame(step, (*path, index), pointers.child(origin, index))
        for index, step in enumerate(body)
        if isinstance(step, dict)
    ]


def _shape(step: dict[str, Any]) -> Shape:
    if "type" not in step:
        return Shape.STANDARD
    if step["type"] == "loop":
        return Shape.LOOP
    # Next to a `templateCall` the type is a mistake in a shipping-form step, which the schema reports.
    if step["type"] == "template_call" and "templateCall" not in step:
        return Shape.TEMPLATE_CALL
    return Shape.OTHER
