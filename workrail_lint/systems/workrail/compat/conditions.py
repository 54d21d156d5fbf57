"""Named conditions: the closed list at the top, and the loops that refer to it."""

from __future__ import annotations

from typing import Any

from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat.changes import Action
from workrail_lint.systems.workrail.compat.codes import (
    CONDITION_KINDS,
    CONDITION_REF,
    CONDITION_UNUSED,
    CONDITIONS,
    CONTINUE_WHEN,
    CONTINUE_WHEN_STOP,
    LOOP_CONTROL,
    code_list,
    code_span,
)
from workrail_lint.systems.workrail.compat.draft import Draft
from workrail_lint.systems.workrail.compat.frames import Frame
from workrail_lint.systems.workrail.compat.records import Policy

MEMBER = "conditions"
_ORIGIN = "/conditions"


class NamedConditions:
    """The conditions of one document, and which of them loops use."""

    __slots__ = ("_broken_ids", "_by_id", "_entries", "_present", "_readable", "stays", "used")

    def __init__(self, draft: Draft) -> None:
        self._present = MEMBER in draft.original
        self._entries: list[tuple[int, dict[str, Any]]] = []
        self._by_id: dict[str, dict[str, Any]] = {}
        self.used: set[str] = set()
        # Set if the list must stay in the document: it has an error, or a loop still needs it.
        self.stays = False
        self._readable = True
        self._broken_ids: set[str] = set()
        if self._present and draft.policy is not Policy.REJECT:
            self._read(draft, draft.original[MEMBER])

    def _read(self, draft: Draft, conditions: object) -> None:
        if not isinstance(conditions, list):
            self._refuse(draft, _ORIGIN, "`conditions` must be a list of objects `{id, kind}`")
            self._readable = False
            return
        for index, condition in enumerate(conditions):
            pointer = pointers.child(_ORIGIN, index)
            problem = _problem(condition)
            if problem is not None:
                member, text = problem
                self._refuse(draft, pointer if member is None else pointers.child(pointer, member), text)
                if isinstance(condition, dict) and isinstance(condition.get("id"), str):
                    self._broken_ids.add(condition["id"])
                continue
            if condition["id"] in self._by_id:
                self._refuse(
                    draft,
                    pointers.child(pointer, "id"),
                    f"duplicate condition id {code_span(condition['id'])}; remove or rename one",
                )
                continue
            self._by_id[condition["id"]] = condition
            self._entries.append((index, condition))

    def _refuse(self, draft: Draft, pointer: str, message: str) -> None:
        draft.refuse(CONDITIONS.name, pointer, message, keeps=_ORIGIN)
        self.stays = True

    def find(self, condition_id: str) -> dict[str, Any] | None:
        """A valid condition by its id."""
        self.used.add(condition_id)
        return self._by_id.get(condition_id)

    def explains(self, condition_id: str) -> bool:
        """Whether a condition is unknown only because of an error in the list itself."""
        return not self._readable or condition_id in self._broken_ids

    def remove(self, draft: Draft) -> None:
        """D4: the list is removed after the loops have taken their conditions."""
        if not self._present or draft.rejects(CONDITIONS, _ORIGIN) or self.stays:
            return
        conditions = draft.original[MEMBER]
        if not draft.allows(CONDITIONS, _ORIGIN, MEMBER, conditions, None, action=Action.DROP):
            return
        del draft.own()[MEMBER]
        draft.side.conditions = [dict(condition) for _, condition in self._entries]
        for index, condition in self._entries:
            if condition["id"] not in self.used:
                pointer = pointers.child(_ORIGIN, index)
                draft.allows(CONDITION_UNUSED, pointer, "condition", condition, None, action=Action.DROP)


def _problem(condition: object) -> tuple[str | None, str] | None:
    """What is wrong with an entry: the member (None: the entry itself) and the message."""
    if not isinstance(condition, dict):
        return None, "a condition must be an object with `id` and `kind`"
    identifier, kind = condition.get("id"), condition.get("kind")
    if not isinstance(identifier, str) or not identifier:
        return _member(condition, "id"), "a condition needs an `id` that loops can refer to"
    if kind not in CONDITION_KINDS:
        return _member(condition, "kind"), (
            f"condition {code_span(identifier)} has an unknown kind; expected one of {code_list(CONDITION_KINDS)}"
        )
    known = ("id", "kind", "continueWhen") if kind == "loop_control" else ("id", "kind")
    for name in condition:
        if name not in known:
            return name, f"a condition of kind `{kind}` has no field {code_span(name)}; remove it"
    if "continueWhen" in condition and condition["continueWhen"] not in CONTINUE_WHEN:
        return "continueWhen", f"`continueWhen` must be one of {code_list(CONTINUE_WHEN)}"
    return None


def _member(condition: dict[str, Any], name: str) -> str | None:
    return name if name in condition else None


def condition_reference(draft: Draft, frame: Frame, conditions: NamedConditions) -> None:
    """D3: `while` becomes the `conditionSource` or `condition` of the loop that D2 has made."""
    reference = frame.step["while"]
    origin = pointers.child(frame.origin, "while")
    if draft.rejects(CONDITION_REF, origin):
        return
    config = _resolve(draft, frame, conditions, reference, origin)
    loop = pointers.child(frame.pointer, "loop")
    if config is None:
        # Whatever the schema misses in the loop is missing because `while` could not be read.
        draft.places.made(loop, origin)
        return
    if draft.allows(CONDITION_REF, origin, "while", reference, config, step=frame.pointer):
        members = draft.own((*frame.path, "loop"))
        limit = {name: members.pop(name) for name in ("maxIterations",) if name in members}
        members.update(config)
        members.update(limit)
        del draft.own(frame.path)["while"]
        for name in config:
            draft.places.made(pointers.child(loop, name), origin)


def is_reference(value: object) -> bool:
    """A named condition as a loop refers to it."""
    return isinstance(value, dict) and value.get("kind") == "condition_ref"


def _resolve(
    draft: Draft, frame: Frame, conditions: NamedConditions, reference: Any, origin: str
) -> dict[str, Any] | None:
    condition_id = reference.get("conditionId") if is_reference(reference) else None
    if not isinstance(condition_id, str) or len(reference) > 2:
        draft.refuse(
            CONDITION_REF.name,
            origin,
            '`while` must be `{kind: "condition_ref", conditionId}` with the id of an entry in `conditions`',
        )
        return None
    condition = conditions.find(condition_id)
    if condition is None:
        if conditions.explains(condition_id):
            draft.keep(origin)
        else:
            draft.refuse(
                CONDITION_REF.name,
                pointers.child(origin, "conditionId"),
                f"unknown condition {code_span(condition_id)}; declare it in `conditions`",
                keeps=origin,
            )
        return None
    if condition["kind"] == "always_true":
        return {"condition": {"and": []}}
    if condition["kind"] == "always_false":
        return {"condition": {"or": []}}
    if condition.get("continueWhen") == "stop":
        conditions.stays = True
        draft.keep(_ORIGIN)
        draft.refuse(
            CONTINUE_WHEN_STOP.name,
            origin,
            f"condition {code_span(condition_id)} continues when the decision is `stop`, but a loop always continues "
            f"on `continue`; {CONTINUE_WHEN_STOP.instead}",
        )
        return None
    source = {"kind": "artifact_contract", "contractRef": LOOP_CONTROL}
    if frame.final_id is not None:
        source["loopId"] = frame.final_id
    return {"conditionSource": source}
