"""`check --watch`: check again whenever a document changes, and say what the change did."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from workrail_lint.base.terminal import Style, err, one_line, shown_path, uses_colour
from workrail_lint.base.wording import counted
from workrail_lint.cli import UsageError
from workrail_lint.cli.report import least_severity
from workrail_lint.findings import Finding, Phase
from workrail_lint.project.discovery import discover

_INTERVAL_SECONDS = 0.5
_COLOURS = {"+": "red", "~": "yellow", "-": "green"}
_SHOWN = 20  # lines; after a change of the configuration there may be hundreds


class Difference(NamedTuple):
    """The effect of a change on the findings. A finding that stays may have another message."""

    new: list[Finding]
    changed: list[Finding]
    gone: list[Finding]

    def lines(self) -> list[tuple[str, Finding]]:
        marked = (("+", self.new), ("~", self.changed), ("-", self.gone))
        return [(mark, finding) for mark, findings in marked for finding in findings]


class Changes:
    """The findings of the last check, to compare the next ones with."""

    def __init__(self, args: Namespace) -> None:
        self._least = least_severity(args)
        self._before: list[Finding] | None = None

    def report(self, findings: list[Finding]) -> None:
        """Say on stderr what is new and what is gone; nothing about the first findings."""
        now = [finding for finding in findings if finding.severity.rank <= self._least.rank]
        before, self._before = self._before, now
        if before is None:
            return
        # While a file can't be read, what was found in it before is neither gone nor seen.
        broken = {finding.path for finding in now if finding.phase is Phase.READ}
        hidden = [finding for finding in before if finding.path in broken and finding.phase is not Phase.READ]
        change = difference([finding for finding in before if finding not in hidden], now)
        known = {_identity(finding) for finding in now}
        self._before = now + [finding for finding in hidden if _identity(finding) not in known]
        _show(change)


def difference(before: list[Finding], now: list[Finding]) -> Difference:
    """Return the new, changed and gone findings. A finding is the same if its rule, place and message are."""
    new, _, gone = _matched(before, now, _identity)
    new, changed, gone = _matched(gone, new, lambda finding: _identity(finding)[:-1])
    return Difference(new, changed, gone)


def _matched(
    before: list[Finding], now: list[Finding], key: Callable[[Finding], tuple[str, ...]]
) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """Return the new findings of now, those that are the same as before, and the earlier ones that are left."""
    left: dict[tuple[str, ...], list[Finding]] = {}
    for finding in before:
        left.setdefault(key(finding), []).append(finding)
    new: list[Finding] = []
    same: list[Finding] = []
    for finding in now:
        known = left.get(key(finding))
        if known:
            known.pop()
            same.append(finding)
        else:
            new.append(finding)
    return new, same, [finding for findings in left.values() for finding in findings]


def _identity(finding: Finding) -> tuple[str, ...]:
    # The place by ids: a step that moved is still the same step.
    return (finding.path, finding.name, str(finding.details.get("place", finding.pointer)), finding.message)


def _show(change: Difference) -> None:
    lines = change.lines()
    if not lines:
        err("workrail-lint: since the last check: nothing new, nothing gone")
        return
    counts = [(len(change.new), "new"), (len(change.changed), "changed"), (len(change.gone), "gone")]
    err(f"workrail-lint: since the last check: {', '.join(f'{count} {what}' for count, what in counts if count)}")
    style = Style(uses_colour(sys.stderr))
    for mark, finding in lines[:_SHOWN]:
        line = f":{finding.span.start.line}" if finding.span is not None and mark != "-" else ""
        text = f"{shown_path(finding.path)}{line}: {one_line(finding.code)} {one_line(finding.message)}"
        err(f"  {style(mark, _COLOURS[mark], 'bold')} {text}")
    if len(lines) > _SHOWN:
        err(f"  … and {counted(len(lines) - _SHOWN, 'more line')}")


def watch(paths: list[str], check: Callable[[], int], extra_files: Callable[[], list[str]]) -> NoReturn:
    """Run a check now and after each change, until interrupted.

    `extra_files` are the other files that affect the result: the configuration, and the files it names.
    """
    before: dict[str, tuple[int, int]] | None = None
    while True:
        now = states([*(paths or [os.curdir]), *extra_files()])
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


def states(paths: list[str], also: tuple[str, ...] = ()) -> dict[str, tuple[int, int]]:
    """Return the size and modification time of every watched file, and of those with endings given besides."""
    state: dict[str, tuple[int, int]] = {}
    discovery = discover(paths, suffixes=(".json", ".toml", ".yaml", ".md", ".jsonl", *also))
    for file in discovery.files:
        try:
            stat = os.stat(file.path)
        except OSError:
            continue
        state[file.path] = (stat.st_size, stat.st_mtime_ns)
    return state
