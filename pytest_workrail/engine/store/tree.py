"""File operations on a dictionary, for tests and for runs that keep nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_workrail.engine.store import layout
from pytest_workrail.engine.store.files import Hold, Spare, Stamp, WriteHandle
from pytest_workrail.engine.store.pending import PendingSyncs


class _Handle:
    __slots__ = ("_contents", "_path")

    def __init__(self, contents: dict[str, bytes], path: str) -> None:
        self._contents = contents
        self._path = path

    def write(self, data: bytes) -> None:
        self._contents[self._path] += data

    def sync(self) -> None:
        pass


class _Hold:
    __slots__ = ("_held", "_path")
    is_certain = True
    is_ours = True

    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        self._held.discard(self._path)


class TreeFiles(PendingSyncs):
    """The file operations, on a mapping from path to bytes. Time is a count of changes."""

    def __init__(self, contents: dict[str, bytes] | None = None) -> None:
        super().__init__()
        self.contents: dict[str, bytes] = {} if contents is None else contents
        self._changes = 0
        self._modified: dict[str, int] = {}
        self._held: set[str] = set()

    def _touch(self, path: str) -> None:
        self._changes += 1
        while path:
            self._modified[path] = self._changes
            path = path.rpartition("/")[0]

    def read(self, path: str, offset: int = 0) -> bytes | None:
        content = self.contents.get(path)
        return None if content is None else content[offset:]

    def exists(self, path: str) -> bool:
        return path in self.contents or bool(self.list_dir(path))

    def list_dir(self, path: str) -> list[str]:
        prefix = f"{path}/"
        return sorted({name[len(prefix) :].partition("/")[0] for name in self.contents if name.startswith(prefix)})

    def modified_ms(self, path: str) -> int | None:
        return self._modified.get(path, 0) if self.exists(path) else None

    def make_dir(self, path: str) -> None:
        pass

    @contextmanager
    def create(self, path: str) -> Iterator[WriteHandle]:
        self.contents[path] = b""
        self._touch(path)
        yield _Handle(self.contents, path)

    @contextmanager
    def extend(self, path: str) -> Iterator[WriteHandle]:
        self.contents.setdefault(path, b"")
        self._touch(path)
        yield _Handle(self.contents, path)

    def replace(self, source: str, target: str) -> None:
        if source not in self.contents:
            raise FileNotFoundError(source)
        self.contents[target] = self.contents.pop(source)
        self._touch(target)

    def sync(self, path: str) -> None:
        pass

    def sync_dir(self, path: str) -> None:
        pass

    def stamp(self, path: str) -> Stamp | None:
        content = self.contents.get(path)
        return None if content is None else Stamp(len(content), content)

    def spare(self, folder: str, data: bytes) -> Spare | None:
        return None

    def link(self, source: str, target: str) -> bool:
        if target in self.contents:
            return False
        self.contents[target] = self.contents[source]
        self._touch(target)
        return True

    def remove(self, path: str) -> None:
        if self.contents.pop(path, None) is not None:
            self._touch(path)

    def hold(self, path: str) -> Hold | None:
        return None if path in self._held else _Hold(self._held, path)

    def sweep(self, path: str) -> None:
        for name in self.list_dir(path):
            if name.endswith(layout.ASIDE):
                self.remove(f"{path}/{name}")
