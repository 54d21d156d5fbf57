"""Coverage points that one run shows about its workflow.

A transcript holds what every choice of a step was made from. The interpreter makes the choices once more, watched for
what its search comes across; the engine's own record of that is cut where it grows long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_workrail.agents.agent import Choice, Transcript
from pytest_workrail.coverage.goals import observed_points
from pytest_workrail.coverage.points import (
    MISSING_KEY,
    UNSET,
    Arrival,
    AttemptSeen,
    ConditionSeen,
    Evidence,
    LoopAsked,
    LoopLeft,
    MemberTable,
    NeighbourSeen,
    Point,
    QuestionSeen,
    UnsetSeen,
    place_of,
)
from pytest_workrail.coverage.reach import LIMIT, iteration_count, natural_exit
from pytest_workrail.engine.core.conditions import is_met
from pytest_workrail.engine.core.interpreter import Interpreter, Running
from pytest_workrail.engine.core.loops import LoopPlan
from pytest_workrail.engine.core.outcomes import LoopReportError, LoopUnset, MaxIterationsExceeded
from pytest_workrail.engine.core.profiles import PROFILES, Profile
from pytest_workrail.engine.core.prompts import render_context
from pytest_workrail.engine.model.step_keys import (
    CompletedKeys,
    LoopFrame,
    LoopPath,
    LoopPosition,
    StepInstance,
    step_key,
)
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep


def observe(transcript: Transcript, *, strong: bool = False) -> frozenset[Point]:
    """Return every point a run showed; some may be no goal of the workflow under any profile."""
    profile = PROFILES[transcript.profile]
    points = {point for each in _evidence(transcript, profile, strong=strong) for point in observed_points(each)}
    return frozenset(points if strong else (point for point in points if not point.kind.is_strong))


def _evidence(transcript: Transcript, profile: Profile, *, strong: bool) -> Iterator[Evidence]:
    steps = steps_by_place(transcript.program)
    paths = Paths(transcript.program, profile, strong=strong)
    for choice, state, seen in paths.follow_all(transcript.choices):
        yield from seen
        if state.chosen is not None:
            place = place_of(state.chosen.step_id, state.chosen.loop_path)
            loop = paths.interpreter.index.innermost_loop(state.chosen)
            context = render_context(loop, state.chosen.loop_path, choice.context) if strong else choice.context
            yield Arrival(choice, place, steps[place], context, profile, paths.members)
    for attempt in transcript.attempts:
        place = place_of(attempt.step_id, attempt.loop_path)
        yield AttemptSeen(attempt, place, steps[place])
    yield from _unset(transcript)


def _unset(transcript: Transcript) -> Iterator[Evidence]:
    """Yield which conditions waited for unset variables, and which steps and loops a run asked about for that."""
    for passed in transcript.skipped:
        if passed.because == UNSET:
            yield UnsetSeen(place_of(passed.step_id, () if passed.loop is None else (passed.loop,)))
    # A question about a loop names the step that would be next, which is one of its body.
    around = {inner.id: loop.id for loop in transcript.program.loops for inner in loop.body}
    blockers = (each for exchange in transcript.exchanges for each in exchange.blockers)
    gaps: list[Any] = transcript.final["gaps"]  # type: ignore[assignment]
    asked = [(False, each) for each in blockers if each["code"] == MISSING_KEY]
    asked += [(True, gap) for gap in gaps if gap["severity"] == "critical"]
    for is_gap, each in asked:
        details = each.get("details", {})
        if "suggested" in details:
            yield QuestionSeen(around.get(details["stepId"], details["stepId"]), is_gap)


def steps_by_place(program: Program) -> dict[str, ProgramStep]:
    """Return the steps of a workflow by place."""
    steps: dict[str, ProgramStep] = {}
    for step in program.steps:
        steps[step.id] = step
        steps |= {place_of(inner.id, ((step.id, 0),)): inner for inner in step.body}
    return steps


# ------------------------------------------------------------------------------------------------- the path of a run


class PathState(NamedTuple):
    """Where a run is: what is done, the loop it is in, and the step that was chosen, None at the end."""

    completed: CompletedKeys = CompletedKeys()
    frame: LoopFrame | None = None
    chosen: StepInstance | None = None


class Paths:
    """Follows choices through one IR under a profile. With `strong`, also sees who decided and who was next."""

    def __init__(self, program: Program, profile: Profile, *, strong: bool = False) -> None:
        self.interpreter = Interpreter(program, profile)
        self.members = MemberTable() if strong else None
        self.following = {step.id: after for step, after in pairwise(program.steps)}
        self.conditions = {step.id: step.run_condition for step in program.steps}

    def follow_all(self, choices: Iterable[Choice]) -> Iterator[tuple[Choice, PathState, list[Evidence]]]:
        """Yield each choice of a run with where it led, and what could be seen on the way."""
        states: dict[str | None, PathState] = {None: PathState()}
        for choice in choices:
            state, seen = self.follow(states[choice.origin], choice)
            if choice.target is not None:
                states[choice.target] = state
            yield choice, state, seen

    def follow(self, start: PathState, choice: Choice) -> tuple[PathState, list[Evidence]]:
        """Return where one choice leads, and what could be seen on the way. Raise where it can't be repeated."""
        completed = start.completed if start.chosen is None else start.completed.with_key(start.chosen.key)
        state = Running(completed, () if start.frame is None else (start.frame,), None)
        watcher = _Watcher(self, choice.context)
        outcome = self.interpreter.next(state, choice.context, choice.artifacts, never_stop=True, watcher=watcher)
        if isinstance(outcome, Err):
            raise AssertionError(f"a recorded choice can't be repeated: {outcome.error.message}")
        chosen = outcome.value.state
        if not isinstance(chosen, Running):
            return PathState(completed), watcher.seen
        frame = chosen.loop_stack[-1] if chosen.loop_stack else None
        return PathState(chosen.completed, frame, chosen.pending), watcher.seen


