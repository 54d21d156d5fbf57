"""LP: prompts of loops: how they end the loop, how long they are, and the variables they use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import ReplaceText
from workrail_lint.findings import Confidence, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import LoopStep, Step
from workrail_lint.systems.workrail.rules.base import LoopRule, Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prompt_parts import SUBSTITUTED_FIELDS
from workrail_lint.systems.workrail.rules.prose import expressions, label, step_members, text_index
from workrail_lint.systems.workrail.rules.rule_needs import LOOP, synthesis_decision, variables
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, step, workflow

# The decisions, and the stem that all forms of the word share.
_STEMS = {"continue": "continu", "stop": "stop"}


@cache
def _example() -> re.Pattern[str]:
    """Return the pattern of a decision as in an artifact, in lower case, and of the other one next to it."""
    quote = "[\"'`]?"
    return re.compile(
        rf"decision[\"']\s{{0,8}}:\s{{0,8}}{quote}(continue|stop)\b"
        rf"({quote}\s{{0,8}}(?:\||/|,?\s?or\b)\s{{0,8}}{quote}(?:continue|stop)\b)?"
    )


class LoopTextRule(WorkflowRule):
    """A rule about prompts of loops."""

    needs = frozenset({"loop", "body", "outputContract"})


# Another rule reports a decision that the contract rejects.
_OTHER_DECISION = Pattern(
    r"[\"'`]?decision[\"'`]?\s*(?::|is|to|=)\s*[\"'`](?:continue[\"']?\s?(?:\||/|or)\s?[\"']?)?(?!continue|stop)[a-z_-]+[\"'`]"
)


class LoopDecisionOneSided(LoopTextRule):
    code = "LP028"
    name = "loop-decision-one-sided"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A loop-control prompt mentions only one decision, or shows only one in its example artifact."
    why = (
        "Agents copy what they see. With only `continue` the loop tends to run to `maxIterations`, and with only "
        "`stop` it ends after one iteration, whatever the results are."
    )

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        texts = self._decision_texts(step)
        if not texts:
            return
        lowered = "\n".join(text.text for text in texts).lower()
        if _OTHER_DECISION.search(lowered):
            return
        mentioned = [side for side, stem in _STEMS.items() if stem in lowered]
        if len(mentioned) == 1 and "{{wr." not in lowered:
            missing = "stop" if mentioned == ["continue"] else "continue"
            place = next(text for text in texts if _STEMS[mentioned[0]] in text.text.lower())
            report(
                place.pointer,
                f"{label(step)}: the prompt mentions {mentioned[0]} but not {missing}; say when to choose which",
            )
            return
        examples = list(_example().finditer(lowered))
        sides = {match[1] for match in examples}
        if len(sides) == 1 and not any(match[2] or self._offered_after(match) for match in examples):
            # Found in one piece, an example may still be spread over two texts.
            places = (text.pointer for text in texts if _example().search(text.text.lower()))
            report(
                next(places, step.pointer),
                f"{label(step)}: the example artifact shows only {sides.pop()}; write `continue` | `stop` there, or "
                "show both",
            )

    @staticmethod
    def _decision_texts(step: Step) -> list[Text]:
        """Return the texts that ask for the loop's decision: the prompt of a step, or that of a synthesis."""
        if step.kind == "standard" and step.decides_loop:
            return [] if step.calls_template else step.prompt_texts
        if step.around is not None and synthesis_decision(step) is not None:
            return [text for text in step.texts if text.field == "synthesis"]
        return []

    @staticmethod
    def _offered_after(example: re.Match[str]) -> bool:
        """Return whether the words right after an example offer the other decision: "or stop when nothing is open"."""
        return (
            re.search(r"\bor\W{1,4}(?:continue|stop)\b", example.string[example.end() : example.end() + 60]) is not None
        )

    def examples(self) -> Iterable[Example]:
        def decided(prompt: str) -> dict[str, Any]:
            return workflow(controlled_loop({**decision(), "prompt": prompt}))

        both = 'Continue while findings are open, else stop: {"kind":"wr.loop_control","decision":"continue | stop"}'
        yield Example(bad=decided("Submit a wr.loop_control artifact with decision continue."), good=decided(both))
        yield Example(bad=decided(both.replace(" | stop", "")), good=decided(both))


