"""The error envelope: what went wrong, whether to try again, and what to do next. Data, never an exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.store.bundle import (
    BundleError,
    BundleErrorCode,
    ExportCode,
    ExportFailure,
    ImportCode,
    ImportFailure,
)
from pytest_workrail.engine.store.gate import GateError, Health, health_data
from pytest_workrail.engine.store.ports import ContentError, LockIoError, StoreError, StoreIoError, StoreLockBusy
from pytest_workrail.engine.tokens.formats import TokenError, TokenErrorCode
from pytest_workrail.engine.tokens.issuer import IssuerFailure
from workrail_lint.base.js import Json

ErrorCode: TypeAlias = (
    Literal[
        "VALIDATION_ERROR",
        "NOT_FOUND",
        "PRECONDITION_FAILED",
        "SESSION_NOT_HEALTHY",
        "TIMEOUT",
        "INTERNAL_ERROR",
    ]
    | TokenErrorCode
    | BundleErrorCode
    | ExportCode
    | ImportCode
)

# How long a caller waits before it asks again for a session that somebody else writes to.
LOCK_RETRY_AFTER_MS = 1000
# How long a client waits before it tries again on a full disk.
SPACE_RETRY_AFTER_MS = 30_000


class NotRetryable(Struct, frozen=True):
    """Asking the same again gives the same answer."""

    kind: ClassVar[str] = "not_retryable"

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind}


class RetryableAfter(Struct, frozen=True):
    """Asking again after a while may help."""

    kind: ClassVar[str] = "retryable_after_ms"
    after_ms: int

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "afterMs": self.after_ms}


Retry: TypeAlias = NotRetryable | RetryableAfter
NOT_RETRYABLE = NotRetryable()


class ToolError(Struct, frozen=True):
    """One failed call. `details` holds more than the suggestion where there is more to say.

    `cause` is for whoever debugs the engine; it is never shown to an agent.
    """

    code: ErrorCode
    message: str
    suggestion: str
    retry: Retry = NOT_RETRYABLE
    details: Mapping[str, Json] = {}
    cause: Exception | None = None
    # Said where every answer says its kind.
    kind: Literal["error"] | None = None

    def to_json(self) -> dict[str, Json]:
        kind: dict[str, Json] = {} if self.kind is None else {"kind": self.kind}
        return {
            **kind,
            "code": self.code,
            "message": self.message,
            "retry": self.retry.to_json(),
            "details": {"suggestion": self.suggestion, **self.details},
        }


def precondition(message: str, suggestion: str, data: Mapping[str, Json] | None = None) -> ToolError:
    """The call is well formed, but things are not such that it can be done."""
    details: dict[str, Json] = {} if data is None else {"details": dict(data)}
    return ToolError("PRECONDITION_FAILED", message, suggestion, details=details)


_REPORT = "Report this: it is a defect of the engine or of its data, and calling again does not help."


def internal(message: str, suggestion: str = _REPORT, cause: Exception | None = None) -> ToolError:
    """Something that must not happen did."""
    return ToolError("INTERNAL_ERROR", message, suggestion, cause=cause)


def not_rendered(step_id: str, problem: Exception) -> ToolError:
    """The prompt of a step could not be made, which no valid workflow brings about."""
    message = f"The prompt of step '{step_id}' can't be rendered ({type(problem).__name__})."
    return ToolError("INTERNAL_ERROR", message, _REPORT, details={"details": {"notRendered": step_id}}, cause=problem)


def unexpected(problem: Exception) -> ToolError:
    """An exception at the boundary: a bug of ours, turned into data."""
    return internal(f"The engine failed unexpectedly ({type(problem).__name__}).", cause=problem)


def _out_of_space(reason: str, code: ErrorCode = "INTERNAL_ERROR") -> ToolError:
    """The disk, or the user's quota of it, is full."""
    return ToolError(
        code,
        f"The call could not be completed: the data folder has no room ({reason}).",
        "Free disk space or raise the quota, then send the same call again.",
        RetryableAfter(SPACE_RETRY_AFTER_MS),
    )


