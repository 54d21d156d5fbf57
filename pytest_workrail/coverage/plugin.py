"""Workflow coverage as a pytest plugin, registered only when a coverage option was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_workrail.coverage.report import closing_command, document, incomplete_workflows, table
from pytest_workrail.coverage.session import CoverageSession
from pytest_workrail.run.pytest_session import ItemOutcome, Outcomes
from workrail_lint.base.files import output_root, write_atomically
from workrail_lint.base.terminal import neutral

_WORKER_KEY = "workrail_coverage"


class CoveragePlugin:
    """Connects a coverage session to the hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.session = CoverageSession(strong=config.getoption("workrail_cov_strong"))
        self._outcomes = Outcomes()
        self._failures: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ending = self._outcomes.add(report)
        if ending is not None:
            self.session.test_finished(report.nodeid, ending is ItemOutcome.PASSED)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        self.session.merge(getattr(node, "workeroutput", {}).get(_WORKER_KEY, []))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WORKER_KEY] = self.session.worker_state()
            return
        self._failures = [*self._sources(), *self._written(), *self._shortfall()]
        if self._failures and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _sources(self) -> Iterator[str]:
        paths = self._config.getoption("workrail_cov_source")
        if paths:
            from pytest_workrail.coverage.sources import add_untested

            yield from add_untested(
                self.session.tally,
                paths,
                self._config.invocation_params.dir,
                strong=self._config.getoption("workrail_cov_strong"),
            )

    def _written(self) -> Iterator[str]:
        target = self._config.getoption("workrail_cov_json")
        if target is None:
            return
        try:
            path = self._config.invocation_params.dir / target
            root = output_root(str(path.parent))
            write_atomically(str(path), document(self.session.tally).encode(), root, parents=True)
        except OSError as problem:
            yield f"{target} can't be written: {problem.strerror}"

    def _shortfall(self) -> Iterator[str]:
        wanted = self._config.getoption("workrail_cov_fail_under")
        score = self.session.tally.score()
        if wanted is not None and not score.reaches(wanted):
            yield (
                f"workflow coverage is {score.percent:g}% ({score.covered} of {score.points}), "
                f"below the required {wanted:g}%"
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        option = self._config.getoption
        asked = ("workrail_cov", "workrail_cov_json", "workrail_cov_fail_under", "workrail_record")
        if not option("workrail_cov_source") and all(option(name) is None for name in asked):
            return  # counted for the page only
        terminalreporter.section("workflow coverage")
        shown = option("workrail_cov")
        for line in table(self.session.tally, missing=shown == "missing"):
            terminalreporter.line(neutral(line))
        incomplete = incomplete_workflows(self.session.tally)
        if incomplete:
            from pytest_workrail.coverage.sources import workflow_paths

            paths = workflow_paths(incomplete, self._config.invocation_params.dir)
            terminalreporter.line(neutral(closing_command(self.session.tally, paths)))
        for failure in self._failures:
            terminalreporter.line(neutral(f"FAIL: {failure}"), red=True)
