"""What a prompt is made of: its source, its blocks and its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import Node, step_label, walk
from workrail_lint.systems.workrail.compiler.prompt_blocks import LIST_SECTIONS
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import LONG_PROMPT, MAX_PROMPT
from workrail_lint.systems.workrail.rules.prose import label

_NEAR = MAX_PROMPT * 9 // 10


class PromptSourceMissing(WorkflowRule):
    code = "PR001"
    name = "prompt-source-missing"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A step has none of `prompt`, `promptBlocks` and `templateCall`."
    why = "The agent would get a step with nothing to do."

    def examples(self) -> Iterable[Example]:
        yield Example(samples.workflow(samples.step(prompt=None)), samples.workflow(samples.step()))
        yield Example(
            samples.workflow(samples.loop(samples.step("inner-step", None))),
            samples.workflow(samples.loop(samples.step("inner-step"))),
        )


class PromptSourceMultiple(WorkflowRule):
    code = "PR002"
    name = "prompt-source-multiple"
    severity = Severity.ERROR
    origin = "struct / compile"
    summary = "A step has more than one of `prompt`, `promptBlocks` and `templateCall`."
    why = "Only one of them can become the prompt; the others would be lost, and the author can't choose which."

    def examples(self) -> Iterable[Example]:
        both: dict[str, Any] = {"promptBlocks": {"goal": "Describe what you see."}}
        yield Example(samples.workflow(samples.step(**both)), samples.workflow(samples.step(prompt=None, **both)))
        call: dict[str, Any] = {"templateCall": {"templateId": "wr.templates.routine.execution-simulation"}}
        yield Example(
            samples.workflow(samples.loop(samples.step("inner-step", **call))),
            samples.workflow(samples.loop(samples.step("inner-step", None, **call))),
        )


class PromptBlocksEmpty(WorkflowRule):
    code = "PR003"
    name = "prompt-blocks-empty"
    severity = Severity.ERROR
    origin = "compile"
    summary = "`promptBlocks` renders to an empty prompt, even with the text that features add."
    why = "A step without a single section has no prompt, so it can't be compiled."

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(samples.step(prompt=None, promptBlocks={})),
            samples.workflow(samples.step(prompt=None, promptBlocks={"goal": "Describe what you see."})),
        )


class PromptBlockBlank(WorkflowRule):
    code = "PR004"
    name = "prompt-block-blank"
    severity = Severity.WARNING
    origin = "product"
    summary = "A goal, list item or output in `promptBlocks` is blank, or a list of parts is empty."
    why = "The heading, bullet or number is still rendered, with nothing after it."
    needs = frozenset({"promptBlocks"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        blocks = step.step.get("promptBlocks")
        if not isinstance(blocks, dict) or step.calls_template:
            return
        # A string that begins with a letter is not blank.
        doubtful = [value for value in _block_values(blocks) if type(value) is not str or not value[:1].isalpha()]
        if any(map(_is_blank, doubtful)):
            for value, pointer, what in _named_values(blocks, step.at("promptBlocks")):
                if _is_blank(value):
                    report(pointer, f"{label(step)}: {what} is blank; fill it in or remove it")

    def examples(self) -> Iterable[Example]:
        def blocks(**sections: Any) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=None, promptBlocks=sections))

        good = blocks(goal="Describe what you see.")
        yield Example(blocks(goal=""), good)
        yield Example(blocks(goal="Describe what you see.", verify=[[]]), good)


def _block_values(blocks: dict[str, Any]) -> list[object]:
    """Everything in the blocks that could be blank."""
    values: list[object] = [blocks["goal"]] if "goal" in blocks else []
    for section in LIST_SECTIONS:
        items = blocks.get(section)
        if isinstance(items, list):
            values += items
    output = blocks.get("outputRequired")
    if isinstance(output, dict):
        values += output.values()
    return values


def _named_values(blocks: dict[str, Any], pointer: str) -> Iterator[tuple[object, str, str]]:
    """The same values, each with its place and its name in messages."""
    if "goal" in blocks:
        yield blocks["goal"], f"{pointer}/goal", "the goal"
    for section in LIST_SECTIONS:
        items = blocks.get(section)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            yield item, f"{pointer}/{section}/{index}", f"item {index + 1} of {section}"
    output = blocks.get("outputRequired")
    for name, value in output.items() if isinstance(output, dict) else ():
        yield value, child(f"{pointer}/outputRequired", name), f"the output {quoted(name)}"


def _is_blank(value: object) -> bool:
    if isinstance(value, str):
        return js.is_blank(value)
    if not isinstance(value, list):
        return False
    return all(
        isinstance(part, dict)
        and part.get("kind") == "text"
        and isinstance(part.get("text"), str)
        and js.is_blank(part["text"])
        for part in value
    )


class PromptTooLarge(WorkflowRule):
    code = "PR016"
    name = "prompt-too-large"
    severity = Severity.WARNING
    origin = "product"
    summary = f"A compiled prompt has more than {MAX_PROMPT} characters."
    why = (
        "The engine rejects a longer `prompt`. Blocks, features and templates can exceed the limit, but an agent "
        "follows little of a prompt that long."
    )
    needs = frozenset({LONG_PROMPT})

    def check_compiled(self, compiled: CompiledWorkflow, workflow: WorkflowContext, report: Report) -> None:
        for node in walk(compiled.nodes):
            prompt = node.step.get("prompt")
            if isinstance(prompt, str) and len(prompt) > MAX_PROMPT:
                report(
                    _prompt_place(node),
                    f"{step_label(node)}: the compiled prompt has {len(prompt)} characters, more than {MAX_PROMPT}; "
                    "split the step",
                )

    def examples(self) -> Iterable[Example]:
        def listing(count: int) -> dict[str, Any]:
            items = [f"Check rule {number} of the house rules against the change." for number in range(count)]
            return samples.workflow(
                samples.step(prompt=None, promptBlocks={"goal": "Apply the house rules.", "procedure": items})
            )

        yield Example(listing(160), listing(8))


def _prompt_place(node: Node) -> str:
    if node.origin is not None and node.origin.source == "virtual":
        return f"{node.pointer}/{node.origin.part}"
    if node.origin is not None and node.origin.source == "template":
        return node.place
    return f"{node.pointer}/{node.prompt_member}" if node.pointer.startswith("/steps/") else node.pointer


class PromptRefsBudget(WorkflowRule):
    code = "PR017"
    name = "prompt-refs-budget"
    severity = Severity.ERROR
    origin = "lock"
    summary = "A ref, or all text that refs and features inject into one step, exceeds its budget."
    why = "Injected text crowds out what the author wrote. It is never truncated, so too much of it is an error."

    def examples(self) -> Iterable[Example]:
        def referring(times: int) -> dict[str, Any]:
            ref = {"kind": "ref", "refId": "wr.refs.adversarial_challenge_rules"}
            return samples.workflow(
                samples.step(prompt=None, promptBlocks={"goal": "Challenge it.", "constraints": [[ref]] * times})
            )

        yield Example(referring(40), referring(1))


class PromptNearLimit(WorkflowRule):
    code = "PR018"
    name = "prompt-near-limit"
    severity = Severity.INFO
    origin = "product"
    default_on = False
    summary = f"An authored prompt uses more than 90 percent of the {MAX_PROMPT} characters allowed."
    why = "The next small addition makes the document invalid; splitting the step now is easier."

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        prompt = step.step.get("prompt")
        if isinstance(prompt, str) and _NEAR < len(prompt) <= MAX_PROMPT:
            report(
                step.at("prompt"),
                f"{label(step)}: the prompt has {len(prompt)} of at most {MAX_PROMPT} characters; split the step",
            )

    def examples(self) -> Iterable[Example]:
        sentence = "Check the next file of the change and note what you find. "
        yield Example(
            samples.workflow(samples.step(prompt=sentence * 130)), samples.workflow(samples.step(prompt=sentence * 10))
        )
