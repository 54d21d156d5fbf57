"""Prompts that say the same thing again in several steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint import js
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.workrail.compiler.nodes import listed, one_line
from workrail_lint.workrail.rules.base import Step, Workflow, WorkflowRule
from workrail_lint.workrail.rules.prose import label, quoted, sentences
from workrail_lint.workrail.rules.samples import step, workflow

_LONG = 60
_OFTEN = 3
_ALIKE = 0.8
# What two variants of one step may differ in.
_VARIABLE = ("id", "title", "prompt", "promptBlocks", "runCondition", "promptFragments")


class PromptBoundaryBoilerplate(WorkflowRule):
    code = "PR023"
    name = "prompt-boundary-boilerplate"
    severity = Severity.INFO
    origin = "spec"
    summary = f"One sentence of at least {_LONG} characters stands in {_OFTEN} or more prompts."
    why = "Repeated text is read past by agents and drifts apart when one copy is edited."

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        steps = [step for step in workflow.all_steps if not step.calls_template]
        if len(steps) < _OFTEN:
            return
        users: dict[str, dict[str, str]] = {}
        for step in steps:
            for text in step.prompt_texts:
                if len(text.text) < _LONG:
                    continue
                for sentence in sentences(text.text):
                    if len(sentence) >= _LONG:
                        users.setdefault(sentence, {}).setdefault(step.id, text.pointer)
        for sentence, places in users.items():
            if len(places) >= _OFTEN:
                report(
                    next(iter(places.values())),
                    f"The sentence {quoted(sentence)} stands in {len(places)} prompts ({listed(places)}); "
                    "say it once, or in words of the step's own",
                )

    def examples(self) -> Iterable[Example]:
        same = "Do not edit any file in this step, and hand over before you start the next one."
        names = ("look", "plan", "check")
        yield Example(
            workflow(*(step(f"{name}-it", f"{name.title()}. {same}") for name in names)),
            workflow(*(step(f"{name}-it", f"{name.title()} carefully.") for name in names)),
        )


class PromptVariantDuplication(WorkflowRule):
    code = "PR024"
    name = "prompt-variant-duplication"
    severity = Severity.INFO
    origin = "spec"
    summary = "Two steps have nearly the same prompt and differ only in when they run."
    why = "The shared part has to be kept in step by hand. One step with conditional fragments has it once."

    def applies(self, workflow: Workflow) -> bool:
        return workflow.document.text.count('"runCondition"') > 1

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        lists = [workflow.steps, *(step.body for step in workflow.steps if step.body)]
        for steps in lists:
            for first, second in _variants([step for step in steps if _is_variant(step)]):
                report(
                    second.at("runCondition"),
                    f"{label(second)}: says almost the same as step {one_line(first.id)} under another condition; "
                    "make it one step with promptFragments for the difference",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        def depth(name: str, *more: str) -> dict[str, Any]:
            lines = ["Read the change.", "List every file it touches.", "Name the riskiest one.", "Say why.", "Stop."]
            condition = {"var": "depth", "equals": name}
            return step(f"read-{name}", "\n".join([*lines, *more]), runCondition=condition)

        fragment = {"id": "deep", "when": {"var": "depth", "equals": "deep"}, "text": "Read the tests too."}
        yield Example(
            workflow(depth("quick"), depth("deep", "Read the tests too.")),
            workflow(step(promptFragments=[fragment])),
        )


def _is_variant(step: Step) -> bool:
    return step.kind == "standard" and not step.calls_template and "runCondition" in step.step


def _variants(steps: list[Step]) -> Iterator[tuple[Step, Step]]:
    """Each later step with the first earlier one it nearly repeats."""
    lines = [Counter(line for line in map(js.trim, step.prompt.split("\n")) if line) for step in steps]
    for index, step in enumerate(steps):
        for before in range(index):
            if _alike(lines[before], lines[index]) and _same_otherwise(steps[before].step, step.step):
                yield steps[before], step
                break


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    size = max(one.total(), other.total())
    # More of one than 80 percent of the other can't be shared when it is shorter than that.
    return min(one.total(), other.total()) > _ALIKE * size and (one & other).total() > _ALIKE * size


def _same_otherwise(one: dict[str, Any], other: dict[str, Any]) -> bool:
    names = (one.keys() | other.keys()) - set(_VARIABLE)
    return not js.deep_equal(one["runCondition"], other["runCondition"]) and all(
        name in one and name in other and js.deep_equal(one[name], other[name]) for name in names
    )


RULES: tuple[type[WorkflowRule], ...] = (PromptBoundaryBoilerplate, PromptVariantDuplication)
