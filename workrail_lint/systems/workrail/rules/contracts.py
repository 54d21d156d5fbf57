"""CT: output contracts, how they affect the other checks of a step, and artifacts that prompts describe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.operations import Insert, Operation, Remove, Rename, Replace
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.documents.schema.messages import shown
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.rules.describing import Description
from workrail_lint.systems.workrail.compat.normalize import OUTPUT_CONTRACT, OUTPUT_HINTS
from workrail_lint.systems.workrail.model.workflow import OutputContract, Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule, has_own_output
from workrail_lint.systems.workrail.rules.prose import label, listing, step_members, value_at
from workrail_lint.systems.workrail.rules.rule_needs import DESIGN_FORM
from workrail_lint.systems.workrail.rules.samples import step, workflow
from workrail_lint.systems.workrail.step_place import StepPlace

ASSESSMENT = "wr.contracts.assessment"
COORDINATOR_RESULT = "wr.coordinator_result"
_COORDINATOR_MEMBERS = ("kind", "outcome", "summary", "sessionId", "error")
_SENTENCE_BREAK = Pattern(r"(?<=[.!?])[ \t]+|[\r\n]+")
_DIMENSION = {"id": "coverage", "purpose": "How much was read.", "levels": ["low", "high"]}
_ASSESSMENT = {"id": "depth", "purpose": "How deep the work went.", "dimensions": [_DIMENSION]}
_CRITERIA = [{"type": "contains", "value": "## Findings", "message": "List the findings under a heading."}]
_VERDICT = {"contractRef": "wr.contracts.review_verdict"}
_VERDICT_PROMPT = "Review the change and submit a wr.review_verdict artifact."


def output_contract(step: Step) -> OutputContract | None:
    """Return the contract of the step's output, or of what a parallel step's synthesis submits, if it counts."""
    if step.kind == "parallel":
        return step.synthesis.output_contract if step.synthesis is not None else None
    return step.output_contract if step.kind == "standard" and not step.calls_template else None


# Members that authors use for an inline output schema, where only a catalog contract is allowed.
_INLINE_SCHEMA = frozenset(
    ("inlineSchema", "jsonSchema", "outputSchema", "outputSchemaRef", "responseSchema", "schema", "schemaRef")
)


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
        "optional artifact can only be omitted (engine defect KD-30). Assessments are validated through "
        "`assessmentRefs` instead."
    )
    fix = "Use `assessmentRefs` with the declared assessment."
    needs = frozenset({"outputContract", "synthesis"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        output = output_contract(step)
        contract = workflow.catalog.contracts.get(output.contract_ref) if output is not None else None
        if output is None or contract is None or contract.runtime_validated:
            return
        rates = contract.id == ASSESSMENT and step.kind == "standard"
        advice = "use assessmentRefs" if rates else "use another contract"
        report(
            output.at("contractRef"),
            f"{label(step)}: the engine accepts no artifact for the output contract {quoted(contract.id)}; {advice}",
            fix=self._use_assessment(step, workflow) if rates else None,
        )

    @staticmethod
    def _use_assessment(step: Step, workflow: WorkflowContext) -> Fix | None:
        """Replace the contract with a reference to the only assessment."""
        place = step.at("outputContract")
        if "assessmentRefs" in step:
            return unsafe("remove the contract", Remove(place))
        if len(workflow.model.assessments) != 1 or "id" not in workflow.model.assessments[0]:
            return None
        ident = workflow.model.assessments[0].id
        return unsafe(
            f"use the assessment {quoted(ident)}",
            Rename(place, "assessmentRefs"),
            Replace(step.at("assessmentRefs"), [ident]),
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

    def applies(self, workflow: WorkflowContext) -> bool:
        return step_members(workflow) >= {"outputContract", "validationCriteria"}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if has_own_output(step) and "outputContract" in step and "validationCriteria" in step:
            place = step.at("validationCriteria")
            report(
                place,
                f"{label(step)}: validationCriteria is ignored, because outputContract decides; keep one of them",
                fix=unsafe("remove `validationCriteria`", Remove(place)),
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
        if has_own_output(step) and "outputContract" in step and "assessmentRefs" in step:
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

    def applies(self, workflow: WorkflowContext) -> bool:
        return step_members(workflow) >= {"assessmentRefs", "validationCriteria"}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if not has_own_output(step) or "outputContract" in step:
            return
        if "assessmentRefs" in step and "validationCriteria" in step:
            place = step.at("validationCriteria")
            report(
                place,
                f"{label(step)}: validationCriteria is ignored, because assessmentRefs decides; keep one of them",
                fix=unsafe("remove `validationCriteria`", Remove(place)),
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
        output = output_contract(step)
        # LP026 reports an optional loop decision.
        if output is None or output.required is not False or (step.decides_loop and step.pointer in workflow.loop_of):
            return
        contract = workflow.catalog.contracts.get(output.contract_ref)
        if contract is None or contract.runtime_validated:  # another rule reports contracts that can't be satisfied
            what = "synthesis" if step.kind == "parallel" else "step"
            report(
                output.at("required"),
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
    describes = (("StandardStep", "additionalProperties"), ("OutputContract", "additionalProperties"))
    bad = {"prompt": "Review the change and submit a wr.review_verdict artifact.", "outputSchema": {"type": "object"}}
    good = {
        "prompt": "Review the change and submit a wr.review_verdict artifact.",
        "outputContract": {"contractRef": "wr.contracts.review_verdict"},
    }

    def describe(self, violation: Violation, place: StepPlace) -> Description | None:
        if violation.member not in _INLINE_SCHEMA:
            return None
        message = (
            f"{shown(violation.member)} is not allowed, because a step can't define an output schema; name a contract "
            "of the catalog in outputContract.contractRef"
        )
        return Description(message, on_name=True)


class ContractDesignOutput(WorkflowRule):
    code = "CT008"
    name = "contract-design-output"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step describes its output with an `output` object."
    why = 'Only `target = "ir"` reads `output`, as `outputContract` and `guidance`; the engine rejects it.'
    fix = "Replace `output` with `outputContract` and `guidance`."
    needs = frozenset({DESIGN_FORM})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.normalized is not None and bool(workflow.normalized.warnings)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        assert workflow.normalized is not None
        codes = (OUTPUT_CONTRACT.name, OUTPUT_HINTS.name)
        places = dict.fromkeys(w.pointer for w in workflow.normalized.warnings if w.code in codes)
        for place in places:
            members: Any = value_at(workflow.document.value, place.removesuffix("/output"))
            report(
                place,
                f"step {quoted(members.get('id'))}: the engine rejects output; write outputContract, and guidance for "
                "hints",
                fix=self._shipping_output(place.removesuffix("/output"), members),
                on_name=True,
                original=True,
            )

    @staticmethod
    def _shipping_output(pointer: str, members: dict[str, Any]) -> Fix | None:
        """Rewrite the `output` of the step at a pointer; None if it has unknown members."""
        output: dict[str, Any] = members["output"]
        if not output.keys() <= {"contractRef", "hints"} or not isinstance(output.get("contractRef", ""), str):
            return None
        operations: list[Operation] = []
        if "contractRef" in output and "outputContract" not in members:
            contract = {"contractRef": output["contractRef"]}
            operations += [
                Rename(f"{pointer}/output", "outputContract"),
                Replace(f"{pointer}/outputContract", contract),
            ]
        else:
            operations.append(Remove(f"{pointer}/output"))
        hints = output.get("hints")
        if isinstance(hints, dict) and hints:
            lines = [f"{name}: {js.text(hints[name])}" for name in js.keys(hints)]
            if "guidance" in members:
                operations += [Insert(f"{pointer}/guidance", None, None, line) for line in lines]
            else:
                operations.append(Insert(pointer, "guidance", None, list(lines)))
        return unsafe("replace output with outputContract", *operations)

    def examples(self) -> Iterable[Example]:
        good = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT))
        yield Example(workflow(step(prompt=_VERDICT_PROMPT, output=_VERDICT)), good, good)
        hinted = {**_VERDICT, "hints": {"tone": "factual"}}
        yield Example(
            workflow(step(prompt=_VERDICT_PROMPT, output=hinted)),
            good,
            workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT, guidance=["tone: factual"])),
        )


class CoordinatorResultShape(WorkflowRule):
    code = "CT010"
    name = "coordinator-result-shape"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A prompt asks for a `wr.coordinator_result` artifact with unknown fields."
    why = "A coordinator reads only `outcome`, `summary`, `sessionId` and `error`; every other field is lost."
    words = (COORDINATOR_RESULT,)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        names = [name for members in example_members(text.text, COORDINATOR_RESULT) for name in members]
        spoken = [sentence for sentence in _SENTENCE_BREAK.split(text.text) if COORDINATOR_RESULT in sentence]
        names += [name for sentence in spoken for name in instructed_members(sentence)]
        names = [name for name in dict.fromkeys(names) if name not in _COORDINATOR_MEMBERS]
        if names:
            where = f"{label(step)}: " if step is not None else ""
            report(
                text.pointer,
                f"{where}a {COORDINATOR_RESULT} has no field {listing(names)}; use "
                f"{name_list(_COORDINATOR_MEMBERS[1:])}",
            )

    def examples(self) -> Iterable[Example]:
        def submitting(members: str) -> dict[str, Any]:
            return workflow(step(prompt=f'Submit {{"kind": "wr.coordinator_result", {members}}}.'))

        good = '"outcome": "success", "summary": "...", "sessionId": "...", "error": null'
        yield Example(submitting('"outcome": "success", "prUrl": "..."'), submitting(good))
        yield Example(
            workflow(step(prompt="In the wr.coordinator_result artifact, include `prUrl`.")),
            workflow(step(prompt="In the wr.coordinator_result artifact, include `sessionId`.")),
        )


# An example is read up to this length.
_MAX_LENGTH = 4000
_MAX_BACK = 400
_NEAR = 80
_LIST = 240  # how far back a list of names may begin
_SENTENCE_END = Pattern(r"[.!?\n]")
# A string, a brace or bracket, or a bare name before a colon.
_PIECE = Pattern(r'"((?:[^"\\\n]|\\.)*)"|\'([^\'\n]*)\'|([{}\[\]])|([A-Za-z_$][\w$]*)\??(?=\s*:)')
_COLON = Pattern(r"\s*:")
# What precedes a quoted name that the agent should set, as in `include a "summary"`: an order or an artifact `with`
# something, and the names of the list that come before this one.
_ARTICLES = r"(?:(?:a|an|the|its|your|also|short|brief)\s+){0,2}"
_ORDER = Pattern(
    r"(?:\b(?:include|includes|including|add|adding|provide|attach|set|fill in)"
    r"|\bwr\.\w+[\"'`]?\s+(?:artifact\s+)?(?:with|that has|containing))\s+"
    rf"{_ARTICLES}(?:[\"'`][A-Za-z_]\w{{1,40}}[\"'`]"
    rf"(?:\s*,(?:\s*and)?\s|\s+(?:and|as well as|plus)\s)\s*{_ARTICLES})*\Z",
    re.I,
)
_QUOTED = Pattern(r"([\"'`])([A-Za-z_]\w{1,40})\1")
# Words that show the name is meant for a place other than the artifact.
_ELSEWHERE = Pattern(r"\b(?:context|notes?|metadata|variable|file|document|section|heading|report)\b", re.I)


def example_members(text: str, kind: str) -> Iterator[list[str]]:
    """Yield the member names of each object in the text that has the artifact kind as a value."""
    start = text.find(kind)
    while start >= 0:
        end = start + len(kind)
        if text[start - 1 : start] in ('"', "'") and text[end : end + 1] == text[start - 1]:
            opening = _opening(text, start)
            if opening is not None:
                yield _members(text, opening)
        start = text.find(kind, end)


def _opening(text: str, position: int) -> int | None:
    """Return where the innermost object around a position starts."""
    depth = 0
    for at in range(position - 1, max(-1, position - _MAX_BACK), -1):
        if text[at] in "}]":
            depth += 1
        elif text[at] in "{[":
            if depth == 0:
                return at if text[at] == "{" else None
            depth -= 1
    return None


def _members(text: str, opening: int) -> list[str]:
    """Return the names before a colon, directly inside the object that opens here."""
    example = text[opening : opening + _MAX_LENGTH]
    names: list[str] = []
    depth = 0
    for match in _PIECE.finditer(example):
        bracket = match[3]
        if bracket in ("{", "["):
            depth += 1
        elif bracket in ("}", "]"):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1:
            name = next(group for group in (match[1], match[2], match[4]) if group is not None)
            if match[4] is not None or _COLON.match(example, match.end()):
                names.append(name)
    return list(dict.fromkeys(names))


def instructed_members(text: str) -> Iterator[str]:
    """Yield the quoted names that a text tells the agent to include in its answer, unless it names another place."""
    for match in _QUOTED.finditer(text):
        before, after = text[max(0, match.start() - _LIST) : match.start()], text[match.end() : match.end() + _NEAR]
        if _ORDER.search(before) and not _ELSEWHERE.search(f"{before[-_NEAR:]} {_same_sentence(after)}"):
            yield match[2]


def _same_sentence(text: str) -> str:
    end = _SENTENCE_END.search(text)
    return text[: end.start()] if end else text
