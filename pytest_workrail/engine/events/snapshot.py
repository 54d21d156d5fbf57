"""Execution snapshots: what is needed to continue from a node, and nothing else.

Closed shapes throughout, and states that can't occur can't be built: completed keys are sorted and unique, a
loop is on the stack once, the pending step stands where the stack says and is not completed yet.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from pytest_workrail.engine.core import values
from pytest_workrail.engine.core.state import State, state_from_json, state_to_json
from pytest_workrail.engine.core.values import collation_key, parse_step_key, step_key
from pytest_workrail.engine.core.vocabulary import GateKind
from pytest_workrail.engine.events import ids
from pytest_workrail.engine.events.blockers import BlockerReport, RetryableReason, TerminalReason
from pytest_workrail.engine.events.fields import AttemptId, SafeId, StepId
from pytest_workrail.engine.events.wire import (
    ClosedWire,
    CorruptionReason,
    Index,
    Items,
    NonEmpty,
    read_record,
    read_value,
)
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def _instance_key(text: str) -> str:
    if isinstance(parse_step_key(text), Err):
        raise ValueError("must be the key of a step instance")
    return text


InstanceKey: TypeAlias = Annotated[str, AfterValidator(_instance_key)]


class LoopPosition(ClosedWire):
    """A loop and the iteration it is in, counted from zero."""

    loop_id: SafeId
    iteration: Index


class LoopFrame(ClosedWire):
    """A loop that is under way."""

    loop_id: SafeId
    iteration: Index
    body_index: Index


class StepInstance(ClosedWire):
    """A step, in the loop iteration it belongs to."""

    step_id: StepId
    loop_path: Items[LoopPosition]

    @property
    def key(self) -> str:
        """The name under which it is counted as completed."""
        return step_key(
            self.step_id, tuple(values.LoopPosition(place.loop_id, place.iteration) for place in self.loop_path)
        )


class NothingPending(ClosedWire):
    """No step is pending, said explicitly."""

    kind: Literal["none"] = "none"


class StepPending(ClosedWire):
    """A step waits for its output."""

    kind: Literal["some"] = "some"
    step: StepInstance


Pending: TypeAlias = Annotated[NothingPending | StepPending, Field(discriminator="kind")]


class CompletedSet(ClosedWire):
    """The step instances that are done, and the loops that are left."""

    kind: Literal["set"] = "set"
    values: Items[InstanceKey]

    @model_validator(mode="after")
    def _sorted_and_unique(self) -> CompletedSet:
        order = [collation_key(value) for value in self.values]
        if any(not before < after for before, after in pairwise(order)):
            raise ValueError("completed keys are sorted and unique")
        return self


class _Progress(ClosedWire):
    completed: CompletedSet
    loop_stack: Items[LoopFrame]
    pending: Pending

    @model_validator(mode="after")
    def _check_consistency(self) -> _Progress:
        loops = [frame.loop_id for frame in self.loop_stack]
        if len(set(loops)) != len(loops):
            raise ValueError("a loop is on the stack once")
        if isinstance(self.pending, StepPending):
            step = self.pending.step
            stack = [(frame.loop_id, frame.iteration) for frame in self.loop_stack]
            if [(place.loop_id, place.iteration) for place in step.loop_path] != stack:
                raise ValueError("the pending step stands where the loop stack says")
            if step.key in self.completed.values:
                raise ValueError("a completed step can't be pending")
        return self


class RetryableBlock(ClosedWire):
    """Submitting again may help."""

    kind: Literal["retryable_block"] = "retryable_block"
    reason: RetryableReason
    retry_attempt_id: AttemptId
    validation_ref: NonEmpty | None = None
    blockers: BlockerReport


class TerminalBlock(ClosedWire):
    """Submitting again can't help."""

    kind: Literal["terminal_block"] = "terminal_block"
    reason: TerminalReason
    validation_ref: NonEmpty | None = None
    blockers: BlockerReport


class InitState(ClosedWire):
    """Nothing was selected yet."""

    kind: Literal["init"] = "init"


class RunningState(_Progress):
    """Under way."""

    kind: Literal["running"] = "running"


class BlockedState(_Progress):
    """Under way, but the last attempt was refused."""

    kind: Literal["blocked"] = "blocked"
    blocked: Annotated[RetryableBlock | TerminalBlock, Field(discriminator="kind")]


class CompleteState(ClosedWire):
    """Over."""

    kind: Literal["complete"] = "complete"


EngineState: TypeAlias = Annotated[InitState | RunningState | BlockedState | CompleteState, Field(discriminator="kind")]


class GateCheckpoint(ClosedWire):
    """The gate a step waits at. `confirmation_required` is an old word, read but not written."""

    step_id: StepId
    gate_kind: GateKind | Literal["confirmation_required"]


class EnginePayload(ClosedWire):
    """The state, and the gate in front of it if there is one."""

    v: Literal[1] = 1
    engine_state: EngineState
    gate_checkpoint: GateCheckpoint | None = None


class ExecutionSnapshot(ClosedWire):
    """One snapshot file."""

    v: Literal[1] = 1
    kind: Literal["execution_snapshot"] = "execution_snapshot"
    engine_payload: EnginePayload

    @property
    def state(self) -> InitState | RunningState | BlockedState | CompleteState:
        """The engine state inside."""
        return self.engine_payload.engine_state

    @property
    def pending_step(self) -> StepInstance | None:
        """The step that waits for its output."""
        state = self.state
        if isinstance(state, RunningState | BlockedState) and isinstance(state.pending, StepPending):
            return state.pending.step
        return None

    @property
    def execution_state(self) -> State:
        """The state as the interpreter takes it; a blocked one is under way, its step still pending."""
        return state_from_json(self.state.to_wire())

    @property
    def is_complete(self) -> bool:
        """True at the end of a run."""
        return isinstance(self.state, CompleteState)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return canonical_bytes(self.to_wire())

    @property
    def ref(self) -> ids.SnapshotRef:
        """The content address: the name of the file."""
        return ids.SnapshotRef(digest(self.to_bytes()))


def snapshot_of(
    state: State, *, blocked: RetryableBlock | TerminalBlock | None = None, gate: GateCheckpoint | None = None
) -> ExecutionSnapshot:
    """The snapshot of a state, perhaps with the block that its last attempt ran into or the gate it waits at."""
    progress = state_to_json(state)
    if blocked is not None:
        progress |= {"kind": "blocked", "blocked": blocked.to_wire()}
    payload: dict[str, Json] = {"v": 1, "engineState": progress}
    if gate is not None:
        payload["gateCheckpoint"] = gate.to_wire()
    return ExecutionSnapshot.from_wire({"v": 1, "kind": "execution_snapshot", "enginePayload": payload})


_SNAPSHOT: TypeAdapter[ExecutionSnapshot] = TypeAdapter(ExecutionSnapshot)


def read_snapshot(raw: bytes) -> Ok[ExecutionSnapshot] | Err[CorruptionReason]:
    """The snapshot in the bytes of a file."""
    return read_record(raw, _SNAPSHOT)


def snapshot_from(value: Json) -> Ok[ExecutionSnapshot] | Err[CorruptionReason]:
    """The snapshot in a decoded JSON value."""
    return read_value(value, _SNAPSHOT)
