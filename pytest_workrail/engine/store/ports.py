"""What the engine needs from outside: a clock, stores and locks. Protocols and errors, no behaviour."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.ids import SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.store.loaded import AppendPermit, SessionEntry, SessionTruth, ValidatedPrefix
from pytest_workrail.engine.store.plan import AppendPlan
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

Location: TypeAlias = Literal["head", "tail"]


class Clock(Protocol):
    """The time, for people to read."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        ...


class StoreLockBusy(Struct, frozen=True):
    """Somebody else writes to the session."""

    code: ClassVar[Literal["SESSION_STORE_LOCK_BUSY"]] = "SESSION_STORE_LOCK_BUSY"
    message: str
    retry_after_ms: int


class StoreIoError(Struct, frozen=True):
    """The disk refused."""

    code: ClassVar[Literal["SESSION_STORE_IO_ERROR"]] = "SESSION_STORE_IO_ERROR"
    message: str


class StoreCorruption(Struct, frozen=True):
    """The stored bytes are not what a writer left. `head`: nothing can be trusted; `tail`: a prefix can."""

    code: ClassVar[Literal["SESSION_STORE_CORRUPTION_DETECTED"]] = "SESSION_STORE_CORRUPTION_DETECTED"
    location: Location
    reason: CorruptionReason


class StoreInvariantViolation(Struct, frozen=True):
    """The caller asked for something that must not happen. Nothing was written."""

    code: ClassVar[Literal["SESSION_STORE_INVARIANT_VIOLATION"]] = "SESSION_STORE_INVARIANT_VIOLATION"
    message: str


StoreError: TypeAlias = StoreLockBusy | StoreIoError | StoreCorruption | StoreInvariantViolation


class SessionReader(Protocol):
    """Sessions, to look at."""

    def load(self, session_id: SessionId) -> Ok[SessionTruth] | Err[StoreError]:
        """The whole verified log; an unknown session is an empty one."""
        ...

    def load_validated_prefix(self, session_id: SessionId) -> Ok[ValidatedPrefix] | Err[StoreError]:
        """As much of the log as can be trusted. Never written back."""
        ...

    def list_sessions(self) -> Ok[tuple[SessionEntry, ...]] | Err[StoreError]:
        """Every session, last modified first, then by name."""
        ...


class SessionStore(SessionReader, Protocol):
    """Sessions, to look at and to add to."""

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Ok[None] | Err[StoreError]:
        """Add a plan as a whole, durably. A plan that is already there is a success that writes nothing."""
        ...


class ContentError(Struct, frozen=True):
    """A content-addressed file could not be read, written or trusted."""

    code: Literal[
        "SNAPSHOT_STORE_IO_ERROR",
        "SNAPSHOT_STORE_CORRUPTION_DETECTED",
        "PINNED_WORKFLOW_STORE_IO_ERROR",
        "PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED",
    ]
    message: str


class SnapshotStore(Protocol):
    """Snapshots by content. Store one before the event that names it."""

    def put(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ContentError]:
        """Keep a snapshot; one that is there already is left alone."""
        ...

    def get(self, ref: SnapshotRef) -> Ok[ExecutionSnapshot | None] | Err[ContentError]:
        """The snapshot of a reference; None when there is none."""
        ...


class PinnedWorkflowStore(Protocol):
    """Compiled workflows by hash: what runs, whatever becomes of the file it came from."""

    def put(self, workflow: dict[str, Json]) -> Ok[WorkflowHash] | Err[ContentError]:
        """Keep a workflow; one that is there already is left alone."""
        ...

    def get(self, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        """The workflow of a hash; None when there is none."""
        ...


RETRY_AFTER_MS = 250


class LockBusy(Struct, frozen=True):
    """The session is held; try again later."""

    code: ClassVar[Literal["SESSION_LOCK_BUSY"]] = "SESSION_LOCK_BUSY"
    message: str
    retry_after_ms: int


class LockIoError(Struct, frozen=True):
    """The lock could not be read, taken or given back."""

    code: ClassVar[Literal["SESSION_LOCK_IO_ERROR"]] = "SESSION_LOCK_IO_ERROR"
    message: str


class SessionLock(Protocol):
    """One writer per session, across processes. Nobody waits: busy is an answer."""

    def acquire(self, session_id: SessionId) -> Ok[None] | Err[LockBusy | LockIoError]:
        """Take the session."""
        ...

    def release(self, session_id: SessionId) -> Ok[None] | Err[LockIoError]:
        """Give the session back."""
        ...

    def holds(self, session_id: SessionId) -> bool:
        """Whether the session is ours; in a copy of the process that took it, it is not."""
        ...


class Stores(Struct, frozen=True):
    """Where sessions and what they need are kept."""

    sessions: SessionStore
    snapshots: SnapshotStore
    workflows: PinnedWorkflowStore
