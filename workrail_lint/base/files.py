"""The one way to files: bounded reads of regular files, and writes that follow no link and survive a crash.

Whatever is written goes to a temporary file beside its place first. Its writer holds the kernel's lock on it, so the
leftovers of killed runs are told from files that are being written, and swept.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from functools import lru_cache
from typing import TypeAlias

from workrail_lint.base.result import Err, Ok, Record

MAX_FILE_BYTES = 64 * 1024 * 1024
PRIVATE = 0o600  # the mode of private files
_OTHERS = 0o077

CACHE_FOLDER = ".workrail-cache"
_ASIDE = (".workrail-", ".tmp")
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/null", "/dev/fd/")
_NOT_REGULAR = "it is not a regular file"
_FILE_IS_LINK = "an output must be a regular file, not a symlink"
_FOLDER_IS_LINK = "a folder in its path is a symlink, and outputs are never written through one"
_REPOSITORY = ".git"
_PROJECT_MARKS = (_REPOSITORY, "workrail-lint.toml", "pyproject.toml")
_OPENS_FOLDERS = {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd


_Matcher: TypeAlias = Callable[[str], re.Match[str] | None]

# What this process wrote or removed for its user, in order: an interrupted command says how far it came.
written: list[str] = []


class Unreadable(Record):
    """Why a file can't be read, in a sentence that names it."""

    __slots__ = ("message", "path")

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message


# ---------------------------------------------------------------------------------------------------------- reading


def read_file(path: str, limit: int = MAX_FILE_BYTES) -> Ok[bytes] | Err[Unreadable]:
    """Return the bytes of a regular file. A folder, a device, a pipe or a huge file is refused, not read."""
    try:
        return Ok(read_bytes(path, limit))
    except OSError as error:
        return Err(Unreadable(path, f"{path} {_reason(error, limit)}"))


