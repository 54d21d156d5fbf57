"""A folder on disk that only its user can read, because it holds keys: its file operations and the homes in it."""

from __future__ import annotations

import errno
import functools
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from pytest_workrail.engine.model.ids import IdMint
from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.durable import PendingSyncs, prepare_root
from pytest_workrail.engine.store.filesystem import (
    FilePinnedWorkflowStore,
    FileSessionStore,
    FileSnapshotStore,
    Holder,
    Machine,
    on_files,
)
from pytest_workrail.engine.store.gate import Gate, Home
from pytest_workrail.engine.store.memory import MemorySessionLock
from pytest_workrail.engine.store.ports import Clock, Hold, Spare, Stamp, Stores, WriteHandle
from pytest_workrail.engine.store.token_store import FileKeyring, OverlayAliasIndex
from pytest_workrail.engine.tokens.issuer import Entropy, TokenIssuer
from workrail_lint.base.files import (
    PRIVATE,
    check_folder,
    claim,
    make_private_folder,
    open_to_write,
    read_bytes,
    read_file,
    replace_file,
    sweep,
    write_all,
    written,
)
from workrail_lint.base.result import Err, Ok


class SystemClock:
    """The wall clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class SystemEntropy:
    """The operating system's random bytes."""

    def generate(self, size: int) -> bytes:
        return os.urandom(size)


def this_machine() -> Machine:
    """Where this process runs, as far as the system tells."""
    booted = next((line.split()[1] for line in _read("/proc/stat").splitlines() if line.startswith("btime ")), "0")
    # The name of the program is in brackets and may hold anything; the start is the 20th field behind it.
    facts = _read("/proc/self/stat").rpartition(")")[2].split()
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return Machine(
        host=platform.node(),
        boot=_read("/proc/sys/kernel/random/boot_id").strip(),
        booted_ms=int(booted) * 1000,
        namespace=namespace,
        process_started=facts[19] if len(facts) > 19 else "",
    )


def _read(path: str) -> str:
    """A file that the kernel makes up; empty on other systems."""
    read = read_file(path)
    return read.value.decode("ascii", "replace") if isinstance(read, Ok) else ""


if sys.platform != "win32":
    import fcntl

ENVIRONMENT_VARIABLE = "WORKRAIL_DATA_DIR"
_MAX_BYTES = 512 * 1024 * 1024


class _Handle:
    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        write_all(self._descriptor, data)

    def write_whole(self, data: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        try:
            write_all(self._descriptor, data)
        except BaseException:  # a full disk, or an interrupt
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise

    def sync(self) -> None:
        os.fsync(self._descriptor)
        if sys.platform == "win32":  # an open file can't be renamed there
            self.close()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class _Hold:
    __slots__ = ("_descriptor", "_pid")

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._pid = os.getpid()

    @property
    def is_certain(self) -> bool:
        return self._descriptor is not None

    @property
    def is_ours(self) -> bool:
        return self._pid == os.getpid()

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            # Closing alone would leave it held while a copy of this process has the folder open too.
            if self.is_ours and sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)


class _Spare:
    __slots__ = ("_descriptor", "_files", "_made")

    def __init__(self, files: DiskFiles, descriptor: int) -> None:
        self._files = files
        self._descriptor = descriptor
        self._made = files.syncs_begun

    def write(self, data: bytes) -> None:
        write_all(self._descriptor, data)

    def link(self, path: str) -> bool:
        if self._files.syncs_done <= self._made:
            return False
        try:
            # Naming a folder makes Python use the call that follows the link to the open file.
            source = f"/proc/self/fd/{self._descriptor}"
            os.link(source, self._files._target(path), src_dir_fd=self._descriptor, follow_symlinks=True)
        except OSError:  # the name is taken, or this system knows no such links
            return False
        return True

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()


@functools.cache
def _sync_file_system() -> Callable[[int], int] | None:
    """Linux can make everything on a file system safe in one go; before 5.8 it did not tell when that failed."""
    if sys.platform != "linux":
        return None
    major, minor = os.uname().release.split(".")[:2]
    if (int(major), int("".join(filter(str.isdigit, minor)) or 0)) < (5, 8):
        return None
    import ctypes  # here, because only sessions on disk need it

    syncfs: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return syncfs


