"""Execution snapshots: what is needed to continue from a node, and nothing else.

Closed shapes throughout, and states that can't occur can't be built: completed keys are sorted and unique, a
loop is on the stack once, the pending step stands where the stack says and is not completed yet.
"""

from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

from pytest_workrail.engine.core import state as core
from pytest_workrail.engine.core import values
from pytest_workrail.engine.core.state import State
from pytest_workrail.engine.core.values import collation_key, parse_step_key, step_key
from pytest_workrail.engine.core.vocabulary import GateKind
from pytest_workrail.engine.events import ids
from pytest_workrail.engine.events.blockers import BlockerReport, RetryableReason, TerminalReason
from pytest_workrail.engine.events.fields import AttemptId, SafeId, StepId
from pytest_workrail.engine.events.shapes import Holds, Shape, Tagged
from pytest_workrail.engine.events.wire import (
    ClosedWire,
    CorruptionReason,
    Index,
    Items,
    NonEmpty,
    read_record,
    read_value,
)
from workrail_lint.base.canonical import canonical_bytes, canonical_record, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


def _instance_key(text: str) -> str:
    if isinstance(parse_step_key(text), Err):
        raise ValueError("must be the key of a step instance")
    return text


InstanceKey: TypeAlias = Annotated[str, Holds(_instance_key)]


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


Pending: TypeAlias = Annotated[NothingPending | StepPending, Tagged("kind")]


class CompletedSet(ClosedWire):
    """The step instances that are done, and the loops that are left."""

    kind: Literal["set"] = "set"
    values: Items[InstanceKey]

    def check_together(self) -> None:
        order = [collation_key(value) for value in self.values]
        if any(not before < after for before, after in pairwise(order)):
            raise ValueError("completed keys are sorted and unique")


class _Progress(ClosedWire):
    completed: CompletedSet
    loop_stack: Items[LoopFrame]
    pending: Pending

    def check_together(self) -> None:
        self.check_stack()
        if isinstance(self.pending, StepPending) and self.pending.step.key in self.completed.values:
            raise ValueError("a completed step can't be pending")

    def check_stack(self) -> None:
        """Check that the open loops agree with each other and with the pending step. Raises ValueError."""
        loops = {frame.loop_id for frame in self.loop_stack}
        if len(loops) != len(self.loop_stack):
            raise ValueError("a loop is on the stack once")
        if isinstance(self.pending, StepPending):
            stack = [(frame.loop_id, frame.iteration) for frame in self.loop_stack]
            if [(place.loop_id, place.iteration) for place in self.pending.step.loop_path] != stack:
                raise ValueError("the pending step stands where the loop stack says")


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


Block: TypeAlias = Annotated[RetryableBlock | TerminalBlock, Tagged("kind")]


class BlockedState(_Progress):
    """Under way, but the last attempt was refused."""

    kind: Literal["blocked"] = "blocked"
    blocked: Block


class CompleteState(ClosedWire):
    """Over."""

    kind: Literal["complete"] = "complete"


EngineState: TypeAlias = Annotated[InitState | RunningState | BlockedState | CompleteState, Tagged("kind")]


class GateCheckpoint(ClosedWire):
    """The gate a step waits at. `confirmation_required` is an old word, read but not written."""

    step_id: StepId
    gate_kind: GateKind | Literal["confirmation_required"]


class EnginePayload(ClosedWire):
    """The state, and the gate in front of it if there is one."""

    v: Literal[1] = 1
    engine_state: EngineState
    gate_checkpoint: GateCheckpoint | None = None


