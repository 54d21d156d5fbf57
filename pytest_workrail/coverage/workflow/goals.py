"""What there is to cover in a workflow: every point its IR makes possible under a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_workrail.coverage.workflow.points import (
    Kind,
    Point,
    consequence_place,
    dimension_place,
    fragment_place,
    place_of,
    truth_case,
)
from pytest_workrail.engine.confirmation import needs_person
from pytest_workrail.engine.outputs import requires_notes
from pytest_workrail.engine.packs import ASSESSMENT, LOOP_CONTROL
from pytest_workrail.engine.profiles import Capabilities, Confirmation, LoopDecision, LoopLimit, Profile

# What a run that never stops records instead of each blocker.
GAP_OF_BLOCKER = {
    "MISSING_REQUIRED_OUTPUT": "missing_required_output",
    "INVALID_REQUIRED_OUTPUT": "invalid_required_output",
    "MISSING_REQUIRED_NOTES": "missing_required_notes",
    "ASSESSMENT_FOLLOWUP_REQUIRED": "assessment_followup_required",
    "REQUIRED_CAPABILITY_UNKNOWN": "required_capability_unknown",
    "REQUIRED_CAPABILITY_UNAVAILABLE": "required_capability_unavailable",
    "USER_ONLY_DEPENDENCY": "needs_user_approval",
    "INVARIANT_VIOLATION": "invariant_violation",
}


def goals(ir: dict[str, Any], profile: Profile) -> tuple[Point, ...]:
    """Every point of a workflow, in the order of its steps; each once."""
    return tuple(dict.fromkeys(_points(ir, profile)))


def _points(ir: dict[str, Any], profile: Profile) -> Iterator[Point]:
    for step in ir["steps"]:
        yield from _condition(step, step["id"])
        if step["type"] != "loop":
            yield from _step(ir, step, step["id"], profile)
            continue
        loop_id = step["id"]
        for case in loop_exits(step, profile):
            yield Point(Kind.LOOP, loop_id, case)
        for body_step in step["body"]:
            place = place_of(body_step["id"], ((loop_id, 0),))
            yield from _condition(body_step, place)
            yield from _step(ir, body_step, place, profile)
        yield from _blockers(loop_id, loop_blockers(step, profile))


def _condition(step: dict[str, Any], place: str) -> Iterator[Point]:
    if "runCondition" in step:
        yield Point(Kind.CONDITION, place, truth_case(True))
        yield Point(Kind.CONDITION, place, truth_case(False))


def _step(ir: dict[str, Any], step: dict[str, Any], place: str, profile: Profile) -> Iterator[Point]:
    yield Point(Kind.STEP, place, "done")
    for fragment in step.get("fragments", ()):
        yield Point(Kind.FRAGMENT, fragment_place(place, fragment["id"]), "shown")
        if "when" in fragment:
            yield Point(Kind.FRAGMENT, fragment_place(place, fragment["id"]), "hidden")
    kind = step["confirmation"]["kind"]
    if kind != "never":
        yield Point(Kind.GATE, place, "asked")
    # The agent is never told to wait for a parallel step, so nothing shows that it need not.
    if kind == "when" and step["type"] != "parallel":
        yield Point(Kind.GATE, place, "free")
    yield from _assessments(ir, step, place)
    contract = step.get("output", {}).get("contract")
    if contract is not None and contract["ref"] != ASSESSMENT:
        yield Point(Kind.CONTRACT, place, contract["ref"])
    yield from _blockers(place, step_blockers(step, profile))


def _assessments(ir: dict[str, Any], step: dict[str, Any], place: str) -> Iterator[Point]:
    asked = step.get("output", {}).get("assessments")
    if asked is None:
        return
    declared = {assessment["id"]: assessment for assessment in ir["assessments"]}
    for ref in asked["refs"]:
        for dimension in declared[ref]["dimensions"]:
            for level in dimension["levels"]:
                yield Point(Kind.LEVEL, dimension_place(place, ref, dimension["id"]), level)
    for consequence in asked["consequences"]:
        when = consequence["when"]
        yield Point(Kind.CONSEQUENCE, consequence_place(place, when.get("forAssessment")), when["anyEqualsLevel"])


def _blockers(place: str, codes: list[str]) -> Iterator[Point]:
    for code in codes:
        yield Point(Kind.BLOCKER, place, code)
    for code in codes:
        yield Point(Kind.GAP, place, GAP_OF_BLOCKER[code])


def step_blockers(step: dict[str, Any], profile: Profile) -> list[str]:
    """The codes with which handing in a step can be blocked because of what the step itself asks for.

    What only a broken pattern or schema brings about is not among them: the linter refuses it.
    """
    output: dict[str, Any] = step.get("output", {})
    codes: list[str] = []
    if "contract" in output:
        contract = output["contract"]
        if contract["required"]:
            codes.append("MISSING_REQUIRED_OUTPUT")
        if contract["ref"] != ASSESSMENT:
            codes.append("INVALID_REQUIRED_OUTPUT")
    elif "assessments" in output:
        codes.append("INVALID_REQUIRED_OUTPUT")
    elif "criteria" in output:
        codes.append("MISSING_REQUIRED_OUTPUT")
        if output["criteria"]:
            codes.append("INVALID_REQUIRED_OUTPUT")
    if "capability" in output.get("contract", {}) and profile.capabilities is Capabilities.ENFORCE:
        codes += ["REQUIRED_CAPABILITY_UNKNOWN", "REQUIRED_CAPABILITY_UNAVAILABLE"]
    if requires_notes(step):
        codes.append("MISSING_REQUIRED_NOTES")
    if output.get("assessments", {}).get("consequences"):
        codes.append("ASSESSMENT_FOLLOWUP_REQUIRED")
    if _may_need_person(step) and profile.confirmation is Confirmation.USER_DEPENDENCY:
        codes.append("USER_ONLY_DEPENDENCY")
    return codes


def _may_need_person(step: dict[str, Any]) -> bool:
    confirmation = step["confirmation"]
    if confirmation["kind"] == "never":
        return False
    return needs_person({"confirmation": {**confirmation, "kind": "always"}}, {})


def loop_blockers(loop_step: dict[str, Any], profile: Profile) -> list[str]:
    """The codes that come from a loop and not from the step that is handed in."""
    codes: list[str] = []
    decides = any(step.get("output", {}).get("contract", {}).get("ref") == LOOP_CONTROL for step in loop_step["body"])
    by_artifact = loop_step["loop"]["source"]["kind"] == "artifact"
    if by_artifact and not decides and profile.loop_decision is LoopDecision.REQUIRE:
        codes += ["MISSING_REQUIRED_OUTPUT", "INVALID_REQUIRED_OUTPUT"]
    if profile.loop_limit is LoopLimit.REPORT and "limit" in loop_exits(loop_step, profile):
        codes.append("INVARIANT_VIOLATION")
    return codes


def fixed_count(loop_step: dict[str, Any]) -> int | float | None:
    """The number of iterations that the author wrote down, if any."""
    count: int | float | None = loop_step["loop"]["source"].get("count")
    return count


def loop_exits(loop_step: dict[str, Any], profile: Profile) -> list[str]:
    """How a loop can end: `zero`, `one` and `many` iterations by itself, or at its `limit`.

    Where reaching the limit is a normal end, the last iteration that the limit allows counts as the limit.
    """
    limit = loop_step["loop"]["maxIterations"]
    source = loop_step["loop"]["source"]["kind"]
    if source == "none" or limit != int(limit) or limit < 1:
        return []
    count = fixed_count(loop_step)
    if count is not None:
        if count <= 0:
            return ["zero"]
        return ["limit"] if count > limit else [natural_exit(int(-(-count // 1)))]
    by_itself = limit if profile.loop_limit is LoopLimit.REPORT else limit - 1
    # A decision is handed in inside the loop, so such a loop always has a first iteration.
    exits = [] if source == "artifact" else ["zero"]
    if by_itself >= 1:
        exits.append("one")
    if by_itself >= 2:
        exits.append("many")
    return [*exits, "limit"]


def natural_exit(iterations: int) -> str:
    """The case of a loop that ended by itself."""
    return ("zero", "one")[iterations] if iterations < 2 else "many"
