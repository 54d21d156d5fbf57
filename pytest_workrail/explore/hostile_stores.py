"""Stores whose process can die at any write, and the homes made of them."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pytest_workrail.engine.events.ids import SessionId, SnapshotRef
from pytest_workrail.engine.events.plan import AppendPlan
from pytest_workrail.engine.events.snapshot import ExecutionSnapshot
from pytest_workrail.engine.store.clocks import FixedClock, SeededEntropy
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.home import Home, in_memory, on_files
from pytest_workrail.engine.store.identity import Holder
from pytest_workrail.engine.store.loaded import SessionEntry, SessionTruth, ValidatedPrefix
from pytest_workrail.engine.store.memory import MemorySessionLock
from pytest_workrail.engine.store.permit import AppendPermit
from pytest_workrail.engine.store.ports import ContentError, SessionStore, SnapshotStore, StoreError, Stores
from pytest_workrail.engine.store.tree import TreeFiles
from pytest_workrail.records import replace
from workrail_lint.base.result import Err, Ok

# Where a process dies: around the write of the state, or around the write of the log.
CrashPoint: TypeAlias = Literal["before-state", "after-state", "before-log", "after-log"]
CRASH_POINTS: tuple[CrashPoint, ...] = get_args(CrashPoint)


class Crash(BaseException):
    """The process died. No handler of the engine may catch it, so it is no Exception."""


class Fuse:
    """Blows once at the point it is set to."""

    def __init__(self) -> None:
        self.point: CrashPoint | None = None

    def reach(self, point: CrashPoint) -> None:
        if self.point == point:
            self.point = None
            raise Crash


class _MortalSessions:
    def __init__(self, inner: SessionStore, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def load(self, session_id: SessionId) -> Ok[SessionTruth] | Err[StoreError]:
        return self._inner.load(session_id)

    def load_validated_prefix(self, session_id: SessionId) -> Ok[ValidatedPrefix] | Err[StoreError]:
        return self._inner.load_validated_prefix(session_id)

    def list_sessions(self) -> Ok[tuple[SessionEntry, ...]] | Err[StoreError]:
        return self._inner.list_sessions()

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Ok[None] | Err[StoreError]:
        self._fuse.reach("before-log")
        written = self._inner.append(permit, plan)
        self._fuse.reach("after-log")
        return written


class _MortalSnapshots:
    def __init__(self, inner: SnapshotStore, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def put(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ContentError]:
        self._fuse.reach("before-state")
        kept = self._inner.put(snapshot)
        self._fuse.reach("after-state")
        return kept

    def get(self, ref: SnapshotRef) -> Ok[ExecutionSnapshot | None] | Err[ContentError]:
        return self._inner.get(ref)


class MortalHomes:
    """The homes of one session, one after the other: each takes over what the last one has stored."""

    def __init__(self, seed: str, *, files: bool) -> None:
        self.fuse = Fuse()
        self._clock = FixedClock(step_ms=1)
        self._entropy = SeededEntropy(seed)
        self._contents: dict[str, bytes] | None = {} if files else None
        self._kept: Home | None = None
        self._holders = 0

    def next(self) -> Home:
        """A home as the next process finds it: nothing that was only in memory is left, locks included."""
        if self._contents is not None:
            self._holders += 1
            holder = Holder(self._holders, "main", f"process{self._holders}", None)
            home = on_files(TreeFiles(self._contents), self._clock, self._entropy, holder)
        else:
            home = self._kept or in_memory(self._clock, self._entropy)
            self._kept = self._kept or home
        stores = home.stores
        sessions = _MortalSessions(stores.sessions, self.fuse)
        mortal = Stores(sessions, _MortalSnapshots(stores.snapshots, self.fuse), stores.workflows)
        # The gate of files reads the same log and holds the same lock; that in memory is made anew.
        gate = home.gate if self._contents is not None else Gate(sessions, MemorySessionLock())
        return replace(home, stores=mortal, gate=gate)
