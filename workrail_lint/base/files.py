"""The one way to files: bounded reads of regular files, and writes that follow no link and survive a crash.

Whatever is written goes to a temporary file beside its place first. Its writer holds the kernel's lock on it, so the
leftovers of killed runs are told from files that are being written, and swept.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from workrail_lint.base.result import Err, Ok

MAX_FILE_BYTES = 64 * 1024 * 1024

CACHE_FOLDER = ".workrail-cache"
_ASIDE = (".workrail-", ".tmp")
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/null", "/dev/fd/")
_NOT_REGULAR = "it is not a regular file"
_LINKED = OSError(errno.ELOOP, "it is a symbolic link, which is never written through")


class Unreadable(NamedTuple):
    """Why a file can't be read, in a sentence that names it."""

    path: str
    message: str


# ---------------------------------------------------------------------------------------------------------- reading


def read_file(path: str, limit: int = MAX_FILE_BYTES) -> Ok[bytes] | Err[Unreadable]:
    """The bytes of a regular file. A folder, a device, a pipe or a huge file is refused, not read."""
    try:
        return Ok(read_bytes(path, limit))
    except OSError as error:
        return Err(Unreadable(path, f"{path} {_reason(error, limit)}"))


def read_bytes(path: str, limit: int = MAX_FILE_BYTES, *, offset: int = 0, follow: bool = True) -> bytes:
    """The same, from an offset on; raises OSError. Unless links are followed, a link is refused."""
    try:
        # Without waiting: a named pipe would otherwise hold the run until somebody writes to it.
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
    """What a file holds, which may be more than its size says: some grow, some are made up by the kernel."""
    if expected >= limit:
        return bytes(limit)  # too much in any case
    parts = [os.read(handle, expected + 1)]
    size = len(parts[0])
    while parts[-1] and size < limit:
        parts.append(os.read(handle, min(limit - size, 1 << 20)))
        size += len(parts[-1])
    return b"".join(parts)


def read_shipped(path: str) -> bytes:
    """A file that is part of this program."""
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def state_of(path: str, *, with_content: bool = False) -> str:
    """What is at a path and where its links lead, for those who remember what they concluded from it."""
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


# ---------------------------------------------------------------------------------------------------------- writing


def write_atomically(
    path: str, data: bytes, *, below: str | None = None, mode: int = 0o666, durable: bool = True
) -> None:
    """Replace a file's content in one step; mode and owner stay. Raises OSError; then the old content still stands.

    Nothing is written through a link. Below a folder that is given, no folder on the way may be a link either, and
    those that are missing are made. `mode` is what a new file may have at most. A power failure may undo a
    write that is not `durable`.
    """
    if below is not None:
        make_folders(os.path.dirname(path), below)
    try:
        old: os.stat_result | None = os.lstat(path)
    except FileNotFoundError:
        old = None
    except ValueError as error:
        raise OSError(errno.EINVAL, "it is not a valid path") from error
    if old is not None and not stat.S_ISREG(old.st_mode):
        _write_to_stream(path, old, data)
        return
    folder = os.path.dirname(path) or os.curdir
    sweep(folder)
    handle, aside = _open_aside(folder)
    try:
        write_all(handle, data)
        _make_like(handle, old, mode)
        if durable:
            os.fsync(handle)
        if os.name == "nt":  # an open file can't be renamed there
            os.close(handle)
            handle = -1
        replace_file(aside, path)
    except BaseException:
        remove_file(aside)
        raise
    finally:
        if handle >= 0:
            os.close(handle)
    if durable:
        sync_folder(folder)


def _write_to_stream(path: str, info: os.stat_result, data: bytes) -> None:
    """Write to what nothing can take the place of: standard output, a pipe."""
    if stat.S_ISLNK(info.st_mode) and not os.path.abspath(path).startswith(_STREAMS):
        raise _LINKED
    handle = os.open(path, os.O_WRONLY | _NO_WAITING | _BINARY)
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


