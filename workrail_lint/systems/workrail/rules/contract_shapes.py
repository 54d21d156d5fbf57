"""CT: what prompts say about artifacts, and contracts written in the design form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import name_list, quoted
from workrail_lint.documents.operations import Insert, Operation, Remove, Rename, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.artifact_examples import example_members, instructed_members
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import DESIGN_FORM
from workrail_lint.systems.workrail.rules.prose import label, value_at
from workrail_lint.systems.workrail.rules.samples import step, workflow

COORDINATOR_RESULT = "wr.coordinator_result"
_COORDINATOR_MEMBERS = ("kind", "outcome", "summary", "sessionId", "error")
_SENTENCE_END = Pattern(r"(?<=[.!?])[ \t]+|[\r\n]+")
_VERDICT = {"contractRef": "wr.contracts.review_verdict"}
_VERDICT_PROMPT = "Review the change and submit a wr.review_verdict artifact."


class ContractDesignOutput(WorkflowRule):
    code = "CT008"
    name = "contract-design-output"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step describes its output with an `output` object."
    why = 'Only `target = "ir"` reads `output`, as `outputContract` and `guidance`; the engine rejects it.'
    fix = "Replace `output` with `outputContract` and `guidance`."
    fix_safety = "unsafe"
    needs = frozenset({DESIGN_FORM})

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.normalized is not None and bool(workflow.normalized.warnings)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        from workrail_lint.systems.workrail.compat.codes import OUTPUT_CONTRACT, OUTPUT_HINTS

        assert workflow.normalized is not None
        codes = (OUTPUT_CONTRACT.name, OUTPUT_HINTS.name)
        places = dict.fromkeys(w.pointer for w in workflow.normalized.warnings if w.code in codes)
        for place in places:
            members = value_at(workflow.document.value, place.removesuffix("/output"))
            ident = members.get("id") if isinstance(members, dict) else None
            report(
                place,
                f"step {quoted(ident)}: the engine rejects output; write outputContract, and guidance for hints",
                fix=_shipping_output(place.removesuffix("/output"), members),
                on_name=True,
                original=True,
            )

    def examples(self) -> Iterable[Example]:
        good = workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT))
        yield Example(workflow(step(prompt=_VERDICT_PROMPT, output=_VERDICT)), good, good)
        hinted = {**_VERDICT, "hints": {"tone": "factual"}}
        yield Example(
            workflow(step(prompt=_VERDICT_PROMPT, output=hinted)),
            good,
            workflow(step(prompt=_VERDICT_PROMPT, outputContract=_VERDICT, guidance=["tone: factual"])),
        )


def _shipping_output(pointer: str, members: object) -> Fix | None:
    """Rewrite the `output` of the step at a pointer; None if it has unknown members."""
    output = members.get("output") if isinstance(members, dict) else None
    if not isinstance(members, dict) or not isinstance(output, dict) or not output.keys() <= {"contractRef", "hints"}:
        return None
    operations: list[Operation] = []
    if "contractRef" in output and "outputContract" not in members:
        contract = {"contractRef": output["contractRef"]}
        operations += [Rename(f"{pointer}/output", "outputContract"), Replace(f"{pointer}/outputContract", contract)]
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
        spoken = [sentence for sentence in _SENTENCE_END.split(text.text) if COORDINATOR_RESULT in sentence]
        names += [name for sentence in spoken for name in instructed_members(sentence)]
        names = [name for name in dict.fromkeys(names) if name not in _COORDINATOR_MEMBERS]
        if names:
            shown = ", ".join(map(quoted, names))
            where = f"{label(step)}: " if step is not None else ""
            report(
                text.pointer,
                f"{where}a {COORDINATOR_RESULT} has no field {shown}; use {name_list(_COORDINATOR_MEMBERS[1:])}",
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
