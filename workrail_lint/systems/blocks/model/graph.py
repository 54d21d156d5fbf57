"""Behaviour of the nodes of a workflow definition: the base classes of the generated ones, which hold the members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from workrail_lint.base.closed_sets import is_member
from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.systems.blocks.expressions import CONTRACT, Language
from workrail_lint.systems.blocks.vocabulary import (
    BLOCK_TYPE_OF,
    EDITING_TYPES,
    BlockType,
    ControlType,
    MergeStrategy,
    NodeKind,
)

if TYPE_CHECKING:
    from workrail_lint.systems.blocks.model import documents as model
    from workrail_lint.systems.blocks.model.documents import Config, ParallelGroup, Transition, Variable


class GraphNode(Node):
    """Base of a node of the graph: an agent that runs a block, or a control that steers the run."""

    id: str
    type: model.AgentNodeType | None
    config: Config
    kind: model.NodeKind | None

    @property
    def control(self) -> ControlType | None:
        """Return what kind of control it is; None for an agent and for a control that does not say."""
        written = self.config.block_type
        return ControlType(written) if is_member(written, ControlType) else None

    @property
    def is_control(self) -> bool:
        return self.control is not None or self.kind == NodeKind.CONTROL.value

    @property
    def mapped_type(self) -> BlockType | None:
        """The block type of the node's type."""
        return None if self.type is None else BLOCK_TYPE_OF.get(self.type)

    @property
    def block_type(self) -> BlockType | None:
        """The block type its output has to name; None for a control and for an unknown type."""
        if self.is_control:
            return None
        written = self.config.block_type
        return BlockType(written) if is_member(written, BlockType) else self.mapped_type

    @property
    def asks(self) -> bool:
        """Return whether a person is asked after its block."""
        return self.config.gate_mode == "gate"

    @property
    def body(self) -> Sequence[str]:
        """The nodes a forEach runs for each item."""
        loop = self.config.for_each_config
        return loop.body_node_ids if loop is not None and self.control is ControlType.FOR_EACH else ()


class TransitionNode(Node):
    """Base of an edge of the graph."""

    source_node_id: str
    target_node_id: str
    condition: model.PlainCondition | model.ExpressionCondition | None

    @property
    def source(self) -> str:
        return self.source_node_id

    @property
    def target(self) -> str:
        return self.target_node_id

    @property
    def kind(self) -> str:
        """When it applies; empty when that is unknown."""
        return "" if self.condition is None or self.condition.type is None else self.condition.type

    @property
    def expression(self) -> str | None:
        return None if self.condition is None else self.condition.expression


class GroupNode(Node):
    """Base of a group of nodes that run in parallel, one lane each."""

    lane_node_ids: Sequence[str]

    @property
    def written_lanes(self) -> Iterator[tuple[int, str]]:
        """The lanes as written, with their positions."""
        return numbered(self.lane_node_ids)

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """The lanes, each once, in their order."""
        return tuple(dict.fromkeys(self.lane_node_ids))


class DefinitionNode(Node):
    """Base of a whole definition."""

    nodes: Sequence[model.Node]
    transitions: Sequence[Transition]
    variables: Sequence[Variable]
    parallel_groups: Sequence[ParallelGroup]
    language: Language = CONTRACT  # of its expressions

    @cached_property
    def by_id(self) -> dict[str, model.Node]:
        """The nodes by their ids; of two with one id the first."""
        nodes: dict[str, model.Node] = {}
        for node in self.nodes:
            if node.id:
                nodes.setdefault(node.id, node)
        return nodes

    @cached_property
    def edges(self) -> list[Transition]:
        """The transitions with two existing ends."""
        known = self.by_id
        return [edge for edge in self.transitions if edge.source in known and edge.target in known]

    @cached_property
    def incoming(self) -> dict[str, list[Transition]]:
        """The transitions that lead to each node."""
        edges: dict[str, list[Transition]] = {ident: [] for ident in self.by_id}
        for edge in self.edges:
            edges[edge.target].append(edge)
        return edges

    @cached_property
    def outgoing(self) -> dict[str, list[Transition]]:
        """The transitions that start at each node."""
        edges: dict[str, list[Transition]] = {ident: [] for ident in self.by_id}
        for edge in self.edges:
            edges[edge.source].append(edge)
        return edges

    @cached_property
    def group_of(self) -> dict[str, ParallelGroup]:
        """The group each lane belongs to; of two groups the first."""
        groups: dict[str, ParallelGroup] = {}
        for group in self.parallel_groups:
            for ident in group.lanes:
                if ident in self.by_id:
                    groups.setdefault(ident, group)
        return groups

    @cached_property
    def body_of(self) -> dict[str, model.Node]:
        """The forEach node whose body a node belongs to."""
        loops: dict[str, model.Node] = {}
        for node in self.nodes:
            for ident in node.body:
                if ident in self.by_id and ident != node.id:
                    loops.setdefault(ident, node)
        return loops

    @cached_property
    def branches(self) -> frozenset[str]:
        """The nodes that conditions choose between: each may be skipped, whatever leads to it."""
        configs = [node.config.condition_config for node in self.nodes]
        return frozenset(
            ident for each in configs if each for ident in (each.true_branch_node_id, each.false_branch_node_id)
        )

    @cached_property
    def declared(self) -> frozenset[str]:
        """The names an expression may ask for."""
        names = [variable.name for variable in self.variables if "name" in variable]
        for node in self.nodes:
            loop, inner = node.config.for_each_config, node.config.sub_workflow_config
            names += [loop.item_variable] if loop is not None else []
            names += inner.output_mappings if inner is not None else []
            names += [node.id] if node.control is ControlType.CONDITION else []
        return frozenset(names)

    def strategy_of(self, group: ParallelGroup) -> MergeStrategy:
        """Return how a group's lanes are merged: as written, else by what the lanes do."""
        if group.merge_strategy is not None:
            return MergeStrategy(group.merge_strategy)
        types = [node.block_type for ident in group.lanes if (node := self.by_id.get(ident)) is not None]
        if types and all(kind in (BlockType.PLAN, BlockType.REVIEW) for kind in types):
            return MergeStrategy.CONCATENATE
        return MergeStrategy.WORKSPACE

    def editing_lanes(self, group: ParallelGroup) -> list[tuple[int, model.Node]]:
        """Return the lanes whose blocks edit files, with their positions."""
        lanes = [(at, self.by_id.get(ident)) for at, ident in group.written_lanes]
        return [(at, node) for at, node in lanes if node is not None and node.block_type in EDITING_TYPES]
