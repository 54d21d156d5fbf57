"""TP: template calls, and the routines that they inject."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, count
from typing import Any, ClassVar

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.suggest import nearest
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Insert, Remove, Rename
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.catalog import PLACEHOLDER
from workrail_lint.systems.workrail.model.workflow import StandardStep, Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import ROUTINE, Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import (
    excerpt,
    is_reported,
    label,
    listing,
    mentions,
    step_members,
    text_at,
)

_IDEATION = "wr.templates.routine.ideation"
_SIMULATION = "wr.templates.routine.execution-simulation"


def calling(template: str, ident: str = "call-it", **members: Any) -> dict[str, Any]:
    """Return a workflow whose second step calls a template; `args` go into the call."""
    call: dict[str, Any] = {"templateId": template}
    if "args" in members:
        call["args"] = members.pop("args")
    return samples.workflow(samples.step(), samples.step(ident, None, templateCall=call, **members))


class TemplateRule(WorkflowRule):
    """A rule about template calls."""

    needs = frozenset({"templateCall"})


class _CallRule(TemplateRule):
    def applies(self, workflow: WorkflowContext) -> bool:
        return "templateCall" in step_members(workflow)


class TemplateArgumentInvalid(TemplateRule):
    code = "TP001"
    name = "template-argument-invalid"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A template call lacks an argument, or gives it a value of the wrong type."
    why = "The engine can't expand the template and refuses the workflow."

    def examples(self) -> Iterable[Example]:
        args = {"deliverable": "options.md", "quantity": 3}
        yield Example(calling(_IDEATION, args={"quantity": 3}), calling(_IDEATION, args=args))

        def quantity(value: Any) -> dict[str, Any]:
            return calling(_IDEATION, args={"deliverable": "options.md", "quantity": value})

        yield Example(quantity([3]), quantity(3))


class TemplateArgUnused(_CallRule):
    code = "TP003"
    name = "template-arg-unused"
    severity = Severity.WARNING
    origin = "product"
    summary = "A template call passes an argument that the routine does not use."
    why = "It has no effect, and is often a misspelled name."
    fix = "Rename the argument to the missing one; remove it if none is missing."

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        call = step.template_call if step.kind == "standard" else None
        routine = workflow.called_routine(step)
        if call is None or routine is None:
            return
        used = routine.required_args
        unused = [name for name in call.args if name not in used]
        missing = [known for known in used if known not in call.args]
        for name in unused:
            meant = nearest(name, missing) or (missing[0] if len(missing) == len(unused) == 1 else None)
            known = f"it uses {listing(used)}" if used else "it has no arguments"
            hint = f"did you mean {quoted(meant)}?" if meant else known
            pointer = call.at("args", name)
            report(
                pointer,
                f"{label(step)}: template {quoted(routine.template_id)} does not use the argument {quoted(name)}; "
                f"{hint}",
                fix=(
                    unsafe(f"rename it to {quoted(meant)}", Rename(pointer, meant))
                    if meant
                    # While an argument is missing, the value may be intended for it; and what others use is not idle.
                    else None
                    if missing or self._is_mentioned(text_at(workflow.definition, pointer), step, workflow)
                    else unsafe(f"remove the argument {quoted(name)}", Remove(pointer))
                ),
                on_name=True,
            )

    @staticmethod
    def _is_mentioned(value: str | None, step: Step, workflow: WorkflowContext) -> bool:
        """Return whether another part of the workflow names the value, as the file that the routine should write."""
        texts = [
            *workflow.top_texts,
            *(text for other in workflow.all_steps if other is not step for text in other.texts),
        ]
        return value is not None and any(mentions(text.text, value) for text in texts)

    def examples(self) -> Iterable[Example]:
        yield Example(calling(_SIMULATION, args={"flavour": "x"}), calling(_SIMULATION), calling(_SIMULATION, args={}))
        good = calling(_IDEATION, args={"deliverable": "options.md", "quantity": 3})
        yield Example(calling(_IDEATION, args={"deliverable": "options.md", "quantety": 3}), good, good)


class TemplateCallFirstStep(TemplateRule):
    code = "TP004"
    name = "template-call-first-step"
    severity = Severity.ERROR
    origin = "start"
    summary = "The first step of a workflow calls a template."
    why = (
        "The engine starts a run at the id of the first authored step, and expanding the call removes that id. With "
        '`target = "ir"` a run starts at the first expanded step, and this is a warning.'
    )
    fix = "Insert a plain first step."

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        used = workflow.step_ids
        ident = next(name for name in chain(("begin",), map("begin-{}".format, count(2))) if name not in used)
        plain: dict[str, Any] = {"id": ident, "title": "Begin", "prompt": _BEGIN}
        return unsafe("insert a plain first step", Insert("/steps", None, 0, plain))

    def examples(self) -> Iterable[Example]:
        call = samples.step("simulate", None, templateCall={"templateId": _SIMULATION})
        fixed = samples.workflow({"id": "begin", "title": "Begin", "prompt": _BEGIN}, call)
        yield Example(samples.workflow(call), fixed, fixed)


_BEGIN = "Restate the task in your own words and note what is already known about it."


class TemplateCallMemberIgnored(_CallRule):
    code = "TP005"
    name = "template-call-member-ignored"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step that calls a template has members that the expansion drops."
    why = "The routine's steps replace the calling step; only its id and run condition are kept."
    fix = "Remove the member, unless it belongs to an assessment."

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if not step.calls_template or step.kind != "standard":
            return
        for name, value in step.raw.items():
            # Nothing is lost where the value is the default.
            if name in _DROPPED and not self._is_default(value):
                message = f"{label(step)}: `{name}` is dropped when the template call is expanded"
                if name in _MOVED:
                    report(step.at(name), f"{message}; move it to a step with a prompt", on_name=True)
                else:
                    fix = unsafe(f"remove `{name}`", Remove(step.at(name)))
                    report(step.at(name), f"{message}; remove it", fix=fix, on_name=True)

    @staticmethod
    def _is_default(value: object) -> bool:
        return value is None or value is False or value in ("", [])

    def examples(self) -> Iterable[Example]:
        good = calling(_SIMULATION)
        yield Example(calling(_SIMULATION, agentRole="Patient reader of unfamiliar code"), good, good)


# What the expansion keeps of a calling step, and what other rules report.
_KEPT = ("id", "title", "runCondition", "templateCall")
_OTHER_RULES = ("prompt", "promptBlocks", "promptFragments")
_DROPPED = frozenset((*StandardStep.leaves, *StandardStep.parts)).difference(_KEPT, _OTHER_RULES)
# Without them an assessment would be unused, or not have the consequences that the author wants.
_MOVED = frozenset(("assessmentRefs", "assessmentConsequences"))


class TemplateIdToken(_CallRule):
    code = "TP007"
    name = "template-id-token"
    severity = Severity.ERROR
    origin = "product"
    summary = "A template id contains a `{{…}}` token."
    why = "Templates are expanded before bindings and context exist, so the engine uses the id literally."

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        call = step.template_call if step.kind == "standard" else None
        if call is None or "{{" not in call.template_id:
            return
        if not is_reported(self.name, call.at("templateId"), workflow):
            report(
                call.at("templateId"),
                f"{label(step)}: the token in the template id {quoted(call.template_id)} is never resolved; write the "
                "id, or choose between two calls with `runCondition`",
            )

    def examples(self) -> Iterable[Example]:
        slots: list[Any] = [{"slotId": "checker", "purpose": "Who checks the result.", "default": _SIMULATION}]
        yield Example(
            {**calling("{{wr.bindings.checker}}"), "extensionPoints": slots},
            {**calling(_SIMULATION), "extensionPoints": slots},
        )


# ---------------------------------------------------------------------------------------------- routines

_PATH = "workflows/routines/check.json"
_LITERAL = Pattern(r"[\"':,\n]")
_NAME = Pattern(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_-]*)\}(?!\})")


def routine(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    return samples.workflow(*steps, **{"id": "wr.routine-check", "name": "Check routine", **members})


class RoutineRule(WorkflowRule):
    """A rule about routine files."""

    needs = frozenset({ROUTINE})


class _RoutineRule(RoutineRule):
    """A rule about a routine's own file; what goes wrong at a call is found by compiling the caller."""

    example_path = _PATH

    def document(self, part: Any) -> Any:
        return {**super().document(part), "id": "wr.routine-check", "name": "Check routine"}

    def applies(self, workflow: WorkflowContext) -> bool:
        return workflow.is_routine


