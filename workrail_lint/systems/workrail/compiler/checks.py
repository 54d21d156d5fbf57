"""C8 to C10: contracts and assessments refer to things that exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.suggest import nearest_id
from workrail_lint.base.wording import name_list, quoted
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

FOLLOWUP = "require_followup"


def check_contracts(steps: list[Node], catalog: Catalog) -> list[Finding]:
    """C9 (and its part of C11): every output contract is a pack of the catalog."""
    errors: list[Finding] = []
    for node in [node for node in steps if "outputContract" in node.step]:
        contract = node.step["outputContract"]
        ref = contract.get("contractRef") if isinstance(contract, dict) else None
        if not isinstance(ref, str) or ref in catalog.contracts:
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
    """A problem of a step's assessments: its code and name, the message, and the member it is about."""

    code: str
    name: str
    message: str
    part: str
    details: dict[str, object]


Levels = dict[str, set[str]]


def declared_levels(assessments: object) -> Levels:
    """The levels of all dimensions, by assessment id; the first declaration of an id counts."""
    levels: Levels = {}
    for item in _list(assessments):
        if isinstance(item, dict) and isinstance(item.get("id"), str):
            dimensions = [part for part in _list(item.get("dimensions")) if isinstance(part, dict)]
            found = [level for part in dimensions for level in _list(part.get("levels")) if isinstance(level, str)]
            levels.setdefault(item["id"], set(found))
    return levels


def check_assessments(steps: list[Node], declared: object) -> list[Finding]:
    """C10, for body steps too: the first problem of each step.

    Inside a body the engine checks only references and missing references; the other rules hold there too, since a
    run would fail on them.
    """
    errors: list[Finding] = []
    assessed = assessed_steps(steps)
    levels = declared_levels(declared) if assessed else {}
    for node in assessed:
        problem = next(assessment_problems(node, levels), None)
        if problem is not None:
            errors.append(
                compile_error(
                    problem.code,
                    problem.name,
                    "C10" if node.loop_id is None else "C11",
                    node,
                    problem.message,
                    f"{node.pointer}/{problem.part}" if node.origin is None else node.place,
                    engine=node.loop_id is None or problem.code in _CHECKED_IN_BODIES,
                    details=problem.details,
                )
            )
    return errors


def assessed_steps(steps: list[Node]) -> list[Node]:
    """The steps that refer to assessments, or say what follows from them."""
    return [node for node in steps if "assessmentRefs" in node.step or "assessmentConsequences" in node.step]


_CHECKED_IN_BODIES = ("UNKNOWN_ASSESSMENT_REF", "CONSEQUENCE_WITHOUT_REFS")


def assessment_problems(node: Node, levels: Levels) -> Iterator[AssessmentProblem]:
    """Everything that is wrong with a step's references and consequences, in the order of the checks."""
    step = node.step
    refs = [ref for ref in _list(step.get("assessmentRefs")) if isinstance(ref, str)]
    for index, ref in enumerate(refs):
        if ref not in levels:
            hint, details = _hint(ref, "declared assessments", levels)
            yield AssessmentProblem(
                "UNKNOWN_ASSESSMENT_REF",
                "assessment-ref-unknown" if levels else "assessment-ref-none-declared",
                f"{step_label(node)}: unknown assessment {quoted(ref)}{hint}",
                f"assessmentRefs/{index}",
                details,
            )
    consequences = _list(step.get("assessmentConsequences"))
    if consequences and not refs:
        yield AssessmentProblem(
            "CONSEQUENCE_WITHOUT_REFS",
            "consequence-without-refs",
            f"{step_label(node)}: assessmentConsequences requires assessmentRefs on the same step",
            "assessmentConsequences",
            {},
        )
        return
    seen: set[tuple[str, object]] = set()
    for index, consequence in enumerate(consequences):
        if isinstance(consequence, dict):
            yield from _consequence_problems(node, consequence, refs, levels, seen, f"assessmentConsequences/{index}")


def _consequence_problems(
    node: Node,
    consequence: dict[str, Any],
    refs: list[str],
    levels: Levels,
    seen: set[tuple[str, object]],
    part: str,
) -> Iterator[AssessmentProblem]:
    raw_when, raw_effect = consequence.get("when"), consequence.get("effect")
    when: dict[str, Any] = raw_when if isinstance(raw_when, dict) else {}
    effect: dict[str, Any] = raw_effect if isinstance(raw_effect, dict) else {}
    level, scope = when.get("anyEqualsLevel"), when.get("forAssessment")
    if scope is not None and scope not in refs:
        hint, details = did_you_mean(js.text(scope), refs)
        yield AssessmentProblem(
            "CONSEQUENCE_FOR_UNKNOWN_ASSESSMENT",
            "consequence-for-unknown",
            f"{step_label(node)}: forAssessment {quoted(scope)} is not in the step's assessmentRefs "
            f"({name_list(refs)}){hint}",
            f"{part}/when/forAssessment",
            details,
        )
        return
    assessments = [scope] if isinstance(scope, str) else refs
    if isinstance(level, str) and not [ref for ref in assessments if level in levels.get(ref, ())]:
        known = sorted({name for ref in assessments for name in levels.get(ref, ())})
        named = f"assessment {quoted(scope)}" if isinstance(scope, str) else "any referenced assessment"
        hint, details = _hint(level, "declared levels", known)
        yield AssessmentProblem(
            "CONSEQUENCE_UNKNOWN_LEVEL",
            "consequence-level-unknown",
            f"{step_label(node)}: level {quoted(level)} is not declared by {named}{hint}",
            f"{part}/when/anyEqualsLevel",
            details,
        )
        return
    if effect.get("kind") != FOLLOWUP:
        yield AssessmentProblem(
            "CONSEQUENCE_UNSUPPORTED_EFFECT",
            "schema-enum",
            f"{step_label(node)}: unsupported effect {quoted(effect.get('kind'))}; the only effect is {FOLLOWUP}",
            f"{part}/effect/kind",
            {},
        )
    pair = (js.text(level), js.text(scope))
    if pair in seen:
        scoped = f"for assessment {quoted(scope)}" if scope else "without forAssessment"
        yield AssessmentProblem(
            "CONSEQUENCE_DUPLICATE_TRIGGER",
            "consequence-duplicate-trigger",
            f"{step_label(node)}: two consequences trigger on level {quoted(level)} {scoped}, so their events would "
            "have the same deduplication key; merge them",
            f"{part}/when",
            {},
        )
    seen.add(pair)


def _hint(name: str, what: str, known: Collection[str]) -> tuple[str, dict[str, object]]:
    found = nearest_id(name, known)
    return name_hint(found, what, known), {} if found is None else {"suggestion": found}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
