"""A recorded session as a test sees it: what happened, to be asserted on, and whether it still gets through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.sessions.judging import judge_run
from pytest_workrail.sessions.replay import Judgement, Recorded, answered_steps, recorded_runs, reproduce
from pytest_workrail.sessions.sources import open_source
from pytest_workrail.sessions.versions import Version, load_version
from workrail_lint.base.result import Err, Ok


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
        found = self.recorded.story.initial_context
        for advance in self.recorded.story.advances:
            found = found if advance.full_context is None else advance.full_context
        return dict(found)

    def notes(self, step: str) -> tuple[str, ...]:
        """The notes that were accepted at a step, in order."""
        story = self.recorded.story
        found = (each.notes for each in story.advances if story.node(each.source).step == step)
        return tuple(notes for notes in found if notes is not None)

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
            return judge_run(self.recorded, version)
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
    return runs if isinstance(runs, Err) else Ok(RecordedSession(runs.value[-1]))
