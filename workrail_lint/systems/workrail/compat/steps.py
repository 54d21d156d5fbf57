"""The rules for steps: ids, template calls, the `output` object, validation criteria, named conditions, and loops.

The design form allows underscores in ids, and ids of one or two characters; the shipping form does not.
"""

from __future__ import annotations

import re
from typing import Any

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat.draft import Action, Draft, Frame, Shape, lead_with
from workrail_lint.systems.workrail.compat.normalize import (
    BARE_RULE,
    BODY_OBJECT,
    CONDITION_KINDS,
    CONDITION_REF,
    CONDITION_UNUSED,
    CONDITIONS,
    CONTINUE_WHEN,
    CONTINUE_WHEN_STOP,
    CRITERIA,
    ID_UNDERSCORE,
    LOOP_CONTROL,
    LOOP_ID,
    OUTPUT_CONTRACT,
    OUTPUT_HINTS,
    RULE_MESSAGE,
    TEMPLATE_CALL,
    Policy,
    code_list,
    code_span,
    is_bare_rule,
    rules_without_message,
)

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
        """Return the new id of the step a body refers to, or None when the reference is right as it is."""
        return self._renamed.get(name)

    def generate(self, template_id: str) -> str:
        """Return an unused id, made from the last part of a template's id."""
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
    """Return the id as written: a design-form loop says `loopId`."""
    names = ("id", "loopId") if frame.shape is Shape.LOOP else ("id",)
    for name in names:
        if name in frame.step:
            return js.string_in(frame.step, name)
    return None


def dashed(identifier: str) -> str | None:
    """Return the shipping spelling of a design-form id; None for text that is no id in either form."""
    new = identifier.replace("_", "-")
    if len(new) < MIN_LENGTH:
        new = f"s-{new}"
    return new if _DESIGN_ID.fullmatch(identifier) and len(new) <= MAX_LENGTH else None


def humanized(identifier: str) -> str:
    """Return a title for a step that has none: `dig-in` reads `Dig in`."""
    words = identifier.replace("-", " ")
    return words[:1].upper() + words[1:]


def dash_id(draft: Draft, frame: Frame) -> None:
    """D10: `_` in a step's id becomes `-`."""
    old = js.string_in(frame.step, "id")
    if old is None or "_" not in old or dashed(old) is None:
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
    body = js.string_in(frame.step, "body")
    new = plan.renamed(body) if body is not None else None
    if new is not None:
        pointer = pointers.child(frame.origin, "body")
        if draft.allows(ID_UNDERSCORE, pointer, "body", body, new, step=frame.pointer):
            draft.own(frame.path)["body"] = new
    _dash_source(draft, frame)


def _dash_source(draft: Draft, frame: Frame) -> None:
    source = js.object_in(js.object_in(frame.step, "loop"), "conditionSource")
    if source is None or frame.final_id == authored_id(frame):
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
    """Return the new id; the same if it needs no change or can't be fixed."""
    if "_" not in old and "id" in frame.step:
        return old
    return dashed(old) or old


_CALL_MEMBERS = ("templateId", "args")


def template_call(draft: Draft, frame: Frame, plan: IdPlan) -> None:
    """D1: a step of type `template_call` becomes a step with a `templateCall`."""
    if frame.shape is not Shape.TEMPLATE_CALL or draft.rejects(TEMPLATE_CALL, frame.origin):
        return
    step = frame.step
    template_id = js.string_in(step, "templateId")
    if "id" not in step and template_id is not None:
        frame.final_id = plan.generate(template_id)
    head: dict[str, Any] = {name: step[name] for name in ("id", "title") if name in step}
    if frame.final_id is not None:
        head = {"id": frame.final_id, "title": humanized(frame.final_id), **head}
    call = {name: step[name] for name in _CALL_MEMBERS if name in step}
    before = {name: value for name, value in step.items() if name in ("type", "id", "title", *_CALL_MEMBERS)}
    after = {**head, "templateCall": call}
    if not draft.allows(TEMPLATE_CALL, frame.origin, "template_call", before, after, step=frame.pointer):
        return
    lead_with(draft.own(frame.path), after, drop=("type", *_CALL_MEMBERS))
    if "id" not in step and "id" in head:
        draft.places.add_derived(pointers.child(frame.pointer, "id"), pointers.child(frame.origin, "templateId"))
    if "title" not in step:
        draft.places.add_derived(pointers.child(frame.pointer, "title"), frame.origin)
    target = pointers.child(frame.pointer, "templateCall")
    draft.places.add_derived(target, frame.origin)
    for name in call:
        draft.places.add_moved(pointers.child(target, name), pointers.child(frame.origin, name))


