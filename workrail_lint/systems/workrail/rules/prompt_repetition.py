"""Prompts that repeat the same text in several steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from workrail_lint.base.wording import counted, quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Condition, Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import LONG_SENTENCE, OFTEN, REPETITION, repeated_sentences
from workrail_lint.systems.workrail.rules.prose import excerpt, label, listing, prompts, sentences, text_index

_ALIKE = 0.8
_COMPARED = 50  # steps with a common line; more are not compared
# What two variants of one step may differ in.
_VARIABLE = frozenset(("id", "title", "prompt", "promptBlocks", "runCondition", "promptFragments"))


class PromptBoundaryBoilerplate(WorkflowRule):
    code = "PR023"
    name = "prompt-boundary-boilerplate"
    severity = Severity.INFO
    origin = "spec"
    summary = f"The same sentence of at least {LONG_SENTENCE} characters is in {OFTEN} or more prompts of one run."
    why = "Agents skip over repeated text, and the copies drift apart when one of them is edited."
    needs = frozenset({REPETITION})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        repeated = repeated_sentences(text_index(workflow))
        owners: dict[str, dict[str, tuple[Step, Text]]] = {}
        for step, text in prompts(workflow).having([sentence.lower() for sentence in repeated]):
            for sentence in sentences(text.text, LONG_SENTENCE):
                if sentence in repeated:
                    owners.setdefault(sentence, {}).setdefault(step.id, (step, text))
        judged: dict[tuple[int, int], bool] = {}
        users = {
            sentence: _shown_together(places, judged) for sentence, places in owners.items() if len(places) >= OFTEN
        }
        groups: dict[tuple[str, ...], list[str]] = {}
        for sentence, places in users.items():
            if len(places) >= OFTEN:
                groups.setdefault(tuple(places), []).append(sentence)
        for names, shared in groups.items():
            more = f" and {counted(len(shared) - 1, 'other')} are" if len(shared) > 1 else " is"
            report(
                users[shared[0]][names[0]],
                f"the sentence {excerpt(shared[0])}{more} in {len(names)} prompts ({listing(names)}); "
                "say it once, or reword it for each step",
            )

    def examples(self) -> Iterable[Example]:
        same = "Do not edit any file in this step, and report back before you start the next one."
        names = ("look", "plan", "check")
        yield Example(
            samples.workflow(*(samples.step(f"{name}-it", f"{name.title()}. {same}") for name in names)),
            samples.workflow(*(samples.step(f"{name}-it", f"{name.title()} carefully.") for name in names)),
        )


def _shown_together(places: dict[str, tuple[Step, Text]], judged: dict[tuple[int, int], bool]) -> dict[str, str]:
    """The texts that one run may show, by step: none that excludes one before it. `judged` holds earlier verdicts."""
    kept: dict[str, str] = {}
    known: list[list[Condition]] = []
    for ident, (step, text) in places.items():
        conditions = _conditions(step, text)
        if not any(_never_together(conditions, other, judged) for other in known):
            kept[ident] = text.pointer
            if not any([one.raw for one in conditions] == [one.raw for one in other] for other in known):
                known.append(conditions)
    return kept


def _conditions(step: Step, text: Text) -> list[Condition]:
    """The conditions that must hold for the agent to see a text."""
    found = [step.run_condition, step.around.run_condition if step.around is not None else None]
    if step.kind == "standard" and text.field == "fragment":
        found += [fragment.when for fragment in step.prompt_fragments if fragment.at("text") == text.pointer]
    return [condition for condition in found if condition is not None and condition.raw]


def _never_together(first: list[Condition], second: list[Condition], judged: dict[tuple[int, int], bool]) -> bool:
    for one in first:
        for other in second:
            pair = id(one), id(other)
            if pair not in judged:
                from workrail_lint.systems.workrail.analysis.logic import exclusive

                judged[pair] = exclusive(one, other)
            if judged[pair]:
                return True
    return False


class PromptVariantDuplication(WorkflowRule):
    code = "PR024"
    name = "prompt-variant-duplication"
    severity = Severity.INFO
    origin = "spec"
    default_on = False
    summary = "Two steps have nearly the same prompt and differ only in when they run."
    why = "The shared part must be kept in sync by hand. One step with conditional fragments says it once."
    needs = frozenset({"runCondition"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        lists = [workflow.steps, *(step.inline for step in workflow.steps if step.inline)]
        for steps in lists:
            for first, second in _variants([step for step in steps if _is_variant(step)]):
                report(
                    second.at("runCondition"),
                    f"{label(second)} has almost the same prompt as step {quoted(first.id)} and runs under another "
                    "condition; merge them into one step with `promptFragments` for the difference",
                    on_name=True,
                )

    def examples(self) -> Iterable[Example]:
        def depth(name: str, *more: str) -> dict[str, Any]:
            lines = ["Read the change.", "List every file it touches.", "Name the riskiest one.", "Say why.", "Stop."]
            condition = {"var": "depth", "equals": name}
            return samples.step(f"read-{name}", "\n".join([*lines, *more]), runCondition=condition)

        fragment = {"id": "deep", "when": {"var": "depth", "equals": "deep"}, "text": "Read the tests too."}
        yield Example(
            samples.workflow(depth("quick"), depth("deep", "Read the tests too.")),
            samples.workflow(samples.step(promptFragments=[fragment])),
        )


def _is_variant(step: Step) -> bool:
    return step.kind == "standard" and not step.calls_template and "runCondition" in step.step


def _variants(steps: list[Step]) -> Iterator[tuple[Step, Step]]:
    """Each later step with the first earlier one it nearly repeats."""
    import json  # here, because few documents get this far

    groups: dict[str, list[Step]] = {}
    for step in steps:
        rest = {name: value for name, value in step.step.items() if name not in _VARIABLE}
        groups.setdefault(json.dumps(rest, sort_keys=True), []).append(step)
    for group in groups.values():
        if len(group) > 1:
            yield from _alike(group)


def _alike(steps: list[Step]) -> Iterator[tuple[Step, Step]]:
    """Each step with the first earlier one that has most of its lines under another condition.

    Two that share most lines share one of the rarest of each, so only steps with such a line are compared.
    """
    import json

    lines = [set(step.prompt_text.split("\n")) - {""} for step in steps]
    spread = Counter(line for own in lines for line in own)
    conditions = [json.dumps(step.step["runCondition"], sort_keys=True) for step in steps]
    having: dict[str, list[int]] = {}  # the earlier steps with a line
    seen: set[tuple[str, frozenset[str]]] = set()
    for index, own in enumerate(lines):
        rarest = sorted(own, key=lambda line: (spread[line], line))[: len(own) - int(_ALIKE * len(own))]
        nearby = sorted({other for line in rarest for other in having.get(line, ())[:_COMPARED]})
        for other in nearby:
            if conditions[other] != conditions[index] and _mostly_same(lines[other], own):
                yield steps[other], steps[index]
                break
        kind = conditions[index], frozenset(own)
        if kind not in seen:
            seen.add(kind)
            for line in own:
                having.setdefault(line, []).append(index)


def _mostly_same(first: set[str], second: set[str]) -> bool:
    return len(first & second) > _ALIKE * max(len(first), len(second))