_TOKEN_ADVICE: dict[TokenErrorCode, str] = {
    "TOKEN_INVALID_FORMAT": "Copy the token from the last response, unchanged and as a whole.",
    "TOKEN_UNSUPPORTED_VERSION": "The token comes from another version; ask resume_session for a token of this one.",
    "TOKEN_BAD_SIGNATURE": "The token was altered or its key is gone; ask resume_session for a fresh one.",
    "TOKEN_SCOPE_MISMATCH": "Use the token that the last response names in `nextCall`.",
    "TOKEN_UNKNOWN_NODE": "The session is not here; ask resume_session for one that is, or start the workflow.",
    "TOKEN_WORKFLOW_HASH_MISMATCH": "The token belongs to another version of the workflow; ask resume_session.",
    "TOKEN_SESSION_LOCKED": "Wait for the time given in `retry`, then send the same call again.",
}


def token_error(code: TokenErrorCode, message: str, suggestion: str | None = None) -> ToolError:
    """A token that can't be used, or not now."""
    retry: Retry = RetryableAfter(LOCK_RETRY_AFTER_MS) if code == "TOKEN_SESSION_LOCKED" else NOT_RETRYABLE
    return ToolError(code, message, suggestion or _TOKEN_ADVICE[code], retry)


def from_issuer(error: TokenError | IssuerFailure) -> ToolError:
    """Return the tool error for a failure of the token issuer."""
    if isinstance(error, TokenError):
        return token_error(error.code, error.message)
    if error.out_of_space:
        return _out_of_space(error.message)
    return internal(f"Tokens can't be made or read ({error.code}).", "Check the data folder, then call again.")


def not_healthy(health: Health) -> ToolError:
    """A damaged session: to look at and to export, never to continue."""
    return ToolError(
        "SESSION_NOT_HEALTHY",
        f"The session can't be continued: {health.kind}.",
        "Export what is left of the session, then start the workflow again.",
        details={"details": {"health": health_data(health)}},
    )


def from_store(error: StoreError) -> ToolError:
    """Return the tool error for a failure of the session store."""
    if isinstance(error, StoreLockBusy):
        return ToolError(
            "INTERNAL_ERROR", error.message, "Send the same call again.", RetryableAfter(error.retry_after_ms)
        )
    if isinstance(error, StoreIoError) and error.out_of_space:
        return _out_of_space(error.message)
    return internal(f"The session store failed ({error.code}).")


def from_content(error: ContentError) -> ToolError:
    """Return the tool error for a failure of a content store."""
    if error.out_of_space:
        return _out_of_space(error.message)
    return internal(f"Stored content can't be used ({error.code}).")


def from_gate(error: GateError) -> ToolError:
    """Why the gate did not let a call through."""
    match error.code:
        case "SESSION_LOCKED" | "SESSION_LOCK_REENTRANT" | "LOCK_RELEASE_FAILED":
            return token_error("TOKEN_SESSION_LOCKED", error.message)
        case "SESSION_NOT_HEALTHY" if error.health is not None:
            return not_healthy(error.health)
        case _ if isinstance(error.cause, StoreIoError | LockIoError) and error.cause.out_of_space:
            return _out_of_space(error.cause.message)
        case _:
            cause = error.cause if isinstance(error.cause, Exception) else None
            return internal(f"The session could not be written ({error.code}).", cause=cause)


def from_transfer(error: BundleError | ImportFailure | ExportFailure) -> ToolError:
    """Why a session could not be taken out or brought in."""
    if isinstance(error, ImportFailure) and error.out_of_space:
        return _out_of_space(error.message, error.code)
    details: dict[str, Json] = {"details": dict(error.details)} if isinstance(error, BundleError) else {}
    if isinstance(error, BundleError):
        advice = "Export the session again; a bundle must reach its reader exactly as it was written."
    else:
        advice = "Check the data folder and the session, then try again."
    return ToolError(error.code, error.message, advice, details=details)
