"""Short tokens: a random nonce with a checksum. The alias index knows what the nonce refers to."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
