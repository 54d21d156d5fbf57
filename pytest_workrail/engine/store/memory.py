"""Stores and locks in memory. They behave like those on files, and are gone with the process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_workrail.engine.model.base import decode_json
from pytest_workrail.engine.model.ids import IdMint, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.store import layout, log
from pytest_workrail.engine.store.durable import PendingSyncs
from pytest_workrail.engine.store.gate import Gate, Home
from pytest_workrail.engine.store.plan import (
    AppendPermit,
    AppendPlan,
    Complete,
    SessionEntry,
    SessionTruth,
    ValidatedPrefix,
)
from pytest_workrail.engine.store.ports import (
    RETRY_AFTER_MS,
    Clock,
    ContentError,
    Hold,
    LockBusy,
    LockIoError,
    Spare,
    Stamp,
    StoreError,
    StoreInvariantViolation,
    Stores,
    WriteHandle,
)
from pytest_workrail.engine.store.token_store import MemoryAliasIndex, MemoryKeyring
from pytest_workrail.engine.tokens.issuer import Entropy, TokenIssuer
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class FixedClock:
    """A clock that moves one step each time it is asked."""

    def __init__(self, start_ms: int = 1_700_000_000_000, step_ms: int = 0) -> None:
        self._next = start_ms
        self._step = step_ms

    def now_ms(self) -> int:
        now = self._next
        self._next += self._step
        return now


class SeededEntropy:
    """Bytes that look random and are the same for the same seed."""

    def __init__(self, seed: str = "") -> None:
        self._seeded = hashlib.sha256(seed.encode("utf-8"))
        self._drawn = 0

    def generate(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            block = self._seeded.copy()
            block.update(self._drawn.to_bytes(8, "big"))
            out += block.digest()
            self._drawn += 1
        return out[:size]


class _Handle:
    __slots__ = ("_contents", "_path")

    def __init__(self, contents: dict[str, bytes], path: str) -> None:
        self._contents = contents
        self._path = path

    def write(self, data: bytes) -> None:
        self._contents[self._path] += data

    def write_whole(self, data: bytes) -> None:
        self.write(data)

    def sync(self) -> None:
        pass


class _Hold:
    __slots__ = ("_held", "_path")
    is_certain = True
    is_ours = True

    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        self._held.discard(self._path)


class TreeFiles(PendingSyncs):
    """The file operations, on a mapping from path to bytes. Time is a count of changes."""

    def __init__(self, contents: dict[str, bytes] | None = None) -> None:
        super().__init__()
        self.contents: dict[str, bytes] = {} if contents is None else contents
        self._changes = 0
        self._modified: dict[str, int] = {}
        self._held: set[str] = set()

    def _touch(self, path: str) -> None:
        self._changes += 1
        while path:
            self._modified[path] = self._changes
            path = path.rpartition("/")[0]

    def read(self, path: str, offset: int = 0) -> bytes | None:
        content = self.contents.get(path)
        return None if content is None else content[offset:]

    def exists(self, path: str) -> bool:
        return path in self.contents or bool(self.list_dir(path))

    def list_dir(self, path: str) -> list[str]:
        prefix = f"{path}/"
        return sorted({name[len(prefix) :].partition("/")[0] for name in self.contents if name.startswith(prefix)})

    def modified_ms(self, path: str) -> int | None:
        return self._modified.get(path, 0) if self.exists(path) else None

    def make_dir(self, path: str) -> None:
        pass

    @contextmanager
    def create(self, path: str) -> Iterator[WriteHandle]:
        self.contents[path] = b""
        self._touch(path)
        yield _Handle(self.contents, path)

    @contextmanager
    def extend(self, path: str) -> Iterator[WriteHandle]:
        self.contents.setdefault(path, b"")
        self._touch(path)
        yield _Handle(self.contents, path)

    def replace(self, source: str, target: str) -> None:
        if source not in self.contents:
            raise FileNotFoundError(source)
        self.contents[target] = self.contents.pop(source)
        self._touch(target)

    def sync(self, path: str) -> None:
        pass

    def sync_dir(self, path: str) -> None:
        pass

    def stamp(self, path: str) -> Stamp | None:
        content = self.contents.get(path)
        return None if content is None else Stamp(len(content), content)

    def spare(self, folder: str, data: bytes) -> Spare | None:
        return None

    def link(self, source: str, target: str) -> bool:
        if target in self.contents:
            return False
        self.contents[target] = self.contents[source]
        self._touch(target)
        return True

    def remove(self, path: str) -> None:
        if self.contents.pop(path, None) is not None:
            self._touch(path)

    def hold(self, path: str) -> Hold | None:
        return None if path in self._held else _Hold(self._held, path)

    def sweep(self, path: str) -> None:
        for name in self.list_dir(path):
            if name.endswith(layout.ASIDE):
                self.remove(f"{path}/{name}")


_DONE = Ok(None)
_EMPTY = Ok(SessionTruth())


class MemorySessionStore:
    """Sessions in a dictionary. A session changed last when its last event says so."""

    def __init__(self) -> None:
        self._sessions: dict[SessionId, Ok[SessionTruth]] = {}

    def load(self, session_id: SessionId) -> Ok[SessionTruth] | Err[StoreError]:
        return self._sessions.get(session_id, _EMPTY)

    def load_validated_prefix(self, session_id: SessionId) -> Ok[ValidatedPrefix] | Err[StoreError]:
        return Ok(ValidatedPrefix(self._sessions.get(session_id, _EMPTY).value, Complete()))

    def list_sessions(self) -> Ok[tuple[SessionEntry, ...]] | Err[StoreError]:
        entries = [
            SessionEntry(session_id, loaded.value.events[-1].timestamp_ms)
            for session_id, loaded in self._sessions.items()
        ]
        return Ok(tuple(sorted(entries, key=lambda entry: (-entry.modified_ms, entry.session_id))))

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Ok[None] | Err[StoreError]:
        if not permit.is_held:
            return Err(StoreInvariantViolation("the gate call that allowed this append is over"))
        session_id = permit.session_id
        truth = self._sessions.get(session_id, _EMPTY).value
        prepared = log.prepare(session_id, truth, plan)
        if isinstance(prepared, Err):
            return prepared
        if prepared.value is not None:
            # The events as read back, not the caller's objects, whose contexts the caller could still change.
            self._sessions[session_id] = Ok(truth.extended(prepared.value.events, prepared.value.records))
        return _DONE


class MemorySnapshotStore:
    """Snapshots in a dictionary."""

    def __init__(self) -> None:
        self._snapshots: dict[SnapshotRef, Ok[ExecutionSnapshot | None]] = {}

    def put(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ContentError]:
        ref = snapshot.ref
        self._snapshots.setdefault(ref, Ok(snapshot))
        return Ok(ref)

    def get(self, ref: SnapshotRef) -> Ok[ExecutionSnapshot | None] | Err[ContentError]:
        return self._snapshots.get(ref, _DONE)


class MemoryPinnedWorkflowStore:
    """Pinned workflows in a dictionary, as bytes, so that nobody can change one."""

    def __init__(self) -> None:
        self._workflows: dict[WorkflowHash, bytes] = {}
        self._compiled: dict[WorkflowHash, bytes] = {}

    def put(self, workflow: dict[str, Json]) -> Ok[WorkflowHash] | Err[ContentError]:
        try:
            raw = canonical_bytes(workflow)
        except CanonicalError as problem:
            return Err(ContentError("PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED", str(problem)))
        workflow_hash = WorkflowHash(digest(raw))
        self._workflows.setdefault(workflow_hash, raw)
        return Ok(workflow_hash)

    def put_ir(self, workflow_hash: WorkflowHash, ir: dict[str, Json]) -> Ok[None] | Err[ContentError]:
        self._compiled.setdefault(workflow_hash, canonical_bytes(ir))
        return _DONE

    def get_ir(self, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        return self._decoded(self._compiled.get(workflow_hash), workflow_hash)

    def get(self, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        return self._decoded(self._workflows.get(workflow_hash), workflow_hash)

    @staticmethod
    def _decoded(raw: bytes | None, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        if raw is None:
            return Ok(None)
        decoded = decode_json(raw)
        if isinstance(decoded, Err) or not isinstance(decoded.value, dict):
            message = f"{workflow_hash} is not a workflow"
            return Err(ContentError("PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED", message))
        return Ok(decoded.value)


class MemorySessionLock:
    """Locks in a set."""

    def __init__(self) -> None:
        self._held: set[SessionId] = set()

    def acquire(self, session_id: SessionId) -> Ok[None] | Err[LockBusy | LockIoError]:
        if session_id in self._held:
            return Err(LockBusy("The session is locked: it is held. Try again shortly.", RETRY_AFTER_MS))
        self._held.add(session_id)
        return _DONE

    def release(self, session_id: SessionId) -> Ok[None] | Err[LockIoError]:
        if session_id not in self._held:
            return Err(LockIoError("the lock is no longer ours"))
        self._held.remove(session_id)
        return _DONE

    def holds(self, session_id: SessionId) -> bool:
        return session_id in self._held


def in_memory(clock: Clock, entropy: Entropy) -> Home:
    """A home that is gone with the process. Its key is the public test key, so tokens can be reproduced."""
    sessions = MemorySessionStore()
    keyring = MemoryKeyring(entropy)
    return Home(
        stores=Stores(sessions, MemorySnapshotStore(), MemoryPinnedWorkflowStore()),
        gate=Gate(sessions, MemorySessionLock()),
        issuer=TokenIssuer(keyring, MemoryAliasIndex(), entropy),
        keyring=keyring,
        mint=IdMint(entropy.generate),
        clock=clock,
        entropy=entropy,
    )
