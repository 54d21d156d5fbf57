"""CT: output contracts, and how they affect the other checks of a step's output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Rename, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, step_members
from workrail_lint.systems.workrail.rules.samples import step, workflow

ASSESSMENT = "wr.contracts.assessment"
_DIMENSION = {"id": "coverage", "purpose": "How much was read.", "levels": ["low", "high"]}
_ASSESSMENT = {"id": "depth", "purpose": "How deep the work went.", "dimensions": [_DIMENSION]}
_CRITERIA = [{"type": "contains", "value": "## Findings", "message": "List the findings under a heading."}]
_VERDICT = {"contractRef": "wr.contracts.review_verdict"}
_VERDICT_PROMPT = "Review the change and submit a wr.review_verdict artifact."


def judged(step: Step) -> bool:
    """Whether the step's members about its output count: those of a template call are dropped with the call."""
    return step.kind == "standard" and not step.calls_template


class ContractRule(WorkflowRule):
    """A rule about the output of a step."""

    needs = frozenset({"outputContract", "assessmentRefs", "validationCriteria", "synthesis"})


class ContractNotSatisfiable(ContractRule):
    code = "CT001"
    name = "contract-not-satisfiable"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "A step has an output contract that the engine can't validate."
    why = (
        "The workflow compiles, but no artifact ever satisfies such a contract: the run stays at the step, or an "
        "optional artifact can only be omitted (KD-30). Assessments are validated through `assessmentRefs` instead."
    )
    fix = "Use `assessmentRefs` with the declared assessment."
    fix_safety = "unsafe"
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if judged(step):
            self._judge(step, step.step.get("outputContract"), "outputContract", workflow, report)
        synthesis = step.step.get("synthesis")
        if step.kind == "parallel" and isinstance(synthesis, dict):
            self._judge(step, synthesis.get("outputContract"), "synthesis/outputContract", workflow, report)

    def _judge(self, step: Step, output: object, place: str, workflow: WorkflowContext, report: Report) -> None:
        ref = output.get("contractRef") if isinstance(output, dict) else None
        contract = workflow.catalog.contracts.get(ref) if isinstance(ref, str) else None
        if contract is None or contract.runtime_validated:
            return
        rates = contract.id == ASSESSMENT and step.kind == "standard"
        advice = "use assessmentRefs" if rates else "use another contract"
        report(
            f"{step.pointer}/{place}/contractRef",
            f"{label(step)}: the engine accepts no artifact for the output contract {quoted(contract.id)}; {advice}",
            fix=_use_assessment(step, workflow) if rates else None,
        )

    def examples(self) -> Iterable[Example]:
        prompt = "Rate the depth in a wr.assessment artifact."
        good = workflow(step(prompt=prompt, assessmentRefs=["depth"]), assessments=[_ASSESSMENT])
        bad = workflow(step(prompt=prompt, outputContract={"contractRef": ASSESSMENT}), assessments=[_ASSESSMENT])
        yield Example(bad, good, good)
        yield Example(
            workflow(step(outputContract={"contractRef": "wr.contracts.differentiation_handoff"})),
            workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT)),
        )


def _use_assessment(step: Step, workflow: WorkflowContext) -> Fix | None:
    """Replace the contract with a reference to the only assessment."""
    place = step.at("outputContract")
    if "assessmentRefs" in step.step:
        return unsafe("remove the contract", Remove(place))
    declared = workflow.definition.get("assessments")
    only = declared[0] if isinstance(declared, list) and len(declared) == 1 else None
    ident = only.get("id") if isinstance(only, dict) else None
    if not isinstance(ident, str):
        return None
    return unsafe(
        f"use the assessment {quoted(ident)}",
        Rename(place, "assessmentRefs"),
        Replace(step.at("assessmentRefs"), [ident]),
    )


class ContractAndCriteria(ContractRule):
    code = "CT002"
    name = "contract-and-criteria"
    severity = Severity.WARNING
    origin = "lock"
    summary = "A step has an output contract and validation criteria."
    why = (
        "Only the contract decides whether the output is accepted. The criteria are still evaluated, but their result "
        "is ignored; a criterion that can't be evaluated still blocks the run."
    )
    fix = "Remove the criteria."
    fix_safety = "unsafe"

    def applies(self, workflow: WorkflowContext) -> bool:
        return step_members(workflow) >= {"outputContract", "validationCriteria"}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if judged(step) and "outputContract" in step.step and "validationCriteria" in step.step:
            place = step.at("validationCriteria")
            report(
                place,
                f"{label(step)}: validationCriteria is ignored, because outputContract decides; keep one of them",
                fix=unsafe("remove the criteria", Remove(place)),
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT))
        bad = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT, validationCriteria=_CRITERIA))
        yield Example(bad, good, good)


