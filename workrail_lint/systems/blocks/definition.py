"""A workflow definition as the rest of the package sees it.

The views take any JSON value: a member of a wrong type counts as absent, because the structural findings name it and
nothing else should stumble over it. Positions in the lists are kept, so a view always knows its pointer.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from workrail_lint.base import js
from workrail_lint.systems.blocks.expressions import CONTRACT, Language
from workrail_lint.systems.blocks.vocabulary import (
    BLOCK_TYPE_OF,
    EDITING_TYPES,
    BlockType,
    ControlType,
    MergeStrategy,
    NodeKind,
    is_member,
)


def text_of(value: object) -> str | None:
    """A string that says something; None for anything else."""
    return value if isinstance(value, str) and not js.is_blank(value) else None


def texts_of(value: object) -> list[tuple[int, str]]:
    """The strings of a list with their positions."""
    return [(at, item) for at, item in enumerate(_list(value)) if isinstance(item, str)]


class Node:
    """A node: an agent that runs a block, or a control that steers the run."""

    def __init__(self, value: dict[str, Any], index: int) -> None:
        self.value = value
        self.index = index
        self.pointer = f"/nodes/{index}"

    @property
    def id(self) -> str:
        ident = self.value.get("id")
        return ident if isinstance(ident, str) else ""

    @property
    def type(self) -> str:
        kind = self.value.get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def config(self) -> dict[str, Any]:
        config = self.value.get("config")
        return config if isinstance(config, dict) else {}

    @property
    def control(self) -> ControlType | None:
        """What kind of control it is; None for an agent and for a control that does not say."""
        written = self.config.get("blockType")
        return ControlType(written) if is_member(ControlType, written) else None

    @property
    def is_control(self) -> bool:
        return self.control is not None or self.value.get("kind") == NodeKind.CONTROL.value

    @property
    def mapped_type(self) -> BlockType | None:
        """The block type of the node's type."""
        return BLOCK_TYPE_OF.get(self.type)

    @property
    def block_type(self) -> BlockType | None:
        """The block type its output has to name; None for a control and for an unknown type."""
        if self.is_control:
            return None
        written = self.config.get("blockType")
        return BlockType(written) if is_member(BlockType, written) else self.mapped_type

    @property
    def asks(self) -> bool:
        """Whether a person is asked after its block."""
        return self.config.get("gateMode") == "gate"

    def settings(self, name: str) -> dict[str, Any]:
        """One of the configurations of a control node."""
        value = self.config.get(name)
        return value if isinstance(value, dict) else {}

    @property
    def body(self) -> list[str]:
        """The nodes a forEach runs for each item."""
        if self.control is not ControlType.FOR_EACH:
            return []
        return [ident for _, ident in texts_of(self.settings("forEachConfig").get("bodyNodeIds"))]


class Transition:
    """An edge of the graph."""

    def __init__(self, value: dict[str, Any], index: int) -> None:
        self.value = value
        self.index = index
        self.pointer = f"/transitions/{index}"

    def _text(self, name: str) -> str:
        value = self.value.get(name)
        return value if isinstance(value, str) else ""

    @property
    def id(self) -> str:
        return self._text("id")

    @property
    def source(self) -> str:
        return self._text("sourceNodeId")

    @property
    def target(self) -> str:
        return self._text("targetNodeId")

    @property
    def condition(self) -> dict[str, Any]:
        condition = self.value.get("condition")
        return condition if isinstance(condition, dict) else {}

    @property
    def kind(self) -> str:
        kind = self.condition.get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def expression(self) -> str | None:
        text = self.condition.get("expression")
        return text if isinstance(text, str) else None


class Group:
    """Nodes that run at once, one lane each."""

    def __init__(self, value: dict[str, Any], index: int) -> None:
        self.value = value
        self.index = index
        self.pointer = f"/parallelGroups/{index}"

    @property
    def id(self) -> str:
        ident = self.value.get("id")
        return ident if isinstance(ident, str) else ""

    @property
    def written_lanes(self) -> list[tuple[int, str]]:
        """The lanes as written, with their positions."""
        return texts_of(self.value.get("laneNodeIds"))

    @cached_property
    def lanes(self) -> tuple[str, ...]:
        """The lanes, each once, in their order."""
        return tuple(dict.fromkeys(ident for _, ident in self.written_lanes))

    @property
    def written_strategy(self) -> object:
        return self.value.get("mergeStrategy")


