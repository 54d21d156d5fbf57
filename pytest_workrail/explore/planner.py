"""An agent that steers for what nobody has shown yet.

At every choice it looks at where the run can go (`targets`), wants to get to what is still missing, and asks the
solver for the context that leads there. What it submits at a step comes from `answers`. A wrong guess costs time and
never truth: what a run has shown is read from its transcript.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from pytest_workrail.agents.agent import Action, Agent, Choice, Prefer, Rewind, StartView, StepView, Stop, Submit
from pytest_workrail.agents.correct import correct_answer, loop_decision, missing_inputs, needed_variables
from pytest_workrail.coverage.goals import (
    GUIDED,
    NEVER_STOP,
    BlockerGoal,
    ConditionGoal,
    DecidesGoal,
    FragmentGoal,
    GapGoal,
    GateGoal,
    LoopGoal,
    OrderGoal,
    StepGoal,
    observed_points,
)
from pytest_workrail.coverage.observe import PathState
from pytest_workrail.coverage.points import ASKED, FREE, Point, fragment_place, gate_place, place_of
from pytest_workrail.coverage.reach import APPROVAL, AT_LIMIT, GAP_OF_BLOCKER, LIMIT, MANY, ONE, ZERO
from pytest_workrail.engine.core.conditions import is_met
from pytest_workrail.engine.core.index import LOOP_CONTROL_KIND, artifact_kind
from pytest_workrail.engine.core.interpreter import Running
from pytest_workrail.engine.core.loops import body_of
from pytest_workrail.engine.core.outcomes import LoopReportError, MissingContext
from pytest_workrail.engine.core.prompts import render_context
from pytest_workrail.engine.model.reasons import EvaluationFailed
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame
from pytest_workrail.engine.model.words import Autonomy, Preferences
from pytest_workrail.engine.protocol.requests import merged
from pytest_workrail.explore.answers import Answers
from pytest_workrail.explore.guide import Guide, Target, element_name, extras
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.blocker_codes import BlockerCode
from workrail_lint.systems.workrail.model.ir import RepeatingStep
from workrail_lint.systems.workrail.solver import Wish

_MAX_TARGETS = 300
_ALONE = Preferences("full_auto_stop_on_user_deps", "conservative")
PREFERENCES: dict[str, Preferences] = {
    GUIDED: Preferences(GUIDED, "conservative"),
    NEVER_STOP: Preferences(NEVER_STOP, "conservative"),
}
_GUIDED = PREFERENCES[GUIDED]
_COUNTS: dict[str | None, float] = {ZERO: 0, ONE: 1, MANY: 2, LIMIT: math.inf}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Where to go next, with the change to the context and the decision that lead there."""

    target: Target
    change: dict[str, Json]

    def decision(self) -> tuple[str, str] | None:
        return self.target.way.decision