def output_contract(draft: Draft, frame: Frame) -> None:
    """D5: `output.contractRef` becomes `outputContract`."""
    output = js.object_in(frame.step, "output")
    if output is None or "contractRef" not in output:
        return
    origin = pointers.child(frame.origin, "output")
    if draft.rejects(OUTPUT_CONTRACT, origin):
        return
    reference = output["contractRef"]
    before = {"contractRef": reference}
    contract = js.object_in(frame.step, "outputContract") if "outputContract" in frame.step else before
    if contract is None or not js.deep_equal(contract.get("contractRef"), reference):
        draft.refuse(
            OUTPUT_CONTRACT.name,
            origin,
            "`output.contractRef` and `outputContract` name different contracts; keep only `outputContract`",
        )
        return
    if not draft.allows(OUTPUT_CONTRACT, origin, "output.contractRef", before, contract, step=frame.pointer):
        return
    if "outputContract" not in frame.step:
        draft.own(frame.path)["outputContract"] = {"contractRef": reference}
        target = pointers.child(frame.pointer, "outputContract")
        draft.places.add_derived(target, origin)
        draft.places.add_moved(pointers.child(target, "contractRef"), pointers.child(origin, "contractRef"))
    _take_output(draft, frame, "contractRef")


def output_hints(draft: Draft, frame: Frame) -> None:
    """D6: `output.hints` become lines of `guidance`."""
    output = js.object_in(frame.step, "output")
    if output is None or "hints" not in output:
        return
    origin = pointers.child(frame.origin, "output")
    if draft.rejects(OUTPUT_HINTS, origin):
        return
    hints = js.object_in(output, "hints")
    guidance = js.list_in(frame.step, "guidance") if "guidance" in frame.step else []
    if hints is None or not all(_is_scalar(hint) for hint in hints.values()):
        _refuse_hints(draft, origin, "`output.hints` must be an object of plain values to become `guidance`")
        return
    if guidance is None:
        _refuse_hints(draft, origin, "`output.hints` can't be added to `guidance`, which is not a list")
        return
    names = js.keys(hints)
    lines = [f"{name}: {js.text(hints[name])}" for name in names]
    if not draft.allows(OUTPUT_HINTS, origin, "output.hints", {"hints": hints}, lines, step=frame.pointer):
        return
    if lines:
        draft.own(frame.path)["guidance"] = guidance + lines
        target = pointers.child(frame.pointer, "guidance")
        source = pointers.child(origin, "hints")
        if "guidance" not in frame.step:
            draft.places.add_derived(target, source)
        for index, name in enumerate(names, start=len(guidance)):
            draft.places.add_derived(pointers.child(target, index), pointers.child(source, name))
    _take_output(draft, frame, "hints")


def _is_scalar(value: object) -> bool:
    return not isinstance(value, dict | list)


def _refuse_hints(draft: Draft, origin: str, problem: str) -> None:
    draft.refuse(OUTPUT_HINTS.name, origin, f"{problem}; {OUTPUT_HINTS.instead}")


