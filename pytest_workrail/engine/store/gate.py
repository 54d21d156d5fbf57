"""The gate: the only way to write to a session. It checks its health, locks it, checks again, and always unlocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias, TypeVar

from msgspec import Struct

from pytest_workrail.engine.core.profiles import RewindContext
from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.ids import IdMint, SessionId
from pytest_workrail.engine.projections.dag import project_dag
from pytest_workrail.engine.projections.resume import MAX_SESSIONS_TO_SCAN, SessionSummary, summarize, with_snapshot
from pytest_workrail.engine.store.plan import AppendPermit, SessionTruth
from pytest_workrail.engine.store.ports import (
    Clock,
    LockBusy,
    LockIoError,
    SessionLock,
    SessionReader,
    StoreCorruption,
    StoreError,
    Stores,
)
from pytest_workrail.engine.tokens.issuer import Entropy, Keyring, TokenIssuer
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok


class Healthy(Struct, frozen=True):
    """Everything verified."""

    kind: ClassVar[Literal["healthy"]] = "healthy"


class CorruptTail(Struct, frozen=True):
    """A prefix can be read, not continued."""

    kind: ClassVar[Literal["corrupt_tail"]] = "corrupt_tail"
    reason: CorruptionReason


class CorruptHead(Struct, frozen=True):
    """Nothing can be trusted."""

    kind: ClassVar[Literal["corrupt_head"]] = "corrupt_head"
    reason: CorruptionReason


class UnknownVersion(Struct, frozen=True):
    """Written by a later version."""

    kind: ClassVar[Literal["unknown_version"]] = "unknown_version"
    reason: CorruptionReason


Health: TypeAlias = Healthy | CorruptTail | CorruptHead | UnknownVersion


_HEALTHY = Ok(Healthy())


def assess(loaded: Ok[SessionTruth] | Err[StoreError]) -> Ok[Health] | Err[StoreError]:
    """The health of a session. A failure that says nothing about the stored bytes is passed on."""
    match loaded:
        case Ok(truth):
            dag = project_dag(truth.events)
            if isinstance(dag, Err):
                return Ok(CorruptTail(CorruptionReason("non_contiguous_indices", dag.error.message)))
            return _HEALTHY
        case Err(StoreCorruption(location=location, reason=reason)):
            if reason.code == "unknown_schema_version":
                return Ok(UnknownVersion(reason))
            return Ok(CorruptHead(reason) if location == "head" else CorruptTail(reason))
        case Err(error):
            return Err(error)


def health_data(health: Health) -> dict[str, Json]:
    """The health as an answer shows it."""
    if isinstance(health, Healthy):
        return {"kind": health.kind}
    return {"kind": health.kind, "reason": {"code": health.reason.code, "message": health.reason.message}}


T = TypeVar("T")

GateErrorCode: TypeAlias = Literal[
    "SESSION_LOCKED",
    "SESSION_LOCK_REENTRANT",
    "LOCK_ACQUIRE_FAILED",
    "LOCK_RELEASE_FAILED",
    "SESSION_NOT_HEALTHY",
    "SESSION_LOAD_FAILED",
    "GATE_CALLBACK_FAILED",
]


class GateError(Struct, frozen=True):
    """Why the gate did not let a call through, or what went wrong inside."""

    code: GateErrorCode
    message: str
    health: Health | None = None
    cause: StoreError | LockIoError | Exception | None = None


class Gate:
    """Guards the sessions of one store in this process."""

    def __init__(self, store: SessionReader, lock: SessionLock) -> None:
        self._store = store
        self._lock = lock
        self._inside: dict[SessionId, object] = {}

    def with_healthy_session_lock(
        self, session_id: SessionId, call: Callable[[AppendPermit, SessionTruth], T]
    ) -> Ok[T] | Err[GateError]:
        """Run `call` with a permit and the verified log, as the session's only writer."""
        mine = object()
        # One step that both looks and enters, so that two threads can't both find the gate empty.
        if self._inside.setdefault(session_id, mine) is not mine:
            return Err(GateError("SESSION_LOCK_REENTRANT", "This session is being written to by this very process."))
        try:
            return self._checked(session_id, call)
        finally:
            del self._inside[session_id]

    def _checked(
        self, session_id: SessionId, call: Callable[[AppendPermit, SessionTruth], T]
    ) -> Ok[T] | Err[GateError]:
        before = self._healthy(session_id)
        if isinstance(before, Err):
            return before
        try:
            acquired = self._lock.acquire(session_id)
            if isinstance(acquired, Err):
                if isinstance(acquired.error, LockBusy):
                    return Err(GateError("SESSION_LOCKED", acquired.error.message))
                return Err(GateError("LOCK_ACQUIRE_FAILED", acquired.error.message, cause=acquired.error))
            result = self._locked(session_id, call)
        except BaseException:  # an interrupt, which may come at any moment; what is not held is not released
            self._lock.release(session_id)
            raise
        released = self._lock.release(session_id)
        if isinstance(released, Err):
            return Err(GateError("LOCK_RELEASE_FAILED", released.error.message))
        return result

    def _locked(self, session_id: SessionId, call: Callable[[AppendPermit, SessionTruth], T]) -> Ok[T] | Err[GateError]:
        truth = self._healthy(session_id)
        if isinstance(truth, Err):
            return truth
        permit = AppendPermit(session_id, lambda: self._lock.holds(session_id))
        try:
            return Ok(call(permit, truth.value))
        except Exception as problem:
            return Err(GateError("GATE_CALLBACK_FAILED", f"{type(problem).__name__}: {problem}", cause=problem))
        finally:
            permit.revoke()

    def _healthy(self, session_id: SessionId) -> Ok[SessionTruth] | Err[GateError]:
        loaded = self._store.load(session_id)
        health = assess(loaded)
        if isinstance(health, Err):
            message = f"The session could not be loaded ({health.error.code})."
            return Err(GateError("SESSION_LOAD_FAILED", message, cause=health.error))
        if isinstance(loaded, Err) or not isinstance(health.value, Healthy):
            message = f"The session can't be continued: {health.value.kind}."
            return Err(GateError("SESSION_NOT_HEALTHY", message, health=health.value))
        return loaded


def healthy_summaries(
    stores: Stores, *, rewind_context: RewindContext = "run"
) -> Ok[list[SessionSummary]] | Err[StoreError]:
    """The most recent healthy sessions. One that can't be read is passed over, not an error."""
    entries = stores.sessions.list_sessions()
    if isinstance(entries, Err):
        return entries
    summaries: list[SessionSummary] = []
    for entry in entries.value[:MAX_SESSIONS_TO_SCAN]:
        loaded = stores.sessions.load(entry.session_id)
        if isinstance(loaded, Err):
            continue
        summary = summarize(
            entry.session_id,
            loaded.value.events,
            modified_ms=entry.modified_ms,
            rewind_context=rewind_context,
        )
        if summary is None:
            continue
        snapshot = stores.snapshots.get(summary.tip_snapshot)
        if isinstance(snapshot, Ok) and snapshot.value is not None:
            summary = with_snapshot(summary, snapshot.value)
        summaries.append(summary)
    return Ok(summaries)


class Home(Struct, frozen=True):
    """Everything the protocol needs to run sessions, in one place."""

    stores: Stores
    gate: Gate
    issuer: TokenIssuer
    keyring: Keyring
    mint: IdMint
    clock: Clock
    entropy: Entropy
