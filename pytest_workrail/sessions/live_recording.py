"""Sessions of an engine that is running, recorded as scenarios with their goldens and their coverage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_workrail.coverage.report import CoverageSession, document
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.golden import files
from pytest_workrail.sessions.recording import record
from pytest_workrail.sessions.redaction import RULES, Redactor, Rule
from pytest_workrail.sessions.replay import recorded_runs
from pytest_workrail.sessions.sources import bundle_folder
from workrail_lint.base.result import Err, Ok

COVERAGE_FILE = "coverage.json"


class LiveRecorder:
    """Writes a session when it ends, and what is left when the client leaves.

    A session that goes on after it was written, such as a branch after the end, is written again.
    """

    def __init__(
        self,
        export: Callable[[SessionId], Ok[dict[str, Any]] | Err[ToolError]],
        folder: Path,
        workflows: Mapping[str, Path],
        profile: ProfileName,
        say: Callable[[str], None],
        rules: Iterable[Rule] = RULES,
    ) -> None:
        self._export = export
        self._folder = folder
        self._workflows = workflows
        self._profile = profile
        self._say = say
        self._rules = rules
        self._open: dict[SessionId, None] = {}
        self._coverage = CoverageSession()

    def touched(self, session_id: SessionId, *, is_complete: bool) -> None:
        """A call was made in a session; it may have come to its end."""
        self._open[session_id] = None
        if is_complete:
            self._write(session_id)

    def leave(self) -> None:
        """The client is gone: write what is not written yet."""
        for session_id in list(self._open):
            self._write(session_id)

    def _write(self, session_id: SessionId) -> None:
        del self._open[session_id]
        try:
            written = self._recorded(session_id)
        except Exception as problem:  # whatever is wrong with a recording, the session goes on
            written = Err(f"recording failed unexpectedly ({type(problem).__name__})")
        self._say(f"{session_id} was not recorded: {written.error}" if isinstance(written, Err) else written.value)

    def _recorded(self, session_id: SessionId) -> Ok[str] | Err[str]:
        bundle = self._export(session_id)
        if isinstance(bundle, Err):
            return Err(bundle.error.message)
        raw = json.dumps(bundle.value, ensure_ascii=False).encode("utf-8", "surrogatepass")
        source = bundle_folder(raw, session_id)
        if isinstance(source, Err):
            return source
        runs = recorded_runs(source.value, session_id, self._profile)
        if isinstance(runs, Err):
            return runs
        names = []
        for run in runs.value:
            workflow = self._workflows.get(run.story.workflow_id)
            if workflow is None:
                return Err(f"its workflow {run.story.workflow_id} is not served")
            made = record(run, self._folder, workflow, Redactor(self._rules), force=True)
            if isinstance(made, Err):
                return made
            if made.value.transcript is not None:
                self._coverage.record(made.value.path.name, made.value.transcript)
                self._coverage.test_finished(made.value.path.name, passed=True)
            verdict = "" if made.value.problem is None else f" (does not pass: {made.value.problem})"
            names.append(f"{made.value.path.name}{verdict}")
        covered = files.write(self._folder / COVERAGE_FILE, document(self._coverage.tally).encode())
        if isinstance(covered, Err):
            return Err(f"{COVERAGE_FILE} can't be written: {covered.error}")
        return Ok(f"recorded {', '.join(names)}")
