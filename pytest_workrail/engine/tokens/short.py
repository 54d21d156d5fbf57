"""Short tokens: a random nonce with a checksum. The alias index knows what the nonce refers to."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from pytest_workrail.engine.model.base import CorruptionReason, Shape, StoredRecord
from pytest_workrail.engine.model.ids import AttemptId, NodeId, RunId, SessionId, WorkflowRef
from pytest_workrail.engine.tokens import base64url
from pytest_workrail.engine.tokens.keys import KeyPair
from workrail_lint.base.result import Err, Ok

TokenKind: TypeAlias = Literal["state", "ack", "checkpoint", "continue"]
ShortFault: TypeAlias = Literal[
    "SHORT_TOKEN_UNKNOWN_PREFIX",
    "SHORT_TOKEN_INVALID_ENCODING",
    "SHORT_TOKEN_INVALID_LENGTH",
    "SHORT_TOKEN_BAD_SIGNATURE",
]

NONCE_BYTES = 12
MAC_BYTES = 6
_PREFIX: dict[TokenKind, str] = {"state": "st_", "ack": "ak_", "checkpoint": "ck_", "continue": "ct_"}
_KIND = {prefix: kind for kind, prefix in _PREFIX.items()}
_KIND_BYTE: dict[TokenKind, bytes] = {
    "state": b"\x01",
    "ack": b"\x02",
    "checkpoint": b"\x03",
    "continue": b"\x04",
}


def format_token(kind: TokenKind, nonce: bytes, keys: KeyPair) -> str:
    """The token of a nonce, checked under the current key."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    mac = keys.sign(nonce + _KIND_BYTE[kind])[:MAC_BYTES]
    return _PREFIX[kind] + base64url.encode(nonce + mac)


def claimed_kind(text: str) -> TokenKind | None:
    """The kind a text claims by its prefix."""
    return _KIND.get(text[:3])


def open_token(text: str, keys: KeyPair) -> Ok[tuple[TokenKind, bytes]] | Err[ShortFault]:
    """The kind and the nonce of a token that was made here."""
    kind = claimed_kind(text)
    if kind is None:
        return Err("SHORT_TOKEN_UNKNOWN_PREFIX")
    raw = base64url.decode(text.removeprefix(_PREFIX[kind]))
    if raw is None:
        return Err("SHORT_TOKEN_INVALID_ENCODING")
    if len(raw) != NONCE_BYTES + MAC_BYTES:
        return Err("SHORT_TOKEN_INVALID_LENGTH")
    nonce, mac = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
    if not keys.verifies(nonce + _KIND_BYTE[kind], mac):
        return Err("SHORT_TOKEN_BAD_SIGNATURE")
    return Ok((kind, nonce))


AliasSlot: TypeAlias = Literal["retry"]


class AliasKey(Struct, frozen=True):
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
