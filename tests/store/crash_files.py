"""What a disk may look like after a crash: file operations that are recorded, and every state they allow.

The model promises as little as a real disk does. Bytes are safe once their file was synced, names once their
folder was. Anything else may be there, be missing, be cut at any byte, or be zeros of the right length.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_workrail.engine.store.memory import TreeFiles


@dataclass(frozen=True)
class Op:
    """One operation: `make_dir create write sync replace link remove sync_dir`, or `note` by the test."""

    name: str
    path: str
    other: str = ""
    data: bytes = b""
    note: object = None


class RecordingFiles(TreeFiles):
    """Files in memory that remember what was done to them."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[Op] = []
        self._dirs = {""}

    @classmethod
    def after(cls, ops: list[Op]) -> RecordingFiles:
        """The files as another process sees them when the first one was killed: nothing lost, nothing synced."""
        files, disk = cls(), Disk.after(ops)
        files.ops = list(ops)
        for path, inode in disk.now.items():
            if inode == _DIR:
                files._dirs.add(path)
            else:
                files.contents[path] = disk.inodes[inode].safe + disk.inodes[inode].pending
        return files

    def note(self, note: object) -> None:
        self.ops.append(Op("note", "", note=note))

    def make_dir(self, path: str) -> None:
        so_far = ""
        for part in path.split("/"):
            so_far = f"{so_far}/{part}" if so_far else part
            if so_far not in self._dirs:
                self._dirs.add(so_far)
                self.ops.append(Op("make_dir", so_far))

    @contextmanager
    def create(self, path: str) -> Iterator[_RecordingHandle]:
        with super().create(path) as inner:
            self.ops.append(Op("create", path))
            yield _RecordingHandle(self, inner, path)

    @contextmanager
    def extend(self, path: str) -> Iterator[_RecordingHandle]:
        is_new = path not in self.contents
        with super().extend(path) as inner:
            if is_new:
                self.ops.append(Op("create", path))
            yield _RecordingHandle(self, inner, path)

    def replace(self, source: str, target: str) -> None:
        super().replace(source, target)
        self.ops.append(Op("replace", source, target))

    def link(self, source: str, target: str) -> bool:
        is_new = super().link(source, target)
        if is_new:
            self.ops.append(Op("link", source, target))
        return is_new

    def remove(self, path: str) -> None:
        if path in self.contents:
            self.ops.append(Op("remove", path))
        super().remove(path)

    def sync(self, path: str) -> None:
        self.ops.append(Op("sync", path))

    def sync_dir(self, path: str) -> None:
        self.ops.append(Op("sync_dir", path))


class _RecordingHandle:
    def __init__(self, files: RecordingFiles, inner, path: str) -> None:
        self._files, self._inner, self._path = files, inner, path

    def write(self, data: bytes) -> None:
        self._inner.write(data)
        self._files.ops.append(Op("write", self._path, data=data))

    def write_whole(self, data: bytes) -> None:
        self.write(data)

    def sync(self) -> None:
        self._files.ops.append(Op("sync", self._path))


@dataclass
class _Inode:
    safe: bytes = b""
    pending: bytes = b""


@dataclass
class _Change:
    """A change of the names in one folder that is not safe yet."""

    folder: str
    gone: tuple[str, ...] = ()
    named: tuple[tuple[str, int], ...] = ()


_DIR = -1
Names = dict[str, int]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


