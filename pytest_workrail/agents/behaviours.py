"""What agents get wrong: one name for each way, so that every blocker of a step is one word away.

A behaviour bends the right answer to the pending step. Where a step leaves no room for it (there is no artifact
to get wrong), it says so instead of doing something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_workrail.agents.actions import Submit
from pytest_workrail.agents.agent import Moment
from pytest_workrail.agents.correct import (
    assessment_artifacts,
    contract_artifact,
    loop_decision,
    observation,
    right_answer,
)
from pytest_workrail.agents.notes import failing_notes
from pytest_workrail.engine.core.capabilities import probe_capability
from pytest_workrail.engine.core.outputs import requires_notes
from pytest_workrail.engine.core.packs import LOOP_CONTROL_KIND, ContractPack, artifact_kind
from pytest_workrail.engine.core.vocabulary import MAX_NOTES_BYTES
from pytest_workrail.engine.protocol.context import MAX_CONTEXT_BYTES
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.scenario_words import Behaviour

_FOREIGN_KIND = "demo.unrelated"
_FOREIGN_LOOP = "some-other-loop"


class _Way(NamedTuple):
    """How a behaviour is done; `needs` says what a step must have for it, when it has not."""

    bend: Callable[[Moment, Submit], Submit | None]
    needs: str


def behave(behaviour: Behaviour, moment: Moment) -> Ok[Submit] | Err[str]:
    """The answer of an agent that behaves like this, or why the step gives no occasion for it."""
    way = _WAYS[behaviour]
    answer = way.bend(moment, right_answer(moment))
    if answer is None:
        return Err(f"step '{moment.step_id}' gives no occasion for {behaviour.value}: {way.needs}")
    return Ok(answer)


def possible(moment: Moment) -> tuple[Behaviour, ...]:
    """The behaviours that the pending step gives an occasion for, in their order."""
    right = right_answer(moment)
    return tuple(name for name, way in _WAYS.items() if way.bend(moment, right) is not None)


# ------------------------------------------------------------------------------------------------------------- notes


def _nothing(moment: Moment, right: Submit) -> Submit | None:
    return Submit()


def _without_notes(moment: Moment, right: Submit) -> Submit | None:
    return replace(right, notes=None) if requires_notes(moment.step) else None


def _blank_notes(moment: Moment, right: Submit) -> Submit | None:
    return replace(right, notes=" \n\t") if requires_notes(moment.step) else None


def _oversize_notes(moment: Moment, right: Submit) -> Submit | None:
    line = f"{right.notes or 'Notes'}\n"
    return replace(right, notes=line * (2 * MAX_NOTES_BYTES // len(line) + 1))


def _failing_notes(moment: Moment, right: Submit) -> Submit | None:
    output: dict[str, Any] = moment.step.get("output", {})
    if "criteria" not in output or "contract" in output or "assessments" in output:
        return None
    notes = failing_notes(output["criteria"], moment.merged(right.context))
    return None if notes is None else replace(right, notes=notes)


# --------------------------------------------------------------------------------------------------------- artifacts


def _pack(moment: Moment) -> ContractPack | None:
    """The contract of the step, whether it has to be met or not."""
    contract = moment.step.get("output", {}).get("contract")
    return None if contract is None else moment.program.index.packs.get(contract["ref"])


def _is_asked_for_artifacts(moment: Moment) -> bool:
    output: dict[str, Any] = moment.step.get("output", {})
    return output["contract"]["required"] if "contract" in output else "assessments" in output


def _artifacts(moment: Moment, right: Submit) -> tuple[dict[str, Json], ...]:
    """What a contract or an assessment looks at, first: also where a contract would be content without it."""
    pack, handed_in = _pack(moment), tuple(each for each in right.artifacts if isinstance(each, dict))
    if pack is None:
        return handed_in if _is_asked_for_artifacts(moment) else ()
    if any(artifact_kind(each) == pack.artifact_kind for each in handed_in):
        return handed_in
    made = contract_artifact(moment, pack.ref)
    return () if made is None else (made, *handed_in)


def _without_artifact(moment: Moment, right: Submit) -> Submit | None:
    return replace(right, artifacts=()) if _is_asked_for_artifacts(moment) else None


def _wrong_kind(moment: Moment, right: Submit) -> Submit | None:
    if not _is_asked_for_artifacts(moment):
        return None
    foreign: dict[str, Json] = {"kind": _FOREIGN_KIND, "summary": "Not what was asked for."}
    return replace(right, artifacts=(foreign,))


def _invalid_artifact(moment: Moment, right: Submit) -> Submit | None:
    """The right kind, with a member that nobody asked for and without the first one that was."""
    artifacts = _artifacts(moment, right)
    if not artifacts:
        return None
    first, *others = artifacts
    dropped = next(name for name in first if name != "kind")
    broken = {name: value for name, value in first.items() if name != dropped}
    return replace(right, artifacts=({**broken, "unexpected": True}, *others))


def _oversize_artifact(moment: Moment, right: Submit) -> Submit | None:
    """The right kind, with more text in one member than its schema takes."""
    pack, artifacts = _pack(moment), _artifacts(moment, right)
    if pack is None or not artifacts:
        return None
    for name, schema in pack.schema.get("properties", {}).items():
        grown = _beyond(schema)
        if grown is not None:
            return replace(right, artifacts=({**artifacts[0], name: grown}, *artifacts[1:]))
    return None


def _beyond(schema: dict[str, Any]) -> Json:
    """A value that breaks nothing but an upper bound; None where there is no such bound."""
    if schema.get("type") == "string" and "maxLength" in schema:
        return "x" * (int(schema["maxLength"]) + 1)
    if schema.get("type") == "array" and isinstance(schema.get("items"), dict):
        inner = _beyond(schema["items"])
        return None if inner is None else [inner]
    return None


# ------------------------------------------------------------------------------------------------------- assessments


def _assessed(moment: Moment) -> bool:
    output: dict[str, Any] = moment.step.get("output", {})
    return "assessments" in output and "contract" not in output


def _dimensions(moment: Moment) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = moment.step["output"]["assessments"]["refs"]
    for assessment in moment.program.ir["assessments"]:
        if assessment["id"] in asked:
            yield from ((assessment["id"], dimension) for dimension in assessment["dimensions"])


def _wrong_level(moment: Moment, right: Submit) -> Submit | None:
    if not _assessed(moment):
        return None
    _, first = next(_dimensions(moment))
    level = "off the scale"
    return replace(right, artifacts=tuple(assessment_artifacts(moment, {first["id"]: level})))


def _followup_level(moment: Moment, right: Submit) -> Submit | None:
    if "assessments" not in moment.step.get("output", {}):
        return None
    for consequence in moment.step["output"]["assessments"]["consequences"]:
        when = consequence["when"]
        for assessment_id, dimension in _dimensions(moment):
            is_meant = when.get("forAssessment", assessment_id) == assessment_id
            if is_meant and when["anyEqualsLevel"] in dimension["levels"]:
                chosen = {dimension["id"]: when["anyEqualsLevel"]}
                return _with_assessments(right, tuple(assessment_artifacts(moment, chosen)))
    return None


def _with_assessments(right: Submit, assessments: tuple[dict[str, Json], ...]) -> Submit:
    """The answer with these assessments, beside the artifact of a contract where there is one."""
    kinds = {artifact_kind(artifact) for artifact in assessments}
    others = tuple(artifact for artifact in right.artifacts if artifact_kind(artifact) not in kinds)
    return replace(right, artifacts=(*others, *assessments))


def _missing_dimension(moment: Moment, right: Submit) -> Submit | None:
    if not _assessed(moment):
        return None
    first: Any = right.artifacts[0]
    if len(first["dimensions"]) < 2:
        return None
    *kept, _ = first["dimensions"].items()
    return replace(right, artifacts=({**first, "dimensions": dict(kept)}, *right.artifacts[1:]))


def _unknown_dimension(moment: Moment, right: Submit) -> Submit | None:
    if not _assessed(moment):
        return None
    first: Any = right.artifacts[0]
    dimensions = {**first["dimensions"], "unheard_of": "high"}
    return replace(right, artifacts=({**first, "dimensions": dimensions}, *right.artifacts[1:]))


# ------------------------------------------------------------------------------------------- loops and capabilities


def _decides(right: Submit) -> bool:
    """Whether this is where the right answer says that the loop is over."""
    return any(artifact_kind(artifact) == LOOP_CONTROL_KIND for artifact in right.artifacts)


def _other_artifacts(right: Submit) -> tuple[Json, ...]:
    return tuple(artifact for artifact in right.artifacts if artifact_kind(artifact) != LOOP_CONTROL_KIND)


def _keep_looping(moment: Moment, right: Submit) -> Submit | None:
    if moment.loop is None or not _decides(right):
        return None
    decision = loop_decision(moment.profile, moment.loop, "continue")
    return replace(right, artifacts=(*_other_artifacts(right), decision))


def _no_decision(moment: Moment, right: Submit) -> Submit | None:
    return replace(right, artifacts=_other_artifacts(right)) if _decides(right) else None


def _wrong_loop(moment: Moment, right: Submit) -> Submit | None:
    if not _decides(right):
        return None
    decision: dict[str, Json] = {"kind": LOOP_CONTROL_KIND, "decision": "stop", "loopId": _FOREIGN_LOOP}
    return replace(right, artifacts=(*_other_artifacts(right), decision))


def _claim_capability(moment: Moment, right: Submit) -> Submit | None:
    capability = probe_capability(moment.step)
    if capability is None:
        return None
    claim: dict[str, Json] = {"kind": "manual_claim", "claimedBy": "agent"}
    return replace(right, artifacts=(observation(capability, "available", claim),))


def _lack_capability(moment: Moment, right: Submit) -> Submit | None:
    probed = probe_capability(moment.step)
    if probed is not None:
        failed: dict[str, Json] = {"kind": "probe_step", "result": "failure"}
        return replace(right, artifacts=(observation(probed, "unavailable", failed),))
    required = sorted(name for name, level in moment.program.ir["capabilities"].items() if level == "required")
    if not required:
        return None
    missing: dict[str, Json] = {"kind": "attempted_use", "result": "failure", "failureCode": "tool_missing"}
    return replace(right, artifacts=(*right.artifacts, observation(required[0], "unavailable", missing)))


def _diverge(moment: Moment, right: Submit) -> Submit | None:
    report: dict[str, Json] = {
        "kind": "wr.workflow_divergence",
        "reason": "efficiency_skip",
        "summary": "Left out what earlier work already covers.",
        "relatedStepId": moment.step_id,
    }
    return replace(right, artifacts=(*right.artifacts, report))


def _oversize_context(moment: Moment, right: Submit) -> Submit | None:
    return replace(right, context={**(right.context or {}), "everything": "x" * (MAX_CONTEXT_BYTES + 1)})


_NOTES = "it does not require notes"
_ARTIFACT = "it asks for no artifact"
_ASSESSMENT = "no assessment decides about it"
_LOOP = "no artifact decides about a loop here"
_WAYS: dict[Behaviour, _Way] = {
    Behaviour.RIGHT: _Way(lambda _, right: right, ""),
    Behaviour.NOTHING: _Way(_nothing, ""),
    Behaviour.MISSING_NOTES: _Way(_without_notes, _NOTES),
    Behaviour.BLANK_NOTES: _Way(_blank_notes, _NOTES),
    Behaviour.OVERSIZE_NOTES: _Way(_oversize_notes, ""),
    Behaviour.FAILING_NOTES: _Way(_failing_notes, "no criteria decide about it, or they accept anything"),
    Behaviour.MISSING_ARTIFACT: _Way(_without_artifact, _ARTIFACT),
    Behaviour.WRONG_KIND: _Way(_wrong_kind, _ARTIFACT),
    Behaviour.INVALID_ARTIFACT: _Way(_invalid_artifact, _ARTIFACT),
    Behaviour.OVERSIZE_ARTIFACT: _Way(_oversize_artifact, "it asks for no artifact with a text of limited length"),
    Behaviour.WRONG_LEVEL: _Way(_wrong_level, _ASSESSMENT),
    Behaviour.FOLLOWUP_LEVEL: _Way(_followup_level, "no level of its assessments has a consequence"),
    Behaviour.MISSING_DIMENSION: _Way(_missing_dimension, "no assessment with several dimensions decides about it"),
    Behaviour.UNKNOWN_DIMENSION: _Way(_unknown_dimension, _ASSESSMENT),
    Behaviour.KEEP_LOOPING: _Way(_keep_looping, _LOOP),
    Behaviour.NO_DECISION: _Way(_no_decision, _LOOP),
    Behaviour.WRONG_LOOP: _Way(_wrong_loop, _LOOP),
    Behaviour.CLAIM_CAPABILITY: _Way(_claim_capability, "it probes no capability"),
    Behaviour.LACK_CAPABILITY: _Way(_lack_capability, "the workflow requires no capability"),
    Behaviour.DIVERGE: _Way(_diverge, ""),
    Behaviour.OVERSIZE_CONTEXT: _Way(_oversize_context, ""),
}
