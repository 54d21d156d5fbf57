"""The formats of tokens: short ones, which an index resolves, and long ones, which contain what they refer to.

A short token is a random nonce with a checksum; the alias index knows what the nonce refers to. A long token is a
payload of 66 bytes and its signature in one bech32m text. The current key signs; the current and the previous one
verify.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from pytest_workrail.engine.model.base import Closed, CorruptionReason, Shape, StoredRecord, canonical
from pytest_workrail.engine.model.ids import (
    ID_BYTES,
    AttemptId,
    IdKind,
    NodeId,
    RunId,
    SessionId,
    WorkflowRef,
    format_id,
    id_bytes,
)
from workrail_lint.base.result import Err, Ok

_BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def encode_base64url(raw: bytes) -> str:
    """The text of some bytes."""
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def decode_base64url(text: str) -> bytes | None:
    """The bytes of a text; None when the text is not the one `encode` would give."""
    if text.strip(_BASE64URL) or len(text) % 4 == 1:
        return None
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return raw if encode_base64url(raw) == text else None


Bech32mFault: TypeAlias = Literal[
    "BECH32M_TOO_LONG",
    "BECH32M_INVALID_CHARACTER",
    "BECH32M_NO_SEPARATOR",
    "BECH32M_TOO_SHORT",
    "BECH32M_BAD_CHECKSUM",
    "BECH32M_BAD_PADDING",
]

BECH32M_MAX_LENGTH = 1023
_BECH32M = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32M_VALUE = {character: value for value, character in enumerate(_BECH32M)}
_BECH32M_CONSTANT = 0x2BC830A3
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LENGTH = 6


def _polymod(values: Iterable[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            if top >> bit & 1:
                checksum ^= generator
    return checksum


def _expanded(hrp: str) -> list[int]:
    return [ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp]


def _regroup(values: Iterable[int], width: int, target: int) -> tuple[list[int], int, int]:
    """Groups of `width` bits as groups of `target` bits, most significant first; then the bits left over."""
    out: list[int] = []
    pending = bits = 0
    for value in values:
        pending = pending << width | value
        bits += width
        while bits >= target:
            bits -= target
            out.append(pending >> bits)
            pending &= (1 << bits) - 1
    return out, pending, bits


def encode_bech32m(hrp: str, payload: bytes) -> str:
    """The text of some bytes under a human-readable prefix."""
    data, rest, bits = _regroup(payload, 8, 5)
    if bits:
        data.append(rest << (5 - bits))
    polymod = _polymod([*_expanded(hrp), *data, *[0] * _CHECKSUM_LENGTH]) ^ _BECH32M_CONSTANT
    checksum = [polymod >> 5 * (_CHECKSUM_LENGTH - 1 - i) & 31 for i in range(_CHECKSUM_LENGTH)]
    return f"{hrp}1{''.join(_BECH32M[value] for value in data + checksum)}"


def decode_bech32m(text: str) -> Ok[tuple[str, bytes]] | Err[Bech32mFault]:
    """The prefix and the bytes of a text. Lower case only: a token has one spelling."""
    if len(text) > BECH32M_MAX_LENGTH:
        return Err("BECH32M_TOO_LONG")
    hrp, separator, tail = text.rpartition("1")
    if not separator or not hrp:
        return Err("BECH32M_NO_SEPARATOR")
    if any(not "!" <= c <= "~" or "A" <= c <= "Z" for c in hrp) or any(c not in _BECH32M_VALUE for c in tail):
        return Err("BECH32M_INVALID_CHARACTER")
    if len(tail) < _CHECKSUM_LENGTH:
        return Err("BECH32M_TOO_SHORT")
    values = [_BECH32M_VALUE[c] for c in tail]
    if _polymod(_expanded(hrp) + values) != _BECH32M_CONSTANT:
        return Err("BECH32M_BAD_CHECKSUM")
    payload, rest, bits = _regroup(values[:-_CHECKSUM_LENGTH], 5, 8)
    if bits >= 5 or rest:
        return Err("BECH32M_BAD_PADDING")
    return Ok((hrp, bytes(payload)))


KEY_BYTES = 32


class KeyPair:
    """Two keys at most. A plain class, so that no representation shows them."""

    __slots__ = ("current", "previous")

    def __init__(self, current: bytes, previous: bytes | None = None) -> None:
        for key in (current, previous):
            if key is not None and len(key) != KEY_BYTES:
                raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        self.current = current
        self.previous = previous

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyPair) and (self.current, self.previous) == (other.current, other.previous)

    def __hash__(self) -> int:
        return hash((self.current, self.previous))

    def rotated(self, fresh: bytes) -> KeyPair:
        """A fresh current key; what was current becomes previous, what was previous is forgotten."""
        return KeyPair(fresh, self.current)

    def sign(self, message: bytes) -> bytes:
        """The signature of a message under the current key."""
        return hmac.digest(self.current, message, "sha256")

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """True when the current key, or else the previous one, made the signature or begins with it."""
        for key in (self.current, self.previous):
            if key is not None:
                expected = hmac.digest(key, message, "sha256")[: len(signature)]
                if signature and hmac.compare_digest(expected, signature):
                    return True
        return False


class _Key(Closed, frozen=True):
    alg: Literal["hmac_sha256"]
    key_base64_url: str


class _Keyring(Closed, frozen=True):
    v: Literal[1]
    current: _Key
    previous: _Key | None


_KEYRING: Shape[_Keyring] = Shape(_Keyring)


def _stored(key: bytes) -> _Key:
    return _Key("hmac_sha256", encode_base64url(key))


def keyring_bytes(pair: KeyPair) -> bytes:
    """The bytes of a keyring file."""
    previous = None if pair.previous is None else _stored(pair.previous)
    return canonical(_Keyring(v=1, current=_stored(pair.current), previous=previous))


def read_keyring(raw: bytes) -> Ok[KeyPair] | Err[str]:
    """The keys in a keyring file. The reason for a refusal never quotes the file."""
    record = _KEYRING.read_line(raw)
    if isinstance(record, Err):
        return Err(f"the keyring is unreadable ({record.error.code})")
    stored = [record.value.current] + ([record.value.previous] if record.value.previous else [])
    keys = [decode_base64url(key.key_base64_url) for key in stored]
    usable = [key for key in keys if key is not None and len(key) == KEY_BYTES]
    if len(usable) != len(stored):
        return Err(f"a key in the keyring does not have {KEY_BYTES} bytes")
    return Ok(KeyPair(usable[0], usable[1] if len(usable) > 1 else None))


TokenKind: TypeAlias = Literal["state", "ack", "checkpoint", "continue"]
ShortFault: TypeAlias = Literal[
    "SHORT_TOKEN_UNKNOWN_PREFIX",
    "SHORT_TOKEN_INVALID_ENCODING",
    "SHORT_TOKEN_INVALID_LENGTH",
    "SHORT_TOKEN_BAD_SIGNATURE",
]

NONCE_BYTES = 12
MAC_BYTES = 6
_SHORT_PREFIX: dict[TokenKind, str] = {"state": "st_", "ack": "ak_", "checkpoint": "ck_", "continue": "ct_"}
_SHORT_KIND = {prefix: kind for kind, prefix in _SHORT_PREFIX.items()}
_SHORT_KIND_BYTE: dict[TokenKind, bytes] = {
    "state": b"\x01",
    "ack": b"\x02",
    "checkpoint": b"\x03",
    "continue": b"\x04",
}


def format_token(kind: TokenKind, nonce: bytes, keys: KeyPair) -> str:
    """The token of a nonce, checked under the current key."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    mac = keys.sign(nonce + _SHORT_KIND_BYTE[kind])[:MAC_BYTES]
    return _SHORT_PREFIX[kind] + encode_base64url(nonce + mac)