_WHEN = r"\b(until|till|while|as long as|when|once|unless|if) (?:[\w'`]+ ){0,4}?"
_WHEN_WORDS = ("ntil ", "till ", "while ", "as long as ", "when ", "once ", "unless ", "if ")
_IMPRESSION = Pattern(
    rf"{_WHEN}(?:feels?|seems?|looks?|sounds?) (?:\w+ ){{0,2}}?"
    r"(?:done|good|right|fine|ok|okay|ready|complete|finished|solid|reasonable|enough|sufficient|clean)\b"
)
_MOOD = Pattern(
    rf"{_WHEN}(?:are|is|am|feel|feels) (?:\w+ ){{0,2}}?"
    r"(?:satisfied|happy|comfortable|confident|convinced|sure|good enough)\b"
)
_CONFIDENCE = Pattern(
    rf"{_WHEN}confidence (?:is|are|remains|stays|feels|seems) (?:\w+ ){{0,2}}?"
    r"(?:low|medium|high|sufficient|insufficient|enough|good)\b"
)
# Every vague phrase contains one of these words, and few other texts do.
_HINTS = (
    *((word, _IMPRESSION) for word in ("feel", "seem", "look", "sound")),
    ("confidence", _CONFIDENCE),
    *((word, _MOOD) for word in ("confident", "satisfied", "comfortable", "happy", "convinced", "sure", "good enough")),
)
_WIDTH = 80  # characters that a phrase takes before and after such a word
_NEARBY = 200  # a measurable rule must be within this many characters
_SENTENCE_ENDS = ".;!?\n"
# These words introduce what keeps a loop running, whatever else the sentence is about.
_LASTING = ("until", "till", "while", "as long as")


@cache
def _about_the_loop() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:continu\w*|stop\w*|exit\w*|loop\w*|repeat\w*|iterat\w*|keep|end|another (?:pass|round)|again|done)\b"
    )


@cache
def _measurable() -> re.Pattern[str]:
    """Return a pattern: a comparison, a number that does not start a list item, a variable, or an empty set."""
    return re.compile(
        r"[<>=≤≥]|(?<![\w.])\d+(?![\w.)])|`[a-z_][\w.]*`"
        r"|\b(?:empty|zero|none|at least|at most|no (?:open|new|more|remaining|unresolved|further))\b"
    )


class LoopVagueExit(LoopTextRule):
    code = "LP029"
    name = "loop-vague-exit"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A loop body lets the agent end the loop on a feeling, without a measurable rule nearby."
    why = (
        "Confidence is not a property of the work: two agents end the same loop at different points, and most feel "
        "done after the first iteration."
    )

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        for text in loop.texts:
            if text.field == "title":
                self._check([text], text.text.lower(), loop, report)
        for inner in workflow.body_of(loop):
            if not inner.calls_template:
                self._check(inner.prompt_texts, inner.prompt_text.lower(), loop, report)

    @staticmethod
    def _check(texts: list[Text], prompt: str, loop: LoopStep, report: Report) -> None:
        """Check a prompt, in lower case, and the texts that are its lines."""
        feeling = _feeling(prompt)
        if feeling is None:
            return
        end = -1
        for text in texts:
            end += len(text.text.lower()) + 1
            if feeling.start() < end:
                report(
                    text.pointer,
                    f"loop {quoted(loop.id)}: {quoted(feeling[0])} lets a feeling end the loop; name something to "
                    "count or check, such as the number of open findings",
                )
                return

    def examples(self) -> Iterable[Example]:
        def decided(prompt: str) -> dict[str, Any]:
            return workflow(controlled_loop({**decision(), "prompt": prompt}))

        yield Example(
            bad=decided("Submit a wr.loop_control artifact: continue until it feels done, then stop."),
            good=decided("Submit a wr.loop_control artifact: continue while `openFindings` > 0, then stop."),
        )
        yield Example(
            bad=workflow(loop(step("refine", "Keep refining the plan while confidence is low."))),
            good=workflow(loop(step("refine", "Keep refining the plan while at least one finding is open."))),
        )


def _feeling(prompt: str) -> re.Match[str] | None:
    """Return the words that end the loop on a feeling, without a measurable rule nearby."""
    for word, pattern in _HINTS:
        place = prompt.find(word)
        while place >= 0:
            start = max(0, place - _WIDTH)
            may_match = any(prompt.find(when, start, place) >= 0 for when in _WHEN_WORDS)
            match = pattern.search(prompt, start, place + _WIDTH) if may_match else None
            if match and _is_exit(prompt, match):
                return match
            place = prompt.find(word, place + len(word))
    return None


