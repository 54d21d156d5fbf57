"""BC350 to BC352: where the studio, as it ships, departs from the contract. Only `block-profile = "studio"` asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.base.wording import listed
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.model.documents import Node, StudioWorkflow
from workrail_lint.systems.blocks.options import PROFILE
from workrail_lint.systems.blocks.plan import topological_order
from workrail_lint.systems.blocks.rules.base import ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, control, edge, group, node, uuid, workflow
from workrail_lint.systems.blocks.vocabulary import BlockProfile, MergeStrategy, NodeKind
from workrail_lint.systems.blocks.wording import shown

# What the contract knows about a node's configuration and the studio's file format does not.
_STRIPPED = (
    "blockType",
    "conditionConfig",
    "forEachConfig",
    "subWorkflowConfig",
    "maxRetries",
    "retryableExitCodes",
)
_A, _B, _C, _D = (uuid(number) for number in range(1, 5))


class StudioRule(DefinitionRule):
    """A rule that only the profile of the studio runs."""

    origin = ENGINES

    def check_document(self, document: BlockDocument, report: Report) -> None:
        if document.options.studio:
            self.check_studio(document.definition, report)

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        """The definition as the studio would take it."""
        raise NotImplementedError


def _example(bad: dict[str, Any], good: dict[str, Any]) -> Example:
    return Example(bad, good, path=WORKFLOW_PATH, options={PROFILE: BlockProfile.STUDIO.value})


def _edge(source: str, target: str, number: int) -> dict[str, Any]:
    return edge(source, target, ident=uuid(number))


class StudioLaneEarly(StudioRule):
    code = "BC350"
    name = "studio-lane-early"
    severity = Severity.WARNING
    summary = "In the studio, a lane starts before a node that leads to it."
    why = "The studio starts a group as soon as its first lane is due, so a lane can miss what a predecessor delivers."

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        starts = _studio_starts(definition)
        for item in definition.parallel_groups:
            for at, ident in item.written_lanes:
                for transition in definition.incoming.get(ident, ()):
                    if starts.get(transition.source, -1) > starts.get(ident, len(starts)):
                        text = (
                            f"in the studio, the lane {shown(ident)} starts before {shown(transition.source)}, which "
                            f"leads to it: the group {shown(item.id)} starts with its first lane. Let "
                            f"{shown(transition.source)} lead to every lane"
                        )
                        report(f"{item.pointer}/laneNodeIds/{at}", text)

    def examples(self) -> Iterator[Example]:
        nodes = (node(_A), node(_B, "coding"), node(_C), node(_D, "coding"))
        groups = [group(_B, _D, ident=uuid(8))]
        yield _example(
            workflow(*nodes, id=uuid(0), parallelGroups=groups, edges=[_edge(_A, _B, 5), _edge(_C, _D, 6)]),
            workflow(
                *nodes,
                id=uuid(0),
                parallelGroups=groups,
                edges=[_edge(_A, _B, 5), _edge(_C, _D, 6), _edge(_C, _B, 7)],
            ),
        )


def _studio_starts(definition: StudioWorkflow) -> dict[str, int]:
    """When the studio starts each node: in order, but the lanes of a group together with its first one."""
    number = {ident: at for at, ident in enumerate(definition.by_id)}
    names = list(number)
    order = topological_order(len(number), ((number[edge.source], number[edge.target]) for edge in definition.edges))
    starts: dict[str, int] = {}
    for place, at in enumerate(order):
        found = definition.group_of.get(names[at])
        for ident in (names[at],) if found is None else found.lanes:
            starts.setdefault(ident, place)
    return starts


class StudioConfigStripped(StudioRule):
    code = "BC351"
    name = "studio-config-stripped"
    severity = Severity.WARNING
    summary = "The studio drops configuration that its file format does not have."
    why = "A control node runs as an ordinary agent, and a block is neither retried nor of another type."

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        for found in definition.nodes:
            dropped = _dropped(found)
            if dropped:
                what = f"when the studio loads the file, it drops {listed(map(shown, dropped))} of {shown(found.id)}"
                role = f"{found.type} agent" if found.type else "agent"
                so = f", which then runs as an ordinary {role}" if found.is_control else ""
                report(f"{found.pointer}/{'kind' if dropped[0] == 'kind' else 'config'}", what + so)

    def examples(self) -> Iterator[Example]:
        config = {"expression": "true", "trueBranchNodeId": _B, "falseBranchNodeId": _C}
        after = (node(_B), node(_C))
        links = [_edge(_A, _B, 5), _edge(_A, _C, 6)]
        yield _example(
            workflow(control(_A, "condition", conditionConfig=config), *after, id=uuid(0), edges=links),
            workflow(node(_A), *after, id=uuid(0), edges=links),
        )


def _dropped(found: Node) -> list[str]:
    kind = ["kind"] if found.kind == NodeKind.CONTROL.value else []
    return [*kind, *(name for name in _STRIPPED if name in found.config)]


class StudioNeverPauses(StudioRule):
    code = "BC352"
    name = "studio-no-fail-on-conflict"
    severity = Severity.WARNING
    summary = "The studio has no merge strategy `fail-on-conflict`."
    why = "The run does not pause for a conflict, so the user is not asked which lane wins."

    def check_studio(self, definition: StudioWorkflow, report: Report) -> None:
        for item in definition.parallel_groups:
            if item.merge_strategy == MergeStrategy.FAIL_ON_CONFLICT.value:
                text = (
                    f"the studio has no 'fail-on-conflict': it ignores the strategy of {shown(item.id)} and does not "
                    "pause when lanes edit the same file"
                )
                report(f"{item.pointer}/mergeStrategy", text)

    def examples(self) -> Iterator[Example]:
        lanes = (node(_A, "coding"), node(_B, "coding"))
        groups = [group(_A, _B, ident=uuid(8))]
        yield _example(
            workflow(*lanes, id=uuid(0), parallelGroups=[{**groups[0], "mergeStrategy": "fail-on-conflict"}]),
            workflow(*lanes, id=uuid(0), parallelGroups=groups),
        )
