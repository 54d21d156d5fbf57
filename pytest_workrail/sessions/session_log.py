"""The log of a session: its events in order, checked against the manifest, as far as they can be trusted.

It is read as the engine's store reads it, but with types that also take what other engines write. A damaged log gives
its intact start and a sentence about the rest. Events of kinds or versions that are not known here are kept where they
are and count as unknown; they are never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from msgspec import Struct

from pytest_workrail.engine.model.blockers import Resolves
from pytest_workrail.engine.model.events import (
    HOST_KINDS,
    AdvancedOutcome,
    AdvanceRecorded,
    ContextSet,
    EdgeCreated,
    Event,
    GapRecorded,
    Log,
    NodeCreated,
    RunStarted,
)
from pytest_workrail.engine.model.ids import NodeId, RunId, SessionId
from pytest_workrail.engine.model.lenient import ANY_RECORDS, ANY_SNAPSHOTS, AnyEvent, UnknownEvent, read_any_event
from pytest_workrail.engine.model.manifest import ManifestRecord, SegmentClosed, segments
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.projections.dag import Run, project_dag
from pytest_workrail.engine.projections.incremental import of_kind
from pytest_workrail.engine.projections.session_facts import run_status
from pytest_workrail.engine.store.log import (
    altered_segment,
    missing_segment,
    read_manifest,
    read_segment,
    unpinned_node,
)
from pytest_workrail.engine.store.plan import SessionTruth
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.listing import Status, Summary
from workrail_lint.base.canonical import digest
from workrail_lint.base.result import Err, Ok

# What one session may hold altogether: far more than any agent writes, little enough to be read at once.
MAX_SESSION_BYTES = 256 * 1024 * 1024
_KEPT_SNAPSHOTS = 2_000
_MAX_TITLE = 120
_OUTSIDE_RUNS = HOST_KINDS | {"session_created"}


class SessionLog(Struct, frozen=True):
    """A log as read. `damage` is the first problem; everything before it is in `events`."""

    session_id: str
    events: tuple[AnyEvent, ...] = ()
    manifest: tuple[ManifestRecord, ...] = ()
    damage: str | None = None
    runs: dict[RunId, Run] = {}  # in the order in which they were started

    @property
    def log(self) -> Log:
        """The events as projections take them; they pass over what is not known."""
        return cast("Log", self.events)

    @property
    def unknown(self) -> int:
        """How many events are kept without being understood."""
        return sum(event.scope is None and isinstance(event, UnknownEvent) for event in self.events)

    @property
    def is_empty(self) -> bool:
        """Whether the session was never started. A process that is killed right after it made the folder leaves one."""
        return self.damage is None and not self.runs and not self.unknown

    @property
    def truth(self) -> SessionTruth:
        """The session as the engine loads it."""
        return SessionTruth(self.log, self.manifest)


def read_log(folder: DataFolder, session_id: str) -> SessionLog:
    """Return the log of a session. Never raise, whatever the files hold."""
    known = folder.log(session_id)
    if known is not None:
        return known
    if not folder.has_folder(session_id):
        return SessionLog(session_id, damage="the session is a link, which is not followed")
    try:
        raw = folder.read_of_session(session_id, "manifest.jsonl")
    except OSError as problem:
        return SessionLog(session_id, damage=f"the manifest can't be read ({problem.strerror})")
    if raw is None or not raw.strip():
        # The manifest is written after the first segment, and before the second.
        is_lost = folder.segments(session_id) > 1
        return SessionLog(session_id, damage="the session has no manifest" if is_lost else None)
    return trusted_log(session_id, *_verified(folder, SessionId(session_id), raw))


def _verified(
    folder: DataFolder, session_id: SessionId, raw: bytes
) -> tuple[tuple[AnyEvent, ...], tuple[ManifestRecord, ...], str | None]:
    """Return what a manifest attests, up to the first thing wrong, and that."""
    reading = read_manifest(session_id, raw, ANY_RECORDS.read_line)
    events: list[AnyEvent] = []
    has_events = folder.has_folder(session_id, "events")
    size = 0
    for record in segments(reading.records):
        size += record.bytes
        if size > MAX_SESSION_BYTES:
            segment: Ok[tuple[Event, ...]] | Err[str] = Err(f"the log has more than {MAX_SESSION_BYTES:,} bytes")
        else:
            segment = _segment(folder, session_id, record, has_events)
        if isinstance(segment, Err):
            return tuple(events), reading.records[: record.manifest_index], segment.error
        events.extend(segment.value)
    attested = tuple(events)
    if reading.cut is not None:
        return attested, reading.records, f"manifest {reading.cut.reason.message}"
    unpinned = unpinned_node(cast("Log", attested), reading.records)
    return attested, reading.records, None if unpinned is None else unpinned.reason.message


def _segment(
    folder: DataFolder, session_id: SessionId, record: SegmentClosed, has_events: bool
) -> Ok[tuple[Event, ...]] | Err[str]:
    """Return the events of a segment, or what is wrong with it."""
    try:
        content = folder.read_of_session(session_id, record.segment_rel_path) if has_events else None
    except OSError as problem:
        return Err(f"{record.segment_rel_path} can't be read ({problem.strerror}; {_line_of(record)})")
    if content is None:
        return Err(f"{missing_segment(record).reason.message} ({_line_of(record)})")
    if (len(content), digest(content)) != (record.bytes, record.sha256):
        return Err(f"{altered_segment(record).reason.message} ({_line_of(record)})")
    events = read_segment(session_id, record, content, read_any_event)
    if isinstance(events, Err):
        return Err(f"{record.segment_rel_path}: {events.error.reason.message} ({_line_of(record)})")
    return events


def _line_of(record: ManifestRecord) -> str:
    return f"manifest line {record.manifest_index + 1}"


def trusted_log(
    session_id: str, events: Sequence[AnyEvent], manifest: tuple[ManifestRecord, ...] = (), damage: str | None = None
) -> SessionLog:
    """Return the log with its runs, up to the first event that contradicts those before it."""
    problem = _contradiction(events)
    if problem is not None:
        events, damage = events[: problem[0]], f"event {problem[0]}: {problem[1]}"
    kept = tuple(events)
    dag = project_dag(cast("Log", kept))  # what is unknown has no scope
    if isinstance(dag, Err):
        return SessionLog(session_id, damage=dag.error.message)
    started = [event.scope.run_id for event in of_kind(cast("Log", kept), RunStarted)]
    return SessionLog(session_id, kept, manifest, damage, {run_id: dag.value[run_id] for run_id in started})


_Parents: TypeAlias = dict[NodeId, NodeId | None]


def _contradiction(events: Sequence[AnyEvent]) -> tuple[int, str] | None:
    """Return the first event that does not fit those before it, and why."""
    parents: dict[RunId, _Parents] = {}
    for place, event in enumerate(events):
        scope, kind = event.scope, event.kind
        if scope is None or scope.run_id is None or kind in _OUTSIDE_RUNS:
            continue
        nodes = parents.get(scope.run_id)
        if nodes is None:
            if kind != "run_started":
                return place, f"{kind} is about a run that was never started"
            parents[scope.run_id] = {}
        elif scope.node_id is not None and scope.node_id not in nodes and kind != "node_created":
            return place, f"{kind} is about a node that does not exist"
        else:
            check = _CHECKS.get(kind)
            problem = None if check is None else check(event, nodes)
            if problem is not None:
                return place, problem
    return None


def _check_run(event: RunStarted, nodes: _Parents) -> str | None:
    return "the run was started before"


def _check_node(event: NodeCreated, nodes: _Parents) -> str | None:
    parent = event.data.parent_node_id
    if event.scope.node_id in nodes:
        return "the node exists already"
    if parent is not None and parent not in nodes:
        return "the node follows one that does not exist"
    if parent is None and nodes:
        return "the run has two first nodes"
    nodes[event.scope.node_id] = parent
    return None


def _check_edge(event: EdgeCreated, nodes: _Parents) -> str | None:
    target = event.data.to_node_id
    if target not in nodes or nodes[target] != event.data.from_node_id:
        return "the edge does not lead from a node to one that follows it"
    return None


def _check_advance(event: AdvanceRecorded, nodes: _Parents) -> str | None:
    is_known = isinstance(event.data.outcome, AdvancedOutcome)
    return None if is_known else "the advance is in a form that is no longer used"


_CHECKS: dict[str, Callable[[Any, _Parents], str | None]] = {
    "run_started": _check_run,
    "node_created": _check_node,
    "edge_created": _check_edge,
    "advance_recorded": _check_advance,
}


class Snapshots:
    """Reads snapshots and remembers some: the nodes of many sessions share theirs."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._known: dict[str, ExecutionSnapshot | str] = {}

    def of(self, ref: str) -> ExecutionSnapshot | str:
        """Return a snapshot, or what is wrong with it."""
        known = self._known.get(ref)
        if known is None:
            if len(self._known) >= _KEPT_SNAPSHOTS:
                self._known.clear()
            known = self._known[ref] = self._read(ref)
        return known

    def _read(self, ref: str) -> ExecutionSnapshot | str:
        content = self._folder.snapshot(ref)
        if isinstance(content, Err):
            return content.error
        snapshot = ANY_SNAPSHOTS.read_line(content.value)
        return "the snapshot holds no state that is known here" if isinstance(snapshot, Err) else snapshot.value


