"""PR, LC: what a prompt or a name should not contain: unfinished parts, approvals that nothing enforces, decoration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents.operations import Replace
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Example
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.delivered_text import Phrase, delivered
from workrail_lint.systems.workrail.rules.facts import DECORATED_NAME
from workrail_lint.systems.workrail.rules.prose import IN_PROMPTS, Search, excerpt, label

if TYPE_CHECKING:
    from workrail_lint.rules.base import Report
    from workrail_lint.systems.workrail.rules.base import WorkflowContext

_PERSON = r"(?:user|human|person|owner|stakeholder|reviewer|maintainer|manager|lead|customer|client|operator|team|me)"
_APPROVAL = Search(
    ("approv", "sign-off", "signoff", "sign off", "signed off"),
    rf"\b(?:wait(?:ing)? for|pause(?: here)? for|ask for|ask (?:the )?{_PERSON} for|get|obtain|request|seek|await)"
    rf" (?:(?:the|an?|explicit|written|final|formal|clear|your|their|\w+(?:'s|’s)) ){{0,3}}"
    rf"(?:{_PERSON}(?:'s|’s)? (?:\w+ )?(?:approval|sign-?off|to (?:approve|sign off))"
    rf"|(?:approval|sign-?off) (?:from|by|of) (?:the |an? )?(?:\w+ )?{_PERSON})\b"
    rf"|\b(?:wait|pause|stop|hold)(?:s|ing)? (?:here )?until (?:the |an? |your )?(?:\w+ )?{_PERSON} "
    r"(?:has |have |explicitly ){0,2}"
    r"(?:approves?|approved|signs? off|signed off|gives? (?:\w+ )?approval|given approval)\b",
    before=70,
)


class ApprovalWithoutConfirmation(WorkflowRule):
    code = "PR039"
    name = "approval-without-confirmation"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt tells the agent to wait for approval, but the step has no `requireConfirmation`."
    why = (
        "Nothing stops the run: an agent without a user decides that it was approved and continues. "
        "`requireConfirmation` makes the engine wait."
    )
    words = (IN_PROMPTS, *_APPROVAL.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        found = [phrase for phrase in delivered(workflow).phrases(_APPROVAL) if not phrase.is_negated]
        for phrase in sorted(found, key=lambda phrase: phrase.is_conditional):
            if phrase.step.step.get("requireConfirmation") or phrase.pointer in seen:
                continue
            seen.add(phrase.pointer)
            conditional = phrase.is_conditional
            advice = "set it to a condition" if conditional else "set it to true"
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} does not stop the run, because the step has no "
                f"`requireConfirmation`; {advice}",
                severity=Severity.INFO if conditional else None,
            )

    def examples(self) -> Iterable[Example]:
        prompt = "Write the release notes. Pause until the user approves them."
        yield Example(
            samples.workflow(samples.step(prompt=prompt)),
            samples.workflow(samples.step(prompt=prompt, requireConfirmation=True)),
        )


_MARK = Search(("todo", "fixme", "xxx", "tbd"), r"(?<![\w/\"'“`-])(?:todo|fixme|xxx|tbd)(?![\w/\"'”`-])")
_OPEN = Search(("<!--", "// v", "[insert "), r"<!--|(?<!\S)// v\d+\b|\[insert [^\]\n\0]{1,80}\]")
# A mark that the agent should find or set is not one that the author left.
_ABOUT_MARKS = Pattern(
    r"\b(?:no|any|remove|removing|find|finding|leave|leaving|left|mark|marked|check|search\w*|grep|note|list|flag|track|scan"
    r"|look|without|zero|unresolved|write|contain\w*|replace|resolve|every|each|all)\b"
)
# "TODO comments", "TBD items": the word is used, not meant.
_AS_NOUN = Pattern(
    r"[ \t]+(?:comments?|items?|lists?|markers?|entries|entry|notes?|tags?|verdicts?|values?|rows?|fields?|and|or)\b"
)


class PromptLeftover(WorkflowRule):
    code = "PR040"
    name = "prompt-leftover"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt contains an author's note: TODO, FIXME, XXX, TBD, a comment, or an `[insert …]` blank."
    why = "The agent reads it as an instruction, and what the author meant to write is missing."
    words = (IN_PROMPTS, *_MARK.words, *_OPEN.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        texts = delivered(workflow)
        seen: set[str] = set()
        for search in (_MARK, _OPEN):
            for phrase in texts.phrases(search):
                if phrase.pointer not in seen and not phrase.is_negated and not _is_meant(phrase, search is _MARK):
                    seen.add(phrase.pointer)
                    what = excerpt(phrase.words)
                    report(phrase.pointer, f"{label(phrase.step)}: the agent will see {what}; complete or remove it")

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(samples.step(prompt="FIXME: name the target site. Publish the text.")),
            samples.workflow(samples.step(prompt="Publish the text on the staging site.")),
        )


def _is_meant(phrase: Phrase, is_mark: bool) -> bool:
    """Whether a mark is something the agent should handle, not something the author left."""
    low = phrase.passage.low
    first, _ = phrase.passage.sentence(phrase.start)
    if not is_mark:
        return False
    if not phrase.words.isupper() or _AS_NOUN.match(low, phrase.end):
        return True
    return _ABOUT_MARKS.search(low, first, phrase.start) is not None


_OWN_NUMBER = Pattern(r"\s*(\d{1,3})[.)]\s+(?=\S)")


class NumberedTwice(WorkflowRule):
    code = "PR041"
    name = "numbered-twice"
    severity = Severity.WARNING
    origin = "product"
    summary = "An item of a `procedure` begins with its own number."
    why = "The engine numbers the items of a procedure, so the agent sees `1. 1. Open the file`."
    fix = "Remove the numbers from the items."
    fix_safety = "unsafe"
    needs = frozenset({"promptBlocks"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        found: list[Replace] = []
        steps: list[str] = []
        for step in workflow.all_steps:
            blocks = None if step.calls_template else step.step.get("promptBlocks")
            items = blocks.get("procedure") if isinstance(blocks, dict) else None
            for index, item in enumerate(items if isinstance(items, list) else ()):
                match = _OWN_NUMBER.match(item) if isinstance(item, str) else None
                # A number that differs from the rendered one may be intended, as in "3) files are enough".
                if match and int(match[1]) == index + 1:
                    found.append(Replace(step.at("promptBlocks", "procedure", index), item[match.end() :]))
                    steps.append(label(step))
        if not found:
            return
        more = len(set(steps)) - 1
        also = f" (so do {counted(more, 'other step')})" if more > 1 else " (so does another step)" if more else ""
        report(
            found[0].pointer,
            f"{steps[0]}: this item has its own number, and the engine adds another{also}; remove the number",
            fix=unsafe("remove the numbers", *found),
        )

    def examples(self) -> Iterable[Example]:
        def listing(*items: str) -> dict[str, Any]:
            return samples.workflow(
                samples.step(prompt=None, promptBlocks={"goal": "Read the log.", "procedure": list(items)})
            )

        good = listing("Open the file.", "Read it.")
        yield Example(listing("1. Open the file.", "2. Read it."), good, good)


_ROLE = Search(("role:",), r"(?:(?:the )?agent['’]s role|your role):", before=16)


class RoleInPrompt(WorkflowRule):
    code = "PR042"
    name = "role-in-prompt"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt gives the agent its role in a separate line."
    why = "The engine delivers the role from `agentRole`; inside a prompt it is one instruction among many."
    words = (IN_PROMPTS, *_ROLE.words)

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        seen: set[str] = set()
        texts = delivered(workflow)
        for phrase in texts.phrases(_ROLE):
            line = phrase.passage.low[phrase.passage.low.rfind("\n", 0, phrase.start) + 1 : phrase.start]
            if line.strip(" \t*_#>-") or phrase.pointer in seen:
                continue
            seen.add(phrase.pointer)
            has_role = bool(phrase.step.step.get("agentRole"))
            advice = "merge it into `agentRole`" if has_role else "move it to `agentRole`"
            report(
                phrase.pointer,
                f"{label(phrase.step)}: {excerpt(phrase.words)} puts the role into the prompt; {advice}",
                severity=Severity.INFO if has_role else None,
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(samples.step(prompt="Your role: a careful reviewer.\nReview the change.")),
            samples.workflow(samples.step(prompt="Review the change.", agentRole="You are a careful reviewer.")),
        )


_DECORATION = Pattern(r"[•·|]|\((?:[^()]*[\s,])?v\d+(?:\.\d+)*\b[^()]*\)|\(\d+\.\d+[^()]*\)")


class DisplayNameDecorated(WorkflowRule):
    code = "LC020"
    name = "display-name-decorated"
    severity = Severity.WARNING
    origin = "spec"
    summary = "The workflow's name contains separators such as `•` or `|`, or a version in parentheses."
    why = (
        "Users see the name in lists and use it in requests. Features belong in `description` and the version in "
        "`version`, where they don't go stale."
    )
    needs = frozenset({DECORATED_NAME})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        name = workflow.definition.get("name")
        match = _DECORATION.search(name) if isinstance(name, str) and len(name) < 1000 else None
        if match is not None:
            what = "a version" if match[0].startswith("(") else quoted(match[0])
            report(
                "/name",
                f"the name {excerpt(str(name))} contains {what}; shorten it and move the rest to `description`",
            )

    def examples(self) -> Iterable[Example]:
        yield Example(
            samples.workflow(name="Release Review (v2 • Evidence-Driven)"), samples.workflow(name="Release Review")
        )
        yield Example(samples.workflow(name="Release Review (v2)"), samples.workflow(name="Release Review (Lean)"))
