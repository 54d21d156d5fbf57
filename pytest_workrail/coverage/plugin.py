"""Workflow coverage as a pytest plugin, registered only when a coverage option was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.coverage.outcomes import Ending, Outcomes
from pytest_workrail.coverage.workflow.report import document, table
from pytest_workrail.coverage.workflow.session import CoverageSession
from workrail_lint.project.files import write_atomically

_WORKER_KEY = "workrail_coverage"
SESSION = pytest.StashKey[CoverageSession]()


class CoveragePlugin:
    """Connects a coverage session to the hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._session = CoverageSession()
        self._outcomes = Outcomes()
        self._is_too_low = False
        config.stash[SESSION] = self._session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ending = self._outcomes.add(report)
        if ending is not None:
            self._session.test_finished(report.nodeid, ending is Ending.PASSED)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        self._session.merge(getattr(node, "workeroutput", {}).get(_WORKER_KEY, []))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WORKER_KEY] = self._session.worker_state()
            return
        target = self._config.getoption("workrail_cov_json")
        if target is not None:
            write_atomically(str(Path(self._config.invocation_params.dir, target)), document(self._tally).encode())
        wanted = self._config.getoption("workrail_cov_fail_under")
        self._is_too_low = wanted is not None and not self._tally.score().reaches(wanted)
        if self._is_too_low and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("workflow coverage")
        shown = self._config.getoption("workrail_cov")
        for line in table(self._tally, missing=shown == "missing"):
            terminalreporter.line(line)
        if self._is_too_low:
            wanted = self._config.getoption("workrail_cov_fail_under")
            score = self._tally.score()
            terminalreporter.line(
                f"FAIL: workflow coverage is {score.percent:g}% ({score.covered} of {score.points}), "
                f"less than the required {wanted:g}%",
                red=True,
            )

    @property
    def _tally(self) -> Any:
        return self._session.tally
