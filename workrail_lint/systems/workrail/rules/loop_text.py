"""The length and the form of the prompts that an agent gets in every iteration."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.facts import LOOP
from workrail_lint.systems.workrail.rules.loop_facts import label, settings
from workrail_lint.systems.workrail.rules.prose import step_members, text_index
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

# UTF-16 code units, as the engine counts them.
_LONG = 1500


@lru_cache(maxsize=32)
def _body_text(step: Step) -> tuple[str, str]:
    """What an agent reads in each iteration, as the engine assembles it, and its place."""
    prompt = step.step.get("prompt")
    if isinstance(prompt, str) and prompt:
        return prompt, step.at("prompt")
    blocks = step.step.get("promptBlocks")
    if not isinstance(blocks, dict):
        return "", step.pointer
    values = [blocks.get("goal")]
    for section in ("constraints", "procedure", "verify"):
        items = blocks.get(section)
        values += items if isinstance(items, list) else []
    return "\n".join(value for value in values if isinstance(value, str)), step.at("promptBlocks")


def _measured(step: Step) -> tuple[int, str]:
    text, pointer = _body_text(step)
    return js.u16_length(text) if len(text) > _LONG // 2 else 0, pointer


class LoopPromptLong(WorkflowRule):
    code = "LP032"
    name = "loop-prompt-long"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The prompt of a body step has more than 1500 characters."
    why = (
        "The agent gets the prompt again in every iteration, and a long one crowds out the results of earlier "
        "iterations. Several short steps, or instructions before the loop, cost less."
    )
    needs = frozenset({LOOP})

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        for inner in loop.inline:
            length, pointer = _measured(inner)
            if length > _LONG:
                report(
                    pointer,
                    f"{label(inner)}: the prompt repeats {length} characters in every iteration; keep it under {_LONG} "
                    "with several steps, or move the fixed part before the loop",
                )

    def examples(self) -> Iterable[Example]:
        def prompted(times: int) -> dict[str, Any]:
            return loop(step("inner-step", "Compare the two reports line by line. " * times))

        yield Example(bad=workflow(prompted(45)), good=workflow(prompted(30)))


class LoopPatternProgressive(WorkflowRule):
    code = "LP039"
    name = "loop-pattern-progressive"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "A `for` loop looks like an analysis with a different task in each iteration."
    why = (
        "If each iteration has its own task, one prompt must explain all of them every time. Separate steps, or body "
        "steps with a `runCondition` on the iteration, are clearer."
    )
    needs = frozenset({LOOP})

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        if settings(loop).get("type") != "for" or not loop.inline:
            return
        first = loop.inline[0]
        text, place = _body_text(first)
        is_sign = any(word in text for word in ("analysis", "Step 1", "Structure"))
        signs = [
            (found, found.at("title")) for found in (loop, first) if "analysis" in js.lower(found.step.get("title", ""))
        ]
        if is_sign:
            signs.append((first, place))
        if signs:
            found, pointer = signs[0]
            report(
                pointer,
                f"{label(found)}: reads like a task that changes with each iteration; if so, give each iteration a "
                "step with a runCondition",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(step("inner-step", "Take the analysis one level deeper."))),
            good=workflow(loop(step("inner-step", "Rerun the tests and note the failures."))),
        )


# The words lack their first letter, so that they match with and without a capital: a pattern with a literal prefix is
# much faster than one that ignores case. "For each" alone does not count, because most prompts with it ask for a list.
_SPACE, _BREAK = f"[{js.WHITESPACE_CLASS}]+", f"[{js.WHITESPACE_CLASS}\0]+"
_ROUNDS = (
    ("tep", rf"tep{_SPACE}[0-9]+{_SPACE}of{_SPACE}[0-9]+"),
    ("epeat", r"epeat\b[^.\n]{0,40}?\b(?:steps?|phases?|until|process|times)\b"),
    ("terat", r"terat(?:e|ing)\b[^.\n]{0,40}?\b(?:steps?|phases?|process|times|over|through|each|every)\b"),
    ("terat", r"terating until\b"),
)
# One of these is in everything that the patterns match, in lower case. The index has a `\0` where a prompt has a line
# break between two of its texts.
_COUNTED = Pattern(rf"tep{_BREAK}[0-9]+{_BREAK}of{_BREAK}[0-9]")
_REPEATING = ("epeat", "terat")
_WORDS = ("tep", *_REPEATING)


@cache
def _rounds() -> list[tuple[str, re.Pattern[str]]]:
    return [(word, re.compile(pattern)) for word, pattern in _ROUNDS]


def _manual_rounds(text: str) -> str | None:
    """The words that ask for iterations."""
    for word, pattern in _rounds():
        match = pattern.search(text, 1) if word in text else None
        if match:
            return " ".join(text[match.start() - 1 : match.end()].split())
    return None


class LoopManualIteration(WorkflowRule):
    code = "LP043"
    name = "loop-manual-iteration"
    words = _WORDS
    severity = Severity.INFO
    origin = "doc"
    summary = "The prompt of a step outside of loops asks the agent to iterate."
    why = (
        "Iterations in a prompt have no limit, no count and can't be resumed, and nothing notices if the agent stops "
        "early. A loop step solves all of that."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        index = text_index(workflow)
        # The texts of a step that calls a template are not in the order of its prompt.
        is_counted = "templateCall" in step_members(workflow) or any(
            _COUNTED.match(index.low, place) for place in index.places("tep")
        )
        owners = {owner for owner, _ in index.texts_with(_WORDS if is_counted else _REPEATING)}
        for found in workflow.all_steps:
            if found not in owners or found.kind == "loop" or found.pointer in workflow.loop_of:
                continue
            words = _manual_rounds(found.prompt_text)
            if words is not None:
                texts = (text.pointer for text in found.prompt_texts if _manual_rounds(text.text))
                place = next(texts, found.pointer)
                report(
                    place,
                    f"{label(found)}: {quoted(words)} asks for iterations that the engine does not track; use a loop "
                    "step",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(prompt="This is step 2 of 5: read the next file.")),
            good=workflow(loop(step("inner-step", "Read the next file."), count=5, maxIterations=5)),
        )
        yield Example(
            bad=workflow(step(prompt="Fix one finding. Repeat this until none is left.")),
            good=workflow(step(prompt="For each finding, write one sentence about its cause.")),
        )