def _take_output(draft: Draft, frame: Frame, name: str) -> None:
    """Remove a member that was moved; members unknown to the design form stay for the schema to report."""
    output = draft.own((*frame.path, "output"))
    del output[name]
    if not output:
        del draft.own(frame.path)["output"]


def bare_rule(draft: Draft, frame: Frame) -> None:
    """D14: a bare rule becomes a list of one."""
    criteria = frame.step.get(CRITERIA)
    origin = pointers.child(frame.origin, CRITERIA)
    if not is_bare_rule(criteria):
        return
    if draft.allows(BARE_RULE, origin, CRITERIA, criteria, [criteria], step=frame.pointer):
        draft.own(frame.path)[CRITERIA] = [criteria]
        draft.places.add_moved(frame.pointer + pointers.encode((CRITERIA, 0)), origin)


def rule_messages(draft: Draft, frame: Frame) -> None:
    """D15: a rule without a message gets the one its kind implies."""
    criteria = frame.step.get(CRITERIA)
    wrapped: tuple[pointers.Token, ...] = (0,) if is_bare_rule(criteria) else ()
    base = pointers.child(frame.origin, CRITERIA)
    for tokens, rule, message in rules_without_message(criteria):
        origin = base + pointers.encode(tokens)
        after = {**rule, "message": message}
        if draft.allows(RULE_MESSAGE, origin, "rule without message", rule, after, step=frame.pointer):
            path = (*frame.path, CRITERIA, *wrapped, *tokens)
            draft.own(path)["message"] = message
            draft.places.add_derived(pointers.encode((*path, "message")), origin)


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
            self._read(draft, js.list_in(draft.original, MEMBER))

    def _read(self, draft: Draft, conditions: list[Any] | None) -> None:
        if conditions is None:
            self._refuse(draft, _ORIGIN, "`conditions` must be a list of objects `{id, kind}`")
            self._readable = False
            return
        for index, condition in enumerate(conditions):
            pointer = pointers.child(_ORIGIN, index)
            problem = _problem(condition)
            if problem is not None:
                member, text = problem
                self._refuse(draft, pointer if member is None else pointers.child(pointer, member), text)
                broken = js.string_in(condition, "id")
                if broken is not None:
                    self._broken_ids.add(broken)
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
        """Return a valid condition by its id."""
        self.used.add(condition_id)
        return self._by_id.get(condition_id)

    def explains(self, condition_id: str) -> bool:
        """Return whether a condition is unknown only because of an error in the list itself."""
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
    """Return what is wrong with an entry: the member (None: the entry itself) and the message."""
    if not isinstance(condition, dict):
        return None, "a condition must be an object with `id` and `kind`"
    identifier, kind = js.string_in(condition, "id"), condition.get("kind")
    if not identifier:
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
        draft.places.add_derived(loop, origin)
        return
    if draft.allows(CONDITION_REF, origin, "while", reference, config, step=frame.pointer):
        members = draft.own((*frame.path, "loop"))
        limit = {name: members.pop(name) for name in ("maxIterations",) if name in members}
        members.update(config)
        members.update(limit)
        del draft.own(frame.path)["while"]
        for name in config:
            draft.places.add_derived(pointers.child(loop, name), origin)


def is_reference(value: object) -> bool:
    """Return whether a value is a named condition as a loop refers to it."""
    return js.string_in(value, "kind") == "condition_ref"


def _resolve(
    draft: Draft, frame: Frame, conditions: NamedConditions, reference: Any, origin: str
) -> dict[str, Any] | None:
    condition_id = js.string_in(reference, "conditionId") if is_reference(reference) else None
    if condition_id is None or len(reference) > 2:
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


