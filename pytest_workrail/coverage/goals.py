"""What there is to cover in a workflow: every point that a run of its IR can show under a profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_workrail.agents.correct import workflow_solver
from pytest_workrail.coverage.exits import LIMIT, MANY, ONE, ZERO, loop_exits, skippable_loops
from pytest_workrail.coverage.points import (
    ASKED,
    FREE,
    LEFT_OUT,
    STRONG,
    Kind,
    Point,
    consequence_place,
    dimension_place,
    fragment_place,
    gate_place,
    place_of,
    truth_case,
)
from pytest_workrail.coverage.reachability import ConditionScope
from pytest_workrail.coverage.reasons import APPROVAL, GAP_OF_BLOCKER, loop_blockers, step_blockers
from pytest_workrail.coverage.strong import decides_goals, loop_decides_goals, order_goal
from pytest_workrail.coverage.unset import UnsetGoals
from pytest_workrail.engine.core.loop_gate import body_of, is_gate
from pytest_workrail.engine.core.packs import ASSESSMENT, contract_packs
from pytest_workrail.engine.core.profiles import Profile
from workrail_lint.systems.workrail.solver import Wish


def goals(ir: dict[str, Any], profile: Profile, *, strong: bool = False) -> tuple[Point, ...]:
    """Every point that a run of a workflow can show, in the order of its steps; each once.

    With `strong`, also which member of a condition decides, the order of neighbours, and dimensions that are left out.
    """
    points = dict.fromkeys(_Goals(ir, profile).points())
    return tuple(points) if strong else tuple(point for point in points if point.kind not in STRONG)


class Excluded(NamedTuple):
    """A point that is no goal, because not all of this can hold where it would show."""

    point: Point
    scope: ConditionScope
    wishes: tuple[Wish, ...]


def goals_and_excluded(ir: dict[str, Any], profile: Profile) -> tuple[frozenset[Point], list[Excluded]]:
    """All goals, and the points that conditions keep from ever being shown; what is behind those is not listed."""
    lister = _Goals(ir, profile)
    return frozenset(lister.points()), lister.excluded


class _Goals:
    """Lists the points of one IR under one profile."""

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        self.excluded: list[Excluded] = []
        self._ir = ir
        self._profile = profile
        self._solver = workflow_solver(ir)
        self._skippable = skippable_loops(ir, profile, self._solver)
        self._unset = UnsetGoals(ir, profile)
        self._packs = contract_packs(ir)
        self._assessments: dict[str, dict[str, Any]] = {each["id"]: each for each in ir["assessments"]}

    def points(self) -> Iterator[Point]:
        scope = ConditionScope(self._solver)
        for step, following in _with_next(self._ir["steps"]):
            yield from self._step_or_loop(step, step["id"], scope)
            yield from self._unset.questions(step)
            if following is not None:
                yield from order_goal(step["id"], step, following, scope)

    def _step_or_loop(self, step: dict[str, Any], place: str, scope: ConditionScope) -> Iterator[Point]:
        if "runCondition" in step:
            for holds in (True, False):
                yield from self._case(
                    Point(Kind.CONDITION, place, truth_case(holds)), scope, (step["runCondition"], holds)
                )
            yield from self._unset.condition(step, place, scope.loop)
            yield from decides_goals(place, step["runCondition"], scope)
            scope = scope.where((step["runCondition"], True))
        if not scope.allows():
            return
        if step["type"] == "loop":
            yield from self._loop(step, scope)
        else:
            yield from self._step(step, place, scope)

    def _loop(self, loop_step: dict[str, Any], scope: ConditionScope) -> Iterator[Point]:
        loop_id = loop_step["id"]
        exits = loop_exits(loop_step, self._profile, scope, skippable=loop_id in self._skippable)
        for case in exits:
            yield Point(Kind.LOOP, loop_id, case)
        self.excluded += [
            Excluded(Point(Kind.LOOP, loop_id, case), scope, ())
            for case in (ZERO, ONE, MANY, LIMIT)
            if case not in exits
        ]
        if exits:
            yield from loop_decides_goals(loop_step, scope)
        if exits in ([], [ZERO]):
            return
        inside = scope.inside(loop_step)
        for step, following in _with_next(body_of(loop_step, self._profile)):
            place = place_of(step["id"], ((loop_id, 0),))
            yield from self._step_or_loop(step, place, inside)
            # A gate is asked only where nothing is decided yet, so it is never in line with the step before it.
            if following is not None and not is_gate(following):
                yield from order_goal(place, step, following, inside)
        yield from _blockers(loop_id, loop_blockers(loop_step, self._profile, LIMIT in exits))

    def _step(self, step: dict[str, Any], place: str, scope: ConditionScope) -> Iterator[Point]:
        yield Point(Kind.STEP, place, "done")
        for fragment in step.get("fragments", ()):
            for case, shown in (("shown", True), ("hidden", False)):
                point = Point(Kind.FRAGMENT, fragment_place(place, fragment["id"]), case)
                # A fragment without a condition is always shown, and nobody expects anything else.
                if "when" in fragment or shown:
                    yield from self._case(point, scope, (fragment.get("when"), shown))
            yield from decides_goals(fragment_place(place, fragment["id"]), fragment.get("when"), scope)
        gate = list(self._gate(step, place, scope))
        yield from gate
        if step["type"] != "parallel":
            yield from decides_goals(gate_place(place), step["confirmation"].get("condition"), scope)
        yield from self._assessed(step, place)
        contract = step.get("output", {}).get("contract")
        if contract is not None and contract["ref"] != ASSESSMENT:
            yield Point(Kind.CONTRACT, place, contract["ref"])
        codes = step_blockers(step, self._profile, self._packs)
        if Point(Kind.GATE, place, ASKED) not in gate and APPROVAL in codes:
            codes.remove(APPROVAL)
        yield from _blockers(place, codes)

    def _case(self, point: Point, scope: ConditionScope, *wishes: Wish) -> Iterator[Point]:
        """A point, unless conditions contradict it."""
        if scope.allows(*wishes):
            yield point
        else:
            self.excluded.append(Excluded(point, scope, wishes))

    def _gate(self, step: dict[str, Any], place: str, scope: ConditionScope) -> Iterator[Point]:
        confirmation = step["confirmation"]
        match confirmation["kind"]:
            case "always":
                yield Point(Kind.GATE, place, ASKED)
            case "when":
                yield from self._case(Point(Kind.GATE, place, ASKED), scope, (confirmation["condition"], True))
                # The agent is never told to wait for a parallel step, so nothing shows that it need not.
                if step["type"] != "parallel":
                    yield from self._case(Point(Kind.GATE, place, FREE), scope, (confirmation["condition"], False))

    def _assessed(self, step: dict[str, Any], place: str) -> Iterator[Point]:
        asked = step.get("output", {}).get("assessments")
        if asked is None:
            return
        for ref in asked["refs"]:
            for dimension in self._assessments[ref]["dimensions"]:
                for level in dimension["levels"]:
                    yield Point(Kind.LEVEL, dimension_place(place, ref, dimension["id"]), level)
                # An assessment has to have at least one dimension.
                if len(self._assessments[ref]["dimensions"]) > 1:
                    yield Point(Kind.LEFT_OUT, dimension_place(place, ref, dimension["id"]), LEFT_OUT)
        for consequence in asked["consequences"]:
            when = consequence["when"]
            yield Point(Kind.CONSEQUENCE, consequence_place(place, when.get("forAssessment")), when["anyEqualsLevel"])


def _with_next(steps: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    return zip(steps, [*steps[1:], None], strict=True)


def _blockers(place: str, codes: list[str]) -> Iterator[Point]:
    for code in codes:
        yield Point(Kind.BLOCKER, place, code)
    for code in codes:
        yield Point(Kind.GAP, place, GAP_OF_BLOCKER[code])
