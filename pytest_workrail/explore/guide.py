"""A workflow under one profile: the goals that are left, where a run can go, what it can show.

The search for a step goes past everything that is completed or does not apply, into loops, on to their next iteration
and out of them. Here the same ways are walked without knowing the context: conditions on the way become wishes, and
each step that can be chosen is a target with what has to hold at that one choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.solving import workflow_solver
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
from pytest_workrail.engine.core.interpreter import Interpreter, Running, Search, TopStep
from pytest_workrail.engine.core.loops import Advance, BodyStep, Exit, LoopKernel, LoopPlan, Move
from pytest_workrail.engine.core.outcomes import LoopReportError, LoopUnset, Tracer
from pytest_workrail.engine.core.profiles import PROFILES, Profile, ProfileName
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame
from pytest_workrail.engine.model.words import Autonomy
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.model.build import program_model, unchecked_condition
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import Condition
from workrail_lint.systems.workrail.solver import Wish
from workrail_lint.systems.workrail.solver.expression import comparison_of

_TRUE: dict[str, Any] = {"and": []}
_FALSE: dict[str, Any] = {"or": []}
# How many iterations without any step are walked through in search of the next one.
_EMPTY_ITERATIONS = 2


class Way(Struct, frozen=True):
    """A way from one step to the next: what has to hold on it, and which loops it enters, repeats or leaves."""

    wishes: tuple[Wish, ...] = ()
    decision: tuple[str, str] | None = None  # the loop, and `continue` or `stop`
    lengths: dict[str, tuple[int, int | None]] = {}  # least and most elements of a list
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


class Target(Struct, frozen=True):
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
        self._known: dict[tuple[int, str, int], tuple[Condition, Condition]] = {}

    def bound(self, condition: Condition | None, loop: RepeatingStep | None, iteration: int) -> Condition | None:
        if loop is None or condition is None:
            return condition
        key = (id(condition.raw), loop.id, iteration)
        if key not in self._known:
            numbers = loop_numbers(loop, iteration)
            item = loop.loop.variables.item
            bound = _bound(condition, numbers, item, element_name(loop.id, iteration))
            self._known[key] = (condition, unchecked_condition(bound))
        return self._known[key][1]

    def wish(self, wish: Wish, loop: RepeatingStep | None, iteration: int) -> Wish:
        return self.bound(wish[0], loop, iteration), wish[1]


def element_name(loop_id: str, iteration: int) -> str:
    """Return the name of one element of a loop's list among the variables."""
    return f"{loop_id}[{iteration}]"


def _bound(condition: Condition, numbers: dict[str, int], item: str | None, element: str) -> dict[str, Any]:
    if "var" in condition:
        comparison = comparison_of(condition)
        if comparison.variable in numbers:
            return _TRUE if comparison.holds(numbers[comparison.variable]) else _FALSE
        return {**condition.raw, "var": element} if comparison.variable == item else condition.raw
    return condition.recombined([_bound(each, numbers, item, element) for each in condition.combined[1]])


class Map:
    """The ways through one workflow under one profile."""

    def __init__(self, interpreter: Interpreter, binder: Binder) -> None:
        self.interpreter = interpreter
        self.binder = binder

    def targets(self, completed: CompletedKeys, frame: LoopFrame | None) -> Iterator[Target]:
        """Yield what can be next, in the order of the document; inside a loop, its own steps first.

        The interpreter's own search is made once for each way: every time it asks something, the first answer that was
        not tried after the same answers before it.
        """
        plan = self.interpreter.plan
        state = Running(completed, () if frame is None else (frame,))
        state = Running(completed, state.loop_stack, None, (plan, plan.open_steps(state)))
        answers: list[int] = []
        while True:
            walk = _Walk(self, state, answers)
            target = walk.target()
            if target is not None:
                yield target
            answers = [answer for answer, _ in walk.asked]
            while answers and answers[-1] + 1 == walk.asked[len(answers) - 1][1]:
                answers.pop()
            if not answers:
                return
            answers[-1] += 1

    def asked(self, way: Way, loop: RepeatingStep, iteration: int, *, goes_on: bool) -> Way:
        """Return a way on which a loop is asked about an iteration."""
        if loop.loop.source.kind == "items":
            return way.with_length(loop.id, *((iteration + 1, None) if goes_on else (0, iteration)))
        asked = continuing(loop, iteration, goes_on=goes_on)
        return way.when(*(self.binder.wish(wish, loop, iteration) for wish in asked))


class _NoTracer(Tracer):
    """Keeps nothing: nobody reads how a walk found its step."""

    __slots__ = ()
    is_full = True


