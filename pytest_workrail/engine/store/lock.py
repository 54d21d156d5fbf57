"""The session lock on files: one writer across threads, processes and containers, recovered from writers that died.

Two things are held for as long as a writer is inside. The kernel's lock on the session's folder decides among all
that share a kernel: it can't be taken from the living, and no crash leaves it behind. The lock file says who the
writer is, to other programs and to other machines.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from pytest_workrail.engine.model.base import Value, decode_json, record_line
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import os_error_text, publish
from pytest_workrail.engine.store.files import Files, Hold, Spare
from pytest_workrail.engine.store.ports import RETRY_AFTER_MS, Clock, LockBusy, LockIoError
from pytest_workrail.engine.store.system import Holder
from workrail_lint.base import js
from workrail_lint.base.result import Err, Ok

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
            taken = self._take(session_id, hold, content)
            if isinstance(taken, Ok):
                self._holds[session_id] = hold
                self._prepare_next(session_id, content)
                return taken
        except OSError as problem:
            taken = Err(LockIoError(os_error_text(problem)))
        except BaseException:  # an interrupt, which may come at any moment
            if hold is not None:
                self._holds[session_id] = hold
                self.release(session_id)
            raise
        self._holds.pop(session_id, None)
        if hold is not None:
            hold.release()
        return taken

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
            return Err(LockIoError(os_error_text(problem)))
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
