"""Goldens on disk: where each is kept, how one is replaced whole or not at all, and how they are listed.

Where a golden is kept depends on the test that claims it, and on nothing else. A scenario `s/review.scenario.json` has
`s/__goldens__/review.golden.json`; a test `t/test_a.py::Test::test_b[x]` has
`t/__goldens__/test_a/Test-test_b[x].golden.json`. More goldens of the same test carry a label before the ending: `.2`
for the second call, `.<name>` where a name is given. No other part of a file name can hold a dot, so the owner of every
golden on disk is known without reading it. No function here follows a link.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from workrail_lint.base import files as base_files
from workrail_lint.base.files import output_root, read_bytes, remove_file, sweep, sync_folder, walk, write_atomically
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

FOLDER = "__goldens__"
ENDING = ".golden.json"
PENDING = ".pending"
SCENARIO_ENDING = ".scenario.json"

# The parameter of the one item that pytest makes when a set of parameters turns out to be empty.
_EMPTY_SET = "NOTSET"
# xdist's loadgroup appends `@group` to the id of an item; an identifier can't hold that sign.
_ITEM = Pattern(r"(?P<name>[^\[@]*)(?P<parameters>\[.*\])?(?:@[^\]]*)?", re.DOTALL)
_UNSAFE = Pattern(r"[^A-Za-z0-9_\[\]=,+-]")
# File names end at 255 bytes nearly everywhere; ours hold a test, a label, two endings and what a writer appends.
_LONGEST, _LONGEST_LABEL = 100, 60

_ATTEMPTS = 3
_OPEN_REFUSES_LINKS = hasattr(os, "O_NOFOLLOW")


class GoldenKey(Struct, frozen=True):
    """One golden: the test that claims it, and its file, relative to pytest's root folder with `/`."""

    nodeid: str
    path: str

    @classmethod
    def of(cls, nodeid: str, name: str | None = None, call: int = 1) -> GoldenKey:
        """Return the golden of a test: the only one, the n-th, or the one with a name."""
        base = owner_base(nodeid)
        if name is not None:
            base += f".{_label(name)}"
        elif call > 1:
            base += f".{call}"
        return cls(nodeid, base + ENDING)


def owner_base(nodeid: str) -> str:
    """Return the path, without ending, that all goldens of a test begin with."""
    file, _, item = nodeid.partition("::")
    base = source_base(file)
    return base if file.endswith(SCENARIO_ENDING) else f"{base}/{_item(item)}"


@lru_cache(maxsize=1024)
def source_base(file: str) -> str:
    """Return the path that all goldens of a test file, or of a scenario, begin with."""
    folder, name = posixpath.split(file.replace("\\", "/"))
    stem = name.removesuffix(SCENARIO_ENDING) if name.endswith(SCENARIO_ENDING) else posixpath.splitext(name)[0]
    return posixpath.join(folder, FOLDER, _safe(stem))


def is_source(name: str) -> bool:
    """Return True for the name of a file that may hold tests."""
    return name.endswith((".py", SCENARIO_ENDING))


