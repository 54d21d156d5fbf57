"""Execution states: immutable values, so that a run can be continued from any of them at any time."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.places import CompletedKeys, LoopFrame, StepInstance
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
