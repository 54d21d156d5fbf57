"""A unit: a definition, the outputs of its blocks, and what was recorded beside them, seen together.

A unit is built from records, wherever those come from, so that a linter on a disk and a simulated run in memory ask the
same questions of the same view. A record is plain JSON, small enough for a cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from workrail_lint.base.result import Ok
from workrail_lint.systems.blocks.documents import BlockKind, id_in_name
from workrail_lint.systems.blocks.model.build import DocumentModels, definition_model
from workrail_lint.systems.blocks.model.documents import GithubMount, LocalMount, StudioWorkflow
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.plan import Plan, make_plan
from workrail_lint.systems.blocks.vocabulary import ConditionType, ControlType, OutputStatus

_LONGEST_TEXT = 4096
# The head of a document is enough to recognise it in a prompt.
_DOCUMENT_HEAD = 512
_OUTPUT_MEMBERS = ("blockId", "blockType", "status", "timestamp", "filesModified", "filesCreated")
_NODE_MEMBERS = ("id", "type", "kind", "description", "config")
_DEFINITION_MEMBERS = ("id", "transitions", "parallelGroups", "gates", "rules")


def record_of(kind: BlockKind, value: object) -> dict[str, Any]:
    """Return the record of a document; `value` is None for one that can't be read, and a string for a prompt."""
    return {"kind": kind.value, "value": _essence(kind, value)}


def _essence(kind: BlockKind, value: object) -> object:
    if kind is BlockKind.PROMPT:
        return value if isinstance(value, str) else None
    if not isinstance(value, dict):
        return None
    match kind:
        case BlockKind.OUTPUT:
            return _output(value)
        case BlockKind.WORKFLOW:
            return _definition(value)
        case BlockKind.TRACE:
            return {}
        case _:
            return value


def _output(value: dict[str, Any]) -> dict[str, Any]:
    deliverables = value.get("deliverables")
    essence = _picked(value, _OUTPUT_MEMBERS)
    if isinstance(value.get("summary"), str):
        essence["summary"] = value["summary"][:_LONGEST_TEXT]
    if isinstance(deliverables, dict):
        essence["deliverables"] = _picked(deliverables, ("blockType",))
        document = deliverables.get("markdownDocument")
        if isinstance(document, str):
            essence["document"] = document.strip()[:_DOCUMENT_HEAD]
    return essence


def _definition(value: dict[str, Any]) -> dict[str, Any]:
    nodes = value.get("nodes")
    slim = [
        _picked(node, _NODE_MEMBERS) if isinstance(node, dict) else None
        for node in (nodes if isinstance(nodes, list) else ())
    ]
    return {**_picked(value, _DEFINITION_MEMBERS), "nodes": slim}


def _picked(value: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value}


class Tree(Protocol):
    """The workspace that outputs speak of, where it can be looked at."""

    def holds(self, path: str) -> bool:
        """Return whether a path below the workspace exists."""
        ...

    def way_out(self, path: str) -> str | None:
        """Return the part of a path that is a link out of the workspace; None when the path stays inside."""
        ...

    def unmatched(self, patterns: list[str]) -> list[str]:
        """Return the patterns that match no file."""
        ...


class UnitFile(DocumentModels):
    """A file of the unit. `value` is None when it can't be used as what it should be; then its models are empty."""

    def __init__(self, path: str, value: Any, extended: bool = False) -> None:
        self.path = path
        self.value = value
        self.root = value if isinstance(value, dict) else {}
        self.extended = extended


class Folder(NamedTuple):
    """Other files in the output folder."""

    path: str = ""  # empty when there is no such folder
    foreign: tuple[str, ...] = ()  # paths of files that have no place there
    rejected: tuple[str, ...] = ()  # paths of outputs that were set aside