class Planner(Agent):
    """Plays one run in one mode."""

    def __init__(
        self,
        guide: Guide,
        mode: Autonomy,
        *,
        gate: str | None = None,
        refuse: bool = False,
        skipped: str | None = None,
        has_branches: bool = False,
    ) -> None:
        self._guide = guide
        self._mode = mode
        self._gate = gate  # where an autonomous run is to stop
        self._refuse = refuse  # start with a context in which nothing can run
        self._skipped = skipped  # a loop that a decision about another one is to end before it begins
        self._has_branches = has_branches  # a guided run shows gaps too, each in a branch of its own
        self._intents: dict[str, tuple[str | None, float]] = {}
        self._queue: list[Action] = []
        self._awaited: dict[str, bool] = {}  # while one choice is made, like the next one
        self._passed: dict[str, bool] = {}
        self._here: tuple[str, int] | None = None
        self._finals = 0
        self._rewinds = 0
        self._forces = False  # the pending step is left behind in a mode that never stops
        self._branches: list[Submit] = []  # answers with gaps, each of which begins a branch at the pending step
        self._left: str | None = None  # the step to go back to, after such a branch was begun
        self._returns = False
        self._guides = False  # a person guides again before the step is left
        self.expected: set[Point] = set()  # what this run should have shown by now
        self.visited: set[str] = set()

    # ------------------------------------------------------------------------------------------------------- start

    def begin(self, start: StartView) -> dict[str, Json]:
        inputs = missing_inputs(start)
        chosen = self._choose(CompletedKeys(), None, merged(start.context, inputs), PathState(), [])
        return inputs if chosen is None else {**inputs, **chosen.change}

    # ------------------------------------------------------------------------------------------------------- steps

    def act(self, view: StepView) -> Action:
        if view.refusal in ("gated", "error"):
            return Stop("No answer of an agent can change this.")
        here = (view.instance.key, view.visit)
        if self._left is not None:
            left, self._left, self._returns = self._left, None, True
            return Rewind(left)
        if self._returns:
            self._here, self._returns = here, False
        if here != self._here:
            back = [Prefer(_GUIDED)] if self._forces else []
            self._here, self._finals, self._forces = here, 0, False
            self._note_arrival(view)
            self._queue = [*back, *self._prepared(view)]
            self._prepare_branches(view)
        if view.refusal == "terminal" and not isinstance(next(iter(self._queue), None), Prefer | Rewind):
            self._rewinds += 1
            return Rewind() if self._rewinds < 20 else Stop("The run can't continue from here.")
        if self._queue:
            return self._queue.pop(0)
        if self._branches:
            self._left = view.step_id
            return self._branches.pop(0)
        if self._guides:
            self._guides = False
            return Prefer(_GUIDED)
        if self._finals > 1:
            if self._forces or self._mode == NEVER_STOP:
                return Stop("The run can't continue from here.")
            self._forces = True
            self._queue = [self._final(view)]
            return Prefer(PREFERENCES[NEVER_STOP])
        self._finals += 1
        return self._final(view) if self._finals == 1 else correct_answer(view)

    def _prepared(self, view: StepView) -> Iterator[Action]:
        """Yield what is done at a step before the answer that is to pass."""
        place = place_of(view.step_id, view.instance.loop_path)
        waiting = self._waiting(place)
        if self._gate == place:
            yield self._at_gate(view)
            return
        if self._mode != GUIDED:
            return
        for answer, points in Answers(view, waiting).refused():
            self.expected |= points
            yield answer
        if Point(BlockerGoal, place, APPROVAL) in waiting:
            gated = self._gate_change(view)
            if gated is not None:
                answer = replace(self._judged(view), context=gated or None)
                self.expected.add(Point(BlockerGoal, place, APPROVAL))
                yield from (Prefer(_ALONE), answer, Prefer(_GUIDED), Rewind())
        yield from self._refused_by_loop(view)

    def _prepare_branches(self, view: StepView) -> None:
        """Plan what shows gaps in a run that a person guides: each answer in a branch, in a mode that never stops.

        An answer that ends the run, or leads to the same step once more, has no way back to this one: it leaves it.
        """
        if self._mode != GUIDED or not self._has_branches:
            return
        gaps = list(self._gaps(view))
        if not gaps:
            return
        for answer, points in gaps:
            if self._has_way_back(view, answer):
                self._branches.append(answer)
                self.expected |= points
        self._queue.append(Prefer(PREFERENCES[NEVER_STOP]))
        self._forces = len(self._branches) < len(gaps)
        self._guides = not self._forces

    def _gaps(self, view: StepView) -> Iterator[tuple[Submit, set[Point]]]:
        """Yield answers that leave gaps, each with what it shows that those before it do not."""
        place = place_of(view.step_id, view.instance.loop_path)
        waiting = set(self._waiting(place, NEVER_STOP))
        chosen = self._after(view, []) if waiting else None
        while chosen is not None:
            answer, points = Answers(view, waiting).with_gaps(chosen.change)
            if answer is None:
                break
            waiting -= points
            if not view.step.decides_loop:
                answer = self._decided(view, answer, chosen)
            yield self._with_needs(view, answer), points
        approval = Point(GapGoal, place, GAP_OF_BLOCKER[APPROVAL])
        change = self._gate_change(view) if approval in waiting else None
        if change is not None:
            yield self._with_needs(view, replace(self._judged(view), context=change or None)), {approval}
        yield from self._loop_gaps(view)

    def _has_way_back(self, view: StepView, answer: Submit) -> bool:
        outcome = view.predict(answer, never_stop=True)
        following = None if isinstance(outcome, Err) else outcome.value.state
        return (
            isinstance(following, Running)
            and following.pending is not None
            and (following.pending.step_id != view.step_id)
        )

    def _judged(self, view: StepView) -> Submit:
        """A right answer; nothing at all where criteria can't be evaluated, because then nothing else would count."""
        right = Answers(view, ()).right()
        is_failure = any(isinstance(reason, EvaluationFailed) for reason in view.reasons(right))
        return Submit() if is_failure else right

    def _at_gate(self, view: StepView) -> Submit:
        change = {**(self._gate_change(view) or {}), "is_autonomous": "true"}
        return replace(Answers(view, ()).right(), context=change)

    def _gate_change(self, view: StepView) -> dict[str, Json] | None:
        """Return what has to be in the context so that a person has to agree."""
        wishes = self._gate_wishes(view)
        return self._guide.solver.solve(wishes, view.context, kept=("goal",)).change

    def _gate_wishes(self, view: StepView) -> list[Wish]:
        iteration = view.instance.loop_path[-1].iteration if view.instance.loop_path else 0
        condition = view.step.confirmation_condition
        return [self._guide.binder.wish((condition, True), view.loop, iteration)]

    def _final(self, view: StepView) -> Submit:
        """Return the answer with which the run goes on."""
        place = place_of(view.step_id, view.instance.loop_path)
        never_stops = self._mode == NEVER_STOP or self._forces
        waiting = self._waiting(place, NEVER_STOP if never_stops else GUIDED)
        answers = Answers(view, waiting)
        self.expected.add(Point(StepGoal, place, "done"))
        own: list[list[Wish]] = []
        if Point(GapGoal, place, GAP_OF_BLOCKER[APPROVAL]) in waiting:
            own.append(self._gate_wishes(view))
        chosen = self._after(view, own)
        if chosen is None:
            return correct_answer(view)
        answer: Submit | None = None
        if never_stops:
            answer, points = answers.with_gaps(chosen.change)
            self.expected |= points
            if answer is not None and view.step.decides_loop:
                return self._with_needs(view, answer)  # the decision is what is wrong with it
        if answer is None:
            answer, points = answers.right_with_points()
            self.expected |= points
        answer = self._decided(view, replace(answer, context=chosen.change or None), chosen)
        if never_stops:
            return self._with_needs(view, self._with_loop_gap(view, answer))
        return answer

    def _with_needs(self, view: StepView, answer: Submit) -> Submit:
        """Return the answer with the variables of loops that a run comes to which goes past what is wrong."""
        for _ in range(len(self._guide.index.loops)):
            outcome = view.predict(answer, never_stop=True)
            if not isinstance(outcome, Err) or not isinstance(outcome.error, MissingContext):
                break
            needed = needed_variables(self._guide.index, outcome.error.loop_id)
            answer = replace(answer, context={**(answer.context or {}), **needed})
        return answer

    def _after(self, view: StepView, own: list[list[Wish]], *, reported: bool = False) -> _Chosen | None:
        state = view.state
        assert isinstance(state, Running)
        frame: LoopFrame | None = state.loop_stack[-1] if state.loop_stack else None
        completed = state.completed.with_key(view.instance.key)
        path = PathState(state.completed, frame, view.instance)
        return self._choose(completed, frame, view.context, path, own, earlier=view.earlier, reported=reported)

    def _decided(self, view: StepView, answer: Submit, chosen: _Chosen) -> Submit:
        """Return the answer with the decision that the way asks for, and no other."""
        decision = chosen.decision()
        others = tuple(each for each in answer.artifacts if artifact_kind(each) != LOOP_CONTROL_KIND)
        has_own = len(others) != len(answer.artifacts)
        if decision is None:
            return answer
        loop_id, word = decision
        loop = self._guide.index.loops[loop_id]
        artifact: dict[str, Json] = {**loop_decision(self._guide.profile, loop, word), "loopId": loop_id}
        if has_own:
            changed = tuple(
                {**each, **artifact} if artifact_kind(each) == LOOP_CONTROL_KIND and isinstance(each, dict) else each
                for each in answer.artifacts
            )
            return replace(answer, artifacts=changed)
        return replace(answer, artifacts=(*others, artifact))

    # ------------------------------------------------------------------------------------------------------- loops

    def _refused_by_loop(self, view: StepView) -> Iterator[Submit]:
        for answer in self._loop_faults(view):
            code = self._loop_code(view, answer)
            if code is not None and view.loop is not None:
                wanted = Point(BlockerGoal, view.loop.id, code)
                if wanted in self._guide.ledger.missing and wanted not in self.expected:
                    self.expected.add(wanted)
                    yield answer

    def _loop_gaps(self, view: StepView) -> Iterator[tuple[Submit, set[Point]]]:
        for faulty in self._loop_faults(view):
            code = self._loop_code(view, faulty)
            if code is not None and view.loop is not None:
                gap = Point(GapGoal, view.loop.id, GAP_OF_BLOCKER[code])
                if gap in self._guide.ledger.missing and gap not in self.expected:
                    yield faulty, {gap}

    def _with_loop_gap(self, view: StepView, answer: Submit) -> Submit:
        faulty, points = next(self._loop_gaps(view), (answer, set()))
        self.expected |= points
        return faulty

    def _loop_faults(self, view: StepView) -> Iterator[Submit]:
        """Answers that the step accepts and the loop around it does not."""
        loop = view.loop
        if loop is None:
            return
        waiting = [*self._waiting(loop.id), *self._waiting(loop.id, NEVER_STOP)]
        if not any(point.kind in (BlockerGoal, GapGoal) for point in waiting):
            return
        chosen = self._after(view, [])
        if chosen is not None and loop.loop.source.kind == "artifact":
            answer = replace(Answers(view, ()).right(), context=chosen.change or None)
            others = tuple(each for each in answer.artifacts if artifact_kind(each) != LOOP_CONTROL_KIND)
            yield replace(answer, artifacts=others)
            foreign: dict[str, Json] = {"kind": LOOP_CONTROL_KIND, "decision": "stop", "loopId": "some-other-loop"}
            yield replace(answer, artifacts=(*others, foreign))
        beyond = self._after(view, [], reported=True)
        if beyond is not None:
            yield self._decided(view, replace(Answers(view, ()).right(), context=beyond.change or None), beyond)

    def _loop_code(self, view: StepView, answer: Submit) -> BlockerCode | None:
        if view.reasons(answer):
            return None
        outcome = view.predict(answer)
        if not isinstance(outcome, Err) or not isinstance(outcome.error, LoopReportError):
            return None
        return outcome.error.reason().code

    def _intent(self, loop: RepeatingStep) -> tuple[str | None, float]:
        """Return how a loop is to end in this run, and how many iterations it is to have by then."""
        known = self._intents.get(loop.id)
        if known is not None:
            return known
        waiting = self._waiting(loop.id)
        places = [place_of(step.id, ((loop.id, 0),)) for step in body_of(loop, self._guide.profile)]
        awaited = any(map(self._is_awaited, places))
        awaited = awaited or any(point.kind is not LoopGoal and point.kind.shows_there(point) for point in waiting)
        cases = [point.case for point in waiting if point.kind is LoopGoal and not (awaited and point.case == ZERO)]
        order: tuple[str, ...] = (MANY, LIMIT, ONE, ZERO)
        if any(point.case in (AT_LIMIT, GAP_OF_BLOCKER[AT_LIMIT]) for point in waiting):
            order, cases = (LIMIT,), [LIMIT]
        case = next((each for each in order if each in cases), None)
        count = _COUNTS.get(case, 1 if awaited else 0)
        if self._skipped is not None and loop.loop.source.kind == "artifact" and loop.id != self._skipped:
            case, count = None, 1
        if case in (None, MANY, LIMIT):
            if awaited:
                count = max(count, self._needed_iterations(loop, places))
            if any(self._passes(place) for place in places):
                count = max(count, 2)
        self._intents[loop.id] = (case, count)
        return case, count

    def _needed_iterations(self, loop: RepeatingStep, places: list[str]) -> float:
        """Return how far a loop has to go so that its body can show what is missing."""
        body = str(loop.raw["body"])
        if not any(name in body for name in loop.loop.variables.raw.values()):
            return 1
        limit = int(loop.loop.max_iterations)
        return min(limit, 8) if any(map(self._is_awaited, places)) else 1

    # ------------------------------------------------------------------------------------------------- the next step

    def _choose(
        self,
        completed: CompletedKeys,
        frame: LoopFrame | None,
        context: Mapping[str, Any],
        path: PathState,
        own: list[list[Wish]],
        *,
        earlier: tuple[Json, ...] = (),
        reported: bool = False,
    ) -> _Chosen | None:
        """Return the way to what is missing most, or the shortest one to the end."""
        self._awaited.clear()
        self._passed.clear()
        targets = []
        order: dict[int, int] = {}
        for index, target in enumerate(self._guide.map.targets(completed, frame)):
            if index >= _MAX_TARGETS:
                break
            if target.way.reported is not reported and (reported or self._mode == GUIDED):
                continue
            if path.chosen is None and (target.step is None) is not self._refuse:
                continue  # a run has to start somewhere, unless it is to be refused
            targets.append((self._rank(target, index, frame), target))
            order[id(target)] = index
        waiting = sorted(targets, key=lambda each: each[0])
        is_blocked = False
        fallback: tuple[_Chosen, set[Point]] | None = None
        while waiting:
            (_, _, is_other, _), target = waiting.pop(0)
            if is_blocked and is_other:
                # Something wanted can't be next: the steps before it are in the way, and are done one by one.
                waiting = sorted([((0, 0, 1, 0), target), *waiting], key=lambda each: order[id(each[1])])
                target = waiting.pop(0)[1]
                is_blocked = False
            change = self._settled(target, context, own)
            seen = None if change is None else self._reached(target, context, change, path, earlier, reported)
            if change is None or seen is None:
                is_blocked = is_blocked or not is_other
                continue
            candidate = (_Chosen(target, change), seen)
            if not is_other and not self._is_worth(target, seen):
                # It goes past what is missing without showing it.
                fallback, is_blocked = fallback or candidate, True
                continue
            return self._commit(*candidate)
        return None if fallback is None else self._commit(*fallback)

    def _is_worth(self, target: Target, seen: set[Point]) -> bool:
        """Return whether a target is wanted for itself, or the way there shows something."""
        if target.place is not None and (target.place == self._gate or self._is_awaited_beyond_arrival(target.place)):
            return True
        if self._skipped is not None and target.loop is not None:
            return True
        return any(point in self._guide.ledger.missing and point not in self.expected for point in seen)

    def _commit(self, chosen: _Chosen, seen: set[Point]) -> _Chosen:
        self.expected |= seen
        return chosen

    def _rank(self, target: Target, index: int, frame: LoopFrame | None) -> tuple[int, int, int, int]:
        misfits = 0
        for loop_id, case in target.way.exits:
            wanted, count = self._intent(self._guide.index.loops[loop_id])
            done = 0 if frame is None or frame.loop_id != loop_id else frame.iteration + 1
            misfits += (wanted is not None and wanted != case) or (wanted is None and done < count)
        if target.loop is not None:
            _, count = self._intent(target.loop)
            misfits += target.iteration >= max(count, 1) and (frame is None or target.iteration > frame.iteration)
            if frame is None or frame.loop_id != target.loop.id:
                misfits += count == 0
        skipped = sum(map(self._is_awaited, target.way.passed))
        is_wanted = target.place is not None and (self._is_awaited(target.place) or target.place == self._gate)
        missing = self._guide.ledger.missing
        following = "" if target.step is None else target.step.id
        is_wanted = is_wanted or any(
            case == ZERO
            and (Point(LoopGoal, loop_id, ZERO) in missing or Point(OrderGoal, loop_id, following) in missing)
            for loop_id, case in target.way.exits
        )
        if self._skipped is not None and target.loop is not None:
            is_wanted = is_wanted or target.loop.loop.source.kind == "artifact"
        if is_wanted or any(map(self._passes, target.way.passed)):
            return misfits, skipped, 0, index
        return misfits, skipped, 1, -index

    def _waiting(self, place: str, mode: Autonomy | None = None) -> list[Point]:
        """Return what this run could still show at a place, by itself or while it is in another mode."""
        return [point for point in self._guide.ledger.waiting(place, mode or self._mode) if point not in self.expected]

    def _is_awaited(self, place: str) -> bool:
        known = self._awaited.get(place)
        if known is None:
            known = self._awaited[place] = any(point.kind.shows_there(point) for point in self._waiting(place))
        return known

    def _is_awaited_beyond_arrival(self, place: str) -> bool:
        """Return whether something is missing at a place that does not depend on how a run gets there."""
        return any(
            point.kind.shows_there(point) and not point.kind.shows_on_the_way(point) for point in self._waiting(place)
        )

    def _passes(self, place: str) -> bool:
        """Return whether something is missing that only shows when the place is passed by."""
        known = self._passed.get(place)
        if known is None:
            known = self._passed[place] = any(
                point.kind in (ConditionGoal, DecidesGoal)
                and "#" not in point.place
                and not point.kind.shows_there(point)
                for point in self._waiting(place)
            )
        return known

    def _note_arrival(self, view: StepView) -> None:
        """Record the goals that arriving at a step shows."""
        place = place_of(view.step_id, view.instance.loop_path)
        self.visited.add(place)
        context = render_context(view.loop, view.instance.loop_path, view.context)
        for fragment in view.step.fragments:
            case = FragmentGoal.case(is_met(fragment.when, context))
            where = fragment_place(place, fragment.id)
            self.expected.add(Point(FragmentGoal, where, case))
            self.expected.update(DecidesGoal.deciding(where, fragment.when, context, self._guide.members))
        intent = view.response.get("nextIntent")
        if intent in ("await_user_confirmation", "perform_pending_then_continue"):
            asked = intent == "await_user_confirmation"
            self.expected.add(Point(GateGoal, place, ASKED if asked else FREE))
            condition = view.step.confirmation_condition
            self.expected.update(DecidesGoal.deciding(gate_place(place), condition, context, self._guide.members))

    def _settled(self, target: Target, context: Mapping[str, Any], own: list[list[Wish]]) -> dict[str, Json] | None:
        """Return the change to the context that leads to a target, and shows as much as can be on the way."""
        guide = self._guide
        elements = dict(self._elements(target, context))
        known = {**context, **{name: value for name, value in elements.items() if value is not None}}
        wishes = list(target.way.wishes)
        answer = guide.solver.solve(wishes, known, kept=("goal",))
        if answer.change is None:
            return None
        for group in (*own, *extras(guide, target, self._waiting)):
            further = guide.solver.solve([*wishes, *group], known, kept=("goal",))
            if further.change is not None:
                wishes += group
                answer = further
        return self._change(target, context, dict(answer.change or {}), elements)

    def _elements(self, target: Target, context: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the elements of lists that loops on the way go through, under their own names."""
        for loop_id in target.way.lengths:
            held = context.get(self._guide.index.loops[loop_id].loop_variable or "")
            for at, value in enumerate(held if isinstance(held, list) else ()):
                yield element_name(loop_id, at), value

    def _change(
        self, target: Target, context: Mapping[str, Any], change: dict[str, Json], elements: Mapping[str, Any]
    ) -> dict[str, Json]:
        """The change with the lists that loops go through: long enough, short enough, with the elements wished for."""
        for loop_id, (least, most) in target.way.lengths.items():
            loop = self._guide.index.loops[loop_id]
            name = loop.loop_variable or ""
            held = context.get(name)
            items: list[Json] = deepcopy(held) if isinstance(held, list) else []
            _, count = self._intent(loop)
            if not isinstance(held, list):
                # As long as the loop is to run, so that the list need not grow on the way.
                planned = count if count != math.inf else loop.loop.max_iterations + 1
                least = max(least, int(planned) if most is None else 0)
            items = items[: most if most is not None else None]
            default: Any = needed_variables(self._guide.index, loop_id)[name]
            while len(items) < least:
                items.append(deepcopy(default[0]))
            for at in range(len(items)):
                element = element_name(loop_id, at)
                if element in change:
                    items[at] = change[element]
            if not isinstance(held, list) or items != held:
                change[name] = items
            change = {key: value for key, value in change.items() if not key.startswith(f"{loop_id}[")}
        return change

    def _reached(
        self,
        target: Target,
        context: Mapping[str, Any],
        change: Mapping[str, Json],
        path: PathState,
        earlier: tuple[Json, ...],
        reported: bool,
    ) -> set[Point] | None:
        """Return what is seen on the way, if the engine's own search ends where it should."""
        if reported:
            return set()
        decision = target.way.decision
        artifacts = earlier
        if decision is not None:
            loop = self._guide.index.loops[decision[0]]
            artifact: Json = {**loop_decision(self._guide.profile, loop, decision[1]), "loopId": decision[0]}
            artifacts = (*earlier, artifact)
        choice = Choice(None, None, merged(context, change), artifacts, self._mode == NEVER_STOP, None)
        try:
            state, evidence = self._guide.paths.follow(path, choice)
        except AssertionError:
            return None  # a loop can't be decided like this
        seen = {point for each in evidence for point in observed_points(each)}
        if state.chosen is None or target.step is None:
            return seen if state.chosen is None and target.step is None else None
        return seen if place_of(state.chosen.step_id, state.chosen.loop_path) == target.place else None
