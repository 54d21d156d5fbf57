"""Where signing keys are kept: in a file, or fixed ones in memory for tests."""

from __future__ import annotations

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import (
    is_out_of_space,
    make_durable,
    os_error_text,
    publish,
    unique_aside,
    write_durably,
)
from pytest_workrail.engine.store.ports import Files, Stamp
from pytest_workrail.engine.tokens.formats import (
    KEY_BYTES,
    AliasKey,
    AliasRecord,
    KeyPair,
    keyring_bytes,
    read_alias,
    read_keyring,
)
from pytest_workrail.engine.tokens.issuer import AliasError, Entropy, KeyringError
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


class FileAliasIndex:
    """Aliases in a file. What other processes added is read before each answer."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._index = AliasRecords()
        self._read = 0  # how far the file has been read, always to the end of a line
        self._name_is_safe = False

    def by_nonce(self, nonce: bytes) -> Ok[AliasRecord | None] | Err[AliasError]:
        refreshed = self._refresh()
        return refreshed if isinstance(refreshed, Err) else Ok(self._index.by_nonce.get(nonce))

    def by_key(self, key: AliasKey) -> Ok[AliasRecord | None] | Err[AliasError]:
        refreshed = self._refresh()
        return refreshed if isinstance(refreshed, Err) else Ok(self._index.by_key.get(key))

    def add(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        reserved = self.reserve(record)
        return reserved if isinstance(reserved, Err) else self.settle()

    def settle(self) -> Ok[None] | Err[AliasError]:
        try:
            if self._files.is_pending(layout.TOKEN_INDEX):
                self._files.sync_pending()
                self._name_is_safe = True
        except OSError as problem:
            return _io_error(problem)
        return Ok(None)

    def reserve(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        refreshed = self._refresh()
        if isinstance(refreshed, Err):
            return refreshed
        if record.nonce in self._index.by_nonce:
            return duplicate_nonce()
        # A writer that died may have left half a line; ours must not become the other half.
        line = record_line(record) if refreshed.value == b"" else b"\n" + record_line(record)
        try:
            with self._files.extend(layout.TOKEN_INDEX) as handle:
                handle.write(line)
            self._files.sync_later(layout.TOKEN_INDEX, name=not self._name_is_safe)
            # Nobody else has added anything, so there is nothing to read but what was just written.
            if refreshed.value == b"" and self._size() == self._read + len(line):
                self._read += len(line)
        except OSError as problem:
            return _io_error(problem)
        self._index.add(record)
        return Ok(None)

    def _size(self) -> int:
        stamp = self._files.stamp(layout.TOKEN_INDEX)
        return 0 if stamp is None else stamp.size

    def _refresh(self) -> Ok[bytes] | Err[AliasError]:
        """Take in what was added; the answer is what stands after the last line end."""
        try:
            if self._size() == self._read:
                return Ok(b"")
            raw = self._files.read(layout.TOKEN_INDEX, self._read) or b""
            *lines, rest = raw.split(b"\n")
            records = [record.value for record in map(read_alias, lines) if isinstance(record, Ok)]
            if any(record.nonce not in self._index.by_nonce for record in records):
                make_durable(self._files, layout.TOKEN_INDEX)
        except OSError as problem:
            return _io_error(problem)
        for record in records:
            self._index.add(record)
        self._read += len(raw) - len(rest)
        return Ok(rest)


def _io_error(problem: OSError) -> Err[AliasError]:
    return Err(AliasError("TOKEN_ALIAS_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))


class FileKeyring:
    """Keys in a file, made on first use."""

    def __init__(self, files: Files, entropy: Entropy) -> None:
        self._files = files
        self._entropy = entropy
        self._is_settled = False
        self._known: tuple[Stamp, KeyPair] | None = None

    def load(self) -> Ok[KeyPair] | Err[KeyringError]:
        try:
            stamp = self._files.stamp(layout.KEYRING)
            if self._known is not None and self._known[0] == stamp:
                return Ok(self._known[1])
            raw = self._files.read(layout.KEYRING)
            if raw is None:
                fresh = fresh_key(self._entropy)
                if isinstance(fresh, Err):
                    return fresh
                # Another process may make the keyring at this moment; whoever is first, everybody uses it.
                publish(self._files, layout.KEYRING, keyring_bytes(KeyPair(fresh.value)))
                raw = self._files.read(layout.KEYRING) or b""
            if not self._is_settled:
                make_durable(self._files, layout.KEYRING)
                self._is_settled = True
        except OSError as problem:
            return _keyring_error(problem)
        pair = read_keyring(raw)
        if isinstance(pair, Err):
            return Err(KeyringError("KEYRING_CORRUPTION_DETECTED", pair.error))
        # A stamp taken before the file was read can only be too old, never too new.
        self._known = None if stamp is None else (stamp, pair.value)
        return pair

    def rotate(self) -> Ok[KeyPair] | Err[KeyringError]:
        fresh = fresh_key(self._entropy)
        if isinstance(fresh, Err):
            return fresh
        try:
            # Two rotations at once would make one key forget the other without ever having been previous.
            hold = self._files.hold(layout.KEYS)
            if hold is None:
                return Err(KeyringError("KEYRING_IO_ERROR", "another process is rotating the keys"))
            try:
                pair = self.load()
                if isinstance(pair, Err):
                    return pair
                rotated = pair.value.rotated(fresh.value)
                aside = unique_aside(layout.KEYRING)
                write_durably(self._files, layout.KEYRING, keyring_bytes(rotated), aside=aside)
            finally:
                hold.release()
        except OSError as problem:
            return _keyring_error(problem)
        return Ok(rotated)


def _keyring_error(problem: OSError) -> Err[KeyringError]:
    return Err(KeyringError("KEYRING_IO_ERROR", os_error_text(problem), is_out_of_space(problem)))


class OverlayAliasIndex:
    """The aliases of a folder, and new ones in memory: a token can be given out although nothing may be written."""

    def __init__(self, files: Files) -> None:
        self._stored = FileAliasIndex(files)
        self._added = MemoryAliasIndex()

    def by_nonce(self, nonce: bytes) -> Ok[AliasRecord | None] | Err[AliasError]:
        stored = self._stored.by_nonce(nonce)
        return stored if isinstance(stored, Err) or stored.value is not None else self._added.by_nonce(nonce)

    def by_key(self, key: AliasKey) -> Ok[AliasRecord | None] | Err[AliasError]:
        stored = self._stored.by_key(key)
        return stored if isinstance(stored, Err) or stored.value is not None else self._added.by_key(key)

    def add(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        known = self._stored.by_nonce(record.nonce)
        if isinstance(known, Err):
            return known
        if known.value is not None:
            return Err(AliasError("TOKEN_ALIAS_DUPLICATE_NONCE", "this nonce is in use already"))
        return self._added.add(record)

    def reserve(self, record: AliasRecord) -> Ok[None] | Err[AliasError]:
        return self.add(record)

    def settle(self) -> Ok[None] | Err[AliasError]:
        return Ok(None)
