"""Alias records: what a short token refers to. An index that can be lost; the sessions themselves do not need it."""

from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import Meta

from pytest_workrail.engine.model.base import CorruptionReason, Shape, StoredRecord
from pytest_workrail.engine.model.ids import AttemptId, NodeId, RunId, SessionId, WorkflowRef
from pytest_workrail.engine.tokens.short import NONCE_BYTES, TokenKind
from workrail_lint.base.result import Err, Ok

AliasSlot: TypeAlias = Literal["retry"]


class AliasKey(NamedTuple):
    """What a token is for; a second token for the same thing is the first one again."""

    kind: TokenKind
    slot: AliasSlot | None
    session_id: str
    node_id: str
    attempt_id: str | None


class AliasRecord(StoredRecord, frozen=True):
    """One line of the alias index."""

    v: Literal[1]
    nonce_hex: Annotated[str, Meta(pattern=rf"^[0-9a-f]{{{2 * NONCE_BYTES}}}\Z")]
    token_kind: TokenKind
    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    alias_slot: AliasSlot | None = None
    attempt_id: AttemptId | None = None
    workflow_hash_ref: WorkflowRef | None = None

    def __post_init__(self) -> None:
        if self.token_kind != "state" and self.attempt_id is None:
            raise ValueError("a token that acts names its attempt")
        if self.token_kind in ("state", "continue") and self.workflow_hash_ref is None:
            raise ValueError("a token that reads names its workflow")

    @property
    def nonce(self) -> bytes:
        """The nonce as bytes."""
        return bytes.fromhex(self.nonce_hex)

    @property
    def key(self) -> AliasKey:
        """What the token is for."""
        return AliasKey(self.token_kind, self.alias_slot, self.session_id, self.node_id, self.attempt_id)


_ALIAS: Shape[AliasRecord] = Shape(AliasRecord)


def read_alias(raw: bytes) -> Ok[AliasRecord] | Err[CorruptionReason]:
    """The alias record in one line."""
    return _ALIAS.read_line(raw)
