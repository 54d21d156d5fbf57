"""The run DAG: nodes, edges, tips, and the tip that work would most likely go on from."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_workrail.events.ids import NodeId, RunId, SnapshotRef, WorkflowHash
from pytest_workrail.events.kinds import EdgeCreated, Event, NodeCreated, RunStarted
from pytest_workrail.events.payloads import RunStartedData
from pytest_workrail.events.vocabulary import EdgeCauseKind, EdgeKind, NodeKind
from pytest_workrail.projections.errors import ProjectionError, corruption, out_of_order
from workrail_lint.result import Err, Ok


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
    """A run while its events are read."""

    started: RunStartedData | None = None
    nodes: dict[NodeId, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    activity: dict[NodeId, int] = field(default_factory=dict)


def project_dag(events: tuple[Event, ...]) -> Ok[dict[RunId, Run]] | Err[ProjectionError]:
    """Every run of a session, by id."""
    problem = out_of_order(events)
    if problem is not None:
        return Err(problem)
    drafts: dict[RunId, _Draft] = {}
    for event in events:
        scope = event.scope
        if scope is None or scope.run_id is None:
            continue
        draft = drafts.setdefault(scope.run_id, _Draft())
        if isinstance(event, RunStarted):
            problem = _start(draft, event)
        elif isinstance(event, NodeCreated):
            problem = _add_node(draft, event)
        elif isinstance(event, EdgeCreated):
            problem = _add_edge(draft, event)
        if problem is not None:
            return Err(problem)
        if scope.node_id is not None:
            draft.activity[scope.node_id] = event.event_index
    return Ok({run_id: _finished(run_id, draft) for run_id, draft in drafts.items()})


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
    return None


def _add_edge(draft: _Draft, event: EdgeCreated) -> ProjectionError | None:
    data = event.data
    for node_id in (data.from_node_id, data.to_node_id):
        if node_id not in draft.nodes:
            return corruption(f"an edge names node {node_id}, which is unknown")
    if draft.nodes[data.to_node_id].parent != data.from_node_id:
        return corruption(f"an edge leads to node {data.to_node_id} from a node that is not its parent")
    draft.edges.append(Edge(data.edge_kind, data.from_node_id, data.to_node_id, data.cause.kind, event.event_index))
    for node_id in (data.from_node_id, data.to_node_id):
        draft.activity[node_id] = event.event_index
    return None


def _finished(run_id: RunId, draft: _Draft) -> Run:
    sources = {edge.source for edge in draft.edges}
    tips = tuple(sorted(node_id for node_id in draft.nodes if node_id not in sources))
    return Run(run_id, draft.started, draft.nodes, tuple(draft.edges), tips, _preferred(draft, tips))


def _preferred(draft: _Draft, tips: tuple[NodeId, ...]) -> NodeId | None:
    """The tip with the latest activity on its path. Indexes decide, never times."""
    score: dict[NodeId, int] = {}
    # Parents come first, so that the score of a path is the score of its end.
    for node_id, node in draft.nodes.items():
        own = max(node.created_index, draft.activity.get(node_id, 0))
        score[node_id] = own if node.parent is None else max(own, score[node.parent])
    # `min` keeps the first of equals, and the tips are sorted: the smaller id wins.
    return min(tips, key=lambda tip: (-score[tip], -draft.nodes[tip].created_index), default=None)
