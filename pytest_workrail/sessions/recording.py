"""A recorded session as a scenario: the calls as turns, what came of them as expectations, and its golden.

Sessions of an engine that is running are recorded in the same way, when it ends.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pytest_workrail.agents.agent import Transcript
from pytest_workrail.coverage.report import CoverageSession, document
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.sessions import ONBOARDING_STEP
from pytest_workrail.golden import files
from pytest_workrail.golden.files import ENDING, FOLDER, SCENARIO_ENDING, source_base
from pytest_workrail.scenarios.drivers import file_bytes, play
from pytest_workrail.sessions.replay import Recorded, recorded_runs
from pytest_workrail.sessions.script import (
    Outcome,
    OutcomeKind,
    Script,
    ScriptAction,
    SetCheckpoint,
    SetPreferences,
    SubmitStep,
)
from pytest_workrail.sessions.story import Story
from pytest_workrail.sessions.versions import bundle_folder
from workrail_lint.base import files as base_files
from workrail_lint.base.files import PRIVATE
from workrail_lint.base.redaction import RULES, Redactor, Rule
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.compile import kept_ir_name
from workrail_lint.systems.workrail.scenario_words import AFTER_END

_ANSWERS: dict[OutcomeKind, str] = {"ok": "ok", "blocked": "blocked", "gate_checkpoint": "gated", "error": "error"}
_STATUSES = {"gate": "gated"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class RecordedScenario:
    """A scenario that was made. `problem` says why it does not pass; then its file says so too, and is skipped."""

    session: str
    path: Path
    filled: tuple[str, ...]
    redacted: dict[str, int]
    problem: str | None = None
    transcript: Transcript | None = field(default=None, compare=False, repr=False)  # of the run that passes


def scenario_name(story: Story) -> str:
    """A file name that says what ran and in which session, and in which of its runs if not in the first."""
    suffix = _UNSAFE.sub("", story.session_id.removeprefix("sess_")[:10])
    run = f"-{story.number}" if story.number > 1 else ""
    return f"{_UNSAFE.sub('-', story.workflow_id).strip('-')}-{suffix}{run}"


def scenario_of(run: Recorded, workflow: str, redactor: Redactor) -> dict[str, Any]:
    """The scenario of a run; `workflow` is the path from the scenario to the file it runs."""
    script, is_onboarded = _own_script(run)
    writer = _TurnWriter(run.story, redactor, offset=run.pinned.onboarding is not None and not is_onboarded)
    turns = writer.turns(script)
    status = run.story.status
    scenario: dict[str, Any] = {
        "name": scenario_name(run.story),
        "description": "",
        "workflow": workflow,
        "profile": run.profile,
        "mode": script.preferences.autonomy,
        "risk": script.preferences.risk_policy,
        "onboarding": True,
        "goal": redactor.text(script.goal or ""),
        "context": redactor.context(script.context),
        "agent": {"kind": "scripted", "turns": turns},
        "expect": {"status": _STATUSES.get(status, status)},
    }
    for name, is_needed in (
        ("profile", run.profile != "reference"),
        ("onboarding", is_onboarded),
        ("goal", bool(script.goal)),
        ("context", bool(scenario["context"])),
    ):
        if not is_needed:
            del scenario[name]
    scenario["description"] = _description(run, writer.filled)
    return scenario


def filled_in(scenario: dict[str, Any]) -> tuple[str, ...]:
    """Return the lines of a scenario about turns that the log did not hold."""
    return tuple(line for line in str(scenario["description"]).split("\n") if line.startswith("Turn "))


def _description(run: Recorded, filled: list[str]) -> str:
    lines = [f"Recorded from session {run.story.session_id}, pinned to {run.story.workflow_hash}."]
    if run.story.damage is not None:
        lines.append(f"The log is damaged and was used up to there: {run.story.damage}.")
    beyond = list(_beyond_engine(run))
    if beyond:
        lines.append(f"The run was started with {' and '.join(beyond)}, which the public engine does not take.")
    lines += [f"{str(defect)[0].upper()}{str(defect)[1:]}." for defect in run.defects]
    if filled:
        lines.append("The log does not hold everything; this was filled in:")
    return "\n".join(lines + filled)


def _beyond_engine(run: Recorded) -> Iterator[str]:
    """Yield what the run was started with that only our server takes. The engine's own daemon starts runs otherwise."""
    if "is_autonomous" in run.story.initial_context:
        return
    if run.script.context:
        yield "`initialContext`"
    if run.script.preferences != DEFAULT_PREFERENCES:
        yield "`preferences`"


