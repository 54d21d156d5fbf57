"""What is known of one workflow under one profile: goals that are left, and what a run can show on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from pytest_workrail.agents.correct import workflow_solver
from pytest_workrail.coverage.goals import (
    DecidesGoal,
    FragmentGoal,
    GateGoal,
    OrderGoal,
    goals,
)
from pytest_workrail.coverage.members import MemberTable
from pytest_workrail.coverage.observe import Paths, steps_by_place
from pytest_workrail.coverage.points import ASKED, Point, fragment_place, gate_place, place_of
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.profiles import PROFILES, Profile, ProfileName
from pytest_workrail.explore.targets import Binder, Map, Target
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep
from workrail_lint.systems.workrail.solver.search import Wish

# What a run could still show at a place.
Waiting: TypeAlias = Callable[[str], list[Point]]


class Ledger:
    """The goals of one workflow under one profile: which are still missing, and which a mode did not bring about."""

    def __init__(self, program: Program, profile: Profile) -> None:
        self.goals = goals(program, profile, strong=True)
        self._profile = profile
        self.missing: dict[Point, None] = dict.fromkeys(self.goals)
        self.tried: dict[Point, list[str]] = {}
        self._marks: set[tuple[str, Point]] = set()
        self._by_place: dict[str, list[Point]] = {}  # what is missing
        for point in self.goals:
            self._by_place.setdefault(point.step_place, []).append(point)

    def cover(self, points: Iterable[Point]) -> list[Point]:
        """Note what a run has shown; returns what was missing until now."""
        found = [point for point in points if point in self.missing]
        for point in found:
            del self.missing[point]
            self._by_place[point.step_place].remove(point)
        return found

    def mark(self, mode: str, points: Iterable[Point]) -> None:
        """A run in this mode was meant to show these and did not."""
        for point in points:
            if point in self.missing:
                self._marks.add((mode, point))
                self.tried.setdefault(point, []).append(mode)

    def modes_tried(self, point: Point) -> list[str]:
        """Return the modes in which runs were sent for a point, each once."""
        return sorted(set(self.tried.get(point, ())))

    def clear_marks(self) -> None:
        self._marks.clear()

    def waiting(self, place: str | None, mode: str) -> Iterator[Point]:
        """Yield what a run in this mode could still show at a place."""
        for point in self._by_place.get(place or "", ()):
            if point.kind.fits(mode, self._profile) and (mode, point) not in self._marks:
                yield point


class Guide:
    """What is known of one workflow under one profile, for all runs that are made of it."""

    def __init__(self, ir: dict[str, Any], profile: ProfileName) -> None:
        self.ir = ir
        self.name: ProfileName = profile
        self.profile = PROFILES[profile]
        self.program = program_model(ir)
        self.ledger = Ledger(self.program, self.profile)
        self.index = IrIndex(self.program)
        self.solver = workflow_solver(self.program)
        self.binder = Binder()
        self.map = Map(self.program, self.profile, self.binder)
        self.paths = Paths(self.program, self.profile, strong=True)
        self.members = MemberTable()
        self.steps = steps_by_place(self.program)
        self.following = _neighbours(self.program)


def _neighbours(program: Program) -> dict[str, ProgramStep]:
    """Return the step after each, by place."""
    following: dict[str, ProgramStep] = {step.id: after for step, after in pairwise(program.steps)}
    for loop in program.loops:
        following |= {place_of(step.id, ((loop.id, 0),)): after for step, after in pairwise(loop.body)}
    return following


def extras(guide: Guide, target: Target, waiting_at: Waiting) -> Iterator[list[Wish]]:
    """Yield what could be shown on the way to a target, each on its own."""

    def bound(*wishes: Wish) -> list[Wish]:
        return [guide.binder.wish(wish, target.loop, target.iteration) for wish in wishes]

    for place in (*target.way.passed, target.place):
        if place is None:
            continue
        step = guide.steps[place]
        wanted = {point.case for point in waiting_at(place) if point.kind is DecidesGoal and point.place == place}
        if wanted:
            for case, wishes in guide.members[step.run_condition].wishes():
                if case in wanted:
                    yield bound(*wishes) if "/" in place else wishes
    if target.step is None or target.place is None:
        return
    waiting = waiting_at(target.place)
    for fragment in target.step.fragments:
        place = fragment_place(target.place, fragment.id)
        for point in waiting:
            if point.place == place and point.kind is FragmentGoal:
                yield bound((fragment.when, point.case == "shown"))
        yield from map(list, _deciding(guide, place, fragment.when, waiting, bound))
    condition = target.step.confirmation_condition
    for point in waiting:
        if point.kind is GateGoal:
            yield bound((condition, point.case == ASKED))
    yield from _deciding(guide, gate_place(target.place), condition, waiting, bound)
    following = guide.following.get(target.place)
    if following is not None and any(point.kind is OrderGoal for point in waiting):
        yield bound((following.run_condition, True))
    if target.loop is not None:
        yield from _at_entry(guide, target, waiting_at)
        loop_id, condition = target.loop.id, target.loop.loop_condition
        yield from _deciding(guide, loop_id, condition, waiting_at(loop_id), bound)


def _at_entry(guide: Guide, target: Target, waiting_at: Waiting) -> Iterator[list[Wish]]:
    """Yield what shows about a loop as a whole when it is entered."""
    loop = target.loop
    if loop is None or target.iteration > 0:
        return
    waiting = waiting_at(loop.id)
    yield from _deciding(guide, loop.id, loop.run_condition, waiting, lambda *wishes: list(wishes))
    following = guide.following.get(loop.id)
    if following is not None and any(point.kind is OrderGoal for point in waiting):
        yield [(following.run_condition, True)]


def _deciding(
    guide: Guide, place: str, condition: object, waiting: list[Point], bound: Callable[..., list[Wish]]
) -> Iterator[list[Wish]]:
    wanted = {point.case for point in waiting if point.kind is DecidesGoal and point.place == place}
    if wanted:
        for case, wishes in guide.members[condition].wishes():
            if case in wanted:
                yield bound(*wishes)
