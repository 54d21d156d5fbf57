"""Routines: workflows that template calls inject, and what is lost when they do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.routine import PLACEHOLDER
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import ROUTINE, Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import excerpt, label

_PATH = "workflows/routines/check.json"
_LITERAL = Pattern(r"[\"':,\n]")
_NAME = Pattern(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_-]*)\}(?!\})")
_NOT_INJECTED = ("features", "functionDefinitions", "assessments")


def routine(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    return samples.workflow(*steps, **{"id": "wr.routine-check", "name": "Check routine", **members})


class RoutineRule(WorkflowRule):
    """A rule about routine files."""

    needs = frozenset({ROUTINE})


class _RoutineRule(RoutineRule):
    """A rule about a routine's own file; what goes wrong at a call is found by compiling the caller."""

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.is_routine


class RoutineRecursive(_RoutineRule):
    code = "TP008"
    name = "routine-recursive"
    severity = Severity.ERROR
    origin = "compile (at the call); product (linting the routine file)"
    summary = "A step of a routine calls a template."
    why = "Routines can't be nested: the engine does not register this one, and every call to it fails."

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.around is None and js.truthy(step.step.get("templateCall")):
            report(
                step.at("templateCall"),
                f"{label(step)}: a routine can't call a template; write the steps out instead",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        call = {"templateId": "wr.templates.routine.execution-simulation"}
        yield Example(
            routine(samples.step(), samples.step("simulate", None, templateCall=call)),
            routine(samples.step()),
            path=_PATH,
        )


class RoutineStepNoPrompt(_RoutineRule):
    code = "TP009"
    name = "routine-step-no-prompt"
    severity = Severity.ERROR
    origin = "compile (at the call); product (linting the routine file)"
    summary = "A step of a routine has no plain prompt: it uses blocks, or is a loop or a parallel step."
    why = "Only steps with an id, a title and a prompt can be injected; a call to the routine fails at any other step."

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.around is not None or js.truthy(step.step.get("prompt")) or "templateCall" in step.step:
            return
        if step.kind != "standard":
            report(
                step.at("type"),
                f"{label(step)}: a {step.kind} step can't be injected; use only plain steps with prompts",
            )
        elif "promptBlocks" in step.step:
            report(
                step.at("promptBlocks"),
                f"{label(step)}: a step with `promptBlocks` can't be injected; write a plain `prompt`",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        blocks = {"goal": "Describe what you see."}
        yield Example(routine(samples.step(prompt=None, promptBlocks=blocks)), routine(samples.step()), path=_PATH)


class RoutineLiteralBraces(_RoutineRule):
    code = "TP010"
    name = "routine-literal-braces"
    severity = Severity.WARNING
    origin = "product"
    summary = "Braces in a routine's prompt or title contain what looks like literal JSON."
    why = "Everything in single braces is treated as an argument, and a brace can't be escaped."

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or step.around is not None or text.field not in ("prompt", "title") or "{" not in text.text:
            return
        literal = [match[0] for match in PLACEHOLDER.finditer(text.text) if _LITERAL.search(match[1])]
        if literal:
            report(
                text.pointer,
                f"{label(step)}: {excerpt(literal[0])} is treated as an argument; describe the members in words",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            routine(samples.step(prompt='Emit {"kind":"note"} at the end.')),
            routine(samples.step(prompt="Emit an object whose kind is note at the end.")),
            path=_PATH,
        )


class RoutinePlaceholderUnsupported(_RoutineRule):
    code = "TP011"
    name = "routine-placeholder-unsupported"
    severity = Severity.WARNING
    origin = "product"
    summary = "A routine uses an argument where arguments are not replaced."
    why = "Arguments are replaced in prompts and titles only. Elsewhere the placeholder remains."

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if "{" not in text.text or text.field not in ("guidance", "agentRole", "fragment", "metaGuidance"):
            return
        names = [match[0] for match in _NAME.finditer(text.text)]
        if names:
            where = f"{label(step)}: " if step else ""
            advice = "use it in `prompt` or `title`"
            report(text.pointer, f"{where}{excerpt(names[0])} is not replaced in `{text.field}`; {advice}")

    def examples(self) -> Iterable[Example]:
        yield Example(
            routine(samples.step(prompt="Write {deliverable}.", guidance=["Keep {deliverable} short."])),
            routine(samples.step(prompt="Write {deliverable} and keep it short.")),
            path=_PATH,
        )


class RoutineTemplateCollision(RoutineRule):
    code = "TP012"
    name = "routine-template-collision"
    severity = Severity.ERROR
    origin = "product"
    summary = "Two routines have ids that map to the same template."
    why = "The later one silently replaces the other, and calls expand to unexpected steps."

    def examples(self) -> Iterable[Example]:
        other: dict[str, Any] = {"workflows/routines/a.json": routine(samples.step(), id="routine-check")}
        yield Example(
            routine(samples.step()),
            routine(samples.step(), id="wr.routine-inspect"),
            path="workflows/routines/b.json",
            files=other,
            options={"routines": "workflows/routines"},
        )


class RoutineFeatureIgnored(_RoutineRule):
    code = "TP013"
    name = "routine-feature-ignored"
    severity = Severity.INFO
    origin = "product"
    summary = "A routine declares features, functions or assessments, which a template call does not inject."
    why = "A call injects only the steps and `metaGuidance`; the rest applies when the routine runs as a workflow."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for member in _NOT_INJECTED:
            if workflow.definition.get(member):
                report(
                    f"/{member}",
                    f"`{member}` of routine {quoted(workflow.id)} is ignored when a template call injects the routine",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        yield Example(
            routine(samples.step(), features=["wr.features.capabilities"]), routine(samples.step()), path=_PATH
        )
