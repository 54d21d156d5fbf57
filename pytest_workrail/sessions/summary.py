"""A session in one line: what ran, how it stands, and how bumpy the way was."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pytest_workrail.engine.model.blockers import Resolves
from pytest_workrail.engine.model.events import ContextSet, EdgeCreated, GapRecorded, NodeCreated
from pytest_workrail.engine.model.lenient import UnknownEvent
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.facts import run_status
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.session_log import SessionLog, Snapshots
from workrail_lint.base.result import Ok

STATUSES = ("complete", "complete_with_gaps", "in_progress", "blocked", "gate", "damaged", "unknown")
_MAX_TITLE = 120


class Summary(Struct):
    """What `list` shows of a session. Counts are those of all its runs; the rest is about the one started last."""

    session: str
    workflow_id: str = ""
    status: str = "unknown"
    step: str | None = None  # what is pending
    steps: int = 0  # accepted submissions
    blocks: int = 0
    gaps: int = 0
    forks: int = 0
    checkpoints: int = 0
    events: int = 0
    unknown: int = 0
    runs: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    title: str = ""
    damage: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "workflowId": self.workflow_id,
            "status": self.status,
            "pending": self.step,
            "steps": self.steps,
            "blocks": self.blocks,
            "gaps": self.gaps,
            "forks": self.forks,
            "checkpoints": self.checkpoints,
            "events": self.events,
            "unknownEvents": self.unknown,
            "runs": self.runs,
            "startedMs": self.started_ms,
            "endedMs": self.ended_ms,
            "goal": self.title,
            "damage": self.damage,
        }

    def record(self) -> dict[str, Any]:
        """What a cache keeps."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def summarise(folder: DataFolder, log: SessionLog, snapshots: Snapshots | None = None) -> Summary:
    """Return the summary of a log."""
    summary = Summary(log.session_id, events=len(log.events), unknown=log.unknown, damage=log.damage)
    summary.runs = len(log.runs)
    for event in log.events:
        if isinstance(event, UnknownEvent):
            continue
        summary.ended_ms = event.timestamp_ms
        summary.started_ms = summary.started_ms or event.timestamp_ms
        match event:
            case NodeCreated(data=data):
                summary.steps += data.node_kind == "step" and data.parent_node_id is not None
                summary.blocks += data.node_kind == "blocked_attempt"
                summary.checkpoints += data.node_kind == "checkpoint"
            case EdgeCreated(data=data):
                summary.forks += data.cause.kind == "non_tip_advance"
            case GapRecorded(data=data):
                summary.gaps += not isinstance(data.resolution, Resolves)
            case ContextSet(data=data) if data.source == "initial" and not summary.title:
                goal = data.context.get("goal")
                summary.title = goal[:_MAX_TITLE] if isinstance(goal, str) else ""
            case _:
                pass
    if log.runs:
        _settle(summary, log, list(log.runs.values())[-1], snapshots or Snapshots(folder))
    if summary.damage is not None:
        summary.status = "damaged"
    return summary


def _settle(summary: Summary, log: SessionLog, run: Run, snapshots: Snapshots) -> None:
    if run.started is not None:
        summary.workflow_id = run.started.workflow_id
    if run.preferred_tip is None:
        return
    snapshot = snapshots.of(run.nodes[run.preferred_tip].snapshot_ref)
    if isinstance(snapshot, str):
        summary.damage = summary.damage or f"the preferred tip: {snapshot}"
        return
    pending = snapshot.pending_step
    summary.step = None if pending is None else pending.step_id
    summary.status = session_status(log, run, snapshot)


def session_status(log: SessionLog, run: Run, tip: ExecutionSnapshot) -> str:
    """Return how a run stands, in one word, given the snapshot of its preferred tip."""
    if run.preferred_tip is not None and run.nodes[run.preferred_tip].kind == "gate_checkpoint" and not tip.is_complete:
        return "gate"
    status = run_status(log.log, run, tip)
    return status.value if isinstance(status, Ok) else "unknown"