def _own_script(run: Recorded) -> tuple[Script, bool]:
    """The script without the onboarding step where that makes no difference, and whether it is still there."""
    script = run.script
    if run.pinned.onboarding is None:
        return script, False
    there = [action for action in script.actions if action.node == 1]
    first = script.actions[0] if script.actions else None
    preferences = [action for action in there if isinstance(action, SetPreferences)]
    submits = [action for action in there if isinstance(action, SubmitStep)]
    is_plain = (
        len(submits) == 1
        and len(preferences) + 1 == len(there)
        and script.actions[len(preferences)] is submits[0]
        and submits[0].recorded.kind == "ok"
        and not submits[0].recorded.is_complete
        and not submits[0].artifacts
        and run.story.node(1).step == ONBOARDING_STEP
    )
    if not is_plain or first is None:
        return script, True
    # The context set there is what the workflow itself starts with; null removes a variable that was set before.
    context = {**script.context, **(submits[0].context or {})}
    chosen = preferences[-1].effective if preferences else script.preferences
    rest = tuple(action for action in script.actions if action.node != 1)
    context = {name: value for name, value in context.items() if value is not None}
    return replace(script, context=context, preferences=chosen, actions=rest), False


class _TurnWriter:
    """Follows the calls from node to node, as the driver of scenarios will."""

    def __init__(self, story: Story, redactor: Redactor, *, offset: bool) -> None:
        self._story = story
        self._redactor = redactor
        self._offset = int(offset)  # of the numbers of nodes, where the onboarding step is left out
        self.filled: list[str] = []

    def turns(self, script: Script) -> list[dict[str, Any]]:
        """All turns: the calls, the way back where a call was made somewhere else, and the end."""
        here = 1 + self._offset
        turns: list[dict[str, Any]] = []
        advances = iter(advance for advance in self._story.advances if advance.target)
        for _ in range(self._offset):
            next(advances, None)
        for action in script.actions:
            if action.node != here:
                turns.append(self._rewind(here, action.node))
                here = action.node
            turns.append(self._turn(action, len(turns) + 1))
            if isinstance(action, SubmitStep):
                here = next(advances).target
        if not self._story.node(here).is_complete:
            turns.append({"step": self._step(here), "call": "leave"})
        return turns

    def _step(self, node: int) -> str:
        return AFTER_END if self._story.node(node).is_complete else str(self._story.node(node).step)

    def _rewind(self, here: int, target: int) -> dict[str, Any]:
        return {"step": self._step(here), "call": "rewind", "node": target - self._offset}

    def _turn(self, action: ScriptAction, number: int) -> dict[str, Any]:
        match action:
            case SetCheckpoint(step=step):
                return {"step": step, "call": "checkpoint"}
            case SetPreferences(step=step, effective=effective):
                return {"step": step, "prefers": {"mode": effective.autonomy, "risk": effective.risk_policy}}
            case SubmitStep():
                self.filled += [f"Turn {number}: {reason}" for reason in action.filled]
                return self._submit(action)

    def _submit(self, action: SubmitStep) -> dict[str, Any]:
        turn: dict[str, Any] = {"step": action.step}
        if action.notes is not None:
            turn["notes"] = self._redactor.text(action.notes)
        if action.artifacts:
            turn["artifacts"] = self._redactor.value(action.artifacts)
        if action.context is not None:
            turn["context"] = self._redactor.context(action.context)
        expected = _expected(action.recorded)
        return {**turn, "expect": expected} if expected else turn


def _expected(recorded: Outcome) -> dict[str, Any]:
    if recorded.kind == "unknown":
        return {}
    if recorded.is_complete:
        return {"answer": "complete"}
    expected: dict[str, Any] = {"answer": _ANSWERS[recorded.kind]}
    if recorded.codes:
        expected["blockers"] = list(recorded.codes)
    if recorded.kind in ("ok", "blocked") and recorded.pending is not None:
        expected["pending"] = recorded.pending
    return expected


