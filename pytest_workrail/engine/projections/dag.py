"""The run DAG: nodes, edges, tips, and the tip that work would most likely go on from."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.events import EdgeCreated, Log, NodeCreated, RunStarted, RunStartedData
from pytest_workrail.engine.model.ids import NodeId, RunId, SnapshotRef, WorkflowHash
from pytest_workrail.engine.model.words import EdgeCauseKind, EdgeKind, NodeKind
from pytest_workrail.engine.projections.incremental import (
    Grown,
    IncrementalProjection,
    ProjectionError,
    Structure,
    corruption,
    out_of_order,
)
from workrail_lint.base.result import Err, Ok


class Node(Struct, frozen=True):
    """A state of a run that can be looked at and continued from."""

    node_id: NodeId
    kind: NodeKind
    parent: NodeId | None
    workflow_hash: WorkflowHash
    snapshot_ref: SnapshotRef
    created_index: int


class Edge(Struct, frozen=True):
    """How one node follows from another."""

    kind: EdgeKind
    source: NodeId
    target: NodeId
    cause: EdgeCauseKind
    created_index: int


class Nodes(Mapping[NodeId, Node]):
    """The nodes of a run by id, in order of creation; part of a mapping that grows with the run."""

    __slots__ = ("_known", "_last", "_order")

    def __init__(self, known: dict[NodeId, Node], order: list[Node]) -> None:
        self._known = known
        self._order = Grown(order, len(order))
        self._last = order[-1].created_index if order else -1

    def get(self, key: NodeId, default: Node | None = None) -> Node | None:  # type: ignore[override]  # the default is a node or none
        node = self._known.get(key)
        return default if node is None or node.created_index > self._last else node

    def __getitem__(self, key: NodeId) -> Node:
        node = self._known[key]
        if node.created_index > self._last:
            raise KeyError(key)
        return node

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None  # type: ignore[arg-type]  # what is no id is not found

    def __iter__(self) -> Iterator[NodeId]:
        return (node.node_id for node in self._order)

    def __len__(self) -> int:
        return len(self._order)


class _Paths:
    """Cached results of walks up from a node. Shared by the runs of logs that grew out of each other."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, dict[NodeId, NodeId | None]]] = {}

    def nearest(self, topic: str, marks: int) -> dict[NodeId, NodeId | None]:
        """The answers about a topic as long as there are no more marks; a new mark may change any of them."""
        known = self._found.get(topic)
        if known is None or known[0] != marks:
            known = self._found[topic] = (marks, {})
        return known[1]

    def __eq__(self, other: object) -> bool:
        """Return True: what was asked so far does not tell two runs apart."""
        return isinstance(other, _Paths)


class Run(Struct, frozen=True):
    """One run: what it runs, its nodes in order of creation, its edges, its tips."""

    run_id: RunId
    started: RunStartedData | None
    nodes: Mapping[NodeId, Node]
    edges: Sequence[Edge]
    tips: tuple[NodeId, ...]
    preferred_tip: NodeId | None
    _paths: _Paths

    def lineage(self, node: NodeId) -> tuple[NodeId, ...]:
        """The path from the root to a node, both included."""
        return tuple(self.upwards(node))[::-1]

    def upwards(self, node: NodeId) -> Iterator[NodeId]:
        """The path from a node to the root, both included."""
        current: NodeId | None = node
        while current is not None:
            yield current
            current = self.nodes[current].parent

    def nearest(self, node: NodeId, marked: Mapping[NodeId, object], topic: str) -> NodeId | None:
        """The first node on the way up from a node, itself included, that is marked; None when none is.

        Marks are only ever added. `topic` says what they are about: what is found is remembered.
        """
        known = self._paths.nearest(topic, len(marked))
        path: list[NodeId] = []
        ancestor: NodeId | None = node
        while ancestor is not None and ancestor not in marked:
            if ancestor in known:
                ancestor = known[ancestor]
                break
            path.append(ancestor)
            ancestor = self.nodes[ancestor].parent
        known.update(dict.fromkeys(path, ancestor))
        return ancestor

    def children(self, node: NodeId) -> tuple[NodeId, ...]:
        """The nodes that follow directly, in order of creation."""
        return tuple(edge.target for edge in self.edges if edge.source == node)

    def is_tip(self, node: NodeId) -> bool:
        """True for a node that nothing follows."""
        place = bisect_left(self.tips, node)
        return self.tips[place : place + 1] == (node,)

    def advance_cause(self, node: NodeId) -> EdgeCauseKind:
        """The cause an advance from a node is recorded with."""
        return "intentional_fork" if self.is_tip(node) else "non_tip_advance"

    def blocked_chain(self, node: NodeId) -> int:
        """How many blocked attempts stand in a row, from a node upwards."""
        depth = 0
        for current in self.upwards(node):
            if self.nodes[current].kind != "blocked_attempt":
                break
            depth += 1
        return depth


