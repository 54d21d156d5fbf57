"""A data folder to look at: everything can be read, and no call reaches anything that writes.

Sessions of another engine lie in such a folder, and that engine may be at work on them right now.
"""

from __future__ import annotations

import errno
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

from pytest_workrail.engine.store.aliases import FileAliasIndex
from pytest_workrail.engine.store.disk import DiskFiles
from pytest_workrail.engine.store.files import Hold, Spare, Stamp, WriteHandle
from pytest_workrail.engine.store.memory_tokens import MemoryAliasIndex
from pytest_workrail.engine.tokens.aliases import AliasKey, AliasRecord
from pytest_workrail.engine.tokens.ports import AliasError
from workrail_lint.base.result import Err, Ok


class ReadOnlyFiles:
    """The file operations of a folder that stays as it is. Those that would change it raise OSError."""

    def __init__(self, root: str | Path) -> None:
        self._files = DiskFiles(root)

    def read(self, path: str, offset: int = 0) -> bytes | None:
        return self._files.read(path, offset)

    def exists(self, path: str) -> bool:
        return self._files.exists(path)

    def list_dir(self, path: str) -> list[str]:
        return self._files.list_dir(path)

    def modified_ms(self, path: str) -> int | None:
        return self._files.modified_ms(path)

    def sync(self, path: str) -> None:
        """Whether it is safe on disk is its writer's business."""

    def sync_dir(self, path: str) -> None:
        """The same for a folder."""

    def sync_later(self, path: str, *, name: bool = True) -> None:
        """The same for later."""

    def is_pending(self, path: str) -> bool:
        return False

    def sync_pending(self) -> None:
        """Nothing was written that could wait."""

    def stamp(self, path: str) -> Stamp | None:
        return self._files.stamp(path)

    def spare(self, folder: str, data: bytes) -> Spare | None:
        _refuse()

    def sweep(self, path: str) -> None:
        """Leftovers stay where they are."""

    def make_dir(self, path: str) -> None:
        _refuse()

    def create(self, path: str) -> AbstractContextManager[WriteHandle]:
        _refuse()

    def extend(self, path: str) -> AbstractContextManager[WriteHandle]:
        _refuse()

    def replace(self, source: str, target: str) -> None:
        _refuse()

    def link(self, source: str, target: str) -> bool:
        _refuse()

    def remove(self, path: str) -> None:
        _refuse()

    def hold(self, path: str) -> Hold | None:
        _refuse()


def _refuse() -> NoReturn:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


class OverlayAliasIndex:
    """The aliases of a folder, and new ones in memory: a token can be given out although nothing may be written."""

    def __init__(self, files: ReadOnlyFiles) -> None:
        self._stored = FileAliasIndex(files)
        self._added = MemoryAliasIndex()

    def by_nonce(self, nonce: bytes) -> Ok[AliasRecord | None] | Err[AliasError]:
        found = self._stored.by_nonce(nonce)
        return found if isinstance(found, Err) or found.value is not None else self._added.by_nonce(nonce)

    def by_key(self, key: AliasKey) -> Ok[AliasRecord | None] | Err[AliasError]:
        found = self._stored.by_key(key)
        return found if isinstance(found, Err) or found.value is not None else self._added.by_key(key)

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
