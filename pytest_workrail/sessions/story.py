"""What happened in a run, in the order in which it happened: the nodes, and what led from one to the next.

A node is numbered by its place in the log, from 1. The number is how people and scenarios name it, because a run of the
same calls makes its nodes in the same order.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

from pytest_workrail.records import Record
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.log_shapes import HOST_KINDS, NEVER_STOPS, STOPPING_CATEGORIES, is_known
from pytest_workrail.sessions.node_state import NodeState, StateReader
from pytest_workrail.sessions.session_log import SessionLog, read_log

TRUNCATED = "[TRUNCATED]"
DEFAULT_PREFERENCES = {"autonomy": "guided", "riskPolicy": "conservative"}


class StoryNode(Record, frozen=False):
    """A state of the run; its snapshot is read when somebody asks."""

    number: int
    node_id: str
    kind: str
    parent: int | None
    at_ms: int
    index: int
    ref: str
    states: StateReader

    @property
    def state(self) -> NodeState | None:
        """What the snapshot says; None where it can't be read."""
        found = self.states.of(self.ref)
        return None if isinstance(found, str) else found

    @property
    def problem(self) -> str | None:
        """Why the snapshot can't be read."""
        found = self.states.of(self.ref)
        return found if isinstance(found, str) else None

    @property
    def step(self) -> str | None:
        """The step that is pending here."""
        return None if self.state is None else self.state.step

    @property
    def is_complete(self) -> bool:
        return self.state is not None and self.state.kind == "complete"


class Advance(Record, frozen=False):
    """A step was submitted at a node; `target` is where that led, in whatever way."""

    source: int
    target: int
    attempt: str
    at_ms: int
    index: int
    notes: str | None = None
    artifacts: list[Any] = field(default_factory=list)
    lost_artifacts: int = 0  # on record by their digest only
    context: dict[str, Any] | None = None  # what changed; null for what was removed
    full_context: dict[str, Any] | None = None
    is_fork: bool = False
    gaps: list[dict[str, Any]] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    contract: str | None = None
    assessments: list[dict[str, Any]] = field(default_factory=list)
    consequences: list[dict[str, Any]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)  # capabilities and divergence

    @property
    def is_cut(self) -> bool:
        """Whether the log holds only the start of the notes."""
        return self.notes is not None and self.notes.endswith(TRUNCATED)


class Checkpoint(Record):
    """A node was marked to come back to."""

    source: int
    target: int
    at_ms: int
    index: int


class PreferenceChange(Record):
    """Somebody changed what the run may do, from a node on."""

    node: int
    effective: dict[str, str]
    by: str
    at_ms: int
    index: int


class ContextChange(Record):
    """The context changed without a step being submitted, as a host does when it resumes a session."""

    change: dict[str, Any]
    at_ms: int
    index: int


class Remark(Record):
    """Something on record beside the calls: telemetry of a host, what a person added, or a kind not known here."""

    kind: str
    is_known: bool
    data: Any
    at_ms: int
    index: int

    @property
    def label(self) -> str:
        """Where it is from, in one word."""
        if not self.is_known:
            return "unknown"
        return "host" if self.kind in HOST_KINDS else "recorded"


Beat: TypeAlias = Advance | Checkpoint | PreferenceChange | ContextChange | Remark


