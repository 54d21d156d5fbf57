"""The interpreter: which step is next. A function of the IR, the state, the context and the artifacts.

States are immutable values, so that a run can be continued from any of them at any time. Before a run ends although
steps wait for unset variables, it can ask a question about these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, is_met, json_of, passed_summary, skipped_summary
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.loops import (
    Advance,
    BodyStep,
    Execute,
    Exit,
    LoopKernel,
    LoopPlan,
    Watcher,
    body_of,
)
from pytest_workrail.engine.core.outcomes import (
    InterpreterError,
    InvalidLoopControl,
    InvalidState,
    LoopReportError,
    LoopUnset,
    LoopVariableUnset,
    MaxIterationsExceeded,
    MissingLoopControl,
    Passed,
    PassedOver,
    Tracer,
    within_budget,
)
from pytest_workrail.engine.core.profiles import Profile, ProfileName, profile_of
from pytest_workrail.engine.core.smallest_set import ConditionSolver
from pytest_workrail.engine.model.blockers import Unmet
from pytest_workrail.engine.model.reasons import MissingContextKey, Reason
from pytest_workrail.engine.model.snapshot import (
    Block,
    BlockedState,
    CompletedSet,
    CompleteState,
    EnginePayload,
    EngineState,
    ExecutionSnapshot,
    GateCheckpoint,
    InitState,
    NothingPending,
    RunningState,
    StepPending,
)
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame, LoopPosition, StepInstance, step_key
from pytest_workrail.engine.model.trace import LoopRef, StepRef, TraceEntry
from pytest_workrail.engine.model.words import MAX_BLOCKERS
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import Condition


class Init(Struct, frozen=True):
    """Nothing was selected yet."""


class Running(Struct, frozen=True):
    """Under way; a step is pending between its selection and its completion.

    `progress` is the interpreter's own note of where to look next. It follows from the other members, so
    it takes no part in comparisons and may be left out.
    """

    completed: CompletedKeys = CompletedKeys()
    loop_stack: tuple[LoopFrame, ...] = ()
    pending: StepInstance | None = None
    progress: tuple[object, int] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Running) and self._compared == other._compared

    def __hash__(self) -> int:
        return hash(self._compared)

    @property
    def _compared(self) -> tuple[object, ...]:
        return self.completed, self.loop_stack, self.pending


class Complete(Struct, frozen=True):
    """Over: no eligible step remained."""


State: TypeAlias = Init | Running | Complete


def snapshot_of(state: State, *, blocked: Block | None = None, gate: GateCheckpoint | None = None) -> ExecutionSnapshot:
    """Return the snapshot of a state, perhaps with the block of its last attempt or the gate it waits at."""
    snapshot = ExecutionSnapshot(1, EnginePayload(1, _stored(state, blocked), gate))
    snapshot.__dict__["_state"] = state  # with the interpreter's note, which is not stored
    return snapshot


def _stored(state: State, blocked: Block | None) -> EngineState:
    match state:
        case Init():
            return InitState()
        case Complete():
            return CompleteState()
    state.completed.to_json()  # in order and checked from now on
    completed = CompletedSet(state.completed)
    pending = NothingPending() if state.pending is None else StepPending(state.pending)
    if blocked is None:
        return RunningState(completed, state.loop_stack, pending)
    return BlockedState(completed, state.loop_stack, pending, blocked)


def state_of(snapshot: ExecutionSnapshot) -> State:
    """Return the state as the interpreter takes it; a blocked one is under way, its step still pending."""
    known: State | None = snapshot.__dict__.get("_state")
    if known is None:
        known = snapshot.__dict__["_state"] = _restored(snapshot)
    return known


def _restored(snapshot: ExecutionSnapshot) -> State:
    state = snapshot.state
    match state:
        case InitState():
            return Init()
        case CompleteState():
            return Complete()
        case RunningState() | BlockedState():
            return Running(state.completed.values, state.loop_stack, snapshot.pending_step)


MAX_ROUNDS = 10_000


class Selection(Struct, frozen=True):
    """The answer to "what now": the state it leads to, the pending step, how it was found.

    `gaps` are what a run that never stops passed over on the way; `passed` are the steps whose conditions did not
    hold, in the order they were met.
    """

    state: State
    step: StepInstance | None
    is_complete: bool
    trace: tuple[TraceEntry, ...] = ()
    gaps: tuple[Reason, ...] = ()
    passed: tuple[Passed, ...] = ()


class TopStep(Struct, frozen=True):
    """A step or loop of the top level, with what can be said about it once and for all."""

    step_id: str
    condition: Condition | None
    loop: LoopPlan | None
    instance: StepInstance
    selected: TraceEntry
    trace: tuple[TraceEntry, ...]  # the whole of it when the step is selected at first sight
    skipped: tuple[TraceEntry, PassedOver] | None  # what is said when its condition, if any, does not hold
    is_plain: bool  # neither a loop nor under a condition


class Plan:
    """The order of the steps of an IR, indexed once."""

    __slots__ = ("bits", "has_conditions", "loops", "steps")

    def __init__(self, index: IrIndex, profile: Profile) -> None:
        self.loops = {loop_id: _loop_plan(loop, index, profile) for loop_id, loop in index.loops.items()}
        self.steps = [self._top_step(definition) for definition in index.program.steps]
        self.bits = {step.step_id: 1 << place for place, step in enumerate(self.steps)}
        self.has_conditions = any(step.condition is not None for step in self.steps) or any(
            loop.source.kind == "condition" or any(step.condition is not None for step in loop.body)
            for loop in self.loops.values()
        )

    def _top_step(self, definition: ProgramStep) -> TopStep:
        step_id, condition = definition.id, definition.run_condition
        selected = _selected(definition, qualified=condition is None)
        skipped = None
        if condition is not None:
            entry = TraceEntry("evaluated_condition", skipped_summary(condition.raw), (StepRef(step_id),))
            skipped = entry, PassedOver(step_id, ConditionSolver(condition.raw))
        loop, instance = self.loops.get(step_id), StepInstance(step_id)
        is_plain = condition is None and loop is None
        return TopStep(step_id, condition, loop, instance, selected, within_budget((selected,)), skipped, is_plain)

    def open_steps(self, state: Running) -> int:
        """Which top-level steps are not completed: bit i for step i. A state made elsewhere is counted afresh."""
        if state.progress is not None and state.progress[0] is self:
            return state.progress[1]
        return sum(bit for step_id, bit in self.bits.items() if step_id not in state.completed)


def _loop_plan(definition: RepeatingStep, index: IrIndex, profile: Profile) -> LoopPlan:
    body = tuple(
        BodyStep(step.id, step.run_condition, _selected(step, qualified=False), step.is_gate)
        for step in body_of(definition, profile)
    )
    return LoopPlan(definition, body, index.packs)


def _selected(definition: ProgramStep, qualified: bool) -> TraceEntry:
    how = "Selected (no condition): " if qualified else ""
    summary = f"Next step: {how}{definition.title} ({definition.id})"
    return TraceEntry("selected_next_step", summary, (StepRef(definition.id),))


def _never(variable: str) -> bool:
    return False


class Interpreter:
    """Chooses steps of one IR under one profile. Holds no run: states go in and come out."""

    __slots__ = ("index", "never_stop", "plan", "profile")

    def __init__(
        self, ir: dict[str, Any] | Program, profile: ProfileName | Profile = "reference", *, never_stop: bool = False
    ) -> None:
        self.index = IrIndex(ir)
        self.profile = profile_of(profile)
        self.never_stop = never_stop
        self.plan = Plan(self.index, self.profile)

    @property
    def has_conditions(self) -> bool:
        """Whether anything in the workflow can be passed over."""
        return self.plan.has_conditions

    @property
    def loops(self) -> Mapping[str, LoopPlan]:
        """The loops of the workflow by id, with the bodies that the profile runs."""
        return self.plan.loops

    def start(self) -> State:
        """The state before anything happened."""
        return Init()

    def next(
        self,
        state: State,
        context: Context,
        artifacts: Sequence[Json] = (),
        *,
        never_stop: bool | None = None,
        is_declined: Callable[[str], bool] = _never,
        watcher: Watcher | None = None,
    ) -> Ok[Selection] | Err[InterpreterError]:
        """The pending step, chosen now if there is none.

        `artifacts` are those of the advance being processed; where the profile requires loop decisions,
        those of the whole iteration. `never_stop` overrides the interpreter's own setting for this call.
        `is_declined` tells of variables that were asked for and not set: a loop over one of them is left. A `watcher`
        sees the whole search.
        """
        if isinstance(state, Running):
            running = state
        elif isinstance(state, Complete):
            return Ok(Selection(state, None, True))
        else:
            running = Running()
        if running.pending is not None:
            return Ok(Selection(running, running.pending, False))
        plan = self.plan
        if not running.loop_stack and watcher is None:
            # Most often the first step that is not completed has no condition, and there is nothing to search.
            progress = running.progress
            open_steps = progress[1] if progress is not None and progress[0] is plan else plan.open_steps(running)
            if open_steps:
                first = plan.steps[(open_steps & -open_steps).bit_length() - 1]
                if first.is_plain:
                    step = first.instance
                    chosen = Running(running.completed, (), step, (plan, open_steps))
                    return Ok(Selection(chosen, step, False, first.trace))
        tolerant = self.never_stop if never_stop is None else never_stop
        search = Search(self.plan, self.profile, running, context, artifacts, tolerant, is_declined, watcher)
        return search.run()

    def complete(self, state: State, step: StepInstance) -> Ok[State] | Err[InterpreterError]:
        """The state after the pending step was done."""
        if not isinstance(state, Running):
            return Ok(state) if isinstance(state, Complete) else _nothing_pending(step)
        pending = state.pending
        if pending is None:
            return _nothing_pending(step)
        key = pending.key if pending.loop_path else pending.step_id
        if step is not pending and step.key != key:
            return Err(InvalidState(f"Step '{step.key}' can't be completed: the pending step is '{key}'"))
        plan = self.plan
        # In a loop the key is no step id, so nothing of the top level is closed by it.
        progress = state.progress
        open_steps = progress[1] if progress is not None and progress[0] is plan else plan.open_steps(state)
        bit = plan.bits.get(key, 0)
        if open_steps & bit:
            return Ok(Running(state.completed.with_new_key(key), state.loop_stack, None, (plan, open_steps ^ bit)))
        return Ok(Running(state.completed.with_key(key), state.loop_stack, None, (plan, open_steps)))


def _nothing_pending(step: StepInstance) -> Err[InterpreterError]:
    return Err(InvalidState(f"Step '{step.key}' can't be completed: no step is pending"))


class Search:
    """One search for the next step.

    What the context and the artifacts decide is asked in `_applies` and in the methods of the loop kernel, so that the
    same search can be made without knowing them.
    """

    __slots__ = (
        "artifacts",
        "completed",
        "context",
        "gaps",
        "is_declined",
        "open_steps",
        "passed",
        "plan",
        "profile",
        "stack",
        "tolerant",
        "tracer",
        "watcher",
    )

    def __init__(
        self,
        plan: Plan,
        profile: Profile,
        state: Running,
        context: Context,
        artifacts: Sequence[Json],
        tolerant: bool,
        is_declined: Callable[[str], bool],
        watcher: Watcher | None,
    ) -> None:
        self.watcher = watcher
        self.plan = plan
        self.profile = profile
        self.context = context
        self.artifacts = artifacts
        self.tolerant = tolerant
        self.is_declined = is_declined
        self.completed: CompletedKeys = state.completed
        self.stack = state.loop_stack
        self.open_steps = plan.open_steps(state)
        self.tracer = Tracer()
        self.gaps: list[Reason] = []
        # By step: one that is met again, in a later pass of its loop, is mentioned once.
        self.passed: dict[str, Passed] = {}

    def run(self) -> Ok[Selection] | Err[InterpreterError]:
        for _ in range(MAX_ROUNDS):
            if self.stack:
                outcome = self._in_loop()
                if isinstance(outcome, StepInstance):
                    return self._pending(outcome)
                if outcome is not None:
                    return Err(outcome)
                if self.stack:
                    continue
            step = self._top_level()
            if step is not None:
                return self._pending(step)
            if not self.stack:
                return self._selection(Complete(), None)
        return Err(InvalidState(f"No step was found in {MAX_ROUNDS} rounds; a loop may never end"))

    def _pending(self, step: StepInstance) -> Ok[Selection]:
        state = Running(self.completed, self.stack, step, (self.plan, self.open_steps))
        return self._selection(state, step)

    def _selection(self, state: State, step: StepInstance | None) -> Ok[Selection]:
        passed = tuple(self.passed.values())
        return Ok(Selection(state, step, step is None, self.tracer.entries(), tuple(self.gaps), passed))

    def _top_level(self) -> StepInstance | None:
        """The first eligible step; entering a loop finds none but leaves the loop on the stack.

        Only steps that are not completed are looked at. One that was passed over because its condition
        did not hold is among them, so it is found as soon as the condition does.
        """
        rest = self.open_steps
        while rest:
            lowest = rest & -rest
            rest ^= lowest
            step = self.plan.steps[lowest.bit_length() - 1]
            if step.skipped is not None:
                holds = self._applies(step)
                if self.watcher is not None:
                    self.watcher.evaluated(step.step_id, None, holds)
                if not holds:
                    entry, self.passed[step.step_id] = step.skipped
                    self.tracer.add(entry)
                    continue
                if not self.tracer.is_full:
                    summary = passed_summary(json_of(step.condition), self.context)
                    self.tracer.record("evaluated_condition", summary, StepRef(step.step_id))
            if self.watcher is not None:
                self.watcher.chosen(step.step_id, None, self.completed)
            if step.loop is not None:
                self.stack = (*self.stack, LoopFrame(step.step_id, 0, 0))
                return None
            self.tracer.add(step.selected)
            return step.instance
        return None

    def _applies(self, step: TopStep) -> bool:
        """Return whether the run condition of a step of the top level holds."""
        return is_met(step.condition, self.context)

    def _kernel(self, loop: LoopPlan) -> LoopKernel:
        """Return what decides about a loop."""
        return LoopKernel(loop, self.profile, self.context, self.artifacts, self.tracer, self.passed, self.watcher)

    def _in_loop(self) -> StepInstance | InterpreterError | None:
        """One move of the innermost loop: a step, an error, or None when the loop moved on or ended."""
        frame = self.stack[-1]
        loop = self.plan.loops.get(frame.loop_id)
        if loop is None:
            return InvalidState(f"The workflow has no loop '{frame.loop_id}'", frame.loop_id)
        path = tuple(LoopPosition(at.loop_id, at.iteration) for at in self.stack)
        move = self._kernel(loop).move(frame, lambda step_id: step_key(step_id, path) in self.completed)
        match move:
            case Execute(body_index):
                step = loop.body[body_index]
                self._replace_frame(LoopFrame(frame.loop_id, frame.iteration, body_index))
                if self.watcher is not None:
                    self.watcher.chosen(step.step_id, path[-1], self.completed)
                self.tracer.add(step.selected)
                return StepInstance(step.step_id, path)
            case Advance(iteration):
                self._replace_frame(LoopFrame(frame.loop_id, iteration, 0))
                return None
            case Exit(LoopUnset() as unset) if not self.tolerant and not self.is_declined(unset.variable):
                return self._ask_for(unset)
            case Exit(reported) if isinstance(reported, LoopReportError) and not self.tolerant:
                return reported
            case Exit(reported):
                self._leave(frame, reported)
                return None
            case error:
                return error

    def _replace_frame(self, frame: LoopFrame) -> None:
        self.stack = (*self.stack[:-1], frame)

    def _ask_for(self, unset: LoopUnset) -> LoopVariableUnset:
        loop_id = unset.step_id
        summary = f"Loop '{loop_id}' needs variable '{unset.variable}', which is not set."
        self.tracer.record("evaluated_condition", summary, LoopRef(loop_id))
        return LoopVariableUnset(unset, self.tracer.entries(), (*self.passed.values(), unset))

    def _leave(self, frame: LoopFrame, reported: LoopReportError | LoopUnset | None) -> None:
        if self.watcher is not None:
            self.watcher.left(frame, reported, self.completed)
        loop_id = frame.loop_id
        why = f"Condition no longer met after {frame.iteration} iteration(s)."
        match reported:
            case LoopUnset(variable=variable):
                self.passed[loop_id] = reported
                if not self.is_declined(variable):
                    self.gaps.append(reported.reason(self.context))
                why = f"Variable '{variable}' is not set."
            case MaxIterationsExceeded(max_iterations=limit):
                self.gaps.append(reported.reason())
                why = f"Limit of {limit} iteration(s) reached."
            case MissingLoopControl() | InvalidLoopControl():
                self.gaps.append(reported.reason())
        self.tracer.record("exited_loop", f"Exited loop '{loop_id}': {why}", LoopRef(loop_id))
        self.stack = self.stack[:-1]
        self.completed = self.completed.with_key(loop_id)
        self.open_steps &= ~self.plan.bits.get(loop_id, 0)


Select = Callable[[Mapping[str, Json]], Ok[Selection] | Err[InterpreterError]]


class Question(Struct, frozen=True):
    """Which variables would let which step run. `patch` sets each of them to a value under which it does."""

    step_id: str
    patch: dict[str, Json]
    unmet: tuple[Unmet, ...]

    def reasons(self) -> tuple[MissingContextKey, ...]:
        """One reason for each variable; the block as a whole remembers the patch."""
        return tuple(
            MissingContextKey(
                name, self.step_id, self.patch, tuple(each for each in self.unmet if each.variable == name), value
            )
            for name, value in self.patch.items()
        )


def loop_question(unset: LoopUnset, context: Context) -> Question:
    """The question of a loop that can't be entered without its variable."""
    return Question(unset.step_id, {unset.variable: unset.suggested}, unset.unmet(context))


def find_question(selection: Selection, context: Context, declined: frozenset[str], select: Select) -> Question | None:
    """Return the question to ask before a run completes with this selection; None when no variable would change that.

    `select` repeats the selection with a change to the context. `declined` are variables that were asked for before.
    """
    if not selection.is_complete:
        return None
    for passed in selection.passed:
        patch = passed.patch(context, declined) if isinstance(passed, PassedOver) else None
        if not patch or len(patch) > MAX_BLOCKERS:
            continue
        step_id = _reached(select(patch))
        if step_id is not None:
            return Question(step_id, patch, passed.unmet(context))
    return None


def _reached(selected: Ok[Selection] | Err[InterpreterError]) -> str | None:
    """The step that would be pending, or the loop that would be reached and asks for its own variable first."""
    match selected:
        case Ok(selection):
            return None if selection.step is None else selection.step.step_id
        case Err(LoopVariableUnset(unset=unset)):
            return unset.step_id
        case _:
            return None
