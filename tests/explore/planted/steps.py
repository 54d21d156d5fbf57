"""Bugs of the interpreter: which steps are done, which is next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from planted.bug import NEVER, Patch, bug, session_of
from pytest_workrail.engine.core import interpreter, loops
from pytest_workrail.engine.core.interpreter import Running
from pytest_workrail.engine.core.loops import Decided, NotFound
from pytest_workrail.engine.model.snapshot import BlockedState
from pytest_workrail.engine.model.step_keys import CompletedKeys
from pytest_workrail.engine.projections import session_facts
from pytest_workrail.engine.protocol import advance, advance_outcome, recording, sessions
from workrail_lint.base.result import Ok


@bug("completed steps are forgotten", "state")
def forgotten_steps() -> list[Patch]:
    return [(CompletedKeys, "with_key", lambda self, key: self)]


def _after_completing(change: Callable[[Running], Running]) -> list[Patch]:
    sound = interpreter.Interpreter.complete

    def complete(self: Any, state: Any, step: Any) -> Any:
        done = sound(self, state, step)
        return Ok(change(done.value)) if isinstance(done, Ok) and isinstance(done.value, Running) else done

    return [(interpreter.Interpreter, "complete", complete)]


@bug("the place in a loop is one step too far", "state")
def place_in_body_too_far() -> list[Patch]:
    def further(state: Running) -> Running:
        stack = tuple(frame.replaced(body_index=min(2, frame.body_index + 2)) for frame in state.loop_stack)
        return structs.replace(state, loop_stack=stack)

    return _after_completing(further)


@bug("the first completed step is lost", "state")
def lost_first_step() -> list[Patch]:
    def forgetful(state: Running) -> Running:
        if len(state.completed) < 3:
            return state
        return structs.replace(state, completed=CompletedKeys(list(state.completed)[1:]), progress=None)

    return _after_completing(forgetful)


@bug("the state is stored after the log", "state")
def state_after_log() -> list[Patch]:
    waiting: list[Any] = []
    sound = sessions.SessionWriter.append

    def store(self: Any, snapshot: Any) -> Any:
        waiting.append(snapshot)
        return Ok(snapshot.ref)

    def append(self: Any, permit: Any, plan: Any) -> Any:
        written = sound(self, permit, plan)
        while waiting:
            self.snapshots.put(waiting.pop())
        return written

    return [(sessions.SessionWriter, "store_snapshot", store), (sessions.SessionWriter, "append", append)]


@bug("the state of a block is not stored", "state")
def blocked_state_lost() -> list[Patch]:
    sound = sessions.SessionWriter.store_snapshot

    def store(self: Any, snapshot: Any) -> Any:
        return Ok(snapshot.ref) if isinstance(snapshot.state, BlockedState) else sound(self, snapshot)

    return [(sessions.SessionWriter, "store_snapshot", store)]


@bug("one state for all iterations of a step", "state")
def state_written_once_per_step() -> list[Patch]:
    """A cache of states that forgets which iteration it is in."""
    sound = recording.snapshot_for
    known: dict[Any, Any] = {}

    def cached(entry: Any, outcome: Any, profile: Any) -> Any:
        made = sound(entry, outcome, profile)
        step = made.pending_step
        if step is None or isinstance(made.state, BlockedState):
            return made
        return known.setdefault((session_of(entry.position.events), step.step_id), made)

    return [(advance, "snapshot_for", cached)]


@bug("what is passed over never comes back", "order", workflow="conditions")
def passed_over_for_good() -> list[Patch]:
    sound = interpreter.Search._top_level

    def top(self: Any) -> Any:
        before = self.open_steps
        found = sound(self)
        chosen = found.step_id if found is not None else (self.stack[-1].loop_id if self.stack else None)
        bit = self.plan.bits.get(chosen, 0)
        if bit:
            self.open_steps = before & ~(bit - 1)
            for step in self.plan.steps:
                if self.plan.bits[step.step_id] < bit and step.condition is not None:
                    self.completed = self.completed.with_key(step.step_id)
        return found

    return [(interpreter.Search, "_top_level", top)]


def _loop_plan(change: Callable[[Any], None]) -> list[Patch]:
    sound = loops.LoopPlan.__init__

    def init(self: Any, *arguments: Any, **named: Any) -> None:
        sound(self, *arguments, **named)
        change(self)

    return [(loops.LoopPlan, "__init__", init)]


@bug("one iteration too many", "order")
def limit_too_high() -> list[Patch]:
    return _loop_plan(lambda plan: setattr(plan, "max_iterations", plan.max_iterations + 1))


@bug("one iteration too few", "order")
def limit_too_low() -> list[Patch]:
    return _loop_plan(lambda plan: setattr(plan, "max_iterations", plan.max_iterations - 1))


@bug("until is while", "order", workflow="conditions")
def until_is_while() -> list[Patch]:
    return _loop_plan(lambda plan: setattr(plan, "kind", "while"))


@bug("loop variables are not seen by conditions", "order", workflow="conditions")
def loop_variables_lost() -> list[Patch]:
    return [(loops.LoopPlan, "project", lambda self, iteration, given: dict(given))]


@bug("the first of several decisions counts", "order", profile="locked")
def first_decision_counts() -> list[Patch]:
    sound = loops.read_loop_control
    return [(loops, "read_loop_control", lambda artifacts, *more: sound(tuple(artifacts)[:1], *more))]


@bug("nobody hears a stop", "order")
def stop_is_not_heard() -> list[Patch]:
    def deaf(artifacts: Any, pack: Any, loop_id: str, check: Any) -> Any:
        found = loops_read(artifacts, pack, loop_id, check)
        return NotFound("none") if isinstance(found, Decided) and not found.goes_on else found

    loops_read = loops.read_loop_control
    return [(loops, "read_loop_control", deaf)]


@bug("decisions of earlier iterations count", "order", profile="locked", mode=NEVER)
def old_decisions_count() -> list[Patch]:
    sound = advance_outcome.earlier_artifacts

    def all_of_run(loader: Any, position: Any, profile: Any) -> Any:
        if not position.snapshot.pending_step.loop_path:
            return sound(loader, position, profile)
        above = session_facts.Lineage(position.events, position.run, position.node.node_id)
        return Ok(tuple(above.artifacts(position.run.nodes)))

    return [(advance, "earlier_artifacts", all_of_run)]


@bug("a body begins anew after each step", "order", workflow="conditions")
def body_begins_anew() -> list[Patch]:
    sound = loops.LoopKernel.move
    return [
        (loops.LoopKernel, "move", lambda self, frame, done: sound(self, frame.replaced(body_index=0), done)),
    ]


@bug("conditions inside of loops are ignored", "order", workflow="conditions")
def conditions_ignored_in_loops() -> list[Patch]:
    sound = loops.LoopKernel._eligible

    def eligible(self: Any, frame: Any, done: Any) -> Any:
        for index in range(frame.body_index, len(self._plan.body)):
            if not done(self._plan.body[index].step_id):
                return index
        return sound(self, frame, done)

    return [(loops.LoopKernel, "_eligible", eligible)]


@bug("the last element of a list is left out", "order", workflow="list")
def list_loses_its_last() -> list[Patch]:
    sound = loops.LoopKernel._within_items

    def within(self: Any, iteration: int, variable: str) -> Any:
        return sound(self, iteration + 1 if iteration else iteration, variable)

    return [(loops.LoopKernel, "_within_items", within)]
