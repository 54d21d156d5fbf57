"""The token issuer: hands out tokens for nodes and attempts, and says what a token that comes back stands for.

Asking twice for the token of the same thing gives the same token, which is what makes replayed answers equal.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from pytest_workrail.engine.model.ids import AttemptId, NodeId, RunId, SessionId, WorkflowRef
from pytest_workrail.engine.tokens import formats
from pytest_workrail.engine.tokens.formats import (
    NONCE_BYTES,
    AliasKey,
    AliasRecord,
    AliasSlot,
    AttemptPayload,
    KeyPair,
    LongKind,
    Payload,
    StatePayload,
    TokenError,
    TokenKind,
    bad_signature,
    invalid_format,
)
from workrail_lint.base.result import Err, Ok


class Entropy(Protocol):
    """Random bytes; the only source of chance."""

    def generate(self, size: int) -> bytes:
        """That many bytes."""
        ...


class KeyringError(Struct, frozen=True):
    """The signing keys can't be had. The message never quotes them."""

    code: Literal["KEYRING_IO_ERROR", "KEYRING_CORRUPTION_DETECTED", "KEYRING_INVARIANT_VIOLATION"]
    message: str
    out_of_space: bool = False


class Keyring(Protocol):
    """The signing keys."""

    def load(self) -> Ok[KeyPair] | Err[KeyringError]:
        """The keys; made on first use."""
        ...

    def rotate(self) -> Ok[KeyPair] | Err[KeyringError]:
        """A fresh current key; the former one still verifies, the one before it no longer does."""
        ...


class AliasError(Struct, frozen=True):
    """The alias index could not be read or added to."""

    code: Literal["TOKEN_ALIAS_IO_ERROR", "TOKEN_ALIAS_DUPLICATE_NONCE"]
    message: str
    out_of_space: bool = False


