"""Scenario files as pytest sees them: one item each.

There can be thousands of them, so the way from a file to its item is kept short.

Collecting reads no more than the name, the marks and whether to skip. Everything else waits until the item runs, so
that a broken scenario is one failing test and never the end of a session.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.golden.files import SCENARIO_ENDING
from workrail_lint.base.files import read_bytes
from workrail_lint.base.neutral import one_line, shown_path

_HOOKS = pytest.StashKey[Any]()
# What a test id uses for itself.
_NOT_IN_NAMES = frozenset(":[]\n\r\t")


def scenario_node(path: Path, parent: pytest.Collector) -> pytest.Collector | pytest.Item:
    """What a folder holds where a scenario lies: its item, ready made, with no collector of its own in between.

    A file that was asked for by name is a collector instead, because what follows `::` is looked for inside of it.
    """
    if parent.session.isinitpath(path):
        return ScenarioFile.from_parent(parent, path=path, name=one_line(path.name))
    # As pytest calls a file: by its path below the root, which itself has no name.
    above, name = parent.nodeid, path.name
    return _item(parent, path, name if above in ("", ".") else f"{above}/{name}")


def show_folders(config: pytest.Config) -> None:
    """Show the progress of scenarios by folder: with a line for each file, the lines would say nothing but names."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    write = getattr(reporter, "write_fspath_result", None)
    if write is None:
        return

    def write_by_folder(nodeid: str, *result: Any, **markup: Any) -> None:
        folder, slash, name = nodeid.partition("::")[0].rpartition("/")
        write(f"{folder}{slash}*{SCENARIO_ENDING}" if name.endswith(SCENARIO_ENDING) else nodeid, *result, **markup)

    reporter.write_fspath_result = write_by_folder


class ScenarioFile(pytest.File):
    """A file that holds one scenario."""

    def collect(self) -> list[pytest.Item]:
        return [_item(self, self.path, self.nodeid)]


def _item(parent: pytest.Collector, path: Path, file: str) -> ScenarioItem:
    header = _read_header(path)
    file = shown_path(file)
    stem = file.rpartition("/")[2].removesuffix(SCENARIO_ENDING)
    name = (_name(header) if header else None) or stem
    return ScenarioItem.from_parent(parent, name=name, nodeid=f"{file}::{name}", path=path, file=file, header=header)


def _read_header(path: Path) -> dict[str, Any]:
    """What can be seen at first sight; a file that can't be read shows nothing and fails when it is run."""
    try:
        data = read_bytes(os.fspath(path))
        if not (b'"name"' in data or b'"skip"' in data or b'"enforces"' in data):
            return {}
        value = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _name(header: dict[str, Any]) -> str | None:
    """The name that the scenario gives itself, unless a test can't be called that."""
    name = header.get("name")
    if not isinstance(name, str) or not name or set(name) & _NOT_IN_NAMES:
        return None
    # Reports, the environment and other processes get it, and it may hold anything that JSON can.
    return one_line(name)


@cache
def _own_mark() -> pytest.MarkDecorator:
    # Made once, and not before the mark is known.
    return pytest.mark.workrail


def _hooks(parent: pytest.Collector) -> Any:
    known = parent.stash.get(_HOOKS, None)
    if known is None:
        known = parent.stash[_HOOKS] = parent.ihook
    return known


class ScenarioItem(pytest.Item):
    """One scenario."""

    # The same for all files of a folder, and found out once: there are three hooks for each file, and many files.
    ihook = property(lambda self: _hooks(self.parent))

    def __init__(self, *, file: str, header: dict[str, Any], **others: Any) -> None:
        super().__init__(**others)
        self.file = file  # as reports name it
        # What -k can choose by, although no collector has the name of the file.
        self.extra_keyword_matches.add(file.rpartition("/")[2])
        self.add_marker(_own_mark())
        if header:
            self._mark(header)

    def _mark(self, header: dict[str, Any]) -> None:
        locks, reason = header.get("enforces"), header.get("skip")
        if isinstance(locks, list) and locks:
            self.add_marker(pytest.mark.enforces(*map(str, locks)))
        if isinstance(reason, str) and reason:
            self.add_marker(pytest.mark.skip(reason=one_line(reason)))

    def runtest(self) -> None:
        from pytest_workrail.coverage import record_run
        from pytest_workrail.golden.plugin import check_golden
        from pytest_workrail.run.pytest_session import note_assertion
        from pytest_workrail.scenarios.drivers import play
        from workrail_lint.base.result import Err

        playing = play(self.path, self.file)
        if isinstance(playing, Err):
            raise playing.error
        played = [playing.value, *playing.value.further]
        for each in played:
            if each.transcript is not None:
                record_run(self.config, self.nodeid, each.transcript)
            failure = each.failure
            if failure is not None:
                raise failure
        note_assertion("expectations")
        for each in played:
            if each.golden is not None:
                check_golden(self.config, self.nodeid, each.golden, each.label)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """A failure of the scenario in its own words; anything else as pytest shows it."""
        from pytest_workrail.run.pytest_session import in_own_words
        from pytest_workrail.scenarios.failures import ScenarioFailure

        problem = excinfo.value
        if not isinstance(problem, ScenarioFailure):
            return super().repr_failure(excinfo, style)
        reason, place = problem.reason()
        return in_own_words(self.config, excinfo, reason, place)

    def reportinfo(self) -> tuple[Path, int, str]:
        return Path(one_line(str(self.path))), 0, self.name
