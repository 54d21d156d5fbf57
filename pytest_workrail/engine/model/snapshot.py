"""Execution snapshots: what is needed to continue from a node, and nothing else.

Closed shapes throughout, and states that can't occur can't be built: completed keys are sorted and unique, a
loop is on the stack once, the pending step is where the stack says and is not completed yet.
"""

from functools import cached_property
from typing import Literal, TypeAlias

from pytest_workrail.engine.model.base import Closed, CorruptionReason, NonEmpty, Shape, StoredRecord, canonical
from pytest_workrail.engine.model.blockers import BlockerReport
from pytest_workrail.engine.model.ids import AttemptId, SnapshotRef, StepId
from pytest_workrail.engine.model.reasons import RetryableReason, TerminalReason
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame, StepInstance
from pytest_workrail.engine.model.words import GateKind
from workrail_lint.base.canonical import digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class NothingPending(Closed, frozen=True, tag_field="kind", tag="none"):
    """No step is pending, said explicitly."""


class StepPending(Closed, frozen=True, tag_field="kind", tag="some"):
    """A step waits for its output."""

    step: StepInstance


Pending: TypeAlias = NothingPending | StepPending


class CompletedSet(Closed, frozen=True, tag_field="kind", tag="set"):
    """The step instances that are done, and the loops that are left."""

    values: CompletedKeys


class _Progress(Closed, frozen=True, tag_field="kind"):
    completed: CompletedSet
    loop_stack: tuple[LoopFrame, ...]
    pending: Pending

    def __post_init__(self) -> None:
        if len({frame.loop_id for frame in self.loop_stack}) != len(self.loop_stack):
            raise ValueError("a loop is on the stack once")
        if isinstance(self.pending, StepPending):
            step = self.pending.step
            stack = [(frame.loop_id, frame.iteration) for frame in self.loop_stack]
            if [(place.loop_id, place.iteration) for place in step.loop_path] != stack:
                raise ValueError("the pending step is where the loop stack says")
            if step.key in self.completed.values:
                raise ValueError("a completed step can't be pending")


class _Block(Closed, frozen=True, tag_field="kind"):
    """The primary reason of a block, and the blockers that the agent received."""

    reason: RetryableReason | TerminalReason
    blockers: BlockerReport
    validation_ref: NonEmpty | None = None

    def __post_init__(self) -> None:
        if not self.reason.is_stored:
            raise ValueError("the reason has members that are not stored")

    @property
    def is_plain(self) -> bool:
        return self.reason.is_plain and self.blockers.is_plain


class RetryableBlock(_Block, frozen=True, tag="retryable_block", kw_only=True):
    """Submitting again may help."""

    reason: RetryableReason
    retry_attempt_id: AttemptId


class TerminalBlock(_Block, frozen=True, tag="terminal_block"):
    """Submitting again can't help."""

    reason: TerminalReason


Block: TypeAlias = RetryableBlock | TerminalBlock


class InitState(Closed, frozen=True, tag_field="kind", tag="init"):
    """Nothing was selected yet."""


class RunningState(_Progress, frozen=True, tag="running"):
    """Under way."""


class BlockedState(_Progress, frozen=True, tag="blocked"):
    """Under way, but the last attempt was refused."""

    blocked: Block

    @property
    def is_plain(self) -> bool:
        return self.blocked.is_plain


class CompleteState(Closed, frozen=True, tag_field="kind", tag="complete"):
    """Over."""


EngineState: TypeAlias = InitState | RunningState | BlockedState | CompleteState


class GateCheckpoint(Closed, frozen=True):
    """The gate a step waits at. `confirmation_required` is an old word, read but not written."""

    step_id: StepId
    gate_kind: GateKind | Literal["confirmation_required"]


class EnginePayload(Closed, frozen=True):
    """The state, and the gate in front of it if there is one."""

    v: Literal[1]
    engine_state: EngineState
    gate_checkpoint: GateCheckpoint | None = None

    @property
    def is_plain(self) -> bool:
        return self.engine_state.is_plain


class ExecutionSnapshot(
    StoredRecord, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="execution_snapshot"
):
    """One snapshot file."""

    v: Literal[1]
    engine_payload: EnginePayload

    @property
    def is_plain(self) -> bool:
        return self.engine_payload.is_plain

    @property
    def state(self) -> EngineState:
        """The engine state inside."""
        return self.engine_payload.engine_state

    @property
    def gate(self) -> GateCheckpoint | None:
        """The gate that the pending step waits at."""
        return self.engine_payload.gate_checkpoint

    @property
    def pending_step(self) -> StepInstance | None:
        """The step that waits for its output."""
        state = self.state
        if isinstance(state, _Progress) and isinstance(state.pending, StepPending):
            return state.pending.step
        return None

    @property
    def is_complete(self) -> bool:
        """True at the end of a run."""
        return isinstance(self.state, CompleteState)

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return canonical(self)

    @cached_property
    def ref(self) -> SnapshotRef:
        """The content address: the name of the file."""
        return SnapshotRef(digest(self.to_bytes()))


SNAPSHOTS: Shape[ExecutionSnapshot] = Shape(ExecutionSnapshot)


def read_snapshot(raw: bytes) -> Ok[ExecutionSnapshot] | Err[CorruptionReason]:
    """Return the snapshot in the bytes of a file."""
    return SNAPSHOTS.read_line(raw)


def snapshot_from(value: Json) -> Ok[ExecutionSnapshot] | Err[CorruptionReason]:
    """Return the snapshot in a decoded JSON value."""
    return SNAPSHOTS.read_value(value)
