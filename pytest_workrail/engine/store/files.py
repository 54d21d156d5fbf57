"""The file operations the durable stores are built from: few, and each one a place where a crash can strike.

Paths are relative to the data root and use `/`. Failures are raised as OSError; the stores turn them into
values. The disk adapter is `disk.DiskFiles`, the one in memory `tree.TreeFiles`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct


class WriteHandle(Protocol):
    """An open file. What was written is safe only after `sync` returned."""

    def write(self, data: bytes) -> None:
        """Add bytes at the end, all of them."""
        ...

    def sync(self) -> None:
        """Make everything written so far survive a power failure."""
        ...


class Stamp(Struct, frozen=True):
    """What tells whether a file is still the one that was read: its size, and what changes with every write."""

    size: int
    version: object


class Hold(Protocol):
    """A folder that is held by one only, in any thread or process that asks for it."""

    @property
    def is_certain(self) -> bool:
        """False where the system has no such locks, and somebody else may hold the folder too."""
        ...

    @property
    def is_ours(self) -> bool:
        """False in a copy of the process that took it."""
        ...

    def release(self) -> None:
        """Let others have it; a copy of the process only lets go of its share."""
        ...


class Spare(Protocol):
    """A file without a name. It is gone with the process."""

    def link(self, path: str) -> bool:
        """Give it its name, once; False when the name is taken, or when its content may still be lost."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Files(Protocol):
    """A folder of files."""

    def read(self, path: str, offset: int = 0) -> bytes | None:
        """The bytes of a file from an offset on; None when there is no such file."""
        ...

    def exists(self, path: str) -> bool:
        """True when there is a file or folder of that name."""
        ...

    def list_dir(self, path: str) -> list[str]:
        """The names in a folder; none when there is no such folder."""
        ...

    def modified_ms(self, path: str) -> int | None:
        """When a file or folder last changed; None when that can't be told."""
        ...

    def make_dir(self, path: str) -> None:
        """Make a folder and the ones above it; not an error when it exists."""
        ...

    def create(self, path: str) -> AbstractContextManager[WriteHandle]:
        """Open an empty file for writing, emptying what was there."""
        ...

    def extend(self, path: str) -> AbstractContextManager[WriteHandle]:
        """Open a file for adding to its end; made when missing."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Give a file another name, in one step, taking the place of what had it."""
        ...

    def sync(self, path: str) -> None:
        """Make a file survive a power failure, whoever wrote it."""
        ...

    def sync_dir(self, path: str) -> None:
        """Make the names in a folder survive a power failure."""
        ...

    def sync_later(self, path: str, *, name: bool = True) -> None:
        """Let the next `sync_pending` make a file survive a power failure, and its name if that is new."""
        ...

    def is_pending(self, path: str) -> bool:
        """True while a file waits for `sync_pending`."""
        ...

    def sync_pending(self) -> None:
        """Make all files that wait for it survive a power failure, with their names."""
        ...

    def stamp(self, path: str) -> Stamp | None:
        """The stamp of a file; None when there is no such file."""
        ...

    def spare(self, folder: str, data: bytes) -> Spare | None:
        """A file with some content, in a folder but without a name; None where that can't be had.

        The next `sync_pending` makes it survive a power failure, if it has a name by then or later.
        """
        ...

    def link(self, source: str, target: str) -> bool:
        """Give a file a second name; False when the name is taken."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file; not an error when it is gone."""
        ...

    def hold(self, path: str) -> Hold | None:
        """Be the only one to hold a folder until it is released, or until this process ends; None when it is held."""
        ...

    def sweep(self, path: str) -> None:
        """Remove the temporary files in a folder that no living process is writing."""
        ...
