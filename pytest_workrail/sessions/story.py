"""The story of a run in order: the nodes, and what led from one to the next.

A node is numbered by its place in the log, from 1. The number is how people and scenarios name it, because a run of the
same calls makes its nodes in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.base import UNSET
from pytest_workrail.engine.model.blockers import Blocker, GapRecordedData, Resolves
from pytest_workrail.engine.model.events import (
    HOST_KINDS,
    AdvanceRecorded,
    AssessmentConsequenceApplied,
    AssessmentRecorded,
    CapabilityObserved,
    ContextSet,
    DecisionTraceAppended,
    DivergenceData,
    DivergenceRecorded,
    EdgeCreated,
    GapRecorded,
    HostEvent,
    NodeCreated,
    NodeOutputAppended,
    NotesPayload,
    ObservationRecorded,
    PreferencesChanged,
    RunCompleted,
    RunEvent,
    RunStarted,
    SessionCreated,
    ValidationPerformed,
)
from pytest_workrail.engine.model.ids import NodeId, RunId
from pytest_workrail.engine.model.lenient import AnyEvent, UnknownEvent
from pytest_workrail.engine.model.snapshot import Block, BlockedState, ExecutionSnapshot, RetryableBlock
from pytest_workrail.engine.model.step_keys import TRUNCATION_MARKER, StepInstance
from pytest_workrail.engine.model.trace import TraceEntry
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, NodeKind, Preferences
from pytest_workrail.engine.projections.dag import Run
from pytest_workrail.engine.projections.session_facts import project_gaps
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.session_log import SessionLog, Snapshots, read_log, session_status
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.engine_defects import engine_defects

TRUNCATED = TRUNCATION_MARKER.strip()


class StoryNode(Struct):
    """A state of the run; its snapshot is read when somebody asks."""

    number: int
    node_id: NodeId
    kind: NodeKind
    parent: int | None
    at_ms: int
    index: int
    ref: str
    snapshots: Snapshots

    @property
    def snapshot(self) -> ExecutionSnapshot | None:
        """The state of the engine; None where it can't be read."""
        snapshot = self.snapshots.of(self.ref)
        return None if isinstance(snapshot, str) else snapshot

    @property
    def problem(self) -> str | None:
        """Why the snapshot can't be read."""
        snapshot = self.snapshots.of(self.ref)
        return snapshot if isinstance(snapshot, str) else None

    @property
    def pending(self) -> StepInstance | None:
        """The step that is pending here, in its loops."""
        return None if self.snapshot is None else self.snapshot.pending_step

    @property
    def step(self) -> str | None:
        """The step that is pending here."""
        return None if self.pending is None else self.pending.step_id

    @property
    def is_complete(self) -> bool:
        return self.snapshot is not None and self.snapshot.is_complete

    @property
    def block(self) -> Block | None:
        """The block of the pending step."""
        state = None if self.snapshot is None else self.snapshot.state
        return state.blocked if isinstance(state, BlockedState) else None

    @property
    def blockers(self) -> tuple[Blocker, ...]:
        return () if self.block is None else self.block.blockers.blockers


class Advance(Struct):
    """A step was submitted at a node; `target` is where that led, in whatever way."""

    source: int
    target: int
    attempt: str
    at_ms: int
    index: int
    notes: str | None = None
    artifacts: list[Any] = msgspec.field(default_factory=list)
    lost_artifacts: int = 0  # on record by their digest only
    context: dict[str, Any] | None = None  # what changed; null for what was removed
    full_context: dict[str, Any] | None = None
    is_fork: bool = False
    gaps: list[GapRecordedData] = msgspec.field(default_factory=list)
    issues: list[str] = msgspec.field(default_factory=list)
    assessments: list[AssessmentRecorded] = msgspec.field(default_factory=list)
    consequences: list[AssessmentConsequenceApplied] = msgspec.field(default_factory=list)
    traces: list[DecisionTraceAppended] = msgspec.field(default_factory=list)
    reports: list[CapabilityObserved | DivergenceRecorded] = msgspec.field(default_factory=list)

    @property
    def trace(self) -> list[TraceEntry]:
        """How the next step was chosen."""
        return [entry for event in self.traces for entry in event.data.entries]

    @property
    def divergences(self) -> list[DivergenceData]:
        """Where the agent says that it left the path, or answered for the user."""
        return [event.data for event in self.reports if isinstance(event, DivergenceRecorded)]

    @property
    def is_cut(self) -> bool:
        """Whether the log holds only the start of the notes."""
        return self.notes is not None and self.notes.endswith(TRUNCATED)


