"""Standard steps: template calls of type `template_call`, and the `output` object."""

from __future__ import annotations

from typing import Any

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.systems.workrail.compat.codes import OUTPUT_CONTRACT, OUTPUT_HINTS, TEMPLATE_CALL
from workrail_lint.systems.workrail.compat.draft import Draft, lead_with
from workrail_lint.systems.workrail.compat.frames import Frame, Shape
from workrail_lint.systems.workrail.compat.ids import IdPlan, humanized

_CALL_MEMBERS = ("templateId", "args")


def template_call(draft: Draft, frame: Frame, plan: IdPlan) -> None:
    """D1: a step of type `template_call` becomes a step with a `templateCall`."""
    if frame.shape is not Shape.TEMPLATE_CALL or draft.rejects(TEMPLATE_CALL, frame.origin):
        return
    step = frame.step
    template_id = step.get("templateId")
    if "id" not in step and isinstance(template_id, str):
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
        draft.places.made(pointers.child(frame.pointer, "id"), pointers.child(frame.origin, "templateId"))
    if "title" not in step:
        draft.places.made(pointers.child(frame.pointer, "title"), frame.origin)
    target = pointers.child(frame.pointer, "templateCall")
    draft.places.made(target, frame.origin)
    for name in call:
        draft.places.moved(pointers.child(target, name), pointers.child(frame.origin, name))


def output_contract(draft: Draft, frame: Frame) -> None:
    """D5: `output.contractRef` becomes `outputContract`."""
    output = frame.step.get("output")
    if not isinstance(output, dict) or "contractRef" not in output:
        return
    origin = pointers.child(frame.origin, "output")
    if draft.rejects(OUTPUT_CONTRACT, origin):
        return
    reference = output["contractRef"]
    contract = frame.step.get("outputContract", {"contractRef": reference})
    if not isinstance(contract, dict) or not js.deep_equal(contract.get("contractRef"), reference):
        draft.refuse(
            OUTPUT_CONTRACT.name,
            origin,
            "`output.contractRef` and `outputContract` name different contracts; keep only `outputContract`",
        )
        return
    before = {"contractRef": reference}
    if not draft.allows(OUTPUT_CONTRACT, origin, "output.contractRef", before, contract, step=frame.pointer):
        return
    if "outputContract" not in frame.step:
        draft.own(frame.path)["outputContract"] = contract
        target = pointers.child(frame.pointer, "outputContract")
        draft.places.made(target, origin)
        draft.places.moved(pointers.child(target, "contractRef"), pointers.child(origin, "contractRef"))
    _take_output(draft, frame, "contractRef")


def output_hints(draft: Draft, frame: Frame) -> None:
    """D6: `output.hints` become lines of `guidance`."""
    output = frame.step.get("output")
    if not isinstance(output, dict) or "hints" not in output:
        return
    origin = pointers.child(frame.origin, "output")
    if draft.rejects(OUTPUT_HINTS, origin):
        return
    hints = output["hints"]
    guidance = frame.step.get("guidance", [])
    if not isinstance(hints, dict) or not all(_is_scalar(hint) for hint in hints.values()):
        _refuse_hints(draft, origin, "`output.hints` must be an object of plain values to become `guidance`")
        return
    if not isinstance(guidance, list):
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
            draft.places.made(target, source)
        for index, name in enumerate(names, start=len(guidance)):
            draft.places.made(pointers.child(target, index), pointers.child(source, name))
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