class DiskFiles(PendingSyncs):
    """The file operations, on disk.

    Several files are made safe by one call for their whole file system where there is one. It waits for what other
    programs have written there, too, and still costs less than a call for each file and each folder.
    """

    def __init__(self, root: str | Path) -> None:
        super().__init__()
        self.root = Path(root)
        self.syncs_begun = self.syncs_done = 0  # of the whole file system
        # Open from the first write on: it hears of every failure to write since it was opened.
        self._watch = -1
        self._checked: set[str] = set()  # folders that are no links, and none is on the way to them

    def __del__(self) -> None:
        if self._watch >= 0:
            os.close(self._watch)

    def at(self, path: str) -> str:
        """Where a path leads."""
        return os.path.join(self.root, path)

    def _target(self, path: str) -> str:
        """Return where a path leads, for a write: a data folder that came from elsewhere may hold linked folders."""
        folder = os.path.dirname(path)
        if folder not in self._checked:
            check_folder(self.at(folder), os.fspath(self.root))
            self._checked.add(folder)
        return self.at(path)

    def read(self, path: str, offset: int = 0) -> bytes | None:
        try:
            return read_bytes(self.at(path), _MAX_BYTES, offset=offset, follow=False)
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        return os.path.exists(self.at(path))

    def list_dir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self.at(path)))  # names, not paths
        except FileNotFoundError:
            return []

    def modified_ms(self, path: str) -> int | None:
        try:
            return os.stat(self.at(path)).st_mtime_ns // 1_000_000
        except OSError:
            return None

    def make_dir(self, path: str) -> None:
        make_private_folder(self.at(path), os.fspath(self.root))

    @contextmanager
    def _open(self, path: str, flags: int) -> Iterator[WriteHandle]:
        handle = _Handle(open_to_write(self._target(path), flags, PRIVATE))
        try:
            yield handle
        finally:
            handle.close()

    @contextmanager
    def create(self, path: str) -> Iterator[WriteHandle]:
        while True:
            descriptor = open_to_write(self._target(path), os.O_CREAT | os.O_TRUNC, PRIVATE)
            handle = _Handle(descriptor)
            try:
                # A temporary file, which somebody may just take for the leftover of a dead writer.
                if claim(descriptor, self.at(path)):
                    yield handle
                    return
            finally:
                handle.close()

    @contextmanager
    def extend(self, path: str) -> Iterator[WriteHandle]:
        with self._open(path, os.O_CREAT | os.O_APPEND) as handle:
            yield handle

    def replace(self, source: str, target: str) -> None:
        replace_file(self._target(source), self._target(target))

    def sync_later(self, path: str, *, name: bool = True) -> None:
        self._open_watch()
        super().sync_later(path, name=name)

    def _open_watch(self) -> None:
        if self._watch < 0 and _sync_file_system() is not None:
            self._watch = os.open(self.root, os.O_RDONLY)

    def _sync_all(self, paths: dict[str, bool]) -> None:
        sync = _sync_file_system()
        if sync is None or len(paths) + sum(paths.values()) == 1:
            super()._sync_all(paths)
            return
        self.syncs_begun += 1
        if sync(self._watch) != 0:
            import ctypes

            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self.syncs_done = self.syncs_begun

    def stamp(self, path: str) -> Stamp | None:
        try:
            info = os.stat(self.at(path), follow_symlinks=False)
        except FileNotFoundError:
            return None
        return Stamp(info.st_size, (info.st_ino, info.st_mtime_ns, info.st_ctime_ns))

    def spare(self, folder: str, data: bytes) -> Spare | None:
        unnamed = getattr(os, "O_TMPFILE", 0)
        if not unnamed or _sync_file_system() is None:
            return None
        try:
            spare = _Spare(self, os.open(self.at(folder), unnamed | os.O_WRONLY | os.O_CLOEXEC, PRIVATE))
            spare.write(data)
        except OSError:  # a file system without such files, or without room for one
            return None
        return spare

    def sync(self, path: str) -> None:
        self._sync(path, os.O_RDONLY if sys.platform != "win32" else os.O_RDWR)

    def sync_dir(self, path: str) -> None:
        if sys.platform != "win32":  # folders can't be synced there
            self._sync(path, os.O_RDONLY)

    def _sync(self, path: str, flags: int) -> None:
        descriptor = os.open(self.at(path), flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, source: str, target: str) -> bool:
        try:
            os.link(self._target(source), self._target(target))
        except FileExistsError:
            return False
        return True

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._target(path))

    def hold(self, path: str) -> Hold | None:
        if sys.platform == "win32":  # folders can't be locked there
            return _Hold(None)
        descriptor = os.open(self.at(path), os.O_RDONLY)
        try:
            # For this opening of the folder, so that another thread's is another one. It can't outlive the process.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:  # a file system without locks on folders, such as NFS
            os.close(descriptor)
            return _Hold(None)
        except BaseException:
            os.close(descriptor)
            raise
        return _Hold(descriptor)

    def sweep(self, path: str) -> None:
        sweep(self.at(path), os.fspath(self.root), prefix="", suffix=layout.ASIDE)


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


def on_disk(root: Path, clock: Clock, entropy: Entropy, worker_id: str = "main") -> Ok[Home] | Err[str]:
    """A home in a folder, which several processes may share."""
    try:
        missing = [folder for folder in (root, *root.parents) if not folder.exists()]
        make_private_folder(os.fspath(root), os.fspath(root))
        written.append(os.fspath(root))
        files = DiskFiles(root)
        prepare_root(files)
        for folder in missing:
            DiskFiles(folder.parent).sync_dir("")
    except OSError as problem:
        return Err(f"The data folder can't be used: {problem.strerror}")
    holder = Holder(os.getpid(), worker_id, entropy.generate(8).hex(), this_machine())
    return Ok(on_files(files, clock, entropy, holder))


def read_only(root: Path, clock: Clock, entropy: Entropy) -> Home:
    """A home on a folder that stays as it is, whoever else uses it. Tokens of it are known; whatever appends fails."""
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
