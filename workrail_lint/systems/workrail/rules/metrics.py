"""LC: outcome metrics, and the names of models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.facts import DELIVERED, UNCOUNTED, VERDICT
from workrail_lint.systems.workrail.rules.prose import label
from workrail_lint.systems.workrail.rules.samples import step, workflow

_SHAS = "metrics_commit_shas"
_OUTCOME = "metrics_outcome"


class MetricsProfileMissing(WorkflowRule):
    code = "LC009"
    name = "metrics-profile-missing"
    severity = Severity.INFO
    origin = "spec"
    summary = "The steps produce commits, reviews or tickets, but the workflow has no `metricsProfile`."
    why = "Without a profile the engine never asks for the outcome, so nothing that a run produces is counted."
    needs = frozenset({UNCOUNTED})

    def applies(self, workflow: WorkflowContext) -> bool:
        if "metricsProfile" in workflow.definition or workflow.is_routine:
            return False
        text = workflow.document.text
        return any(word in text for word in ("ommit", "ull request", "PR", "icket", "eview"))

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        for found in workflow.all_steps:
            profile = _profile_of(found)
            if profile is not None:
                report(
                    "",
                    f"`metricsProfile` is missing, so what {label(found)} delivers is not counted; set it, probably "
                    f"to {quoted(profile)}, or to 'none' to count nothing",
                )
                return

    def examples(self) -> Iterator[Example]:
        delivering = step(prompt="Commit the changes and open a pull request.")
        yield Example(workflow(delivering), workflow(delivering, metricsProfile="coding"))


def _profile_of(step: Step) -> str | None:
    """The profile that matches what a step delivers."""
    if step.contract == VERDICT:
        return "review"
    # No match runs over the end of a line, and few lines name something that is delivered.
    low = step.prompt_text.lower()
    lines: set[int] = set()
    for word in DELIVERED:
        at = low.find(word)
        while at >= 0:
            if _NAMED.match(low, at):
                lines.add(low.rfind("\n", 0, at) + 1)
            at = low.find(word, at + 1)
    for start in sorted(lines):
        end = low.find("\n", start)
        match = _deliveries().search(low, start, end if end >= 0 else len(low))
        if match is not None:
            return match.lastgroup
    return None


# Not the reviewer, the problem or the requested change.
_NAMED = Pattern(r" ?(?:review|request|pr|mr|ticket)s?\b|commit\b|user stor")


@cache
def _deliveries() -> re.Pattern[str]:
    """For a text in lower case: a pattern that ignores case takes several times as long."""
    made = (
        r"\b(?:creat|open|rais|fil|publish|writ|draft|generat|post|submit)\w* "
        r"(?:(?:an?|the|your|one|all|each|every|new|final|jira|github) ){0,3}"
    )
    committed = r"\bgit commit\b|\bcommit (?:the|your|all|these|each|every) (?:\w+ )?(?:changes?|slices?|work|files?)\b"
    return re.compile(
        rf"(?P<coding>{committed}|{made}(?:pull requests?|merge requests?|prs?|mrs?)\b)"
        rf"|(?P<ticket>{made}(?:tickets?|user stories)\b)"
        rf"|(?P<review>{made}(?:(?:code|pull request|pr|mr) )?reviews?\b(?! (?:plan|process|checklist|guide|step)))"
    )


class MetricsKeyPartial(WorkflowRule):
    code = "LC010"
    name = "metrics-key-partial"
    severity = Severity.INFO
    origin = "spec"
    default_on = False
    summary = f"A step asks for `{_SHAS}` but not for the complete list."
    why = "Each report replaces the previous one. An agent that reports only its latest commits loses the earlier ones."
    words = (_SHAS,)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is not None and _SHAS in text.text and not _wholeness().search(text.text):
            report(
                text.pointer,
                f"{label(step)} does not ask for the complete list in {_SHAS}, and each report replaces the one "
                "before it; ask for all commits so far",
            )

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(step(prompt="Report the commit in metrics_commit_shas."), metricsProfile="coding"),
            workflow(
                step(prompt="Report the full list of commits so far in metrics_commit_shas."), metricsProfile="coding"
            ),
        )


@cache
def _wholeness() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:full|whole|entire|complete|cumulative|accumulat\w+|all|every|so far|append\w*)\b", re.IGNORECASE
    )


class MetricsOutcomeEarly(WorkflowRule):
    code = "LC011"
    name = "metrics-outcome-early"
    severity = Severity.INFO
    origin = "spec"
    default_on = False
    summary = f"A step asks for `{_OUTCOME}`, but other steps always follow it."
    why = "The outcome is known only at the end. Reported earlier, it is a guess."
    words = (_OUTCOME,)

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        top = step.around or step
        if not any(later.index > top.index and "runCondition" not in later.step for later in workflow.steps):
            return
        for text in step.prompt_texts:
            if _OUTCOME in text.text:
                report(text.pointer, f"{label(step)} asks for {_OUTCOME}, but other steps follow; ask in the last one")

    def examples(self) -> Iterator[Example]:
        asking, last = step(prompt="Set metrics_outcome to how it went."), step("wrap-up", "Sum up the work.")
        yield Example(
            workflow(asking, last, metricsProfile="research"),
            workflow({**last, "id": "look"}, asking, metricsProfile="research"),
        )


class ModelIdHardcoded(WorkflowRule):
    code = "LC012"
    name = "model-id-hardcoded"
    severity = Severity.WARNING
    origin = "spec"
    summary = "The workflow names a specific model."
    why = "Models are retired, and not every host offers this one. `modelTier` says how capable a model the work needs."
    words = ("claude-", "gpt-", "gemini-", "llama", "mistral-", "-mini")

    def applies(self, workflow: WorkflowContext) -> bool:
        text = workflow.document.text
        return any(vendor in text for vendor in _VENDORS)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        match = _models().search(text.text) if text.field != "examples" else None
        if match is not None and not _is_example(text.text, match.start()):
            where = label(step) if step is not None else text.field
            report(text.pointer, f"{where} names the model {quoted(match[0])}; set `modelTier` instead")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(step(prompt="Delegate this to gpt-4o-mini.")),
            workflow(step(prompt="Delegate this to a helper.", modelTier="lightweight")),
        )


_ANNOUNCES = r"\be\.g\.?|\b(?:for example|for instance|examples?|such as|like)\b"


def _is_example(text: str, position: int) -> bool:
    """Whether a place is in a fenced block, or follows words that announce an example."""
    if text.count("```", 0, position) % 2:
        return True
    before = text[max(0, position - 120) : position]
    return re.search(rf"(?:{_ANNOUNCES})[^.\n]{{0,80}}\Z", before, re.IGNORECASE) is not None


# Few, since each is searched for in the whole text; without the first letter where it may be a capital.
_VENDORS = ("laude-", "gpt-", "GPT-", "Gpt-", "emini-", "lama", "LaMA", "istral-", "-mini")


@cache
def _models() -> re.Pattern[str]:
    families = (
        r"claude-(?:\d|instant|opus|sonnet|haiku)",
        r"gpt-(?:\d|oss)",
        r"gemini-(?:\d|pro|flash|ultra)",
        r"(?:code)?llama-?\d",
        r"mistral-(?:large|medium|small|tiny)",
        r"o[134]-mini",
    )
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(families)})(?:[\w.:-]*\w)?", re.IGNORECASE)
