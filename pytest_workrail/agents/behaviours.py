"""What agents get wrong: one name for each way, so that every blocker of a step is one word away.

A behaviour bends the right answer to the pending step. Where a step leaves no room for it (there is no artifact
to get wrong), it says so instead of doing something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pytest_workrail.agents.actions import Submit
from pytest_workrail.agents.agent import StepView
from pytest_workrail.agents.correct import (
    assessment_artifacts,
    contract_artifact,
    correct_answer,
    loop_decision,
    observation,
)
from pytest_workrail.engine.core.capabilities import probe_capability
from pytest_workrail.engine.core.outputs import requires_notes
from pytest_workrail.engine.core.packs import LOOP_CONTROL_KIND, ContractPack, artifact_kind
from pytest_workrail.engine.core.vocabulary import MAX_NOTES_BYTES
from pytest_workrail.engine.protocol.context import MAX_CONTEXT_BYTES
from pytest_workrail.records import replace
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.scenario_words import Behaviour

_FOREIGN_KIND = "demo.unrelated"
_FOREIGN_LOOP = "some-other-loop"


class _Recipe(NamedTuple):
    """How a behaviour is done; `needs` says what a step must have for it, when it has not."""

    bend: Callable[[StepView, Submit], Submit | None]
    needs: str


def behave(behaviour: Behaviour, view: StepView) -> Ok[Submit] | Err[str]:
    """The answer of an agent with this behaviour, or why the behaviour is not possible at this step."""
    way = _WAYS[behaviour]
    answer = way.bend(view, correct_answer(view))
    if answer is None:
        return Err(f"{behaviour.value} is not possible at step '{view.step_id}': {way.needs}")
    return Ok(answer)


def possible(view: StepView) -> tuple[Behaviour, ...]:
    """The behaviours that the pending step gives an occasion for, in their order."""
    correct = correct_answer(view)
    return tuple(name for name, way in _WAYS.items() if way.bend(view, correct) is not None)


# ------------------------------------------------------------------------------------------------------------- notes


def _empty_answer(view: StepView, correct: Submit) -> Submit | None:
    return Submit()


def _without_notes(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, notes=None) if requires_notes(view.step) else None


def _blank_notes(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, notes=" \n\t") if requires_notes(view.step) else None


def _oversize_notes(view: StepView, correct: Submit) -> Submit | None:
    line = f"{correct.notes or 'Notes'}\n"
    return replace(correct, notes=line * (2 * MAX_NOTES_BYTES // len(line) + 1))


def _failing_notes(view: StepView, correct: Submit) -> Submit | None:
    output: dict[str, Any] = view.step.get("output", {})
    if "criteria" not in output or "contract" in output or "assessments" in output:
        return None
    from pytest_workrail.agents.notes import failing_notes

    notes = failing_notes(output["criteria"], view.merged(correct.context))
    return None if notes is None else replace(correct, notes=notes)


# --------------------------------------------------------------------------------------------------------- artifacts


def _pack(view: StepView) -> ContractPack | None:
    """The contract of the step, whether it has to be met or not."""
    contract = view.step.get("output", {}).get("contract")
    return None if contract is None else view.program.index.packs.get(contract["ref"])


def _is_asked_for_artifacts(view: StepView) -> bool:
    output: dict[str, Any] = view.step.get("output", {})
    return output["contract"]["required"] if "contract" in output else "assessments" in output


def _artifacts(view: StepView, correct: Submit) -> tuple[dict[str, Json], ...]:
    """What a contract or an assessment looks at, first: also where a contract would be content without it."""
    pack, handed_in = _pack(view), tuple(each for each in correct.artifacts if isinstance(each, dict))
    if pack is None:
        return handed_in if _is_asked_for_artifacts(view) else ()
    if any(artifact_kind(each) == pack.artifact_kind for each in handed_in):
        return handed_in
    made = contract_artifact(view, pack.ref)
    return () if made is None else (made, *handed_in)


def _without_artifact(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, artifacts=()) if _is_asked_for_artifacts(view) else None


def _wrong_kind(view: StepView, correct: Submit) -> Submit | None:
    if not _is_asked_for_artifacts(view):
        return None
    foreign: dict[str, Json] = {"kind": _FOREIGN_KIND, "summary": "Not what was asked for."}
    return replace(correct, artifacts=(foreign,))


def _invalid_artifact(view: StepView, correct: Submit) -> Submit | None:
    """The right kind, with a member that nobody asked for and without the first one that was."""
    artifacts = _artifacts(view, correct)
    if not artifacts:
        return None
    first, *others = artifacts
    dropped = next(name for name in first if name != "kind")
    broken = {name: value for name, value in first.items() if name != dropped}
    return replace(correct, artifacts=({**broken, "unexpected": True}, *others))


def _oversize_artifact(view: StepView, correct: Submit) -> Submit | None:
    """The right kind, with more text in one member than its schema takes."""
    pack, artifacts = _pack(view), _artifacts(view, correct)
    if pack is None or not artifacts:
        return None
    for name, schema in pack.schema.get("properties", {}).items():
        grown = _above_bound(schema)
        if grown is not None:
            return replace(correct, artifacts=({**artifacts[0], name: grown}, *artifacts[1:]))
    return None


def _above_bound(schema: dict[str, Any]) -> Json:
    """A value that breaks nothing but an upper bound; None where there is no such bound."""
    if schema.get("type") == "string" and "maxLength" in schema:
        return "x" * (int(schema["maxLength"]) + 1)
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        inner = _above_bound(schema["items"])
        return None if inner is None else [inner]
    return None


# ------------------------------------------------------------------------------------------------------- assessments


def _assessed(view: StepView) -> bool:
    output: dict[str, Any] = view.step.get("output", {})
    return "assessments" in output and "contract" not in output


def _dimensions(view: StepView) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = view.step["output"]["assessments"]["refs"]
    for assessment in view.program.ir["assessments"]:
        if assessment["id"] in asked:
            yield from ((assessment["id"], dimension) for dimension in assessment["dimensions"])


def _wrong_level(view: StepView, correct: Submit) -> Submit | None:
    if not _assessed(view):
        return None
    _, first = next(_dimensions(view))
    level = "off the scale"
    return replace(correct, artifacts=tuple(assessment_artifacts(view, {first["id"]: level})))


def _followup_level(view: StepView, correct: Submit) -> Submit | None:
    if "assessments" not in view.step.get("output", {}):
        return None
    for consequence in view.step["output"]["assessments"]["consequences"]:
        when = consequence["when"]
        for assessment_id, dimension in _dimensions(view):
            is_meant = when.get("forAssessment", assessment_id) == assessment_id
            if is_meant and when["anyEqualsLevel"] in dimension["levels"]:
                chosen = {dimension["id"]: when["anyEqualsLevel"]}
                return _with_assessments(correct, tuple(assessment_artifacts(view, chosen)))
    return None


def _with_assessments(correct: Submit, assessments: tuple[dict[str, Json], ...]) -> Submit:
    """The answer with these assessments, beside the artifact of a contract where there is one."""
    kinds = {artifact_kind(artifact) for artifact in assessments}
    others = tuple(artifact for artifact in correct.artifacts if artifact_kind(artifact) not in kinds)
    return replace(correct, artifacts=(*others, *assessments))


def _missing_dimension(view: StepView, correct: Submit) -> Submit | None:
    if not _assessed(view):
        return None
    first: Any = correct.artifacts[0]
    if len(first["dimensions"]) < 2:
        return None
    *kept, _ = first["dimensions"].items()
    return replace(correct, artifacts=({**first, "dimensions": dict(kept)}, *correct.artifacts[1:]))


def _unknown_dimension(view: StepView, correct: Submit) -> Submit | None:
    if not _assessed(view):
        return None
    first: Any = correct.artifacts[0]
    dimensions = {**first["dimensions"], "unheard_of": "high"}
    return replace(correct, artifacts=({**first, "dimensions": dimensions}, *correct.artifacts[1:]))


# ------------------------------------------------------------------------------------------- loops and capabilities


def _decides(correct: Submit) -> bool:
    """Whether this is where the right answer says that the loop is over."""
    return any(artifact_kind(artifact) == LOOP_CONTROL_KIND for artifact in correct.artifacts)


def _other_artifacts(correct: Submit) -> tuple[Json, ...]:
    return tuple(artifact for artifact in correct.artifacts if artifact_kind(artifact) != LOOP_CONTROL_KIND)


def _keep_looping(view: StepView, correct: Submit) -> Submit | None:
    if view.loop is None or not _decides(correct):
        return None
    decision = loop_decision(view.profile, view.loop, "continue")
    return replace(correct, artifacts=(*_other_artifacts(correct), decision))


def _no_decision(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, artifacts=_other_artifacts(correct)) if _decides(correct) else None


def _wrong_loop(view: StepView, correct: Submit) -> Submit | None:
    if not _decides(correct):
        return None
    decision: dict[str, Json] = {"kind": LOOP_CONTROL_KIND, "decision": "stop", "loopId": _FOREIGN_LOOP}
    return replace(correct, artifacts=(*_other_artifacts(correct), decision))


def _claim_capability(view: StepView, correct: Submit) -> Submit | None:
    capability = probe_capability(view.step)
    if capability is None:
        return None
    claim: dict[str, Json] = {"kind": "manual_claim", "claimedBy": "agent"}
    return replace(correct, artifacts=(observation(capability, "available", claim),))


def _lack_capability(view: StepView, correct: Submit) -> Submit | None:
    probed = probe_capability(view.step)
    if probed is not None:
        failed: dict[str, Json] = {"kind": "probe_step", "result": "failure"}
        return replace(correct, artifacts=(observation(probed, "unavailable", failed),))
    required = sorted(name for name, level in view.program.ir["capabilities"].items() if level == "required")
    if not required:
        return None
    missing: dict[str, Json] = {"kind": "attempted_use", "result": "failure", "failureCode": "tool_missing"}
    return replace(correct, artifacts=(*correct.artifacts, observation(required[0], "unavailable", missing)))


def _diverge(view: StepView, correct: Submit) -> Submit | None:
    report: dict[str, Json] = {
        "kind": "wr.workflow_divergence",
        "reason": "efficiency_skip",
        "summary": "Left out what earlier work already covers.",
        "relatedStepId": view.step_id,
    }
    return replace(correct, artifacts=(*correct.artifacts, report))


def _oversize_context(view: StepView, correct: Submit) -> Submit | None:
    return replace(correct, context={**(correct.context or {}), "everything": "x" * (MAX_CONTEXT_BYTES + 1)})


_NOTES = "it does not require notes"
_ARTIFACT = "it requires no artifact"
_ASSESSMENT = "it has no assessment"
_LOOP = "no loop is controlled by its artifact"
_WAYS: dict[Behaviour, _Recipe] = {
    Behaviour.RIGHT: _Recipe(lambda _, correct: correct, ""),
    Behaviour.NOTHING: _Recipe(_empty_answer, ""),
    Behaviour.MISSING_NOTES: _Recipe(_without_notes, _NOTES),
    Behaviour.BLANK_NOTES: _Recipe(_blank_notes, _NOTES),
    Behaviour.OVERSIZE_NOTES: _Recipe(_oversize_notes, ""),
    Behaviour.FAILING_NOTES: _Recipe(_failing_notes, "it has no validation criteria, or they accept anything"),
    Behaviour.MISSING_ARTIFACT: _Recipe(_without_artifact, _ARTIFACT),
    Behaviour.WRONG_KIND: _Recipe(_wrong_kind, _ARTIFACT),
    Behaviour.INVALID_ARTIFACT: _Recipe(_invalid_artifact, _ARTIFACT),
    Behaviour.OVERSIZE_ARTIFACT: _Recipe(_oversize_artifact, "it requires no artifact with a string of limited length"),
    Behaviour.WRONG_LEVEL: _Recipe(_wrong_level, _ASSESSMENT),
    Behaviour.FOLLOWUP_LEVEL: _Recipe(_followup_level, "no level of its assessments has a consequence"),
    Behaviour.MISSING_DIMENSION: _Recipe(_missing_dimension, "it has no assessment with several dimensions"),
    Behaviour.UNKNOWN_DIMENSION: _Recipe(_unknown_dimension, _ASSESSMENT),
    Behaviour.KEEP_LOOPING: _Recipe(_keep_looping, _LOOP),
    Behaviour.NO_DECISION: _Recipe(_no_decision, _LOOP),
    Behaviour.WRONG_LOOP: _Recipe(_wrong_loop, _LOOP),
    Behaviour.CLAIM_CAPABILITY: _Recipe(_claim_capability, "it probes no capability"),
    Behaviour.LACK_CAPABILITY: _Recipe(_lack_capability, "the workflow requires no capability"),
    Behaviour.DIVERGE: _Recipe(_diverge, ""),
    Behaviour.OVERSIZE_CONTEXT: _Recipe(_oversize_context, ""),
}
