"""`{{wr.…}}` tokens: where they are resolved, where they are not, and how they are spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace, ReplaceText
from workrail_lint.documents.pointer import parent
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.bindings import TOKEN
from workrail_lint.systems.workrail.model.workflow import Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import is_reported, label, value_at

# Where binding tokens are resolved, and where an author might expect them to be.
RESOLVED_FIELDS = ("prompt", "goal", "constraints", "procedure", "verify", "outputRequired", "part")
UNRESOLVED_FIELDS = (
    "title",
    "agentRole",
    "guidance",
    "audit",
    "rubric",
    "verification",
    "command",
    "synthesis",
    "delegationGoal",
)
_SPACE = f"[{js.WHITESPACE_CLASS}]"
_OPENING = Pattern(r"\{\{" + _SPACE + r"*wr\.", re.IGNORECASE)
_WHOLE = Pattern(r"\{\{" + _SPACE + r"*(wr\.[^{}]*)\}\}", re.IGNORECASE)
SLOTS = [{"slotId": "checker", "purpose": "Who checks the result.", "default": "routine-check"}]


def normalized_tokens(text: str, workflow: WorkflowContext) -> list[tuple[str, str]]:
    """The misspelled binding tokens of a text, each with its correct spelling, for declared slots."""
    found: dict[str, str] = {}
    for match in _WHOLE.finditer(text):
        spelled = "{{" + re.sub(_SPACE, "", match[1]).lower() + "}}"
        slot = TOKEN.fullmatch(spelled)
        if slot is not None and slot[1] in workflow.slots and spelled != match[0]:
            found[match[0]] = spelled
    return list(found.items())


class TokenUnresolved(WorkflowRule):
    code = "PR005"
    name = "token-unresolved"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A `{{wr.…}}` token remains in a compiled prompt."
    why = (
        "The agent would see the raw token. Only binding tokens are resolved; write a ref as a part of `promptBlocks`."
    )

    def examples(self) -> Iterable[Example]:
        bad = samples.workflow(samples.step(prompt="Follow {{wr.refs.memory_usage}} while you work."))
        blocks = {"goal": [{"kind": "ref", "refId": "wr.refs.memory_usage"}]}
        yield Example(bad, samples.workflow(samples.step(prompt=None, promptBlocks=blocks)))


class TokenInPart(WorkflowRule):
    code = "PR006"
    name = "token-in-part"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A binding token is inside a part of a list."
    why = "Bindings are resolved in plain strings only; in a list of parts the token remains, and compiling fails."
    fix = "Turn a list with only that part into a plain string."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        part = parent(finding.pointer)
        value = value_at(workflow.definition, parent(part))
        text = value_at(workflow.definition, finding.pointer)
        if not isinstance(value, list) or len(value) != 1 or not isinstance(text, str):
            return None
        if any(match[1] not in workflow.slots for match in TOKEN.finditer(text)):
            return None
        return unsafe("write it as a plain string", Replace(parent(part), text))

    def examples(self) -> Iterable[Example]:
        def goal(value: Any) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=None, promptBlocks={"goal": value}), extensionPoints=SLOTS)

        text = "Run {{wr.bindings.checker}} on the result."
        yield Example(goal([{"kind": "text", "text": text}]), goal(text), goal(text))


class TokenUnsupportedField(WorkflowRule):
    code = "PR007"
    name = "token-unsupported-field"
    severity = Severity.ERROR
    origin = "product"
    summary = "A `{{wr.…}}` token is in a field where nothing resolves it."
    why = (
        "Binding tokens are resolved only in prompts. In a title, a role, guidance or a generated step the engine "
        "reports nothing, and the agent sees the raw token."
    )
    words = ("{{",)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        if step is None or step.calls_template or text.field not in UNRESOLVED_FIELDS or "{{" not in text.text:
            return
        match = _OPENING.search(text.text)
        if match is not None:
            report(
                text.pointer,
                f"{label(step)}: a {{{{wr.…}}}} token is never resolved in {_named(text)}; "
                "write the value, or move the sentence into the prompt",
            )

    def examples(self) -> Iterable[Example]:
        def guided(item: str) -> dict[str, Any]:
            return samples.workflow(samples.step(guidance=[item]), extensionPoints=SLOTS)

        yield Example(guided("use {{wr.bindings.checker}} for this"), guided("use the checker for this"))


def _named(text: Text) -> str:
    place = {"rubric": "a rubric", "command": "a verification command", "delegationGoal": "the goal of a delegation"}
    return place.get(text.field, text.field)


class TokenMalformed(WorkflowRule):
    code = "PR008"
    name = "token-malformed"
    severity = Severity.ERROR
    origin = "product"
    summary = "A `{{wr.…}}` token is misspelled so that the compiler overlooks it, or is never closed."
    why = "White space or capital letters hide a token from every check that would resolve or reject it."
    fix = "Write the token without spaces and in lower case."
    fix_safety = "unsafe"
    words = ("{{",)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        text = value_at(workflow.definition, finding.pointer)
        return _corrected(finding.pointer, text, workflow) if isinstance(text, str) else None

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        value = text.text
        if step is None or step.calls_template or "{{" not in value:
            return
        if text.field == "fragment" and "{{wr." in value.lower():
            return  # reported as fragment-wr-token
        if text.field not in RESOLVED_FIELDS and text.field != "fragment":
            return
        for match in _OPENING.finditer(value):
            whole = _WHOLE.match(value, match.start())
            if whole is not None and match[0] == "{{wr.":
                continue  # resolved, or rejected by the compiler
            if is_reported(self.name, text.pointer, workflow):
                return
            problem = "is not closed" if whole is None else "has spaces or capital letters"
            advice = "add }}" if whole is None else "write it without spaces and in lower case"
            shown = whole[0] if whole else match[0] + "…"
            report(
                text.pointer,
                f"{label(step)}: the token {quoted(shown)} {problem}, so the agent will see it literally; {advice}",
                fix=_corrected(text.pointer, value, workflow),
            )
            return

    def examples(self) -> Iterable[Example]:
        def prompt(token: str) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=f"Run {token} on the result."), extensionPoints=SLOTS)

        good = prompt("{{wr.bindings.checker}}")
        yield Example(prompt("{{ wr.bindings.checker }}"), good, good)
        yield Example(prompt("{{WR.bindings.Checker}}"), good, good)
        yield Example(prompt("{{wr.bindings.checker"), good)


def _corrected(pointer: str, text: str, workflow: WorkflowContext) -> Fix | None:
    tokens = normalized_tokens(text, workflow)
    if not tokens:
        return None
    return unsafe("correct the token", *(ReplaceText(pointer, old, new) for old, new in tokens))


class FragmentWrToken(WorkflowRule):
    code = "PR009"
    name = "fragment-wr-token"
    severity = Severity.ERROR
    origin = "struct"
    summary = "The text of a prompt fragment contains a `{{wr.…}}` token."
    why = "Fragments are added at run time, after bindings were resolved, so the agent would see the raw token."

    def examples(self) -> Iterable[Example]:
        def fragment(text: str) -> dict[str, Any]:
            when = {"var": "mode", "equals": "deep"}
            return samples.step(promptFragments=[{"id": "deep", "when": when, "text": text}])

        bad, good = fragment("Run {{wr.bindings.checker}} too."), fragment("Run the checker too.")
        yield Example(samples.workflow(bad, extensionPoints=SLOTS), samples.workflow(good, extensionPoints=SLOTS))
        inside = {**bad, "id": "inner-step"}
        yield Example(
            samples.workflow(samples.loop(inside), extensionPoints=SLOTS),
            samples.workflow(samples.loop({**good, "id": "inner-step"}), extensionPoints=SLOTS),
        )
