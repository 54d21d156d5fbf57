"""Which files a command checks: the named ones, and the documents below the named folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from workrail_lint.base.files import CACHE_FOLDER, is_below, matches, walk
from workrail_lint.base.result import Record
from workrail_lint.systems.base import System

SKIPPED_FOLDERS = {
    ".git",
    ".hg",
    ".svn",
    ".tox",
    ".nox",
    ".venv",
    "venv",
    "node_modules",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    CACHE_FOLDER,
    "site-packages",
}


class Found(Record):
    """A file to check; one that was named is always a document, one that was found must look like one."""

    __slots__ = ("named", "path")

    def __init__(self, path: str, named: bool) -> None:
        self.path = path
        self.named = named


class Discovery:
    """The files in a stable order, and the paths that do not exist or can't be listed (with the reason)."""

    __slots__ = ("apart", "files", "problems")

    def __init__(self, files: list[Found], problems: list[tuple[str, str]], apart: list[str]) -> None:
        self.files = files
        self.problems = problems
        self.apart = apart  # folders that were skipped, because they have their own configuration


def discover(
    paths: list[str],
    *,
    include: list[str] | None = None,
    exclude: list[str] | None = None,
    root: str = os.curdir,
    suffixes: tuple[str, ...] = (".json",),
    is_apart: Callable[[str, list[str]], bool] | None = None,
) -> Discovery:
    """Expand paths; patterns are relative to `root`, the folder of their configuration.

    Symbolic links to folders are not followed, so a link can't make the walk endless, and one to a file elsewhere is a
    problem: whoever wrote it may want us to show or change what is none of the project's. `is_apart` says of a folder
    further down, by the names of its files, that it is not to be looked into.
    """
    wanted = _Wanted(include or [], exclude or [], root, suffixes, is_apart)
    files: dict[str, Found] = {}
    problems: list[tuple[str, str]] = []
    apart: list[str] = []
    for path in paths:
        try:
            is_folder = os.path.isdir(path)
            exists = is_folder or os.path.lexists(path)
        except ValueError:
            is_folder = exists = False
        if not exists:
            is_option = path.startswith("--")
            remark = "; what follows -- is a path, not an option" if is_option else ""
            problems.append((path, f"does not exist{remark}"))
        elif is_folder:
            for file in _walk(path, wanted, problems, apart):
                files.setdefault(os.path.normpath(file), Found(file, False))
        else:
            files[os.path.normpath(path)] = Found(path, True)
    return Discovery([files[key] for key in sorted(files)], problems, apart)


class _Wanted:
    """Which files of a folder are checked."""

    __slots__ = ("exclude", "include", "is_apart", "root", "suffixes")

    def __init__(
        self,
        include: list[str],
        exclude: list[str],
        root: str,
        suffixes: tuple[str, ...],
        is_apart: Callable[[str, list[str]], bool] | None,
    ) -> None:
        self.include = include
        self.exclude = exclude
        self.root = root
        self.suffixes = suffixes
        self.is_apart = is_apart

    def folder(self, path: str) -> bool:
        return not self._is_named(path, self.exclude)

    def file(self, path: str) -> bool:
        if not path.endswith(self.suffixes) or self._is_named(path, self.exclude):
            return False
        return not self.include or self._is_named(path, self.include)

    def _is_named(self, path: str, patterns: list[str]) -> bool:
        if not patterns:
            return False

        return matches(path, self.root, patterns)


def _walk(root: str, wanted: _Wanted, problems: list[tuple[str, str]], apart: list[str]) -> Iterator[str]:
    def shown(path: str) -> str:
        return path if root != os.curdir else path.removeprefix(os.path.join(os.curdir, ""))

    def cannot_list(error: OSError) -> None:
        problems.append((str(error.filename), f"can't be listed ({error.strerror})"))

    for folder, folders, names in walk(root, cannot_list):
        if folder != root and wanted.is_apart is not None and wanted.is_apart(folder, names):
            apart.append(shown(folder))
            folders.clear()
            continue
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED_FOLDERS and wanted.folder(os.path.join(folder, name))
        )
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not wanted.file(path):
                continue
            if os.path.islink(path) and not is_below(path, (wanted.root, root)):
                problems.append((shown(path), "is a symbolic link that leads out of the project"))
            else:
                yield shown(path)


def is_wanted(
    path: str, top: str, *, include: list[str], exclude: list[str], root: str, suffixes: tuple[str, ...] = (".json",)
) -> bool:
    """Return whether a walk from `top`, which is above the path, would find it if it existed."""
    wanted = _Wanted(include, exclude, root, suffixes, None)
    folder = os.path.dirname(path)
    while os.path.normpath(folder) != os.path.normpath(top) and folder:
        if os.path.basename(folder) in SKIPPED_FOLDERS or not wanted.folder(folder):
            return False
        folder = os.path.dirname(folder)
    return wanted.file(path)


def suffixes_of(systems: Iterable[System]) -> tuple[str, ...]:
    """Return the suffixes that files of documents can have."""
    return tuple(sorted({suffix for system in systems for suffix in system.suffixes}))
