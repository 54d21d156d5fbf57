"""BC330 to BC339: parallel groups and their lanes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from workrail_lint.documents.operations import Remove
from workrail_lint.findings import Severity
from workrail_lint.findings.fix import safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.definition import Definition, Group
from workrail_lint.systems.blocks.plan import Cycle, cycles_through_groups
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument
from workrail_lint.systems.blocks.rules.definition_graph import MOST_CIRCLES, unknown_node, way
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule, meant, written
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, control, edge, group, lanes, node, workflow
from workrail_lint.systems.blocks.vocabulary import MergeStrategy, members
from workrail_lint.systems.blocks.wording import shown, shown_list

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation


class GroupTooSmall(DefinitionRule):
    code = "BC330"
    name = "group-too-small"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A parallel group has fewer than two lanes (with exactly one: a warning)."
    why = "There is nothing to run in parallel; a single lane only pays for a workspace of its own and a merge."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword != "minItems" or not violation.pointer.endswith("/laneNodeIds"):
            return False
        found = document.definition.groups
        ident = next((item.id for item in found if violation.pointer.startswith(f"{item.pointer}/")), "")
        one = len(violation.value) == 1
        text = f"the group {shown(ident)} has {'only one lane' if one else 'no lane'}"
        report(violation.pointer, text, severity=Severity.WARNING if one else None)
        return True

    def examples(self) -> Iterator[Example]:
        two = (node("a"), node("b"))
        good = workflow(*two, parallelGroups=[group("a", "b")])
        yield Example(workflow(*two, parallelGroups=[group()], edges=[edge("a", "b")]), good, path=WORKFLOW_PATH)
        yield Example(workflow(*two, parallelGroups=[group("a")], edges=[edge("a", "b")]), good, path=WORKFLOW_PATH)


class GroupLaneUnknown(DefinitionRule):
    code = "BC331"
    name = "group-lane-unknown"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A lane is no node."
    why = "The lane can't run, and the fan-in waits for something that never comes."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for item in definition.groups:
            for at, ident in item.written_lanes:
                if ident not in definition.by_id:
                    what = unknown_node(ident, definition)
                    report(f"{item.pointer}/laneNodeIds/{at}", f"the group {shown(item.id)}: {what}")

    def examples(self) -> Iterator[Example]:
        two = (node("a"), node("b"))
        yield Example(
            workflow(*two, parallelGroups=[group("a", "b", "zz")]),
            workflow(*two, parallelGroups=[group("a", "b")]),
            path=WORKFLOW_PATH,
        )


class GroupLaneDuplicate(DefinitionRule):
    code = "BC332"
    name = "group-lane-duplicate"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A node stands twice in one group."
    why = "A node has one output file, so that it can't be two lanes."
    fix = "Keep the first."
    fix_safety = "safe"

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if violation.keyword != "uniqueItems":
            return False
        fix = safe("remove the repetition", Remove(violation.pointer))
        report(violation.pointer, f"{shown(violation.value)} is already a lane of this group", fix=fix)
        return True

    def examples(self) -> Iterator[Example]:
        two = (node("a"), node("b"))
        good = workflow(*two, parallelGroups=[group("a", "b")])
        yield Example(workflow(*two, parallelGroups=[group("a", "b", "a")]), good, good, path=WORKFLOW_PATH)


class GroupOverlap(DefinitionRule):
    code = "BC333"
    name = "group-overlap"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A node is a lane of two groups."
    why = "It can run only once, in one workspace, with one output file."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        owner: dict[str, Group] = {}
        for item in document.definition.groups:
            for at, ident in item.written_lanes:
                first = owner.setdefault(ident, item)
                if first is not item:
                    text = f"{shown(ident)} is a lane of {shown(first.id)} and of {shown(item.id)}"
                    report(f"{item.pointer}/laneNodeIds/{at}", text)

    def examples(self) -> Iterator[Example]:
        nodes = [node(name) for name in "abcd"]
        yield Example(
            workflow(*nodes, parallelGroups=[group("a", "b", ident="g1"), group("a", "c", "d", ident="g2")]),
            workflow(*nodes, parallelGroups=[group("a", "b", ident="g1"), group("c", "d", ident="g2")]),
            path=WORKFLOW_PATH,
        )


class GroupInternalPath(DefinitionRule):
    code = "BC334"
    name = "group-internal-path"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A transition leads from one lane of a group to another."
    why = "Lanes run at once and see nothing of each other, so that none can follow another."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for item in definition.edges:
            owner = definition.group_of.get(item.source)
            if owner is not None and item.source != item.target and definition.group_of.get(item.target) is owner:
                text = f"{shown(item.source)} leads to {shown(item.target)}, both lanes of {shown(owner.id)}"
                report(item.pointer, text)

    def examples(self) -> Iterator[Example]:
        three = (node("a"), node("b"), node("c"))
        groups = [group("a", "b")]
        yield Example(
            workflow(*three, parallelGroups=groups, edges=[edge("a", "b"), edge("b", "c")]),
            workflow(*three, parallelGroups=groups, edges=[edge("a", "c"), edge("b", "c")]),
            path=WORKFLOW_PATH,
        )


class GroupCycle(DefinitionRule):
    code = "BC335"
    name = "group-cycle"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "Transitions lead in a circle once the lanes of a group are taken as one."
    why = "A group starts and ends as a whole, so that what lies between its lanes could never run."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for cycle in islice(cycles_through_groups(document.definition), MOST_CIRCLES):
            involved = [item for item in document.definition.groups if item.id in cycle.ids]
            pointer = involved[0].pointer if involved else "/parallelGroups"
            circle = f"{way((*cycle.ids, cycle.ids[0]))} ({_steps(document.definition, cycle)})"
            report(
                pointer,
                f"with the lanes of {shown_list(item.id for item in involved)} as one there is a circle: {circle}",
            )

    def examples(self) -> Iterator[Example]:
        three = (node("a"), node("b"), node("c"))
        groups = [group("a", "b")]
        yield Example(
            workflow(*three, parallelGroups=groups, edges=[edge("a", "c"), edge("c", "b")]),
            workflow(*three, parallelGroups=groups, edges=[edge("a", "c"), edge("b", "c")]),
            path=WORKFLOW_PATH,
        )


def _steps(definition: Definition, cycle: Cycle) -> str:
    """The transitions that a circle of nodes and groups consists of, told by the nodes they lead from and to."""
    between = {(_vertex(definition, item.source), _vertex(definition, item.target)): item for item in definition.edges}
    ways: list[list[str]] = []
    for pair in zip(cycle.ids, (*cycle.ids[1:], cycle.ids[0]), strict=True):
        item = between[pair]
        if ways and ways[-1][-1] == item.source:
            ways[-1].append(item.target)
        else:
            ways.append([item.source, item.target])
    return ", ".join(way(ids) for ids in ways)


def _vertex(definition: Definition, node: str) -> str:
    group = definition.group_of.get(node)
    return node if group is None else group.id


class MergeStrategyUnknown(DefinitionRule):
    code = "BC336"
    name = "merge-strategy-unknown"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "The merge strategy of a group is none of the three."
    why = "Nobody knows how to bring the lanes together; `custom` was never defined."

    def check_violation(self, violation: Violation, document: BlockDocument, report: Report) -> bool:
        if not violation.pointer.endswith("/mergeStrategy"):
            return False
        hint = meant(violation.value, MergeStrategy) or f"; they are {', '.join(members(MergeStrategy))}"
        report(violation.pointer, f"{written(violation.value)} is no merge strategy{hint}")
        return True

    def examples(self) -> Iterator[Example]:
        bad = lanes("coding", "coding", mergeStrategy="custom")
        yield Example(bad, lanes("coding", "coding", mergeStrategy="workspace"), path=WORKFLOW_PATH)


class ConcatenateWithEditors(DefinitionRule):
    code = "BC337"
    name = "concatenate-with-editors"
    severity = Severity.WARNING
    origin = CONTRACT
    summary = "Lanes that edit files are only concatenated."
    why = "Concatenating keeps the outputs and throws every edit of the lanes away."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for item in definition.groups:
            if item.written_strategy != MergeStrategy.CONCATENATE.value:
                continue
            for at, found in definition.editing_lanes(item):
                assert found.block_type is not None
                text = (
                    f"the group {shown(item.id)} drops what the {found.block_type.value} lane {shown(found.id)} edits"
                )
                report(f"{item.pointer}/laneNodeIds/{at}", text)

    def examples(self) -> Iterator[Example]:
        bad = lanes("reviewer", "coding", mergeStrategy="concatenate")
        yield Example(bad, lanes("reviewer", "security", mergeStrategy="concatenate"), path=WORKFLOW_PATH)


class GroupHasControl(DefinitionRule):
    code = "BC338"
    name = "group-has-control"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "A lane is a control node."
    why = "Control nodes steer the run and leave no output; there is nothing to isolate and nothing to merge."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for item in definition.groups:
            for at, ident in item.written_lanes:
                if ident in definition.by_id and definition.by_id[ident].is_control:
                    report(f"{item.pointer}/laneNodeIds/{at}", f"{shown(ident)} is a control node and can't be a lane")

    def examples(self) -> Iterator[Example]:
        config = {"expression": "true", "trueBranchNodeId": "b", "falseBranchNodeId": "c"}
        choose = control("a", "condition", conditionConfig=config)
        nodes = (choose, node("b"), node("c"))
        links = [edge("a", "b"), edge("a", "c")]
        yield Example(
            workflow(*nodes, parallelGroups=[group("a", "b")], edges=links),
            workflow(*nodes, parallelGroups=[group("b", "c")], edges=links),
            path=WORKFLOW_PATH,
        )


class LaneGateIgnored(DefinitionRule):
    code = "BC339"
    name = "lane-gate-ignored"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A lane has a gate, though nobody is asked inside a group."
    why = "Lanes run side by side without stopping, so that work goes on which somebody wanted to approve first."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        definition = document.definition
        for ident in definition.group_of:
            found = definition.by_id[ident]
            if found.asks:
                report(f"{found.pointer}/config/gateMode", f"the gate of the lane {shown(ident)} is never asked")
        for at, gate in definition.gates:
            if isinstance(gate.get("nodeId"), str) and gate["nodeId"] in definition.group_of:
                report(f"/gates/{at}", f"the gate before the lane {shown(gate['nodeId'])} is never asked")

    def examples(self) -> Iterator[Example]:
        asking, plain = node("a", config={"gateMode": "gate"}), node("b")
        groups = [group("a", "b")]
        yield Example(
            workflow(asking, plain, parallelGroups=groups),
            workflow(node("a"), plain, parallelGroups=groups),
            path=WORKFLOW_PATH,
        )