_UNDER_WAY = (
    b'{"enginePayload":{"engineState":{%b"completed":{"kind":"set","values":["%b"]},%b%b,"v":1},'
    b'"kind":"execution_snapshot","v":1}'
)


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
        if isinstance(state, _Progress) and isinstance(state.pending, StepPending):
            return state.pending.step
        return None

    @cached_property
    def execution_state(self) -> State:
        """The state as the interpreter takes it; a blocked one is under way, its step still pending."""
        state = self.state
        match state:
            case InitState():
                return core.Init()
            case CompleteState():
                return core.Complete()
            case RunningState() | BlockedState():
                return core.Running(
                    core.CompletedKeys.from_ordered(state.completed.values),
                    tuple(
                        core.LoopFrame(frame.loop_id, frame.iteration, frame.body_index) for frame in state.loop_stack
                    ),
                    self.pending_instance,
                )

    @cached_property
    def pending_instance(self) -> core.StepInstance | None:
        """The pending step as the interpreter takes it."""
        step = self.pending_step
        if step is None:
            return None
        path = tuple(values.LoopPosition(place.loop_id, place.iteration) for place in step.loop_path)
        return core.StepInstance(step.step_id, path)

    @property
    def is_complete(self) -> bool:
        """True at the end of a run."""
        return isinstance(self.state, CompleteState)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        state = self.state
        if not isinstance(state, _Progress) or not state.completed.values:
            return canonical_bytes(self.to_wire())
        rest = {
            "kind": state.kind,
            "loopStack": [frame.to_wire() for frame in state.loop_stack],
            "pending": state.pending.to_wire(),
        }
        gate = self.engine_payload.gate_checkpoint
        return _UNDER_WAY % (
            b'"blocked":%b,' % canonical_bytes(state.blocked.to_wire()) if isinstance(state, BlockedState) else b"",
            # Most of a long run, and none of the keys needs an escape.
            '","'.join(state.completed.values).encode("ascii"),
            # Only a loop has numbers, and they may be huge.
            (canonical_bytes if state.loop_stack else canonical_record)(rest)[1:],
            b',"gateCheckpoint":%b' % canonical_bytes(gate.to_wire()) if gate is not None else b"",
        )

    @cached_property
    def ref(self) -> ids.SnapshotRef:
        """The content address: the name of the file."""
        return ids.SnapshotRef(digest(self.to_bytes()))


def snapshot_of(
    state: State,
    *,
    blocked: RetryableBlock | TerminalBlock | dict[str, Json] | None = None,
    gate: GateCheckpoint | dict[str, Json] | None = None,
) -> ExecutionSnapshot:
    """The snapshot of a state, perhaps with the block that its last attempt ran into or the gate it waits at.

    Everything is checked but the completed keys that were checked for an earlier snapshot of the same run.
    """
    payload = EnginePayload.built(
        engine_state=_stored(state, blocked),
        gate_checkpoint=None if gate is None else GateCheckpoint.from_wire(gate),
    )
    made = ExecutionSnapshot.built(engine_payload=payload)
    if isinstance(state, core.Running):
        made.__dict__.update(execution_state=state, pending_instance=state.pending)
    return made


def _stored(
    state: State, blocked: RetryableBlock | TerminalBlock | dict[str, Json] | None
) -> InitState | RunningState | BlockedState | CompleteState:
    if not isinstance(state, core.Running):
        return InitState() if isinstance(state, core.Init) else CompleteState()
    pending: NothingPending | StepPending = NothingPending.built()
    if state.pending is not None:
        if state.pending.key in state.completed:
            raise ValueError("a completed step can't be pending")
        path = tuple(LoopPosition(loop_id=at.loop_id, iteration=at.iteration) for at in state.pending.loop_path)
        pending = StepPending.built(step=StepInstance(step_id=state.pending.step_id, loop_path=path))
    progress: dict[str, object] = {
        "completed": CompletedSet.built(values=state.completed.in_order(_instance_key)),
        "loop_stack": tuple(
            LoopFrame(loop_id=frame.loop_id, iteration=frame.iteration, body_index=frame.body_index)
            for frame in state.loop_stack
        ),
        "pending": pending,
    }
    if blocked is None:
        made: RunningState | BlockedState = RunningState.built(**progress)
    else:
        made = BlockedState.built(**progress, blocked=_BLOCK.read(blocked))
    made.check_stack()
    return made


_BLOCK: Shape[RetryableBlock | TerminalBlock] = Shape(Block)
_SNAPSHOT: Shape[ExecutionSnapshot] = Shape(ExecutionSnapshot)


def read_snapshot(raw: bytes) -> Ok[ExecutionSnapshot] | Err[CorruptionReason]:
    """The snapshot in the bytes of a file."""
    return read_record(raw, _SNAPSHOT)


def snapshot_from(value: Json) -> Ok[ExecutionSnapshot] | Err[CorruptionReason]:
    """The snapshot in a decoded JSON value."""
    return read_value(value, _SNAPSHOT)
