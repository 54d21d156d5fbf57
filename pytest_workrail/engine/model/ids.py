"""Identifiers: one type per kind of thing, checked where text becomes an id, never again after that."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import Annotated, NamedTuple, NewType, TypeAlias, TypeVar

from msgspec import Meta

from pytest_workrail.engine.model import base32
from pytest_workrail.engine.model.words import MAX_DEDUPE_KEY_LENGTH
from workrail_lint.base.canonical import hash_ref
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

ID_BYTES = 16
_ATTEMPT_DOMAIN = "wr_attempt_next_v1:"


class IdKind(str, Enum):
    """The prefixes of the ids that are made of sixteen bytes."""

    SESSION = "sess"
    RUN = "run"
    NODE = "node"
    ATTEMPT = "attempt"
    EVENT = "evt"
    WORKFLOW = "wf"

    @property
    def pattern(self) -> str:
        """The shape of such an id, as a regular expression."""
        return rf"^{self.value}_[a-z2-7]{{26}}\Z"


DIGEST_PATTERN = r"^sha256:[0-9a-f]{64}\Z"

SessionId = NewType("SessionId", Annotated[str, Meta(pattern=IdKind.SESSION.pattern)])
RunId = NewType("RunId", Annotated[str, Meta(pattern=IdKind.RUN.pattern)])
NodeId = NewType("NodeId", Annotated[str, Meta(pattern=IdKind.NODE.pattern)])
AttemptId = NewType("AttemptId", Annotated[str, Meta(pattern=IdKind.ATTEMPT.pattern)])
EventId = NewType("EventId", Annotated[str, Meta(pattern=IdKind.EVENT.pattern)])
# The short `wf_` form of a workflow hash.
WorkflowRef = NewType("WorkflowRef", Annotated[str, Meta(pattern=IdKind.WORKFLOW.pattern)])
WorkflowHash = NewType("WorkflowHash", Annotated[str, Meta(pattern=DIGEST_PATTERN)])
SnapshotRef = NewType("SnapshotRef", Annotated[str, Meta(pattern=DIGEST_PATTERN)])
Digest = NewType("Digest", Annotated[str, Meta(pattern=DIGEST_PATTERN)])

DedupeKey: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9_:>-]+\Z", max_length=MAX_DEDUPE_KEY_LENGTH)]
GitSha: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
# Without the characters that separate the parts of a step instance key.
SafeId: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9_-]+\Z")]
StepId: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\Z")]


class IdError(NamedTuple):
    """A text that is not an id of the kind asked for."""

    expected: str
    text: str

    @property
    def message(self) -> str:
        """What was expected instead."""
        return f"not {self.expected}: {self.text!r}"


Brand = TypeVar("Brand")


def _checker(expected: str, pattern: str, brand: Callable[[str], Brand]) -> Callable[[str], Ok[Brand] | Err[IdError]]:
    shape = Pattern(pattern.removeprefix("^").removesuffix(r"\Z"))

    def check(text: str) -> Ok[Brand] | Err[IdError]:
        return Ok(brand(text)) if shape.fullmatch(text) else Err(IdError(expected, text))

    return check


session_id = _checker("a session id", IdKind.SESSION.pattern, SessionId)
run_id = _checker("a run id", IdKind.RUN.pattern, RunId)
node_id = _checker("a node id", IdKind.NODE.pattern, NodeId)
attempt_id = _checker("an attempt id", IdKind.ATTEMPT.pattern, AttemptId)
event_id = _checker("an event id", IdKind.EVENT.pattern, EventId)
workflow_ref = _checker("a workflow hash reference", IdKind.WORKFLOW.pattern, WorkflowRef)
workflow_hash = _checker("a workflow hash", DIGEST_PATTERN, WorkflowHash)
snapshot_ref = _checker("a snapshot reference", DIGEST_PATTERN, SnapshotRef)


def format_id(kind: IdKind, raw: bytes) -> str:
    """The text of an id from its sixteen bytes."""
    if len(raw) != ID_BYTES:
        raise ValueError(f"an id has {ID_BYTES} bytes, not {len(raw)}")
    return f"{kind.value}_{base32.encode(raw)}"


def id_bytes(kind: IdKind, text: str) -> Ok[bytes] | Err[IdError]:
    """The sixteen bytes behind an id; an id whose spelling is not the canonical one has none."""
    prefix = f"{kind.value}_"
    decoded = base32.decode(text.removeprefix(prefix))
    if not text.startswith(prefix) or not isinstance(decoded, Ok) or len(decoded.value) != ID_BYTES:
        return Err(IdError(f"the text of sixteen bytes after {prefix!r}", text))
    return decoded


@lru_cache(maxsize=256)  # a session asks for the same few at each step
def ref_of(digest: WorkflowHash) -> WorkflowRef:
    """The short reference of a workflow hash."""
    return WorkflowRef(hash_ref(digest))


@lru_cache(maxsize=16)  # a step asks twice: when it prepares its tokens, and when it answers
def child_attempt(attempt: AttemptId) -> AttemptId:
    """The attempt that follows another one. Derived, so that a replay names the same successor."""
    seed = hashlib.sha256((_ATTEMPT_DOMAIN + attempt).encode("utf-8")).digest()
    return AttemptId(format_id(IdKind.ATTEMPT, seed[:ID_BYTES]))


class IdMint:
    """Fresh ids from a source of random bytes."""

    __slots__ = ("_generate",)

    def __init__(self, generate: Callable[[int], bytes]) -> None:
        self._generate = generate

    def _fresh(self, kind: IdKind) -> str:
        return format_id(kind, self._generate(ID_BYTES))

    def session(self) -> SessionId:
        """A new session id."""
        return SessionId(self._fresh(IdKind.SESSION))

    def run(self) -> RunId:
        """A new run id."""
        return RunId(self._fresh(IdKind.RUN))

    def node(self) -> NodeId:
        """A new node id."""
        return NodeId(self._fresh(IdKind.NODE))

    def attempt(self) -> AttemptId:
        """A new attempt id, for a start or a rehydrate."""
        return AttemptId(self._fresh(IdKind.ATTEMPT))

    def event(self) -> EventId:
        """A new event id."""
        return EventId(self._fresh(IdKind.EVENT))
