"""A session on the versions of a project: its recorded calls first, and for one under way whether it can go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.agent import Action, Checkpoint, Prefer, Rewind, StartView, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.scripted import Scripted, Turn
from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.run.bench import GOAL, Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.recording import scenario_of
from pytest_workrail.sessions.redaction import Redactor
from pytest_workrail.sessions.replay import Judgement, Recorded, judge, recorded_runs, unless_damaged
from pytest_workrail.sessions.story import stories
from pytest_workrail.sessions.versions import Version
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err

# What an agent needs at most to come from anywhere to the end; a loop that never ends is found out soon.
_MAX_TURNS = 2_000
_UNDER_WAY = ("in_progress", "blocked")


class JudgedSession(Struct, frozen=True):
    """What became of a session: a judgement for each run, or why there is none."""

    session: str
    judgements: tuple[Judgement, ...] = ()
    left_out: tuple[str, ...] = ()  # the workflows of runs that have no new version
    problem: str | None = None
    concerns: bool = False  # whether it is known that the session is of one of the versions


def judge_session(
    folder: DataFolder, session_id: str, versions: Mapping[str, Version], profile: ProfileName = "reference"
) -> JudgedSession:
    """Every run of a session on the version that its workflow has now; runs of other workflows are left out."""
    found = stories(folder, session_id)
    left_out = tuple(story.workflow_id for story in found if story.workflow_id not in versions)
    if found and len(left_out) == len(found):
        return JudgedSession(session_id, left_out=left_out)
    runs = recorded_runs(folder, session_id, profile)
    if isinstance(runs, Err):
        return JudgedSession(session_id, left_out=left_out, problem=runs.error, concerns=bool(found))
    concerned = [run for run in runs.value if run.story.workflow_id in versions]

    def judgements() -> tuple[Judgement, ...]:
        return tuple(judge_run(run, versions[run.story.workflow_id]) for run in concerned)

    if all(run.pinned.is_engines for run in concerned):
        return JudgedSession(session_id, judgements(), left_out, concerns=True)
    judged = unless_damaged(judgements)
    if isinstance(judged, Err):
        return JudgedSession(session_id, left_out=left_out, problem=judged.error, concerns=True)
    return JudgedSession(session_id, judged.value, left_out, concerns=True)


def judge_run(run: Recorded, version: Version) -> Judgement:
    """One run on one version."""
    story = run.story
    ir = version.ir_for(run.pinned.is_engines)
    if ir is None:
        return Judgement(story.session_id, story.workflow_id, "invalid", None, version.problem, pending=run.step)
    judgement = judge(run, ir)
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
    """What keeps the run from its end on a version; None when nothing does."""
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
