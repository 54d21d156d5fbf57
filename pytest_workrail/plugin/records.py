"""What one machine saw of a suite that runs on several, and all of it together.

`--workrail-record=DIR` writes what an xdist worker would tell its controller. `workrail-test combine` plays the
controller: a session without tests of its own that takes in the records, and then ends like any other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_workrail.plugin.record_shape import is_record
from pytest_workrail.run.pytest_session import DESELECTED, GOLDENS
from workrail_lint.base.files import read_bytes, write_atomically
from workrail_lint.base.result import Err, Ok

FILE = "workrail-record.json"
_VERSION = 1
_SESSIONS = {"goldens": GOLDENS, "coverage": "workrail-coverage", "locks": "workrail-locks"}


class Recorder:
    """Writes the record of a session when it ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._deselected: set[str] = set()
        self._ran: set[str] = set()

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected.update(item.nodeid for item in items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._ran.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        plugins = {name: self._config.pluginmanager.get_plugin(plugin) for name, plugin in _SESSIONS.items()}
        record = {
            "version": _VERSION,
            "exit": int(session.exitstatus),
            "failed": session.testsfailed,
            "ran": sorted(self._ran),
            "deselected": sorted(self._deselected),
            **{name: None if each is None else each.session.worker_state() for name, each in plugins.items()},
        }
        folder = self._config.invocation_params.dir / self._config.getoption("workrail_record")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(str(folder / FILE), json.dumps(record).encode("utf-8", "surrogatepass"))
        except OSError as problem:
            raise pytest.UsageError(f"--workrail-record: {folder} can't be written: {problem.strerror}") from None


class Record(NamedTuple):
    """One machine's part."""

    path: Path
    content: dict[str, Any]


def read_record(path: Path) -> Ok[Record] | Err[str]:
    """A record from its file."""
    try:
        content = json.loads(read_bytes(str(path)))
    except (OSError, ValueError, RecursionError) as problem:
        return Err(f"{path.as_posix()} can't be read: {problem}")
    members = {"exit", "failed", "ran", "deselected", *_SESSIONS}
    if not isinstance(content, dict) or content.get("version") != _VERSION or not members <= content.keys():
        return Err(f"{path.as_posix()} is not a record of this version")
    if not is_record(content):
        return Err(f"{path.as_posix()} is damaged: it does not have the shape that --workrail-record gives a record")
    return Ok(Record(path, content))


class Combination:
    """A session that runs no tests and ends as if it had run those of all records."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        ran = {test for record in self._records for test in record.content["ran"]}
        left_out = {test for record in self._records for test in record.content["deselected"]} - ran
        session.testscollected = len(ran)
        # A machine may fail without a failing test: by a threshold, an error in collection, an interrupt.
        session.testsfailed = sum(record.content["failed"] or record.content["exit"] != 0 for record in self._records)
        session.config.stash[DESELECTED] = len(left_out)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        from pytest_workrail.golden.plugin import goldens_of

        goldens_of(session.config)
        for name, plugin in _SESSIONS.items():
            known: Any = session.config.pluginmanager.get_plugin(plugin)
            for record in self._records:
                if known is not None and record.content[name] is not None:
                    known.session.merge(record.content[name])
        return True
