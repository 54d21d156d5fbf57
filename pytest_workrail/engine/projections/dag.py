"""The run DAG: nodes, edges, tips, and the tip that work would most likely go on from."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_workrail.engine.core.vocabulary import EdgeCauseKind, EdgeKind, NodeKind
from pytest_workrail.engine.events.ids import NodeId, RunId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.events.kinds import EdgeCreated, Event, NodeCreated, RunStarted
from pytest_workrail.engine.events.payloads import RunStartedData
from pytest_workrail.engine.projections.errors import ProjectionError, corruption, out_of_order
from pytest_workrail.engine.projections.incremental import IncrementalProjection
from workrail_lint.base.result import Err, Ok


@dataclass(frozen=True, slots=True)
class Node:
    """A state of a run that can be looked at and continued from."""

    node_id: NodeId
    kind: NodeKind
    parent: NodeId | None
    workflow_hash: WorkflowHash
    snapshot_ref: SnapshotRef
    created_index: int


@dataclass(frozen=True, slots=True)
class Edge:
    """How one node follows from another."""

    kind: EdgeKind
    source: NodeId
    target: NodeId
    cause: EdgeCauseKind
    created_index: int


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what it runs, its nodes in order of creation, its edges, its tips."""

    run_id: RunId
    started: RunStartedData | None
    nodes: dict[NodeId, Node]
    edges: tuple[Edge, ...]
    tips: tuple[NodeId, ...]
    preferred_tip: NodeId | None

    def lineage(self, node: NodeId) -> tuple[NodeId, ...]:
        """The path from the root to a node, both included."""
        path: list[NodeId] = []
        current: NodeId | None = node
        while current is not None:
            path.append(current)
            current = self.nodes[current].parent
        return tuple(reversed(path))

    def children(self, node: NodeId) -> tuple[NodeId, ...]:
        """The nodes that follow directly, in order of creation."""
        return tuple(edge.target for edge in self.edges if edge.source == node)

    def is_tip(self, node: NodeId) -> bool:
        """True for a node that nothing follows."""
        return node in self.tips

    def advance_cause(self, node: NodeId) -> EdgeCauseKind:
        """The cause an advance from a node is recorded with."""
        return "intentional_fork" if self.is_tip(node) else "non_tip_advance"

    def blocked_chain(self, node: NodeId) -> int:
        """How many blocked attempts stand in a row, from a node upwards."""
        depth = 0
        for current in reversed(self.lineage(node)):
            if self.nodes[current].kind != "blocked_attempt":
                break
            depth += 1
        return depth


