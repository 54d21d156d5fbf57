"""Long tokens: self-contained and portable. Payload and signature in one bech32m text."""

from __future__ import annotations

from pytest_workrail.engine.tokens import bech32m
from pytest_workrail.engine.tokens.binary import PAYLOAD_BYTES, LongKind, Payload, pack, unpack
from pytest_workrail.engine.tokens.keys import KeyPair
from pytest_workrail.engine.tokens.ports import TokenError, bad_signature, invalid_format
from workrail_lint.base.result import Err, Ok

SIGNATURE_BYTES = 32
_PREFIX: dict[LongKind, str] = {"state": "st", "ack": "ack", "checkpoint": "chk"}


def sign(payload: Payload, keys: KeyPair) -> str:
    """The token of a payload. Ids that have no sixteen bytes behind them are a bug of the caller."""
    raw = pack(payload).value
    return bech32m.encode(_PREFIX[payload.kind], raw + keys.sign(raw))


def looks_long(text: str, kind: LongKind) -> bool:
    """True for a text that claims to be a long token of this kind."""
    return text.startswith(f"{_PREFIX[kind]}1")


def verify(text: str, keys: KeyPair, expected: LongKind) -> Ok[Payload] | Err[TokenError]:
    """The payload of a token, once shape, checksum, version, kind and signature are right, in this order."""
    if not any(looks_long(text, kind) for kind in _PREFIX):
        return Err(invalid_format("This is not a token. Use the token text exactly as it was given."))
    decoded = bech32m.decode(text)
    if isinstance(decoded, Err):
        if decoded.error == "BECH32M_BAD_CHECKSUM":
            return Err(invalid_format("The token is corrupted. Use the token text exactly as it was given."))
        return Err(invalid_format(f"The token is malformed ({decoded.error})."))
    hrp, raw = decoded.value
    if len(raw) != PAYLOAD_BYTES + SIGNATURE_BYTES:
        return Err(invalid_format(f"The token holds {len(raw)} bytes, not {PAYLOAD_BYTES + SIGNATURE_BYTES}."))
    message, signature = raw[:PAYLOAD_BYTES], raw[PAYLOAD_BYTES:]
    payload = unpack(message)
    if isinstance(payload, Err):
        if payload.error == "BINARY_UNSUPPORTED_VERSION":
            return Err(TokenError("TOKEN_UNSUPPORTED_VERSION", f"Tokens of version {raw[0]} are not known here."))
        return Err(invalid_format(f"The token is malformed ({payload.error})."))
    if hrp != _PREFIX[payload.value.kind]:
        return Err(invalid_format(f"The token begins like {hrp!r} but is of kind {payload.value.kind!r}."))
    if not keys.verifies(message, signature):
        return Err(bad_signature("The token was not signed here, or its key has been rotated away."))
    if payload.value.kind != expected:
        return Err(invalid_format(f"A {expected} token is needed here, this is of kind {payload.value.kind!r}."))
    return payload
