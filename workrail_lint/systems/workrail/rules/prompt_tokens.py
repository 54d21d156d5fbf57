"""`{{wr.…}}` tokens: where they are resolved, where they are not, and how they are spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.wording import quoted
from workrail_lint.documents.operations import Replace, ReplaceText
from workrail_lint.documents.pointer import parent
from workrail_lint.findings import Finding, Fix, Severity
from workrail_lint.findings.fix import unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.bindings import TOKEN
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Step, Text, Workflow, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import Pattern, has_braces, is_reported, label, value_at

# Where binding tokens are resolved, and where a reader might believe they are.
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


def normalized_tokens(text: str, workflow: Workflow) -> list[tuple[str, str]]:
    """The ill-spelled binding tokens of a text, each with its right spelling, for slots that are declared."""
    found: dict[str, str] = {}
    for match in _WHOLE().finditer(text):
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
    summary = "A {{wr.…}} token is left in a compiled prompt."
    why = "The agent would read the raw token. Only binding tokens are resolved; refs and features have other ways in."

    def examples(self) -> Iterable[Example]:
        bad = samples.workflow(samples.step(prompt="Follow {{wr.refs.memory_usage}} while you work."))
        blocks = {"goal": [{"kind": "ref", "refId": "wr.refs.memory_usage"}]}
        yield Example(bad, samples.workflow(samples.step(prompt=None, promptBlocks=blocks)))


class TokenInPart(WorkflowRule):
    code = "PR006"
    name = "token-in-part"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A binding token stands inside a text part."
    why = "Bindings are resolved in plain strings only; inside a list of parts the token survives and compiling fails."
    fix = "Turn a list with that single part into a plain string."
    fix_safety = "unsafe"

    def fix_for(self, finding: Finding, workflow: Workflow) -> Fix | None:
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
    summary = "A {{wr.…}} token stands in a field where nothing resolves it."
    why = (
        "Only prompts are searched for binding tokens. In a title, a role, guidance or the text of a generated step "
        "nobody looks, nobody complains, and the agent reads the raw token."
    )

    def applies(self, workflow: Workflow) -> bool:
        return has_braces(workflow)

    def check_text(self, text: Text, step: Step | None, workflow: Workflow, report: Report) -> None:
        if step is None or step.calls_template or text.field not in UNRESOLVED_FIELDS or "{{" not in text.text:
            return
        match = _OPENING().search(text.text)
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
    summary = "A {{wr.…}} token is spelled so that neither the compiler nor its check sees it, or is never closed."
    why = "White space or capital letters hide a token from everything that would resolve or refuse it."
    fix = "Spell the token without spaces and in lower case."
    fix_safety = "unsafe"

    def applies(self, workflow: Workflow) -> bool:
        return has_braces(workflow)

    def fix_for(self, finding: Finding, workflow: Workflow) -> Fix | None:
        text = value_at(workflow.definition, finding.pointer)
        return _respelled(finding.pointer, text, workflow) if isinstance(text, str) else None

    def check_text(self, text: Text, step: Step | None, workflow: Workflow, report: Report) -> None:
        value = text.text
        if step is None or step.calls_template or "{{" not in value:
            return
        if text.field == "fragment" and "{{wr." in value.lower():
            return  # refused as fragment-wr-token
        if text.field not in RESOLVED_FIELDS and text.field != "fragment":
            return
        for match in _OPENING().finditer(value):
            whole = _WHOLE().match(value, match.start())
            if whole is not None and match[0] == "{{wr.":
                continue  # resolved, or refused by compiling
            if is_reported(self.name, text.pointer, workflow):
                return
            problem = "is not closed by }}" if whole is None else "must be spelled without spaces and in lower case"
            shown = whole[0] if whole else match[0] + "…"
            report(
                text.pointer,
                f"{label(step)}: the token {quoted(shown)} {problem}; as it is the agent reads it raw",
                fix=_respelled(text.pointer, value, workflow),
            )
            return

    def examples(self) -> Iterable[Example]:
        def prompt(token: str) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=f"Run {token} on the result."), extensionPoints=SLOTS)

        good = prompt("{{wr.bindings.checker}}")
        yield Example(prompt("{{ wr.bindings.checker }}"), good, good)
        yield Example(prompt("{{WR.bindings.Checker}}"), good, good)
        yield Example(prompt("{{wr.bindings.checker"), good)


def _respelled(pointer: str, text: str, workflow: Workflow) -> Fix | None:
    tokens = normalized_tokens(text, workflow)
    if not tokens:
        return None
    return unsafe("respell the token", *(ReplaceText(pointer, old, new) for old, new in tokens))


class FragmentWrToken(WorkflowRule):
    code = "PR009"
    name = "fragment-wr-token"
    severity = Severity.ERROR
    origin = "struct"
    summary = "The text of a prompt fragment holds a {{wr.…}} token."
    why = "Fragments are added while the workflow runs, long after bindings were resolved, so the token stays raw."

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