def write_in_place(path: str, data: bytes, *, keep: int = 0) -> None:
    """Write a file whose loss would not matter, such as one in a temporary folder, behind as much of it as is kept."""
    handle = open_to_write(path, os.O_CREAT, 0o666)
    try:
        os.ftruncate(handle, keep)
        os.lseek(handle, 0, os.SEEK_END)
        write_all(handle, data)
    finally:
        os.close(handle)


def open_to_write(path: str, flags: int, mode: int) -> int:
    """Open a regular file for writing. A link, a pipe or a device in its place is an OSError."""
    handle = os.open(path, flags | os.O_WRONLY | _NO_WAITING | _BINARY | _NO_LINK, mode)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, _NOT_REGULAR)
    return handle


def replace_file(source: str, target: str) -> None:
    """Give a file another name, taking the place of what had it. A link there is replaced, not followed."""
    os.replace(source, target)


def remove_file(path: str) -> None:
    """Remove a file, or a link; not an error when it is gone."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def make_folders(path: str, below: str) -> None:
    """Make a folder and those on the way to it from one that is there. None of them may be a link."""
    inside = os.path.relpath(os.path.abspath(path), os.path.abspath(below))
    folder = below
    for name in inside.split(os.sep):
        if name == os.pardir:
            raise OSError(errno.EINVAL, "it is not below its folder")
        folder = os.path.join(folder, name)
        if name != os.curdir and os.path.islink(folder):
            raise OSError(errno.ELOOP, "a folder on the way to it is a symbolic link, which is never followed")
        if not os.path.isdir(folder):
            os.makedirs(folder, exist_ok=True)


def sync_folder(path: str) -> None:
    """Make the names in a folder survive a power failure, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EROFS):  # file systems without it
            raise
    finally:
        os.close(handle)


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
                mode &= 0o700 | (old.st_mode & 0o044)  # not for us to give away; nobody gains the right to write
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


# -------------------------------------------------------------------------------------------------------- leftovers


def _open_aside(folder: str) -> tuple[int, str]:
    """A new temporary file in a folder, locked, so that it is not removed as a leftover."""
    while True:
        aside = os.path.join(folder, os.urandom(8).hex().join(_ASIDE))
        try:
            handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY | _NO_LINK, 0o600)
        except FileExistsError:
            continue
        if claim(handle, aside):
            return handle, aside
        os.close(handle)


def claim(handle: int, path: str) -> bool:
    """Lock an open temporary file; False if it was removed as a leftover in the meantime."""
    if _locked(handle) is False:
        return False
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def sweep(folder: str, prefix: str = _ASIDE[0], suffix: str = _ASIDE[1]) -> None:
    """Remove the temporary files that killed runs left in a folder."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(suffix) and name.startswith(prefix):
            _remove_leftover(os.path.join(folder, name))


def sweep_all(folders: Iterable[str]) -> None:
    """The same, in several folders."""
    for folder in set(folders):
        sweep(folder)


def _remove_leftover(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDWR | _NO_WAITING | _NO_LINK | _BINARY)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode) and _locked(handle):
            remove_file(path)
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
    """Whether a path matches one of the patterns, as a whole or by one of its parts."""
    if not patterns:
        return False
    from fnmatch import fnmatchcase  # here, because most projects have no pattern

    relative = os.path.relpath(path, root).replace(os.sep, "/")
    whole = os.path.normpath(path).replace(os.sep, "/")
    parts = relative.split("/")
    for pattern in patterns:
        wanted = pattern.rstrip("/")
        if any(fnmatchcase(candidate, wanted) for candidate in (relative, whole, parts[-1])):
            return True
        if "/" not in wanted and any(fnmatchcase(part, wanted) for part in parts):
            return True
        if fnmatchcase(relative, f"{wanted}/*") or fnmatchcase(relative, f"*/{wanted}"):
            return True
    return False
