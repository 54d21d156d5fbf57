"""Writing files that survive a crash: after it, a file is there with all of its content, or not at all."""

from __future__ import annotations

import errno
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.ports import Files

_numbers = itertools.count()


def os_error_text(problem: OSError) -> str:
    """Return the message of an OSError without the absolute paths it names."""
    return problem.strerror or type(problem).__name__


def is_out_of_space(problem: OSError) -> bool:
    """Return whether the same write can succeed once there is room: the disk is full, or the user's quota of it is."""
    return problem.errno in (errno.ENOSPC, errno.EDQUOT)


def parent(path: str) -> str:
    """The folder a path lies in."""
    return path.rpartition("/")[0]


def unique_aside(path: str) -> str:
    """A temporary name that no other process or thread uses."""
    return f"{path}.{os.getpid()}-{next(_numbers)}{layout.ASIDE}"


def write_durably(files: Files, path: str, data: bytes, *, aside: str) -> None:
    """Put a file in its place: written aside, synced, renamed, its folder synced."""
    with _removed_on_failure(files, aside), files.create(aside) as handle:
        handle.write(data)
        handle.sync()
        files.replace(aside, path)  # while it is open: nobody takes it for a leftover
    files.sync_dir(parent(path))


def write_soon(files: Files, path: str, data: bytes, *, aside: str) -> None:
    """Put a file in its place, to be made safe with others by `sync_pending` before anything relies on it."""
    with _removed_on_failure(files, aside), files.create(aside) as handle:
        handle.write(data)
        files.replace(aside, path)  # while it is open: nobody takes it for a leftover
    files.sync_later(path)


@contextmanager
def _removed_on_failure(files: Files, aside: str) -> Iterator[None]:
    try:
        yield
    except (OSError, KeyboardInterrupt):
        with suppress(OSError):
            files.remove(aside)
        raise


def publish(files: Files, path: str, data: bytes, *, lasting: bool = True) -> bool:
    """Make a file that must not exist yet; False when it does. Nobody ever sees it without its content.

    One that is not `lasting` may be gone after a power failure.
    """
    aside = unique_aside(path)
    try:
        with files.create(aside) as handle:
            handle.write(data)
            handle.sync()
            is_new = files.link(aside, path)
    finally:
        files.remove(aside)
    if is_new and lasting:
        files.sync_dir(parent(path))
    return is_new


def make_durable(files: Files, path: str) -> None:
    """Make safe what is visible: its writer may have died between writing and syncing."""
    files.sync(path)
    files.sync_dir(parent(path))


def prepare_root(files: Files) -> None:
    """Make the folders of a data root, so that no later write has to."""
    workflows = (layout.PINNED_WORKFLOWS, layout.COMPILED_WORKFLOWS)
    for folder in (layout.SESSIONS, layout.SNAPSHOTS, *workflows, layout.KEYS):
        files.make_dir(folder)
        files.sweep(folder)
    for folder in (parent(layout.PINNED_WORKFLOWS), ""):
        files.sync_dir(folder)


class PendingSyncs:
    """Files that wait to be synced. Whoever asks waits until all that were there before are safe."""

    def __init__(self) -> None:
        self._paths: dict[str, bool] = {}  # and whether their names wait, too
        self._turn = threading.Lock()

    def sync_later(self, path: str, *, name: bool = True) -> None:
        self._paths[path] = name or self._paths.get(path, False)

    def is_pending(self, path: str) -> bool:
        return path in self._paths

    def sync_pending(self) -> None:
        with self._turn:
            paths, self._paths = self._paths, {}
            try:
                if paths:
                    self._sync_all(paths)
            except BaseException:
                self._paths = paths | self._paths  # they wait on
                raise

    def _sync_all(self, paths: dict[str, bool]) -> None:
        for path in paths:
            self.sync(path)
        for folder in dict.fromkeys(path.rpartition("/")[0] for path, name in paths.items() if name):
            self.sync_dir(folder)

    def sync(self, path: str) -> None:
        raise NotImplementedError

    def sync_dir(self, path: str) -> None:
        raise NotImplementedError
