"""Workflow coverage as a pytest plugin, registered only when a coverage option was given."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.report import (
    CoverageSession,
    Tally,
    closing_command,
    document,
    incomplete_workflows,
    table,
)
from pytest_workrail.engine.core.profiles import REFERENCE
from pytest_workrail.run.project import project_sources
from pytest_workrail.run.pytest_session import ItemOutcome, Outcomes
from workrail_lint.base.files import output_root, read_bytes, write_atomically
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import neutral
from workrail_lint.project.discovery import discover
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.document_kinds import Kind, kind_of

_WORKER_KEY = "workrail_coverage"


def add_untested(tally: Tally, paths: Sequence[str], folder: Path, *, strong: bool = False) -> Iterator[str]:
    """Add the workflows below some paths that no test ran; yields why others can't be added."""
    discovered = discover([os.fspath(folder / path) for path in paths])
    yield from (f"{Path(path).name} {reason}" for path, reason in discovered.problems)
    for file in discovered.files:
        path = Path(file.path)
        if _kind(path) is not Kind.WORKFLOW:
            continue
        sources = project_sources(os.fspath(path.parent))
        if isinstance(sources, Err):
            yield f"{path.name} can't be compiled: {sources.error}"
            continue
        compiled = compile_workflow(path, **sources.value._asdict())
        if isinstance(compiled, Err):
            yield f"{path.name} does not compile: {compiled.error[0].message}"
        elif not tally.knows(compiled.value.workflow_id):
            workflow = tally.workflow(compiled.value.workflow_id, compiled.value.hash)
            workflow.expect(REFERENCE.name, goals(compiled.value.program, REFERENCE, strong=strong))


def workflow_paths(ids: Collection[str], folder: Path) -> list[str]:
    """Return the files of workflows with these ids below a folder, relative to it."""
    paths: list[str] = []
    for file in discover([os.fspath(folder)]).files:
        value = _value(Path(file.path)) if file.path.endswith(".json") else None
        if isinstance(value, dict) and value.get("id") in ids and kind_of(file.path, value) is Kind.WORKFLOW:
            paths.append(os.path.relpath(file.path, folder).replace(os.sep, "/"))
    return paths


def _kind(path: Path) -> Kind:
    return kind_of(os.fspath(path), _value(path))


def _value(path: Path) -> Any:
    try:
        return json.loads(read_bytes(str(path)))
    except (OSError, ValueError, RecursionError):
        return None


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
        report_format = option("workrail_cov")
        for line in table(self.session.tally, missing=report_format == "missing"):
            terminalreporter.line(neutral(line))
        incomplete = incomplete_workflows(self.session.tally)
        if incomplete:
            paths = workflow_paths(incomplete, self._config.invocation_params.dir)
            terminalreporter.line(neutral(closing_command(self.session.tally, paths)))
        for failure in self._failures:
            terminalreporter.line(neutral(f"FAIL: {failure}"), red=True)
