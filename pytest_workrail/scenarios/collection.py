"""Scenario files as pytest sees them: a file with one item.

There can be thousands of them, so the way from a file to its item is kept short.

Collecting reads no more than the name, the marks and whether to skip. Everything else waits until the item runs, so
that a broken scenario is one failing test and never the end of a session.
"""

from __future__ import annotations

import json
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

ENDING = ".scenario.json"
# What a test id uses for itself.
_NOT_IN_NAMES = frozenset(":[]\n\r\t")


def scenario_node(path: Path, parent: pytest.Collector) -> pytest.Collector | pytest.Item:
    """What a folder holds where a scenario lies: its item, ready made.

    A file that was asked for by name is a collector instead, because what follows `::` is looked for inside of it.
    """
    file = ScenarioFile.from_parent(parent, path=path, name=path.name)
    return file if parent.session.isinitpath(path) else file.item()


class ScenarioFile(pytest.File):
    """A file that holds one scenario."""

    # Found out once instead of at every hook: there are three for each file, and many files.
    ihook = cached_property(lambda self: self.session.gethookproxy(self.path))

    def collect(self) -> list[pytest.Item]:
        return [self.item()]

    def item(self) -> ScenarioItem:
        """The one item of the file."""
        seen = _glance(self.path)
        return ScenarioItem.from_parent(self, name=_name(seen) or self.name.removesuffix(ENDING), seen=seen)


def _glance(path: Path) -> dict[str, Any]:
    """What can be seen at first sight; a file that can't be read shows nothing and fails when it is run."""
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        if b'"name"' not in data and b'"skip"' not in data and b'"enforces"' not in data:
            return {}
        value = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _name(seen: dict[str, Any]) -> str | None:
    """The name that the scenario gives itself, unless a test can't be called that."""
    name = seen.get("name")
    return name if isinstance(name, str) and name and not set(name) & _NOT_IN_NAMES else None


@cache
def _own_mark() -> pytest.MarkDecorator:
    # Made once, and not before the mark is known.
    return pytest.mark.workrail


class ScenarioItem(pytest.Item):
    """One scenario."""

    ihook = property(lambda self: self.parent.ihook)

    def __init__(self, *, seen: dict[str, Any], **others: Any) -> None:
        super().__init__(**others)
        self.add_marker(_own_mark())
        if seen:
            self._mark(seen)

    def _mark(self, seen: dict[str, Any]) -> None:
        locks, reason = seen.get("enforces"), seen.get("skip")
        if isinstance(locks, list) and locks:
            self.add_marker(pytest.mark.enforces(*map(str, locks)))
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
