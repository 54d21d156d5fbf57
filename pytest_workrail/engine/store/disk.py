"""File operations on a real disk, below one root folder that only its user can read, because it holds keys."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_workrail.engine.store.files import WriteHandle

if sys.platform != "win32":
    import fcntl

_FILE_MODE = 0o600
_DIR_MODE = 0o700
_BINARY = getattr(os, "O_BINARY", 0)


class _Handle:
    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def sync(self) -> None:
        os.fsync(self._descriptor)


class DiskFiles:
    """The file operations, on disk."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def _at(self, path: str) -> Path:
        return self.root / path

    def read(self, path: str, offset: int = 0) -> bytes | None:
        try:
            with open(self._at(path), "rb") as file:
                file.seek(offset)
                return file.read()
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        return self._at(path).exists()

    def list_dir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._at(path)))  # names, not paths
        except FileNotFoundError:
            return []

    def modified_ms(self, path: str) -> int | None:
        try:
            return self._at(path).stat().st_mtime_ns // 1_000_000
        except OSError:
            return None

    def make_dir(self, path: str) -> None:
        self._at(path).mkdir(mode=_DIR_MODE, parents=True, exist_ok=True)

    @contextmanager
    def _open(self, path: str, flags: int) -> Iterator[WriteHandle]:
        descriptor = os.open(self._at(path), flags | os.O_WRONLY | _BINARY, _FILE_MODE)
        try:
            yield _Handle(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def create(self, path: str) -> Iterator[WriteHandle]:
        with self._open(path, os.O_CREAT | os.O_TRUNC) as handle:
            yield handle

    @contextmanager
    def extend(self, path: str) -> Iterator[WriteHandle]:
        with self._open(path, os.O_CREAT | os.O_APPEND) as handle:
            yield handle

    def replace(self, source: str, target: str) -> None:
        os.replace(self._at(source), self._at(target))

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
        with suppress(FileNotFoundError):
            self._at(path).unlink()

    @contextmanager
    def guard(self, path: str) -> Iterator[bool]:
        if sys.platform == "win32":  # folders can't be locked there
            yield True
            return
        descriptor = os.open(self._at(path), os.O_RDONLY)
        try:
            try:
                # Held by the kernel for this process: it can't outlive a crash.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)
