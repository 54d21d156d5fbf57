"""What tokens need from outside: random bytes, signing keys, an alias index. Protocols and errors, no behaviour."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from pytest_workrail.engine.tokens.keys import KeyPair
from pytest_workrail.engine.tokens.short import AliasKey, AliasRecord
from workrail_lint.base.result import Err, Ok

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


class Entropy(Protocol):
    """Random bytes; the only source of chance."""

    def generate(self, size: int) -> bytes:
        """That many bytes."""
        ...


class KeyringError(Struct, frozen=True):
    """The signing keys can't be had. The message never quotes them."""

    code: Literal["KEYRING_IO_ERROR", "KEYRING_CORRUPTION_DETECTED", "KEYRING_INVARIANT_VIOLATION"]
    message: str


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


class AliasIndex(Protocol):
    """What short tokens stand for."""

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
