"""Reading regular files of a bounded size, and writing so that a reader, or a crash, never sees half of a file."""

from __future__ import annotations

import os
import stat
import tempfile
from typing import NamedTuple

from workrail_lint.base.result import Err, Ok

MAX_FILE_BYTES = 64 * 1024 * 1024

CACHE_FOLDER = ".workrail-cache"


class Unreadable(NamedTuple):
    """Why a file can't be read, in a sentence that names it."""

    path: str
    message: str


def read_file(path: str) -> Ok[bytes] | Err[Unreadable]:
    """The bytes of a regular file. A folder, a device or a huge file is refused, not read."""
    try:
        # Without waiting: a named pipe would otherwise hold the run until somebody writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb", buffering=0) as file:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                return Err(
                    _unreadable(path, "is a directory" if stat.S_ISDIR(info.st_mode) else "is not a regular file")
                )
            if info.st_size > MAX_FILE_BYTES:
                return Err(_unreadable(path, f"has more than {MAX_FILE_BYTES:,} bytes"))
            data = file.readall()
    except OSError as error:
        return Err(_unreadable(path, _reason(error)))
    except ValueError:
        return Err(_unreadable(path, "is not a valid path"))
    return Ok(data)


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, IsADirectoryError):
        return "is a directory"
    if isinstance(error, PermissionError):
        return "can't be read (permission denied)"
    return f"can't be read ({error.strerror or error.__class__.__name__})"


def _unreadable(path: str, reason: str) -> Unreadable:
    return Unreadable(path, f"{path} {reason}")


def write_atomically(path: str, data: bytes) -> None:
    """Replace a file's content in one step. Raises OSError; then the old content still stands."""
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:  # such as /dev/stdout, which nothing can take the place of
            device.write(data)
        return
    path = os.path.realpath(path)  # the file behind a link is replaced, not the link
    folder = os.path.dirname(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    """The permissions of the file that is replaced, or those a new file would get."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
