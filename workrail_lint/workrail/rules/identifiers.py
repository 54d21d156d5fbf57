"""ID: ids of workflows, steps and what a step declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.documents.pointer import child
from workrail_lint.findings import Fix, Severity
from workrail_lint.findings.fix import Operation, Replace, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.workrail import identity
from workrail_lint.workrail.compiler.nodes import one_line, walk
from workrail_lint.workrail.identity import Verdict
from workrail_lint.workrail.rules.base import Condition, Step, Workflow, WorkflowRule
from workrail_lint.workrail.rules.samples import loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.findings import Finding
    from workrail_lint.workrail.compiler.compiled import CompiledWorkflow

RESERVED_KEYS = ("__proto__", "constructor", "prototype")
_LONGEST_EXPANDED = 128


# ------------------------------------------------------------------------------------------ the workflow's


class WorkflowIdPattern(WorkflowRule):
    code = "ID001"
    name = "workflow-id-pattern"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow's id has characters or a form that ids can't have."
    why = "Ids are looked up, sorted and used in file names everywhere; the engine refuses any other form."
    fix = "Write it in lower case, with `_` for every character that is not allowed."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: Workflow) -> Fix | None:
        ident = finding.details.get("suggestion")
        return unsafe(f"rename it to {ident}", Replace("/id", ident)) if isinstance(ident, str) else None

    def examples(self) -> Iterator[Example]:
        good = workflow(id="demo.flow")
        yield Example(workflow(id="Demo.Flow"), good, good)


class WorkflowIdSegmentShort(WorkflowRule):
    code = "ID002"
    name = "workflow-id-segment-short"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The namespace or the name in the workflow's id has only one character."
    why = "The engine's id policy would take it, but its schema asks for two characters on either side of the dot."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="a.review"), workflow(id="team.review"))


class WorkflowIdDots(WorkflowRule):
    code = "ID003"
    name = "workflow-id-dots"
    severity = Severity.ERROR
    origin = "schema"
    summary = "The workflow's id has more than one dot."
    why = "An id is one namespace and one name. Deeper levels do not exist, and the engine refuses them."

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="team.review.deep"), workflow(id="team.review-deep"))


class WorkflowIdReserved(WorkflowRule):
    code = "ID004"
    name = "workflow-id-reserved"
    severity = Severity.ERROR
    origin = "load"
    summary = "The workflow's id claims the namespace `wr`, which belongs to the workflows that ship with the engine."
    why = "The engine does not load it from any other source, and a bundled workflow of that id would win anyway."
    fix = "Move it to the namespace of its source."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return workflow.source_kind != "bundled" and workflow.id.startswith("wr.")

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        if identity.judge(workflow.id, workflow.source_kind) is not Verdict.RESERVED:
            return
        suggestion = identity.suggest(workflow.id.partition(".")[2], workflow.source_kind)
        message = f"the id {one_line(workflow.id)} is reserved: the namespace wr is for bundled workflows only"
        report("/id", *_renamed(message, suggestion))

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(id="wr.mine"), workflow(id="project.mine"), workflow(id="project.mine"))


class WorkflowIdLegacy(WorkflowRule):
    code = "ID005"
    name = "workflow-id-legacy"
    severity = Severity.WARNING
    origin = "load"
    summary = "The workflow's id has no namespace."
    why = (
        "Ids without one collide across sources and can't be saved any more; the engine loads them with a warning. "
        "Routines keep theirs: the template id they are called by is made from it."
    )
    fix = "Rename it to the id that follows from its source."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return _is_legacy(workflow) and not _is_new(workflow)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        message = f"the id {one_line(workflow.id)} has no namespace"
        report("/id", *_renamed(message, identity.suggest(workflow.id, workflow.source_kind)))

    def examples(self) -> Iterator[Example]:
        good = workflow(id="project.my_flow")
        yield Example(workflow(id="my-flow"), good, good, path="workflows/my-flow.json")


class WorkflowIdLegacyNew(WorkflowRule):
    code = "ID006"
    name = "workflow-id-legacy-new"
    severity = Severity.ERROR
    origin = "load"
    summary = "A file that the project marks as new has an id without a namespace."
    why = "Old ids are tolerated when they are loaded, but the engine does not save a workflow under such an id."
    fix = "Rename it to the id that follows from its source."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return _is_legacy(workflow) and _is_new(workflow)

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        message = f"the id {one_line(workflow.id)} of a new workflow has no namespace"
        report("/id", *_renamed(message, identity.suggest(workflow.id, workflow.source_kind)))

    def examples(self) -> Iterator[Example]:
        good = workflow(id="project.my_flow")
        yield Example(
            workflow(id="my-flow"), good, good, path="workflows/my-flow.json", options={"new_files": ["workflows/*"]}
        )


def _is_legacy(workflow: Workflow) -> bool:
    ident = workflow.id
    if "." in ident or not identity.is_valid(ident):
        return False
    return not (workflow.is_routine and ident.startswith("routine-"))


def _is_new(workflow: Workflow) -> bool:
    return bool(getattr(workflow, "is_new", False))


class _Reported(tuple[str]):
    """What `report` takes after the pointer."""


def _renamed(message: str, suggestion: str | None) -> tuple[str]:
    return (f"{message}; rename it to {one_line(suggestion)}" if suggestion else message,)
