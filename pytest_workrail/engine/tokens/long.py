"""Long tokens: self-contained and portable. A payload of 66 bytes and its signature in one bech32m text."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

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
from pytest_workrail.engine.tokens import bech32m
from pytest_workrail.engine.tokens.keys import KeyPair
from pytest_workrail.engine.tokens.ports import TokenError, bad_signature, invalid_format
from workrail_lint.base.result import Err, Ok

VERSION = 1
PAYLOAD_BYTES = 2 + 4 * ID_BYTES

LongKind: TypeAlias = Literal["state", "ack", "checkpoint"]
PackFault: TypeAlias = Literal["BINARY_INVALID_ID_FORMAT", "BINARY_INVALID_VERSION", "BINARY_INVALID_TOKEN_KIND"]
UnpackFault: TypeAlias = Literal["BINARY_INVALID_LENGTH", "BINARY_UNSUPPORTED_VERSION", "BINARY_UNKNOWN_TOKEN_KIND"]

_KIND_BYTE: dict[str, int] = {"state": 0, "ack": 1, "checkpoint": 2}


class StatePayload(Struct, frozen=True):
    """Names a node, to look at."""

    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    workflow_ref: WorkflowRef
    version: int = VERSION
    kind: Literal["state"] = "state"


class AttemptPayload(Struct, frozen=True):
    """Names one attempt on a node, to act on."""

    session_id: SessionId
    run_id: RunId
    node_id: NodeId
    attempt_id: AttemptId
    kind: Literal["ack", "checkpoint"]
    version: int = VERSION


Payload: TypeAlias = StatePayload | AttemptPayload


def pack(payload: Payload) -> Ok[bytes] | Err[PackFault]:
    """The 66 bytes of a payload."""
    if payload.version != VERSION:
        return Err("BINARY_INVALID_VERSION")
    kind = _KIND_BYTE.get(payload.kind)
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


def unpack(raw: bytes) -> Ok[Payload] | Err[UnpackFault]:
    """The payload in 66 bytes."""
    if len(raw) != PAYLOAD_BYTES:
        return Err("BINARY_INVALID_LENGTH")
    if raw[0] != VERSION:
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
