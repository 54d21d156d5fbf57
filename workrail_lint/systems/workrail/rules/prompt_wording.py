"""The wording of prompts: excuses to do little, narration, self-assessment, delegation without a tool."""

from __future__ import annotations

from collections.abc import Iterable

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import ENGINE_VOICE, MARKUP
from workrail_lint.systems.workrail.rules.prose import (
    IN_PROMPTS,
    Hit,
    Search,
    excerpt,
    label,
    prompts,
    sentence_at,
)

_LAZY = Search(
    ("if appropriate", "minimal pass", "light scan", "smallest", "cheapest"),
    # The smallest change is good advice, not an excuse.
    r"\b(?:if appropriate|minimal pass|light scan|cheapest"
    r"|smallest(?! \w+ly\b| (?:\w+ ){0,2}(?:change|fix|diff|edit)s?\b))\b",
)
# What keeps "the smallest …" from meaning "nothing": a floor in the same sentence.
_FLOORS = (
    "at least",
    "correct",
    "credible",
    "enough to",
    "must",
    "necessary",
    "needed",
    "record why",
    "required",
    "sufficient",
    "that can",
    "that meet",
    "that prove",
    "that satisf",
    "that show",
    "that still",
)


def _has_floor(sentence: str) -> bool:
    low = f" {sentence.lower()}"
    return any(f" {floor}" in low for floor in _FLOORS)