class Unit:
    """The files of one run."""

    def __init__(
        self,
        records: Mapping[str, Mapping[str, Any]],
        options: BlockOptions,
        *,
        folder: Folder | None = None,
        tree: Tree | None = None,
        workflow: str | None = None,
    ) -> None:
        """`workflow` is the path of the definition the outputs belong to, None when it is not known."""
        self.options = options
        self.folder = folder or Folder()
        self.tree = tree
        self.outputs: dict[str, UnitFile] = {}
        self.all_outputs: list[UnitFile] = []
        self.environments: dict[str, UnitFile] = {}
        self.prompts: dict[str, UnitFile] = {}
        self.fan_ins: dict[str, UnitFile] = {}
        self.mount: UnitFile | None = None
        self.workflow: UnitFile | None = None
        named = {
            BlockKind.ENVIRONMENT: self.environments,
            BlockKind.PROMPT: self.prompts,
            BlockKind.FAN_IN: self.fan_ins,
            BlockKind.OUTPUT: self.outputs,
        }
        for path, record in sorted(records.items()):
            kind, file = BlockKind(record["kind"]), UnitFile(path, record["value"], options.extended)
            if kind is BlockKind.OUTPUT:
                self.all_outputs.append(file)
            if kind in named:
                ident = id_in_name(path, kind)
                if ident is not None:
                    named[kind][ident] = file
            elif kind is BlockKind.MOUNT:
                self.mount = file
            elif path == workflow:
                self.workflow = file

    @cached_property
    def definition(self) -> StudioWorkflow | None:
        """The definition, when there is one that can be used."""
        value = None if self.workflow is None else self.workflow.value
        return definition_model(value, self.options.language) if isinstance(value, dict) else None

    @cached_property
    def plan(self) -> Plan | None:
        plan = None if self.definition is None else make_plan(self.definition)
        return plan.value if isinstance(plan, Ok) else None

    @cached_property
    def repo(self) -> LocalMount | GithubMount | None:
        """The mounted repository, when its record can be used."""
        return None if self.mount is None or self.mount.value is None else self.mount.mount

    @cached_property
    def restrictions(self) -> list[str] | None:
        """The patterns of the mount; None when nothing is known about them."""
        return None if self.repo is None else list(self.repo.file_restrictions)

    @property
    def is_read_only(self) -> bool:
        return self.repo is not None and self.repo.read_only is True

    @property
    def hides_blocks(self) -> bool:
        """Return whether blocks of definitions that are not at hand may have left files."""
        return self.definition is not None and any(
            node.control is ControlType.SUB_WORKFLOW for node in self.definition.nodes
        )

    def status(self, node: str) -> str | None:
        """Return what a node's output says about how it ended; None when it says nothing."""
        return self.outputs[node].output.status if node in self.outputs else None

    def has_succeeded(self, node: str) -> bool:
        return self.status(node) in (OutputStatus.COMPLETED.value, OutputStatus.PARTIAL.value)

    # ----------------------------------------------------------------------------------------- who ran

    @cached_property
    def due(self) -> frozenset[str]:
        """The nodes without a file that must have run nevertheless, judged by the ones before them."""
        definition, plan = self.definition, self.plan
        if definition is None or plan is None:
            return frozenset()
        due: set[str] = set()
        for node in sorted(definition.by_id, key=lambda ident: plan.position.get(ident, -1)):
            if node in plan.position and node not in self.outputs and self._is_due(node, due, plan):
                due.add(node)
        return frozenset(due)

    def _is_due(self, node: str, due: set[str], plan: Plan) -> bool:
        assert self.definition is not None
        if not self._is_certain(node):
            return False
        for edge in self.definition.incoming[node]:
            if plan.position.get(edge.source, -1) >= plan.position[node]:
                continue  # it leads out of a loop that comes later, and had not settled yet
            if edge.kind == ConditionType.ALWAYS.value and (self.has_succeeded(edge.source) or edge.source in due):
                return True
            if edge.kind == ConditionType.ON_SUCCESS.value and self.has_succeeded(edge.source):
                return True
        return False

    def _is_certain(self, node: str) -> bool:
        """Return whether transitions alone decide if a block ran: no loop and no condition has a say."""
        definition = self.definition
        assert definition is not None
        decided_elsewhere = node in definition.body_of or node in definition.branches
        return not definition.by_id[node].is_control and not decided_elsewhere

    @cached_property
    def ran(self) -> frozenset[str]:
        """The nodes that ran: those with a file or a record, those that are due, and those nothing leads to."""
        definition = self.definition
        if definition is None:
            return frozenset()
        starts = [ident for ident in definition.by_id if not definition.incoming[ident] and self._is_certain(ident)]
        return frozenset([*self.outputs, *self.environments, *self.prompts, *self.due, *starts])
