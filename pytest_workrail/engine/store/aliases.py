"""The alias index of short tokens, in memory and in a file that only grows."""

from __future__ import annotations

from pytest_workrail.engine.model.base import record_line
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import make_durable, os_error_text
from pytest_workrail.engine.store.files import Files
from pytest_workrail.engine.store.memory_tokens import AliasRecords, duplicate_nonce
from pytest_workrail.engine.tokens.aliases import AliasKey, AliasRecord, read_alias
from pytest_workrail.engine.tokens.ports import AliasError
from workrail_lint.base.result import Err, Ok


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
    return Err(AliasError("TOKEN_ALIAS_IO_ERROR", os_error_text(problem)))
