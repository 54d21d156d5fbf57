"""What pytest shows of a failure, made harmless: its texts may hold whatever a document holds.

Terminal, junitxml and other reporters all print what the report keeps, so this is the one place to do it.
"""

from __future__ import annotations

from typing import Any

from workrail_lint.base.terminal import neutral


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
