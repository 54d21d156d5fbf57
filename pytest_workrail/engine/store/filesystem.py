"""Durable sessions, snapshots and pinned workflows, on files.

One plan is one segment. A segment is written aside and renamed; it, the snapshots it names and whatever else waits
are made safe together, before one write and one sync of the manifest make it part of the log. Whatever the manifest
does not attest does not exist.

What was read and verified is remembered as long as the stamps of its files stay the same: always that of the
manifest and of the newest segments, and those of older segments in turn.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from pytest_workrail.engine.model.base import Value, decode_json, record_line
from pytest_workrail.engine.model.events import Event
from pytest_workrail.engine.model.ids import IdMint, SessionId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.manifest import SegmentClosed, segments
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot, read_snapshot
from pytest_workrail.engine.store import layout, log
from pytest_workrail.engine.store.durable import (
    is_out_of_space,
    make_durable,
    os_error_text,
    publish,
    unique_aside,
    write_soon,
)
from pytest_workrail.engine.store.gate import Gate, Home
from pytest_workrail.engine.store.log import ManifestReading, Prepared
from pytest_workrail.engine.store.plan import (
    AppendPermit,
    AppendPlan,
    Complete,
    SessionEntry,
    SessionTruth,
    Truncated,
    ValidatedPrefix,
)
from pytest_workrail.engine.store.ports import (
    RETRY_AFTER_MS,
    Clock,
    ContentError,
    Files,
    Hold,
    LockBusy,
    LockIoError,
    Spare,
    Stamp,
    StoreCorruption,
    StoreError,
    StoreInvariantViolation,
    StoreIoError,
    Stores,
)
from pytest_workrail.engine.store.token_store import FileAliasIndex, FileKeyring
from pytest_workrail.engine.tokens.issuer import Entropy, TokenIssuer
from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, digest
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class Machine(Struct, frozen=True):
    """Where a process runs. A process number means something only within its namespace, and within one boot."""

    host: str
    boot: str  # new each time a kernel starts; the same in all containers on it; empty where none is known
    booted_ms: int
    namespace: str
    process_started: str  # tells two processes apart that had the same number


class Holder(Struct, frozen=True):
    """A process, a worker in it, and one life of that worker; `machine` is None for one that does not say."""

    pid: int
    worker_id: str
    instance_id: str
    machine: Machine | None = None


_KEPT_SPARES = 16


class _LockFile(Value, frozen=True):
    v: Literal[1]
    session_id: str
    pid: int
    worker_id: str
    instance_id: str
    started_at_ms: int
    host: str | None = None
    boot: str | None = None
    namespace: str | None = None
    process_started: str | None = None


def process_is_alive(pid: int) -> bool:
    """True unless there is certainly no such process."""
    if sys.platform == "win32":
        return True  # there, signal 0 would end the process instead of probing it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OverflowError:
        return False  # no process can have such a number
    except OSError:
        return True  # it exists and belongs to somebody else
    return True


class FileSessionLock:
    """Locks as files beside the sessions."""

    def __init__(
        self,
        files: Files,
        holder: Holder,
        clock: Clock,
        is_alive: Callable[[int], bool] = process_is_alive,
    ) -> None:
        self._files = files
        self._holder = holder
        self._clock = clock
        self._is_alive = is_alive
        self._holds: dict[SessionId, Hold] = {}
        # For the next time a session is locked: a lock file whose content is safe by then.
        self._spares: OrderedDict[SessionId, Spare] = OrderedDict()
        self._swept: set[SessionId] = set()

    def acquire(self, session_id: SessionId) -> Ok[None] | Err[LockBusy | LockIoError]:
        folder = layout.session_dir(session_id)
        hold: Hold | None = None
        try:
            self._files.make_dir(folder)
            hold = self._files.hold(folder)
            if hold is None:
                return _busy("it is held")
            content = self._content(session_id)
            result = self._take(session_id, hold, content)
            if isinstance(result, Ok):
                self._holds[session_id] = hold
                self._prepare_next(session_id, content)
                return result
        except OSError as problem:
            result = Err(LockIoError(os_error_text(problem), is_out_of_space(problem)))
        except BaseException:  # an interrupt, which may come at any moment
            if hold is not None:
                self._holds[session_id] = hold
                self.release(session_id)
            raise
        self._holds.pop(session_id, None)
        if hold is not None:
            hold.release()
        return result

    def _take(self, session_id: SessionId, hold: Hold, content: bytes) -> Ok[None] | Err[LockBusy | LockIoError]:
        path = layout.lock(session_id)
        existing = self._files.read(path)
        if existing is not None:
            # Without the kernel's lock two that find the same dead owner could both take its place.
            if not hold.is_certain or not self._is_stale(existing):
                return _busy("it is held")
            self._files.remove(path)
            self._swept.discard(session_id)  # whoever died may have left more than a lock
        spare = self._spares.pop(session_id, None)
        if spare is not None:
            is_named = spare.link(path)
            spare.close()
            if is_named:
                return Ok(None)
        # A lock that a power failure takes away is one that nobody holds any more.
        is_new = publish(self._files, path, content, lasting=False)
        return Ok(None) if is_new else _busy("it is held")

    def _prepare_next(self, session_id: SessionId, content: bytes) -> None:
        folder = layout.session_dir(session_id)
        if session_id not in self._swept:
            self._files.sweep(folder)
            self._files.sweep(f"{folder}/{layout.EVENTS}")
            self._swept.add(session_id)
        # It says when its owner was here last, which is all that a start of the machine is compared with.
        spare = self._files.spare(folder, content)
        if spare is not None:
            self._spares[session_id] = spare
            if len(self._spares) > _KEPT_SPARES:
                self._spares.popitem(last=False)[1].close()

    def release(self, session_id: SessionId) -> Ok[None] | Err[LockIoError]:
        hold = self._holds.pop(session_id, None)
        if hold is None:
            return Err(LockIoError("the lock is no longer ours"))
        path = layout.lock(session_id)
        try:
            # The file goes first: as soon as the kernel's lock is free, the file may be another's.
            if not hold.is_ours or not self._is_ours(self._files.read(path)):
                return Err(LockIoError("the lock is no longer ours"))
            self._files.remove(path)
        except OSError as problem:
            return Err(LockIoError(os_error_text(problem), is_out_of_space(problem)))
        finally:
            hold.release()
        return Ok(None)

    def holds(self, session_id: SessionId) -> bool:
        hold = self._holds.get(session_id)
        return hold is not None and hold.is_ours

    def _content(self, session_id: SessionId) -> bytes:
        holder = self._holder
        lock = _LockFile(
            v=1,
            session_id=session_id,
            pid=holder.pid,
            worker_id=holder.worker_id,
            instance_id=holder.instance_id,
            started_at_ms=self._clock.now_ms(),
        )
        if (machine := holder.machine) is not None:
            place = {"host": machine.host, "boot": machine.boot, "namespace": machine.namespace}
            lock = lock.replaced(**place, process_started=machine.process_started)
        return record_line(lock)

    def _members(self, raw: bytes) -> dict[str, js.Json] | None:
        decoded = decode_json(raw)
        if isinstance(decoded, Ok) and isinstance(decoded.value, dict):
            return decoded.value
        return None

    def _is_stale(self, raw: bytes) -> bool:
        """Whether the writer of a lock file is dead, now that the kernel's lock is ours."""
        lock = self._members(raw) or {}
        pid, started = lock.get("pid"), lock.get("startedAtMs")
        if type(pid) is not int:
            return False  # nobody can be shown to be dead, so somebody may be alive
        machine = self._holder.machine
        if machine is None or "boot" not in lock:
            # It does not say where it runs. Our own number may be another container's.
            return pid != self._holder.pid and not self._is_alive(pid)
        if lock["boot"] == machine.boot and (machine.boot or lock.get("host") == machine.host):
            return True  # alive on this kernel, it would have the kernel's lock
        # Another kernel: this machine before it was started anew, or another one, which is not for us to judge.
        return lock.get("host") == machine.host and type(started) is int and started < machine.booted_ms

    def _is_ours(self, raw: bytes | None) -> bool:
        lock = self._members(raw or b"") or {}
        holder = self._holder
        owner = (lock.get("pid"), lock.get("workerId"), lock.get("instanceId"))
        return owner == (holder.pid, holder.worker_id, holder.instance_id)


