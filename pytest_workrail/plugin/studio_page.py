"""`--workrail-html`: the studio's page of a project, with what this run of the tests found out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pytest_workrail.coverage.plugin import CoveragePlugin
from pytest_workrail.coverage.report import document
from pytest_workrail.golden.files import ENDING, PENDING
from pytest_workrail.golden.pending import PendingChanges, pending_data
from pytest_workrail.plugin.recorded_runs import RunsPlugin
from workrail_lint.base.files import write_atomically
from workrail_lint.base.terminal import neutral
from workrail_lint.cli import UsageError
from workrail_lint.cli.studio import main as studio


class StudioPage:
    """Builds the page after everything else is settled."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        try:
            self._write(self._config.invocation_params.dir / self._config.getoption("workrail_html"))
        except (OSError, UsageError) as problem:
            # pytest has written its summary by now.
            reporter = self._config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                reporter.line(neutral(f"FAIL: --workrail-html: {problem}"), red=True)
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self, target: Path) -> None:
        root = str(self._config.rootpath)
        changes = _pending(root)
        given = {"--goldens": json.dumps(pending_data(changes, changes.groups))}
        coverage = self._config.pluginmanager.get_plugin("workrail-coverage")
        if isinstance(coverage, CoveragePlugin):
            given["--coverage"] = document(coverage.session.tally)
        runs = self._config.pluginmanager.get_plugin("workrail-runs")
        if isinstance(runs, RunsPlugin):
            given["--runs"] = runs.session.document()
        with TemporaryDirectory() as folder:
            arguments = [root, "--goldens", root, "--output", str(target)]
            for option, text in given.items():
                path = os.path.join(folder, f"{option.strip('-')}.json")
                write_atomically(path, text.encode())
                arguments += [option, path]
            studio(arguments)


def _pending(root: str) -> PendingChanges:
    found = sorted(Path(root).rglob(f"*{ENDING}{PENDING}"))
    return PendingChanges(path for path in found if not any(part.startswith(".") for part in path.parts))
