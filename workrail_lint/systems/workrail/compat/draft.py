"""A document during its rewrite, copied only where it changes, and its steps as the rules see them."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.compat.normalize import (
    Code,
    Normalized,
    PointerMap,
    Policy,
    SideModel,
)


class Action(str, Enum):
    """The way a construct was converted."""

    REWRITE = "rewrite"
    DROP = "drop"
    REJECT = "reject"


class CompatWarning(NamedTuple):
    """One normalization. `pointer` and `before` refer to the document as written."""

    code: str
    pointer: str
    construct: str
    action: Action
    before: Any
    after: Any
    lossy: bool
    removed_in: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the record under its published names."""
        return {
            "code": self.code,
            "pointer": self.pointer,
            "construct": self.construct,
            "action": self.action.value,
            "before": self.before,
            "after": self.after,
            "lossy": self.lossy,
            "removedIn": self.removed_in,
        }


Path = tuple[pointers.Token, ...]


def lead_with(members: dict[str, Any], head: dict[str, Any], drop: tuple[str, ...] = ()) -> None:
    """Put some members first, in the order people write them, and keep the others after them."""
    rest = {name: value for name, value in members.items() if name not in head and name not in drop}
    members.clear()
    members.update(head)
    members.update(rest)


class Draft:
    """The original, the result so far, and the policy check that every rewrite passes."""

    __slots__ = (
        "_errors",
        "_owned",
        "_refused",
        "_step_codes",
        "_warnings",
        "document",
        "original",
        "places",
        "policy",
        "side",
    )

    def __init__(self, original: dict[str, Any], policy: Policy) -> None:
        self.original = original
        self.document = original
        self.policy = policy
        self.side = SideModel()
        self.places = PointerMap()
        self._owned: set[int] = set()
        self._warnings: list[CompatWarning] = []
        self._errors: list[Finding] = []
        self._refused: list[str] = []
        self._step_codes: dict[str, list[str]] = {}

    def own(self, path: Path = ()) -> Any:
        """Return the container at a path of the result, safe to change: it and its parents are our copies."""
        if id(self.document) not in self._owned:
            self.document = self.document.copy()
            self._owned.add(id(self.document))
        value: Any = self.document
        for token in path:
            inner = value[token]
            if id(inner) not in self._owned:
                inner = value[token] = inner.copy()
                self._owned.add(id(inner))
            value = inner
        return value

    def rejects(self, code: Code, pointer: str) -> bool:
        """Report a construct, under the rejecting policy, and return whether it was; the rule is then done."""
        if self.policy is not Policy.REJECT:
            return False
        self._report(code.name, pointer, f"the engine rejects {code.what}; {code.instead}")
        return True

    def refuse(
        self, code: str, pointer: str, message: str, *, keeps: str | None = None, phase: Phase = Phase.SCHEMA
    ) -> None:
        """Report an error about a place; `keeps` is the place left as written, if that is a larger one."""
        self._report(code, pointer, message, phase)
        self.keep(pointer if keeps is None else keeps)

    def _report(self, code: str, pointer: str, message: str, phase: Phase = Phase.SCHEMA) -> None:
        self._errors.append(Finding(code, code, Severity.ERROR, message, pointer, phase=phase))

    def keep(self, pointer: str) -> None:
        """Note that a place stays as written because of an error that is already reported."""
        if pointer not in self._refused:
            self._refused.append(pointer)

    def allows(
        self,
        code: Code,
        pointer: str,
        construct: str,
        before: Any,
        after: Any,
        *,
        action: Action = Action.REWRITE,
        lossy: bool = False,
        step: str | None = None,
    ) -> bool:
        """Record a rewrite, unless the policy forbids it; then record the error instead."""
        if self.rejects(code, pointer):
            return False
        if lossy and self.policy is Policy.LOSSLESS:
            self.refuse(
                code.name,
                pointer,
                f"{code.what} can't be rewritten without loss; {code.instead}, or allow the loss with the policy "
                f"`{Policy.NORMALIZE.value}`",
            )
            return False
        self._warnings.append(CompatWarning(code.name, pointer, construct, action, before, after, lossy))
        if step is not None:
            self.touch(step, code)
        return True

    def touch(self, step: str, code: Code) -> None:
        """Note that the step at a pointer of the result is not as authored."""
        codes = self._step_codes.setdefault(step, [])
        if code.name not in codes:
            codes.append(code.name)

    def finish(self) -> Normalized:
        """Return the result, its records in document order."""
        return Normalized(
            self.document,
            warnings=sorted(self._warnings, key=lambda warning: pointers.sort_key(warning.pointer)),
            errors=sorted(self._errors, key=lambda error: pointers.sort_key(error.pointer)),
            side=self.side,
            pointer_map=self.places,
            step_codes={step: tuple(codes) for step, codes in self._step_codes.items()},
            refused=tuple(self._refused),
        )


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
    """Return the top-level steps and the steps of inline bodies, in document order. Loops do not nest."""
    frames: list[Frame] = []
    for index, step in enumerate(js.list_in(document, "steps") or ()):
        if not isinstance(step, dict):
            continue
        origin = pointers.encode(("steps", index))
        frame = Frame(step, ("steps", index), origin)
        frames.append(frame)
        if frame.shape is Shape.LOOP:
            frames += _body_frames(step, (*frame.path, "body"), pointers.child(origin, "body"))
    return frames


def _body_frames(loop: dict[str, Any], path: Path, origin: str) -> list[Frame]:
    only = js.object_in(loop, "body")
    if only:
        return [Frame(only, (*path, 0), origin)]
    return [
        Frame(step, (*path, index), pointers.child(origin, index))
        for index, step in enumerate(js.list_in(loop, "body") or ())
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