class Checkpoint(Struct, frozen=True):
    """A node was marked to come back to."""

    source: int
    target: int
    at_ms: int
    index: int


class PreferenceChange(Struct, frozen=True):
    """Somebody changed what the run may do, from a node on."""

    node: int
    effective: Preferences
    by: str
    at_ms: int
    index: int


class ContextChange(Struct, frozen=True):
    """The context changed without a step being submitted, as a host does when it resumes a session."""

    change: dict[str, Any]
    full_context: dict[str, Any]
    at_ms: int
    index: int


class Remark(Struct, frozen=True):
    """Something on record beside the calls: telemetry of a host, what a person added, or a kind not known here."""

    event: AnyEvent

    @property
    def kind(self) -> str:
        return self.event.kind

    @property
    def is_known(self) -> bool:
        return not isinstance(self.event, UnknownEvent)

    @property
    def data(self) -> Json:
        return data_of(self.event)

    @property
    def at_ms(self) -> int:
        return self.event.timestamp_ms

    @property
    def index(self) -> int:
        return int(self.event.event_index)

    @property
    def label(self) -> str:
        """Where it is from, in one word."""
        if not self.is_known:
            return "unknown"
        return "host" if self.kind in HOST_KINDS else "recorded"


Beat: TypeAlias = Advance | Checkpoint | PreferenceChange | ContextChange | Remark


class Story(Struct):
    """One run of a session. `damage` is what keeps the rest of the log from being read."""

    log: SessionLog
    run: Run
    number: int  # of the run in its session, from 1
    workflow_id: str
    workflow_hash: str
    started_ms: int
    trigger: str | None = None
    parent_session: str | None = None
    nodes: list[StoryNode] = msgspec.field(default_factory=list)
    beats: list[Beat] = msgspec.field(default_factory=list)
    initial_context: dict[str, Any] = msgspec.field(default_factory=dict)
    initial_preferences: Preferences = DEFAULT_PREFERENCES
    observations: dict[str, str] = msgspec.field(default_factory=dict)
    ended_ms: int = 0
    numbers: dict[NodeId, int] = msgspec.field(default_factory=dict)

    @property
    def session_id(self) -> str:
        return self.log.session_id

    @property
    def run_id(self) -> RunId:
        return self.run.run_id

    @property
    def damage(self) -> str | None:
        return self.log.damage

    def node(self, number: int) -> StoryNode:
        return self.nodes[number - 1]

    @property
    def advances(self) -> list[Advance]:
        return [beat for beat in self.beats if isinstance(beat, Advance)]

    @property
    def tips(self) -> list[int]:
        """The nodes that nothing follows."""
        return sorted(self.numbers[tip] for tip in self.run.tips)

    @property
    def preferred_tip(self) -> int | None:
        """Where work would most likely go on."""
        tip = self.run.preferred_tip
        return None if tip is None else self.numbers[tip]

    def path(self, number: int) -> list[int]:
        """The nodes from the first one to this one."""
        return [self.numbers[node_id] for node_id in self.run.lineage(self.node(number).node_id)]

    @property
    def gaps(self) -> list[GapRecordedData]:
        """The gaps that nothing has resolved."""
        gaps = project_gaps(self.log.log)
        return [
            gap.data
            for gap in gaps.of_run(self.run_id)
            if gap.data.gap_id not in gaps.resolved and gap.data.resolution.kind == "unresolved"
        ]

    @property
    def status(self) -> str:
        """How the run stands, in one word."""
        tip = None if self.preferred_tip is None else self.node(self.preferred_tip)
        return "unknown" if tip is None or tip.snapshot is None else session_status(self.log, self.run, tip.snapshot)


def data_of(event: AnyEvent) -> Json:
    """Return the data of an event as JSON, its members in the order of the file."""
    return _sorted(event.to_wire().get("data"))


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def stories(folder: DataFolder, session_id: str, log: SessionLog | None = None) -> list[Story]:
    """Return the runs of a session, in the order in which they were started."""
    log = read_log(folder, session_id) if log is None else log
    return _Reader(folder, log).read()


