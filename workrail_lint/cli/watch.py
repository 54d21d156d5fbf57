"""`check --watch`: check again whenever a document changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from workrail_lint.base.terminal import err
from workrail_lint.base.typed import NoReturn
from workrail_lint.cli import UsageError
from workrail_lint.project.discovery import discover

_INTERVAL_SECONDS = 0.5


def watch(paths: list[str], check: Callable[[], int], extra_files: Callable[[], list[str]]) -> NoReturn:
    """Run a check now and after each change, until interrupted.

    `extra_files` are the other files that affect the result: the configuration, and the files it names.
    """
    before: dict[str, tuple[int, int]] | None = None
    while True:
        now = _state([*(paths or [os.curdir]), *extra_files()])
        if now != before:
            before = now
            if sys.stdout.isatty():
                sys.stdout.write("\x1b[2J\x1b[H")
            try:
                check()
            except UsageError as error:
                err(f"workrail-lint: {error}")  # a file may be missing for a moment
            sys.stdout.flush()
            err("workrail-lint: watching for changes (press Ctrl-C to stop)")
        time.sleep(_INTERVAL_SECONDS)


def _state(paths: list[str]) -> dict[str, tuple[int, int]]:
    """The size and modification time of every watched file."""
    state: dict[str, tuple[int, int]] = {}
    found = discover(paths, suffixes=(".json", ".toml", ".yaml", ".md", ".jsonl"))
    for file in found.files:
        try:
            stat = os.stat(file.path)
        except OSError:
            continue
        state[file.path] = (stat.st_size, stat.st_mtime_ns)
    return state