def claimed_kind(text: str) -> TokenKind | None:
    """The kind a text claims by its prefix."""
    return _SHORT_KIND.get(text[:3])


def open_token(text: str, keys: KeyPair) -> Ok[tuple[TokenKind, bytes]] | Err[ShortFault]:
    """The kind and the nonce of a token that was made here."""
    kind = claimed_kind(text)
    if kind is None:
        return Err("SHORT_TOKEN_UNKNOWN_PREFIX")
    raw = decode_base64url(text.removeprefix(_SHORT_PREFIX[kind]))
    if raw is None:
        return Err("SHORT_TOKEN_INVALID_ENCODING")
    if len(raw) != NONCE_BYTES + MAC_BYTES:
        return Err("SHORT_TOKEN_INVALID_LENGTH")
    nonce, mac = raw[:NONCE_BYTES], raw[NONCE_BYTES:]
    if not keys.verifies(nonce + _SHORT_KIND_BYTE[kind], mac):
        return Err("SHORT_TOKEN_BAD_SIGNATURE")
    return Ok((kind, nonce))


AliasSlot: TypeAlias = Literal["retry"]


class AliasKey(Struct, frozen=True):
    """The purpose of a token; a second token for the same purpose is the first one again."""

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
        """The purpose of the token."""
        return AliasKey(self.token_kind, self.alias_slot, self.session_id, self.node_id, self.attempt_id)