@dataclass
class Disk:
    """The disk while operations are replayed on it."""

    inodes: list[_Inode] = field(default_factory=list)
    now: Names = field(default_factory=dict)
    safe: Names = field(default_factory=dict)
    changes: list[_Change] = field(default_factory=list)

    @classmethod
    def after(cls, ops: list[Op]) -> Disk:
        """The disk once these operations were done."""
        disk = cls()
        for op in ops:
            disk.apply(op)
        return disk

    def apply(self, op: Op) -> None:
        match op.name:
            case "make_dir":
                self._change(_Change(_folder(op.path), named=((op.path, _DIR),)))
            case "create":
                self.inodes.append(_Inode())
                self._change(_Change(_folder(op.path), named=((op.path, len(self.inodes) - 1),)))
            case "write":
                self.inodes[self.now[op.path]].pending += op.data
            case "sync":
                inode = self.inodes[self.now[op.path]]
                inode.safe, inode.pending = inode.safe + inode.pending, b""
            case "replace":
                assert _folder(op.path) == _folder(op.other)
                named = ((op.other, self.now[op.path]),)
                self._change(_Change(_folder(op.path), gone=(op.path,), named=named))
            case "link":
                self._change(_Change(_folder(op.other), named=((op.other, self.now[op.path]),)))
            case "remove":
                self._change(_Change(_folder(op.path), gone=(op.path,)))
            case "sync_dir":
                for change in self.changes:
                    if change.folder == op.path:
                        _commit(self.safe, change)
                self.changes = [change for change in self.changes if change.folder != op.path]
            case "note":
                pass
            case _:
                raise AssertionError(op.name)

    def _change(self, change: _Change) -> None:
        _commit(self.now, change)
        self.changes.append(change)

    def states(self, stride: int = 1) -> Iterator[dict[str, bytes]]:
        """Every content of the disk that a crash at this moment may leave behind; torn at every `stride` bytes."""
        contents = list(self._contents(stride))
        for names in self._names():
            files = [(path, inode) for path, inode in names.items() if inode != _DIR and _is_reachable(path, names)]
            for data in contents:
                yield {path: data[inode] for path, inode in files}

    def _names(self) -> Iterator[Names]:
        """The names that survive: any number of changes in order, or all but those of one folder."""
        survivors = [self.changes[:count] for count in range(len(self.changes) + 1)]
        survivors += [
            [change for change in self.changes if change.folder != folder]
            for folder in sorted({change.folder for change in self.changes})
        ]
        seen: list[Names] = []
        for changes in survivors:
            names = dict(self.safe)
            for change in changes:
                _commit(names, change)
            if names not in seen:
                seen.append(names)
                yield names

    def _contents(self, stride: int) -> Iterator[list[bytes]]:
        """The bytes that survive: all, only the synced ones, or one file cut or zeroed at each byte."""
        full = [inode.safe + inode.pending for inode in self.inodes]
        yield full
        unsafe = [number for number, inode in enumerate(self.inodes) if inode.pending]
        if len(unsafe) > 1:
            yield [inode.safe for inode in self.inodes]
        for number in unsafe:
            inode = self.inodes[number]
            for cut in range(0, len(inode.pending), stride):
                kept = inode.safe + inode.pending[:cut]
                for torn in (kept, kept + bytes(len(inode.pending) - cut)):
                    yield [*full[:number], torn, *full[number + 1 :]]


def _commit(names: Names, change: _Change) -> None:
    for path in change.gone:
        names.pop(path, None)
    names.update(change.named)


def _is_reachable(path: str, names: Names) -> bool:
    folder = _folder(path)
    while folder:
        if names.get(folder) != _DIR:
            return False
        folder = _folder(folder)
    return True


@dataclass(frozen=True)
class CrashState:
    """A disk after a crash, the notes made before it, and the operation it struck."""

    contents: dict[str, bytes]
    notes: tuple[object, ...]
    after: Op | None


def crash_states(ops: list[Op], stride: int = 1) -> Iterator[CrashState]:
    """Every distinct state that a crash after any of the operations may leave; torn at every `stride` bytes."""
    disk, notes, last = Disk(), [], None
    seen: set[tuple[int, int]] = set()
    for op in [None, *ops]:
        if op is not None:
            disk.apply(op)
            last = op
            if op.name == "note":
                notes.append(op.note)
        for contents in disk.states(stride):
            mark = (len(notes), hash(frozenset(contents.items())))
            if mark not in seen:
                seen.add(mark)
                yield CrashState(contents, tuple(notes), last)