def record(
    run: Recorded, folder: Path, workflow: Path | None, redactor: Redactor, *, force: bool = False
) -> Ok[RecordedScenario] | Err[str]:
    """Write the scenario of a run and its golden. Without a workflow, the pinned version is written beside it."""
    if run.unplayable is not None:
        return Err(run.unplayable)
    name = scenario_name(run.story)
    target = folder / f"{name}{SCENARIO_ENDING}"
    if os.path.exists(target) and not force:
        return Err(f"{target.name} exists already; --force replaces it")
    if workflow is None:
        workflow = folder / "workflows" / workflow_file_name(run)
        written = files.write(workflow, file_bytes(run.pinned.document), PRIVATE)
        if isinstance(written, Err):
            return Err(f"{workflow.name} can't be written: {written.error}")
    relative = os.path.relpath(workflow, folder).replace(os.sep, "/")
    story = run.story
    redactor = redactor.for_workspace(story.observations.get("repo_root"), story.initial_context.get("workspacePath"))
    scenario = scenario_of(run, relative, redactor)
    return _settle(run, target, scenario, redactor)


def workflow_file_name(run: Recorded) -> str:
    """A file name for the pinned version."""
    base = _UNSAFE.sub("-", run.story.workflow_id).strip("-")
    if not run.pinned.is_engines:
        return kept_ir_name(base, run.pinned.document)
    return f"{base}-{_UNSAFE.sub('', run.story.workflow_hash.removeprefix('sha256:')[:12])}.json"


def _settle(
    run: Recorded, target: Path, scenario: dict[str, Any], redactor: Redactor
) -> Ok[RecordedScenario] | Err[str]:
    """Write the scenario, play it, and keep its golden; one that does not pass says why in its own file."""
    try:
        before = files.read(target)
    except OSError as problem:
        return Err(f"{target.name} can't be read: {problem.strerror}")
    outputs = len(base_files.written)
    try:
        return _settle_over(before, run, target, scenario, redactor)
    except KeyboardInterrupt:
        _put_back(target, before)  # without what playing it says, it would fail
        del base_files.written[outputs:]
        raise


def _settle_over(
    before: bytes | None, run: Recorded, target: Path, scenario: dict[str, Any], redactor: Redactor
) -> Ok[RecordedScenario] | Err[str]:
    written = files.write(target, file_bytes(scenario), PRIVATE)
    if isinstance(written, Err):
        _put_back(target, before)
        return Err(f"{target.name} can't be written: {written.error}")
    playing = play(target, target.name)
    reason: str | None = None
    golden: bytes | None = None
    transcript: Transcript | None = None
    if isinstance(playing, Err):
        reason = str(playing.error.reason()[0])
    elif playing.value.failure is not None:
        reason = str(playing.value.failure.reason()[0])
    else:
        golden, transcript = playing.value.golden, playing.value.transcript
    if reason is not None:
        first = reason.strip().split("\n")[0]
        written = files.write(target, file_bytes({**scenario, "skip": f"it does not pass here: {first}"}), PRIVATE)
        if isinstance(written, Err):
            _put_back(target, before)  # without its reason, it would fail
            return Err(f"{target.name} can't be written: {written.error}")
    elif golden is not None:
        base = Path(source_base(target.as_posix()))
        written = files.write(base.with_name(base.name + ENDING), golden, PRIVATE)
    if isinstance(written, Err):
        return Err(f"the golden of {target.name} can't be written below {FOLDER}: {written.error}")
    return Ok(RecordedScenario(run.story.session_id, target, filled_in(scenario), redactor.totals, reason, transcript))


def _put_back(path: Path, data: bytes | None) -> None:
    if data is None:
        files.remove(path)
    else:
        files.write(path, data, PRIVATE)


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
        self.has_failed = False  # a session was not recorded

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
        self.has_failed = self.has_failed or isinstance(written, Err)
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
            recorded = record(run, self._folder, workflow, Redactor(self._rules), force=True)
            if isinstance(recorded, Err):
                return recorded
            if recorded.value.transcript is not None:
                self._coverage.record(recorded.value.path.name, recorded.value.transcript)
                self._coverage.test_finished(recorded.value.path.name, passed=True)
            verdict = "" if recorded.value.problem is None else f" (does not pass: {recorded.value.problem})"
            names.append(f"{recorded.value.path.name}{verdict}")
        covered = files.write(self._folder / COVERAGE_FILE, document(self._coverage.tally).encode(), PRIVATE)
        if isinstance(covered, Err):
            return Err(f"{COVERAGE_FILE} can't be written: {covered.error}")
        return Ok(f"recorded {', '.join(names)}")