class Story(Record, frozen=False):
    """One run of a session. `damage` is what keeps the rest of the log from being read."""

    session_id: str
    number: int  # of the run in its session, from 1
    run_id: str
    workflow_id: str
    workflow_hash: str
    started_ms: int
    trigger: str | None = None
    parent_session: str | None = None
    nodes: list[StoryNode] = field(default_factory=list)
    beats: list[Beat] = field(default_factory=list)
    initial_context: dict[str, Any] = field(default_factory=dict)
    initial_preferences: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_PREFERENCES))
    own_gaps: list[dict[str, Any]] = field(
        default_factory=list
    )  # those that no submission left: the start did, or a person
    observations: dict[str, str] = field(default_factory=dict)
    damage: str | None = None
    ended_ms: int = 0
    activity: dict[int, int] = field(default_factory=dict)  # the last event that concerns a node

    def node(self, number: int) -> StoryNode:
        return self.nodes[number - 1]

    @property
    def advances(self) -> list[Advance]:
        return [beat for beat in self.beats if isinstance(beat, Advance)]

    @property
    def tips(self) -> list[int]:
        """The nodes that nothing follows."""
        parents = {node.parent for node in self.nodes}
        return [node.number for node in self.nodes if node.number not in parents]

    @property
    def preferred_tip(self) -> int | None:
        """Where work would most likely go on: where something happened last, on the way there or at the tip itself."""
        latest = [0]
        for node in self.nodes:
            latest.append(max(self.activity.get(node.number, 0), latest[node.parent or 0]))
        return max(self.tips, key=lambda tip: (latest[tip], tip), default=None)

    def path(self, number: int) -> list[int]:
        """The nodes from the first one to this one."""
        found: list[int] = []
        current: int | None = number
        while current is not None:
            found.append(current)
            current = self.node(current).parent
        return found[::-1]

    def preferences_at(self, number: int) -> dict[str, str]:
        """What the run may do at a node."""
        on_path = set(self.path(number))
        effective = self.initial_preferences
        for beat in self.beats:
            if isinstance(beat, PreferenceChange) and beat.node in on_path:
                effective = beat.effective
        return effective

    @property
    def gaps(self) -> list[dict[str, Any]]:
        """The gaps that nothing has resolved."""
        all_gaps = [*self.own_gaps, *(gap for beat in self.advances for gap in beat.gaps)]
        resolved = {gap["resolution"].get("resolvesGapId") for gap in all_gaps}
        return [gap for gap in all_gaps if gap["gapId"] not in resolved and "resolvesGapId" not in gap["resolution"]]

    @property
    def status(self) -> str:
        """How the run stands, in one word."""
        tip = None if self.preferred_tip is None else self.node(self.preferred_tip)
        if tip is None or tip.state is None:
            return "unknown"
        if tip.state.kind == "complete":
            return "complete_with_gaps" if any(gap["severity"] == "critical" for gap in self.gaps) else "complete"
        if tip.kind == "gate_checkpoint":
            return "gate"
        if tip.kind == "blocked_attempt" or any(map(is_stopping, self.gaps)):
            return "in_progress" if self.preferences_at(tip.number)["autonomy"] == NEVER_STOPS else "blocked"
        return "in_progress"


def is_stopping(gap: dict[str, Any]) -> bool:
    """Whether a gap keeps a run from going on, unless it never stops."""
    return gap["severity"] == "critical" and gap["reason"]["category"] in STOPPING_CATEGORIES


def stories(folder: DataFolder, session_id: str, log: SessionLog | None = None) -> list[Story]:
    """The runs of a session, in the order in which they were started."""
    log = read_log(folder, session_id) if log is None else log
    return _Teller(folder, log).tell()


