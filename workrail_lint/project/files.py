"""Writing files so that a reader, or a crash, never sees half of one."""

from __future__ import annotations

import os
import tempfile


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
