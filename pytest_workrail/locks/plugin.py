"""Lock coverage as a pytest plugin, registered only when a registry was given."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_workrail.locks.assertion_watch import AssertionWatch
from pytest_workrail.locks.finish import LockSummary, close
from pytest_workrail.locks.prover import Attempt, AttemptResult, Prover, can_prove
from pytest_workrail.locks.session import LockSession
from pytest_workrail.locks.settings import LockSettings
from pytest_workrail.run.pytest_session import Outcomes
from workrail_lint.base.terminal import neutral

_WORKER_KEY = "workrail_locks"


class LockPlugin:
    """Connects a lock session to the hooks."""

    def __init__(self, config: pytest.Config, settings: LockSettings) -> None:
        self._config = config
        self._settings = settings
        self.session = LockSession()
        self._outcomes = Outcomes()
        self._watch = AssertionWatch(config)
        self._findings: list[AttemptResult] = []
        self._closing = LockSummary((), ())
        if settings.proves and not can_prove():
            raise pytest.UsageError("--workrail-locks-prove needs a platform with os.fork")
        if settings.proves and config.getoption("numprocesses", None):
            raise pytest.UsageError("--workrail-locks-prove can't be combined with -n: it starts its own processes")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        claiming = {item for item in items if self.session.collected(item)}
        if self._settings.proves:
            others = [item for item in items if item not in claiming]
            if others:
                config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if item in claiming]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        if not self.session.is_claiming(item.nodeid):
            return (yield)
        with self._watch.watching(item) as found:
            result = yield
        if found.asserted:
            self.session.asserted(item.nodeid)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ending = self._outcomes.add(report)
        if ending is not None:
            self.session.test_finished(report.nodeid, ending)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        if not self._settings.proves or session.config.option.collectonly:
            return (yield)
        prover = Prover(session.items, self._settings.sabotages)
        result = yield
        if session.testsfailed:
            prover.skip()
        else:
            self._findings = prover.prove(list(self._attempts(session.items)))
        return result

    def _attempts(self, items: list[pytest.Item]) -> Generator[Attempt, None, None]:
        """Each sabotage with the tests of each lock it breaks, those first that claim the lock themselves."""
        for sabotage in self._settings.sabotages:
            for lock_id in sabotage.locks:
                claims = {
                    piece.test: claim
                    for piece in self.session.evidence
                    if piece.counts and (claim := piece.claim(lock_id)) is not None
                }
                tests = [item.nodeid for item in items if item.nodeid in claims]
                if tests:
                    ordered = sorted(tests, key=lambda test: not claims[test].is_own)
                    yield Attempt(sabotage.name, lock_id, tuple(ordered))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        state = getattr(node, "workeroutput", {}).get(_WORKER_KEY)
        if state is not None:
            self.session.merge(state)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WORKER_KEY] = self.session.worker_state()
            return
        is_green = exitstatus == pytest.ExitCode.OK
        self._closing = close(self._settings, self.session.evidence, self.session.problems, self._findings, is_green)
        if self._closing.failures and is_green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("locks")
        for line in self._closing.lines:
            terminalreporter.line(neutral(line))
        for failure in self._closing.failures:
            shown = failure if failure.startswith(" ") else f"FAIL: {failure}"
            terminalreporter.line(neutral(shown), red=True)