class _Teller:
    """Reads events into stories. What contradicts itself ends the story there, as damage."""

    def __init__(self, folder: DataFolder, log: SessionLog) -> None:
        self._states = StateReader(folder)
        self._log = log
        self._runs: dict[str, Story] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._open: dict[str, Advance] = {}  # the advance whose node is still to come
        self._attempts: dict[tuple[str, str], Advance] = {}
        self._contexts: dict[str, dict[str, Any]] = {}
        self._parent: str | None = None
        self._observations: dict[str, str] = {}
        self._loose: list[Remark] = []

    def tell(self) -> list[Story]:
        damage = self._log.damage
        for event in self._log.events:
            problem = self._take(event)
            if problem is not None:
                damage = f"event {event['eventIndex']}: {problem}"
                break
        for advance in self._attempts.values():
            # In the log they are in the order of their digests; their names say in which order they were submitted.
            advance.artifacts = [content for _, content in sorted(advance.artifacts, key=lambda item: item[0])]
        for story in self._runs.values():
            story.damage, story.parent_session, story.observations = damage, self._parent, self._observations
            story.beats = sorted([*story.beats, *self._loose], key=lambda beat: beat.index)
        return list(self._runs.values())

    def _take(self, event: dict[str, Any]) -> str | None:
        if not is_known(event):
            scope = event.get("scope")
            run_id = scope.get("runId") if isinstance(scope, dict) else None
            self._remark(event, False, self._runs.get(run_id) if isinstance(run_id, str) else None)
            return None
        kind, data = event["kind"], event["data"]
        if kind == "session_created":
            parent = data.get("parentSessionId")
            self._parent = parent if isinstance(parent, str) else None
            return None
        if kind == "observation_recorded":
            self._observations[data["key"]] = str(data["value"].get("value", ""))
            return None
        if kind in HOST_KINDS:
            self._remark(event, True)
            return None
        if kind == "run_started":
            return self._start(event)
        run_id = event["scope"]["runId"]
        story = self._runs.get(run_id)
        if story is None:
            return f"{kind} is about a run that was never started"
        story.ended_ms = event["timestampMs"]
        numbers = self._numbers[run_id]
        node_id = event["scope"].get("nodeId")
        if kind == "node_created":
            return self._node(story, event)
        if node_id is not None and node_id not in numbers:
            return f"{kind} is about a node that does not exist"
        if node_id is not None:
            story.activity[numbers[node_id]] = event["eventIndex"]
        return self._happen(story, event, kind, data, 0 if node_id is None else numbers[node_id])

    def _remark(self, event: dict[str, Any], known: bool, story: Story | None = None) -> None:
        at = event.get("timestampMs")
        kind = event.get("kind")
        if not known and event.get("v") != 1:
            kind = f"{kind} (version {event.get('v')})"
        remark = Remark(str(kind), known, event.get("data"), at if isinstance(at, int) else 0, event["eventIndex"])
        if story is None:
            self._loose.append(remark)
        else:
            story.beats.append(remark)

    def _start(self, event: dict[str, Any]) -> str | None:
        run_id, data = event["scope"]["runId"], event["data"]
        if run_id in self._runs:
            return "the run was started before"
        trigger = data.get("triggerSource")
        self._runs[run_id] = Story(
            self._log.session_id,
            len(self._runs) + 1,
            run_id,
            data["workflowId"],
            data["workflowHash"],
            event["timestampMs"],
            trigger if isinstance(trigger, str) else None,
            ended_ms=event["timestampMs"],
        )
        self._numbers[run_id] = {}
        return None

    def _node(self, story: Story, event: dict[str, Any]) -> str | None:
        numbers, data = self._numbers[story.run_id], event["data"]
        node_id, parent = event["scope"]["nodeId"], data["parentNodeId"]
        if node_id in numbers:
            return "the node exists already"
        if parent is not None and parent not in numbers:
            return "the node follows one that does not exist"
        if parent is None and story.nodes:
            return "the run has two first nodes"
        number = len(story.nodes) + 1
        numbers[node_id] = number
        story.activity[number] = event["eventIndex"]
        story.nodes.append(
            StoryNode(
                number,
                node_id,
                data["nodeKind"],
                None if parent is None else numbers[parent],
                event["timestampMs"],
                event["eventIndex"],
                data["snapshotRef"],
                self._states,
            )
        )
        advance = self._open.get(story.run_id)
        if advance is not None and advance.target == 0:
            advance.target = number
        return None

    def _happen(self, story: Story, event: dict[str, Any], kind: str, data: dict[str, Any], node: int) -> str | None:
        advance = self._open.get(story.run_id)
        match kind:
            case "advance_recorded":
                if data["outcome"]["kind"] != "advanced":
                    return "the advance is in a form that is no longer used"
                begun = Advance(node, 0, data["attemptId"], event["timestampMs"], event["eventIndex"])
                story.beats.append(begun)
                self._open[story.run_id] = self._attempts[story.run_id, data["attemptId"]] = begun
            case "edge_created":
                return self._edge(story, event)
            case "node_output_appended":
                self._output(story, data)
            case "context_set":
                self._context(story, event)
            case "preferences_changed":
                self._preferences(story, event, node)
            case "run_completed":
                pass
            case _ if advance is None or advance.target:  # what belongs to a submission comes before its node
                if kind == "gap_recorded":
                    story.own_gaps.append(data)
                self._remark(event, True, story)
            case "gap_recorded":
                advance.gaps.append(data)
            case "validation_performed":
                advance.issues += data["result"]["issues"]
                advance.contract = data["contractRef"]
            case "decision_trace_appended":
                advance.trace += data["entries"]
            case "assessment_recorded":
                advance.assessments.append(data)
            case "assessment_consequence_applied":
                advance.consequences.append(data)
            case _:
                advance.reports.append({"kind": kind, **data})
        return None

    def _edge(self, story: Story, event: dict[str, Any]) -> str | None:
        numbers, data = self._numbers[story.run_id], event["data"]
        source, target = numbers.get(data["fromNodeId"]), numbers.get(data["toNodeId"])
        if source is None or target is None or story.node(target).parent != source:
            return "the edge does not lead from a node to one that follows it"
        story.activity[source] = story.activity[target] = event["eventIndex"]
        if data["edgeKind"] == "checkpoint":
            story.beats.append(Checkpoint(source, target, event["timestampMs"], event["eventIndex"]))
            return None
        advance = self._open.get(story.run_id)
        if advance is None or advance.source != source or advance.target != target:
            # The call itself is on record in a form that is not known here; that it was made can be told.
            advance = Advance(source, target, "", event["timestampMs"], event["eventIndex"])
            story.beats.append(advance)
        advance.is_fork = data["cause"]["kind"] == "non_tip_advance"
        return None

    def _output(self, story: Story, data: dict[str, Any]) -> None:
        name, payload = data["outputId"], data["payload"]
        if name.startswith("out_recap_"):
            advance = self._attempts.get((story.run_id, name.removeprefix("out_recap_")))
            if advance is not None and payload["payloadKind"] == "notes":
                advance.notes = payload["notesMarkdown"]
            return
        attempt, _, place = name.removeprefix("out_artifact_").rpartition("_")
        advance = self._attempts.get((story.run_id, attempt))
        if advance is None:
            return
        if "content" not in payload or not place.isdecimal() or len(place) > 6:
            advance.lost_artifacts += 1
            return
        advance.artifacts.append((int(place), payload["content"]))

    def _context(self, story: Story, event: dict[str, Any]) -> None:
        data = event["data"]
        before = self._contexts.get(story.run_id)
        self._contexts[story.run_id] = data["context"]
        if before is None:
            story.initial_context = data["context"]
            return
        change = context_change(before, data["context"])
        advance = self._open.get(story.run_id)
        if advance is not None and advance.target == 0:
            advance.context, advance.full_context = change, data["context"]
        elif change:
            story.beats.append(ContextChange(change, event["timestampMs"], event["eventIndex"]))

    def _preferences(self, story: Story, event: dict[str, Any], node: int) -> None:
        data = event["data"]
        is_begun = any(isinstance(beat, Advance) for beat in story.beats)
        if story.run_id not in self._contexts and not is_begun:  # what a run starts with comes before all else
            story.initial_preferences = data["effective"]
            return
        story.beats.append(
            PreferenceChange(node, data["effective"], data["source"], event["timestampMs"], event["eventIndex"])
        )


def context_change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What turns one context into another; null for what is gone. Numbers and booleans are told apart."""
    changed = {name: value for name, value in after.items() if name not in before or not _same(before[name], value)}
    return changed | {name: None for name in before if name not in after}


def _same(one: Any, other: Any) -> bool:
    from workrail_lint.base import js

    return js.deep_equal(one, other)
