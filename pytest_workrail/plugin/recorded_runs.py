"""`--workrail-runs-json`: every run of a workflow that the tests made, call by call, for the studio and others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_workrail.agents.transcript import Transcript
from pytest_workrail.golden.document import story_value
from workrail_lint.base.files import write_atomically
from workrail_lint.base.neutral import json_text
from workrail_lint.base.terminal import neutral
from workrail_lint.studio.runs import run_data

_WORKER_KEY = "workrail_runs"
# A property test makes hundreds of runs; the first ones show what they are like.
_MOST_OF_A_TEST = 5


class RunSession:
    """Collects runs. Under xdist every worker has one, and the controller merges them."""

    def __init__(self) -> None:
        self._runs: dict[str, list[dict[str, Any]]] = {}

    def record(self, test: str, transcript: Transcript) -> None:
        """A run that a test made."""
        runs = self._runs.setdefault(test, [])
        if len(runs) < _MOST_OF_A_TEST:
            runs.append({"test": test, **story_value(transcript)})

    def worker_state(self) -> str:
        """What a worker sends to the controller: in ASCII, because xdist can't send every string."""
        return json.dumps(self._runs)

    def merge(self, state: str) -> None:
        """Take in what a worker saw."""
        self._runs.update(json.loads(state))

    def document(self) -> str:
        """All runs by test. Each call says which branch it is on, which call it continues, and in which round."""
        runs = [_with_places(run) for test in sorted(self._runs) for run in self._runs[test]]
        return json_text({"version": 1, "runs": runs})


def _with_places(run: dict[str, Any]) -> dict[str, Any]:
    story = run_data(run, "", "")
    assert story is not None
    places = ({name: turn.get(name) for name in ("branch", "parent", "round")} for turn in story["turns"])
    return {**run, "transcript": [{**call, **place} for call, place in zip(run["transcript"], places, strict=True)]}


class RunsPlugin:
    """Connects the collected runs to the hooks."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.session = RunSession()
        self._failure = ""

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
            write_atomically(str(self._config.invocation_params.dir / target), self.session.document().encode())
        except OSError as problem:
            self._failure = f"FAIL: --workrail-runs-json: {target} can't be written: {problem.strerror}"
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._failure:
            terminalreporter.line(neutral(self._failure), red=True)