class _Draft(Struct):
    """A run while its events are read. `latest` is the newest activity anywhere in it."""

    started: RunStartedData | None = None
    nodes: dict[NodeId, Node] = msgspec.field(default_factory=dict)
    order: list[Node] = msgspec.field(default_factory=list)
    edges: list[Edge] = msgspec.field(default_factory=list)
    tips: list[NodeId] = msgspec.field(default_factory=list)  # sorted
    activity: dict[NodeId, int] = msgspec.field(default_factory=dict)
    latest: int = -1
    paths: _Paths = msgspec.field(default_factory=_Paths)

    def touch(self, node: NodeId, event_index: int) -> None:
        """Something happened at a node."""
        self.activity[node] = self.latest = event_index


class _Drafts(Structure):
    """Every run of a log while its events are read."""

    __slots__ = ("by_run",)

    def __init__(self) -> None:
        super().__init__()
        self.by_run: dict[RunId, _Draft] = {}


class _Reading(Struct, frozen=True):
    """The runs of a log, and the drafts to read on from."""

    count: int = 0
    last_index: int = -1
    drafts: _Drafts = msgspec.field(default_factory=_Drafts)
    runs: Ok[dict[RunId, Run]] = msgspec.field(default_factory=lambda: Ok({}))


def project_dag(events: Log) -> Ok[dict[RunId, Run]] | Err[ProjectionError]:
    """Every run of a session, by id."""
    read = _readings.of(events)
    return read if isinstance(read, Err) else read.value.runs


def _extend(begun: _Reading, events: Log) -> Ok[_Reading] | Err[ProjectionError] | None:
    problem = out_of_order(events, begun.last_index)
    if problem is not None:
        return Err(problem)
    if not begun.drafts.claim(begun.count):
        return None
    drafts = begun.drafts.by_run
    grown: dict[RunId, _Draft] = {}
    for event in events:
        scope = event.scope
        if scope is None or scope.run_id is None:
            continue
        draft = grown.get(scope.run_id)
        if draft is None:
            draft = grown[scope.run_id] = drafts[scope.run_id] = drafts.get(scope.run_id) or _Draft()
        add = _ADDING.get(event.kind)
        if add is not None:
            problem = add(draft, event)
            if problem is not None:
                return Err(problem)
        if scope.node_id is not None:
            draft.touch(scope.node_id, event.event_index)
    finished = {run_id: _finished(run_id, draft) for run_id, draft in grown.items()}
    last = events[-1].event_index if events else begun.last_index
    count = begun.count + len(events)
    begun.drafts.settle(count)
    return Ok(_Reading(count, last, begun.drafts, Ok(begun.runs.value | finished)))


_readings: IncrementalProjection[_Reading] = IncrementalProjection(_Reading, _extend)


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
    draft.order.append(node)
    insort(draft.tips, node_id)
    return None


def _add_edge(draft: _Draft, event: EdgeCreated) -> ProjectionError | None:
    data = event.data
    for node_id in (data.from_node_id, data.to_node_id):
        if node_id not in draft.nodes:
            return corruption(f"an edge names node {node_id}, which is unknown")
    if draft.nodes[data.to_node_id].parent != data.from_node_id:
        return corruption(f"an edge leads to node {data.to_node_id} from a node that is not its parent")
    draft.edges.append(Edge(data.edge_kind, data.from_node_id, data.to_node_id, data.cause.kind, event.event_index))
    place = bisect_left(draft.tips, data.from_node_id)
    if draft.tips[place : place + 1] == [data.from_node_id]:
        del draft.tips[place]
    for node_id in (data.from_node_id, data.to_node_id):
        draft.touch(node_id, event.event_index)
    return None


_ADDING: dict[str, Callable[[_Draft, Any], ProjectionError | None]] = {
    "run_started": _start,
    "node_created": _add_node,
    "edge_created": _add_edge,
}


def _finished(run_id: RunId, draft: _Draft) -> Run:
    tips = tuple(draft.tips)
    nodes, edges = Nodes(draft.nodes, draft.order), Grown(draft.edges, len(draft.edges))
    return Run(run_id, draft.started, nodes, edges, tips, _preferred(draft, tips), draft.paths)


def _preferred(draft: _Draft, tips: tuple[NodeId, ...]) -> NodeId | None:
    """The tip with the latest activity on its path. Indexes decide, never times."""
    if len(tips) == 1:
        return tips[0]
    scores: dict[NodeId, int] = {}
    newest = draft.order[-1].node_id if draft.order else None
    if newest in tips and _score(draft, newest, scores) == draft.latest:
        return newest  # nothing has a better score, and of those with the same score the newest wins
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
