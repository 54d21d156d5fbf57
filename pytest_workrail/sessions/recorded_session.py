"""A recorded session as a test sees it: what happened, to be asserted on, and whether it still gets through.

It is judged on the versions of a project: its recorded calls first, and for one under way whether it can go on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.agent import Action, Checkpoint, Prefer, Rewind, StartView, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.scripted import Scripted, Turn
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.run.bench import GOAL, Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.start import Source, compile  # noqa: A004 - the name of the fixture's method
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.recording import scenario_of
from pytest_workrail.sessions.replay import (
    Judgement,
    Recorded,
    answered_steps,
    compare_run,
    recorded_runs,
    reproduce,
)
from pytest_workrail.sessions.story import Advance, ContextChange, stories
from pytest_workrail.sessions.versions import Version, load_version, open_source
from workrail_lint.base.js import Json
from workrail_lint.base.redaction import Redactor
from workrail_lint.base.result import Err, Ok

# What an agent needs at most to come from anywhere to the end; a loop that never ends is found out soon.
_MAX_TURNS = 2_000
_UNDER_WAY = ("in_progress", "blocked")


class ReplayedSession(Struct, frozen=True):
    """The result for a session: a judgement for each run, or why there is none."""

    session: str
    judgements: tuple[Judgement, ...] = ()
    is_empty: bool = False  # never started
    left_out: tuple[str, ...] = ()  # the workflows of runs that have no new version
    problem: str | None = None
    concerns: bool = False  # whether it is known that the session is of one of the versions


def replay_session(
    folder: DataFolder, session_id: str, versions: Mapping[str, Version], profile: ProfileName = "reference"
) -> ReplayedSession:
    """Every run of a session on the version that its workflow has now; runs of other workflows are left out."""
    all_runs = stories(folder, session_id)
    left_out = tuple(story.workflow_id for story in all_runs if story.workflow_id not in versions)
    if all_runs and len(left_out) == len(all_runs):
        return ReplayedSession(session_id, left_out=left_out)
    runs = recorded_runs(folder, session_id, profile)
    if isinstance(runs, Err):
        return ReplayedSession(session_id, left_out=left_out, problem=runs.error, concerns=bool(all_runs))
    if not runs.value:
        return ReplayedSession(session_id, is_empty=True)
    concerned = [run for run in runs.value if run.story.workflow_id in versions]

    judgements = tuple(replay_on_version(run, versions[run.story.workflow_id]) for run in concerned)
    return ReplayedSession(session_id, judgements, left_out=left_out, concerns=True)


def replay(
    session: str, workflow: Source, data: str | os.PathLike[str], profile: ProfileName = "reference"
) -> ReplayedSession:
    """Replay a session of an engine's data folder on a version of its workflow, and judge whether it gets through.

    Raises WorkflowInvalid when the version does not compile.
    """
    __tracebackhide__ = True
    compiled = compile(workflow)
    version = Version(Path(f"{compiled.workflow_id}.json"), compiled.workflow_id, compiled)
    return replay_session(DataFolder(os.fspath(data)), session, {compiled.workflow_id: version}, profile)


def replay_on_version(run: Recorded, version: Version) -> Judgement:
    """One run on one version."""
    story = run.story
    ir = version.ir_for(run.pinned.is_engines)
    if ir is None:
        return Judgement(story.session_id, story.workflow_id, "invalid", None, version.problem, pending=run.step)
    judgement = compare_run(run, ir)
    if judgement.verdict == "breaks" or story.status not in _UNDER_WAY:
        return judgement
    return _under_way(judgement, run, ir)


def _under_way(judgement: Judgement, run: Recorded, ir: dict[str, Any]) -> Judgement:
    """Whether an agent that does everything right gets from where the run stands to its end."""
    if run.unplayable is not None:
        note = "; ".join(filter(None, (judgement.note, f"whether it can continue is not known: {run.unplayable}")))
        return replace(judgement, note=note)
    problem = _obstacle(run, ir)
    if problem is None:
        return replace(judgement, can_continue=True)
    if _obstacle(run, run.pinned.ir) is not None:  # the pinned version leads nowhere either
        return replace(judgement, can_continue=False)
    reason = f"the run is at step {run.step} and can't be brought to its end from there: {problem}"
    return replace(judgement, verdict="breaks", at=run.step, reason=reason, can_continue=False)


class _Continuing(Auto):
    """The automatic agent as it takes over: what the run was started with is past."""

    def begin(self, start: StartView) -> dict[str, Json]:
        super().begin(start)
        return {}


def _obstacle(run: Recorded, ir: dict[str, Any]) -> str | None:
    """Return the reason why the run can't reach its end on a version; None when it can."""
    scenario = scenario_of(run, "", Redactor(()))
    if any(turn["step"] is None for turn in scenario["agent"]["turns"]):  # a snapshot that was damaged or forged
        return "the log does not say at which step a call was made"
    turns = [Turn(turn["step"], action) for turn in scenario["agent"]["turns"] if (action := _action(turn)) is not None]
    chosen: Any = (scenario["mode"], scenario["risk"])
    setup = Setup(
        ir,
        preferences=Preferences(*chosen),
        goal=scenario.get("goal") or GOAL,
        context=scenario.get("context", {}),
        max_turns=len(turns) + _MAX_TURNS,
        onboarding=bool(scenario.get("onboarding")),
        profile=run.profile,
    )
    ending = drive(setup, Scripted(turns, _Continuing())).ending
    return None if ending.kind == "complete" else ending.why


