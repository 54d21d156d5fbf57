"""Loops: the design form keeps the configuration on the step, and a body may be a single step."""

from __future__ import annotations

from typing import Any

from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat.codes import BODY_OBJECT, LOOP_ID
from workrail_lint.systems.workrail.compat.conditions import NamedConditions, condition_reference, is_reference
from workrail_lint.systems.workrail.compat.draft import Draft, lead_with
from workrail_lint.systems.workrail.compat.frames import Frame, Shape
from workrail_lint.systems.workrail.compat.ids import dashed, humanized, reject_clash


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
    loop_id = frame.step.get("loopId") if frame.shape is Shape.LOOP else None
    return loop_id if isinstance(loop_id, str) else None


def _agrees(draft: Draft, frame: Frame, loop_id: str) -> bool:
    """Whether the `loopId` can be the step's id, or repeats it; reports why not."""
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
    """Whether the step's `while` becomes its `loop`."""
    step = frame.step
    if frame.shape is not Shape.LOOP or "while" not in step or "loop" in step:
        return False
    return _loop_id(frame) is not None or is_reference(step["while"])


def _head(frame: Frame) -> dict[str, Any]:
    """Identity first, in the order people write it."""
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
        draft.places.moved(pointers.child(frame.pointer, "id"), pointers.child(frame.origin, "loopId"))
    if "title" not in step:
        draft.places.made(pointers.child(frame.pointer, "title"), frame.origin)
    if configures:
        loop = pointers.child(frame.pointer, "loop")
        draft.places.made(loop, frame.origin)
        draft.places.made(pointers.child(loop, "type"), pointers.child(frame.origin, "while"))
        draft.places.moved(pointers.child(loop, "maxIterations"), pointers.child(frame.origin, "maxIterations"))


def loop_condition(draft: Draft, frame: Frame, conditions: NamedConditions) -> None:
    """D3, for the loops that D2 gave a configuration."""
    if takes_condition(frame):
        condition_reference(draft, frame, conditions)
    elif frame.shape is Shape.LOOP and is_reference(frame.step.get("while")):
        conditions.stays = True


def body_object(draft: Draft, frame: Frame) -> None:
    """D16: a body that is one step becomes a list of one."""
    body = frame.step.get("body")
    if frame.shape is not Shape.LOOP or not isinstance(body, dict) or not body:
        return
    origin = pointers.child(frame.origin, "body")
    if draft.allows(BODY_OBJECT, origin, "body", body, [body], step=frame.pointer):
        draft.own(frame.path)["body"] = [body]
        draft.places.moved(frame.pointer + pointers.encode(("body", 0)), origin)