class _Reader:
    """Reads events into stories. The log has been checked: nothing in it contradicts what came before."""

    def __init__(self, folder: DataFolder, log: SessionLog) -> None:
        self._snapshots = Snapshots(folder)
        self._log = log
        self._stories: dict[RunId, Story] = {}
        self._open: dict[RunId, Advance] = {}  # the advance whose node is still to come
        self._attempts: dict[tuple[RunId, str], Advance] = {}
        self._contexts: dict[RunId, dict[str, Any]] = {}
        self._parent: str | None = None
        self._observations: dict[str, str] = {}
        self._loose: list[Remark] = []

    def read(self) -> list[Story]:
        for event in self._log.events:
            self._add(event)
        for advance in self._attempts.values():
            # In the log they are in the order of their digests; their names say in which order they were submitted.
            advance.artifacts = [content for _, content in sorted(advance.artifacts, key=lambda item: item[0])]
        for story in self._stories.values():
            story.parent_session, story.observations = self._parent, self._observations
            story.beats = sorted([*story.beats, *self._loose], key=lambda beat: beat.index)
        return list(self._stories.values())

    def _add(self, event: AnyEvent) -> None:
        match event:
            case UnknownEvent():
                story = self._stories.get(RunId(event.run_id or ""))
                (self._loose if story is None else story.beats).append(Remark(event))
            case SessionCreated():
                self._parent = event.data.parent_session_id
            case ObservationRecorded():
                self._observations[event.data.key] = event.data.value.value
            case HostEvent():
                self._loose.append(Remark(event))
            case RunStarted():
                self._start(event)
            case _:
                story = self._stories[event.scope.run_id]
                story.ended_ms = event.timestamp_ms
                self._add_to(story, event)

    def _start(self, event: RunStarted) -> None:
        run_id, data = event.scope.run_id, event.data
        self._stories[run_id] = Story(
            self._log,
            self._log.runs[run_id],
            len(self._stories) + 1,
            data.workflow_id,
            data.workflow_hash,
            event.timestamp_ms,
            data.trigger_source,
            ended_ms=event.timestamp_ms,
        )

    def _add_to(self, story: Story, event: RunEvent) -> None:
        advance = self._open.get(story.run_id)
        is_open = advance is not None and not advance.target  # what belongs to a submission comes before its node
        match event:
            case NodeCreated():
                self._node(story, event)
            case AdvanceRecorded(data=data):
                node = story.numbers[event.scope.node_id]
                begun = Advance(node, 0, data.attempt_id, event.timestamp_ms, event.event_index)
                story.beats.append(begun)
                self._open[story.run_id] = self._attempts[story.run_id, data.attempt_id] = begun
            case EdgeCreated():
                self._edge(story, event)
            case NodeOutputAppended():
                self._output(story, event)
            case ContextSet():
                self._context(story, event)
            case PreferencesChanged():
                self._preferences(story, event)
            case RunCompleted():
                pass
            case _:
                if advance is None or not is_open or not _attach(advance, event):
                    story.beats.append(Remark(event))

    def _node(self, story: Story, event: NodeCreated) -> None:
        data, number = event.data, len(story.nodes) + 1
        story.numbers[event.scope.node_id] = number
        story.nodes.append(
            StoryNode(
                number,
                event.scope.node_id,
                data.node_kind,
                None if data.parent_node_id is None else story.numbers[data.parent_node_id],
                event.timestamp_ms,
                event.event_index,
                data.snapshot_ref,
                self._snapshots,
            )
        )
        advance = self._open.get(story.run_id)
        if advance is not None and advance.target == 0:
            advance.target = number

    def _edge(self, story: Story, event: EdgeCreated) -> None:
        data = event.data
        source, target = story.numbers[data.from_node_id], story.numbers[data.to_node_id]
        if data.edge_kind == "checkpoint":
            story.beats.append(Checkpoint(source, target, event.timestamp_ms, event.event_index))
            return
        advance = self._open.get(story.run_id)
        if advance is None or advance.source != source or advance.target != target:
            # The call itself is on record in a form that is not known here; that it was made can be told.
            advance = Advance(source, target, "", event.timestamp_ms, event.event_index)
            story.beats.append(advance)
        advance.is_fork = data.cause.kind == "non_tip_advance"

    def _output(self, story: Story, event: NodeOutputAppended) -> None:
        name, payload = event.data.output_id, event.data.payload
        if isinstance(payload, NotesPayload):
            advance = self._attempts.get((story.run_id, name.removeprefix("out_recap_")))
            if advance is not None and name.startswith("out_recap_"):
                advance.notes = payload.notes_markdown
            return
        attempt, _, place = name.removeprefix("out_artifact_").rpartition("_")
        advance = self._attempts.get((story.run_id, attempt))
        if advance is None:
            return
        if payload.content is UNSET or not place.isdecimal() or len(place) > 6:
            advance.lost_artifacts += 1
            return
        advance.artifacts.append((int(place), payload.content))

    def _context(self, story: Story, event: ContextSet) -> None:
        before, after = self._contexts.get(story.run_id), event.data.context
        self._contexts[story.run_id] = after
        if before is None:
            story.initial_context = after
            return
        change = context_change(before, after)
        advance = self._open.get(story.run_id)
        if advance is not None and advance.target == 0:
            advance.context, advance.full_context = change, after
        elif change:
            story.beats.append(ContextChange(change, after, event.timestamp_ms, event.event_index))

    def _preferences(self, story: Story, event: PreferencesChanged) -> None:
        data = event.data
        is_begun = any(isinstance(beat, Advance) for beat in story.beats)
        if story.run_id not in self._contexts and not is_begun:  # what a run starts with comes before all else
            story.initial_preferences = data.preferences
            return
        node = story.numbers[event.scope.node_id]
        story.beats.append(PreferenceChange(node, data.preferences, data.source, event.timestamp_ms, event.event_index))


