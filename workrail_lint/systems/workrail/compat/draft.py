"""A document during its rewrite: copied only where it changes, with a record of every change."""

from __future__ import annotations

from typing import Any

from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.workrail.compat.changes import Action, CompatWarning
from workrail_lint.systems.workrail.compat.codes import Code
from workrail_lint.systems.workrail.compat.records import (
    Normalized,
    PointerMap,
    Policy,
    SideModel,
)

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
        """The container at a path of the result, safe to change: it and its parents are our copies."""
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
        """Under the rejecting policy, report a construct; the rule is then done."""
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
        """The result, its records in document order."""
        return Normalized(
            self.document,
            warnings=sorted(self._warnings, key=lambda warning: pointers.sort_key(warning.pointer)),
            errors=sorted(self._errors, key=lambda error: pointers.sort_key(error.pointer)),
            side=self.side,
            pointer_map=self.places,
            step_codes={step: tuple(codes) for step, codes in self._step_codes.items()},
            refused=tuple(self._refused),
        )
