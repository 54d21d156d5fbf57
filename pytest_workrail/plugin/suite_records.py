"""Records of a suite on one machine, written to a folder or a page; `workrail-test combine` merges several."""

from __future__ import annotations

import ast
import json
import os
import posixpath
from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.coverage.goals import KINDS
from pytest_workrail.coverage.plugin import CoveragePlugin
from pytest_workrail.coverage.report import WorkflowState, document
from pytest_workrail.golden.document import story_value
from pytest_workrail.golden.golden_records import GoldensOfTest
from pytest_workrail.golden.pending import pending_changes, pending_data
from pytest_workrail.golden.plugin import BY_GOLDEN, goldens_of
from pytest_workrail.locks.evidence import LockState
from pytest_workrail.run.pytest_session import DESELECTED, GOLDENS, ItemOutcome, Outcomes
from pytest_workrail.scenarios.drivers import ScenarioFailure
from workrail_lint.base.files import output_root, read_bytes, write_atomically
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.terminal import json_text, neutral
from workrail_lint.cli import UsageError
from workrail_lint.cli.studio import main as studio
from workrail_lint.studio.runs import run_data

FILE = "workrail-record.json"
_VERSION = 1
_SESSIONS = {"goldens": GOLDENS, "coverage": "workrail-coverage", "locks": "workrail-locks"}
_WORKER_KEY = "workrail_runs"
# A property test makes hundreds of runs; the first ones show what they are like.
_MOST_OF_A_TEST = 5


class Record(Struct):
    """The part of a suite that one machine saw. A member is None where nobody asked for it."""

    version: int
    exit: int
    failed: int
    ran: list[str]
    deselected: list[str]
    goldens: dict[str, GoldensOfTest] | None
    coverage: list[WorkflowState] | None
    locks: LockState | None

    def __post_init__(self) -> None:
        """Raise ValueError for what no session writes: a record comes from elsewhere, and an update follows it."""
        kinds = {kind.name for kind in KINDS}
        for workflow in self.coverage or ():
            points = [*chain(*workflow.goals.values()), *(point for point, _ in workflow.tests)]
            if any(point.kind not in kinds for point in points):
                raise ValueError("a kind of goal is not known")
        for test in (self.goldens or {}).values():
            paths = [each.path for each in test.records]
            paths += [each.path for each in test.inline if each.digest]  # without one nothing is written
            if not all(map(_is_path_inside, paths)):
                raise ValueError("a path leads out of the project")
            if not all(_is_literal(each.new) for each in test.inline):
                raise ValueError("the text of an inline golden is not a literal")


def _is_path_inside(path: str) -> bool:
    """Return whether a path is one below the root folder: a golden or a test module there is written by an update."""
    if not path or "\\" in path or "\0" in path:
        return False
    return posixpath.normpath(path) == path and not posixpath.isabs(path) and path.split("/")[0] not in ("..", ".")


def _is_literal(text: str) -> bool:
    """Return whether a text can stand where a test has its expected outline, and nothing else."""
    try:
        expression = ast.parse(text, mode="eval").body if text else ast.Constant("")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(expression, ast.Constant) and isinstance(expression.value, str)


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
            data = json.dumps(record).encode("utf-8", "surrogatepass")
            write_atomically(str(folder / FILE), data, output_root(str(folder)), parents=True)
        except OSError as problem:
            raise pytest.UsageError(f"--workrail-record: {folder} can't be written: {problem.strerror}") from None


def read_record(path: Path) -> Ok[Record] | Err[str]:
    """Return a record from its file."""
    try:
        content = json.loads(read_bytes(str(path)))
    except (OSError, ValueError, RecursionError) as problem:
        return Err(f"{path.as_posix()} can't be read: {problem}")
    members = set(Record.__struct_fields__)
    if not isinstance(content, dict) or content.get("version") != _VERSION or not members <= content.keys():
        return Err(f"{path.as_posix()} is not a record of this version")
    try:
        return Ok(msgspec.convert(content, Record))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return Err(f"{path.as_posix()} is damaged: it does not have the shape that --workrail-record gives a record")


class Combination:
    """A session that runs no tests and ends as if it had run those of all records."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        ran = {test for record in self._records for test in record.ran}
        left_out = {test for record in self._records for test in record.deselected} - ran
        session.testscollected = len(ran)
        # A machine may fail without a failing test: by a threshold, an error in collection, an interrupt.
        session.testsfailed = sum(record.failed or record.exit != 0 for record in self._records)
        session.config.stash[DESELECTED] = len(left_out)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        goldens_of(session.config)
        for name, plugin in _SESSIONS.items():
            known: Any = session.config.pluginmanager.get_plugin(plugin)
            for record in self._records:
                part = getattr(record, name)
                if known is not None and part is not None:
                    known.session.merge(part)
        return True


# What reports carry from a worker of xdist to the controller.
_RUNS_WORKFLOW = "workrail_test"
_FAULT = "workrail_fault"
_STATES = {
    ItemOutcome.PASSED: "passed",
    ItemOutcome.XFAILED: "passed",
    ItemOutcome.SKIPPED: "skipped",
    ItemOutcome.FAILED: "failed",
    ItemOutcome.XPASSED: "failed",
}


class TestOutcomes:
    """How every test about a workflow ended, from the reports of pytest."""

    __test__ = False

    def __init__(self) -> None:
        self._endings = Outcomes()
        self._open: dict[str, dict[str, Any]] = {}
        self._tries: dict[str, int] = {}
        self.by_test: dict[str, dict[str, Any]] = {}

    def add(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        if report.when == "setup":
            self._open[test] = {"test": test, "state": "", "seconds": 0.0}
            self._tries[test] = self._tries.get(test, 0) + 1
        outcome = self._open.setdefault(test, {"test": test, "state": "", "seconds": 0.0})
        outcome["seconds"] += report.duration
        if report.outcome != "passed" and "message" not in outcome:
            outcome |= _failure(report)
        ending = self._endings.add(report)
        if ending is None:
            return
        outcome = self._open.pop(test)
        state = _STATES.get(ending, "error")
        if state == "failed" and outcome.pop("byGolden", False):
            state = "changed"
        if state == "passed" and self._tries[test] > 1:
            state = "flaky"
        self.by_test[test] = {**outcome, "state": state, "seconds": round(outcome["seconds"], 3)}


def _failure(report: pytest.TestReport) -> dict[str, Any]:
    """Return why a test did not pass: the first line, and where in which file."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        failure = {"message": crash.message.partition("\n")[0], "file": crash.path, "line": crash.lineno}
    elif isinstance(report.longrepr, tuple):  # skipped
        failure = {"message": str(report.longrepr[2])}
    else:
        failure = {"message": str(report.longrepr).partition("\n")[0]}
    if hasattr(report, BY_GOLDEN):
        failure["byGolden"] = True
    return {**failure, **getattr(report, _FAULT, {})}