@dataclass(slots=True)
class _Draft:
    """A run while its events are read. `latest` is the newest activity anywhere in it."""

    started: RunStartedData | None = None
    nodes: dict[NodeId, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    tips: set[NodeId] = field(default_factory=set)
    activity: dict[NodeId, int] = field(default_factory=dict)
    latest: int = -1

    def copy(self) -> _Draft:
        """A draft to read on with, while this one stays as it is."""
        return _Draft(
            self.started, dict(self.nodes), list(self.edges), set(self.tips), dict(self.activity), self.latest
        )

    def touch(self, node: NodeId, event_index: int) -> None:
        """Something happened at a node."""
        self.activity[node] = self.latest = event_index


@dataclass(frozen=True, slots=True)
class _Drafts:
    """Every run of a log, as drafts to read on from and as the runs they are."""

    last_index: int = -1
    drafts: dict[RunId, _Draft] = field(default_factory=dict)
    runs: dict[RunId, Run] = field(default_factory=dict)


def project_dag(events: tuple[Event, ...]) -> Ok[dict[RunId, Run]] | Err[ProjectionError]:
    """Every run of a session, by id."""
    read = _readings.of(events)
    return read if isinstance(read, Err) else Ok(read.value.runs)


def _extend(begun: _Drafts, events: tuple[Event, ...]) -> Ok[_Drafts] | Err[ProjectionError]:
    problem = out_of_order(events, begun.last_index)
    if problem is not None:
        return Err(problem)
    grown: dict[RunId, _Draft] = {}
    for event in events:
        scope = event.scope
        if scope is None or scope.run_id is None:
            continue
        draft = grown.get(scope.run_id)
        if draft is None:
            known = begun.drafts.get(scope.run_id)
            draft = grown[scope.run_id] = _Draft() if known is None else known.copy()
        if isinstance(event, RunStarted):
            problem = _start(draft, event)
        elif isinstance(event, NodeCreated):
            problem = _add_node(draft, event)
        elif isinstance(event, EdgeCreated):
            problem = _add_edge(draft, event)
        if problem is not None:
            return Err(problem)
        if scope.node_id is not None:
            draft.touch(scope.node_id, event.event_index)
    finished = {run_id: _finished(run_id, draft) for run_id, draft in grown.items()}
    last = events[-1].event_index if events else begun.last_index
    return Ok(_Drafts(last, begun.drafts | grown, begun.runs | finished))


_readings: IncrementalProjection[_Drafts] = IncrementalProjection(_Drafts(), _extend)


def _start(draft: _Draft, event: RunStarted) -> ProjectionError | None:
    if draft.started is not None and draft.started.workflow_hash != event.data.workflow_hash:
        return corruption(f"run {event.scope.run_id} is started with two workflows")
    draft.started = draft.started or event.data
    return None


def _add_node(draft: _Draft, event: NodeCreated) -> ProjectionError | None:
    data, node_id = event.data, event.scope.node_id
    node = Node(node_id, data.node_kind, data.parent_node_id, data.workflow_hash, data.snapshot_ref, event.event_index)
    known = draft.nodes.get(node_id)
    if known is not None:
        same = (known.kind, known.parent, known.workflow_hash, known.snapshot_ref)
        if same != (node.kind, node.parent, node.workflow_hash, node.snapshot_ref):
            return corruption(f"node {node_id} is created twice, differently")
        return None
    if node.parent is not None and node.parent not in draft.nodes:
        return corruption(f"the parent of node {node_id} is unknown")
    draft.nodes[node_id] = node
    draft.tips.add(node_id)
    return None


def _add_edge(draft: _Draft, event: EdgeCreated) -> ProjectionError | None:
    data = event.data
    for node_id in (data.from_node_id, data.to_node_id):
        if node_id not in draft.nodes:
            return corruption(f"an edge names node {node_id}, which is unknown")
    if draft.nodes[data.to_node_id].parent != data.from_node_id:
        return corruption(f"an edge leads to node {data.to_node_id} from a node that is not its parent")
    draft.edges.append(Edge(data.edge_kind, data.from_node_id, data.to_node_id, data.cause.kind, event.event_index))
    draft.tips.discard(data.from_node_id)
    for node_id in (data.from_node_id, data.to_node_id):
        draft.touch(node_id, event.event_index)
    return None


def _finished(run_id: RunId, draft: _Draft) -> Run:
    tips = tuple(sorted(draft.tips))
    return Run(run_id, draft.started, draft.nodes, tuple(draft.edges), tips, _preferred(draft, tips))


def _preferred(draft: _Draft, tips: tuple[NodeId, ...]) -> NodeId | None:
    """The tip with the latest activity on its path. Indexes decide, never times."""
    scores: dict[NodeId, int] = {}
    # `min` keeps the first of equals, and the tips are sorted: the smaller id wins.
    return min(tips, key=lambda tip: (-_score(draft, tip, scores), -draft.nodes[tip].created_index), default=None)


def _score(draft: _Draft, tip: NodeId, scores: dict[NodeId, int]) -> int:
    """The newest activity from a tip up to the root; `scores` holds what is known of whole paths."""
    path: list[NodeId] = []
    current: NodeId | None = tip
    while current is not None and current not in scores:
        own = draft.activity[current]
        if own == draft.latest:
            # Nothing on the rest of the path can be newer, and nearly always this is where work goes on.
            return own
        path.append(current)
        current = draft.nodes[current].parent
    best = -1 if current is None else scores[current]
    for node_id in reversed(path):
        scores[node_id] = best = max(best, draft.activity[node_id])
    return best
