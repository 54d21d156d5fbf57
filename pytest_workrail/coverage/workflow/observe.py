"""What one run showed about its workflow, as coverage points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_workrail.coverage.workflow.goals import GAP_OF_BLOCKER, loop_blockers, step_blockers
from pytest_workrail.coverage.workflow.points import (
    Kind,
    Point,
    consequence_place,
    dimension_place,
    fragment_place,
    place_of,
)
from pytest_workrail.coverage.workflow.walk import Trace, Walk
from pytest_workrail.engine.profiles import PROFILES, Confirmation, Profile
from pytest_workrail.run.transcript import Exchange, Transcript, Visit

_ENDED = ("complete", "complete_with_gaps")
_FOLLOWUP = "ASSESSMENT_FOLLOWUP_REQUIRED"


def observe(transcript: Transcript) -> frozenset[Point]:
    """Every point a run showed; some may be no goal of the workflow under any profile."""
    profile = PROFILES[transcript.profile]  # type: ignore[index]
    ir: dict[str, Any] = transcript.ir
    found = set(Walk(ir, profile).points(transcript.visits, _end_trace(transcript)))
    steps = _Steps(ir)
    for visit in transcript.visits:
        found.update(_visit_points(visit, steps.of(visit), profile))
    for exchange in transcript.exchanges:
        found.update(_gate_points(exchange, steps, transcript.mode, profile))
    return frozenset(found)


def _end_trace(transcript: Transcript) -> Trace | None:
    if transcript.final.get("status") not in _ENDED:
        return None
    trace: Any = transcript.final.get("trace", [])
    return trace  # type: ignore[no-any-return]


class _Steps:
    """The steps of an IR by where they stand."""

    def __init__(self, ir: dict[str, Any]) -> None:
        self.loops: dict[str, dict[str, Any]] = {step["id"]: step for step in ir["steps"] if step["type"] == "loop"}
        self._at: dict[str, dict[str, Any]] = {}
        self._places: dict[str, list[str]] = {}
        for step in ir["steps"]:
            self._add(step, step["id"])
            for inner in step.get("body", ()):
                self._add(inner, place_of(inner["id"], ((step["id"], 0),)))

    def _add(self, step: dict[str, Any], place: str) -> None:
        self._at[place] = step
        self._places.setdefault(step["id"], []).append(place)

    def of(self, visit: Visit) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """The step of a visit and the loop around it."""
        step = self._at[place_of(visit.step_id, visit.loop_path)]
        return step, self.loops[visit.loop_path[-1][0]] if visit.loop_path else None

    def only_place(self, step_id: object) -> tuple[str, dict[str, Any]] | None:
        """Where the step of an id stands, if it stands in one place only."""
        places = self._places.get(step_id, []) if isinstance(step_id, str) else []
        return (places[0], self._at[places[0]]) if len(places) == 1 else None


def _visit_points(visit: Visit, at: tuple[dict[str, Any], dict[str, Any] | None], profile: Profile) -> Iterator[Point]:
    step, loop = at
    place = place_of(visit.step_id, visit.loop_path)
    if visit.outcome == "advanced":
        yield Point(Kind.STEP, place, "done")
    if visit.outcome == "gated" or "USER_ONLY_DEPENDENCY" in visit.blockers:
        yield Point(Kind.GATE, place, "asked")
    for fragment in step.get("fragments", ()):
        case = "shown" if fragment["id"] in visit.fragments else "hidden"
        yield Point(Kind.FRAGMENT, fragment_place(place, fragment["id"]), case)
    for assessment, dimension, level in visit.levels:
        yield Point(Kind.LEVEL, dimension_place(place, assessment, dimension), level)
    if visit.contract is not None:
        yield Point(Kind.CONTRACT, place, visit.contract)
    yield from _consequences(visit, step, place)
    own = step_blockers(step, profile)
    of_loop = [] if loop is None else loop_blockers(loop, profile)
    for code in visit.blockers:
        yield from _blamed(Kind.BLOCKER, code, code, place, visit, own, of_loop)
    for code, detail in GAP_OF_BLOCKER.items():
        if detail in visit.gaps:
            yield from _blamed(Kind.GAP, code, detail, place, visit, own, of_loop)
    if loop is not None and "INVARIANT_VIOLATION" in visit.blockers and "INVARIANT_VIOLATION" in of_loop:
        yield Point(Kind.LOOP, loop["id"], "limit")


def _blamed(
    kind: Kind, code: str, case: str, place: str, visit: Visit, own: list[str], of_loop: list[str]
) -> Iterator[Point]:
    """The step answers for what it asks for itself, its loop for the rest."""
    if code in own or code not in of_loop:
        yield Point(kind, place, case)
    else:
        yield Point(kind, visit.loop_path[-1][0], case)


def _consequences(visit: Visit, step: dict[str, Any], place: str) -> Iterator[Point]:
    if _FOLLOWUP not in visit.blockers and GAP_OF_BLOCKER[_FOLLOWUP] not in visit.gaps:
        return
    for consequence in step.get("output", {}).get("assessments", {}).get("consequences", ()):
        when = consequence["when"]
        scope, wanted = when.get("forAssessment"), when["anyEqualsLevel"]
        if any(level == wanted and scope in (None, assessment) for assessment, _, level in visit.levels):
            yield Point(Kind.CONSEQUENCE, consequence_place(place, scope), wanted)


def _gate_points(exchange: Exchange, steps: _Steps, mode: str, profile: Profile) -> Iterator[Point]:
    """Whether the agent was told to wait for somebody before it hands in the pending step."""
    response = exchange.response
    pending = response.get("pending")
    at = steps.only_place(pending.get("stepId")) if isinstance(pending, dict) else None
    if exchange.is_error or at is None or at[1]["confirmation"]["kind"] == "never":
        return
    place, _ = at
    never_waits = profile.confirmation is Confirmation.USER_DEPENDENCY and mode == "full_auto_never_stop"
    match response.get("nextIntent"):
        case "await_user_confirmation":
            yield Point(Kind.GATE, place, "asked")
        case "perform_pending_then_continue" if not never_waits and at[1]["type"] != "parallel":
            yield Point(Kind.GATE, place, "free")
