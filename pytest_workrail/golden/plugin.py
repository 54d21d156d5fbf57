"""Goldens as a pytest plugin: which tests there are, how they end, and the one moment in which goldens are written."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_workrail.coverage.outcomes import Ending, Outcomes
from pytest_workrail.golden.session import GoldenSession

SESSION = pytest.StashKey[GoldenSession]()

_WORKER_KEY = "workrail_goldens"
# Options that leave tests out; not all of them are there when plugins of pytest are switched off.
_NARROWING = ("keyword", "markexpr", "deselect", "lf", "stepwise", "collectonly")


class GoldenPlugin:
    """Connects a golden session to the hooks. Tests find the session in the stash of the configuration."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._outcomes = Outcomes()
        self._lines: list[str] = []
        self.session = config.stash[SESSION] = GoldenSession()
        self.session.start(config)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self.session.collected(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ending = self._outcomes.add(report)
        if ending is not None:
            self.session.test_finished(report.nodeid, ending is Ending.PASSED, ending is Ending.SKIPPED)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        told = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
        if told is not None:
            self.session.merge(told)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WORKER_KEY] = self.session.worker_state()
            return
        if self._config.getoption("collectonly"):
            return
        self._lines = self.session.finish(exitstatus, _is_full(self._config, session))
        if self.session.errors and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in self._lines:
            terminalreporter.line(line)


def _is_full(config: pytest.Config, session: pytest.Session) -> bool:
    """True when all tests of the folders that pytest was given took part."""
    if session.shouldstop or session.shouldfail:
        return False
    if any(config.getoption(option, None) for option in _NARROWING):
        return False
    return all((config.invocation_params.dir / argument).is_dir() for argument in config.args)