def read_bytes(path: str, limit: int = MAX_FILE_BYTES, *, offset: int = 0, follow: bool = True) -> bytes:
    """Return the bytes of a regular file from an offset; raises OSError. Unless `follow`, a link is refused."""
    try:
        # Without waiting: a named pipe would otherwise block the run until a process writes to it.
        handle = os.open(path, os.O_RDONLY | _NO_WAITING | _BINARY | (0 if follow else _NO_LINK))
    except ValueError as error:
        raise OSError(errno.ENAMETOOLONG, "it is not a valid path") from error
    try:
        info = os.fstat(handle)
        if stat.S_ISDIR(info.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        if not stat.S_ISREG(info.st_mode):
            raise OSError(errno.EINVAL, _NOT_REGULAR)
        if offset:
            os.lseek(handle, offset, os.SEEK_SET)
        data = _read_up_to(handle, max(0, info.st_size - offset), limit + 1)
    finally:
        os.close(handle)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes")
    return data


def _read_up_to(handle: int, expected: int, limit: int) -> bytes:
    """Return what a file holds, which may be more than its size says: some grow, some are made up by the kernel."""
    if expected >= limit:
        return bytes(limit)  # too much in any case
    parts = [os.read(handle, expected + 1)]
    size = len(parts[0])
    while parts[-1] and size < limit:
        parts.append(os.read(handle, min(limit - size, 1 << 20)))
        size += len(parts[-1])
    return b"".join(parts)


def read_shipped(path: str) -> bytes:
    """Return a file that is part of this program."""
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def walk(top: str, on_error: Callable[[OSError], None] | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield a folder and those below it, each with the names of its folders and of its other files.

    As `os.walk` does it, which fails on Python 3.11 where folders are nested a thousand deep. A link to a folder is
    among the folders, and only the top may be one to be entered.
    """
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        folders: list[str] = []
        names: list[str] = []
        links = set()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else names).append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        except OSError as error:
            if on_error is not None:
                on_error(error)
            continue
        yield folder, folders, names
        waiting += [os.path.join(folder, name) for name in reversed(folders) if name not in links]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def state_of(path: str, *, with_content: bool = False) -> str:
    """Return what is at a path and where its links lead, for those who remember what they concluded from it."""
    try:
        there = os.path.lexists(path)
        kind = "file" if os.path.isfile(path) else "folder" if os.path.isdir(path) else "other" if there else "nothing"
        state = f"{kind} {os.path.realpath(path)}"
    except (OSError, ValueError):
        return "no path"
    if not with_content:
        return state
    from hashlib import blake2b

    read = read_file(path)
    return f"{state} {blake2b(read.value, digest_size=32).hexdigest() if isinstance(read, Ok) else 'unreadable'}"


def _reason(error: OSError, limit: int) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "does not exist"
        case errno.EISDIR:
            return "is a directory"
        case errno.EACCES | errno.EPERM:
            return "can't be read (permission denied)"
        case errno.EFBIG:
            return f"has more than {limit:,} bytes"
        case errno.EINVAL | errno.EAGAIN | errno.ENXIO:
            return "is not a regular file"
    return f"can't be read ({error.strerror or type(error).__name__})"


# ------------------------------------------------------------------------------------------------------------ owners


def is_own(path: str) -> bool:
    """Return whether a file or folder, and the link that leads to it, belong to the user or to root."""
    if not hasattr(os, "geteuid"):  # Windows: no other user can write to the folders of a user
        return True
    try:
        owners = {os.lstat(path).st_uid, os.stat(path).st_uid}
    except OSError:
        return False
    return owners <= {0, os.geteuid()}


def project_folders(start: str) -> Iterator[tuple[str, bool]]:
    """Yield a folder and those above it in which something may count for it; and whether they are the project.

    The project is the current folder, or a folder outside of it that the user named, and all of the repository around
    it. What is in the project counts, whoever owns it. Nothing above a repository counts. Where there is none, what
    the user or root owns counts all the way up, and nothing else: anybody may write to /tmp.
    """
    folder, current = os.path.abspath(start), os.getcwd()
    project = current if f"{folder}{os.sep}".startswith(current.rstrip(os.sep) + os.sep) else folder
    above = [folder]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    at = above.index(project)
    marks = ((number, os.path.join(above[number], _REPOSITORY)) for number in range(at, len(above)))
    top = next((number for number, mark in marks if os.path.lexists(mark) and (number == at or is_own(mark))), None)
    for number, place in enumerate(above if top is None else above[: top + 1]):
        yield place, number <= at or top is not None


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path leads into one of the folders, with all links on the way followed."""
    real = os.path.realpath(path)
    return any(real.startswith(os.path.join(os.path.realpath(folder), "")) for folder in folders)


# ---------------------------------------------------------------------------------------------------------- writing


def output_root(folder: str) -> str:
    """Return the root for an output in a folder that the user named: nothing below it is written through a link.

    It is the outermost project around the folder, or the current folder if that is higher up. In neither of them
    the user's own links count, so it is the nearest folder that exists.
    """
    above = [os.path.abspath(folder)]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    current = os.getcwd()
    for place in reversed(above[:-1]):
        if place == current or any(os.path.lexists(os.path.join(place, mark)) for mark in _PROJECT_MARKS):
            return place
    return next(place for place in above if os.path.isdir(place))


class _Folder:
    """An open folder. Names are resolved from its descriptor, so no link can come between; elsewhere from its path."""

    def __init__(self, path: str, flags: int = 0, within: _Folder | None = None) -> None:
        self.path = path
        self.descriptor = None
        if _OPENS_FOLDERS:
            name, dir_fd = (path, None) if within is None else (os.path.basename(path), within.descriptor)
            self.descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | flags, dir_fd=dir_fd)

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def place(self, name: str) -> str:
        """Return what a name is opened by, together with the descriptor."""
        return os.path.join(self.path, name) if self.descriptor is None else name

    def info(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(self.place(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(self.place(name), flags | _BINARY, mode, dir_fd=self.descriptor)

    def remove(self, name: str) -> bool:
        """Remove a file; False when there is none."""
        try:
            os.unlink(self.place(name), dir_fd=self.descriptor)
        except FileNotFoundError:
            return False
        return True

    def rename(self, old: str, new: str) -> None:
        """Take the place of what had the new name. A link there is replaced, not followed."""
        os.replace(self.place(old), self.place(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def names(self) -> list[str]:
        return os.listdir(self.path if self.descriptor is None else self.descriptor)

    def sync(self) -> None:
        """Make its names survive a power failure, where folders can be synced."""
        if self.descriptor is None:
            return
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EROFS):  # file systems without it
                raise

    def make_private(self) -> None:
        """Take all rights from everybody but the owner, where folders have rights."""
        mode = os.stat(self.path if self.descriptor is None else self.descriptor).st_mode
        if self.descriptor is None or not mode & _OTHERS:
            return
        try:
            os.fchmod(self.descriptor, stat.S_IMODE(mode) & ~_OTHERS)
        except PermissionError as problem:
            raise PermissionError(problem.errno, "others can read it, and it belongs to another user") from None

    def enter(self, name: str, make_mode: int | None) -> _Folder:
        """Return an open folder in this one, made if there is a mode for new ones. It is no link."""
        info = self.info(name)
        if info is None and make_mode is not None:
            try:
                os.mkdir(self.place(name), make_mode, dir_fd=self.descriptor)
            except FileExistsError:  # another process was faster
                return self.enter(name, None)
        elif info is not None and stat.S_ISLNK(info.st_mode):
            raise OSError(errno.ELOOP, _FOLDER_IS_LINK)
        return _Folder(os.path.join(self.path, name), _NO_LINK, self)


def _open_folder(path: str, root: str, make_mode: int | None = None) -> _Folder:
    """Open a folder at or below a root. None of the folders below the root may be a link."""
    inside = os.path.relpath(os.path.abspath(path), os.path.abspath(root))
    names = [] if inside == os.curdir else inside.split(os.sep)
    if os.pardir in names:
        raise OSError(errno.EINVAL, "it is not below its folder")
    if make_mode is not None:
        os.makedirs(root, make_mode, exist_ok=True)
    folder = _Folder(root)
    for name in names:
        with folder:
            folder = folder.enter(name, make_mode)
    return folder


def _split(path: str) -> tuple[str, str]:
    if "\0" in path:
        raise OSError(errno.EINVAL, "it is not a valid path")
    if path.endswith(("/", os.sep)):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    return os.path.split(os.path.abspath(path))


def write_atomically(
    path: str,
    data: bytes,
    root: str,
    *,
    parents: bool = False,
    mode: int = 0o666,
    durable: bool = True,
    in_batch: bool = False,
    is_output: bool = True,
) -> None:
    """Replace a file's content in one step; mode and owner stay. Raises OSError; then the old content is unchanged.

    Nothing is written through a link, neither the file itself nor a folder below the root; for a path that the user
    typed, that is its `output_root`. With `parents`, missing folders are made. `mode` is what a new file may have at
    most; who may read it may look into the new folders. A power failure may undo a write that is not `durable`. Whoever
    writes many files into a folder sweeps it before them and syncs it after them: each write `in_batch` does neither,
    or n files would list n names n times.
    What is no output, such as a cache, is not among the files that an interrupted command names.
    """
    if os.path.abspath(path).startswith(_STREAMS):
        _write_to_stream(os.open(path, os.O_WRONLY | _NO_WAITING | _BINARY), data)
        return
    at, name = _split(path)
    with _open_folder(at, root, mode | (mode & 0o444) >> 2 if parents else None) as folder:
        old = folder.info(name)
        if old is not None and stat.S_ISLNK(old.st_mode):
            raise OSError(errno.ELOOP, _FILE_IS_LINK)
        if old is not None and not stat.S_ISREG(old.st_mode):  # a pipe, whose place nothing can take
            _write_to_stream(folder.open(name, os.O_WRONLY | _NO_WAITING | _NO_LINK), data)
            return
        if not in_batch:
            _sweep(folder, *_ASIDE)
        _replace(folder, name, data, old, mode, durable=durable)
        if is_output:
            written.append(path)
        if durable and not in_batch:
            folder.sync()


def sync_folder(path: str, root: str) -> None:
    """Make the names in a folder survive a power failure: the end of a batch of writes."""
    with _open_folder(path, root) as folder:
        folder.sync()


def _replace(folder: _Folder, name: str, data: bytes, old: os.stat_result | None, mode: int, *, durable: bool) -> None:
    handle, aside = _open_aside(folder)
    try:
        write_all(handle, data)
        _make_like(handle, old, mode)
        if durable:
            os.fsync(handle)
        if os.name == "nt":  # an open file can't be renamed there
            os.close(handle)
            handle = -1
        folder.rename(aside, name)
    except BaseException:
        folder.remove(aside)
        raise
    finally:
        if handle >= 0:
            os.close(handle)


def _write_to_stream(handle: int, data: bytes) -> None:
    """Write to what nothing can take the place of: standard output, a pipe."""
    try:
        os.set_blocking(handle, True)
        write_all(handle, data)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """Write to an open file, all of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def write_in_place(path: str, data: bytes, root: str, *, keep: int = 0) -> None:
    """Write a file whose loss would not matter, such as one in a temporary folder, behind as much of it as is kept."""
    at, name = _split(path)
    with _open_folder(at, root) as folder:
        handle = open_to_write(folder.place(name), os.O_CREAT, 0o666, folder.descriptor)
    try:
        os.ftruncate(handle, keep)
        os.lseek(handle, 0, os.SEEK_END)
        write_all(handle, data)
    finally:
        os.close(handle)


def open_to_write(path: str, flags: int, mode: int, dir_fd: int | None = None) -> int:
    """Open a regular file for writing. A link, a pipe or a device in its place is an OSError."""
    handle = os.open(path, flags | os.O_WRONLY | _NO_WAITING | _BINARY | _NO_LINK, mode, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, _NOT_REGULAR)
    return handle


def replace_file(source: str, target: str) -> None:
    """Give a file another name, taking the place of what had it. A link there is replaced, not followed."""
    os.replace(source, target)


def remove_file(path: str, root: str, *, is_output: bool = True) -> None:
    """Remove a file, or a link, below a root; not an error when it is gone. No folder on the way may be a link."""
    at, name = _split(path)
    try:
        folder = _open_folder(at, root)
    except FileNotFoundError:
        return
    with folder:
        if folder.remove(name) and is_output:
            written.append(path)


def check_folder(path: str, root: str) -> None:
    """Raise OSError unless a folder is there, and is no link, and none is on the way to it from a root."""
    with _open_folder(path, root):
        return


def make_folders(path: str, root: str) -> None:
    """Make a folder and those on the way to it from a root. None of them may be a link."""
    with _open_folder(path, root, 0o777):
        return


def make_private_folder(path: str, root: str) -> None:
    """Make a folder, and those on the way to it from a root, for the user alone. One that is there becomes private."""
    with _open_folder(path, root, 0o700) as folder:
        folder.make_private()


def _make_like(handle: int, old: os.stat_result | None, mode: int) -> None:
    """Give a new file the permissions and the owner of the one it replaces, or those that a new file gets."""
    if old is None:
        mask = os.umask(0)
        os.umask(mask)
        mode &= ~mask
    else:
        mode = stat.S_IMODE(old.st_mode) & 0o777
        now = os.fstat(handle)
        if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
            try:
                os.fchown(handle, old.st_uid, old.st_gid)
            except OSError:
                mode &= 0o700 | (old.st_mode & 0o044)  # not ours to give away; no one gains the right to write
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


# -------------------------------------------------------------------------------------------------------- leftovers


def _open_aside(folder: _Folder) -> tuple[int, str]:
    """Return a new temporary file in a folder, locked, so that it is not removed as a leftover."""
    while True:
        aside = os.urandom(8).hex().join(_ASIDE)
        try:
            handle = folder.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR | _NO_LINK, 0o600)
        except FileExistsError:
            continue
        if claim(handle, folder.place(aside), folder.descriptor):
            return handle, aside
        os.close(handle)


def claim(handle: int, path: str, dir_fd: int | None = None) -> bool:
    """Lock an open temporary file; False if it was removed as a leftover in the meantime."""
    if _locked(handle) is False:
        return False
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, dir_fd=dir_fd, follow_symlinks=False))
    except FileNotFoundError:
        return False


def sweep(path: str, root: str, prefix: str = _ASIDE[0], suffix: str = _ASIDE[1]) -> None:
    """Remove the temporary files that killed runs left in a folder, unless it can't be opened below its root."""
    try:
        with _open_folder(path, root) as folder:
            _sweep(folder, prefix, suffix)
    except OSError:
        return


def _sweep(folder: _Folder, prefix: str, suffix: str) -> None:
    try:
        names = folder.names()
    except OSError:
        return
    for name in names:
        if name.endswith(suffix) and name.startswith(prefix):
            _remove_leftover(folder, name)


def _remove_leftover(folder: _Folder, name: str) -> None:
    try:
        handle = folder.open(name, os.O_RDWR | _NO_WAITING | _NO_LINK)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and _locked(handle):
            folder.remove(name)
    except OSError:
        pass
    finally:
        os.close(handle)


def _locked(handle: int) -> bool | None:
    """Lock an open file; False when it is locked already, None where there are no such locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True


def matches(path: str, root: str, patterns: list[str]) -> bool:
    """Return whether a path matches one of the patterns, as a whole or by one of its parts."""
    if not patterns:
        return False

    relative = os.path.relpath(path, root).replace(os.sep, "/")
    whole = os.path.normpath(path).replace(os.sep, "/")
    parts = relative.split("/")
    is_wanted, is_around, is_part = _matchers(tuple(patterns))
    return (
        any(map(is_wanted, (relative, whole, parts[-1]))) or is_around(relative) is not None or any(map(is_part, parts))
    )


@lru_cache(maxsize=2048)
def _matchers(patterns: tuple[str, ...]) -> tuple[_Matcher, _Matcher, _Matcher]:
    """Return what matches a path, what matches a path below or above, and what matches one part of a path."""
    wanted = [pattern.rstrip("/") for pattern in patterns]
    below = [each for name in wanted for each in (f"{name}/*", f"*/{name}")]
    return _matcher(wanted), _matcher(below), _matcher([name for name in wanted if "/" not in name])


def _matcher(patterns: list[str]) -> _Matcher:
    # All at once: one after the other, long lists of them take minutes.
    return re.compile("|".join(map(translate, patterns)) or r"(?!)", re.DOTALL).match


def inside(base: str, source: str) -> str | None:
    """Return the normalized path of a source below its base, or None when it leaves the base.

    Symbolic links are not followed here; whether one leads out of the base is a separate finding.
    """
    root = os.path.normpath(os.path.abspath(base))
    path = os.path.normpath(os.path.join(root, source))
    if "\x00" in path:
        return None
    return path if path == root or path.startswith(root.rstrip(os.sep) + os.sep) else None
