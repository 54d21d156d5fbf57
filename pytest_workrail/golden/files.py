"""Goldens on disk: replaced whole or not at all, and found again. Nothing here goes through a link."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from pytest_workrail.golden.keys import ENDING, FOLDER
from workrail_lint.base.files import read_bytes, sweep, write_atomically
from workrail_lint.base.result import Err, Ok

_ATTEMPTS = 3
_OPEN_REFUSES_LINKS = hasattr(os, "O_NOFOLLOW")


def read(path: str | Path, *, in_safe_folder: bool = False) -> bytes | None:
    """The content of a file; None when there is none. A folder is safe after a read: it is not a link."""
    if not (in_safe_folder and _OPEN_REFUSES_LINKS):
        _refuse_links(path)
    try:
        return read_bytes(os.fspath(path), follow=False)
    except FileNotFoundError:
        return None
    except OSError:
        _refuse_links(path)  # has a better message
        raise


def write(path: Path, data: bytes) -> Ok[None] | Err[str]:
    """Put a file in place in one step. Whatever happens, the old content or the new one is there."""
    target = os.path.abspath(path)
    for attempt in range(_ATTEMPTS):
        try:
            _refuse_links(path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            write_atomically(target, data)
            return Ok(None)
        except FileNotFoundError as problem:
            # Another run that writes here took our half-made file for a leftover.
            if attempt == _ATTEMPTS - 1:
                return Err(_reason(problem))
        except OSError as problem:
            return Err(_reason(problem))
    raise AssertionError("unreachable")


def write_all(contents: Mapping[Path, bytes]) -> Ok[None] | Err[str]:
    """Replace several files, or none: what was replaced before one can't be is put back."""
    before: dict[Path, bytes | None] = {}
    for path in contents:
        blocked = unwritable(path)
        if blocked is not None:
            return Err(f"{path.as_posix()} can't be written: there is no permission to write in {blocked.as_posix()}")
        try:
            before[path] = read(path)
        except OSError as problem:
            return Err(f"{path.as_posix()} can't be read: {_reason(problem)}")
    done: list[Path] = []
    for path, data in contents.items():
        written = write(path, data)
        if isinstance(written, Err):
            for earlier in done:
                _put_back(earlier, before[earlier])
            return Err(f"{path.as_posix()} can't be written: {written.error}")
        done.append(path)
    return Ok(None)


def _put_back(path: Path, data: bytes | None) -> None:
    if data is None:
        remove(path)
    else:
        write(path, data)


def remove(path: Path) -> Ok[None] | Err[str]:
    """Take a file away; one that is gone already is fine."""
    try:
        _refuse_links(path.parent)
        path.unlink(missing_ok=True)
    except OSError as problem:
        return Err(_reason(problem))
    return Ok(None)


def remove_leftovers(folder: Path) -> list[str]:
    """Remove the half-made files that a killed run left in a folder. The names of all others."""
    try:
        _refuse_links(folder)
        sweep(os.fspath(folder))
        return os.listdir(folder)
    except OSError:
        return []


def unwritable(path: Path) -> Path | None:
    """The folder that keeps a file from being written, if the permissions say so."""
    existing = next((folder for folder in path.parents if folder.exists()), None)
    if existing is None or (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        return None
    return existing


def goldens_below(
    folders: Iterable[Path], skipped: Iterable[str], ending: str = ENDING
) -> Iterator[tuple[Path, list[str]]]:
    """All goldens at or below some folders, by folder. `skipped` are patterns of folders that hold no tests."""
    patterns = tuple(skipped)
    seen: set[str] = set()
    for folder in folders:
        for at, below, names in os.walk(folder):
            if at in seen or "pyvenv.cfg" in names:
                below.clear()
                continue
            seen.add(at)
            below[:] = sorted(name for name in below if not any(fnmatch(name, pattern) for pattern in patterns))
            if FOLDER in Path(os.path.abspath(at)).parts:
                yield Path(at), sorted(name for name in names if name.endswith(ending) and name[0] != ".")


def _refuse_links(path: str | Path) -> None:
    """Raise OSError where a golden, its folder or one between them is a link: a repository can bring one along."""
    whole = os.path.abspath(path)
    for place in (*_folders_of(os.path.dirname(whole)), whole):
        if os.path.islink(place):
            what = "it" if place == whole else f"the folder {os.path.basename(place)}"
            raise OSError(errno.ELOOP, f"{what} is a symbolic link, which is never followed")


@lru_cache(maxsize=256)
def _folders_of(folder: str) -> list[str]:
    """The folder of goldens that a folder is in, or is, and those between the two."""
    parts = folder.split(os.sep)
    first = parts.index(FOLDER) + 1 if FOLDER in parts else len(parts) + 1
    return [os.sep.join(parts[:count]) for count in range(first, len(parts) + 1)]


def _reason(problem: OSError) -> str:
    return (problem.strerror or type(problem).__name__).lower()