_ALIAS: Shape[AliasRecord] = Shape(AliasRecord)


def read_alias(raw: bytes) -> Ok[AliasRecord] | Err[CorruptionReason]:
    """The alias record in one line."""
    return _ALIAS.read_line(raw)


TokenErrorCode: TypeAlias = Literal[
    "TOKEN_INVALID_FORMAT",
    "TOKEN_UNSUPPORTED_VERSION",
    "TOKEN_BAD_SIGNATURE",
    "TOKEN_SCOPE_MISMATCH",
    "TOKEN_UNKNOWN_NODE",
    "TOKEN_WORKFLOW_HASH_MISMATCH",
    "TOKEN_SESSION_LOCKED",
]


class TokenError(Struct, frozen=True):
    """Why a token was refused."""

    code: TokenErrorCode
    message: str


def invalid_format(message: str) -> TokenError:
    """Not a token of the shape or kind that was asked for."""
    return TokenError("TOKEN_INVALID_FORMAT", message)


def bad_signature(message: str) -> TokenError:
    """Signed by nobody we know: forged, or older than the previous key."""
    return TokenError("TOKEN_BAD_SIGNATURE", message)


LONG_VERSION = 1
PAYLOAD_BYTES = 2 + 4 * ID_BYTES

LongKind: TypeAlias = Literal["state", "ack", "checkpoint"]
PackFault: TypeAlias = Literal["BINARY_INVALID_ID_FORMAT", "BINARY_INVALID_VERSION", "BINARY_INVALID_TOKEN_KIND"]
UnpackFault: TypeAlias = Literal["BINARY_INVALID_LENGTH", "BINARY_UNSUPPORTED_VERSION", "BINARY_UNKNOWN_TOKEN_KIND"]

_LONG_KIND_BYTE: dict[str, int] = {"state": 0, "ack": 1, "checkpoint": 2}


class StatePayload(Struct, frozen=True):
    """Names a node, to look at."""

    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    workflow_ref: WorkflowRef
    version: int = LONG_VERSION
    kind: Literal["state"] = "state"


class AttemptPayload(Struct, frozen=True):
    """Names one attempt on a node, to act on."""

    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    attempt_id: AttemptId
    kind: Literal["ack", "checkpoint"]
    version: int = LONG_VERSION


Payload: TypeAlias = StatePayload | AttemptPayload


def pack_payload(payload: Payload) -> Ok[bytes] | Err[PackFault]:
    """The 66 bytes of a payload."""
    if payload.version != LONG_VERSION:
        return Err("BINARY_INVALID_VERSION")
    kind = _LONG_KIND_BYTE.get(payload.kind)
    if kind is None:
        return Err("BINARY_INVALID_TOKEN_KIND")
    if isinstance(payload, StatePayload):
        last = id_bytes(IdKind.WORKFLOW, payload.workflow_ref)
    else:
        last = id_bytes(IdKind.ATTEMPT, payload.attempt_id)
    raw = bytes([payload.version, kind])
    for part in (
        id_bytes(IdKind.SESSION, payload.session_id),
        id_bytes(IdKind.RUN, payload.run_id),
        id_bytes(IdKind.NODE, payload.node_id),
        last,
    ):
        if isinstance(part, Err):
            return Err("BINARY_INVALID_ID_FORMAT")
        raw += part.value
    return Ok(raw)


