"""Scenario files as pytest sees them: a file with one item.

Collecting reads no more than the name, the marks and whether to skip. Everything else waits until the item runs, so
that a broken scenario is one failing test and never the end of a session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ENDING = ".scenario.json"


class ScenarioFile(pytest.File):
    """A file that holds one scenario."""

    def collect(self) -> Iterator[pytest.Item]:
        value = _glance(self.path.read_bytes())
        name = value.get("name")
        usable = isinstance(name, str) and bool(name) and not set(name) & set(":[]\n\r\t")
        yield ScenarioItem.from_parent(self, name=name if usable else self.path.name.removesuffix(ENDING), seen=value)


def _glance(data: bytes) -> dict[str, Any]:
    """What can be seen at first sight; a file that can't be read shows nothing and fails when it is run."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class ScenarioItem(pytest.Item):
    """One scenario."""

    def __init__(self, *, seen: dict[str, Any], **others: Any) -> None:
        super().__init__(**others)
        self.add_marker(pytest.mark.workrail)
        locks = seen.get("enforces")
        if isinstance(locks, list) and locks:
            self.add_marker(pytest.mark.enforces(*map(str, locks)))
        reason = seen.get("skip")
        if isinstance(reason, str) and reason:
            self.add_marker(pytest.mark.skip(reason=reason))

    @property
    def file(self) -> str:
        """The file as reports name it."""
        return self.nodeid.partition("::")[0]

    def runtest(self) -> None:
        from pytest_workrail.coverage import record_run
        from pytest_workrail.coverage.locks.assertions import note_assertion
        from pytest_workrail.goldens import check_golden
        from pytest_workrail.scenarios.expectations import unmet
        from pytest_workrail.scenarios.faults import Fault, ScenarioFailure
        from pytest_workrail.scenarios.loading import load_scenario
        from pytest_workrail.scenarios.playing import play
        from workrail_lint.result import Err

        loading = load_scenario(self.path, self.file)
        if isinstance(loading, Err):
            raise loading.error
        loaded = loading.value
        run, turn = play(loaded)
        record_run(self.config, self.nodeid, run.transcript)
        if run.ending.kind in ("misplayed", "endless"):
            fault = Fault(run.ending.why, run.ending.place or "/agent")
            raise ScenarioFailure(self.file, loaded.document, [fault], run, run.ending.place or turn)
        faults = unmet(loaded.scenario, run)
        if faults:
            raise ScenarioFailure(self.file, loaded.document, faults, run, turn)
        note_assertion("expectations")
        if loaded.scenario.golden is not False:
            check_golden(self.config, self.nodeid, run.transcript)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A failure of the scenario in its own words; anything else as pytest shows it."""
        from pytest_workrail.golden.session import GoldenMismatch
        from pytest_workrail.scenarios.faults import ScenarioFailure

        problem = excinfo.value
        if isinstance(problem, ScenarioFailure):
            return str(problem)
        if isinstance(problem, GoldenMismatch):
            return f"{self.file}:1:1: the run is not what its golden says\n{problem}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name
