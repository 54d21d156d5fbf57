"""The length and the shape of what a body tells the agent in every round."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.loop_facts import label, settings
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow
from workrail_lint.systems.workrail.rules.variables import expressions

if TYPE_CHECKING:
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.rules.base import Step, Workflow

# UTF-16 code units, as the engine counts them.
_LONG = 1500
_VERY_LONG = 2000
_FIELDS = ("prompt", "title", "agentRole")


@lru_cache(maxsize=32)
def _body_text(step: Step) -> tuple[str, str]:
    """What an agent reads in each round, as the engine puts it together, and where it stands."""
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


def _fields(step: Step) -> Iterator[tuple[str, str]]:
    """The single texts that may hold an expression, with the member they stand in."""
    for field in _FIELDS:
        value = step.step.get(field)
        if isinstance(value, str) and "{{" in value:
            yield value, field


def _measured(step: Step) -> tuple[int, str]:
    text, pointer = _body_text(step)
    return js.u16_length(text) if len(text) > _LONG // 2 else 0, pointer


class LoopPromptLong(WorkflowRule):
    code = "LP032"
    name = "loop-prompt-long"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The prompt of a body step is over 1500 characters."
    why = (
        "The agent gets it again in every round, and a long prompt repeated crowds out what the rounds before found. "
        "Several short steps, or instructions before the loop, cost less."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        for inner in loop.body:
            length, pointer = _measured(inner)
            if _LONG < length <= _VERY_LONG:
                report(
                    pointer,
                    f"{label(inner)}: repeats {length} characters in every round; keep it under {_LONG}, in several "
                    "steps or with the fixed part before the loop",
                )

    def examples(self) -> Iterable[Example]:
        def told(times: int) -> dict[str, Any]:
            return loop(step("inner-step", "Compare the two reports line by line. " * times))

        yield Example(bad=workflow(told(45)), good=workflow(told(30)))


class LoopPromptVeryLong(WorkflowRule):
    code = "LP033"
    name = "loop-prompt-very-long"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The prompt of a body step is over 2000 characters."
    why = (
        "The agent gets it again in every round; after a few of them the instructions are most of what it has in mind. "
        "Split the step, or say the fixed part once before the loop."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        for inner in loop.body:
            length, pointer = _measured(inner)
            if length > _VERY_LONG:
                report(
                    pointer,
                    f"{label(inner)}: repeats {length} characters in every round; split the step, or say the fixed "
                    "part once before the loop",
                )

    def examples(self) -> Iterable[Example]:
        def told(times: int) -> dict[str, Any]:
            return loop(step("inner-step", "Compare the two reports line by line. " * times))

        yield Example(bad=workflow(told(60)), good=workflow(told(30)))


@cache
def _literals() -> re.Pattern[str]:
    return re.compile("'[^']*'|\"[^\"]*\"")


class LoopConditionalContent(WorkflowRule):
    code = "LP034"
    name = "loop-conditional-content"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "The texts inside `{{… ? …}}` of a body prompt add up to over 2000 characters."
    why = (
        "Such expressions are not evaluated: the agent reads every branch in every round. Fragments with a `when`, or "
        "steps with a `runCondition`, show one branch."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        for inner in loop.body:
            prompt = inner.step.get("prompt")
            if not isinstance(prompt, str) or len(prompt) <= _VERY_LONG // 2 or "{{" not in prompt:
                continue
            found = (literal for e in expressions(prompt) if "?" in e for literal in _literals().findall(e))
            total = sum(js.u16_length(literal) - 2 for literal in found)
            if total > _VERY_LONG:
                report(
                    inner.at("prompt"),
                    f"{label(inner)}: the branches inside {{{{… ? …}}}} add up to {total} characters, and the agent "
                    "reads them all; use promptFragments with when, or steps with runCondition",
                )

    def examples(self) -> Iterable[Example]:
        branches = f"{{{{round ? '{'Look at the tests. ' * 60}' : '{'Look at the code. ' * 60}'}}}}"
        yield Example(
            bad=workflow(loop(step("inner-step", branches))),
            good=workflow(loop(step("inner-step", "Look at the tests, then at the code."))),
        )


def _is_nested(expression: str) -> bool:
    """Two question marks, and two colons behind them."""
    place = -1
    for mark in "??::":
        place = expression.find(mark, place + 1)
        if place < 0:
            return False
    return True


def _is_ternary(expression: str) -> bool:
    question = expression.find("?")
    return question >= 0 and ":" in expression[question:]


class LoopTernaryNested(WorkflowRule):
    code = "LP035"
    name = "loop-ternary-nested"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "A body step has a conditional expression inside another."
    why = "Nothing evaluates it: only plain names are put in, so the agent reads the expression as it stands."

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        for inner in loop.body:
            for text, field in _fields(inner):
                if any(map(_is_nested, expressions(text))):
                    report(
                        inner.at(field),
                        f"{label(inner)}: the nested conditional in its {field} is shown as it stands; write steps "
                        "with a runCondition each",
                    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(step("inner-step", "Look at {{first ? fresh ? 'all' : 'some' : 'none'}} of the files."))),
            good=workflow(loop(step("inner-step", "Look at the files that round {{currentIteration}} is about."))),
        )


class LoopTernaryComplex(WorkflowRule):
    code = "LP036"
    name = "loop-ternary-complex"
    severity = Severity.WARNING
    origin = "engine-warn"
    summary = "A body step has a conditional expression in a text with two or more question marks."
    why = "Nothing evaluates it: only plain names are put in, so the agent reads the expression as it stands."

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        for inner in loop.body:
            for text, field in _fields(inner):
                count = text.count("?")
                found = list(expressions(text)) if count >= 2 else []
                if any(map(_is_ternary, found)) and not any(map(_is_nested, found)):
                    report(
                        inner.at(field),
                        f"{label(inner)}: its {field} holds conditional text with {count} question marks, which is "
                        "shown as it stands; write steps with a runCondition each",
                    )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(
                loop(step("inner-step", "Look at {{first ? 'all' : second ? 'some' : 'none'}} of the files."))
            ),
            good=workflow(loop(step("inner-step", "Which files are left? Look at one of them."))),
        )


class LoopPatternProgressive(WorkflowRule):
    code = "LP039"
    name = "loop-pattern-progressive"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "A `for` loop looks like an analysis that goes one step further in each round."
    why = (
        "When each round has a task of its own, one prompt has to explain all of them every time. Separate steps, or "
        "body steps with a `runCondition` on the round, say what each round is for."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        if settings(loop).get("type") != "for" or not loop.body:
            return
        first = loop.body[0]
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
                f"{label(found)}: reads like a task that changes from round to round; if so, give each round a step "
                "with a runCondition",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(step("inner-step", "Take the analysis one level deeper."))),
            good=workflow(loop(step("inner-step", "Rerun the tests and note the failures."))),
        )


class LoopPatternMultiConditional(WorkflowRule):
    code = "LP040"
    name = "loop-pattern-multi-conditional"
    severity = Severity.INFO
    origin = "engine-warn"
    summary = "The text of a body step holds both `===` and `?`, as code that branches does."
    why = (
        "Prompts are not evaluated, so branches written as code are left to the agent. A `runCondition` really decides."
    )

    def check_loop(self, loop: Step, workflow: Workflow, report: Report) -> None:
        for inner in loop.body:
            text, pointer = _body_text(inner)
            if "===" in text and "?" in text:
                report(
                    pointer,
                    f"{label(inner)}: seems to branch in its text; use a step with a runCondition for each branch",
                )
                return

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(loop(step("inner-step", "Is mode === 'deep'? Then read every file."))),
            good=workflow(loop(step("inner-step", "Read every file."), step("deep", runCondition={"var": "deep"}))),
        )


# The words lack their first letter: so they are found with and without a capital, and a pattern with a literal
# beginning is searched for much faster than one that ignores case. "For each" alone is no sign of rounds: most
# prompts that say it ask for a list.
_SPACE = f"[{js.WHITESPACE_CLASS}]+"
_ROUNDS = (
    rf"tep{_SPACE}[0-9]+{_SPACE}of{_SPACE}[0-9]+",
    r"epeat\b[^.\n]{0,40}?\b(?:steps?|phases?|until|process|times)\b",
    r"terat(?:e|ing)\b[^.\n]{0,40}?\b(?:steps?|phases?|until|process|times|over|through|each|every)\b",
)


@cache
def _rounds() -> list[re.Pattern[str]]:
    return [re.compile(pattern) for pattern in _ROUNDS]


def _manual_rounds(text: str) -> str | None:
    """The words that ask for rounds."""
    for pattern in _rounds():
        match = pattern.search(text, 1)
        if match:
            return " ".join(text[match.start() - 1 : match.end()].split())
    return None


class LoopManualIteration(WorkflowRule):
    code = "LP043"
    name = "loop-manual-iteration"
    severity = Severity.INFO
    origin = "doc"
    summary = "A step outside loops counts its rounds, or sends the agent round, in its text."
    why = (
        "Rounds that live in a prompt are not bounded, not counted and not resumable: nothing notices when the agent "
        "stops early. A loop step does all of that."
    )

    def check_workflow(self, workflow: Workflow, report: Report) -> None:
        outside = [s for s in workflow.all_steps if s.kind != "loop" and s.pointer not in workflow.loop_of]
        if _manual_rounds("\n".join([found.prompt for found in outside])) is None:
            return
        for found in outside:
            words = _manual_rounds(found.prompt)
            if words is not None:
                texts = (text.pointer for text in found.prompt_texts if _manual_rounds(text.text))
                place = next(texts, found.pointer)
                report(place, f"{label(found)}: {quoted(words)} asks for rounds that nothing counts; use a loop step")

    def examples(self) -> Iterable[Example]:
        yield Example(
            bad=workflow(step(prompt="This is step 2 of 5: read the next file.")),
            good=workflow(loop(step("inner-step", "Read the next file."), count=5, maxIterations=5)),
        )
        yield Example(
            bad=workflow(step(prompt="Fix one finding. Repeat this until none is left.")),
            good=workflow(step(prompt="For each finding, write one sentence about its cause.")),
        )
