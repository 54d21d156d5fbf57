"""`check --watch`: check again whenever a document changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from workrail_lint.cli import OK, UsageError
from workrail_lint.cli.output import err
from workrail_lint.project.discovery import discover

_INTERVAL = 0.5


def watch(
    paths: list[str],
    check: Callable[[], int],
    further: Callable[[], list[str]] = list,
    *,
    interval: float = _INTERVAL,
    rounds: int | None = None,
) -> int:
    """Run a check now and after each change, until interrupted (or for some rounds, in tests).

    `further` names what else decides the result: the configuration, and what that refers to.
    """
    before: dict[str, tuple[int, int]] | None = None
    code = OK
    while rounds is None or rounds > 0:
        now = _state([*(paths or [os.curdir]), *further()])
        if now != before:
            before = now
            if sys.stdout.isatty():
                sys.stdout.write("\x1b[2J\x1b[H")
            try:
                code = check()
            except UsageError as error:
                err(f"workrail-lint: {error}")  # a file that is gone for a moment is no reason to stop watching
            err("workrail-lint: watching for changes (interrupt to stop)")
        if rounds is not None:
            rounds -= 1
        time.sleep(interval)
    return code


def _state(paths: list[str]) -> dict[str, tuple[int, int]]:
    """Size and time of every file in sight."""
    state: dict[str, tuple[int, int]] = {}
    found = discover(paths, suffixes=(".json", ".toml", ".yaml", ".md", ".jsonl"))
    for file in found.files:
        try:
            stat = os.stat(file.path)
        except OSError:
            continue
        state[file.path] = (stat.st_size, stat.st_mtime_ns)
    return state
