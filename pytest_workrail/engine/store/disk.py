"""File operations on a real disk, below one root folder that only its user can read, because it holds keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.files import Hold, WriteHandle
from workrail_lint.base.files import (
    claim,
    open_to_write,
    read_bytes,
    remove_file,
    replace_file,
    sweep,
    write_all,
)

if sys.platform != "win32":
    import fcntl

_MAX_BYTES = 512 * 1024 * 1024
_FILE_MODE = 0o600
_DIR_MODE = 0o700


class _Handle:
    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        write_all(self._descriptor, data)

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


class DiskFiles:
    """The file operations, on disk."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def _at(self, path: str) -> str:
        return os.path.join(self.root, path)

    def read(self, path: str, offset: int = 0) -> bytes | None:
        try:
            return read_bytes(self._at(path), _MAX_BYTES, offset=offset, follow=False)
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        return os.path.exists(self._at(path))

    def list_dir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._at(path)))  # names, not paths
        except FileNotFoundError:
            return []

    def modified_ms(self, path: str) -> int | None:
        try:
            return os.stat(self._at(path)).st_mtime_ns // 1_000_000
        except OSError:
            return None

    def make_dir(self, path: str) -> None:
        os.makedirs(self._at(path), mode=_DIR_MODE, exist_ok=True)

    @contextmanager
    def _open(self, path: str, flags: int) -> Iterator[WriteHandle]:
        handle = _Handle(open_to_write(self._at(path), flags, _FILE_MODE))
        try:
            yield handle
        finally:
            handle.close()

    @contextmanager
    def create(self, path: str) -> Iterator[WriteHandle]:
        while True:
            descriptor = open_to_write(self._at(path), os.O_CREAT | os.O_TRUNC, _FILE_MODE)
            handle = _Handle(descriptor)
            try:
                # A temporary file, which somebody may just take for the leftover of a dead writer.
                if claim(descriptor, self._at(path)):
                    yield handle
                    return
            finally:
                handle.close()

    @contextmanager
    def extend(self, path: str) -> Iterator[WriteHandle]:
        with self._open(path, os.O_CREAT | os.O_APPEND) as handle:
            yield handle

    def replace(self, source: str, target: str) -> None:
        replace_file(self._at(source), self._at(target))

    def sync(self, path: str) -> None:
        self._sync(path, os.O_RDONLY if sys.platform != "win32" else os.O_RDWR)

    def sync_dir(self, path: str) -> None:
        if sys.platform != "win32":  # folders can't be synced there
            self._sync(path, os.O_RDONLY)

    def _sync(self, path: str, flags: int) -> None:
        descriptor = os.open(self._at(path), flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, source: str, target: str) -> bool:
        try:
            os.link(self._at(source), self._at(target))
        except FileExistsError:
            return False
        return True

    def remove(self, path: str) -> None:
        remove_file(self._at(path))

    def hold(self, path: str) -> Hold | None:
        if sys.platform == "win32":  # folders can't be locked there
            return _Hold(None)
        descriptor = os.open(self._at(path), os.O_RDONLY)
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
        sweep(self._at(path), prefix="", suffix=layout.ASIDE)
