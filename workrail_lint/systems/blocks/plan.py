"""The order in which the nodes of a definition run, fixed before the first one does, and which of them run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.blocks.expressions import Language, holds
from workrail_lint.systems.blocks.model.documents import Node, StudioWorkflow, Transition
from workrail_lint.systems.blocks.vocabulary import ConditionType, Isolation, NodeStatus


class Single(NamedTuple):
    """One node on its own."""

    node: str


class Lanes(NamedTuple):
    """A parallel group: its nodes in the order of the lane list."""

    group: str
    nodes: tuple[str, ...]
    strategy: str


Entry = Single | Lanes


def nodes_of(entry: Entry) -> tuple[str, ...]:
    return entry.nodes if isinstance(entry, Lanes) else (entry.node,)


class Plan:
    """The entries in order, and the position of each node."""

    __slots__ = ("bodies", "entries", "position", "step_index")

    def __init__(self, entries: tuple[Entry, ...], bodies: Mapping[str, str]) -> None:
        self.entries = entries
        self.bodies = bodies  # nodes of a forEach body, and the node that runs them
        self.position: dict[str, int] = {}
        self.step_index: dict[str, int] = {}
        for place, entry in enumerate(entries):
            for node in nodes_of(entry):
                self.position[node] = place
                self.step_index[node] = len(self.step_index)
        for node in bodies:
            owner = _outermost(node, bodies)
            if owner in self.position:
                self.position[node] = self.position[owner]
                self.step_index[node] = self.step_index[owner]

    def stages(self) -> list[dict[str, Any]]:
        """Return the plan as data, with the number of each step."""
        return [self._stage(entry) for entry in self.entries]

    def _stage(self, entry: Entry) -> dict[str, Any]:
        if isinstance(entry, Single):
            return {"node": entry.node, "stepIndex": self.step_index[entry.node]}
        indices = [self.step_index[node] for node in entry.nodes]
        lanes = {"group": entry.group, "nodeIds": list(entry.nodes), "stepIndices": indices}
        return {**lanes, "mergeStrategy": entry.strategy}

    def as_json(self) -> list[object]:
        """Return the plan as data: a node id, or a group with its lanes and strategy."""
        return [
            {"group": entry.group, "nodeIds": list(entry.nodes), "mergeStrategy": entry.strategy}
            if isinstance(entry, Lanes)
            else entry.node
            for entry in self.entries
        ]


def _outermost(node: str, bodies: Mapping[str, str]) -> str:
    """Return the loop of a plan that a body node runs in, however deep loops are nested."""
    seen: set[str] = set()
    while node in bodies and node not in seen:
        seen.add(node)
        node = bodies[node]
    return node


class Cycle(NamedTuple):
    """Why there is no order: the ids on a cycle, with group ids in place of their lanes."""

    ids: tuple[str, ...]


def make_plan(definition: StudioWorkflow) -> Ok[Plan] | Err[Cycle]:
    """Return the execution order of a definition; members that are damaged or unknown are left out."""
    vertices, edges = _contracted(definition, definition.edges)
    order = topological_order(len(vertices), edges)
    if len(order) < len(vertices):
        cycle = find_cycle(set(range(len(vertices))) - set(order), edges)
        return Err(Cycle(tuple(_id_of(vertices[at]) for at in cycle)))
    for node in definition.nodes:
        inside, between = _inside(definition, node)
        stuck = set(range(len(inside))) - set(topological_order(len(inside), between))
        if stuck:
            return Err(Cycle(tuple(inside[at] for at in find_cycle(stuck, between))))
    bodies = {ident: owner.id for ident, owner in definition.body_of.items()}
    return Ok(Plan(tuple(vertices[at] for at in order), bodies))


def body_order(definition: StudioWorkflow, owner: Node) -> list[str]:
    """Return the nodes of a forEach body as one pass runs them: each after those that lead to it, else as they are
    listed.
    """
    inside, between = _inside(definition, owner)
    return [inside[at] for at in topological_order(len(inside), between)]


def _inside(definition: StudioWorkflow, owner: Node) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the nodes of a body, each once, and the transitions between them."""
    inside = [ident for ident in dict.fromkeys(owner.body) if ident in definition.by_id]
    number = {ident: at for at, ident in enumerate(inside)}
    followed = [(number[ident], definition.outgoing[ident]) for ident in inside]
    return inside, [(at, number[edge.target]) for at, edges in followed for edge in edges if edge.target in number]


def bodies_in_themselves(definition: StudioWorkflow) -> frozenset[str]:
    """Return the nodes through which a forEach would contain itself."""
    number = {ident: at for at, ident in enumerate(definition.by_id)}
    edges = [
        (number[node.id], number[ident]) for node in definition.by_id.values() for ident in node.body if ident in number
    ]
    around = _on_cycles(len(number), edges)
    return frozenset(ident for ident, at in number.items() if at in around)


