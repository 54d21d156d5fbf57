"""PR: `{{name}}` tokens, which a run replaces with context values: their spelling and where they work."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.documents.operations import ReplaceText
from workrail_lint.findings import Severity, unsafe
from workrail_lint.rules.base import Report
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import label, listing

# The texts that are rendered with the run's context, including those of generated steps.
SUBSTITUTED_FIELDS = (
    "title",
    "prompt",
    "goal",
    "constraints",
    "procedure",
    "outputRequired",
    "verify",
    "part",
    "fragment",
    "verification",
    "command",
    "audit",
    "rubric",
    "synthesis",
)
_NEVER = ("agentRole", "guidance")
_BRACES = Pattern(r"(?<!\{)\{\{([^{}]+)\}\}(?!\})")
_PATH = Pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def _tokens(text: Text, fields: tuple[str, ...]) -> Iterable[re.Match[str]]:
    if "{{" not in text.text or text.field not in fields:
        return ()
    return (match for match in _BRACES.finditer(text.text) if not js.trim(match[1]).lower().startswith("wr."))


def _verb(tokens: Collection[str]) -> str:
    return "is" if len(tokens) == 1 else "are"


class ContextTokenSpaced(WorkflowRule):
    code = "PR013"
    name = "context-token-spaced"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A context token has whitespace inside its braces."
    why = "The engine replaces only tokens without whitespace; the agent sees this one literally."
    fix = "Remove the whitespace."
    fix_safety = "unsafe"
    words = ("{{",)
    bad = {"prompt": "Greet {{ user }} by name."}
    good = {"prompt": "Greet {{user}} by name."}

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or step.calls_template:
            return
        spaced: dict[str, str] = {}
        for match in _tokens(text, SUBSTITUTED_FIELDS):
            name = js.trim(match[1])
            if name != match[1] and _PATH.fullmatch(name):
                spaced[match[0]] = "{{" + name + "}}"
        if spaced:
            report(
                text.pointer,
                f"{label(step)}: {listing(spaced)} {_verb(spaced)} not replaced with the context value; remove the "
                "spaces",
                fix=unsafe("remove the spaces", *(ReplaceText(text.pointer, *pair) for pair in spaced.items())),
            )


class ContextTokenExpression(WorkflowRule):
    code = "PR014"
    name = "context-token-expression"
    severity = Severity.WARNING
    origin = "spec"
    summary = "Double braces contain an expression instead of the path of a context value."
    why = "The engine can't evaluate expressions: it replaces only a name, or names joined by dots."
    words = ("{{",)
    bad = {"prompt": "Work on item {{count + 1}} of the list."}
    good = {"prompt": "Work on item {{nextCount}} of the list."}

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or step.calls_template:
            return
        odd = [
            match[0]
            for match in _tokens(text, SUBSTITUTED_FIELDS + _NEVER)
            if (name := js.trim(match[1])) and not _PATH.fullmatch(name)
        ]
        if odd:
            report(
                text.pointer,
                f"{label(step)}: the engine can't evaluate {listing(dict.fromkeys(odd))}, so the agent sees the text "
                "literally; let an earlier step set a context variable and use its name",
            )


class ContextTokenField(WorkflowRule):
    code = "PR015"
    name = "context-token-field"
    severity = Severity.WARNING
    origin = "runtime"
    summary = "A context token is used in `agentRole` or `guidance`."
    why = "Tokens are replaced only in prompts, titles and fragments; elsewhere the agent sees them literally."
    words = ("{{",)
    bad = {"agentRole": "Expert in {{language}} code"}
    good = {"prompt": "Review the {{language}} code.", "agentRole": "Expert in careful code review"}

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or step.calls_template:
            return
        tokens = dict.fromkeys(m[0] for m in _tokens(text, _NEVER) if _PATH.fullmatch(js.trim(m[1])))
        if tokens:
            report(
                text.pointer,
                f"{label(step)}: {listing(tokens)} {_verb(tokens)} not replaced in {text.field}; move it to the prompt",
            )
