"""Signing keys: the current one signs, the current and the previous one verify."""

from __future__ import annotations

import hmac
from typing import Literal

from pytest_workrail.engine.model.base import Closed, Shape, record_line
from pytest_workrail.engine.tokens import base64url
from workrail_lint.base.result import Err, Ok

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
    return _Key("hmac_sha256", base64url.encode(key))


def keyring_bytes(pair: KeyPair) -> bytes:
    """The bytes of a keyring file."""
    previous = None if pair.previous is None else _stored(pair.previous)
    return record_line(_Keyring(v=1, current=_stored(pair.current), previous=previous))


def read_keyring(raw: bytes) -> Ok[KeyPair] | Err[str]:
    """The keys in a keyring file. The reason for a refusal never quotes the file."""
    record = _KEYRING.read_line(raw)
    if isinstance(record, Err):
        return Err(f"the keyring is unreadable ({record.error.code})")
    stored = [record.value.current] + ([record.value.previous] if record.value.previous else [])
    keys = [base64url.decode(key.key_base64_url) for key in stored]
    usable = [key for key in keys if key is not None and len(key) == KEY_BYTES]
    if len(usable) != len(stored):
        return Err(f"a key in the keyring does not have {KEY_BYTES} bytes")
    return Ok(KeyPair(usable[0], usable[1] if len(usable) > 1 else None))
