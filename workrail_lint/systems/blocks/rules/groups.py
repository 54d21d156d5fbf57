"""Parallel groups and their lanes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from workrail_lint.documents.operations import Remove
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.blocks.model.documents import ParallelGroup, StudioWorkflow
from workrail_lint.systems.blocks.plan import Cycle, cycles_through_groups
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, BlockDocument
from workrail_lint.systems.blocks.rules.definition_graph import MOST_CYCLES, way
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import control, edge, group, lanes, workflow
from workrail_lint.systems.blocks.rules.samples import node as sample_node
from workrail_lint.systems.blocks.vocabulary import MergeStrategy
from workrail_lint.systems.blocks.wording import shown, shown_list


class GroupLanes(DefinitionRule):
    code = "BC330"
    name = "group-lanes"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A group has fewer than two lanes, or the same one twice."
    why = "Nothing runs in parallel; a single lane only costs a separate workspace and a merge."
    fix = "Keep the first."
    fix_safety = "safe"
    describes = (("ParallelGroup", "minItems"), ("ParallelGroup", "uniqueItems"))

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        if violation.keyword == "uniqueItems":
            fix = safe("remove the duplicate", Remove(violation.pointer))
            return Description(f"{shown(violation.value)} is already a lane of this group", fix)
        groups = document.definition.parallel_groups
        ident = next((item.id for item in groups if violation.pointer.startswith(f"{item.pointer}/")), "")
        one = len(violation.value) == 1
        text = f"the group {shown(ident)} has {'only one lane' if one else 'no lanes'}"
        return Description(text, severity=Severity.WARNING if one else None)

    def examples(self) -> Iterator[Example]:
        two = (sample_node("a"), sample_node("b"))
        good = workflow(*two, parallelGroups=[group("a", "b")])
        yield self.example(workflow(*two, parallelGroups=[group()], edges=[edge("a", "b")]), good)
        yield self.example(workflow(*two, parallelGroups=[group("a")], edges=[edge("a", "b")]), good)
        yield self.example(workflow(*two, parallelGroups=[group("a", "b", "a")]), good, good)


class GroupMember(DefinitionRule):
    code = "BC333"
    name = "group-member"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A node is in two groups, or a control node is a lane."
    why = "The node can run only once, in one workspace, with one output file."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        owner: dict[str, ParallelGroup] = {}
        for item in definition.parallel_groups:
            for at, ident in item.written_lanes:
                first = owner.setdefault(ident, item)
                if first is not item:
                    text = f"{shown(ident)} is a lane of both {shown(first.id)} and {shown(item.id)}"
                    report(f"{item.pointer}/laneNodeIds/{at}", text)
                if ident in definition.by_id and definition.by_id[ident].is_control:
                    report(f"{item.pointer}/laneNodeIds/{at}", f"{shown(ident)} is a control node and can't be a lane")

    def examples(self) -> Iterator[Example]:
        nodes = [sample_node(name) for name in "abcd"]
        yield self.example(
            workflow(*nodes, parallelGroups=[group("a", "b", ident="g1"), group("a", "c", "d", ident="g2")]),
            workflow(*nodes, parallelGroups=[group("a", "b", ident="g1"), group("c", "d", ident="g2")]),
        )
        config = {"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "c"}
        choose = control("a", "condition", conditionConfig=config)
        nodes = [choose, sample_node("b"), sample_node("c")]
        links = [edge("a", "b"), edge("a", "c")]
        yield self.example(
            workflow(*nodes, parallelGroups=[group("a", "b")], edges=links),
            workflow(*nodes, parallelGroups=[group("b", "c")], edges=links),
        )


class GroupPath(DefinitionRule):
    code = "BC334"
    name = "group-path"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A path leads from one lane of a group to another, directly or through other nodes."
    why = "Lanes run at the same time and can't see each other, so none can follow another."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for item in definition.edges:
            owner = definition.group_of.get(item.source)
            if owner is not None and item.source != item.target and definition.group_of.get(item.target) is owner:
                text = f"{shown(item.source)} leads to {shown(item.target)}, but both are lanes of {shown(owner.id)}"
                report(item.pointer, text)
        for cycle in islice(cycles_through_groups(document.definition), MOST_CYCLES):
            involved = [item for item in document.definition.parallel_groups if item.id in cycle.ids]
            pointer = involved[0].pointer if involved else "/parallelGroups"
            path = f"{way((*cycle.ids, cycle.ids[0]))} ({_steps(document.definition, cycle)})"
            names = shown_list(item.id for item in involved)
            report(pointer, f"with the lanes of {names} as one step, the transitions form a cycle: {path}")

    def examples(self) -> Iterator[Example]:
        three = (sample_node("a"), sample_node("b"), sample_node("c"))
        groups = [group("a", "b")]
        good = workflow(*three, parallelGroups=groups, edges=[edge("a", "c"), edge("b", "c")])
        for links in ([edge("a", "b"), edge("b", "c")], [edge("a", "c"), edge("c", "b")]):
            yield self.example(workflow(*three, parallelGroups=groups, edges=links), good)


def _steps(definition: StudioWorkflow, cycle: Cycle) -> str:
    """Return the transitions of a cycle of nodes and groups, shown by the nodes that they connect."""
    between = {(_vertex(definition, item.source), _vertex(definition, item.target)): item for item in definition.edges}
    ways: list[list[str]] = []
    for pair in zip(cycle.ids, (*cycle.ids[1:], cycle.ids[0]), strict=True):
        item = between[pair]
        if ways and ways[-1][-1] == item.source:
            ways[-1].append(item.target)
        else:
            ways.append([item.source, item.target])
    return ", ".join(way(ids) for ids in ways)


def _vertex(definition: StudioWorkflow, node: str) -> str:
    group = definition.group_of.get(node)
    return node if group is None else group.id


class ConcatenateWithEditors(DefinitionRule):
    code = "BC337"
    name = "concatenate-with-editors"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "Lanes that edit files are merged with `concatenate`."
    why = "`concatenate` keeps the outputs and discards every edit of the lanes."
    bad = lanes("reviewer", "coding", mergeStrategy="concatenate")
    good = lanes("reviewer", "security", mergeStrategy="concatenate")

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for item in definition.parallel_groups:
            if item.merge_strategy != MergeStrategy.CONCATENATE.value:
                continue
            for at, node in definition.editing_lanes(item):
                assert node.block_type is not None
                lane = f"{node.block_type.value} lane {shown(node.id)}"
                text = f"the group {shown(item.id)} discards the edits of the {lane}"
                report(f"{item.pointer}/laneNodeIds/{at}", text)


class LaneGateIgnored(DefinitionRule):
    code = "BC339"
    name = "lane-gate-ignored"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A lane has a gate, but gates inside a group are never asked."
    why = "Lanes run side by side without stopping, so work continues that someone wanted to approve first."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for ident in definition.group_of:
            node = definition.by_id[ident]
            if node.asks:
                report(f"{node.pointer}/config/gateMode", f"the gate of the lane {shown(ident)} is never asked")
        for gate in definition.gates:
            if gate.node_id in definition.group_of:
                report(gate.pointer, f"the gate before the lane {shown(gate.node_id)} is never asked")

    def examples(self) -> Iterator[Example]:
        asking, plain = sample_node("a", config={"gateMode": "gate"}), sample_node("b")
        groups = [group("a", "b")]
        yield self.example(
            workflow(asking, plain, parallelGroups=groups), workflow(sample_node("a"), plain, parallelGroups=groups)
        )
