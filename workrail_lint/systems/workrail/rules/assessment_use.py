"""AS: assessments that are valid but do not work as intended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.operations import Operation, Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.checks import declared_levels
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.assessments import assessment, consequence, dimension, rated
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.condition_facts import condition_facts
from workrail_lint.systems.workrail.rules.prose import label
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, workflow

_MIRRORS = ("confidence", "score")
_SAFE_ID = Pattern(r"[a-z0-9_-]+")


class AssessmentRule(WorkflowRule):
    """A rule about the use of assessments."""

    needs = frozenset({"assessments", "assessmentRefs", "assessmentConsequences"})


class _AssessmentRule(AssessmentRule):
    """A rule about workflows that declare assessments."""

    def applies(self, workflow: WorkflowContext) -> bool:
        return "assessments" in workflow.definition


class AssessmentLevelCase(_AssessmentRule):
    code = "AS004"
    name = "assessment-level-case"
    severity = Severity.WARNING
    origin = "product"
    summary = "Two levels of a dimension differ only in case or surrounding whitespace."
    why = (
        "A submitted level that matches none exactly is compared without regard to case. If two levels then match, "
        "the submission is ambiguous and rejected."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for ident, item, pointer in _dimensions(workflow):
            seen: dict[str, str] = {}
            for index, level in enumerate(_strings(item.get("levels"))):
                other = seen.setdefault(js.lower(js.trim(level)), level)
                if other != level:
                    report(
                        f"{pointer}/levels/{index}",
                        f"assessment {quoted(ident)}: levels {quoted(other)} and {quoted(level)} differ only in case "
                        "or whitespace; rename one",
                    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "Low", "low", "high"))]),
            workflow(rated(), assessments=[assessment("depth", dimension("coverage", "none", "low", "high"))]),
        )


class ConsequenceUnscoped(_AssessmentRule):
    code = "AS011"
    name = "consequence-unscoped"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A consequence has a level of several assessments and does not say which one it is for."
    why = (
        "The first assessment with the level fires the consequence, once, and the agent must guess which one is "
        "meant. Guidance that names each assessment, or a dimension of each, is fine."
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if "assessmentConsequences" not in step.step or step.calls_template:
            return
        refs = _strings(step.step.get("assessmentRefs"))
        levels = declared_levels(workflow.definition.get("assessments")) if len(refs) > 1 else {}
        for index, when in _triggers(step):
            level = when.get("anyEqualsLevel")
            sharing = [ref for ref in refs if level in levels.get(ref, ())]
            if "forAssessment" not in when and len(sharing) > 1 and not _names_each(step, index, sharing, workflow):
                report(
                    step.at("assessmentConsequences", index, "when"),
                    f"{label(step)}: level {quoted(level)} belongs to several assessments ({name_list(sharing)}); "
                    "set forAssessment",
                )

    def examples(self) -> Iterable[Example]:
        both = [assessment("depth"), assessment("breadth")]

        def asking(*consequences: dict[str, Any]) -> dict[str, Any]:
            return workflow(rated("depth", "breadth", assessmentConsequences=list(consequences)), assessments=both)

        yield Example(asking(consequence("low")), asking(consequence("low", "depth"), consequence("low", "breadth")))


def _names_each(step: Step, index: int, refs: list[str], workflow: WorkflowContext) -> bool:
    """Whether the guidance of a consequence names every one of the assessments, or a dimension of it."""
    effect = step.step["assessmentConsequences"][index].get("effect")
    guidance = effect.get("guidance") if isinstance(effect, dict) else None
    declared = {item.get("id"): item for item in _assessments(workflow)}
    return isinstance(guidance, str) and all(
        any(
            name in guidance
            for name in (ref, *(str(entry.get("id")) for entry in _list(declared[ref].get("dimensions"))))
        )
        for ref in refs
    )


class AssessmentNoConsequence(_AssessmentRule):
    code = "AS012"
    name = "assessment-no-consequence"
    severity = Severity.INFO
    origin = "spec"
    summary = "A step asks for an assessment that has no consequences."
    why = "The rating is recorded but never used: the run continues the same way whatever the agent answers."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        levels = declared_levels(workflow.definition.get("assessments"))
        used = {ref for step in workflow.all_steps for ref in _with_consequence(step, levels)}
        for step in workflow.all_steps:
            if step.calls_template:
                continue
            for index, ref in enumerate(_strings(step.step.get("assessmentRefs"))):
                if ref in levels and ref not in used:
                    report(
                        step.at("assessmentRefs", index),
                        f"{label(step)}: no step has consequences for assessment {quoted(ref)}, so the rating changes "
                        "nothing; add assessmentConsequences",
                    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(rated(), assessments=[assessment()]),
            workflow(rated(assessmentConsequences=[consequence()]), assessments=[assessment()]),
        )


def _with_consequence(step: Step, levels: dict[str, set[str]]) -> Iterator[str]:
    """The assessments of a step that one of its consequences is about, with a level that it has or that none has."""
    refs = _strings(step.step.get("assessmentRefs"))
    known = {level for ref in refs for level in levels.get(ref, ())}
    for _, when in _triggers(step):
        scope, level = when.get("forAssessment"), when.get("anyEqualsLevel")
        for ref in refs:
            # A level that no assessment has is a typo, which another rule reports.
            if (scope is None or scope == ref) and (level in levels.get(ref, ()) or level not in known):
                yield ref


class AssessmentIdUnsafe(_AssessmentRule):
    code = "AS013"
    name = "assessment-id-unsafe"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An assessment with consequences has an id with characters other than a-z, 0-9, `_` and `-`."
    why = "The id becomes part of the key under which a consequence is recorded; other characters break that key."
    fix = "Rewrite the id in lower case with hyphens, everywhere it is used."
    fix_safety = "unsafe"

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        involved = {
            ref
            for step in workflow.all_steps
            if "assessmentConsequences" in step.step
            for ref in _strings(step.step.get("assessmentRefs"))
        }
        taken = [item.get("id") for item in _assessments(workflow)]
        for index, item in enumerate(_assessments(workflow)):
            ident = item.get("id")
            if not isinstance(ident, str) or ident not in involved or _SAFE_ID.fullmatch(ident):
                continue
            slug = re.sub(r"[^a-z0-9_-]+", "-", ident.lower()).strip("-")
            fix = None
            if slug and slug not in taken:
                taken.append(slug)  # two ids may get the same slug
                fix = unsafe(f"rename it to {slug}", *_renamed(workflow, index, ident, slug))
            report(
                f"/assessments/{index}/id",
                f"assessment id {quoted(ident)} has characters other than a-z, 0-9, _ and -, so its consequences "
                "can't be recorded; rename it",
                fix=fix,
            )

    def examples(self) -> Iterable[Example]:
        def named(ident: str) -> dict[str, Any]:
            asked = rated(ident, assessmentConsequences=[consequence("low", ident)])
            return workflow(asked, assessments=[assessment(ident)])

        yield Example(named("Gate One"), named("gate-one"), named("gate-one"))


def _renamed(workflow: WorkflowContext, index: int, ident: str, slug: str) -> Iterator[Operation]:
    """Replace an id in its declaration and in every reference to it."""
    yield Replace(f"/assessments/{index}/id", slug)
    for step in workflow.all_steps:
        for position, ref in enumerate(_list(step.step.get("assessmentRefs"))):
            if ref == ident:
                yield Replace(step.at("assessmentRefs", position), slug)
        for position, when in _triggers(step):
            if when.get("forAssessment") == ident:
                yield Replace(step.at("assessmentConsequences", position, "when", "forAssessment"), slug)


class AssessmentMirrorDimension(_AssessmentRule):
    code = "AS014"
    name = "assessment-mirror-dimension"
    severity = Severity.INFO
    origin = "spec"
    summary = "A dimension is a lone `confidence` or `score`, or has the name of a variable that conditions test."
    why = (
        "An assessment should rate properties of the work. A single overall score rates how the agent feels, and a "
        "dimension that mirrors a context variable is rated to match it."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for index, item in enumerate(_assessments(workflow)):
            dimensions = [entry for entry in _list(item.get("dimensions")) if isinstance(entry, dict)]
            for position, entry in enumerate(dimensions):
                ident = entry.get("id")
                if len(dimensions) == 1 and isinstance(ident, str) and ident.lower() in _MIRRORS:
                    fault = "rates one overall impression; rate specific qualities of the work instead"
                elif ident in _condition_variables(workflow):
                    fault = "is also a context variable that conditions test; rate what the variable is based on"
                else:
                    continue
                report(
                    f"/assessments/{index}/dimensions/{position}/id",
                    f"assessment {quoted(item.get('id'))}: dimension {quoted(ident)} {fault}",
                )

    def examples(self) -> Iterable[Example]:
        good = workflow(rated(), assessments=[assessment()])
        yield Example(workflow(rated(), assessments=[assessment("depth", dimension("confidence"))]), good)
        branch = samples.step("dig-deeper", runCondition={"var": "risk", "equals": "high"})
        yield Example(
            workflow(rated(), branch, assessments=[assessment("depth", dimension("risk"))]),
            workflow(rated(), branch, assessments=[assessment()]),
        )


@lru_cache(maxsize=4)
def _condition_variables(workflow: WorkflowContext) -> frozenset[str]:
    return frozenset(condition_facts(workflow).by_variable)


class AssessmentOnLoopControl(_AssessmentRule):
    code = "AS015"
    name = "assessment-on-loop-control"
    severity = Severity.INFO
    origin = "product"
    summary = "The step that decides a loop also asks for an assessment."
    why = (
        "Next to the loop-control contract, a missing or invalid assessment does not block the step. On a separate "
        "step before the decision it does."
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.decides_loop and "assessmentRefs" in step.step and not step.calls_template:
            report(
                step.at("assessmentRefs"),
                f"{label(step)}: this step decides the loop, so its assessment is not enforced; move the assessment to "
                "an earlier step",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        asked = decision(assessmentRefs=["depth"])
        yield Example(
            workflow(controlled_loop(samples.step("inner-step"), asked), assessments=[assessment()]),
            workflow(controlled_loop(rated(), decision()), assessments=[assessment()]),
        )


class ConsequenceInescapable(_AssessmentRule):
    code = "AS016"
    name = "consequence-inescapable"
    severity = Severity.ERROR
    origin = "run time"
    summary = "Every level of a required dimension triggers a follow-up."
    why = (
        "A follow-up ends when the agent rates the step again at a level that triggers none. Without such a level the "
        "step stays blocked forever, whatever the agent does."
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if "assessmentConsequences" not in step.step or step.calls_template or step.decides_loop:
            return
        refs = _strings(step.step.get("assessmentRefs"))
        for ref, entry, _ in _dimensions(workflow):
            if ref not in refs or entry.get("required") is False:
                continue
            alarms = {
                when.get("anyEqualsLevel")
                for _, when in _triggers(step)
                if when.get("forAssessment", ref) == ref and isinstance(when.get("anyEqualsLevel"), str)
            }
            levels = _strings(entry.get("levels"))
            if levels and alarms.issuperset(levels):
                report(
                    step.at("assessmentConsequences"),
                    f"{label(step)}: every level of {quoted(ref)}.{quoted(entry.get('id'))} ({name_list(levels)}) "
                    "triggers a follow-up, so the step can never complete; leave one level without a consequence",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        def asking(*consequences: dict[str, Any]) -> dict[str, Any]:
            return workflow(rated(assessmentConsequences=list(consequences)), assessments=[assessment()])

        yield Example(asking(consequence("low"), consequence("high")), asking(consequence("low")))


# ------------------------------------------------------------------------------------------------ helpers


def _assessments(workflow: WorkflowContext) -> list[dict[str, Any]]:
    return [item if isinstance(item, dict) else {} for item in _list(workflow.definition.get("assessments"))]


def _dimensions(workflow: WorkflowContext) -> Iterator[tuple[object, dict[str, Any], str]]:
    for index, item in enumerate(_assessments(workflow)):
        for position, entry in enumerate(_list(item.get("dimensions"))):
            if isinstance(entry, dict):
                yield item.get("id"), entry, f"/assessments/{index}/dimensions/{position}"


def _triggers(step: Step) -> Iterator[tuple[int, dict[str, Any]]]:
    for index, item in enumerate(_list(step.step.get("assessmentConsequences"))):
        when = item.get("when") if isinstance(item, dict) else None
        if isinstance(when, dict):
            yield index, when


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _strings(value: object) -> list[str]:
    return [item for item in _list(value) if isinstance(item, str)]