def _busy(why: str) -> Err[LockBusy | LockIoError]:
    return Err(LockBusy(f"The session is locked: {why}. Try again shortly.", RETRY_AFTER_MS))


# How much is remembered of segments read before. Small ones are the common case; large ones are read again.
_KEPT_SEGMENTS = 256
_KEPT_SEGMENT_BYTES = 32768
_KEPT_SESSIONS = 16
_KEPT_SNAPSHOTS = 32
_NEWEST = 2  # segments that are looked at each time
_IN_TURN = 8


class _Known(Struct):
    """A session as it was verified, and the stamps of its files at that time."""

    truth: SessionTruth
    manifest: Stamp
    segments: list[tuple[str, Stamp | None]]
    turn: int = 0

    def places(self) -> list[int]:
        """Which segments to look at this time."""
        count = len(self.segments)
        if count <= _NEWEST + _IN_TURN:
            return list(range(count))
        self.turn = (self.turn + _IN_TURN) % count
        return [count - 1, count - _NEWEST, *((self.turn + offset) % count for offset in range(_IN_TURN))]


class FileSessionStore:
    """Sessions on files."""

    def __init__(self, files: Files) -> None:
        self._files = files
        # Parsed segments by what their bytes are. The bytes are read and verified each time all the same.
        self._parsed: OrderedDict[tuple[object, ...], tuple[Event, ...]] = OrderedDict()
        # How many records of each manifest are known to be safe.
        self._settled: dict[SessionId, int] = {}
        self._known: OrderedDict[SessionId, _Known] = OrderedDict()

    def load(self, session_id: SessionId) -> Ok[SessionTruth] | Err[StoreError]:
        try:
            known = self._known.get(session_id)
            if known is not None and self._is_unchanged(session_id, known):
                return Ok(known.truth)
            return self._load(session_id)
        except OSError as problem:
            return Err(_io_error(problem))

    def _is_unchanged(self, session_id: SessionId, known: _Known) -> bool:
        stamp = self._files.stamp
        if stamp(layout.manifest(session_id)) != known.manifest:
            return False
        return all(stamp(path) == seen for path, seen in (known.segments[place] for place in known.places()))

    def _remember(self, session_id: SessionId, known: _Known) -> None:
        self._known[session_id] = known
        self._known.move_to_end(session_id)
        if len(self._known) > _KEPT_SESSIONS:
            self._known.popitem(last=False)

    def load_validated_prefix(self, session_id: SessionId) -> Ok[ValidatedPrefix] | Err[StoreError]:
        try:
            reading = log.read_manifest(session_id, self._files.read(layout.manifest(session_id)) or b"")
            if reading.cut is not None and not reading.records:
                return Err(reading.cut)
            events, kept, fault = self._segments(session_id, reading)
        except OSError as problem:
            return Err(_io_error(problem))
        stop = fault or reading.cut
        extent = Complete() if stop is None else Truncated(stop.reason)
        return Ok(ValidatedPrefix(SessionTruth(events, reading.records[:kept]), extent))

    def list_sessions(self) -> Ok[tuple[SessionEntry, ...]] | Err[StoreError]:
        try:
            names = [name for name in self._files.list_dir(layout.SESSIONS) if layout.SESSION_NAME.fullmatch(name)]
        except OSError as problem:
            return Err(_io_error(problem))
        modification_times = [(SessionId(name), self._files.modified_ms(f"{layout.SESSIONS}/{name}")) for name in names]
        entries = [SessionEntry(name, modified) for name, modified in modification_times if modified is not None]
        return Ok(tuple(sorted(entries, key=lambda entry: (-entry.modified_ms, entry.session_id))))

    def append(self, permit: AppendPermit, plan: AppendPlan) -> Ok[None] | Err[StoreError]:
        if not permit.is_held:
            return Err(StoreInvariantViolation("the gate call that allowed this append is over"))
        session_id = permit.session_id
        loaded = self.load(session_id)
        if isinstance(loaded, Err):
            return loaded
        prepared = log.prepare(session_id, loaded.value, plan)
        if isinstance(prepared, Err):
            return prepared
        if prepared.value is None:
            return Ok(None)
        known = self._known.pop(session_id, None)
        try:
            self._write(session_id, prepared.value, is_first=not loaded.value.manifest)
            if known is not None and known.truth is loaded.value:
                self._grow(session_id, known, prepared.value)
        except OSError as problem:
            return Err(_io_error(problem))
        return Ok(None)

    def _grow(self, session_id: SessionId, known: _Known, prepared: Prepared) -> None:
        """Remember a session together with what was just written to it."""
        manifest = self._files.stamp(layout.manifest(session_id))
        if manifest is None or manifest.size != known.manifest.size + len(prepared.manifest_lines):
            return  # somebody else wrote to it, so it has to be read
        segment = f"{layout.session_dir(session_id)}/{prepared.path}"
        known.truth = known.truth.extended(prepared.events, prepared.records)
        known.manifest = manifest
        known.segments.append((segment, self._files.stamp(segment)))
        self._remember(session_id, known)

    def _write(self, session_id: SessionId, prepared: Prepared, *, is_first: bool) -> None:
        files, folder = self._files, layout.session_dir(session_id)
        files.make_dir(f"{folder}/{layout.EVENTS}")
        segment = f"{folder}/{prepared.path}"
        write_soon(files, segment, prepared.segment, aside=f"{segment}{layout.ASIDE}")
        files.sync_pending()
        with files.extend(layout.manifest(session_id)) as manifest:
            manifest.write_whole(prepared.manifest_lines)
            manifest.sync()
        if is_first:
            # Until the names above it are safe too, a synced manifest can vanish with its folder.
            files.sync_dir(folder)
            files.sync_dir(layout.SESSIONS)
        self._settled[session_id] = prepared.records[-1].manifest_index + 1

    def _load(self, session_id: SessionId) -> Ok[SessionTruth] | Err[StoreError]:
        path = layout.manifest(session_id)
        stamp = self._files.stamp(path)
        raw = self._files.read(path) or b""
        loaded, stamps = self._verified(session_id, raw)
        # Reading takes no lock. A manifest that changes while it is looked at is not damaged, it is being written.
        while isinstance(loaded, Err) and (latest := self._files.read(path) or b"") != raw:
            stamp, raw = None, latest
            loaded, stamps = self._verified(session_id, latest)
        if isinstance(loaded, Ok):
            truth = loaded.value
            self._make_durable(session_id, len(truth.manifest))
            if stamp is not None and stamp.size == len(raw):
                self._remember(session_id, _Known(truth, stamp, stamps))
        return loaded

    def _verified(
        self, session_id: SessionId, raw: bytes
    ) -> tuple[Ok[SessionTruth] | Err[StoreError], list[tuple[str, Stamp | None]]]:
        """The session that a manifest attests, and the stamps of its segments."""
        reading = log.read_manifest(session_id, raw)
        if reading.fault is not None:
            return Err(reading.fault), []
        # Before the segments are read: a stamp can only be too old then, never too new.
        folder = layout.session_dir(session_id)
        paths = [f"{folder}/{record.segment_rel_path}" for record in segments(reading.records)]
        stamps = [(path, self._files.stamp(path)) for path in paths]
        events, _, fault = self._segments(session_id, reading)
        fault = fault or log.unpinned_node(events, reading.records)
        return (Err(fault) if fault is not None else Ok(SessionTruth(events, reading.records))), stamps

    def _make_durable(self, session_id: SessionId, records: int) -> None:
        """Make loaded records durable: callers rely on them from now on."""
        if records > self._settled.get(session_id, 0):
            make_durable(self._files, layout.manifest(session_id))
            self._files.sync_dir(layout.SESSIONS)
            self._settled[session_id] = records

    def _segments(
        self, session_id: SessionId, reading: ManifestReading
    ) -> tuple[tuple[Event, ...], int, StoreCorruption | None]:
        """The events in manifest order, up to the first bad segment; how many records stand behind them."""
        events: list[Event] = []
        for record in segments(reading.records):
            segment = self._segment(session_id, record)
            if isinstance(segment, Err):
                return tuple(events), record.manifest_index, segment.error
            events.extend(segment.value)
        return tuple(events), len(reading.records), None

    def _segment(self, session_id: SessionId, record: SegmentClosed) -> Ok[tuple[Event, ...]] | Err[StoreCorruption]:
        raw = self._files.read(f"{layout.session_dir(session_id)}/{record.segment_rel_path}")
        if raw is None:
            return Err(log.missing_segment(record))
        actual = digest(raw)
        if not self.is_attested(record, len(raw), actual):
            return Err(log.altered_segment(record))
        key = (session_id, record.first_event_index, record.last_event_index, actual)
        known = self._parsed.get(key)
        if known is not None:
            self._parsed.move_to_end(key)
            return Ok(known)
        parsed = log.read_segment(session_id, record, raw)
        if isinstance(parsed, Ok) and len(raw) <= _KEPT_SEGMENT_BYTES:
            self._parsed[key] = parsed.value
            if len(self._parsed) > _KEPT_SEGMENTS:
                self._parsed.popitem(last=False)
        return parsed

    def is_attested(self, record: SegmentClosed, size: int, sha256: str) -> bool:
        """True when the manifest speaks of bytes like these."""
        return (size, sha256) == (record.bytes, record.sha256)