class ContractShadowsAssessment(ContractRule):
    code = "CT003"
    name = "contract-shadows-assessment"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A step has an output contract and refers to assessments."
    why = (
        "Only the contract decides whether the output is accepted, so a missing or invalid assessment does not block "
        "the run. Only the consequences of a submitted assessment do."
    )

    def applies(self, workflow: WorkflowContext) -> bool:
        return step_members(workflow) >= {"outputContract", "assessmentRefs"}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if judged(step) and "outputContract" in step.step and "assessmentRefs" in step.step:
            report(
                step.at("assessmentRefs"),
                f"{label(step)}: next to an outputContract a missing or invalid assessment does not block the run; "
                "move the assessment to a separate step",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        rated = step("rate-it", "Rate the depth in a wr.assessment artifact.", assessmentRefs=["depth"])
        both = step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT, assessmentRefs=["depth"])
        yield Example(
            workflow(both, assessments=[_ASSESSMENT]),
            workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT), rated, assessments=[_ASSESSMENT]),
        )


class AssessmentShadowsCriteria(ContractRule):
    code = "CT004"
    name = "assessment-shadows-criteria"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A step refers to assessments and has validation criteria."
    why = "Only the assessments decide whether the output is accepted; the result of the criteria is ignored."
    fix = "Remove the criteria."
    fix_safety = "unsafe"

    def applies(self, workflow: WorkflowContext) -> bool:
        return step_members(workflow) >= {"assessmentRefs", "validationCriteria"}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        members = step.step
        if not judged(step) or "outputContract" in members:
            return
        if "assessmentRefs" in members and "validationCriteria" in members:
            place = step.at("validationCriteria")
            report(
                place,
                f"{label(step)}: validationCriteria is ignored, because assessmentRefs decides; keep one of them",
                fix=unsafe("remove the criteria", Remove(place)),
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        rated: dict[str, Any] = {"prompt": "Rate the depth in a wr.assessment artifact.", "assessmentRefs": ["depth"]}
        good = workflow(step(**rated), assessments=[_ASSESSMENT])
        yield Example(workflow(step(**rated, validationCriteria=_CRITERIA), assessments=[_ASSESSMENT]), good, good)


class ContractOptional(ContractRule):
    code = "CT005"
    name = "contract-optional"
    severity = Severity.WARNING
    origin = "product"
    summary = "An output contract is not required."
    why = (
        "A step with a contract needs no notes, and with `required: false` it needs no artifact either: an agent "
        "passes with no output at all. Only a malformed artifact is rejected."
    )
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        # LP026 reports an optional loop decision.
        if judged(step) and not (step.decides_loop and step.pointer in workflow.loop_of):
            self._judge(step, step.step.get("outputContract"), "outputContract", workflow, report)
        synthesis = step.step.get("synthesis")
        if step.kind == "parallel" and isinstance(synthesis, dict):
            self._judge(step, synthesis.get("outputContract"), "synthesis/outputContract", workflow, report)

    def _judge(self, step: Step, output: object, place: str, workflow: WorkflowContext, report: Report) -> None:
        if not isinstance(output, dict) or output.get("required") is not False:
            return
        contract = workflow.catalog.contracts.get(str(output.get("contractRef")))
        if contract is None or contract.runtime_validated:  # another rule reports contracts that can't be satisfied
            what = "synthesis" if step.kind == "parallel" else "step"
            report(
                f"{step.pointer}/{place}/required",
                f"{label(step)}: the {what} passes without any output; remove required: false",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(prompt=_VERDICT_PROMPT, outputContract={**_VERDICT, "required": False})),
            workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT)),
        )


class ContractInlineSchema(ContractRule):
    code = "CT007"
    name = "contract-inline-schema"
    severity = Severity.ERROR
    origin = "lock"
    summary = "A step defines its own output schema."
    why = (
        "Contracts are named, versioned and shared, and the engine rejects a schema inside a step. Use a contract of "
        "the catalog, or describe the shape in the prompt."
    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            workflow(step(prompt=_VERDICT_PROMPT, outputSchema={"type": "object"})),
            workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT)),
        )


class ContractNotesOptional(ContractRule):
    code = "CT009"
    name = "contract-notes-optional"
    severity = Severity.INFO
    origin = "product"
    summary = "A step has both an output contract and `notesOptional`."
    why = "A step with a contract never requires notes, whatever `notesOptional` says."
    fix = "Remove `notesOptional`."
    fix_safety = "unsafe"

    def applies(self, workflow: WorkflowContext) -> bool:
        return step_members(workflow) >= {"outputContract", "notesOptional"}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if judged(step) and "outputContract" in step.step and "notesOptional" in step.step:
            place = step.at("notesOptional")
            report(
                place,
                f"{label(step)}: notesOptional has no effect next to an outputContract; remove it",
                fix=unsafe("remove notesOptional", Remove(place)),
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT))
        bad = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT, notesOptional=True))
        yield Example(bad, good, good)