def cycles_through_groups(definition: StudioWorkflow) -> Iterator[Cycle]:
    """Return cycles that exist only because the lanes of a group count as one; no two share a node or a group."""
    number = {ident: at for at, ident in enumerate(definition.by_id)}
    plain = {(number[edge.source], number[edge.target]): edge for edge in definition.edges}
    around = _on_cycles(len(number), plain)
    without = [edge for (source, target), edge in plain.items() if not (source in around and target in around)]
    vertices, edges = _contracted(definition, without)
    between = [(source, target) for source, target in edges if source != target]
    while stuck := set(range(len(vertices))) - set(topological_order(len(vertices), between)):
        cycle = find_cycle(stuck, between)
        yield Cycle(tuple(_id_of(vertices[at]) for at in cycle))
        between = [pair for pair in between if not {*pair} & {*cycle}]


def _on_cycles(count: int, edges: Iterable[tuple[int, int]]) -> set[int]:
    """Return the vertices on cycles or between two of them: what remains after removing from both ends."""
    pairs = list(edges)
    behind = set(range(count)) - set(topological_order(count, pairs))
    back = [(target, source) for source, target in pairs if source in behind and target in behind]
    return behind - set(topological_order(count, back))


def _contracted(definition: StudioWorkflow, transitions: list[Transition]) -> tuple[list[Entry], list[tuple[int, int]]]:
    """Return the graph of a plan's entries: groups are one vertex, bodies of a forEach none."""
    vertex_of: dict[str, int] = {}
    vertices: list[Entry] = []
    for node in definition.by_id.values():
        if node.id in vertex_of or node.id in definition.body_of:
            continue
        group = definition.group_of.get(node.id)
        if group is None:
            vertex_of[node.id] = len(vertices)
            vertices.append(Single(node.id))
            continue
        owned = [ident for ident in group.lanes if definition.group_of.get(ident) is group]
        lanes = tuple(ident for ident in owned if ident not in definition.body_of)
        vertex_of.update(dict.fromkeys(lanes, len(vertices)))
        vertices.append(Lanes(group.id, lanes, definition.strategy_of(group).value))
    # A vertex is numbered when its first member is met, so its number orders as its smallest position does.
    edges = [
        (vertex_of[edge.source], vertex_of[edge.target])
        for edge in transitions
        if edge.source in vertex_of and edge.target in vertex_of
    ]
    return vertices, edges


def _id_of(entry: Entry) -> str:
    return entry.group if isinstance(entry, Lanes) else entry.node


def topological_order(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Return the vertices 0 to `count` - 1, each after its predecessors, the smallest first; those on cycles are
    missing.
    """
    following: dict[int, list[int]] = {}
    waiting = [0] * count
    for source, target in set(edges):
        following.setdefault(source, []).append(target)
        waiting[target] += 1
    ready = [at for at in range(count) if not waiting[at]]
    heapify(ready)
    order: list[int] = []
    while ready:
        vertex = heappop(ready)
        order.append(vertex)
        for target in following.get(vertex, ()):
            waiting[target] -= 1
            if not waiting[target]:
                heappush(ready, target)
    return order


def find_cycle(stuck: set[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """Return one cycle among vertices that all have a predecessor in the set, starting at its smallest vertex."""
    pairs = sorted(set(edges), reverse=True)
    before = {target: source for source, target in pairs if source in stuck and target in stuck}
    at = min(stuck)
    seen: dict[int, int] = {}
    while at not in seen:
        seen[at] = len(seen)
        at = before[at]
    cycle = list(seen)[seen[at] :]
    cycle.reverse()
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


_SETTLED = (NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED)


def transition_holds(
    transition: Transition, statuses: Mapping[str, NodeStatus], variables: Mapping[str, Json], language: Language
) -> bool:
    """Return whether a transition applies, given the status of nodes and the values of variables."""
    status = statuses.get(transition.source, NodeStatus.PENDING)
    match transition.kind:
        case ConditionType.ALWAYS.value:
            return status in _SETTLED
        case ConditionType.ON_SUCCESS.value:
            return status is NodeStatus.COMPLETED
        case ConditionType.ON_FAILURE.value:
            return status is NodeStatus.FAILED
        case ConditionType.EXPRESSION.value:
            return holds(transition.expression, variables, language)
        case _:
            return False


def node_runs(
    definition: StudioWorkflow, node: str, statuses: Mapping[str, NodeStatus], variables: Mapping[str, Json]
) -> bool:
    """Return whether a node runs once it is reached: nothing leads to it, or one transition that does holds."""
    incoming = definition.incoming[node]
    language = definition.language
    return not incoming or any(transition_holds(edge, statuses, variables, language) for edge in incoming)


def isolation(*, is_repository: bool, has_head: bool, is_clean: bool) -> Isolation:
    """Return how lanes are kept apart. A worktree of the head commit would hide edits that are not committed yet."""
    return Isolation.GIT_WORKTREE if is_repository and has_head and is_clean else Isolation.TEMP_COPY
