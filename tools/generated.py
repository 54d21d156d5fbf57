"""Files that are generated and checked in: written where they are out of date, or compared."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from workrail_lint.base.files import write_atomically


def bring_up_to_date(files: Mapping[str, str], arguments: list[str]) -> int:
    """Write the files that differ from the given texts; with `--check` only name them. Return the exit code."""
    is_check = arguments == ["--check"]
    stale = {path: text for path, text in files.items() if _read(path) != text}
    for path, text in stale.items():
        if is_check:
            sys.stderr.write(f"{os.path.relpath(path)} is out of date\n")
            continue
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        write_atomically(path, text.encode(), folder)
    return 1 if stale and is_check else 0


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
