"""CT: output contracts, and what they do to everything else that could judge a step's output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Remove, Rename, Replace
from workrail_lint.findings import Fix, Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.rules.base import Step, Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, step_members
from workrail_lint.systems.workrail.rules.samples import step, workflow

ASSESSMENT = "wr.contracts.assessment"
_DIMENSION = {"id": "coverage", "purpose": "How much was read.", "levels": ["low", "high"]}
_ASSESSMENT = {"id": "depth", "purpose": "How deep the work went.", "dimensions": [_DIMENSION]}
_CRITERIA = [{"type": "contains", "value": "## Findings", "message": "List the findings under a heading."}]
_VERDICT = {"contractRef": "wr.contracts.review_verdict"}
_VERDICT_PROMPT = "Review the change and hand in a wr.review_verdict artifact."


def judged(step: Step) -> bool:
    """Whether what the step says about its output counts: a call's members are dropped with the calling step."""
    return step.kind == "standard" and not step.calls_template


class ContractRule(WorkflowRule):
    """A rule about what a step has to produce."""

    needs = frozenset({"outputContract", "assessmentRefs", "validationCriteria", "synthesis"})


class ContractNotSatisfiable(ContractRule):
    code = "CT001"
    name = "contract-not-satisfiable"
    severity = Severity.ERROR
    origin = "runtime"
    summary = "An output contract is one that the engine has no check for."
    why = (
        "The workflow compiles, but no artifact is ever accepted for such a contract: the run stays at the step, and "
        "an optional one can only be left out. Assessments are checked through `assessmentRefs` instead."
    )
    fix = "Refer to the declared assessment with `assessmentRefs`."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return not step_members(workflow).isdisjoint(("outputContract", "synthesis"))

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        if judged(step):
            self._judge(step, step.step.get("outputContract"), "outputContract", workflow, report)
        synthesis = step.step.get("synthesis")
        if step.kind == "parallel" and isinstance(synthesis, dict):
            self._judge(step, synthesis.get("outputContract"), "synthesis/outputContract", workflow, report)

    def _judge(self, step: Step, output: object, place: str, workflow: Workflow, report: Report) -> None:
        ref = output.get("contractRef") if isinstance(output, dict) else None
        contract = workflow.catalog.contracts.get(ref) if isinstance(ref, str) else None
        if contract is None or contract.runtime_validated:
            return
        rates = contract.id == ASSESSMENT and step.kind == "standard"
        advice = "use assessmentRefs" if rates else "choose a contract that is checked"
        report(
            f"{step.pointer}/{place}/contractRef",
            f"{label(step)}: no artifact can satisfy {quoted(contract.id)} as an output contract; {advice}",
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


def _use_assessment(step: Step, workflow: Workflow) -> Fix | None:
    """Replace the contract by a reference to the only assessment there is."""
    place = step.at("outputContract")
    if "assessmentRefs" in step.step:
        return unsafe("remove the contract", Remove(place))
    declared = workflow.definition.get("assessments")
    only = declared[0] if isinstance(declared, list) and len(declared) == 1 else None
    ident = only.get("id") if isinstance(only, dict) else None
    if not isinstance(ident, str):
        return None
    return unsafe(
        f"refer to the assessment {quoted(ident)}",
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
        "The contract alone decides whether the output is accepted. The criteria are still evaluated, their result is "
        "thrown away, and one that can't be evaluated blocks the run all the same."
    )
    fix = "Remove the criteria."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return step_members(workflow) >= {"outputContract", "validationCriteria"}

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        if judged(step) and "outputContract" in step.step and "validationCriteria" in step.step:
            place = step.at("validationCriteria")
            report(
                place,
                f"{label(step)}: the outputContract decides and the result of validationCriteria is ignored; keep one",
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
        "The contract alone decides whether the output is accepted, so a missing or invalid assessment no longer holds "
        "the run back. Only the consequences of an assessment that was handed in still do."
    )

    def applies(self, workflow: Workflow) -> bool:
        return step_members(workflow) >= {"outputContract", "assessmentRefs"}

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        if judged(step) and "outputContract" in step.step and "assessmentRefs" in step.step:
            report(
                step.at("assessmentRefs"),
                f"{label(step)}: next to an outputContract a missing or invalid assessment does not block; put the "
                "assessment on a step of its own",
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
    why = "The assessments alone decide whether the output is accepted; what the criteria say is thrown away."
    fix = "Remove the criteria."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return step_members(workflow) >= {"assessmentRefs", "validationCriteria"}

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        members = step.step
        if not judged(step) or "outputContract" in members:
            return
        if "assessmentRefs" in members and "validationCriteria" in members:
            place = step.at("validationCriteria")
            report(
                place,
                f"{label(step)}: the assessments decide and the result of validationCriteria is ignored; keep one",
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
        "A step with a contract needs no notes, and with `required: false` it needs no artifact either: an agent can "
        "pass it with nothing at all. Only an artifact that is there and malformed is refused."
    )

    def applies(self, workflow: Workflow) -> bool:
        return not step_members(workflow).isdisjoint(("outputContract", "synthesis"))

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        # What an optional decision does to the loop is a finding of its own.
        if judged(step) and not (step.decides_loop and step.pointer in workflow.loop_of):
            self._judge(step, step.step.get("outputContract"), "outputContract", workflow, report)
        synthesis = step.step.get("synthesis")
        if step.kind == "parallel" and isinstance(synthesis, dict):
            self._judge(step, synthesis.get("outputContract"), "synthesis/outputContract", workflow, report)

    def _judge(self, step: Step, output: object, place: str, workflow: Workflow, report: Report) -> None:
        if not isinstance(output, dict) or output.get("required") is not False:
            return
        contract = workflow.catalog.contracts.get(str(output.get("contractRef")))
        if contract is None or contract.runtime_validated:  # what nothing satisfies does not pass with nothing
            what = "the synthesis passes" if step.kind == "parallel" else "passes"
            report(
                f"{step.pointer}/{place}/required", f"{label(step)}: {what} without any output; drop required: false"
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
    summary = "A step brings an output schema of its own."
    why = (
        "Contracts are named, versioned and shared; a schema inside a step is refused. Choose a contract of the "
        "catalog, or describe the shape in the prompt."
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
    summary = "A step with an output contract says whether notes are optional."
    why = "Next to a contract notes are never required, whatever `notesOptional` says."
    fix = "Remove `notesOptional`."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return step_members(workflow) >= {"outputContract", "notesOptional"}

    def check_step(self, step: Step, workflow: Workflow, report: Report) -> None:
        if judged(step) and "outputContract" in step.step and "notesOptional" in step.step:
            place = step.at("notesOptional")
            report(
                place,
                f"{label(step)}: notesOptional changes nothing next to an outputContract; remove it",
                fix=unsafe("remove notesOptional", Remove(place)),
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT))
        bad = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT, notesOptional=True))
        yield Example(bad, good, good)