# ------------------------------------------------------------------------------------------------------------ summary


def summarise(log: SessionLog, snapshots: Snapshots) -> Summary:
    """Return the summary of a log."""
    nodes = [event.data for event in of_kind(log.log, NodeCreated)]
    summary = Summary(
        session=log.session_id,
        workflow_id="",
        status="empty" if log.is_empty else "unknown",
        step=None,
        steps=sum(node.node_kind == "step" and node.parent_node_id is not None for node in nodes),
        blocks=sum(node.node_kind == "blocked_attempt" for node in nodes),
        gaps=sum(not isinstance(event.data.resolution, Resolves) for event in of_kind(log.log, GapRecorded)),
        forks=sum(event.data.cause.kind == "non_tip_advance" for event in of_kind(log.log, EdgeCreated)),
        checkpoints=sum(node.node_kind == "checkpoint" for node in nodes),
        events=len(log.events),
        unknown=log.unknown,
        runs=len(log.runs),
        started_ms=next((event.timestamp_ms for event in _known(log.events) if event.timestamp_ms), 0),
        ended_ms=next((event.timestamp_ms for event in _known(reversed(log.events))), 0),
        title=_title(of_kind(log.log, ContextSet)),
        damage=log.damage,
    )
    if log.runs:
        summary = _with_run(summary, log, list(log.runs.values())[-1], snapshots)
    return summary if summary.damage is None else summary._replace(status="damaged")


