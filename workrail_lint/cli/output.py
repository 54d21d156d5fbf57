"""Files that a command writes where the user said."""

from __future__ import annotations

import os

from workrail_lint.base.files import write_atomically
from workrail_lint.base.terminal import printable
from workrail_lint.cli import UsageError


def write_output(path: str, data: bytes, *, folder: str | None = None) -> None:
    """Write a file; one that can't be written is an error in how the command was called.

    A folder that is given is made, and nothing is written outside of it.
    """
    try:
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        write_atomically(path, data, below=folder)
    except OSError as problem:
        raise UsageError(f"{printable(path)} can't be written ({problem.strerror})") from None
