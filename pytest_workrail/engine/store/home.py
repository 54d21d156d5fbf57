"""The home of an engine: its stores, write gate and token issuer, put together in memory or on disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct

from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.store.disk import DiskFiles
from pytest_workrail.engine.store.files import Hold, Spare, Stamp, WriteHandle
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.memory import (
    MemoryPinnedWorkflowStore,
    MemorySessionLock,
    MemorySessionStore,
    MemorySnapshotStore,
)
from pytest_workrail.engine.store.ports import Clock, Stores
from pytest_workrail.engine.store.token_store import FileAliasIndex, MemoryAliasIndex, MemoryKeyring
from pytest_workrail.engine.tokens.issuer import TokenIssuer
from pytest_workrail.engine.tokens.ports import AliasError, Entropy, Keyring
from pytest_workrail.engine.tokens.short import AliasKey, AliasRecord
from workrail_lint.base.result import Err, Ok

if TYPE_CHECKING:
    from pytest_workrail.engine.store.files import Files
if TYPE_CHECKING:
    from pytest_workrail.engine.store.system import Holder


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


# What only the disk needs is imported there: scenarios run in memory.

ENVIRONMENT_VARIABLE = "WORKRAIL_DATA_DIR"


class Home(Struct, frozen=True):
    """Everything the protocol needs to run sessions, in one place."""

    stores: Stores
    gate: Gate
    issuer: TokenIssuer
    keyring: Keyring
    mint: IdMint
    clock: Clock
    entropy: Entropy


def in_memory(clock: Clock, entropy: Entropy) -> Home:
    """A home that is gone with the process. Its key is the public test key, so tokens can be reproduced."""
    sessions = MemorySessionStore()
    keyring = MemoryKeyring(entropy)
    return Home(
        stores=Stores(sessions, MemorySnapshotStore(), MemoryPinnedWorkflowStore()),
        gate=Gate(sessions, MemorySessionLock()),
        issuer=TokenIssuer(keyring, MemoryAliasIndex(), entropy),
        keyring=keyring,
        mint=IdMint(entropy.generate),
        clock=clock,
        entropy=entropy,
    )


def on_disk(root: Path, clock: Clock, entropy: Entropy, worker_id: str = "main") -> Ok[Home] | Err[str]:
    """A home in a folder, which several processes may share."""
    from pytest_workrail.engine.store.disk import DiskFiles
    from pytest_workrail.engine.store.durable import prepare_root
    from pytest_workrail.engine.store.system import Holder, this_machine

    try:
        made = [folder for folder in (root, *root.parents) if not folder.exists()]
        root.mkdir(parents=True, exist_ok=True)
        files = DiskFiles(root)
        prepare_root(files)
        for folder in made:
            DiskFiles(folder.parent).sync_dir("")
    except OSError as problem:
        return Err(f"The data folder can't be used: {problem.strerror}")
    holder = Holder(os.getpid(), worker_id, entropy.generate(8).hex(), this_machine())
    return Ok(on_files(files, clock, entropy, holder))


def read_only(root: Path, clock: Clock, entropy: Entropy) -> Home:
    """A home on a folder that stays as it is, whoever else uses it. Tokens of it are known; whatever appends fails."""
    from pytest_workrail.engine.store.filesystem import FilePinnedWorkflowStore, FileSessionStore, FileSnapshotStore
    from pytest_workrail.engine.store.token_store import FileKeyring

    files = ReadOnlyFiles(root)
    sessions = FileSessionStore(files)
    keyring = FileKeyring(files, entropy)
    return Home(
        stores=Stores(sessions, FileSnapshotStore(files), FilePinnedWorkflowStore(files)),
        gate=Gate(sessions, MemorySessionLock()),
        issuer=TokenIssuer(keyring, OverlayAliasIndex(files), entropy),
        keyring=keyring,
        mint=IdMint(entropy.generate),
        clock=clock,
        entropy=entropy,
    )


def on_files(files: Files, clock: Clock, entropy: Entropy, holder: Holder) -> Home:
    """A home on any file operations."""
    from pytest_workrail.engine.store.filesystem import (
        FilePinnedWorkflowStore,
        FileSessionLock,
        FileSessionStore,
        FileSnapshotStore,
    )
    from pytest_workrail.engine.store.token_store import FileAliasIndex, FileKeyring

    sessions = FileSessionStore(files)
    keyring = FileKeyring(files, entropy)
    return Home(
        stores=Stores(sessions, FileSnapshotStore(files), FilePinnedWorkflowStore(files)),
        gate=Gate(sessions, FileSessionLock(files, holder, clock)),
        issuer=TokenIssuer(keyring, FileAliasIndex(files), entropy),
        keyring=keyring,
        mint=IdMint(entropy.generate),
        clock=clock,
        entropy=entropy,
    )


def data_root(
    environ: Mapping[str, str], home: Path, *, override: Path | None = None, workflow_folders: Iterable[Path] = ()
) -> Ok[Path] | Err[str]:
    """The folder for `on_disk`: the override, else the environment's, else a default in the user's data folder.

    It never lies among the workflows that are run, so that no session is taken for one of them.
    """
    named = environ.get(ENVIRONMENT_VARIABLE)
    shared = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    root = (override or (Path(named) if named else shared / "workrail-lint")).absolute()
    for folder in workflow_folders:
        if root.is_relative_to(folder.absolute()):
            return Err(f"{root.name!r} lies in a folder that holds workflows; choose another data folder.")
    return Ok(root)