class Definition:
    """A whole definition."""

    def __init__(self, value: object, language: Language = CONTRACT) -> None:
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.language = language  # of its expressions
        self.nodes = [Node(item, at) for at, item in _objects(self.value.get("nodes"))]
        self.transitions = [Transition(item, at) for at, item in _objects(self.value.get("transitions"))]
        self.groups = [Group(item, at) for at, item in _objects(self.value.get("parallelGroups"))]

    @property
    def id(self) -> str:
        ident = self.value.get("id")
        return ident if isinstance(ident, str) else ""

    @cached_property
    def by_id(self) -> dict[str, Node]:
        """The nodes by their ids; of two with one id the first."""
        found: dict[str, Node] = {}
        for node in self.nodes:
            if node.id:
                found.setdefault(node.id, node)
        return found

    @cached_property
    def edges(self) -> list[Transition]:
        """The transitions with two existing ends."""
        known = self.by_id
        return [edge for edge in self.transitions if edge.source in known and edge.target in known]

    @cached_property
    def incoming(self) -> dict[str, list[Transition]]:
        """The transitions that lead to each node."""
        found: dict[str, list[Transition]] = {ident: [] for ident in self.by_id}
        for edge in self.edges:
            found[edge.target].append(edge)
        return found

    @cached_property
    def outgoing(self) -> dict[str, list[Transition]]:
        """The transitions that start at each node."""
        found: dict[str, list[Transition]] = {ident: [] for ident in self.by_id}
        for edge in self.edges:
            found[edge.source].append(edge)
        return found

    @cached_property
    def group_of(self) -> dict[str, Group]:
        """The group each lane belongs to; of two groups the first."""
        found: dict[str, Group] = {}
        for group in self.groups:
            for ident in group.lanes:
                if ident in self.by_id:
                    found.setdefault(ident, group)
        return found

    @cached_property
    def body_of(self) -> dict[str, Node]:
        """The forEach node whose body a node belongs to."""
        found: dict[str, Node] = {}
        for node in self.nodes:
            for ident in node.body:
                if ident in self.by_id and ident != node.id:
                    found.setdefault(ident, node)
        return found

    @cached_property
    def branches(self) -> frozenset[str]:
        """The nodes that conditions choose between: each may be skipped, whatever leads to it."""
        configs = [node.settings("conditionConfig") for node in self.nodes]
        found = [config.get(member) for config in configs for member in ("trueBranchNodeId", "falseBranchNodeId")]
        return frozenset(ident for ident in found if isinstance(ident, str))

    @property
    def gates(self) -> list[tuple[int, dict[str, Any]]]:
        return _objects(self.value.get("gates"))

    @property
    def variables(self) -> list[tuple[int, dict[str, Any]]]:
        return _objects(self.value.get("variables"))

    @cached_property
    def declared(self) -> frozenset[str]:
        """The names an expression may ask for."""
        names = [variable.get("name") for _, variable in self.variables]
        for node in self.nodes:
            names.append(node.settings("forEachConfig").get("itemVariable"))
            names += _object(node.settings("subWorkflowConfig").get("outputMappings"))
            names += [node.id] if node.control is ControlType.CONDITION else []
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def rules(self) -> list[tuple[int, str]]:
        return texts_of(self.value.get("rules"))

    def strategy_of(self, group: Group) -> MergeStrategy:
        """How a group's lanes are merged: as written, else by what the lanes do."""
        if is_member(MergeStrategy, group.written_strategy):
            return MergeStrategy(group.written_strategy)
        types = [node.block_type for ident in group.lanes if (node := self.by_id.get(ident)) is not None]
        if types and all(kind in (BlockType.PLAN, BlockType.REVIEW) for kind in types):
            return MergeStrategy.CONCATENATE
        return MergeStrategy.WORKSPACE

    def editing_lanes(self, group: Group) -> list[tuple[int, Node]]:
        """The lanes whose blocks edit files, with their positions."""
        found = [(at, self.by_id.get(ident)) for at, ident in group.written_lanes]
        return [(at, node) for at, node in found if node is not None and node.block_type in EDITING_TYPES]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[tuple[int, dict[str, Any]]]:
    return [(at, item) for at, item in enumerate(_list(value)) if isinstance(item, dict)]