def _attach(advance: Advance, event: RunEvent) -> bool:
    """Add an event to the submission that it belongs to; return False for a kind that stands for itself."""
    match event:
        case GapRecorded():
            advance.gaps.append(event.data)
        case ValidationPerformed(data=data):
            advance.issues += data.result.issues
        case DecisionTraceAppended():
            advance.traces.append(event)
        case AssessmentRecorded():
            advance.assessments.append(event)
        case AssessmentConsequenceApplied():
            advance.consequences.append(event)
        case CapabilityObserved() | DivergenceRecorded():
            advance.reports.append(event)
        case _:
            return False
    return True


def context_change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what turns one context into another; null for what is gone. Numbers and booleans are told apart."""
    changed = {
        name: value for name, value in after.items() if name not in before or not js.deep_equal(before[name], value)
    }
    return changed | {name: None for name in before if name not in after}


FIRST_STEP, GENERATED_STEP = "KD-01", "KD-02"


class KnownDefect(Struct, frozen=True):
    """A defect, and the step at which it shows."""

    id: str
    step: str | None
    engine: str  # what the engine does then

    def __str__(self) -> str:
        at = f" at step {self.step}" if self.step else ""
        return f"known defect of the engine {self.id}{at}: {self.engine}"

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "step": self.step, "engine": self.engine}


def known_defect(ident: str, step: str | None) -> KnownDefect:
    """A defect from the list of the known ones."""
    return KnownDefect(ident, step, engine_defects()[ident].engine)


def defects_of(folder: DataFolder, story: Story) -> tuple[KnownDefect, ...]:
    """Where a run came to a step that the engine generated: it has not pinned it, and fails when it is to show it."""
    pin = folder.pinned_workflow(story.workflow_hash)
    definition = None if isinstance(pin, Err) else pin.value.get("definition")
    if not isinstance(definition, dict):  # not the public engine's, or not there
        return ()
    pinned = set(_ids(definition.get("steps")))
    met = dict.fromkeys(node.step for node in story.nodes if node.step is not None and node.step not in pinned)
    return tuple(known_defect(GENERATED_STEP, step) for step in met)


def _ids(steps: Any) -> list[str]:
    ids: list[str] = []
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            ids += [str(step.get("id")), *_ids(step.get("body"))]
    return ids


def story_json(
    story: Story, prompts: dict[int, dict[str, Any]] | None = None, defects: Iterable[KnownDefect] = ()
) -> dict[str, Any]:
    """One run. `prompts` is what the agent read at the nodes."""
    tip = story.preferred_tip
    return {
        "session": story.session_id,
        "run": story.run_id,
        "workflowId": story.workflow_id,
        "workflowHash": story.workflow_hash,
        "status": "damaged" if story.damage else story.status,
        "damage": story.damage,
        "trigger": story.trigger,
        "parentSession": story.parent_session,
        "startedMs": story.started_ms,
        "endedMs": story.ended_ms,
        "goal": story.initial_context.get("goal"),
        "context": story.initial_context,
        "preferences": story.initial_preferences.to_wire(),
        "observations": story.observations,
        "nodes": [_node(node, (prompts or {}).get(node.number)) for node in story.nodes],
        "beats": [_beat(story, beat) for beat in story.beats],
        "tips": story.tips,
        "preferredPath": [] if tip is None else story.path(tip),
        "gaps": [gap_json(gap) for gap in story.gaps],
        "divergences": [
            {"node": advance.source, "step": story.node(advance.source).step, **data.to_wire()}
            for advance in story.advances
            for data in advance.divergences
        ],
        "engineDefects": [defect.to_json() for defect in defects],
    }


def _node(node: StoryNode, prompt: dict[str, Any] | None) -> dict[str, Any]:
    pending, block = node.pending, node.block
    members: dict[str, Any] = {
        "node": node.number,
        "id": node.node_id,
        "kind": node.kind,
        "parent": node.parent,
        "atMs": node.at_ms,
        "step": node.step,
        "complete": node.is_complete,
    }
    if node.problem is not None:
        members["problem"] = node.problem
    if pending is not None and pending.loop_path:
        members["loops"] = [{"loop": at.loop_id, "iteration": at.iteration} for at in pending.loop_path]
    if block is not None:
        members["blockers"] = [{"code": each.code, "message": each.message} for each in node.blockers]
        members["retryable"] = isinstance(block, RetryableBlock)
    if node.snapshot is not None and node.snapshot.gate is not None:
        members["gate"] = node.snapshot.gate.gate_kind
    return members if prompt is None else {**members, "asked": prompt}


def outcome(story: Story, advance: Advance) -> str:
    """Return the outcome of a submission, in one word."""
    if not advance.target:
        return "unfinished"
    node = story.node(advance.target)
    if node.kind == "blocked_attempt":
        return "blocked"
    if node.kind == "gate_checkpoint":
        return "gate"
    return "complete" if node.is_complete else "accepted"


def _beat(story: Story, beat: Beat) -> dict[str, Any]:
    when = {"event": beat.index, "atMs": beat.at_ms}
    match beat:
        case Advance():
            return {"kind": "advance", **when, **_advance(story, beat)}
        case Checkpoint(source=source, target=target):
            return {"kind": "checkpoint", **when, "from": source, "to": target}
        case PreferenceChange(node=node, effective=effective, by=by):
            return {"kind": "preferences", **when, "node": node, "effective": effective.to_wire(), "by": by}
        case ContextChange(change=change):
            return {"kind": "context", **when, "change": change}
        case Remark():
            return {"kind": beat.label, **when, "event_kind": beat.kind, "data": beat.data}


def _advance(story: Story, beat: Advance) -> dict[str, Any]:
    members: dict[str, Any] = {
        "from": beat.source,
        "to": beat.target or None,
        "step": story.node(beat.source).step,
        "outcome": outcome(story, beat),
        "fork": beat.is_fork,
        "notes": beat.notes,
        "artifacts": beat.artifacts,
    }
    if beat.is_cut:
        members["notesCut"] = True
    if beat.context is not None:
        members["context"] = beat.context
    if beat.issues:
        members["issues"] = beat.issues
    if beat.gaps:
        members["gaps"] = [gap_json(gap) for gap in beat.gaps]
    lists: dict[str, list[Any]] = {
        "assessments": [data_of(event) for event in beat.assessments],
        "consequences": [data_of(event) for event in beat.consequences],
        "reports": [{"kind": event.kind, **_members(event)} for event in beat.reports],
        "trace": [entry for event in beat.traces for entry in _members(event)["entries"]],
    }
    return members | {name: values for name, values in lists.items() if values}


def _members(event: AnyEvent) -> dict[str, Any]:
    data = data_of(event)
    return data if isinstance(data, dict) else {}


def gap_json(gap: GapRecordedData) -> dict[str, Any]:
    members = {"severity": gap.severity, "reason": gap.reason.detail, "summary": gap.summary}
    return {**members, "resolves": gap.resolution.resolves_gap_id} if isinstance(gap.resolution, Resolves) else members