class AliasIndex(Protocol):
    """The meanings of short tokens."""

    def by_nonce(self, nonce: bytes) -> Ok[AliasRecord | None] | Err[AliasError]:
        """The record of a nonce."""
        ...

    def by_key(self, key: AliasKey) -> Ok[AliasRecord | None] | Err[AliasError]:
        """The record that already serves a purpose."""
        ...

    def add(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        """Keep a record, durably, before its token is handed out."""
        ...

    def reserve(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        """Keep a record whose token is not handed out before `settle`."""
        ...

    def settle(self) -> Ok[None] | Err[AliasError]:
        """Keep durably what was reserved."""
        ...


class NodeAddress(Struct, frozen=True):
    """A node of a run of a session."""

    session_id: SessionId
    run_id: RunId
    node_id: NodeId


class ContinueGrant(Struct, frozen=True):
    """May continue one attempt on a node."""

    place: NodeAddress
    attempt_id: AttemptId
    workflow_ref: WorkflowRef


class CheckpointGrant(Struct, frozen=True):
    """May set a checkpoint for one attempt on a node."""

    place: NodeAddress
    attempt_id: AttemptId


class StateGrant(Struct, frozen=True):
    """May look at a node."""

    place: NodeAddress
    workflow_ref: WorkflowRef


IssuerFailure: TypeAlias = KeyringError | AliasError
P = TypeVar("P", AttemptPayload, StatePayload)


class TokenIssuer:
    """Tokens over a keyring, an alias index and a source of nonces."""

    def __init__(self, keyring: Keyring, aliases: AliasIndex, entropy: Entropy) -> None:
        self._keyring = keyring
        self._aliases = aliases
        self._entropy = entropy

    def continue_token(self, grant: ContinueGrant, slot: AliasSlot | None = None) -> Ok[str] | Err[IssuerFailure]:
        """The short token that continues an attempt; the slot tells a retry token from the plain one."""
        return self._issue("continue", grant.place, grant.attempt_id, grant.workflow_ref, slot)

    def checkpoint_token(self, grant: CheckpointGrant) -> Ok[str] | Err[IssuerFailure]:
        """The short token that sets a checkpoint."""
        return self._issue("checkpoint", grant.place, grant.attempt_id, None, None)

    def state_token(self, grant: StateGrant) -> Ok[str] | Err[IssuerFailure]:
        """The short token that looks at a node."""
        return self._issue("state", grant.place, None, grant.workflow_ref, None)

    def long_state_token(self, grant: StateGrant) -> Ok[str] | Err[IssuerFailure]:
        """The long token that looks at a node; needs no alias record, so a read-only call can give it out."""
        keys = self._keyring.load()
        if isinstance(keys, Err):
            return keys
        place = grant.place
        payload = StatePayload(place.session_id, place.run_id, place.node_id, grant.workflow_ref)
        return Ok(formats.sign_long(payload, keys.value))

    def resolve_continue(self, text: str) -> Ok[ContinueGrant] | Err[TokenError | IssuerFailure]:
        """Return the grant of a continue token."""
        if formats.claimed_kind(text) != "continue":
            return Err(invalid_format("Expected a continue token (ct_...)."))
        record = self._resolve(text, "continue", "Continue token")
        if isinstance(record, Err):
            return record
        alias = record.value
        if alias.attempt_id is None or alias.workflow_hash_ref is None:
            raise AssertionError("an alias record of a continue token names both")
        return Ok(ContinueGrant(_place(alias), alias.attempt_id, alias.workflow_hash_ref))

    def resolve_checkpoint(self, text: str) -> Ok[CheckpointGrant] | Err[TokenError | IssuerFailure]:
        """Return the grant of a checkpoint token, short or long."""
        if formats.claimed_kind(text) == "checkpoint":
            record = self._resolve(text, "checkpoint", "Short token")
            if isinstance(record, Err):
                return record
            alias = record.value
            if alias.attempt_id is None:
                raise AssertionError("an alias record of a checkpoint token names its attempt")
            return Ok(CheckpointGrant(_place(alias), alias.attempt_id))
        payload = self._verified(text, "checkpoint", AttemptPayload)
        if isinstance(payload, Err):
            return payload
        return Ok(CheckpointGrant(_payload_place(payload.value), payload.value.attempt_id))

    def resolve_state(self, text: str) -> Ok[StateGrant] | Err[TokenError | IssuerFailure]:
        """Return the grant of a state token, short or long."""
        if formats.claimed_kind(text) == "state":
            record = self._resolve(text, "state", "Short token")
            if isinstance(record, Err):
                return record
            alias = record.value
            if alias.workflow_hash_ref is None:
                raise AssertionError("an alias record of a state token names its workflow")
            return Ok(StateGrant(_place(alias), alias.workflow_hash_ref))
        payload = self._verified(text, "state", StatePayload)
        if isinstance(payload, Err):
            return payload
        return Ok(StateGrant(_payload_place(payload.value), payload.value.workflow_ref))

    def reserve(
        self, grant: ContinueGrant | CheckpointGrant, slot: AliasSlot | None = None
    ) -> Ok[None] | Err[IssuerFailure]:
        """Prepare a token that is handed out later, so that it can be made durable together with other things."""
        if isinstance(grant, ContinueGrant):
            reserved = self._reserved("continue", grant.place, grant.attempt_id, grant.workflow_ref, slot)
        else:
            reserved = self._reserved("checkpoint", grant.place, grant.attempt_id, None, slot)
        return reserved if isinstance(reserved, Err) else Ok(None)

    def _issue(
        self,
        kind: TokenKind,
        place: NodeAddress,
        attempt: AttemptId | None,
        workflow_ref: WorkflowRef | None,
        slot: AliasSlot | None,
    ) -> Ok[str] | Err[IssuerFailure]:
        keys = self._keyring.load()
        if isinstance(keys, Err):
            return keys
        reserved = self._reserved(kind, place, attempt, workflow_ref, slot)
        if isinstance(reserved, Err):
            return reserved
        settled = self._aliases.settle()
        if isinstance(settled, Err):
            return settled
        return Ok(formats.format_token(kind, reserved.value.nonce, keys.value))

    def _reserved(
        self,
        kind: TokenKind,
        place: NodeAddress,
        attempt: AttemptId | None,
        workflow_ref: WorkflowRef | None,
        slot: AliasSlot | None,
    ) -> Ok[AliasRecord] | Err[AliasError]:
        """The record of a token: the first one for its purpose, made if there is none."""
        known = self._aliases.by_key(AliasKey(kind, slot, place.session_id, place.node_id, attempt))
        if isinstance(known, Err):
            return known
        if known.value is not None:
            return Ok(known.value)
        record = AliasRecord(
            v=1,
            nonce_hex=self._entropy.generate(NONCE_BYTES).hex(),
            token_kind=kind,
            alias_slot=slot,
            session_id=place.session_id,
            run_id=place.run_id,
            node_id=place.node_id,
            attempt_id=attempt,
            workflow_hash_ref=workflow_ref,
        )
        added = self._aliases.reserve(record)
        return added if isinstance(added, Err) else Ok(record)

    def _verified(self, text: str, kind: LongKind, expected: type[P]) -> Ok[P] | Err[TokenError | IssuerFailure]:
        """Return the payload of a long token."""
        keys = self._keyring.load()
        if isinstance(keys, Err):
            return keys
        payload = formats.verify_long(text, keys.value, kind)
        if isinstance(payload, Err):
            return payload
        if not isinstance(payload.value, expected):
            raise AssertionError("a verified token has the payload of its kind")
        return Ok(payload.value)

    def _resolve(self, text: str, expected: TokenKind, name: str) -> Ok[AliasRecord] | Err[TokenError | IssuerFailure]:
        keys = self._keyring.load()
        if isinstance(keys, Err):
            return keys
        opened = formats.open_token(text, keys.value)
        if isinstance(opened, Err):
            if opened.error == "SHORT_TOKEN_BAD_SIGNATURE":
                return Err(bad_signature(f"{name} HMAC verification failed."))
            return Err(invalid_format(f"{name} format invalid: {opened.error}"))
        record = self._aliases.by_nonce(opened.value[1])
        if isinstance(record, Err):
            return record
        if record.value is None:
            return Err(invalid_format(f"{name} is not known here."))
        if record.value.token_kind != expected:
            return Err(invalid_format(f"{name} was given out as a {record.value.token_kind} token."))
        return Ok(record.value)


def _place(record: AliasRecord) -> NodeAddress:
    return NodeAddress(record.session_id, record.run_id, record.node_id)


def _payload_place(payload: Payload) -> NodeAddress:
    return NodeAddress(payload.session_id, payload.run_id, payload.node_id)
