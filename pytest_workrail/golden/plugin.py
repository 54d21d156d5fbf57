"""Goldens in a pytest session: who may claim one, how the tests ended, and when all is known.

Registered as a plugin as soon as a test can claim a golden; other sessions never import it.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Set
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.golden.files import ENDING, PENDING
from pytest_workrail.golden.session import GoldenMismatch, GoldenSession
from pytest_workrail.run.pytest_session import (
    AUTO_WORKFLOWS,
    DESELECTED,
    GOLDENS,
    WORKER_CRASHED,
    ItemOutcome,
    Outcomes,
    in_own_words,
    note_assertion,
)
from pytest_workrail.run.result import Matcher
from workrail_lint.base.files import walk
from workrail_lint.base.terminal import Style, neutral

# Set on the reports of tests that failed by a golden; plain, so that it travels from a worker to the controller.
BY_GOLDEN = "workrail_golden"


class GoldenFolder(pytest.Directory):
    """A folder in which there is nothing to collect."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return ()


def golden_folder(path: Path, parent: pytest.Collector) -> GoldenFolder | None:
    """Return the folder as one without tests, if it holds only goldens and nothing in it was asked for by name."""
    if parent.config.getini(AUTO_WORKFLOWS) or parent.session.isinitpath(path, with_parents=True):
        return None
    for at, folders, files in walk(str(path)):
        if not all(name.endswith((ENDING, ENDING + PENDING)) for name in files):
            return None
        if any(os.path.islink(os.path.join(at, folder)) for folder in folders):
            return None  # pytest would follow it
    return GoldenFolder.from_parent(parent, path=path)


def goldens_of(config: pytest.Config) -> Goldens:
    """Return the goldens of a session, from now on."""
    known = config.pluginmanager.get_plugin(GOLDENS)
    if isinstance(known, Goldens):
        return known
    goldens = Goldens(config)
    config.pluginmanager.register(goldens, GOLDENS)
    return goldens


def check_golden(
    config: pytest.Config,
    nodeid: str,
    run: Transcript | bytes,
    name: str | None = None,
    matchers: tuple[Matcher, ...] = (),
) -> None:
    """Compare a run with a golden of a test."""
    __tracebackhide__ = True
    if goldens_of(config).session.match(nodeid, run, name, matchers):
        note_assertion("golden")


def check_inline(config: pytest.Config, nodeid: str, outline: str, expected: str | None, frame: FrameType) -> None:
    """Hold the outline of a run against the text in its test."""
    __tracebackhide__ = True
    if goldens_of(config).session.match_inline(nodeid, outline, expected, frame):
        note_assertion("golden")


class Goldens:
    """Tells the golden session how each test ended, and lets it write when the last one did."""

    def __init__(self, config: pytest.Config) -> None:
        self.session = GoldenSession()
        self.session.start(config)
        self._config = config
        self._outcomes = Outcomes()
        self._lines: list[str] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A golden that does not match is reported in its own few lines, without a traceback through our code."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, GoldenMismatch):
            reason = str(call.excinfo.value).partition("\n")[0]
            place = None if isinstance(item, pytest.Function) else (report.location[0], 1)
            report.longrepr = in_own_words(self._config, call.excinfo, reason, place)
            setattr(report, BY_GOLDEN, True)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Under xdist the controller sees the reports too, but the claims are with the worker that ran the test.
        ending = self._outcomes.add(report)
        if ending is not None:
            self.session.test_finished(report.nodeid, ending is ItemOutcome.PASSED, ending is ItemOutcome.SKIPPED)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if hasattr(self._config, "workerinput"):
            return
        style = Style(self._config.get_terminal_writer().hasmarkup)
        self._lines = self.session.finish(int(exitstatus), is_full_run(session, int(exitstatus)), style)
        if self.session.repeated and self._config.getoption("verbose") < 1:
            self._config.pluginmanager.register(RepeatedFailures(self.session.repeated))
        if self._config.stash.get(WORKER_CRASHED, False):
            self._lines.append("an xdist worker crashed: what its tests saw is not known")
        if self.session.errors and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lines or self.session.errors:
            terminalreporter.section("goldens")
        for line in self._lines:
            terminalreporter.line(neutral(line))
        for error in self.session.errors:
            terminalreporter.line(neutral(f"FAIL: {error}"), red=True)


class RepeatedFailures:
    """Shows one failure for each change of goldens. All of them are counted; -v shows them too."""

    def __init__(self, tests: Set[str]) -> None:
        self._tests = tests

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, object, object]:
        failed = terminalreporter.stats.get("failed", [])
        kept = [each for each in failed if not (each.nodeid in self._tests and hasattr(each, BY_GOLDEN))]
        terminalreporter.stats["failed"] = kept
        try:
            return (yield)
        finally:
            terminalreporter.stats["failed"] = failed


def is_full_run(session: pytest.Session, exitstatus: int) -> bool:
    """Return whether everything that lies in the given folders was run: nothing chosen, left out or broken off."""
    option = session.config.getoption
    chosen = any("::" in argument for argument in session.config.args)
    left_out = option("ignore") or option("ignore_glob") or option("lf", False) or option("collectonly")
    broken_off = session.shouldstop or session.shouldfail or exitstatus not in (0, 1)
    stash = session.config.stash
    return not (chosen or left_out or broken_off or stash.get(DESELECTED, 0) or stash.get(WORKER_CRASHED, False))


# Messages between the processes of a parallel run. Registered only if xdist is active.

_KEY = "workrail"


class Worker:
    """A process that runs tests: at the end it sends what it has seen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] = self._config.workeroutput  # type: ignore[attr-defined]  # xdist's own
        goldens = self._config.pluginmanager.get_plugin(GOLDENS)
        output[_KEY] = {
            "goldens": None if goldens is None else goldens.session.worker_state(),
            "deselected": self._config.stash.get(DESELECTED, 0),
        }


class Controller:
    """The process that distributes tests and is the only one to write: it collects what the workers have seen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        reported = getattr(node, "workeroutput", {}).get(_KEY)
        if reported is None:
            self._config.stash[WORKER_CRASHED] = True
            return
        if reported["goldens"] is not None:
            goldens_of(self._config).session.merge(reported["goldens"])
        # Every worker collects the same tests, so the largest number is that of all.
        self._config.stash[DESELECTED] = max(self._config.stash.get(DESELECTED, 0), reported["deselected"])