def _known(events: Iterable[AnyEvent]) -> Iterator[Event]:
    return (event for event in events if not isinstance(event, UnknownEvent))


def _title(contexts: Sequence[ContextSet]) -> str:
    """Return the goal that the session was started with."""
    for event in contexts:
        if event.data.source == "initial":
            goal = event.data.context.get("goal")
            if isinstance(goal, str) and goal:
                return goal[:_MAX_TITLE]
    return ""


def _with_run(summary: Summary, log: SessionLog, run: Run, snapshots: Snapshots) -> Summary:
    if run.started is not None:
        summary = summary._replace(workflow_id=run.started.workflow_id)
    if run.preferred_tip is None:
        return summary
    snapshot = snapshots.of(run.nodes[run.preferred_tip].snapshot_ref)
    if isinstance(snapshot, str):
        return summary._replace(damage=summary.damage or f"the preferred tip: {snapshot}")
    pending = snapshot.pending_step
    step = None if pending is None else pending.step_id
    return summary._replace(step=step, status=session_status(log, run, snapshot))


def session_status(log: SessionLog, run: Run, tip: ExecutionSnapshot) -> Status:
    """Return how a run stands, in one word, given the snapshot of its preferred tip."""
    if run.preferred_tip is not None and run.nodes[run.preferred_tip].kind == "gate_checkpoint" and not tip.is_complete:
        return "gate"
    status = run_status(log.log, run, tip)
    return status.value if isinstance(status, Ok) else "unknown"
