"""What one run showed about its workflow, as coverage points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_workrail.agents.transcript import Choice, Transcript, Visit
from pytest_workrail.coverage.exits import LIMIT
from pytest_workrail.coverage.path import Walk
from pytest_workrail.coverage.points import (
    ASKED,
    FREE,
    LEFT_OUT,
    MISSING_KEY,
    UNSET,
    Kind,
    Point,
    consequence_place,
    dimension_place,
    fragment_place,
    gate_place,
    place_of,
)
from pytest_workrail.coverage.reasons import APPROVAL, AT_LIMIT, FOLLOWUP, GAP_OF_BLOCKER
from pytest_workrail.coverage.strong import MemberTable
from pytest_workrail.engine.core.profiles import PROFILES, Confirmation, Profile
from pytest_workrail.engine.core.rendering import render_context


def observe(transcript: Transcript, *, strong: bool = False) -> frozenset[Point]:
    """Every point a run showed; some may be no goal of the workflow under any profile."""
    profile = PROFILES[transcript.profile]  # type: ignore[index]
    steps = steps_by_place(transcript.ir)
    members = MemberTable() if strong else None
    found: set[Point] = set()
    for choice, state, seen in Walk(transcript.ir, profile, strong=strong).follow(transcript.choices):
        found |= seen
        if state.chosen is not None:
            place = place_of(state.chosen.step_id, state.chosen.loop_path)
            gates = list(_gate_points(choice, place, steps[place], profile))
            found.update(gates)
            if members is not None:
                loop = steps[state.chosen.loop_path[-1].loop_id] if state.chosen.loop_path else None
                context = render_context(loop, state.chosen.loop_path, choice.context)
                found.update(_deciding(members, steps[place], place, context, is_gate_told=bool(gates)))
    for visit in transcript.visits:
        place = place_of(visit.step_id, visit.loop_path)
        found.update(_visit_points(visit, place, steps[place]))
    found.update(_unset_points(transcript))
    return frozenset(found)


def _unset_points(transcript: Transcript) -> Iterator[Point]:
    """Which conditions waited for unset variables, and which steps and loops a run asked about because of that."""
    for entry in transcript.skipped:
        told: dict[str, Any] = entry
        if told["because"] == UNSET:
            loop = told.get("loop")
            path = ((str(loop["loopId"]), int(loop["iteration"])),) if loop is not None else ()
            yield Point(Kind.CONDITION, place_of(told["stepId"], path), UNSET)
    # A question about a loop names the step that would be next, which is one of its body.
    steps: list[Any] = transcript.ir["steps"]  # type: ignore[assignment]
    around = {inner["id"]: step["id"] for step in steps for inner in step.get("body", ())}
    reports: list[Any] = [exchange.response.get("blockers") for exchange in transcript.exchanges]
    blockers = (each for report in reports if isinstance(report, dict) for each in report["blockers"])
    gaps: list[Any] = transcript.final["gaps"]  # type: ignore[assignment]
    asked = [(Kind.BLOCKER, each) for each in blockers if each["code"] == MISSING_KEY]
    asked += [(Kind.GAP, gap) for gap in gaps if gap["severity"] == "critical"]
    for kind, each in asked:
        details = each.get("details", {})
        if "suggested" in details:
            yield Point(kind, around.get(details["stepId"], details["stepId"]), MISSING_KEY)


def _deciding(
    members: MemberTable, step: dict[str, Any], place: str, context: Mapping[str, Any], *, is_gate_told: bool
) -> Iterator[Point]:
    """Which members decided about what the agent was shown when it came to a step."""
    for fragment in step.get("fragments", ()):
        yield from members.points(fragment_place(place, fragment["id"]), fragment.get("when"), context)
    if is_gate_told:
        yield from members.points(gate_place(place), step["confirmation"].get("condition"), context)


def steps_by_place(ir: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The steps of an IR by where they stand."""
    found: dict[str, dict[str, Any]] = {}
    for step in ir["steps"]:
        found[step["id"]] = step
        found |= {place_of(inner["id"], ((step["id"], 0),)): inner for inner in step.get("body", ())}
    return found


def _gate_points(choice: Choice, place: str, step: dict[str, Any], profile: Profile) -> Iterator[Point]:
    """Whether the agent was told to wait for somebody before it hands in the chosen step."""
    if step["confirmation"]["kind"] == "never":
        return
    never_waits = profile.confirmation is Confirmation.USER_DEPENDENCY and choice.never_stops
    match choice.intent:
        case "await_user_confirmation":
            yield Point(Kind.GATE, place, ASKED)
        case "perform_pending_then_continue" if not never_waits and step["type"] != "parallel":
            yield Point(Kind.GATE, place, FREE)


def _visit_points(visit: Visit, place: str, step: dict[str, Any]) -> Iterator[Point]:
    if visit.outcome == "advanced":
        yield Point(Kind.STEP, place, "done")
    if visit.outcome == "gated" or APPROVAL in visit.blockers or GAP_OF_BLOCKER[APPROVAL] in visit.gaps:
        yield Point(Kind.GATE, place, ASKED)
    for fragment in step.get("fragments", ()):
        case = "shown" if fragment["id"] in visit.fragments else "hidden"
        yield Point(Kind.FRAGMENT, fragment_place(place, fragment["id"]), case)
    for assessment, dimension, level in visit.levels:
        yield Point(Kind.LEVEL, dimension_place(place, assessment, dimension), level)
    for assessment, dimension in visit.left_out:
        yield Point(Kind.LEFT_OUT, dimension_place(place, assessment, dimension), LEFT_OUT)
    if visit.contract is not None:
        yield Point(Kind.CONTRACT, place, visit.contract)
    yield from _consequences(visit, step, place)
    yield from _refusals(visit, place)


def _refusals(visit: Visit, place: str) -> Iterator[Point]:
    """Blockers and gaps: those of the step itself, and those of the loop around it."""
    by_loop, by_step = Counter(visit.of_loop), Counter((*visit.blockers, *visit.gaps))
    by_step -= by_loop
    blamed = [(place, by_step), (visit.loop_path[-1][0], by_loop)] if visit.loop_path else [(place, by_step)]
    for where, words in blamed:
        for code, gap in GAP_OF_BLOCKER.items():
            if code in words:
                yield Point(Kind.BLOCKER, where, code)
            if gap in words:
                yield Point(Kind.GAP, where, gap)
    if AT_LIMIT in by_loop:
        yield Point(Kind.LOOP, visit.loop_path[-1][0], LIMIT)


def _consequences(visit: Visit, step: dict[str, Any], place: str) -> Iterator[Point]:
    if FOLLOWUP not in visit.blockers and GAP_OF_BLOCKER[FOLLOWUP] not in visit.gaps:
        return
    for consequence in step.get("output", {}).get("assessments", {}).get("consequences", ()):
        when = consequence["when"]
        scope, wanted = when.get("forAssessment"), when["anyEqualsLevel"]
        if any(level == wanted and scope in (None, assessment) for assessment, _, level in visit.levels):
            yield Point(Kind.CONSEQUENCE, consequence_place(place, scope), wanted)