def loop_shape(draft: Draft, frame: Frame) -> None:
    """D2: `loopId`, `while` and `maxIterations` on the step become `id`, `title` and `loop`."""
    step = frame.step
    configures = takes_condition(frame)
    loop_id = _loop_id(frame)
    if (loop_id is None and not configures) or draft.rejects(LOOP_ID, frame.origin):
        return
    if loop_id is not None and not _agrees(draft, frame, loop_id):
        loop_id = None
        if not configures:
            return
    head = _head(frame)
    drop = [] if loop_id is None else ["loopId"]
    if configures:
        head["loop"] = {"type": "while"}
        if "maxIterations" in step:
            head["loop"]["maxIterations"] = step["maxIterations"]
            drop.append("maxIterations")
    before = {name: step[name] for name in ("loopId", "id", "title", "while", "maxIterations") if name in step}
    if draft.allows(LOOP_ID, frame.origin, "loopId", before, head, step=frame.pointer):
        lead_with(draft.own(frame.path), head, drop=tuple(drop))
        _record_places(draft, frame, loop_id, configures)


def _loop_id(frame: Frame) -> str | None:
    return js.string_in(frame.step, "loopId") if frame.shape is Shape.LOOP else None


def _agrees(draft: Draft, frame: Frame, loop_id: str) -> bool:
    """Return whether the `loopId` can be the step's id, or repeats it; reports why not."""
    pointer = pointers.child(frame.origin, "loopId")
    if "id" not in frame.step:
        if frame.clash is not None:
            reject_clash(draft, frame, loop_id, pointer)
        return True
    if frame.final_id is not None and frame.final_id in (loop_id, dashed(loop_id)):
        return True
    draft.refuse(LOOP_ID.name, pointer, "the loop's `id` and `loopId` differ; keep one of them, as `id`")
    return False


def takes_condition(frame: Frame) -> bool:
    """Return whether the step's `while` becomes its `loop`."""
    step = frame.step
    if frame.shape is not Shape.LOOP or "while" not in step or "loop" in step:
        return False
    return _loop_id(frame) is not None or is_reference(step["while"])


def _head(frame: Frame) -> dict[str, Any]:
    """Return the members with its identity first, in the order people write it."""
    step = frame.step
    head: dict[str, Any] = {}
    if frame.final_id is not None:
        head["id"] = frame.final_id
    elif "id" in step:
        head["id"] = step["id"]
    head["type"] = "loop"
    if "title" in step:
        head["title"] = step["title"]
    elif frame.final_id is not None:
        head["title"] = humanized(frame.final_id)
    return head


def _record_places(draft: Draft, frame: Frame, loop_id: str | None, configures: bool) -> None:
    step = frame.step
    if "id" not in step and loop_id is not None:
        draft.places.add_moved(pointers.child(frame.pointer, "id"), pointers.child(frame.origin, "loopId"))
    if "title" not in step:
        draft.places.add_derived(pointers.child(frame.pointer, "title"), frame.origin)
    if configures:
        loop = pointers.child(frame.pointer, "loop")
        draft.places.add_derived(loop, frame.origin)
        draft.places.add_derived(pointers.child(loop, "type"), pointers.child(frame.origin, "while"))
        draft.places.add_moved(pointers.child(loop, "maxIterations"), pointers.child(frame.origin, "maxIterations"))


def loop_condition(draft: Draft, frame: Frame, conditions: NamedConditions) -> None:
    """D3, for the loops that D2 gave a configuration."""
    if takes_condition(frame):
        condition_reference(draft, frame, conditions)
    elif frame.shape is Shape.LOOP and is_reference(frame.step.get("while")):
        conditions.stays = True


def body_object(draft: Draft, frame: Frame) -> None:
    """D16: a body that is one step becomes a list of one."""
    body = js.object_in(frame.step, "body")
    if frame.shape is not Shape.LOOP or not body:
        return
    origin = pointers.child(frame.origin, "body")
    if draft.allows(BODY_OBJECT, origin, "body", body, [body], step=frame.pointer):
        draft.own(frame.path)["body"] = [body]
        draft.places.add_moved(frame.pointer + pointers.encode(("body", 0)), origin)
