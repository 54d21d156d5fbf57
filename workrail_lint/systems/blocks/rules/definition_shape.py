"""The shape of definitions, and of mounts where it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import ANY, Description
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.rules.base import ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import (
    GATE,
    MOUNT_PATH,
    WORKFLOW_PATH,
    edge,
    group,
    lanes,
    mount,
    node,
    uuid,
    workflow,
)
from workrail_lint.systems.blocks.rules.shapes import shape_problem
from workrail_lint.systems.blocks.wording import shown

_UUID = Pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class DefinitionRule(BlockRule):
    """A rule about workflow definitions."""

    kinds: ClassVar[tuple[BlockKind, ...]] = (BlockKind.WORKFLOW,)
    example_path = WORKFLOW_PATH


class WorkflowDefinitionInvalid(BlockRule):
    code = "BC301"
    name = "workflow-definition-invalid"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A field of a definition or a mount is missing, unknown, blank, or of another type or form."
    why = "Studios refuse to load the file, or misread the value in the middle of a run."
    fix = "Add an empty list for `gates`, `variables` or `tags`. Wrap a single string in a list."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)
    describes = ((ANY,),)
    example_path = WORKFLOW_PATH

    def describe(self, violation: Violation, document: BlockDocument) -> Description:
        return shape_problem(violation, document)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for place, ident in _ids(document.definition) if document.options.studio else ():
            if _UUID.fullmatch(ident) is None:
                report(place, f"the studio can't load this definition: the id {shown(ident)} is not a UUID")

    def examples(self) -> Iterator[Example]:
        whole = workflow()
        last_out = {**{k: v for k, v in whole.items() if k != "gates"}, "gates": []}
        yield self.example(workflow(gates=...), whole, last_out)
        yield self.example(workflow(node("plan", label=...)), workflow(node("plan")))
        good = workflow(rules=["Keep it small."])
        yield self.example(workflow(rules="Keep it small."), good, good)
        yield self.example(workflow(timeoutSeconds="60"), workflow(timeoutSeconds=60))
        right = mount(fileRestrictions=["src/**"])
        yield Example(mount(fileRestrictions="src/**"), right, right, path=MOUNT_PATH)
        yield self.example(workflow(id="a b"), workflow(id="a-b"))
        bad, good = workflow(node("plan")), workflow(node(uuid(1)), id=uuid(0))
        yield self.example(bad, good, options={"block-profile": "studio"})
        yield self.example(workflow(node("dev", "coder")), workflow(node("dev", "coding")))
        yield self.example(workflow(node("plan", label="")), workflow(node("plan", label="Plan")))
        two = (node("a"), node("b"))
        yield self.example(
            workflow(*two, parallelGroups=[group("a", "b", label=" ")]),
            workflow(*two, parallelGroups=[group("a", "b")]),
        )
        yield self.example({**workflow(), "nodes": [], "transitions": []}, workflow())
        whole = workflow()
        yield self.example({**whole, "metadata": {**whole["metadata"], "name": " "}}, whole)
        two = (node("a"), node("b"))
        yield self.example(
            workflow(*two, edges=[edge("a", "b", "on_error")]), workflow(*two, edges=[edge("a", "b", "on_failure")])
        )
        yield self.example(
            workflow(node("plan", config={"gateMode": "manual"})), workflow(node("plan", config={"gateMode": "gate"}))
        )
        yield self.example(workflow(gates=[{**GATE, "gateType": "approve"}]), workflow(gates=[GATE]))
        bad = lanes("coding", "coding", mergeStrategy="custom")
        yield self.example(bad, lanes("coding", "coding", mergeStrategy="workspace"))
        yield self.example(
            workflow(node("plan", config={"maxTurns": 0})), workflow(node("plan", config={"maxTurns": 20}))
        )
        yield self.example(
            workflow(node("plan", config={"maxRetries": -1})), workflow(node("plan", config={"maxRetries": 0}))
        )


def _ids(definition: StudioWorkflow) -> Iterator[tuple[str, str]]:
    """Yield every id with its place."""
    parts = (definition.nodes, definition.transitions, definition.gates, definition.parallel_groups)
    for owner in (definition, *(each for part in parts for each in part)):
        if owner.has("id"):
            yield owner.at("id"), owner.id
