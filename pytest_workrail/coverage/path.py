"""The way of one run through its workflow: which conditions held, which did not, and how loops ended.

A transcript holds what every choice of a step was made from. The choices are made here once more, looking at what
the search for a step passes by; the engine's own record of it is cut where it grows long.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_workrail.agents.transcript import Choice
from pytest_workrail.coverage.exits import iteration_count, natural_exit
from pytest_workrail.coverage.points import Kind, Point, place_of, truth_case
from pytest_workrail.coverage.strong import MemberTable
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.errors import InterpreterError, MaxIterationsExceeded
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.loop_gate import body_of, is_gate
from pytest_workrail.engine.core.loops import Advance, BodyStep, Execute, Exit, LoopKernel, LoopPlan, Move
from pytest_workrail.engine.core.profiles import LoopLimit, Profile
from pytest_workrail.engine.core.state import CompletedKeys, LoopFrame, StepInstance
from pytest_workrail.engine.core.trace import TraceEntry, Tracer
from pytest_workrail.engine.core.values import LoopPosition, step_key

_UNTOLD = TraceEntry("selected_next_step", "", ())


class PathState(NamedTuple):
    """Where a run is: what is done, the loop it is in, and the step that was chosen, None at the end."""

    completed: CompletedKeys = CompletedKeys()
    frame: LoopFrame | None = None
    chosen: StepInstance | None = None


class Walk:
    """Follows the choices of one run."""

    def __init__(self, ir: dict[str, Any], profile: Profile, *, strong: bool = False) -> None:
        self._plan = PathPlan(ir, profile, strong=strong)
        self._states: dict[str | None, PathState] = {None: PathState()}

    def follow(self, choices: Iterable[Choice]) -> Iterator[tuple[Choice, PathState, set[Point]]]:
        """Each choice with where it led, and what could be seen on the way."""
        for choice in choices:
            state, seen = follow(self._plan, self._states[choice.origin], choice)
            if choice.target is not None:
                self._states[choice.target] = state
            yield choice, state, seen


def follow(plan: PathPlan, start: PathState, choice: Choice) -> tuple[PathState, set[Point]]:
    """Where one choice leads, and what could be seen on the way."""
    search = _Search(plan, choice)
    return search.run(start), search.seen


class PathPlan:
    """What an IR says about order, under a profile. With `strong`, its walks also see who decided and who was next."""

    def __init__(self, ir: dict[str, Any], profile: Profile, *, strong: bool = False) -> None:
        index = IrIndex(ir)
        self.profile = profile
        self.members = MemberTable() if strong else None
        self.steps: list[dict[str, Any]] = ir["steps"]
        self.loops = {
            loop_id: LoopPlan(loop, tuple(map(_body_step, body_of(loop, profile))), index.packs)
            for loop_id, loop in index.loops.items()
        }
        # The same loops around one step that always runs: what becomes of it depends on the loop alone.
        always = (BodyStep("", None, _UNTOLD),)
        self.bare_loops = {loop_id: LoopPlan(loop, always, index.packs) for loop_id, loop in index.loops.items()}


def _body_step(step: dict[str, Any]) -> BodyStep:
    return BodyStep(step["id"], step.get("runCondition"), _UNTOLD, is_gate(step))


class _Search:
    """One search for the next step, as the interpreter goes about it. `seen` is what it came across."""

    def __init__(self, plan: PathPlan, choice: Choice) -> None:
        self.seen: set[Point] = set()
        self._plan = plan
        self._choice = choice
        self._completed = CompletedKeys()

    def run(self, start: PathState) -> PathState:
        """Where the search ends that starts when a step was done, or before the first one."""
        self._completed = start.completed if start.chosen is None else start.completed.with_key(start.chosen.key)
        frame = start.frame
        while True:
            if frame is None:
                step = self._next_at_top()
                if step is None or step["type"] != "loop":
                    return PathState(self._completed, None, None if step is None else StepInstance(step["id"]))
                frame = LoopFrame(step["id"], 0, 0)
            chosen, frame = self._next_in_loop(frame)
            if chosen is not None:
                return PathState(self._completed, frame, chosen)

    def _next_at_top(self) -> dict[str, Any] | None:
        """The first open step whose condition holds, if there is one."""
        for at, step in enumerate(self._plan.steps):
            if step["id"] in self._completed:
                continue
            holds = evaluate(step.get("runCondition"), self._choice.context)
            if "runCondition" in step:
                self.seen.add(Point(Kind.CONDITION, step["id"], truth_case(holds)))
                self._note_members(step["id"], step["runCondition"], self._choice.context)
            if holds:
                self._note_order(step["id"], self._plan.steps[at + 1 : at + 2], self._choice.context, self._completed)
                return step
        return None

    def _note_members(self, place: str, condition: object, context: Mapping[str, Any]) -> None:
        if self._plan.members is not None:
            self.seen.update(self._plan.members.points(place, condition, context))

    def _note_order(
        self, place: str, following: list[dict[str, Any]], context: Mapping[str, Any], done: Container[str]
    ) -> None:
        """Whether the next step in the document could have been chosen as well."""
        for step in following if self._plan.members is not None else ():
            if step["id"] not in done and evaluate(step.get("runCondition"), context):
                self.seen.add(Point(Kind.ORDER, place, step["id"]))

    def _next_in_loop(self, frame: LoopFrame) -> tuple[StepInstance | None, LoopFrame | None]:
        """One move of a loop: the step to do, if there is one, and where the loop then is, None when it is left."""
        loop_id, iteration, index = frame
        loop, path = self._plan.loops[loop_id], (LoopPosition(loop_id, iteration),)
        done = [step_key(step.step_id, path) in self._completed for step in loop.body]
        still_open = [at for at in range(index, len(done)) if not done[at]]
        self._note_loop(loop, iteration)
        match self._move(loop, frame, [loop.body[at].step_id for at in still_open]):
            case Execute(chosen):
                self._note_conditions(loop, iteration, [at for at in still_open if at <= chosen], chosen)
                self._note_body_order(loop, iteration, chosen, done)
                return StepInstance(loop.body[chosen].step_id, path), LoopFrame(loop_id, iteration, chosen)
            case Advance(following):
                self._note_conditions(loop, iteration, still_open)
                return None, LoopFrame(loop_id, following, 0)
            case Exit(reported):
                entered = isinstance(
                    self._move(self._plan.bare_loops[loop_id], frame._replace(body_index=0), [""]), Execute
                )
                if entered:
                    self._note_conditions(loop, iteration, still_open)
                    if iteration + 1 < loop.max_iterations or self._plan.profile.loop_limit is LoopLimit.REPORT:
                        self._note_loop(loop, iteration + 1)
                iterations = iteration + (entered or any(done))
                at_limit = isinstance(reported, MaxIterationsExceeded) or (entered and self._is_cut(loop, iterations))
                self.seen.add(Point(Kind.LOOP, loop_id, "limit" if at_limit else natural_exit(iterations)))
                self._completed = self._completed.with_key(loop_id)
                return None, None
            case error:
                raise AssertionError(f"a recorded choice can't be repeated: {error.message}")

    def _move(self, loop: LoopPlan, frame: LoopFrame, still_open: list[str]) -> Move | InterpreterError:
        kernel = LoopKernel(loop, self._plan.profile, self._choice.context, self._choice.artifacts, Tracer())
        return kernel.move(frame, lambda step_id: step_id not in still_open)

    def _note_conditions(self, loop: LoopPlan, iteration: int, indexes: list[int], chosen: int | None = None) -> None:
        for at in indexes:
            step = loop.body[at]
            if step.condition is not None:
                place = place_of(step.step_id, ((loop.loop_id, 0),))
                self.seen.add(Point(Kind.CONDITION, place, truth_case(at == chosen)))
                if self._plan.members is not None:
                    self._note_members(place, step.condition, loop.project(iteration, self._choice.context))

    def _note_loop(self, loop: LoopPlan, iteration: int) -> None:
        """The loop is asked about an iteration."""
        if self._plan.members is not None and loop.source["kind"] == "condition":
            context = loop.project(iteration, self._choice.context)
            self._note_members(loop.loop_id, loop.source["condition"], context)

    def _note_body_order(self, loop: LoopPlan, iteration: int, chosen: int, done: list[bool]) -> None:
        if self._plan.members is not None and chosen + 1 < len(done) and not done[chosen + 1]:
            place = place_of(loop.body[chosen].step_id, ((loop.loop_id, 0),))
            following = loop.definition["body"][chosen + 1 : chosen + 2]
            self._note_order(place, following, loop.project(iteration, self._choice.context), ())

    def _is_cut(self, loop: LoopPlan, iterations: int) -> bool:
        """Whether the limit ended a loop where that is a normal end. One that is not asked any more counts as cut."""
        if self._plan.profile.loop_limit is not LoopLimit.EXIT or iterations < loop.max_iterations:
            return False
        count = iteration_count(loop.source, self._choice.context)
        return count is None or count > loop.max_iterations
