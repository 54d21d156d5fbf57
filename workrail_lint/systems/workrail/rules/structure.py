"""CD, PR: steps, fragments and sentences that repeat one another, and titles whose numbers are out of order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import counted, quoted
from workrail_lint.findings import Confidence, Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.analysis.logic import exclusive
from workrail_lint.systems.workrail.condition_logic import normal_text
from workrail_lint.systems.workrail.model.workflow import Condition, PromptFragment, StandardStep, Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import delivered
from workrail_lint.systems.workrail.rules.prose import (
    IN_PROMPTS,
    Search,
    excerpt,
    label,
    listing,
    prompts,
    sentences,
    text_index,
)
from workrail_lint.systems.workrail.rules.rule_needs import (
    CONDITIONS,
    LONG_SENTENCE,
    OFTEN,
    REPETITION,
    repeated_sentences,
)
from workrail_lint.systems.workrail.rules.samples import step, workflow

_SHORT = 24  # a prompt that says little may be repeated
_WORDS = Pattern(r"[a-z0-9]+")
_COMPOUND = Pattern(r"\w+-\w+")  # "High-Level" is no level


def _lists_of_steps(workflow: WorkflowContext) -> Iterator[Sequence[Step]]:
    """Yield the steps of the top level, then those of each inline body."""
    yield workflow.steps
    for each in workflow.steps:
        if each.inline:
            yield each.inline


def _compared(condition: Condition | None) -> tuple[str, str] | None:
    """Return variable and value of a condition that is one comparison with a string."""
    if condition is None or condition.raw.keys() != {"var", "equals"}:
        return None
    if condition.var is None or not isinstance(condition.equals, str):
        return None
    return condition.var, normal_text(condition.equals)


def _has_words(known: list[str], value: str) -> bool:
    """Return whether some words have those of a value, in its order."""
    words = _WORDS.findall(value.lower())
    return bool(words) and any(known[at : at + len(words)] == words for at in range(len(known)))


class ConditionCopied(WorkflowRule):
    code = "CD061"
    name = "condition-copied"
    severity = Severity.WARNING
    confidence = Confidence.MEDIUM
    origin = "product"
    summary = "The title or id of a step or fragment names another value than its condition."
    why = (
        "A condition that was copied and not changed runs both branches for one value and none for the other. Two "
        "fragments with one condition are info, because they may belong together."
    )
    needs = frozenset({CONDITIONS})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for steps in _lists_of_steps(workflow):
            earlier: dict[tuple[str, str], list[Step]] = {}
            for before, each in zip((None, *steps), steps, strict=False):
                compared = _compared(each.run_condition)
                if compared is None:
                    continue
                same = earlier.setdefault(compared, [])
                owner = self._copied_from(compared, each, before, same, workflow)
                same.append(each)
                if owner is not None:
                    first, other, has_branch = owner
                    effect = "" if has_branch else ", which no condition tests"
                    report(
                        each.at("runCondition"),
                        f"{label(each)} has the condition of {label(first)}, but its title says {quoted(other)}"
                        f"{effect}; compare with that",
                    )
                elif (meant := self._other_value(compared, each.title, each.id, workflow)) is not None:
                    value = each.run_condition.equals if each.run_condition is not None else None
                    report(
                        each.at("runCondition"),
                        f"{label(each)} runs when {quoted(compared[0])} is {quoted(value)}, but its title says "
                        f"{quoted(meant)}; compare with that, or correct the title",
                    )
        for each in workflow.all_steps:
            if each.kind == "standard" and len(each.prompt_fragments) > 1:
                self._check_fragments(each, workflow, report)

    @staticmethod
    def _other_value(compared: tuple[str, str], title: str, ident: str, workflow: WorkflowContext) -> str | None:
        """Return the only value of the variable that a title and id name, if it is not the one compared."""
        name, value = compared
        words, parts = _WORDS.findall(_COMPOUND.sub(" ", title.lower())), _WORDS.findall(ident.lower())
        if _has_words(words, value) or _has_words(parts, value):
            return None
        domain = workflow.analysis.domain(name) if words else None
        values = list(map(str, domain.values)) if domain is not None else []
        named = [each for each in values if _has_words(words, each) and _has_words(parts, each)]
        is_known = value in map(normal_text, values)
        return named[0] if len(named) == 1 and is_known else None

    def _check_fragments(self, owner: StandardStep, workflow: WorkflowContext, report: Report) -> None:
        fragments = owner.prompt_fragments
        for first, second in pairwise(fragments):
            if second.when is None or first.when is None or not second.when.raw or first.when.raw != second.when.raw:
                continue
            other = self._other_fragment(first, second, workflow)
            hint = f", but {quoted(second.id)} is about {quoted(other)}" if other is not None else ""
            report(
                second.at("when"),
                f"{label(owner)}: the fragments {quoted(first.id)} and {quoted(second.id)} have the same "
                f"condition{hint}; "
                "join them, or correct one",
                severity=None if other is not None else Severity.INFO,
            )

    def _other_fragment(self, first: PromptFragment, second: PromptFragment, workflow: WorkflowContext) -> str | None:
        """Return the value that the second of two fragments is about instead of the one they share."""
        compared = _compared(second.when)
        if compared is None:
            return None
        name, value = compared
        words = {*_WORDS.findall(second.id.lower()), *_WORDS.findall(second.text.lower())}
        untested = self._untested(name, workflow)
        other = next((each for each in untested if words.issuperset(_WORDS.findall(each.lower()))), None)
        own, rest = _WORDS.findall(first.id.lower()), _WORDS.findall(second.id.lower())
        shared = _WORDS.findall(value)
        if other is not None or not _has_words(own, value) or _has_words(rest, value):
            return other
        if (other := next((each for each in self._values(name, workflow) if _has_words(rest, each)), None)) is not None:
            return other
        # "review-quick" and "review-thorough" differ in the value alone.
        differing = [index for index, pair in enumerate(zip(own, rest, strict=False)) if pair[0] != pair[1]]
        is_value = len(own) == len(rest) and len(differing) == 1 and [own[differing[0]]] == shared
        return rest[differing[0]] if is_value and rest[differing[0]] in _WORDS.findall(second.text.lower()) else None

    def _copied_from(
        self,
        compared: tuple[str, str],
        step: Step,
        before: Step | None,
        same: list[Step],
        workflow: WorkflowContext,
    ) -> tuple[Step, str, bool] | None:
        """Return the step whose condition this one has, the value that its title names, and whether that is tested."""
        name, value = compared
        if not same or self._names(step, value):
            return None
        untested = self._untested(name, workflow)
        for other in untested:
            if before is same[-1] and self._names(step, other) and not self._names(before, other):
                return before, other, False
        first = next((each for each in reversed(same) if self._names(each, value)), None)
        for other in self._values(name, workflow) if first is not None else ():
            if first is None or not self._names(step, other):
                continue
            # "Balanced: Create a Comprehensive Plan" is about its id.
            ids = (
                _has_words(_WORDS.findall(first.id.lower()), other),
                _has_words(_WORDS.findall(step.id.lower()), other),
            )
            if not self._names(first, other) or ids == (False, True):
                return first, other, other not in untested
        return None

    @staticmethod
    def _values(name: str, workflow: WorkflowContext) -> list[str]:
        """Return the values that a prompt lists for a variable, or that conditions compare it with, as strings."""
        domain = workflow.analysis.domain(name)
        leaves = [use.leaf for use in workflow.analysis.by_name.get(name, ()) if use.leaf is not None]
        tested = [value for leaf in leaves for value in (leaf.equals, *leaf.in_)]
        return list(dict.fromkeys(map(str, (*(domain.values if domain is not None else ()), *tested))))

    @staticmethod
    def _untested(name: str, workflow: WorkflowContext) -> list[str]:
        """Return the known values of a variable that no condition compares it with."""
        domain = workflow.analysis.domain(name)
        leaves = [use.leaf for use in workflow.analysis.by_name.get(name, ()) if use.leaf is not None]
        if domain is None or any("equals" not in leaf and "in" not in leaf for leaf in leaves):
            return []
        tested = {normal_text(str(value)) for leaf in leaves for value in (leaf.equals, *leaf.in_)}
        return [value for value in domain.values if isinstance(value, str) and normal_text(value) not in tested]

    @staticmethod
    def _names(step: Step, value: str) -> bool:
        """Return whether the title or id of a step has the words of a value."""
        return any(_has_words(_WORDS.findall(text.lower()), value) for text in (step.title, step.id))

    def examples(self) -> Iterable[Example]:
        def shipping(second: str) -> dict[str, Any]:
            air = step("send-air", title="Send by air", runCondition={"var": "route", "equals": "air"})
            sea = step("send-sea", title="Send by sea", runCondition={"var": "route", "equals": second})
            return workflow(step("choose", "Set `route` to `air` or `sea`."), air, sea)

        yield Example(bad=shipping("air"), good=shipping("sea"))

        def packing(second: str) -> dict[str, Any]:
            fragments = [
                {"id": "for-air", "when": {"var": "route", "equals": "air"}, "text": "Use light boxes."},
                {"id": "for-sea", "when": {"var": "route", "equals": second}, "text": "Use strong boxes."},
            ]
            return workflow(step("choose", "Set `route` to `air` or `sea`."), step("pack", promptFragments=fragments))

        yield Example(bad=packing("air"), good=packing("sea"))


class StepRepeated(WorkflowRule):
    code = "PR061"
    name = "step-repeated"
    severity = Severity.WARNING
    origin = "product"
    summary = "Two steps have the same prompt and the same condition."
    why = "The agent does the same work twice, or one of the two was copied and never changed."

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for steps in _lists_of_steps(workflow):
            seen: dict[tuple[str, str], Step] = {}
            candidates = [
                each
                for each in steps
                if each.kind == "standard"
                and not each.calls_template
                and (each.pointer not in workflow.loop_of or each.around)
            ]
            # Equal prompts begin with equal words, which are read faster than whole prompts.
            if len({tuple(each.prompt_text.split(None, 4)[:4]) for each in candidates}) == len(candidates):
                continue
            for each in candidates:
                prompt = " ".join(each.prompt_text.split())
                if len(prompt) < _SHORT:
                    continue
                key = prompt, repr((each.raw.get("runCondition"), each.raw.get("promptFragments")))
                first = seen.setdefault(key, each)
                if first is not each:
                    report(
                        each.pointer,
                        f"{label(each)} has the prompt and condition of {label(first)}; remove it, or say what is "
                        "different",
                    )

    def examples(self) -> Iterable[Example]:
        def twice(prompt: str) -> dict[str, Any]:
            return workflow(step("read", "Read the letters and note each question."), step("sort", prompt))

        yield Example(
            bad=twice("Read the letters and note each question."),
            good=twice("Sort the questions by how often they come."),
        )


_NUMBERED = Pattern(r"\s*(?:(phase|step|stage|part)\s+)?(\d{1,3})(?:\.(\d{1,3}))?([a-z])?\s*(?:[:.)–—]|- |$)")


_NEAR = 100  # titles with a number that are compared with one
_BRANCHES = 4  # of them, those that may be branches of one decision, which is slow to find out


class TitleNumberOrder(WorkflowRule):
    code = "PR062"
    name = "title-number-order"
    severity = Severity.WARNING
    origin = "product"
    summary = "The numbers in the titles of steps go down or repeat."
    why = (
        "Agents and people follow the numbers: they take a step for one that was done, or look for one that is missing."
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for steps in _lists_of_steps(workflow):
            earlier: dict[str, list[tuple[tuple[int, int, str], Step]]] = {}  # by the kind of number
            largest: dict[str, tuple[int, int, str]] = {}
            for each in steps:
                has_number = any(map(str.isdigit, each.title))
                match = _NUMBERED.match(each.title.lower()) if has_number else None
                if match is None or (each.pointer in workflow.loop_of and each.around is None):
                    continue
                kind = match[1] or ""
                number = int(match[2]), int(match[3] or 0), match[4] or ""
                same_kind = earlier.setdefault(kind, [])
                # Nearly all numbers go up, and a step far away is not mistaken for this one.
                compared = same_kind[: -_NEAR - 1 : -1] if number <= largest.get(kind, number) else []
                clashes = (
                    other
                    for before, other in compared
                    if self._is_out_of_order(before, number, "loop" in (other.kind, each.kind))
                )
                branches = islice(clashes, _BRANCHES)
                clash = next(
                    (other for other in branches if not exclusive(other.run_condition, each.run_condition)), None
                )
                if clash is not None:
                    report(
                        each.at("title"),
                        f"{label(each)}: the title {excerpt(each.title)} comes after {excerpt(clash.title)}; "
                        "number the steps in their order",
                    )
                    break
                same_kind.append((number, each))
                largest[kind] = max(number, largest.get(kind, number))

    @staticmethod
    def _is_out_of_order(before: tuple[int, int, str], number: tuple[int, int, str], is_loop: bool) -> bool:
        """Return whether a number should not come after another. Some write 7a before 7, or share it with a loop."""
        if before == number:
            return not is_loop
        return before > number and (before[:2] != number[:2] or bool(before[2] and number[2]))

    def examples(self) -> Iterable[Example]:
        def titled(*titles: str) -> dict[str, Any]:
            return workflow(*[step(f"step-{index}", title=title) for index, title in enumerate(titles)])

        yield Example(
            bad=titled("Phase 1: Look", "Phase 3: Try", "Phase 2: Plan"),
            good=titled("Phase 1: Look", "Phase 2: Plan", "Phase 2b: Plan again", "Phase 3: Try"),
        )


# ------------------------------------------------------------------------------------------------ fences

_FENCE = Pattern(r"(?:^|\n)[ \t>]*(`{3,}|~{3,})[^\n]*")
# The other texts are parts of a list, and a block may run over several of them.
_WHOLE_TEXTS = frozenset(("prompt", "fragment", "synthesis", "delegationGoal"))


class FenceNotClosed(WorkflowRule):
    code = "PR064"
    name = "fence-not-closed"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt opens a fenced block and never closes it."
    why = "Everything after the fence is part of the block, so the agent takes instructions for an example."
    words = ("```", "~~~")
    bad = {"prompt": "Answer in this form:\n```\nTitle: …\n\nKeep it short."}
    good = {"prompt": "Answer in this form:\n```\nTitle: …\n```\n\nKeep it short."}

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or text.field not in _WHOLE_TEXTS:
            return
        opened: re.Match[str] | None = None
        for match in _FENCE.finditer(text.text):
            if opened is None:
                opened = match
            elif match[1].startswith(opened[1]):
                opened = None
        if opened is not None:
            after = excerpt(text.text[opened.start() :].strip())
            report(text.pointer, f"{label(step)}: the block {after} is never closed; end it with {opened[1]}")


# -------------------------------------------------------------------------------------- contradictions

_FORBIDDEN = Search(
    ("do not ", "don't ", "never "),
    r"\b(?:do not|don't|never) ((?:ask|create|write|modify|commit|run) [^\s.,;:(]+(?: [^\s.,;:(]+){2,3})",
)
_LIMIT = Pattern(
    r"\b(?:if|unless|until|when|whenever|before|after|except|only|more than|again|twice|once|yet|first|here|this step"
    r"|while)\b"
)
_STARTS = ("\n", "- ", "* ", ". ", ") ", ": ")


class InstructionContradicted(WorkflowRule):
    code = "PR065"
    name = "instruction-contradicted"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step forbids something in one sentence and asks for it in another, in the same words."
    why = "The agent follows one of the two, and which one differs from run to run."
    words = (IN_PROMPTS, *_FORBIDDEN.words)
    bad = {"prompt": "Do not ask the user to pick a color. Ask the user to pick a color, then paint."}
    good = {"prompt": "Do not ask the user to pick a color. Ask the user for the size, then paint."}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        texts = delivered(workflow)
        for phrase in texts.phrases(_FORBIDDEN):
            asked = phrase.hit.match[1]
            if _LIMIT.search(phrase.sentence):
                continue
            for text in phrase.step.prompt_texts:
                low = text.text.lower()
                at = low.find(asked)
                while at >= 0:
                    starts = at == 0 or low[max(0, at - 2) : at].endswith(_STARTS) or low[at - 1] == "\n"
                    passage = texts.passage(phrase.step, text)
                    first, last = passage.sentence(at, at + len(asked))
                    if (
                        starts
                        and not _LIMIT.search(low[first:last])
                        and not passage.is_conditional(at, at + len(asked))
                    ):
                        report(
                            text.pointer,
                            f"{label(phrase.step)}: {excerpt(text.text[at : at + len(asked)])} contradicts "
                            f"{excerpt(phrase.words)}; keep one of them",
                        )
                        return
                    at = low.find(asked, at + 1)


_COUNTED = (
    *("criteria", "dimensions", "questions", "sections", "checks", "categories", "aspects", "areas", "rules", "points"),
    *("fields", "parts", "principles", "factors", "lenses", "perspectives"),
)
_COUNT_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTED_LIST = Search(
    (*(f" {noun}:" for noun in _COUNTED), " only:"),
    rf"(?<![\w.-])(\d{{1,2}}|{'|'.join(_COUNT_WORDS)}) (?:\w+ )?(?:{'|'.join(_COUNTED)})(?: only)?:[*_]*[ \t]*\n",
    before=40,
    near=frozenset((*_COUNT_WORDS, *map(str, range(100)))),
)
_LIST_ITEM = Pattern(r"([ \t]*)((?:[-*•]|\d{1,2}[.)])(?=[ \t])|\*\*(?=\w))")  # or a paragraph that begins in bold


class ListCountDiffers(WorkflowRule):
    code = "PR066"
    name = "list-count-differs"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt says how many items a list has, and the list has more or fewer."
    why = "The agent looks for the missing one, or takes the last one for something else."
    words = (IN_PROMPTS, *_COUNTED_LIST.words)
    bad = {"prompt": "Judge the cake by three criteria:\n- taste\n- look\n"}
    good = {"prompt": "Judge the cake by three criteria:\n- taste\n- look\n- price\n"}

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for phrase in delivered(workflow).phrases(_COUNTED_LIST):
            written = phrase.hit.match[1]
            number = int(written) if written.isdecimal() else _COUNT_WORDS.index(written) + 2
            before = phrase.passage.low[max(0, phrase.start - 16) : phrase.start]
            if _ABOUT_MANY.search(before):
                continue
            count = self._items(phrase.passage.text.text[phrase.end :])
            if count > 1 and count != number:
                report(
                    phrase.pointer,
                    f"{label(phrase.step)}: {excerpt(phrase.words.strip())} is followed by {count}; correct the number "
                    "or the list",
                )

    @staticmethod
    def _items(text: str) -> int:
        """Return how many items of the first level a list has that begins a text."""
        first: tuple[int, str] | None = None  # its indent and its kind of mark
        count = blank = 0
        for line in text.split("\n"):
            match = _LIST_ITEM.match(line)
            mark = match[2].lstrip("0123456789") if match is not None else ""
            if match is not None and (first is None or len(match[1]) <= first[0]):
                is_next = mark[:1] not in ".)" or match[2][:-1] == str(count + 1)
                if first not in (None, (len(match[1]), mark)) or not is_next:
                    break
                first = len(match[1]), mark
                count += 1
            elif match is None and line.strip() and (blank or first is None or not line[:1].isspace()):
                break
            blank = 0 if line.strip() else blank + 1
            if blank > 1:
                break
        return count


_ABOUT_MANY = Pattern(
    r"\b(?:at least|at most|up to|about|around|over|any|first|top|of the|or|than|to|these)\s*[*_]*$|[-–]$"
)


# -------------------------------------------------------------------------------------------- repetition


class PromptBoundaryBoilerplate(WorkflowRule):
    code = "PR023"
    name = "prompt-boundary-boilerplate"
    severity = Severity.INFO
    confidence = Confidence.MEDIUM
    origin = "spec"
    summary = f"The same sentence of at least {LONG_SENTENCE} characters is in {OFTEN} or more prompts of one run."
    why = "Agents skip over repeated text, and the copies drift apart when one of them is edited."
    needs = frozenset({REPETITION})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        repeated = repeated_sentences(text_index(workflow))
        owners: dict[str, dict[str, tuple[Step, Text]]] = {}
        for owner, text in prompts(workflow).having([sentence.lower() for sentence in repeated]):
            for sentence in sentences(text.text, LONG_SENTENCE):
                if sentence in repeated:
                    owners.setdefault(sentence, {}).setdefault(owner.id, (owner, text))
        judged: dict[tuple[int, int], bool] = {}
        users = {
            sentence: self._shown_together(places, judged)
            for sentence, places in owners.items()
            if len(places) >= OFTEN
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

    def _shown_together(
        self, places: dict[str, tuple[Step, Text]], judged: dict[tuple[int, int], bool]
    ) -> dict[str, str]:
        """Return the texts that one run may show, by step: none that excludes an earlier one. `judged` is kept."""
        kept: dict[str, str] = {}
        known: list[list[Condition]] = []
        for ident, (owner, text) in places.items():
            conditions = self._conditions(owner, text)
            if not any(self._never_together(conditions, other, judged) for other in known):
                kept[ident] = text.pointer
                if not any([one.raw for one in conditions] == [one.raw for one in other] for other in known):
                    known.append(conditions)
        return kept

    @staticmethod
    def _conditions(owner: Step, text: Text) -> list[Condition]:
        """Return the conditions that must hold for the agent to see a text."""
        conditions = [owner.run_condition, owner.around.run_condition if owner.around is not None else None]
        if owner.kind == "standard" and text.field == "fragment":
            conditions += [fragment.when for fragment in owner.prompt_fragments if fragment.at("text") == text.pointer]
        return [condition for condition in conditions if condition is not None and condition.raw]

    @staticmethod
    def _never_together(first: list[Condition], second: list[Condition], judged: dict[tuple[int, int], bool]) -> bool:
        for one in first:
            for other in second:
                pair = id(one), id(other)
                if pair not in judged:
                    judged[pair] = exclusive(one, other)
                if judged[pair]:
                    return True
        return False

    def examples(self) -> Iterable[Example]:
        same = "Do not edit any file in this step, and report back before you start the next one."
        names = ("look", "plan", "check")
        yield Example(
            workflow(*(step(f"{name}-it", f"{name.title()}. {same}") for name in names)),
            workflow(*(step(f"{name}-it", f"{name.title()} carefully.") for name in names)),
        )