class _Walk(Search):
    """The search for a step where no context is known: what it asks is answered beforehand and becomes a wish."""

    def __init__(self, map_: Map, state: Running, answers: Sequence[int]) -> None:
        interpreter = map_.interpreter
        super().__init__(interpreter.plan, interpreter.profile, state, {}, (), True, lambda _: True, None)
        self.tracer = _NoTracer()
        self.map = map_
        self.way = Way()
        self.asked: list[tuple[int, int]] = []  # what was answered so far, and how many answers there were
        self.iterations: dict[str, int] = {}  # how often each loop went on
        self.exit: str | None = None  # how the loop ends that is about to be left
        self.started = state.loop_stack[-1].loop_id if state.loop_stack else None  # the loop that was under way before
        self._answers = answers

    def target(self) -> Target | None:
        """Return where this way leads; None where the search fails."""
        outcome = self.run()
        if isinstance(outcome, Err):
            return None
        step, index = outcome.value.step, self.map.interpreter.index
        if step is None:
            return Target(None, self.way)
        iteration = step.loop_path[-1].iteration if step.loop_path else 0
        return Target(index.definitions[step.step_id], self.way, index.innermost_loop(step), iteration)

    def choose(self, *answers: bool) -> bool:
        """Return the answer of this walk to what is asked now."""
        if len(answers) == 1:
            return answers[0]
        at = len(self.asked)
        answer = self._answers[at] if at < len(self._answers) else 0
        self.asked.append((answer, len(answers)))
        return answers[answer]

    def hold(self, place: str, condition: Condition | None) -> bool:
        """Return whether a condition is to hold, which makes it part of the way."""
        holds = self.choose(True, False)
        self.way = self.way.when((condition, True)) if holds else self.way.past(place, (condition, False))
        return holds

    def _applies(self, step: TopStep) -> bool:
        return self.hold(step.step_id, step.condition)

    def _kernel(self, loop: LoopPlan) -> LoopKernel:
        return _WalkKernel(self, loop)

    def _leave(self, frame: LoopFrame, reported: LoopReportError | LoopUnset | None) -> None:
        begun = frame.iteration + (frame.loop_id == self.started)
        self.way = self.way.left(frame.loop_id, self.exit or natural_exit(begun))
        self.exit = None
        super()._leave(frame, reported)


class _WalkKernel(LoopKernel):
    """The behaviour of a loop in a walk."""

    __slots__ = ("_loop", "_walk")

    def __init__(self, walk: _Walk, plan: LoopPlan) -> None:
        super().__init__(plan, walk.profile, {}, (), walk.tracer)
        self._walk = walk
        self._loop = plan.definition

    def _applies(self, step: BodyStep, iteration: int) -> bool:
        place = place_of(step.step_id, ((self._loop.id, 0),))
        return self._walk.hold(place, self._walk.map.binder.bound(step.condition, self._loop, iteration))

    def _is_decided(self) -> bool:
        return self._walk.choose(False, True)

    def _should_enter(self, iteration: int, ends_iteration: bool) -> bool:
        walk, loop = self._walk, self._loop
        if iteration and walk.iterations.get(loop.id, 0):
            return True  # it was asked when the iteration before it ended
        if loop.loop.source.kind == "artifact":
            is_stopped = walk.way.decision is not None and walk.way.decision[1] == "stop"
            return not (is_stopped and self._profile.loop_id == "ignore")
        goes_on = walk.choose(True, False)
        walk.way = walk.map.asked(walk.way, loop, iteration, goes_on=goes_on)
        return goes_on

    def _after_body(self, following: int) -> Move:
        walk, loop = self._walk, self._loop
        kind, at_limit = loop.loop.source.kind, following >= loop.loop.max_iterations
        is_cut = at_limit and self._profile.loop_limit == "exit"
        if is_cut:
            # The loop just ends; whether it would have gone on decides what that counts as.
            goes_on = walk.choose(True, False) if kind in ("count", "items") else True
        elif at_limit:
            goes_on = walk.choose(False, True)
        else:
            is_long = walk.iterations.get(loop.id, 0) >= _EMPTY_ITERATIONS
            goes_on = walk.choose(False) if is_long else walk.choose(True, False)
        if kind == "artifact":
            walk.way = walk.way.decided(loop.id, "continue" if goes_on else "stop")
        if not is_cut or kind in ("count", "items"):
            walk.way = walk.map.asked(walk.way, loop, following, goes_on=goes_on)
        if at_limit or not goes_on:
            walk.exit = LIMIT if goes_on else natural_exit(following)
            walk.way = replace(walk.way, reported=True) if goes_on and not is_cut else walk.way
            return Exit()
        walk.iterations[loop.id] = walk.iterations.get(loop.id, 0) + 1
        return Advance(following)


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
        covered = [point for point in points if point in self.missing]
        for point in covered:
            del self.missing[point]
            self._by_place[point.step_place].remove(point)
        return covered

    def mark(self, mode: Autonomy, points: Iterable[Point]) -> None:
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

    def waiting(self, place: str | None, mode: Autonomy) -> Iterator[Point]:
        """Yield what a run in this mode could still show at a place."""
        for point in self._by_place.get(place or "", ()):
            if point.kind.fits(mode, self._profile) and (mode, point) not in self._marks:
                yield point


class Guide:
    """A workflow under one profile, for all runs that are made of it."""

    def __init__(self, ir: dict[str, Any], profile: ProfileName) -> None:
        self.ir = ir
        self.name: ProfileName = profile
        self.profile = PROFILES[profile]
        self.program = program_model(ir)
        self.ledger = Ledger(self.program, self.profile)
        self.index = IrIndex(self.program)
        self.solver = workflow_solver(self.program)
        self.binder = Binder()
        self.paths = Paths(self.program, self.profile, strong=True)
        self.map = Map(self.paths.interpreter, self.binder)
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
        if wanted and step.run_condition is not None:
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
    guide: Guide, place: str, condition: Condition | None, waiting: list[Point], bound: Callable[..., list[Wish]]
) -> Iterator[list[Wish]]:
    wanted = {point.case for point in waiting if point.kind is DecidesGoal and point.place == place}
    if wanted and condition is not None:
        for case, wishes in guide.members[condition].wishes():
            if case in wanted:
                yield bound(*wishes)
