"""The session lock on files: one writer across processes, recovered from writers that died."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pytest_workrail.engine.events.ids import SessionId
from pytest_workrail.engine.events.wire import Wire, decode_json, record_line
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import os_error_text, publish
from pytest_workrail.engine.store.files import Files
from pytest_workrail.engine.store.ports import Clock, LockBusy, LockIoError
from workrail_lint.base import js
from workrail_lint.base.result import Err, Ok

RETRY_AFTER_MS = 250


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock: a process, a worker in it, and one life of that worker."""

    pid: int
    worker_id: str
    instance_id: str


class _LockFile(Wire):
    v: Literal[1] = 1
    session_id: str
    pid: int
    worker_id: str
    instance_id: str
    started_at_ms: int


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

    def acquire(self, session_id: SessionId) -> Ok[None] | Err[LockBusy | LockIoError]:
        path = layout.lock(session_id)
        try:
            self._files.make_dir(layout.session_dir(session_id))
            # Two processes that find the same dead owner must not both take its place: without the guard
            # the slower one would remove the lock the faster one has just made.
            with self._files.guard(layout.session_dir(session_id)) as alone:
                if not alone:
                    return _busy("another process is taking it")
                existing = self._files.read(path)
                if existing is not None:
                    if not self._is_stale(existing):
                        return _busy("it is held")
                    self._files.remove(path)
                if not publish(self._files, path, self._content(session_id)):
                    return _busy("it is held")
        except OSError as problem:
            return Err(LockIoError(os_error_text(problem)))
        return Ok(None)

    def release(self, session_id: SessionId) -> Ok[None] | Err[LockIoError]:
        path = layout.lock(session_id)
        try:
            existing = self._files.read(path)
            if existing is None or not self._is_ours(existing):
                return Err(LockIoError("the lock is no longer ours"))
            self._files.remove(path)
        except OSError as problem:
            return Err(LockIoError(os_error_text(problem)))
        return Ok(None)

    def _content(self, session_id: SessionId) -> bytes:
        holder = self._holder
        return record_line(
            _LockFile(
                session_id=session_id,
                pid=holder.pid,
                worker_id=holder.worker_id,
                instance_id=holder.instance_id,
                started_at_ms=self._clock.now_ms(),
            )
        )

    def _members(self, raw: bytes) -> dict[str, js.Json] | None:
        decoded = decode_json(raw)
        if isinstance(decoded, Ok) and isinstance(decoded.value, dict):
            return decoded.value
        return None

    def _is_stale(self, raw: bytes) -> bool:
        lock = self._members(raw)
        pid = None if lock is None else lock.get("pid")
        if lock is None or type(pid) is not int:
            return False  # nobody can be shown to be dead, so somebody may be alive
        if pid != self._holder.pid:
            return not self._is_alive(pid)
        same_worker = lock.get("workerId") == self._holder.worker_id
        return same_worker and lock.get("instanceId") != self._holder.instance_id

    def _is_ours(self, raw: bytes) -> bool:
        lock = self._members(raw) or {}
        holder = self._holder
        owner = (lock.get("pid"), lock.get("workerId"), lock.get("instanceId"))
        return owner == (holder.pid, holder.worker_id, holder.instance_id)


def _busy(why: str) -> Err[LockBusy | LockIoError]:
    return Err(LockBusy(f"The session is locked: {why}. Try again shortly.", RETRY_AFTER_MS))
