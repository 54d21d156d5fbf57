"""The home of an engine: its stores, write gate and token issuer, put together in memory or on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.store.gate import Gate
from pytest_workrail.engine.store.memory import (
    MemoryPinnedWorkflowStore,
    MemorySessionLock,
    MemorySessionStore,
    MemorySnapshotStore,
)
from pytest_workrail.engine.store.memory_tokens import MemoryAliasIndex, MemoryKeyring
from pytest_workrail.engine.store.ports import Clock, Stores
from pytest_workrail.engine.tokens.issuer import TokenIssuer
from pytest_workrail.engine.tokens.ports import Entropy, Keyring
from workrail_lint.base.result import Err, Ok

# What only the disk needs is imported there: scenarios run in memory.
if TYPE_CHECKING:
    from pytest_workrail.engine.store.files import Files
    from pytest_workrail.engine.store.identity import Holder

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
    from pytest_workrail.engine.store.identity import Holder, this_machine

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
    from pytest_workrail.engine.store.keyring import FileKeyring
    from pytest_workrail.engine.store.read_only import OverlayAliasIndex, ReadOnlyFiles

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
    from pytest_workrail.engine.store.aliases import FileAliasIndex
    from pytest_workrail.engine.store.filesystem import FilePinnedWorkflowStore, FileSessionStore, FileSnapshotStore
    from pytest_workrail.engine.store.keyring import FileKeyring
    from pytest_workrail.engine.store.lock import FileSessionLock

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
