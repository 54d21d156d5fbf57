"""What the prompts of a loop body say about ending the loop."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.compiler.loops import LOOP_CONTROL
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.loop_facts import label, synthesis_contract
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, step, workflow

if TYPE_CHECKING:
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.model.workflow import Step
    from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext

# The decisions, and the stem that all forms of the word share.
_STEMS = {"continue": "continu", "stop": "stop"}


@cache
def _example() -> re.Pattern[str]:
    """A decision written as in an artifact, in lower case, and whether the other one is offered next to it."""
    quote = "[\"'`]?"
    return re.compile(
        rf"decision[\"']\s{{0,8}}:\s{{0,8}}{quote}(continue|stop)\b"
        rf"({quote}\s{{0,8}}(?:\||/|,?\s?or\b)\s{{0,8}}{quote}(?:continue|stop)\b)?"
    )


class LoopTextRule(WorkflowRule):
    """A rule about prompts of loops."""

    needs = frozenset({"loop", "body", "outputContract"})


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
        texts = _decision_texts(step)
        if not texts:
            return
        lowered = "\n".join(text.text for text in texts).lower()
        said = [side for side, stem in _STEMS.items() if stem in lowered]
        if len(said) == 1 and "{{wr." not in lowered:
            missing = "stop" if said == ["continue"] else "continue"
            place = next(text for text in texts if _STEMS[said[0]] in text.text.lower())
            report(
                place.pointer,
                f"{label(step)}: the prompt mentions {said[0]} but not {missing}; say when to choose which",
            )
            return
        shown = list(_example().finditer(lowered))
        sides = {match[1] for match in shown}
        if len(sides) == 1 and not any(match[2] or _offered_after(match) for match in shown):
            # Found in one piece, an example may still be spread over two texts.
            places = (text.pointer for text in texts if _example().search(text.text.lower()))
            report(
                next(places, step.pointer),
                f"{label(step)}: the example artifact shows only {sides.pop()}; write `continue` | `stop` there, or "
                "show both",
            )

    def examples(self) -> Iterable[Example]:
        def decided(prompt: str) -> dict[str, Any]:
            return workflow(controlled_loop({**decision(), "prompt": prompt}))

        both = 'Continue while findings are open, else stop: {"kind":"wr.loop_control","decision":"continue | stop"}'
        yield Example(bad=decided("Submit a wr.loop_control artifact with decision continue."), good=decided(both))
        yield Example(bad=decided(both.replace(" | stop", "")), good=decided(both))


def _offered_after(example: re.Match[str]) -> bool:
    """Whether the words right after an example offer the other decision: "or stop when nothing is open"."""
    return re.search(r"\bor\W{1,4}(?:continue|stop)\b", example.string[example.end() : example.end() + 60]) is not None


def _decision_texts(step: Step) -> list[Text]:
    """The texts that ask for the loop's decision: a step's prompt, or that of a parallel step's synthesis."""
    if step.kind == "standard" and "outputContract" in step.step and step.decides_loop:
        return [] if step.calls_template else step.prompt_texts
    if step.kind == "parallel" and step.around is not None and synthesis_contract(step) == LOOP_CONTROL:
        return [text for text in step.texts if text.field == "synthesis"]
    return []


# Every vague phrase contains one of these words, and few other texts do.
_HINTS = (
    "feel",
    "seem",
    "look",
    "sound",
    "confiden",
    "satisfied",
    "comfortable",
    "happy",
    "convinced",
    "sure",
    "good enough",
)
_WIDTH = 80  # characters that a phrase takes before and after such a word
_NEARBY = 200  # a measurable rule must be within this many characters
_SENTENCE_ENDS = ".;!?\n"
# These words introduce what keeps a loop running, whatever else the sentence is about.
_LASTING = ("until", "till", "while", "as long as")


@cache
def _vague() -> re.Pattern[str]:
    impression = (
        "(?:feels?|seems?|looks?|sounds?) (?:\\w+ ){0,2}?"
        "(?:done|good|right|fine|ok|okay|ready|complete|finished|solid|reasonable|enough|sufficient|clean)"
    )
    mood = (
        "(?:are|is|am|feel|feels) (?:\\w+ ){0,2}?(?:satisfied|happy|comfortable|confident|convinced|sure|good enough)"
    )
    confidence = (
        "confidence (?:is|are|remains|stays|feels|seems) (?:\\w+ ){0,2}?"
        "(?:low|medium|high|sufficient|insufficient|enough|good)"
    )
    when = "(until|till|while|as long as|when|once|unless|if)"
    return re.compile(rf"\b{when} (?:[\w'`]+ ){{0,4}}?(?:{impression}|{mood}|{confidence})\b")


@cache
def _about_the_loop() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:continu\w*|stop\w*|exit\w*|loop\w*|repeat\w*|iterat\w*|keep|end|another (?:pass|round)|again|done)\b"
    )


@cache
def _measurable() -> re.Pattern[str]:
    """A comparison, a number that does not start a list item, a variable, or an empty set."""
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

    def check_loop(self, loop: Step, workflow: WorkflowContext, report: Report) -> None:
        for text in loop.texts:
            if text.field == "title":
                self._judge([text], text.text.lower(), loop, report)
        for inner in workflow.body_of(loop):
            if not inner.calls_template:
                self._judge(inner.prompt_texts, inner.prompt_text.lower(), loop, report)

    def _judge(self, texts: list[Text], prompt: str, loop: Step, report: Report) -> None:
        """Check a prompt, in lower case, and the texts that are its lines."""
        found = _feeling(prompt)
        if found is None:
            return
        end = -1
        for text in texts:
            end += len(text.text.lower()) + 1
            if found.start() < end:
                report(
                    text.pointer,
                    f"loop {quoted(loop.id)}: {quoted(found[0])} lets a feeling end the loop; name something to count "
                    "or check, such as the number of open findings",
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
    """The words that end the loop on a feeling, without a measurable rule nearby."""
    for word in _HINTS:
        place = prompt.find(word)
        while place >= 0:
            match = _vague().search(prompt, max(0, place - _WIDTH), place + _WIDTH)
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
    """The nearby part of the sentence around a place."""
    before = max(text.rfind(mark, max(0, start - _NEARBY), start) for mark in _SENTENCE_ENDS)
    first = before + 1 if before >= 0 else max(0, start - _NEARBY)
    after = [place for mark in _SENTENCE_ENDS if (place := text.find(mark, end, end + _NEARBY)) >= 0]
    return text[first : min(after, default=end + _NEARBY)]
