"""State of a pytest session that the parts of the plugin share: its stash, test outcomes, comparisons.

A test passed when setup, call and teardown did, and nobody expected it to fail.
"""

from __future__ import annotations

from contextvars import ContextVar
from enum import Enum
from typing import Any

import pytest

AUTO_WORKFLOWS = "workrail_auto"
SESSIONS = "workrail_sessions"
SESSION_WORKFLOWS = "workrail_session_workflows"
# The name of the plugin that follows the goldens of a session.
GOLDENS = "workrail-goldens"
# How many tests were collected and then left out.
DESELECTED = pytest.StashKey[int]()
# Whether an xdist worker ended without reporting what it had seen.
WORKER_CRASHED = pytest.StashKey[bool]()
# What the running test has compared so far; None while nobody asks.
NOTED: ContextVar[list[str] | None] = ContextVar("workrail_noted_assertions", default=None)


def note_assertion(what: str) -> None:
    """Say that the running test has just compared something; for matchers, which use no `assert` of the test."""
    noted = NOTED.get()
    if noted is not None:
        noted.append(what)


def in_own_words(
    config: pytest.Config,
    excinfo: pytest.ExceptionInfo[BaseException],
    reason: str,
    place: tuple[str, int] | None = None,
) -> Any:
    """A failure as its own text without our code around it; `reason` is what the one-line reports of pytest show."""
    text = excinfo.getrepr(style="value")
    if config.getoption("tbstyle", "auto") == "line":
        text.reprtraceback.reprentries = []  # the reason says it all
    if text.reprcrash is not None:
        text.reprcrash.message = reason
        if place is not None:
            text.reprcrash.path, text.reprcrash.lineno = place
    return text


class ItemOutcome(str, Enum):
    """How a test ended, in words that fit after its name."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "was skipped"
    XFAILED = "failed as expected"
    XPASSED = "passed although it was expected to fail"
    SETUP_FAILED = "failed in setup"
    TEARDOWN_FAILED = "failed in teardown"
    UNFINISHED = "did not finish"


class Outcomes:
    """Follows the reports of each test until its teardown."""

    def __init__(self) -> None:
        self._phases: dict[str, set[str]] = {}
        self._failure_of: dict[str, ItemOutcome] = {}

    def add(self, report: pytest.TestReport) -> ItemOutcome | None:
        """Note a report. With the teardown of a test: how it ended. Before: None."""
        test, phase = report.nodeid, report.when
        if phase == "setup":
            # A plugin may run a test again; then only the last time counts.
            self._phases.pop(test, None)
            self._failure_of.pop(test, None)
        self._phases.setdefault(test, set()).add(phase)
        spoilt = _failure_of(report)
        if spoilt is not None:
            self._failure_of.setdefault(test, spoilt)
        if phase != "teardown":
            return None
        phases = self._phases.pop(test)
        whole = phases == {"setup", "call", "teardown"}
        return self._failure_of.pop(test, ItemOutcome.PASSED if whole else ItemOutcome.UNFINISHED)


def _failure_of(report: pytest.TestReport) -> ItemOutcome | None:
    expected_to_fail = hasattr(report, "wasxfail")
    match report.outcome:
        case "passed":
            return ItemOutcome.XPASSED if expected_to_fail else None
        case "skipped":
            return ItemOutcome.XFAILED if expected_to_fail else ItemOutcome.SKIPPED
        case _:
            return {"setup": ItemOutcome.SETUP_FAILED, "teardown": ItemOutcome.TEARDOWN_FAILED}.get(
                report.when, ItemOutcome.FAILED
            )


# The plugins that follow the runs of a session, each registered only when an option asks for it.
_FOLLOWERS = ("workrail-coverage", "workrail-runs")


def record_run(config: pytest.Config, test: str, transcript: object) -> None:
    """Count a run that a test made, and keep it, if this session measures coverage or writes its runs."""
    for name in _FOLLOWERS:
        plugin = config.pluginmanager.get_plugin(name)
        if plugin is not None:
            plugin.session.record(test, transcript)
