"""What is known of one workflow under one profile: the goals that are left, where a run can go, what it can show there.

The search for a step goes past everything that is completed or does not apply, into loops, on to their next iteration
and out of them. Here the same ways are walked without knowing the context: conditions on the way become wishes, and
each step that can be chosen is a target with what has to hold at that one choice.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
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
from pytest_workrail.coverage.observe import Paths, steps_by_place
from pytest_workrail.coverage.points import ASKED, MemberTable, Point, fragment_place, gate_place, place_of
from pytest_workrail.coverage.reach import LIMIT, continuing, loop_numbers, natural_exit
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.loops import body_of
from pytest_workrail.engine.core.profiles import PROFILES, LoopIdCheck, LoopLimit, Profile, ProfileName
from pytest_workrail.engine.model.places import LoopFrame, LoopPosition, step_key
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.solver.expression import comparison_of
from workrail_lint.systems.workrail.solver.search import Wish

_TRUE: dict[str, Any] = {"and": []}
_FALSE: dict[str, Any] = {"or": []}
# How many iterations without any step are walked through in search of the next one.
_EMPTY_ITERATIONS = 2


@dataclass(frozen=True, slots=True)
class Way:
    """A way from one step to the next: what has to hold on it, and which loops it enters, repeats or leaves."""

    wishes: tuple[Wish, ...] = ()
    decision: tuple[str, str] | None = None  # the loop, and `continue` or `stop`
    lengths: dict[str, tuple[int, int | None]] = field(default_factory=dict)  # least and most elements of a list
    exits: tuple[tuple[str, str], ...] = ()  # loops that are left, and how
    passed: tuple[str, ...] = ()  # places whose condition does not hold
    reported: bool = False  # a loop would go beyond its limit, which only a run that never stops gets past

    def when(self, *wishes: Wish) -> Way:
        return replace(self, wishes=(*self.wishes, *wishes))

    def past(self, place: str, *wishes: Wish) -> Way:
        return replace(self, wishes=(*self.wishes, *wishes), passed=(*self.passed, place))

    def decided(self, loop_id: str, word: str) -> Way:
        return replace(self, decision=(loop_id, word))

    def with_length(self, loop_id: str, least: int, most: int | None) -> Way:
        low, high = self.lengths.get(loop_id, (0, None))
        tops = [each for each in (high, most) if each is not None]
        return replace(self, lengths={**self.lengths, loop_id: (max(low, least), min(tops) if tops else None)})

    def left(self, loop_id: str, case: str) -> Way:
        return replace(self, exits=(*self.exits, (loop_id, case)))


@dataclass(frozen=True, slots=True)
class Target:
    """A step that can be next, None for the end of the run; `loop` and `iteration` are those it is in."""

    step: ProgramStep | None
    way: Way
    loop: RepeatingStep | None = None
    iteration: int = 0

    @property
    def place(self) -> str | None:
        if self.step is None:
            return None
        return place_of(self.step.id, ((self.loop.id, 0),) if self.loop is not None else ())


class Binder:
    """Conditions as they read in one iteration of a loop: its numbers are put in, its element gets its own name."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str, int], tuple[object, Any]] = {}

    def bound(self, condition: object, loop: RepeatingStep | None, iteration: int) -> object:
        if loop is None or not isinstance(condition, dict):
            return condition
        key = (id(condition), loop.id, iteration)
        if key not in self._known:
            numbers = loop_numbers(loop, iteration)
            item = loop.loop.variables.item
            self._known[key] = (condition, _bound(condition, numbers, item, element_name(loop.id, iteration)))
        return self._known[key][1]

    def wish(self, wish: Wish, loop: RepeatingStep | None, iteration: int) -> Wish:
        return self.bound(wish[0], loop, iteration), wish[1]


def element_name(loop_id: str, iteration: int) -> str:
    """Return the name of one element of a loop's list among the variables."""
    return f"{loop_id}[{iteration}]"


def _bound(condition: Any, numbers: dict[str, int], item: str | None, element: str) -> Any:
    if not isinstance(condition, dict):
        return condition
    if "var" in condition:
        comparison = comparison_of(condition)
        if comparison.variable in numbers:
            return _TRUE if comparison.holds(numbers[comparison.variable]) else _FALSE
        return {**condition, "var": element} if comparison.variable == item else condition
    for logic in ("and", "or"):
        if logic in condition and isinstance(condition[logic], list):
            return {logic: [_bound(each, numbers, item, element) for each in condition[logic]]}
    return {"not": _bound(condition["not"], numbers, item, element)} if "not" in condition else condition