def _action(turn: dict[str, Any]) -> Action | None:
    match turn.get("call"):
        case "rewind":
            return Rewind(node=turn["node"])
        case "checkpoint":
            return Checkpoint()
        case "leave":
            return None
    if "prefers" in turn:
        chosen: Any = (turn["prefers"]["mode"], turn["prefers"]["risk"])
        return Prefer(Preferences(*chosen))
    return Submit(turn.get("notes"), tuple(turn.get("artifacts", ())), turn.get("context"))


class SessionUnusable(ValueError):  # noqa: N818 - what it is called in reports
    """A path that names no session, or a session that can't be played."""


class RecordedSession(Struct, frozen=True):
    """One run of a recorded session."""

    recorded: Recorded

    @property
    def session_id(self) -> str:
        return self.recorded.story.session_id

    @property
    def workflow_id(self) -> str:
        return self.recorded.story.workflow_id

    @property
    def status(self) -> str:
        """`complete`, `complete_with_gaps`, `blocked`, `gate` or `in_progress`."""
        return self.recorded.story.status

    @property
    def pending(self) -> str | None:
        """The step at which the run stands."""
        return self.recorded.step

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that were accepted, in order; of a run with branches, those of all of them."""
        story = self.recorded.story
        accepted = (each for each in story.advances if each.target and story.node(each.target).kind == "step")
        return tuple(str(story.node(each.source).step) for each in accepted)

    @property
    def blockers(self) -> tuple[str, ...]:
        """The codes of all blockers, in order."""
        story = self.recorded.story
        targets = (story.node(each.target) for each in story.advances if each.target)
        return tuple(blocker.code for target in targets for blocker in target.blockers)

    @property
    def gaps(self) -> tuple[str, ...]:
        """The reasons of the gaps that nothing resolved, in order."""
        return tuple(gap.reason.detail for gap in self.recorded.story.gaps)

    @property
    def forks(self) -> int:
        """How many branches there are besides the first."""
        return sum(each.is_fork for each in self.recorded.story.advances)

    @property
    def context(self) -> dict[str, Any]:
        """The context as it was last set."""
        context = self.recorded.story.initial_context
        for beat in self.recorded.story.beats:
            if isinstance(beat, Advance | ContextChange) and beat.full_context is not None:
                context = beat.full_context
        return dict(context)

    def notes(self, step: str) -> tuple[str, ...]:
        """The notes that were accepted at a step, in order."""
        story = self.recorded.story
        submitted = (each.notes for each in story.advances if story.node(each.source).step == step)
        return tuple(notes for notes in submitted if notes is not None)

    def artifacts(self, step: str) -> tuple[Any, ...]:
        """Everything else that was submitted at a step, in order."""
        story = self.recorded.story
        return tuple(
            artifact for each in story.advances if story.node(each.source).step == step for artifact in each.artifacts
        )

    def replay(self, workflow: str | Path | Version | None = None) -> Judgement:
        """The verdict on another version of the workflow; without one, on the version it was pinned to."""
        if workflow is not None:
            version = workflow if isinstance(workflow, Version) else load_version(Path(workflow))
            return replay_on_version(self.recorded, version)
        reproduction = reproduce(self.recorded)
        story = self.recorded.story
        if reproduction.parts_at is None:
            return Judgement(story.session_id, story.workflow_id, "same", pending=self.pending)
        at = answered_steps(self.recorded.script)[reproduction.parts_at - 1]
        reason = reproduction.describe(self.recorded.script)
        return Judgement(story.session_id, story.workflow_id, "breaks", at, reason, reproduction.parts_at)


def open_session(
    path: str, session_id: str | None = None, profile: ProfileName = "reference"
) -> Ok[RecordedSession] | Err[str]:
    """The session that a path names: its folder, a data folder that holds only this one, or an exported file.

    Of several runs, the last one. `profile` is that of the engine that made them.
    """
    opened = open_source(path)
    if isinstance(opened, Err):
        return opened
    folder, names = opened.value
    chosen = names if session_id is None else [name for name in names if name == session_id]
    if len(chosen) != 1:
        what = f"no session {session_id}" if session_id is not None else f"{len(names)} sessions; name one by its id"
        return Err(f"it holds {what}")
    runs = recorded_runs(folder, chosen[0], profile)
    if isinstance(runs, Err):
        return runs
    return Ok(RecordedSession(runs.value[-1])) if runs.value else Err("the session was never started")
