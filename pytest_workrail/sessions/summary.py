"""A session in one line: what ran, how it stands, and how bumpy the way was.

One pass over the events, because thousands of sessions are listed at once; the story of a session says the same.
"""

from __future__ import annotations

from typing import Any

from pytest_workrail.records import Record
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.log_shapes import HOST_KINDS, NEVER_STOPS, STOPPING_CATEGORIES, is_known
from pytest_workrail.sessions.node_state import StateReader
from pytest_workrail.sessions.session_log import SessionLog

STATUSES = ("complete", "complete_with_gaps", "in_progress", "blocked", "gate", "damaged", "unknown")
_MAX_TITLE = 120
_SESSION_KINDS = frozenset(("session_created", "observation_recorded")) | HOST_KINDS


class Summary(Record, frozen=False):
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
        return {name: getattr(self, name) for name in self.__match_args__}


class _Run:
    """The nodes of a run, as far as they decide which tip is preferred."""

    __slots__ = ("activity", "autonomy", "critical", "nodes", "parents")

    def __init__(self) -> None:
        self.nodes: dict[str, tuple[int, str, str]] = {}  # created at, kind, snapshot
        self.parents: dict[str, str | None] = {}
        self.activity: dict[str, int] = {}
        self.autonomy: dict[str, str] = {}
        self.critical: dict[str, bool] = {}  # open critical gaps, and whether they stop the run

    def path(self, node: str | None) -> list[str]:
        found: list[str] = []
        while node is not None:
            found.append(node)
            node = self.parents.get(node)
        return found

    def preferred_tip(self) -> str | None:
        inner, latest = set(self.parents.values()), dict[str | None, int]()
        for node, parent in self.parents.items():
            latest[node] = max(self.activity[node], latest.get(parent, 0))
        tips = (node for node in self.nodes if node not in inner)
        return max(tips, key=lambda tip: (latest[tip], self.nodes[tip][0]), default=None)


def summarise(folder: DataFolder, log: SessionLog, states: StateReader | None = None) -> Summary:
    """The summary of a log."""
    summary = Summary(log.session_id, events=len(log.events), unknown=log.unknown, damage=log.damage)
    runs: dict[str, _Run] = {}
    last_run: _Run | None = None
    for event in log.events:
        if log.unknown and not is_known(event):
            continue
        kind, data, scope = event["kind"], event["data"], event.get("scope") or {}
        summary.ended_ms = event["timestampMs"]
        summary.started_ms = summary.started_ms or summary.ended_ms
        if kind in _SESSION_KINDS:
            continue
        if kind == "run_started" and scope["runId"] in runs:
            summary.damage = f"event {event['eventIndex']}: the run was started before"
            break
        if kind == "run_started":
            last_run = runs[scope["runId"]] = _Run()
            summary.workflow_id, summary.runs = data["workflowId"], summary.runs + 1
            continue
        run = runs.get(scope.get("runId", ""))
        if run is None:
            problem: str | None = f"{kind} is about a run that was never started"
        else:
            problem = _take(summary, run, event, kind, data, scope.get("nodeId"))
        if problem is not None:
            summary.damage = f"event {event['eventIndex']}: {problem}"
            break
    if last_run is not None:
        _settle(summary, last_run, states or StateReader(folder))
    if summary.damage is not None:
        summary.status = "damaged"
    return summary


def _take(
    summary: Summary, run: _Run, event: dict[str, Any], kind: str, data: dict[str, Any], node: str | None
) -> str | None:
    index: int = event["eventIndex"]
    if kind == "node_created" and node is not None:
        parent = data["parentNodeId"]
        if node in run.nodes or (parent is not None and parent not in run.nodes):
            return "the node exists already" if node in run.nodes else "the node follows one that does not exist"
        if parent is None and run.nodes:
            return "the run has two first nodes"
        run.nodes[node], run.parents[node] = (index, data["nodeKind"], data["snapshotRef"]), parent
        run.activity[node] = index
        if data["nodeKind"] == "step" and parent is not None:
            summary.steps += 1
        elif data["nodeKind"] == "blocked_attempt":
            summary.blocks += 1
        elif data["nodeKind"] == "checkpoint":
            summary.checkpoints += 1
        return None
    if node is not None:
        if node not in run.nodes:
            return f"{kind} is about a node that does not exist"
        run.activity[node] = index
    if kind == "edge_created":
        source, target = data["fromNodeId"], data["toNodeId"]
        if target not in run.parents or run.parents[target] != source:
            return "the edge does not lead from a node to one that follows it"
        run.activity[source] = run.activity[target] = index
        summary.forks += data["cause"]["kind"] == "non_tip_advance"
    elif kind == "advance_recorded" and data["outcome"]["kind"] != "advanced":
        return "the advance is in a form that is no longer used"
    elif kind == "gap_recorded":
        if "resolvesGapId" in data["resolution"]:
            run.critical.pop(str(data["resolution"]["resolvesGapId"]), None)
        else:
            summary.gaps += 1
            if data["severity"] == "critical":
                run.critical[data["gapId"]] = data["reason"]["category"] in STOPPING_CATEGORIES
    elif kind == "preferences_changed" and node is not None:
        run.autonomy[node] = data["effective"]["autonomy"]
    elif kind == "context_set" and data["source"] == "initial" and not summary.title:
        goal = data["context"].get("goal")
        summary.title = goal[:_MAX_TITLE] if isinstance(goal, str) else ""
    return None


def _settle(summary: Summary, run: _Run, states: StateReader) -> None:
    tip = run.preferred_tip()
    if tip is None:
        return
    state = states.of(run.nodes[tip][2])
    if isinstance(state, str):
        summary.damage = summary.damage or f"the preferred tip: {state}"
        return
    summary.step = state.step
    autonomy = next((run.autonomy[node] for node in run.path(tip) if node in run.autonomy), "guided")
    if state.kind == "complete":
        summary.status = "complete_with_gaps" if run.critical else "complete"
    elif run.nodes[tip][1] == "gate_checkpoint":
        summary.status = "gate"
    elif run.nodes[tip][1] == "blocked_attempt" or any(run.critical.values()):
        summary.status = "in_progress" if autonomy == NEVER_STOPS else "blocked"
    else:
        summary.status = "in_progress"
