"""Where signing keys are kept: in a file, or fixed ones in memory for tests."""

from __future__ import annotations

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import make_durable, os_error_text, publish, unique_aside, write_durably
from pytest_workrail.engine.store.files import Files, Stamp
from pytest_workrail.engine.store.memory_tokens import fresh_key
from pytest_workrail.engine.tokens.keys import KeyPair, keyring_bytes, read_keyring
from pytest_workrail.engine.tokens.ports import Entropy, KeyringError
from workrail_lint.base.result import Err, Ok


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
            return _io_error(problem)
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
            return _io_error(problem)
        return Ok(rotated)


def _io_error(problem: OSError) -> Err[KeyringError]:
    return Err(KeyringError("KEYRING_IO_ERROR", os_error_text(problem)))