def base_of(path: str) -> str:
    """Return the owner's part of a golden's path."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, name.partition(".")[0])


def source_folder(path: str) -> str:
    """Return the folder whose tests a golden belongs to."""
    return path.partition(f"{FOLDER}/")[0].rstrip("/")


def has_no_parameters(nodeid: str) -> bool:
    """Return True for the item that stands for a parametrized test whose set of parameters is empty."""
    match = _ITEM.fullmatch(nodeid.partition("::")[2])
    parameters = (match and match["parameters"]) or "[]"
    return _EMPTY_SET in parameters[1:-1].split("-")


def function_base(base: str) -> str:
    """Return the part of an owner that all parameters of the same test share."""
    folder, name = posixpath.split(base)
    return posixpath.join(folder, name.partition("[")[0])


def _item(item: str) -> str:
    match = _ITEM.fullmatch(item) if "@" in item or "::" in item else None
    if match is None:
        return _safe(item)
    name = match["name"].replace("::", "-")
    return _safe(name + (match["parameters"] or ""))


def _label(name: str) -> str:
    # A label that starts with a digit is the number of a call.
    return _marked(name, _LONGEST_LABEL) if name[:1].isdigit() else _safe(name, _LONGEST_LABEL)


def _safe(text: str, longest: int = _LONGEST) -> str:
    """Return a text as a part of a file name, on every system. A digest keeps texts apart that had to be changed."""
    is_safe = 0 < len(text) <= longest and _UNSAFE.search(text) is None
    return text if is_safe else _marked(text, longest)


def _marked(text: str, longest: int) -> str:
    mark = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_UNSAFE.sub('_', text)[:longest]}-{mark}"


def read(path: str | Path, *, in_safe_folder: bool = False) -> bytes | None:
    """Return the content of a file; None when there is none. A folder is safe after a read: it is not a link."""
    if not (in_safe_folder and _OPEN_REFUSES_LINKS):
        _refuse_links(path)
    try:
        return read_bytes(os.fspath(path), follow=False)
    except FileNotFoundError:
        return None
    except OSError:
        _refuse_links(path)  # has a better message
        raise


def write(path: Path, data: bytes, mode: int = 0o666, *, in_batch: bool = False) -> Ok[None] | Err[str]:
    """Put a file in place in one step. Whatever happens, the old content or the new one is there.

    `mode` is what a new file may have at most; who may read it may look into new folders.
    """
    target = os.path.abspath(path)
    for attempt in range(_ATTEMPTS):
        try:
            _refuse_links(path)
            root = output_root(os.path.dirname(target))
            write_atomically(target, data, root, parents=True, mode=mode, in_batch=in_batch)
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
    folders = list(dict.fromkeys(path.parent for path in contents))
    for folder in folders:
        remove_leftovers(folder)
    done: list[Path] = []
    outputs = len(base_files.written)
    try:
        for path, data in contents.items():
            done.append(path)
            written = write(path, data, in_batch=True)
            if isinstance(written, Err):
                _put_back(before, done[:-1])
                return Err(f"{path.as_posix()} can't be written: {written.error}")
    except KeyboardInterrupt:
        _put_back(before, done)
        del base_files.written[outputs:]
        raise
    for folder in folders:
        try:
            sync_folder(os.fspath(folder), output_root(os.fspath(folder)))
        except OSError as problem:
            return Err(f"{folder.as_posix()} can't be written: {_reason(problem)}")
    return Ok(None)


def _put_back(before: Mapping[Path, bytes | None], paths: Iterable[Path]) -> None:
    for path in paths:
        data = before[path]
        if data is None:
            remove(path)
        else:
            write(path, data, in_batch=True)


def remove(path: Path) -> Ok[None] | Err[str]:
    """Take a file away; one that is gone already is fine."""
    try:
        _refuse_links(path.parent)
        remove_file(os.fspath(path), output_root(os.fspath(path.parent)))
    except OSError as problem:
        return Err(_reason(problem))
    return Ok(None)


def remove_leftovers(folder: Path) -> list[str]:
    """Remove the half-made files that a killed run left in a folder. The names of all others."""
    try:
        _refuse_links(folder)
        sweep(os.fspath(folder), output_root(os.fspath(folder)))
        return os.listdir(folder)
    except OSError:
        return []


def unwritable(path: Path) -> Path | None:
    """Return the folder that keeps a file from being written, if the permissions say so."""
    existing = next((folder for folder in path.parents if os.path.exists(folder)), None)
    if existing is None or (os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK)):
        return None
    return existing


def goldens_below(
    folders: Iterable[Path], skipped: Iterable[str], ending: str = ENDING
) -> Iterator[tuple[Path, list[str]]]:
    """Yield all goldens at or below some folders, by folder. `skipped` are patterns of folders that hold no tests."""
    patterns = tuple(skipped)
    seen: set[str] = set()
    for folder in folders:
        for at, below, names in walk(os.fspath(folder)):
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
    """Return the folder of goldens that a folder is in, or is, and those between the two."""
    parts = folder.split(os.sep)
    first = parts.index(FOLDER) + 1 if FOLDER in parts else len(parts) + 1
    return [os.sep.join(parts[:count]) for count in range(first, len(parts) + 1)]


def _reason(problem: OSError) -> str:
    return (problem.strerror or type(problem).__name__).lower()
