"""AS: assessments that the engine rejects; earlier phases detect them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workrail_lint.findings import Fix, Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import use_suggestion, value_at
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.findings import Finding


def dimension(ident: str = "coverage", *levels: str) -> dict[str, Any]:
    return {"id": ident, "purpose": "How much was read.", "levels": list(levels) or ["low", "high"]}


def assessment(ident: str = "depth", *dimensions: dict[str, Any]) -> dict[str, Any]:
    return {"id": ident, "purpose": "How deep the work went.", "dimensions": list(dimensions) or [dimension()]}


def consequence(level: str = "low", assessment_id: str | None = None) -> dict[str, Any]:
    when = {"anyEqualsLevel": level}
    if assessment_id is not None:
        when["forAssessment"] = assessment_id
    return {"when": when, "effect": {"kind": "require_followup", "guidance": "Read what was left out."}}


def rated(*refs: str, **members: Any) -> dict[str, Any]:
    return step(
        "rate-it", "Rate the depth in a wr.assessment artifact.", assessmentRefs=list(refs or ("depth",)), **members
    )


class AssessmentIdDuplicate(WorkflowRule):
    code = "AS001"
    name = "assessment-id-duplicate"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two assessments have the same id."
    why = "Steps refer to an assessment by its id, so the second one can never be used."

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment(), assessment("depth", dimension("effort"))]),
            workflow(rated(), assessments=[assessment("depth", dimension(), dimension("effort"))]),
        )


class AssessmentDimensionDuplicate(WorkflowRule):
    code = "AS002"
    name = "assessment-dimension-duplicate"
    severity = Severity.ERROR
    origin = "struct"
    summary = "Two dimensions of an assessment have the same id."
    why = "A submission names each dimension once, so the second one could never be rated."

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment("depth", dimension(), dimension())]),
            workflow(rated(), assessments=[assessment("depth", dimension(), dimension("effort"))]),
        )


class AssessmentLevelDuplicate(WorkflowRule):
    code = "AS003"
    name = "assessment-level-duplicate"
    severity = Severity.ERROR
    origin = "schema"
    summary = "A dimension lists a level twice."
    why = "Levels are a set of choices; a repeated level is usually a typo for another one."

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "low", "low"))]),
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "low", "high"))]),
        )


class AssessmentRefNoneDeclared(WorkflowRule):
    code = "AS005"
    name = "assessment-ref-none-declared"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A step refers to an assessment, but the workflow declares none."
    why = "Without its dimensions and levels there is nothing to rate, so no submission could be valid."

    def examples(self) -> Iterable[Example]:
        yield Example(workflow(rated()), workflow(rated(), assessments=[assessment()]))


class AssessmentRefUnknown(WorkflowRule):
    code = "AS006"
    name = "assessment-ref-unknown"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A step refers to an assessment that is not declared."
    why = "Without its dimensions and levels there is nothing to rate, so no submission could be valid."
    fix = "Use the closest declared assessment id."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        return use_suggestion(finding, workflow)

    def examples(self) -> Iterable[Example]:
        good = workflow(rated("depth"), assessments=[assessment("depth")])
        yield Example(workflow(rated("dept"), assessments=[assessment("depth")]), good, good)


class ConsequenceWithoutRefs(WorkflowRule):
    code = "AS007"
    name = "consequence-without-refs"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A step has `assessmentConsequences` but no `assessmentRefs`."
    why = "A consequence fires on a level that is rated on the same step; here nothing is rated."

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(assessmentConsequences=[consequence()]), rated(), assessments=[assessment()]),
            workflow(step(), rated(assessmentConsequences=[consequence()]), assessments=[assessment()]),
        )


class ConsequenceLevelUnknown(WorkflowRule):
    code = "AS008"
    name = "consequence-level-unknown"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A consequence is triggered by a level that no assessment in its scope has."
    why = "Levels are compared exactly, so the consequence would never fire."
    fix = "Use the closest declared level."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        place, is_own, _ = finding.pointer.partition("/when/anyEqualsLevel")
        holder, _, index = place.rpartition("/")
        consequences = value_at(workflow.definition, holder)
        if not is_own or not isinstance(consequences, list):
            return None  # it comes from a template
        meant = {found.pointer: found.details.get("suggestion") for found in workflow.found if found.name == self.name}
        triggers = [_trigger(item) for item in consequences]
        scope, position = triggers[int(index)][1], int(index)
        suggested = [
            (meant.get(f"{holder}/{at}/when/anyEqualsLevel"), scope)
            for at, (_, scope) in enumerate(triggers[:position])
        ]
        # A duplicate trigger would be another error.
        if (finding.details.get("suggestion"), scope) in (*triggers, *suggested):
            return None
        return use_suggestion(finding, workflow)

    def examples(self) -> Iterable[Example]:
        def waiting(level: str) -> dict[str, Any]:
            return workflow(rated(assessmentConsequences=[consequence(level)]), assessments=[assessment()])

        good = waiting("low")
        yield Example(waiting("lov"), good, good)
        yield Example(waiting("middling"), good)


def _trigger(item: object) -> tuple[object, object]:
    """What triggers a consequence: a level, and the assessment it is for."""
    when = item.get("when") if isinstance(item, dict) else None
    return (when.get("anyEqualsLevel"), when.get("forAssessment")) if isinstance(when, dict) else (None, None)


class ConsequenceForUnknown(WorkflowRule):
    code = "AS009"
    name = "consequence-for-unknown"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A consequence names an assessment that its step does not refer to."
    why = "A consequence only sees the assessments of its step, so it would never fire."

    def examples(self) -> Iterable[Example]:
        both = [assessment("depth"), assessment("breadth")]
        asked = rated("breadth")
        yield Example(
            workflow(rated(assessmentConsequences=[consequence("low", "breadth")]), assessments=both),
            workflow(
                rated(assessmentConsequences=[consequence("low", "depth")]), {**asked, "id": "more"}, assessments=both
            ),
        )


class ConsequenceDuplicateTrigger(WorkflowRule):
    code = "AS010"
    name = "consequence-duplicate-trigger"
    severity = Severity.ERROR
    origin = "compile (top level), runtime (body)"
    summary = "Two consequences of a step have the same trigger."
    why = (
        "Both would be recorded under the same key. At the top level the compiler rejects this; in a loop body the "
        "run fails when the consequence fires."
    )

    def examples(self) -> Iterable[Example]:
        twice = [consequence("low"), consequence("low")]
        good = workflow(rated(assessmentConsequences=twice[:1]), assessments=[assessment()])
        yield Example(workflow(rated(assessmentConsequences=twice), assessments=[assessment()]), good)
        yield Example(workflow(loop(rated(assessmentConsequences=twice)), assessments=[assessment()]), good)
