"""Aliases of tokens and signing keys in memory, for tests and scenarios."""

from __future__ import annotations

from pytest_workrail.engine.tokens.aliases import AliasKey, AliasRecord
from pytest_workrail.engine.tokens.keys import KEY_BYTES, KeyPair
from pytest_workrail.engine.tokens.ports import AliasError, Entropy, KeyringError
from workrail_lint.base.result import Err, Ok

# Known to everybody, and meant to be: with it and injected entropy the tokens of a test are reproducible.
TEST_KEY = bytes(range(KEY_BYTES))
_DONE = Ok(None)


class AliasRecords:
    """Records by nonce and by purpose. The first record for a purpose serves it."""

    def __init__(self) -> None:
        self.by_nonce: dict[bytes, AliasRecord] = {}
        self.by_key: dict[AliasKey, AliasRecord] = {}

    def add(self, record: AliasRecord) -> bool:
        """Take a record in; False when its nonce is known."""
        nonce = record.nonce
        if nonce in self.by_nonce:
            return False
        self.by_nonce[nonce] = record
        self.by_key.setdefault(record.key, record)
        return True


def duplicate_nonce() -> Err[AliasError]:
    return Err(AliasError("TOKEN_ALIAS_DUPLICATE_NONCE", "this nonce is in use already"))


class MemoryAliasIndex:
    """Aliases that live as long as this object."""

    def __init__(self) -> None:
        self._index = AliasRecords()

    def by_nonce(self, nonce: bytes) -> Ok[AliasRecord | None] | Err[AliasError]:
        return Ok(self._index.by_nonce.get(nonce))

    def by_key(self, key: AliasKey) -> Ok[AliasRecord | None] | Err[AliasError]:
        return Ok(self._index.by_key.get(key))

    def add(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        return _DONE if self._index.add(record) else duplicate_nonce()

    def reserve(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        return self.add(record)

    def settle(self) -> Ok[None] | Err[AliasError]:
        return _DONE


class MemoryKeyring:
    """Keys that live as long as this object."""

    def __init__(self, entropy: Entropy, pair: KeyPair | None = None) -> None:
        self._entropy = entropy
        self._pair = Ok(pair or KeyPair(TEST_KEY))

    def load(self) -> Ok[KeyPair] | Err[KeyringError]:
        return self._pair

    def rotate(self) -> Ok[KeyPair] | Err[KeyringError]:
        fresh = fresh_key(self._entropy)
        if isinstance(fresh, Err):
            return fresh
        self._pair = Ok(self._pair.value.rotated(fresh.value))
        return self._pair


def fresh_key(entropy: Entropy) -> Ok[bytes] | Err[KeyringError]:
    """A new signing key."""
    key = entropy.generate(KEY_BYTES)
    if len(key) != KEY_BYTES:
        message = f"asked for {KEY_BYTES} random bytes, got {len(key)}"
        return Err(KeyringError("KEYRING_INVARIANT_VIOLATION", message))
    return Ok(key)