class RoutineNotExpandable(_RoutineRule):
    code = "TP008"
    name = "routine-not-expandable"
    severity = Severity.ERROR
    origin = "compile (at the call); product (linting the routine file)"
    summary = "A routine calls a template itself, or has a step without a prompt."
    why = "The engine can't expand the routine where it is called."
    bad: ClassVar[Any] = (
        {
            "steps": [
                {},
                {"id": "simulate", "templateCall": {"templateId": "wr.templates.routine.execution-simulation"}},
            ]
        },
        {"promptBlocks": {"goal": "Describe what you see."}},
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        self._routine_recursive(step, workflow, report)
        self._routine_step_no_prompt(step, workflow, report)

    def _routine_recursive(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.around is None and step.kind == "standard" and step.template_call is not None:
            report(
                step.at("templateCall"),
                f"{label(step)}: a routine can't call a template; write the steps out instead",
                on_name=True,
            )

    def _routine_step_no_prompt(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.around is not None or step.calls_template or (step.kind == "standard" and step.prompt):
            return
        if step.kind != "standard":
            report(
                step.at("type"),
                f"{label(step)}: a {step.kind} step can't be injected; use only plain steps with prompts",
            )
        elif "promptBlocks" in step:
            report(
                step.at("promptBlocks"),
                f"{label(step)}: a step with `promptBlocks` can't be injected; write a plain `prompt`",
                on_name=True,
            )


class RoutineLiteralBraces(_RoutineRule):
    code = "TP010"
    name = "routine-literal-braces"
    severity = Severity.WARNING
    origin = "product"
    summary = "Braces in a routine's prompt or title contain what looks like literal JSON."
    why = "Everything in single braces is treated as an argument, and a brace can't be escaped."
    bad = {"prompt": 'Emit {"kind":"note"} at the end.'}
    good = {"prompt": "Emit an object whose kind is note at the end."}

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or step.around is not None or text.field not in ("prompt", "title") or "{" not in text.text:
            return
        literal = [match[0] for match in PLACEHOLDER.finditer(text.text) if _LITERAL.search(match[1])]
        if literal:
            report(
                text.pointer,
                f"{label(step)}: {excerpt(literal[0])} is treated as an argument; describe the members in words",
            )


class RoutinePlaceholderUnsupported(_RoutineRule):
    code = "TP011"
    name = "routine-placeholder-unsupported"
    severity = Severity.WARNING
    origin = "product"
    summary = "A routine uses an argument where arguments are not replaced."
    why = "Arguments are replaced in prompts and titles only. Elsewhere the placeholder remains."
    bad = {"prompt": "Write {deliverable}.", "guidance": ["Keep {deliverable} short."]}
    good = {"prompt": "Write {deliverable} and keep it short."}

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if "{" not in text.text or text.field not in ("guidance", "agentRole", "fragment", "metaGuidance"):
            return
        names = [match[0] for match in _NAME.finditer(text.text) if self._is_argument(match, workflow)]
        if names:
            where = f"{label(step)}: " if step else ""
            advice = "use it in `prompt` or `title`"
            report(text.pointer, f"{where}{excerpt(names[0])} is not replaced in `{text.field}`; {advice}")

    @staticmethod
    def _is_argument(match: re.Match[str], workflow: WorkflowContext) -> bool:
        """Return whether braces name an argument; in a command, only those that a prompt or title uses too."""
        before = match.string[: match.start()]
        line = before.rpartition("\n")[2]
        is_command = before.count("```") % 2 == 1 or line.count("`") % 2 == 1 or line.endswith("$")
        if not is_command or match.string[match.start() - 1 : match.end() + 1] == f"`{match[0]}`":
            return True
        return any(match[0] in text for step in workflow.all_steps for text in (step.title, step.prompt_text))


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
    bad = {"features": ["wr.features.capabilities"]}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        model = workflow.model
        declared = {
            "features": model.features,
            "functionDefinitions": model.function_definitions,
            "assessments": model.assessments,
        }
        for member, items in declared.items():
            if items:
                report(
                    f"/{member}",
                    f"`{member}` of routine {quoted(workflow.id)} is ignored when a template call injects the routine",
                    on_name=True,
                )
