"""C8 to C10: contracts and assessments refer to things that exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workrail_lint.base.suggest import nearest_id
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.compiler.nodes import (
    Node,
    catalog_hint,
    compile_error,
    did_you_mean,
    name_hint,
    step_label,
)

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.catalog.catalog import Catalog
    from workrail_lint.systems.workrail.model.workflow import AssessmentConsequence, AssessmentDefinition, StandardStep

FOLLOWUP = "require_followup"


def check_contracts(steps: list[Node], catalog: Catalog) -> list[Finding]:
    """C9 (and its part of C11): every output contract is a pack of the catalog."""
    errors: list[Finding] = []
    for node in steps:
        ref = node.model.contract
        if ref is None or ref in catalog.contracts:
            continue
        hint, details = catalog_hint(ref, catalog.workflow_contracts)
        errors.append(
            compile_error(
                "UNKNOWN_CONTRACT_REF",
                "contract-unknown",
                "C9" if node.loop_id is None else "C11",
                node,
                f"{step_label(node)}: unknown contract {quoted(ref)}{hint}",
                _contract_pointer(node),
                details=details,
            )
        )
    return errors


def _contract_pointer(node: Node) -> str:
    if node.origin is None:
        return f"{node.pointer}/outputContract/contractRef"
    if node.origin.source == "virtual":
        return f"{node.pointer}/{node.origin.part}/outputContract/contractRef"
    return node.place


class AssessmentProblem(NamedTuple):
    """A problem of a step's assessments: its code and name, the message, and its place."""

    code: str
    name: str
    message: str
    pointer: str
    details: dict[str, object]


Levels = dict[str, set[str]]


def declared_levels(assessments: Sequence[AssessmentDefinition]) -> Levels:
    """Return the levels of all dimensions, by assessment id; the first declaration of an id counts."""
    levels: Levels = {}
    for assessment in assessments:
        if assessment.has("id"):
            of_all = {level for dimension in assessment.dimensions for level in dimension.levels}
            levels.setdefault(assessment.id, of_all)
    return levels


def check_assessments(steps: list[Node], declared: Sequence[AssessmentDefinition]) -> list[Finding]:
    """C10, for body steps too: the first problem of each step.

    Inside a body the engine checks only references and missing references; the other rules hold there too, since a
    run would fail on them.
    """
    errors: list[Finding] = []
    levels = declared_levels(declared)
    for node in steps:
        step = node.model
        problem = next(assessment_problems(step, step_label(node), levels), None) if step.kind == "standard" else None
        if problem is not None:
            errors.append(
                compile_error(
                    problem.code,
                    problem.name,
                    "C10" if node.loop_id is None else "C11",
                    node,
                    problem.message,
                    problem.pointer if node.origin is None else node.place,
                    engine=node.loop_id is None or problem.code in _CHECKED_IN_BODIES,
                    details=problem.details,
                )
            )
    return errors


_CHECKED_IN_BODIES = ("UNKNOWN_ASSESSMENT_REF", "CONSEQUENCE_WITHOUT_REFS")


def assessment_problems(step: StandardStep, label: str, levels: Levels) -> Iterator[AssessmentProblem]:
    """Yield everything that is wrong with a step's references and consequences, in the order of the checks."""
    for index, ref in numbered(step.assessment_refs):
        if ref not in levels:
            hint, details = _hint(ref, "declared assessments", levels)
            yield AssessmentProblem(
                "UNKNOWN_ASSESSMENT_REF",
                "assessment-ref-unknown" if levels else "assessment-ref-none-declared",
                f"{label}: unknown assessment {quoted(ref)}{hint}",
                step.at("assessmentRefs", index),
                details,
            )
    if step.assessment_consequences and not step.assessment_refs:
        yield AssessmentProblem(
            "CONSEQUENCE_WITHOUT_REFS",
            "consequence-without-refs",
            f"{label}: assessmentConsequences requires assessmentRefs on the same step",
            step.at("assessmentConsequences"),
            {},
        )
        return
    seen: set[tuple[str, str | None]] = set()
    for consequence in step.assessment_consequences:
        yield from _consequence_problems(consequence, label, step.assessment_refs, levels, seen)


def _consequence_problems(
    consequence: AssessmentConsequence,
    label: str,
    refs: Sequence[str],
    levels: Levels,
    seen: set[tuple[str, str | None]],
) -> Iterator[AssessmentProblem]:
    when, effect = consequence.when, consequence.effect
    level, scope = when.any_equals_level, when.for_assessment
    if scope is not None and scope not in refs:
        hint, details = did_you_mean(scope, refs)
        yield AssessmentProblem(
            "CONSEQUENCE_FOR_UNKNOWN_ASSESSMENT",
            "consequence-for-unknown",
            f"{label}: forAssessment {quoted(scope)} is not in the step's assessmentRefs ({name_list(refs)}){hint}",
            when.at("forAssessment"),
            details,
        )
        return
    assessments = refs if scope is None else [scope]
    if when.has("anyEqualsLevel") and not any(level in levels.get(ref, ()) for ref in assessments):
        known = sorted({name for ref in assessments for name in levels.get(ref, ())})
        named = "any referenced assessment" if scope is None else f"assessment {quoted(scope)}"
        hint, details = _hint(level, "declared levels", known)
        yield AssessmentProblem(
            "CONSEQUENCE_UNKNOWN_LEVEL",
            "consequence-level-unknown",
            f"{label}: level {quoted(level)} is not declared by {named}{hint}",
            when.at("anyEqualsLevel"),
            details,
        )
        return
    if effect.kind is None:
        yield AssessmentProblem(
            "CONSEQUENCE_UNSUPPORTED_EFFECT",
            "schema-enum",
            f"{label}: unsupported effect {quoted(effect.raw.get('kind'))}; the only effect is {FOLLOWUP}",
            effect.at("kind"),
            {},
        )
    if (level, scope) in seen:
        scoped = f"for assessment {quoted(scope)}" if scope else "without forAssessment"
        yield AssessmentProblem(
            "CONSEQUENCE_DUPLICATE_TRIGGER",
            "consequence-duplicate-trigger",
            f"{label}: two consequences trigger on level {quoted(level)} {scoped}, so their events would "
            "have the same deduplication key; merge them",
            when.pointer,
            {},
        )
    seen.add((level, scope))


def _hint(name: str, what: str, known: Collection[str]) -> tuple[str, dict[str, object]]:
    found = nearest_id(name, known)
    return name_hint(found, what, known), {} if found is None else {"suggestion": found}