class FileSnapshotStore:
    """Snapshots on files named by their content."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: OrderedDict[SnapshotRef, tuple[Stamp, ExecutionSnapshot]] = OrderedDict()

    def _remember(self, ref: SnapshotRef, stamp: Stamp | None, snapshot: ExecutionSnapshot) -> None:
        if stamp is not None:
            self._known[ref] = (stamp, snapshot)
            if len(self._known) > _KEPT_SNAPSHOTS:
                self._known.popitem(last=False)

    def put(self, snapshot: ExecutionSnapshot) -> Ok[SnapshotRef] | Err[ContentError]:
        raw = snapshot.to_bytes()
        ref = SnapshotRef(digest(raw))
        try:
            _put(self._files, layout.snapshot(ref), raw)
            self._remember(ref, self._files.stamp(layout.snapshot(ref)), snapshot)
        except OSError as problem:
            return Err(ContentError("SNAPSHOT_STORE_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))
        return Ok(ref)

    def get(self, ref: SnapshotRef) -> Ok[ExecutionSnapshot | None] | Err[ContentError]:
        try:
            stamp = self._files.stamp(layout.snapshot(ref))
            known = self._known.get(ref)
            if known is not None and known[0] == stamp:
                return Ok(known[1])
            raw = self._files.read(layout.snapshot(ref))
        except OSError as problem:
            return Err(ContentError("SNAPSHOT_STORE_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))
        if raw is None:
            return Ok(None)
        snapshot = read_snapshot(raw)
        if isinstance(snapshot, Err) or digest(raw) != ref:
            return Err(ContentError("SNAPSHOT_STORE_CORRUPTION_DETECTED", f"{ref} is not what was stored"))
        self._remember(ref, stamp, snapshot.value)
        return Ok(snapshot.value)


class FilePinnedWorkflowStore:
    """Pinned workflows on files named by their content."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def put(self, workflow: dict[str, Json]) -> Ok[WorkflowHash] | Err[ContentError]:
        try:
            raw = canonical_bytes(workflow)
            workflow_hash = WorkflowHash(digest(raw))
            _put(self._files, layout.pinned_workflow(workflow_hash), raw)
        except OSError as problem:
            return Err(ContentError("PINNED_WORKFLOW_STORE_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))
        except CanonicalError as problem:
            return Err(ContentError("PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED", str(problem)))
        return Ok(workflow_hash)

    def put_ir(self, workflow_hash: WorkflowHash, ir: dict[str, Json]) -> Ok[None] | Err[ContentError]:
        """Keep an IR under the hash of the pin, with its own hash, so that damage is noticed."""
        try:
            raw = canonical_bytes({"hash": digest(canonical_bytes(ir)), "ir": ir})
            _put(self._files, layout.compiled_workflow(workflow_hash), raw)
        except OSError as problem:
            return Err(ContentError("PINNED_WORKFLOW_STORE_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))
        return Ok(None)

    def get_ir(self, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        try:
            raw = self._files.read(layout.compiled_workflow(workflow_hash))
        except OSError as problem:
            return Err(ContentError("PINNED_WORKFLOW_STORE_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))
        if raw is None:
            return Ok(None)
        decoded = decode_json(raw)
        content = decoded.value if isinstance(decoded, Ok) else None
        ir = content.get("ir") if isinstance(content, dict) else None
        if isinstance(content, dict) and isinstance(ir, dict) and digest(canonical_bytes(ir)) == content.get("hash"):
            return Ok(ir)
        message = f"the compiled workflow of {workflow_hash} is not what was stored"
        return Err(ContentError("PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED", message))

    def get(self, workflow_hash: WorkflowHash) -> Ok[dict[str, Json] | None] | Err[ContentError]:
        try:
            raw = self._files.read(layout.pinned_workflow(workflow_hash))
        except OSError as problem:
            return Err(ContentError("PINNED_WORKFLOW_STORE_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))
        if raw is None:
            return Ok(None)
        decoded = decode_json(raw)
        if isinstance(decoded, Err) or not isinstance(decoded.value, dict) or digest(raw) != workflow_hash:
            message = f"{workflow_hash} is not what was stored"
            return Err(ContentError("PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED", message))
        return Ok(decoded.value)


def _put(files: Files, path: str, raw: bytes) -> None:
    """Keep a content; it is safe before any log names it, because what waits is made safe before each append."""
    if files.read(path) == raw:
        # Left alone, but it may still be at risk: whoever wrote it may have died before syncing.
        files.sync_later(path)
    else:
        write_soon(files, path, raw, aside=unique_aside(path))


def _io_error(problem: OSError) -> StoreIoError:
    return StoreIoError(os_error_text(problem), is_out_of_space(problem))


def on_files(files: Files, clock: Clock, entropy: Entropy, holder: Holder) -> Home:
    """A home on any file operations."""
    sessions = FileSessionStore(files)
    keyring = FileKeyring(files, entropy)
    return Home(
        stores=Stores(sessions, FileSnapshotStore(files), FilePinnedWorkflowStore(files)),
        gate=Gate(sessions, FileSessionLock(files, holder, clock)),
        issuer=TokenIssuer(keyring, FileAliasIndex(files), entropy),
        keyring=keyring,
        mint=IdMint(entropy.generate),
        clock=clock,
        entropy=entropy,
    )