class _Watcher:
    """Notes what one search comes across."""

    def __init__(self, paths: Paths, context: Mapping[str, Any]) -> None:
        self.seen: list[Evidence] = []
        self._paths = paths
        self._context = context
        self._entered: set[tuple[str, int]] = set()

    def evaluated(self, step_id: str, position: LoopPosition | None, holds: bool) -> None:
        members = self._paths.members
        if position is None:
            self.seen.append(ConditionSeen(step_id, self._paths.conditions[step_id], self._context, holds, members))
            return
        loop = self._loop(position.loop_id)
        condition = next(step.condition for step in loop.body if step.step_id == step_id)
        context = self._context if members is None else loop.project(position.iteration, self._context)
        self.seen.append(ConditionSeen(place_of(step_id, (position,)), condition, context, holds, members))

    def asked(self, loop_id: str, iteration: int, enters: bool) -> None:
        loop, members = self._loop(loop_id), self._paths.members
        if enters:
            self._entered.add((loop_id, iteration))
        if members is not None and loop.source.kind == "condition":
            context = loop.project(iteration, self._context)
            self.seen.append(LoopAsked(loop_id, loop.source.condition, context, members))

    def chosen(self, step_id: str, position: LoopPosition | None, completed: CompletedKeys) -> None:
        if self._paths.members is None:
            return
        path: LoopPath = () if position is None else (position,)
        following: ProgramStep | None
        if position is None:
            following, place, context = self._paths.following.get(step_id), step_id, self._context
        else:
            loop = self._loop(position.loop_id)
            at = next(index for index, step in enumerate(loop.body) if step.step_id == step_id)
            following = next(iter(loop.definition.body[at + 1 : at + 2]), None) if at + 1 < len(loop.body) else None
            place, context = place_of(step_id, path), loop.project(position.iteration, self._context)
        is_open = following is not None and step_key(following.id, path) not in completed
        if following is not None and is_open and is_met(following.run_condition, context):
            self.seen.append(NeighbourSeen(place, following.id))

    def left(self, frame: LoopFrame, reported: LoopReportError | LoopUnset | None, completed: CompletedKeys) -> None:
        loop, path = self._loop(frame.loop_id), (LoopPosition(frame.loop_id, frame.iteration),)
        is_entered = (frame.loop_id, frame.iteration) in self._entered
        is_begun = is_entered or any(step_key(step.step_id, path) in completed for step in loop.body)
        iterations = frame.iteration + is_begun
        at_limit = isinstance(reported, MaxIterationsExceeded) or (is_entered and self._is_cut(loop, iterations))
        self.seen.append(LoopLeft(frame.loop_id, LIMIT if at_limit else natural_exit(iterations)))

    def _loop(self, loop_id: str) -> LoopPlan:
        return self._paths.interpreter.loops[loop_id]

    def _is_cut(self, loop: LoopPlan, iterations: int) -> bool:
        """Return whether the limit ended a loop where that is a normal end. One that is not asked again is cut."""
        if self._paths.interpreter.profile.loop_limit != "exit" or iterations < loop.max_iterations:
            return False
        count = iteration_count(loop.definition, self._context)
        return count is None or count > loop.max_iterations
