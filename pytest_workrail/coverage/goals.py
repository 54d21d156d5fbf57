"""What there is to cover in a workflow: every point that a run of its IR can show under a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_workrail.coverage.exits import LIMIT, ZERO, loop_exits
from pytest_workrail.coverage.points import (
    ASKED,
    FREE,
    Kind,
    Point,
    consequence_place,
    dimension_place,
    fragment_place,
    place_of,
    truth_case,
)
from pytest_workrail.coverage.reachability import ConditionScope
from pytest_workrail.coverage.reasons import APPROVAL, GAP_OF_BLOCKER, loop_blockers, step_blockers
from pytest_workrail.engine.core.packs import ASSESSMENT, contract_packs
from pytest_workrail.engine.core.profiles import Profile


def goals(ir: dict[str, Any], profile: Profile) -> tuple[Point, ...]:
    """Every point that a run of a workflow can show, in the order of its steps; each once."""
    return tuple(dict.fromkeys(_Goals(ir, profile).points()))


class _Goals:
    """Lists the points of one IR under one profile."""

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        self._ir = ir
        self._profile = profile
        self._packs = contract_packs(ir)
        self._assessments: dict[str, dict[str, Any]] = {each["id"]: each for each in ir["assessments"]}

    def points(self) -> Iterator[Point]:
        for step in self._ir["steps"]:
            yield from self._step_or_loop(step, step["id"], ConditionScope())

    def _step_or_loop(self, step: dict[str, Any], place: str, scope: ConditionScope) -> Iterator[Point]:
        if "runCondition" in step:
            for holds in (True, False):
                if scope.allows((step["runCondition"], holds)):
                    yield Point(Kind.CONDITION, place, truth_case(holds))
            scope = scope.where((step["runCondition"], True))
        if not scope.allows():
            return
        if step["type"] == "loop":
            yield from self._loop(step, scope)
        else:
            yield from self._step(step, place, scope)

    def _loop(self, loop_step: dict[str, Any], scope: ConditionScope) -> Iterator[Point]:
        loop_id = loop_step["id"]
        exits = loop_exits(loop_step, self._profile, scope)
        for case in exits:
            yield Point(Kind.LOOP, loop_id, case)
        if exits in ([], [ZERO]):
            return
        for step in loop_step["body"]:
            yield from self._step_or_loop(step, place_of(step["id"], ((loop_id, 0),)), ConditionScope.inside(loop_step))
        yield from _blockers(loop_id, loop_blockers(loop_step, self._profile, LIMIT in exits))

    def _step(self, step: dict[str, Any], place: str, scope: ConditionScope) -> Iterator[Point]:
        yield Point(Kind.STEP, place, "done")
        for fragment in step.get("fragments", ()):
            for case, shown in (("shown", True), ("hidden", False)):
                if scope.allows((fragment.get("when"), shown)):
                    yield Point(Kind.FRAGMENT, fragment_place(place, fragment["id"]), case)
        gate = list(_gate_cases(step, scope))
        for case in gate:
            yield Point(Kind.GATE, place, case)
        yield from self._assessed(step, place)
        contract = step.get("output", {}).get("contract")
        if contract is not None and contract["ref"] != ASSESSMENT:
            yield Point(Kind.CONTRACT, place, contract["ref"])
        codes = step_blockers(step, self._profile, self._packs)
        if ASKED not in gate and APPROVAL in codes:
            codes.remove(APPROVAL)
        yield from _blockers(place, codes)

    def _assessed(self, step: dict[str, Any], place: str) -> Iterator[Point]:
        asked = step.get("output", {}).get("assessments")
        if asked is None:
            return
        for ref in asked["refs"]:
            for dimension in self._assessments[ref]["dimensions"]:
                for level in dimension["levels"]:
                    yield Point(Kind.LEVEL, dimension_place(place, ref, dimension["id"]), level)
        for consequence in asked["consequences"]:
            when = consequence["when"]
            yield Point(Kind.CONSEQUENCE, consequence_place(place, when.get("forAssessment")), when["anyEqualsLevel"])


def _gate_cases(step: dict[str, Any], scope: ConditionScope) -> Iterator[str]:
    confirmation = step["confirmation"]
    match confirmation["kind"]:
        case "always":
            yield ASKED
        case "when":
            if scope.allows((confirmation["condition"], True)):
                yield ASKED
            # The agent is never told to wait for a parallel step, so nothing shows that it need not.
            if step["type"] != "parallel" and scope.allows((confirmation["condition"], False)):
                yield FREE


def _blockers(place: str, codes: list[str]) -> Iterator[Point]:
    for code in codes:
        yield Point(Kind.BLOCKER, place, code)
    for code in codes:
        yield Point(Kind.GAP, place, GAP_OF_BLOCKER[code])