class RunSession:
    """Collects runs. Under xdist every worker has one, and the controller merges them."""

    def __init__(self) -> None:
        self._runs: dict[str, list[dict[str, Any]]] = {}
        self.outcomes = TestOutcomes()

    def record(self, test: str, transcript: Transcript) -> None:
        """A run that a test made."""
        runs = self._runs.setdefault(test, [])
        if len(runs) < _MOST_OF_A_TEST:
            runs.append({"test": test, **story_value(transcript)})

    def worker_state(self) -> str:
        """Return what a worker sends to the controller: in ASCII, because xdist can't send every string."""
        return json.dumps(self._runs)

    def merge(self, state: str) -> None:
        """Take in what a worker saw."""
        self._runs.update(json.loads(state))

    def document(self, root: Path) -> str:
        """All runs by test, and how each test ended.

        Each call says which branch it is on, which call it continues, and in which round.
        """
        runs = [_with_places(run) for test in sorted(self._runs) for run in self._runs[test]]
        tests = [_with_excerpt(outcome, root) for _, outcome in sorted(self.outcomes.by_test.items())]
        return json_text({"version": 1, "runs": runs, "tests": tests})


def _with_places(run: dict[str, Any]) -> dict[str, Any]:
    story = run_data(run, "", "")
    assert story is not None
    places = ({name: turn.get(name) for name in ("branch", "parent", "round")} for turn in story["turns"])
    return {**run, "transcript": [{**call, **place} for call, place in zip(run["transcript"], places, strict=True)]}


_LINES_AROUND = 2


def _with_excerpt(outcome: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return an outcome with the lines around the one that failed, and its file as the project names it."""
    file, line = outcome.get("file"), outcome.get("line")
    if not isinstance(file, str) or not isinstance(line, int):
        return outcome
    path = root / file
    try:
        named = {"file": path.relative_to(root).as_posix()}
        lines = read_bytes(os.fspath(path)).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):  # elsewhere, or gone
        return {name: value for name, value in outcome.items() if name not in ("file", "line")}
    first = max(1, line - _LINES_AROUND)
    return {**outcome, **named, "excerpt": {"first": first, "lines": lines[first - 1 : line + _LINES_AROUND]}}


class RunsPlugin:
    """Connects the collected runs to the hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.session = RunSession()
        self._failure = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say in a report what in the scenario did not hold: the controller of xdist sees reports only."""
        report = yield
        if "workrail" in item.keywords or "workrail" in getattr(item, "fixturenames", ()):
            setattr(report, _RUNS_WORKFLOW, True)
        if call.excinfo is not None and isinstance(call.excinfo.value, ScenarioFailure):
            setattr(report, _FAULT, call.excinfo.value.first())
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if hasattr(report, _RUNS_WORKFLOW):
            self.session.outcomes.add(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of xdist is done."""
        self.session.merge(getattr(node, "workeroutput", {}).get(_WORKER_KEY, "{}"))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[_WORKER_KEY] = self.session.worker_state()
            return
        target = self._config.getoption("workrail_runs_json")
        if target is None:
            return
        try:
            path = self._config.invocation_params.dir / target
            write_atomically(
                str(path), self.session.document(self._config.rootpath).encode(), output_root(str(path.parent))
            )
        except OSError as problem:
            self._failure = f"FAIL: --workrail-runs-json: {target} can't be written: {problem.strerror}"
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._failure:
            terminalreporter.line(neutral(self._failure), red=True)


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
        changes = pending_changes([Path(root)])
        given = {"--goldens": json.dumps(pending_data(changes, changes.groups))}
        coverage = self._config.pluginmanager.get_plugin("workrail-coverage")
        if isinstance(coverage, CoveragePlugin):
            given["--coverage"] = document(coverage.session.tally)
        runs = self._config.pluginmanager.get_plugin("workrail-runs")
        if isinstance(runs, RunsPlugin):
            given["--runs"] = runs.session.document(self._config.rootpath)
        with TemporaryDirectory() as folder:
            arguments = [root, "--goldens", root, "--output", str(target)]
            for option, text in given.items():
                path = os.path.join(folder, f"{option.strip('-')}.json")
                write_atomically(path, text.encode(), folder)
                arguments += [option, path]
            studio(arguments)
