"""Ports of the engine: a clock, stores, locks, files. Protocols and errors, no behaviour.

The file operations are few, and each one is a place where a crash can strike. Paths are relative to the data root and
use `/`. Failures are raised as OSError; the stores turn them into values. The disk adapter is `disk.DiskFiles`, the one
in memory `memory.TreeFiles`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar, Literal, Protocol, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.ids import SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.store.plan import AppendPermit, AppendPlan, SessionEntry, SessionTruth, ValidatedPrefix
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class WriteHandle(Protocol):
    """An open file. What was written is safe only after `sync` returned."""

    def write(self, data: bytes) -> None:
        """Add bytes at the end, all of them."""
        ...

    def write_whole(self, data: bytes) -> None:
        """Add bytes at the end, all of them or, if that fails, none. For a file that has one writer at a time."""
        ...

    def sync(self) -> None:
        """Make everything written so far survive a power failure."""
        ...


class Stamp(Struct, frozen=True):
    """The version of a file, to detect changes since it was read: its size, and a value that every write changes."""

    size: int
    version: object


class Hold(Protocol):
    """A folder that is held by one only, in any thread or process that asks for it."""

    @property
    def is_certain(self) -> bool:
        """False where the system has no such locks, so another process may hold the folder too."""
        ...

    @property
    def is_ours(self) -> bool:
        """False in a copy of the process that took it."""
        ...

    def release(self) -> None:
        """Let others have it; a copy of the process only lets go of its share."""
        ...


class Spare(Protocol):
    """A file without a name. It is gone with the process."""

    def link(self, path: str) -> bool:
        """Give it its name, once; False when the name is taken, or when its content may still be lost."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Files(Protocol):
    """A folder of files."""

    def read(self, path: str, offset: int = 0) -> bytes | None:
        """The bytes of a file from an offset on; None when there is no such file."""
        ...

    def exists(self, path: str) -> bool:
        """True when there is a file or folder of that name."""
        ...

    def list_dir(self, path: str) -> list[str]:
        """The names in a folder; none when there is no such folder."""
        ...

    def modified_ms(self, path: str) -> int | None:
        """When a file or folder last changed; None when that is unknown."""
        ...

    def make_dir(self, path: str) -> None:
        """Make a folder and the ones above it; not an error when it exists."""
        ...

    def create(self, path: str) -> AbstractContextManager[WriteHandle]:
        """Open an empty file for writing, emptying what was there."""
        ...

    def extend(self, path: str) -> AbstractContextManager[WriteHandle]:
        """Open a file for adding to its end; made when missing."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Give a file another name, in one step, taking the place of what had it."""
        ...

    def sync(self, path: str) -> None:
        """Make a file survive a power failure, whoever wrote it."""
        ...

    def sync_dir(self, path: str) -> None:
        """Make the names in a folder survive a power failure."""
        ...

    def sync_later(self, path: str, *, name: bool = True) -> None:
        """Let the next `sync_pending` make a file survive a power failure, and its name if that is new."""
        ...

    def is_pending(self, path: str) -> bool:
        """True while a file waits for `sync_pending`."""
        ...

    def sync_pending(self) -> None:
        """Make all files that wait for it survive a power failure, with their names."""
        ...

    def stamp(self, path: str) -> Stamp | None:
        """The stamp of a file; None when there is no such file."""
        ...

    def spare(self, folder: str, data: bytes) -> Spare | None:
        """A file with some content, in a folder but without a name; None where that can't be had.

        The next `sync_pending` makes it survive a power failure, if it has a name by then or later.
        """
        ...

    def link(self, source: str, target: str) -> bool:
        """Give a file a second name; False when the name is taken."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; not an error when it is gone."""
        ...

    def hold(self, path: str) -> Hold | None:
        """Be the only one to hold a folder until it is released, or until this process ends; None when it is held."""
        ...

    def sweep(self, path: str) -> None:
        """Remove the temporary files in a folder that no living process is writing."""
        ...


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
    out_of_space: bool = False


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
    out_of_space: bool = False


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

    def put_ir(self, workflow_hash: WorkflowHash, ir: dict[str, Json]) -> Ok[None] | Err[ContentError]:
        """Keep the IR of a pin of the public engine beside it."""
        ...

    def get_ir(self, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        """The IR that is kept beside a pin; None when there is none."""
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
    out_of_space: bool = False


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