def unpack_payload(raw: bytes) -> Ok[Payload] | Err[UnpackFault]:
    """The payload in 66 bytes."""
    if len(raw) != PAYLOAD_BYTES:
        return Err("BINARY_INVALID_LENGTH")
    if raw[0] != LONG_VERSION:
        return Err("BINARY_UNSUPPORTED_VERSION")
    session, run, node, last = (raw[at : at + ID_BYTES] for at in range(2, PAYLOAD_BYTES, ID_BYTES))
    session_id = SessionId(format_id(IdKind.SESSION, session))
    run_id = RunId(format_id(IdKind.RUN, run))
    node_id = NodeId(format_id(IdKind.NODE, node))
    attempt_id = AttemptId(format_id(IdKind.ATTEMPT, last))
    match raw[1]:
        case 0:
            return Ok(StatePayload(session_id, run_id, node_id, WorkflowRef(format_id(IdKind.WORKFLOW, last))))
        case 1:
            return Ok(AttemptPayload(session_id, run_id, node_id, attempt_id, "ack"))
        case 2:
            return Ok(AttemptPayload(session_id, run_id, node_id, attempt_id, "checkpoint"))
        case _:
            return Err("BINARY_UNKNOWN_TOKEN_KIND")


SIGNATURE_BYTES = 32
_LONG_PREFIX: dict[LongKind, str] = {"state": "st", "ack": "ack", "checkpoint": "chk"}


def sign_long(payload: Payload, keys: KeyPair) -> str:
    """The token of a payload. Ids that have no sixteen bytes behind them are a bug of the caller."""
    raw = pack_payload(payload).value
    return encode_bech32m(_LONG_PREFIX[payload.kind], raw + keys.sign(raw))


def looks_long(text: str, kind: LongKind) -> bool:
    """True for a text that claims to be a long token of this kind."""
    return text.startswith(f"{_LONG_PREFIX[kind]}1")


def verify_long(text: str, keys: KeyPair, expected: LongKind) -> Ok[Payload] | Err[TokenError]:
    """The payload of a token, once shape, checksum, version, kind and signature are right, in this order."""
    if not any(looks_long(text, kind) for kind in _LONG_PREFIX):
        return Err(invalid_format("This is not a token. Use the token text exactly as it was given."))
    decoded = decode_bech32m(text)
    if isinstance(decoded, Err):
        if decoded.error == "BECH32M_BAD_CHECKSUM":
            return Err(invalid_format("The token is corrupted. Use the token text exactly as it was given."))
        return Err(invalid_format(f"The token is malformed ({decoded.error})."))
    hrp, raw = decoded.value
    if len(raw) != PAYLOAD_BYTES + SIGNATURE_BYTES:
        return Err(invalid_format(f"The token holds {len(raw)} bytes, not {PAYLOAD_BYTES + SIGNATURE_BYTES}."))
    message, signature = raw[:PAYLOAD_BYTES], raw[PAYLOAD_BYTES:]
    payload = unpack_payload(message)
    if isinstance(payload, Err):
        if payload.error == "BINARY_UNSUPPORTED_VERSION":
            return Err(TokenError("TOKEN_UNSUPPORTED_VERSION", f"Tokens of version {raw[0]} are not known here."))
        return Err(invalid_format(f"The token is malformed ({payload.error})."))
    if hrp != _LONG_PREFIX[payload.value.kind]:
        return Err(invalid_format(f"The token begins like {hrp!r} but is of kind {payload.value.kind!r}."))
    if not keys.verifies(message, signature):
        return Err(bad_signature("The token was not signed here, or its key has been rotated away."))
    if payload.value.kind != expected:
        return Err(invalid_format(f"A {expected} token is needed here, this is of kind {payload.value.kind!r}."))
    return payload
