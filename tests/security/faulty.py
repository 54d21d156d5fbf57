"""Runs a command of ours on a disk that fails: `python faulty.py PLAN`, where PLAN is a JSON file.

Every call that changes a disk is a point. They are logged, and at one of them the plan's fault happens. A full disk or
quota stays full until the end; everything else happens once.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

STAYS = ("ENOSPC", "EDQUOT")
NEEDS_ROOM = ("open", "write", "mkdir", "link")
_ROOT = re.compile(r"^.*/(?=(?:workrail_lint|pytest_workrail)/)")
CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Disk:
    """The calls of `os` that change a disk, one of which fails."""

    def __init__(self, at: int | None, fault: str, log: str, ignored: str) -> None:
        self.at = at
        self.fault = fault
        self.points: list[tuple[str, str]] = []
        self.reached: set[tuple[str, int]] = set()
        self._log = log
        self._ignored = ignored
        self._is_full = False
        self._write = os.write

    def install(self) -> None:
        for name in ("open", "write", "fsync", "replace", "rename", "mkdir", "link", "unlink", "ftruncate"):
            setattr(os, name, self._guarded(name, getattr(os, name)))
        os.remove = os.unlink

    def _guarded(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        kind = "rename" if name == "replace" else name

        def guarded(*arguments: Any, **options: Any) -> Any:
            path = _path(name, arguments, options)
            if path is None or path == self._log or (kind == "unlink" and path.startswith(self._ignored)):
                return call(*arguments, **options)
            self.points.append((kind, path))
            self.reached.update(_lines_of_ours())
            is_here = len(self.points) - 1 == self.at
            if is_here and self.fault == "SIGINT":
                signal.raise_signal(signal.SIGINT)
                return call(*arguments, **options)
            if is_here and self.fault == "short":
                return call(arguments[0], _half(arguments[1]))
            if is_here or (self._is_full and kind in NEEDS_ROOM):
                if is_here and kind == "write":
                    call(arguments[0], _half(arguments[1]))
                self._is_full = self._is_full or self.fault in STAYS
                code = getattr(errno, self.fault)
                raise OSError(code, os.strerror(code), *(() if isinstance(arguments[0], int) else (arguments[0],)))
            return call(*arguments, **options)

        return guarded

    def save(self) -> None:
        Path(self._log).write_text(json.dumps({"points": self.points, "reached": sorted(self.reached)}))


def _lines_of_ours() -> Iterator[tuple[str, int]]:
    """Yield the lines of our modules that are being executed, by the path of the module below its package."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(("workrail_lint.", "pytest_workrail.")):
            yield _ROOT.sub("", frame.f_code.co_filename.replace(os.sep, "/")), frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]


def break_promise(promise: str) -> None:
    """Make `explore` find a run that breaks a promise."""
    explore = import_module("pytest_workrail.cli.explore")
    combined = explore.combined
    story = {"turns": [], "profile": "reference", "mode": "guided", "files": False, "stays": False}

    def broken(results: list[dict[str, Any]]) -> Any:
        return combined([{**each, "broken": (promise, "a planted bug"), "story": story} for each in results])

    setattr(explore, "combined", broken)  # noqa: B010 - a module of which nothing is known here


def _half(data: Any) -> memoryview:
    return memoryview(data)[: max(1, len(data) // 2)]


def _path(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    """Return the path that a call changes; None if it changes no file."""
    first = arguments[0]
    if name == "open" and not arguments[1] & CHANGES:
        return None
    if isinstance(first, int):
        path = "" if first < 3 else os.readlink(f"/proc/self/fd/{first}")
    else:
        folder = options.get("dir_fd", options.get("src_dir_fd"))
        start = os.getcwd() if folder is None else os.readlink(f"/proc/self/fd/{folder}")
        path = os.path.join(start, os.fsdecode(first))
    if name == "mkdir" and os.path.isdir(path):
        return None
    # Files without a name: the streams that pytest captures, and a spare of the session store that it can do without.
    if path.endswith(" (deleted)") or (name == "open" and os.path.isdir(path)):
        return None
    if "/.pytest_cache" in path or "/pytest-cache-files-" in path or "pycache" in path:  # of pytest and Python
        return None
    return path if path.startswith("/") and not path.startswith(("/dev/", "/proc/")) else None


def main() -> int:
    plan = json.loads(Path(sys.argv[1]).read_text())
    if plan["stdin"]:
        os.dup2(os.open(plan["stdin"], os.O_RDONLY), 0)
    disk = Disk(plan["at"], plan["fault"], plan["log"], plan["ignored"])
    sys.argv[:] = plan["command"]
    program = import_module(plan["module"])
    if plan["breaks"]:
        break_promise(plan["breaks"])
    tempfile.tempdir = None  # it was chosen for another environment
    tempfile.gettempdir()  # which tries to write there
    disk.install()
    try:
        return int(program.main(plan["command"][1:]))
    finally:
        disk.save()


if __name__ == "__main__":
    sys.exit(main())