class Map:
    """The ways through one IR under one profile."""

    def __init__(self, program: Program, profile: Profile, binder: Binder) -> None:
        self._steps = program.steps
        self._profile = profile
        self._binder = binder
        self._loops = {loop.id: loop for loop in program.loops}

    def targets(self, completed: Container[str], frame: LoopFrame | None) -> Iterator[Target]:
        """Yield what can be next, in the order of the document; inside a loop, its own steps first."""
        if frame is None:
            yield from self._top(completed, frozenset(), Way())
        else:
            loop, iteration = self._loops[frame.loop_id], frame.iteration
            yield from self._inside(loop, iteration, frame.body_index, completed, frozenset(), Way())
            if loop.loop.source.kind != "artifact":
                # A loop is asked at every choice, so it can also be left in the middle of an iteration.
                cut = self._asked(Way(), loop, iteration, goes_on=False).left(loop.id, natural_exit(iteration + 1))
                yield from self._top(completed, frozenset((loop.id,)), cut)

    def _top(self, completed: Container[str], left: frozenset[str], way: Way) -> Iterator[Target]:
        for step in self._steps:
            if step.id in completed or step.id in left:
                continue
            condition = step.run_condition
            chosen = way.when((condition, True)) if condition is not None else way
            if step.type == "loop":
                yield from self._enter(step, completed, left, chosen)
            else:
                yield Target(step, chosen)
            if condition is None:
                return
            way = way.past(step.id, (condition, False))
        yield Target(None, way)

    def _enter(
        self, loop: RepeatingStep, completed: Container[str], left: frozenset[str], way: Way
    ) -> Iterator[Target]:
        is_decided = loop.loop.source.kind == "artifact"
        is_stopped = way.decision is not None and way.decision[1] == "stop" and is_decided
        if not (is_stopped and self._profile.loop_id is LoopIdCheck.IGNORE):
            yield from self._inside(loop, 0, 0, completed, left, self._asked(way, loop, 0, goes_on=True))
        elif is_stopped:
            yield from self._top(completed, left | {loop.id}, way.left(loop.id, natural_exit(0)))
            return
        if not is_decided:
            skipped = self._asked(way, loop, 0, goes_on=False).left(loop.id, natural_exit(0))
            yield from self._top(completed, left | {loop.id}, skipped)

    def _asked(self, way: Way, loop: RepeatingStep, iteration: int, *, goes_on: bool) -> Way:
        """The loop is asked about an iteration."""
        if loop.loop.source.kind == "items":
            return way.with_length(loop.id, *((iteration + 1, None) if goes_on else (0, iteration)))
        asked = continuing(loop, iteration, goes_on=goes_on)
        return way.when(*(self._binder.wish(wish, loop, iteration) for wish in asked))

    def _inside(
        self,
        loop: RepeatingStep,
        iteration: int,
        index: int,
        completed: Container[str],
        left: frozenset[str],
        way: Way,
        empty: int = 0,
    ) -> Iterator[Target]:
        """Yield the open steps of an iteration, then those of the next one, then what comes after the loop."""
        way = self._asked(way, loop, iteration, goes_on=True)
        path = (LoopPosition(loop.id, iteration),)
        for step in body_of(loop, self._profile)[index:]:
            if step_key(step.id, path) in completed:
                continue
            condition = step.run_condition
            if condition is None:
                yield Target(step, way, loop, iteration)
                if step.is_gate:
                    break  # a decision that is there already makes it needless
                return
            yield Target(step, way.when((self._bound(condition, loop, iteration), True)), loop, iteration)
            place = place_of(step.id, ((loop.id, 0),))
            way = way.past(place, (self._bound(condition, loop, iteration), False))
        yield from self._after(loop, iteration + 1, completed, left, way, empty)

    def _after(
        self,
        loop: RepeatingStep,
        following: int,
        completed: Container[str],
        left: frozenset[str],
        way: Way,
        empty: int,
    ) -> Iterator[Target]:
        """The body of an iteration is done: on to the next one, or out."""
        loop_id = loop.id
        is_decided = loop.loop.source.kind == "artifact"
        at_limit = following >= loop.loop.max_iterations
        outside = left | {loop_id}
        if at_limit and self._profile.loop_limit is LoopLimit.EXIT:
            count = loop.loop.source.kind in ("count", "items")
            for goes_on in (True, False) if count else (None,):
                gone = way if goes_on is None else self._asked(way, loop, following, goes_on=goes_on)
                gone = gone.decided(loop_id, "continue") if is_decided else gone
                case = natural_exit(following) if goes_on is False else LIMIT
                yield from self._top(completed, outside, gone.left(loop_id, case))
            return
        if not at_limit and empty < _EMPTY_ITERATIONS:
            again = way.decided(loop_id, "continue") if is_decided else way
            again = self._asked(again, loop, following, goes_on=True)
            yield from self._inside(loop, following, 0, completed, left, again, empty + 1)
        gone = way.decided(loop_id, "stop") if is_decided else way
        gone = self._asked(gone, loop, following, goes_on=False).left(loop_id, natural_exit(following))
        yield from self._top(completed, outside, gone)
        if at_limit:
            beyond = way.decided(loop_id, "continue") if is_decided else way
            beyond = self._asked(beyond, loop, following, goes_on=True).left(loop_id, LIMIT)
            yield from self._top(completed, outside, replace(beyond, reported=True))

    def _bound(self, condition: object, loop: RepeatingStep, iteration: int) -> object:
        return self._binder.bound(condition, loop, iteration)


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
