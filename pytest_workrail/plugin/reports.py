"""Reports of failures: neutralised, and with the last actions of the run.

Terminal, junitxml and other reporters all print what the report keeps, so this is the one place to neutralise it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pytest_workrail.run.result import Run, exchange_lines
from workrail_lint.base.terminal import neutral

# pytest cuts an explanation after eight lines of eighty characters.
_LAST_TURNS = 3
_LONGEST = 110


def neutralise(report: Any) -> None:
    """Make all texts of a report harmless, in place."""
    report.longrepr = _neutral(report.longrepr)


def _neutral(value: Any) -> Any:
    match value:
        case str():
            return neutral(value)
        case list():
            return [_neutral(item) for item in value]
        case tuple():
            return tuple(_neutral(item) for item in value)
        case None | bool() | int() | float():
            return value
    # pytest's own records of a traceback: plain objects with texts, lists and further records.
    if type(value).__module__.startswith("_pytest."):
        for name, inner in vars(value).items():
            object.__setattr__(value, name, _neutral(inner))
    return value


def explanation(run: object, op: str, left: object, right: object, in_full: bool) -> list[str] | None:
    """Return the comparison, how the run ended, and its last turns; None when this is about something else."""
    if not isinstance(run, Run):
        return None
    lines = [f"{_plain(left)!r} {op} {_plain(right)!r}", f"the run ended as {run.status}: {run.ending.why}"]
    lines += [f"blockers: {_counted(run.blockers)}"] if run.blockers else []
    lines += [f"gaps: {_counted(run.gaps)}"] if run.gaps else []
    turns = exchange_lines(run.transcript, len(run.transcript.exchanges) if in_full else _LAST_TURNS)
    return lines + [line if in_full or len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…" for line in turns]


def _counted(names: Iterable[str]) -> str:
    return ", ".join(name if times == 1 else f"{name} ({times} times)" for name, times in Counter(names).items())


def _plain(value: object) -> object:
    """Return a value as it looks without its run."""
    if isinstance(value, str):
        return str(value)
    return tuple(value) if isinstance(value, tuple) else value