class PromptLazyWording(WorkflowRule):
    code = "PR019"
    name = "prompt-lazy-wording"
    severity = Severity.INFO
    origin = "spec"
    summary = "A prompt allows minimal effort and sets no minimum."
    why = (
        "An agent reads `if appropriate` or `a light scan` as permission to skip. A minimum in the same sentence "
        "prevents it."
    )
    words = (IN_PROMPTS, *_LAZY.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        loose: dict[str, dict[str, Hit]] = {}
        for hit in prompts(workflow).hits(_LAZY):
            found = loose.setdefault(hit.text.pointer, {})
            if hit.phrase not in found and not _has_floor(sentence_at(hit.text.text, hit.start)):
                found[hit.phrase] = hit
        for pointer, found in loose.items():
            if not found:
                continue
            hits = sorted(found.values(), key=lambda hit: hit.start)
            shown = ", ".join(quoted(hit.phrase) for hit in hits)
            report(
                pointer,
                f"{label(hits[0].step)}: {shown} lets the agent do next to nothing; say what it must do at least",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(samples.step(prompt="Do a light scan of the module.")),
            samples.workflow(
                samples.step(prompt="Do a light scan of the module that names at least every public function.")
            ),
        )


_VOICES = (
    "the agent should ",
    "the agent will ",
    "the agent must ",
    "the agent needs to ",
    "this step will ",
    "this step should ",
    "provide a loop control artifact",
    "provide a loop-control artifact",
    "input contract:",
)
_OPENINGS = ("/prompt", "/promptBlocks/goal", "/promptBlocks/goal/0/text")


class PromptEngineVoice(WorkflowRule):
    code = "PR020"
    name = "prompt-engine-voice"
    severity = Severity.INFO
    origin = "spec"
    summary = "A prompt starts by describing the machinery instead of addressing the agent."
    why = "Agents follow direct instructions more closely than sentences about `the agent` or `this step`."
    needs = frozenset({ENGINE_VOICE})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        opening = next((text for text in step.prompt_texts if text.pointer.endswith(_OPENINGS)), None)
        if opening is None:
            return
        start = opening.text[:64].lstrip(MARKUP)
        if start.lower().startswith(_VOICES):
            report(
                opening.pointer,
                f"{label(step)}: the prompt starts with {excerpt(start)}; tell the agent directly what to do",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(samples.step(prompt="The agent should review the change.")),
            samples.workflow(samples.step(prompt="Review the change.")),
        )


_SELF_CERTIFY = Search(
    ("stillfuzzy", "contextauditneeded", "confident"),
    r"\b(?:set|record|report|mark|return|decide|declare|determine|output|emit|state|capture|update|provide|give|indicate)\b"
    r"[^.\n\0]{0,40}\b(?:stillfuzzy|contextauditneeded)\b"
    r"|\b(?:stillfuzzy|contextauditneeded)`?\s*(?:[=:]|\bto\b)"
    r"|\b(?:is)?confident`?\s*(?:[=:]|\bto\b)\s*`?true\b",
    before=48,
)
_BULLET = Pattern(r"[ \t]*(?:[-*•]|\d+[.)])\s")
_SCALE = Pattern(r"\d\s?(?:-|–|\.\.|to|/)\s?\d|\b[01]\s?=|\bscore")


def _has_rubric(prompt: str) -> bool:
    """Whether a prompt lists at least two dimensions to be scored."""
    lines = [line for line in prompt.lower().split("\n") if _BULLET.match(line)]
    return sum(bool(_SCALE.search(line)) or ("low" in line and "high" in line) for line in lines) > 1


class PromptSelfCertify(WorkflowRule):
    code = "PR021"
    name = "prompt-self-certify"
    severity = Severity.WARNING
    origin = "spec"
    summary = "A prompt asks the agent to assess itself in a flag, without a rubric."
    why = (
        "Asked whether it is still unsure, an agent says no. A rubric with at least two scored dimensions makes it "
        "check before it answers."
    )
    words = (IN_PROMPTS, *_SELF_CERTIFY.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        for hit in prompts(workflow).hits(_SELF_CERTIFY):
            step, text = hit.step, hit.text
            if text.pointer in seen or step.step.get("assessmentRefs") or _has_rubric(step.prompt_text):
                continue
            seen.add(text.pointer)
            report(
                text.pointer,
                f"{label(step)}: {excerpt(hit.phrase)} asks the agent to assess itself without a rubric; "
                "list at least two dimensions to score and derive the flag from them",
            )

    def examples(self) -> Iterable[Example]:
        rubric = "Score each dimension:\n- Scope known: 0-2\n- Evidence read: 0-2\nSet stillFuzzy = true below 3."
        yield Example(
            samples.workflow(samples.step(prompt="Set stillFuzzy = true or false.")),
            samples.workflow(samples.step(prompt=rubric)),
        )


_SPAWN = Search(
    ("spawn", "launch", "dispatch", "delegat"),
    r"\b(?:spawn|launch|dispatch|delegate (?:\w+ )?to)\s+(?:(?:all|at most|up to|exactly|about)\s+)?"
    r"(?:[2-9]\d*|1\d+|two|three|four|five|six|seven|eight|nine|ten|several|multiple|many|a few|some)\b"
    r"(?:\s+or\s+\w+)?(?:\s+[\w-]+){0,4}?\s+(?:executors|sub-?agents|agents|helpers|workers|delegates|assistants)\b",
)
_MECHANISM = ("workrail executor", "tool", "spawn_agent", "mcp", "routine-", "workflowid")


class PromptDelegationAmbiguous(WorkflowRule):
    code = "PR025"
    name = "prompt-delegation-ambiguous"
    severity = Severity.WARNING
    origin = "lock"
    summary = "A prompt asks for several subagents but does not say how to start them."
    why = "Without a tool or an executor to call, some agents only pretend to delegate the work."
    words = (IN_PROMPTS, *_SPAWN.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        for hit in prompts(workflow).hits(_SPAWN):
            step, text = hit.step, hit.text
            if text.pointer in seen:
                continue
            seen.add(text.pointer)
            prompt = step.prompt_text.lower()
            if not any(word in prompt for word in _MECHANISM):
                report(
                    text.pointer,
                    f"{label(step)}: {excerpt(hit.phrase)} doesn't say how; name the tool or executor that runs them",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(samples.step(prompt="Spawn 3 executors and merge what they report.")),
            samples.workflow(samples.step(prompt="Spawn 3 WorkRail Executors in parallel and merge what they report.")),
        )


def _may_be_code(text: str) -> bool:
    return "=>" in text or "fun " in text or ("=" in text and ")" in text)


_CODE = Pattern(r"\bfun \w+\(|\b\w+\([^()]*\)\s*=(?!=)|=>")


class MetaGuidancePseudoCode(WorkflowRule):
    code = "PR026"
    name = "meta-guidance-pseudo-code"
    severity = Severity.WARNING
    origin = "spec"
    summary = "An item of `metaGuidance` is written as code."
    why = "Nothing runs it. Agents follow rules in plain sentences; pseudo-code only looks as if it were enforced."
    needs = frozenset({"metaGuidance"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        items = workflow.definition.get("metaGuidance")
        for index, item in enumerate(items if isinstance(items, list) else ()):
            match = _CODE.search(item) if isinstance(item, str) and _may_be_code(item) else None
            if match is not None:
                report(
                    f"/metaGuidance/{index}",
                    f"metaGuidance[{index}] contains code ({excerpt(match[0])}), which nothing runs; write plain text",
                )

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(metaGuidance=["fun adapt(depth) = depth > 2 ? 'deep' : 'quick'"]),
            samples.workflow(metaGuidance=["Go deep when the change touches more than two modules."]),
        )


_MANY_QUESTIONS = 5


class ClarificationHeavy(WorkflowRule):
    code = "PR027"
    name = "clarification-heavy"
    severity = Severity.INFO
    origin = "spec"
    summary = f"A workflow asks more than {_MANY_QUESTIONS} clarification questions."
    why = "A user who must answer a long questionnaire first gives up, or answers anything."
    needs = frozenset({"clarificationPrompts"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        questions = workflow.definition.get("clarificationPrompts")
        if isinstance(questions, list) and len(questions) > _MANY_QUESTIONS:
            report(
                "/clarificationPrompts",
                f"the workflow asks {len(questions)} questions before any work starts; keep at most {_MANY_QUESTIONS}, "
                "those that change what happens",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        questions = [f"What is the answer to question {number}?" for number in range(1, 7)]
        yield Example(
            samples.workflow(clarificationPrompts=questions), samples.workflow(clarificationPrompts=questions[:3])
        )