def _is_exit(prompt: str, match: re.Match[str]) -> bool:
    start, end = match.span()
    if match[1] not in _LASTING and not _about_the_loop().search(_sentence(prompt, start, end)):
        return False
    return not _measurable().search(prompt, max(0, start - _NEARBY), end + _NEARBY)


def _sentence(text: str, start: int, end: int) -> str:
    """Return the nearby part of the sentence around a place."""
    before = max(text.rfind(mark, max(0, start - _NEARBY), start) for mark in _SENTENCE_ENDS)
    first = before + 1 if before >= 0 else max(0, start - _NEARBY)
    after = [place for mark in _SENTENCE_ENDS if (place := text.find(mark, end, end + _NEARBY)) >= 0]
    return text[first : min(after, default=end + _NEARBY)]


# UTF-16 code units, as the engine counts them.
_LONG = 1500


@lru_cache(maxsize=32)
def _body_text(step: Step) -> tuple[str, str]:
    """Return what an agent reads in each iteration, as the engine assembles it, and its place."""
    if step.kind == "standard" and step.prompt:
        return step.prompt, step.at("prompt")
    if step.kind != "standard" or step.prompt_blocks is None:
        return "", step.pointer
    blocks = step.prompt_blocks
    values = [blocks.goal, *blocks.constraints, *blocks.procedure, *blocks.verify]
    return "\n".join(value for value in values if isinstance(value, str)), blocks.pointer


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

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        for inner in loop.inline:
            length, pointer = self._measured(inner)
            if length > _LONG:
                report(
                    pointer,
                    f"{label(inner)}: the prompt repeats {length} characters in every iteration; keep it under {_LONG} "
                    "with several steps, or move the fixed part before the loop",
                )

    @staticmethod
    def _measured(step: Step) -> tuple[int, str]:
        text, pointer = _body_text(step)
        return js.u16_length(text) if len(text) > _LONG // 2 else 0, pointer

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
    bad = {"type": "loop", "body": [{"prompt": "Take the analysis one level deeper."}]}
    good = {"type": "loop", "body": [{"prompt": "Rerun the tests and note the failures."}]}

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        if loop.loop.type != "for" or not loop.inline:
            return
        first = loop.inline[0]
        text, place = _body_text(first)
        is_sign = any(word in text for word in ("analysis", "Step 1", "Structure"))
        titled: list[Step] = [loop, first]
        signs = [(step, step.at("title")) for step in titled if "analysis" in js.lower(step.title)]
        if is_sign:
            signs.append((first, place))
        if signs:
            step, pointer = signs[0]
            report(
                pointer,
                f"{label(step)}: reads like a task that changes with each iteration; if so, give each iteration a "
                "step with a runCondition",
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
_NEAR = 40
_REPEATING = ("epeat", "terat")
_WORDS = ("tep", *_REPEATING)


def _may_count(low: str, place: int) -> bool:
    """Return whether a number and "of" follow soon."""
    near = low[place : place + _NEAR]
    return "of" in near and any(map(str.isdigit, near))


@cache
def _rounds() -> list[tuple[str, re.Pattern[str]]]:
    return [(word, re.compile(pattern)) for word, pattern in _ROUNDS]


def _manual_rounds(text: str) -> str | None:
    """Return the words that ask for iterations."""
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
    confidence = Confidence.MEDIUM
    origin = "doc"
    summary = "The prompt of a step outside of loops asks the agent to iterate."
    why = (
        "Iterations in a prompt have no limit, no count and can't be resumed, and nothing notices if the agent stops "
        "early. A loop step solves all of that."
    )
    bad = (
        {"prompt": "This is step 2 of 5: read the next file."},
        {"prompt": "Fix one finding. Repeat this until none is left."},
    )
    good = (
        {"loop": {"type": "for", "count": 5, "maxIterations": 5}, "body": [{"prompt": "Read the next file."}]},
        {"prompt": "For each finding, write one sentence about its cause."},
    )

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        index = text_index(workflow)
        # The texts of a step that calls a template are not in the order of its prompt.
        is_counted = "templateCall" in step_members(workflow) or any(
            _COUNTED.match(index.low, place) for place in index.places("tep") if _may_count(index.low, place)
        )
        owners = {step for step, _ in index.texts_with(_WORDS if is_counted else _REPEATING)}
        for owner in workflow.all_steps:
            if owner not in owners or owner.kind == "loop" or owner.pointer in workflow.loop_of:
                continue
            words = _manual_rounds(owner.prompt_text)
            if words is not None:
                texts = (text.pointer for text in owner.prompt_texts if _manual_rounds(text.text))
                place = next(texts, owner.pointer)
                report(
                    place,
                    f"{label(owner)}: {quoted(words)} asks for iterations that the engine does not track; use a loop "
                    "step",
                )


# Names of loop variables in old documentation, by their meaning.
_DOCUMENTED = {
    "_iteration": "iteration",
    "iteration": "iteration",
    "_item": "item",
    "item": "item",
    "_index": "index",
    "index": "index",
}


@cache
def _leading_name() -> re.Pattern[str]:
    return re.compile(r"[a-zA-Z0-9_$]+")


class _Use:
    """Variables in a text of a body step."""

    __slots__ = ("expressions", "field", "pointer", "step")

    def __init__(self, step: Step, field: str, pointer: str, expressions: dict[str, list[str]]) -> None:
        self.step = step
        self.field = field
        self.pointer = pointer
        self.expressions = expressions  # by the name they start with


class LoopVariableDocName(LoopRule):
    code = "LP038"
    name = "loop-variable-doc-name"
    severity = Severity.WARNING
    origin = "doc"
    summary = "A step in a loop body uses an outdated name of a loop variable."
    why = (
        "`_iteration`, `item` and similar names are set only if the loop declares them. Otherwise the agent sees "
        "`[unset: …]`; the names are `currentIteration`, `currentItem` and `currentIndex`."
    )
    fix = "Use the loop's name for the variable."

    def check_loop(self, loop: LoopStep, workflow: WorkflowContext, report: Report) -> None:
        own = variables(loop)
        old = _DOCUMENTED.keys() - {*own, loop.loop.items}
        for use in self._uses(loop, workflow, (*SUBSTITUTED_FIELDS, "agentRole")):
            for name, written in use.expressions.items():
                if name not in old or workflow.analysis.setters(name):
                    continue
                actual = getattr(own, _DOCUMENTED[name])
                instead = f"use {quoted(actual)}" if actual else "only a forEach loop has such a variable"
                report(
                    use.pointer,
                    f"{label(use.step)}: the loop does not set {quoted(name)}; {instead}",
                    fix=self._fix(use.pointer, name, actual, written) if actual else None,
                )

    @staticmethod
    def _fix(pointer: str, name: str, actual: str, written: list[str]) -> Fix | None:
        spellings = dict.fromkeys(expression for expression in written if expression.startswith(name))
        changes = [ReplaceText(pointer, f"{{{{{old}}}}}", f"{{{{{actual}{old[len(name) :]}}}}}") for old in spellings]
        return unsafe(f"use {quoted(actual)[1:-1]}", *changes) if changes else None

    @staticmethod
    def _uses(loop: LoopStep, workflow: WorkflowContext, fields: tuple[str, ...]) -> Iterator[_Use]:
        """Yield the texts of a body that use variables; a referenced body is part of its loop."""
        for inner in workflow.body_of(loop):
            for text in inner.texts:
                if text.field in fields and "{{" in text.text:
                    named: dict[str, list[str]] = {}
                    for expression in expressions(text.text):
                        match = _leading_name().match(js.trim(expression))
                        if match and match[0] != "wr":
                            named.setdefault(match[0], []).append(expression)
                    yield _Use(inner, text.field, text.pointer, named)

    def examples(self) -> Iterable[Example]:
        def each(prompt: str) -> dict[str, Any]:
            return loop(step("inner-step", prompt), type="forEach", count=..., items="files")

        good = workflow(each("Read {{currentItem}}."))
        yield Example(bad=workflow(each("Read {{item}}.")), good=good, fixed=good)
        counted = workflow(loop(step("inner-step", "This is round {{currentIteration}}.")))
        bad = workflow(loop(step("inner-step", "This is round {{_iteration}}.")))
        yield Example(bad=bad, good=counted, fixed=counted)
