"""Fragments and guidance: text that is added to a prompt at run time, or never."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import counted, listed
from workrail_lint.documents.operations import Insert, Operation, Remove, Replace
from workrail_lint.findings import Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.catalog.routine import PLACEHOLDER
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import MAX_PROMPT
from workrail_lint.systems.workrail.rules.prose import excerpt, is_text, label

_WHEN = {"var": "mode", "equals": "deep"}


def _fragments(step: Step) -> list[dict[str, Any]]:
    items = step.step.get("promptFragments")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


class FragmentRule(WorkflowRule):
    """A rule about texts beside the prompt."""

    needs = frozenset({"promptFragments", "guidance", "metaGuidance", "clarificationPrompts"})


class FragmentBlank(FragmentRule):
    code = "PR010"
    name = "fragment-blank"
    severity = Severity.ERROR
    origin = "product"
    summary = "The text of a prompt fragment is blank."
    why = "When its condition holds, the fragment adds nothing, so what it was meant to say is missing."
    needs = frozenset({"promptFragments"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        for index, item in enumerate(_fragments(step)) if not step.calls_template else ():
            text = item.get("text")
            if isinstance(text, str) and text and js.is_blank(text):
                report(
                    step.at("promptFragments", index, "text"),
                    f"{label(step)}: the fragment's `text` is blank; write it or remove the fragment",
                )

    def examples(self) -> Iterable[Example]:
        def fragment(text: str) -> dict[str, Any]:
            return samples.workflow(samples.step(promptFragments=[{"id": "deep", "when": _WHEN, "text": text}]))

        yield Example(fragment(" "), fragment("Look at the tests as well."))


class FragmentUnconditional(FragmentRule):
    code = "PR011"
    name = "fragment-unconditional"
    severity = Severity.INFO
    origin = "product"
    summary = "A prompt fragment has no condition."
    why = "The engine always adds it, so the text belongs in the prompt, where authors look for it."
    needs = frozenset({"promptFragments"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.calls_template:
            return
        for index, item in enumerate(_fragments(step)):
            if "when" not in item:
                report(
                    step.at("promptFragments", index),
                    f"{label(step)}: fragment {excerpt(str(item.get('id', '')))} has no condition and is always added; "
                    "add `when`, or move its text into the prompt",
                )

    def examples(self) -> Iterable[Example]:
        fragment = {"id": "deep", "text": "Look at the tests as well."}
        yield Example(
            samples.workflow(samples.step(promptFragments=[fragment])),
            samples.workflow(samples.step(promptFragments=[{**fragment, "when": _WHEN}])),
        )


class FragmentOnTemplateCall(FragmentRule):
    code = "PR012"
    name = "fragment-on-template-call"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step that calls a template has prompt fragments."
    why = "The routine's steps replace the calling step and its fragments, so the agent never sees them."
    needs = frozenset({"promptFragments"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.calls_template and _fragments(step):
            report(
                step.at("promptFragments"),
                f"{label(step)}: the agent never sees these fragments, because the template call replaces the step; "
                "move them to a separate step",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        call = {"templateId": "wr.templates.routine.execution-simulation"}
        fragments = [{"id": "deep", "when": _WHEN, "text": "Look at the tests as well."}]
        bad = samples.step("simulate", None, templateCall=call, promptFragments=fragments)
        good = samples.step("simulate", None, templateCall=call)
        yield Example(samples.workflow(samples.step(), bad), samples.workflow(samples.step(), good))


class GuidanceBlank(FragmentRule):
    code = "PR028"
    name = "guidance-blank"
    severity = Severity.WARNING
    origin = "product"
    summary = "An item of a step's guidance is blank."
    why = "It is most likely a line that was meant to be filled in or removed."
    fix = "Remove the item."
    fix_safety = "unsafe"
    needs = frozenset({"guidance"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        items = step.step.get("guidance")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, str) and js.is_blank(item):
                pointer = step.at("guidance", index)
                report(
                    pointer,
                    f"{label(step)}: guidance[{index}] is blank; fill it in or remove it",
                    fix=unsafe("remove the item", Remove(pointer)),
                )

    def examples(self) -> Iterable[Example]:
        good = samples.workflow(samples.step(guidance=["Prefer evidence."]))
        yield Example(samples.workflow(samples.step(guidance=["Prefer evidence.", ""])), good, good)


class GuidanceNotDelivered(FragmentRule):
    code = "PR036"
    name = "guidance-not-delivered"
    severity = Severity.INFO
    origin = "runtime"
    summary = "The workflow has `guidance` or `metaGuidance`, which the engine never sends to the agent."
    why = "The text is hashed with the workflow, but the agent never sees it. What matters must be in a prompt."
    fix = "Move the guidance of a step into its prompt."
    fix_safety = "unsafe"
    needs = frozenset({"metaGuidance", "guidance"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        steps = [
            step
            for step in workflow.all_steps
            if step.step.get("guidance") and step.kind == "standard" and not step.calls_template
        ]
        has_meta = bool(workflow.definition.get("metaGuidance"))
        if not steps and not has_meta:
            return
        members = ["metaGuidance"] if has_meta else []
        if steps:
            members.append("guidance" if len(steps) == 1 else f"the guidance of {counted(len(steps), 'step')}")
        fixes = [_moved(step, [item for item in step.step["guidance"] if is_text(item)], workflow) for step in steps]
        operations = [operation for fix in fixes if fix is not None for operation in fix.operations]
        where = f"{label(steps[0])}: " if len(steps) == 1 and not has_meta else ""
        report(
            "/metaGuidance" if has_meta else steps[0].at("guidance"),
            f"{where}the engine never sends {listed(members)} to the agent; move what matters into the prompts",
            fix=unsafe("move the guidance into the prompts", *operations) if operations else None,
            on_name=True,
        )

    def examples(self) -> Iterable[Example]:
        moved = samples.workflow(samples.step(prompt="Describe what you see.\n\n- Prefer evidence."))
        yield Example(samples.workflow(samples.step(guidance=["Prefer evidence."])), moved, moved)
        blocks = {"goal": "Describe what you see."}
        in_blocks = samples.workflow(
            samples.step(prompt=None, promptBlocks={**blocks, "constraints": ["Prefer evidence."]})
        )
        yield Example(
            samples.workflow(samples.step(prompt=None, promptBlocks=blocks, guidance=["Prefer evidence."])),
            in_blocks,
            in_blocks,
        )
        yield Example(samples.workflow(metaGuidance=["Prefer evidence."]), samples.workflow())


def _moved(step: Step, items: list[str], workflow: WorkflowContext) -> Fix | None:
    """The guidance as bullets after the prompt, or as constraints of its blocks."""
    if any("{{" in item and "wr." in item.lower() for item in items):
        return None  # a token that had no effect there would be resolved in a prompt
    if workflow.is_routine and any(PLACEHOLDER.search(item) for item in items):
        return None  # and so would braces, which in the prompt of a routine ask every caller for an argument
    prompt, blocks = step.step.get("prompt"), step.step.get("promptBlocks")
    operations: list[Operation] = []
    if items and isinstance(prompt, str) and blocks is None:
        text = prompt.rstrip() + "\n\n" + "\n".join(f"- {item}" for item in items)
        if len(text) > MAX_PROMPT:
            return None
        operations.append(Replace(step.at("prompt"), text))
    elif items and isinstance(blocks, dict) and prompt is None:
        constraints = blocks.get("constraints")
        if isinstance(constraints, list):
            place = step.at("promptBlocks", "constraints")
            operations += [Insert(place, None, len(constraints) + at, item) for at, item in enumerate(items)]
        else:
            operations.append(Insert(step.at("promptBlocks"), "constraints", None, list(items)))
    elif items:
        return None
    return unsafe("move it into the prompt", *operations, Remove(step.at("guidance")))
