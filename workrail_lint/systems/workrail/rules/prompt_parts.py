"""PR: what a prompt is made of: its source, blocks, fragments, guidance, and `{{wr.…}}` and `{{name}}` tokens."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from workrail_lint.base import js
from workrail_lint.base.patterns import Pattern
from workrail_lint.base.wording import counted, listed, quoted
from workrail_lint.documents.nodes import Kept, numbered
from workrail_lint.documents.operations import Remove, Replace, ReplaceText
from workrail_lint.documents.pointer import Token, parent
from workrail_lint.findings import Finding, Fix, Severity, unsafe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.workrail.compiler.compiled import CompiledWorkflow
from workrail_lint.systems.workrail.compiler.nodes import Node, step_label, walk
from workrail_lint.systems.workrail.compiler.tokens import TOKEN
from workrail_lint.systems.workrail.model.workflow import PromptBlocks, PromptFragment, PromptValue, Step
from workrail_lint.systems.workrail.rules import samples
from workrail_lint.systems.workrail.rules.base import Text, WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.prose import excerpt, is_reported, label, listing, text_at, value_at
from workrail_lint.systems.workrail.rules.rule_needs import BLANK_PROMPT, LONG_PROMPT, MAX_PROMPT, variables


class PromptSourceInvalid(WorkflowRule):
    code = "PR001"
    name = "prompt-source-invalid"
    severity = Severity.ERROR
    origin = "struct"
    summary = "A step has no prompt, more than one source of its prompt, or empty prompt blocks."
    why = "The engine needs exactly one of `prompt`, `promptBlocks` and `templateCall`, with something in it."
    bad: ClassVar[Any] = (
        {"prompt": ...},
        {"type": "loop", "body": [{"prompt": ...}]},
        {"promptBlocks": {}},
    )
    good: ClassVar[Any] = (
        {},
        {},
        {"promptBlocks": {"goal": "Describe what you see."}},
    )

    def examples(self) -> Iterable[Example]:
        yield from super().examples()
        both: dict[str, Any] = {"promptBlocks": {"goal": "Describe what you see."}}
        yield Example(samples.workflow(samples.step(**both)), samples.workflow(samples.step(prompt=None, **both)))
        call: dict[str, Any] = {"templateCall": {"templateId": "wr.templates.routine.execution-simulation"}}
        yield Example(
            samples.workflow(samples.loop(samples.step("inner-step", **call))),
            samples.workflow(samples.loop(samples.step("inner-step", None, **call))),
        )


class PromptBlockBlank(WorkflowRule):
    code = "PR004"
    name = "prompt-block-blank"
    severity = Severity.WARNING
    origin = "product"
    summary = "A prompt, or a goal, list item or output in `promptBlocks`, is blank, or a list of parts is empty."
    why = "The step, heading, bullet or number is still there, with nothing that says what to do."
    needs = frozenset({"promptBlocks", BLANK_PROMPT})
    bad = (
        {"promptBlocks": {"goal": ""}},
        {"promptBlocks": {"goal": "Describe what you see.", "verify": [[]]}},
        {"prompt": "\n"},
    )
    good = ({"promptBlocks": {"goal": "Describe what you see."}},) * 2 + ({"prompt": "Describe what you see."},)

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.kind != "standard" or step.calls_template:
            return
        # An empty one is what the schema rejects.
        if step.prompt and js.is_blank(step.prompt):
            report(step.at("prompt"), f"{label(step)}: the prompt is blank; say what the agent must do")
        if step.prompt_blocks is None:
            return
        for section, token, value in self._block_values(step.prompt_blocks):
            if self._is_blank(value):
                match token:
                    case None:
                        place, what = step.prompt_blocks.at(section), "the goal"
                    case int():
                        place, what = step.prompt_blocks.at(section, token), f"item {token + 1} of {section}"
                    case str():
                        place, what = step.prompt_blocks.at(section, token), f"the output {quoted(token)}"
                report(place, f"{label(step)}: {what} is blank; fill it in or remove it")

    @staticmethod
    def _block_values(blocks: PromptBlocks) -> Iterator[tuple[str, Token | None, PromptValue]]:
        """Yield everything in the blocks that could be blank, with its section and its place there."""
        if blocks.goal is not None:
            yield "goal", None, blocks.goal
        for section, items in blocks.sections:
            for index, item in numbered(items):
                yield section, index, item
        for name, value in blocks.output_required.items():
            yield "outputRequired", name, value

    @staticmethod
    def _is_blank(value: PromptValue) -> bool:
        if isinstance(value, str):
            return not value[:1].isalpha() and js.is_blank(value)
        # A part that the model leaves out may say something.
        return not isinstance(value, Kept) and all(part.kind == "text" and js.is_blank(part.text) for part in value)


class PromptTooLarge(WorkflowRule):
    code = "PR016"
    name = "prompt-too-large"
    severity = Severity.WARNING
    origin = "product"
    summary = f"A compiled prompt has more than {MAX_PROMPT} characters."
    why = (
        "The engine rejects a longer `prompt`. Blocks, features and templates can exceed the limit, but an agent "
        "follows little of a prompt that long."
    )
    needs = frozenset({LONG_PROMPT})

    def check_compiled(self, compiled: CompiledWorkflow, workflow: WorkflowContext, report: Report) -> None:
        for node in walk(compiled.nodes):
            prompt = node.step.get("prompt")
            if isinstance(prompt, str) and len(prompt) > MAX_PROMPT:
                report(
                    self._prompt_place(node),
                    f"{step_label(node)}: the compiled prompt has {len(prompt)} characters, more than {MAX_PROMPT}; "
                    "split the step",
                )

    @staticmethod
    def _prompt_place(node: Node) -> str:
        if node.origin is not None and node.origin.source == "virtual":
            return f"{node.pointer}/{node.origin.part}"
        if node.origin is not None and node.origin.source == "template":
            return node.place
        return f"{node.pointer}/{node.prompt_member}" if node.pointer.startswith("/steps/") else node.pointer

    def examples(self) -> Iterable[Example]:
        def listing(count: int) -> dict[str, Any]:
            items = [f"Check rule {number} of the house rules against the change." for number in range(count)]
            return samples.workflow(
                samples.step(prompt=None, promptBlocks={"goal": "Apply the house rules.", "procedure": items})
            )

        yield Example(listing(160), listing(8))


class PromptRefsBudget(WorkflowRule):
    code = "PR017"
    name = "prompt-refs-budget"
    severity = Severity.ERROR
    origin = "lock"
    summary = "A ref, or all text that refs and features inject into one step, exceeds its budget."
    why = "Injected text crowds out what the author wrote. It is never truncated, so too much of it is an error."

    def examples(self) -> Iterable[Example]:
        def referring(times: int) -> dict[str, Any]:
            ref = {"kind": "ref", "refId": "wr.refs.adversarial_challenge_rules"}
            return samples.workflow(
                samples.step(prompt=None, promptBlocks={"goal": "Challenge it.", "constraints": [[ref]] * times})
            )

        yield Example(referring(40), referring(1))


# -------------------------------------------------------------------------------- fragments and guidance

_WHEN = {"var": "mode", "equals": "deep"}


def _fragments(step: Step) -> Sequence[PromptFragment]:
    return step.prompt_fragments if step.kind == "standard" else ()


class FragmentRule(WorkflowRule):
    """A rule about texts beside the prompt."""

    needs = frozenset({"promptFragments", "guidance", "metaGuidance", "clarificationPrompts"})


class FragmentBlank(FragmentRule):
    code = "PR010"
    name = "fragment-blank"
    severity = Severity.ERROR
    origin = "product"
    summary = "The text of a prompt fragment is blank."
    why = "When its condition holds, the fragment adds nothing, so what it was meant to say is missing."
    needs = frozenset({"promptFragments"})
    bad = {"promptFragments": [{"id": "deep", "when": {"var": "mode", "equals": "deep"}, "text": " "}]}
    good = {
        "promptFragments": [
            {"id": "deep", "when": {"var": "mode", "equals": "deep"}, "text": "Look at the tests as well."}
        ]
    }

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        for fragment in _fragments(step) if not step.calls_template else ():
            if fragment.text and js.is_blank(fragment.text):
                report(
                    fragment.at("text"),
                    f"{label(step)}: the fragment's `text` is blank; write it or remove the fragment",
                )


class FragmentUnconditional(FragmentRule):
    code = "PR011"
    name = "fragment-unconditional"
    severity = Severity.INFO
    origin = "product"
    summary = "A prompt fragment has no condition."
    why = "The engine always adds it, so the text belongs in the prompt, where authors look for it."
    needs = frozenset({"promptFragments"})
    bad = {"promptFragments": [{"id": "deep", "text": "Look at the tests as well."}]}
    good = {
        "promptFragments": [
            {"id": "deep", "text": "Look at the tests as well.", "when": {"var": "mode", "equals": "deep"}}
        ]
    }

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.calls_template:
            return
        for fragment in _fragments(step):
            if "when" not in fragment:
                report(
                    fragment.pointer,
                    f"{label(step)}: fragment {excerpt(fragment.id)} has no condition and is always added; "
                    "add `when`, or move its text into the prompt",
                )


class FragmentOnTemplateCall(FragmentRule):
    code = "PR012"
    name = "fragment-on-template-call"
    severity = Severity.WARNING
    origin = "product"
    summary = "A step that calls a template has prompt fragments."
    why = "The routine's steps replace the calling step and its fragments, so the agent never sees them."
    needs = frozenset({"promptFragments"})

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        if step.calls_template and _fragments(step):
            report(
                step.at("promptFragments"),
                f"{label(step)}: the agent never sees these fragments, because the template call replaces the step; "
                "move them to a separate step",
                on_name=True,
            )

    def examples(self) -> Iterable[Example]:
        call = {"templateId": "wr.templates.routine.execution-simulation"}
        fragments = [{"id": "deep", "when": _WHEN, "text": "Look at the tests as well."}]
        bad = samples.step("simulate", None, templateCall=call, promptFragments=fragments)
        good = samples.step("simulate", None, templateCall=call)
        yield Example(samples.workflow(samples.step(), bad), samples.workflow(samples.step(), good))


class GuidanceBlank(FragmentRule):
    code = "PR028"
    name = "guidance-blank"
    severity = Severity.WARNING
    origin = "product"
    summary = "An item of a step's guidance is blank."
    why = "It is most likely a line that was meant to be filled in or removed."
    fix = "Remove the item."
    needs = frozenset({"guidance"})
    bad = {"guidance": ["Prefer evidence.", ""]}
    good = {"guidance": ["Prefer evidence."]}

    def check_step(self, step: Step, workflow: WorkflowContext, report: Report) -> None:
        for index, item in numbered(step.guidance) if step.kind == "standard" else ():
            if js.is_blank(item):
                pointer = step.at("guidance", index)
                report(
                    pointer,
                    f"{label(step)}: guidance[{index}] is blank; fill it in or remove it",
                    fix=unsafe("remove the item", Remove(pointer)),
                )


class GuidanceNotDelivered(FragmentRule):
    code = "PR036"
    name = "guidance-not-delivered"
    severity = Severity.INFO
    origin = "runtime"
    summary = "The workflow has `guidance` or `metaGuidance`, which the engine never sends to the agent."
    why = "The text is hashed with the workflow, but the agent never sees it. What matters must be in a prompt."
    needs = frozenset({"metaGuidance", "guidance"})

    def check_workflow(self, workflow: WorkflowContext, report: Report) -> None:
        steps = [
            step for step in workflow.all_steps if step.kind == "standard" and step.guidance and not step.calls_template
        ]
        has_meta = bool(workflow.model.meta_guidance)
        if not steps and not has_meta:
            return
        members = ["metaGuidance"] if has_meta else []
        if steps:
            members.append("guidance" if len(steps) == 1 else f"the guidance of {counted(len(steps), 'step')}")
        where = f"{label(steps[0])}: " if len(steps) == 1 and not has_meta else ""
        report(
            "/metaGuidance" if has_meta else steps[0].at("guidance"),
            f"{where}the engine never sends {listed(members)} to the agent; move what matters into the prompts",
            on_name=True,
        )

    def examples(self) -> Iterable[Example]:
        moved = samples.workflow(samples.step(prompt="Describe what you see.\n\n- Prefer evidence."))
        yield Example(samples.workflow(samples.step(guidance=["Prefer evidence."])), moved)
        blocks = {"goal": "Describe what you see."}
        in_blocks = samples.workflow(
            samples.step(prompt=None, promptBlocks={**blocks, "constraints": ["Prefer evidence."]})
        )
        yield Example(
            samples.workflow(samples.step(prompt=None, promptBlocks=blocks, guidance=["Prefer evidence."])),
            in_blocks,
        )
        yield Example(samples.workflow(metaGuidance=["Prefer evidence."]), samples.workflow())


# ------------------------------------------------------------------------------------------------ tokens

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
    """Return the misspelled binding tokens of a text, each with its correct spelling, for declared slots."""
    spellings: dict[str, str] = {}
    for match in _WHOLE.finditer(text):
        spelled = "{{" + re.sub(_SPACE, "", match[1]).lower() + "}}"
        slot = TOKEN.fullmatch(spelled)
        if slot is not None and slot[1] in workflow.slots and spelled != match[0]:
            spellings[match[0]] = spelled
    return list(spellings.items())


class TokenUnresolved(WorkflowRule):
    code = "PR005"
    name = "token-unresolved"
    severity = Severity.ERROR
    origin = "compile"
    summary = "A `{{wr.…}}` token is left where nothing resolves it."
    why = "The engine refuses the workflow: the agent would read the token literally."
    fix = "Turn a list with only that part into a plain string."
    bad = {"prompt": "Follow {{wr.refs.memory_usage}} while you work."}
    good = {"promptBlocks": {"goal": [{"kind": "ref", "refId": "wr.refs.memory_usage"}]}}
    fixed = (None,)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        part = parent(finding.pointer)
        value = value_at(workflow.definition, parent(part))
        text = text_at(workflow.definition, finding.pointer)
        is_part = value_at(workflow.definition, f"{part}/kind") == "text"
        if not is_part or not isinstance(value, list) or len(value) != 1 or text is None:
            return None
        if any(match[1] not in workflow.slots for match in TOKEN.finditer(text)):
            return None
        return unsafe("write it as a plain string", Replace(parent(part), text))

    def examples(self) -> Iterable[Example]:
        yield from super().examples()

        def goal(value: Any) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=None, promptBlocks={"goal": value}), extensionPoints=SLOTS)

        text = "Run {{wr.bindings.checker}} on the result."
        yield Example(goal([{"kind": "text", "text": text}]), goal(text), goal(text))

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
                f"{label(step)}: a {{{{wr.…}}}} token is never resolved in {self._named(text)}; "
                "write the value, or move the sentence into the prompt",
            )

    @staticmethod
    def _named(text: Text) -> str:
        place = {
            "rubric": "a rubric",
            "command": "a verification command",
            "delegationGoal": "the goal of a delegation",
        }
        return place.get(text.field, text.field)

    def examples(self) -> Iterable[Example]:
        def guided(item: str) -> dict[str, Any]:
            return samples.workflow(samples.step(guidance=[item]), extensionPoints=SLOTS)

        yield Example(guided("use {{wr.bindings.checker}} for this"), guided("use the checker for this"))


class TokenMalformed(WorkflowRule):
    code = "PR008"
    name = "token-malformed"
    severity = Severity.ERROR
    origin = "product"
    summary = "A `{{wr.…}}` token is misspelled so that the compiler overlooks it, or is never closed."
    why = "White space or capital letters hide a token from every check that would resolve or reject it."
    fix = "Write the token without spaces and in lower case."
    words = ("{{",)

    def fix_for(self, finding: Finding, workflow: WorkflowContext) -> Fix | None:
        text = text_at(workflow.definition, finding.pointer)
        return None if text is None else self._corrected(finding.pointer, text, workflow)

    def check_text(self, text: Text, step: Step | None, workflow: WorkflowContext, report: Report) -> None:
        value = text.text
        if step is None or step.calls_template or "{{" not in value:
            return
        if text.field == "fragment" and "{{wr." in value.lower():
            return  # reported as token-unresolved
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
            token = whole[0] if whole else match[0] + "…"
            report(
                text.pointer,
                f"{label(step)}: the token {quoted(token)} {problem}, so the agent will see it literally; {advice}",
                fix=self._corrected(text.pointer, value, workflow),
            )
            return

    @staticmethod
    def _corrected(pointer: str, text: str, workflow: WorkflowContext) -> Fix | None:
        tokens = normalized_tokens(text, workflow)
        if not tokens:
            return None
        return unsafe("correct the token", *(ReplaceText(pointer, old, new) for old, new in tokens))

    def examples(self) -> Iterable[Example]:
        def prompt(token: str) -> dict[str, Any]:
            return samples.workflow(samples.step(prompt=f"Run {token} on the result."), extensionPoints=SLOTS)

        good = prompt("{{wr.bindings.checker}}")
        yield Example(prompt("{{ wr.bindings.checker }}"), good, good)
        yield Example(prompt("{{WR.bindings.Checker}}"), good, good)
        yield Example(prompt("{{wr.bindings.checker"), good)


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
# Not `${{ … }}`, an expression of a CI system.
_BRACES = Pattern(r"(?<![{$])\{\{([^{}]+)\}\}(?!\})")
_FOREIGN = ("wr.", ".")  # builtins, and fields in the output format of command-line tools, as in {{.Names}}
_DIAGRAM = Pattern(r"(?:```|~~~)\s*mermaid\b.*?(?:```|~~~|\Z)", re.DOTALL)
_PATH = Pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def _tokens(text: Text, fields: tuple[str, ...]) -> Iterable[re.Match[str]]:
    """Return the double braces of a text, without those that belong to another language."""
    if "{{" not in text.text or text.field not in fields:
        return ()
    diagrams = [match.span() for match in _DIAGRAM.finditer(text.text)] if "mermaid" in text.text else []
    return (
        match
        for match in _BRACES.finditer(text.text)
        if not js.trim(match[1]).lower().startswith(_FOREIGN) and not _is_within(match.start(), diagrams)
    )


def _is_within(position: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


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
    words = ("{{",)
    bad = {"steps": [{"prompt": "Ask for the name; set `user`."}, {"id": "greet", "prompt": "Greet {{ user }}."}]}
    good = {"steps": [{"prompt": "Ask for the name; set `user`."}, {"id": "greet", "prompt": "Greet {{user}}."}]}

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
                fix=self._closed_up(spaced, text, step, workflow),
            )

    @staticmethod
    def _closed_up(spaced: dict[str, str], text: Text, step: Step, workflow: WorkflowContext) -> Fix | None:
        """Return the fix; none where a token would then show that its variable is unset."""
        names = {new[2:-2].partition(".")[0] for new in spaced.values()}
        if not all(workflow.analysis.is_known_at(name, step.pointer) for name in names):
            return None
        return unsafe("remove the spaces", *(ReplaceText(text.pointer, *pair) for pair in spaced.items()))


_SHOWN_TOKENS = 3
_CHOICE = Pattern(r"\?[^:{}]*:|#(?:if|unless)\b|\|\||&&|\bif\b")
_FIRST_NAME = Pattern(r"[A-Za-z_]\w*")


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
            expressions = dict.fromkeys(odd)
            first = ", ".join(map(excerpt, list(expressions)[:_SHOWN_TOKENS]))
            more = (
                f" and {counted(len(expressions) - _SHOWN_TOKENS, 'other expression')}"
                if len(expressions) > _SHOWN_TOKENS
                else ""
            )
            report(
                text.pointer,
                f"{label(step)}: the engine can't evaluate {first}{more}, so the agent sees the text literally; "
                f"{self._remedy(odd[0], text, step)}",
            )

    @staticmethod
    def _remedy(token: str, text: Text, step: Step) -> str:
        """Return what to write instead of an expression."""
        if text.field in _NEVER:
            return f"`{text.field}` shows no values at all; say it in the prompt"
        if _CHOICE.search(token):
            return "write each variant as an item of `promptFragments` with its condition in `when`"
        name = _FIRST_NAME.search(token)
        if step.around is not None and name is not None and name[0] in variables(step.around):
            return (
                f"`{name[0]}` is a variable of loop {quoted(step.around.id)}, so use it as it is (`iterationVar` "
                "counts from 1, `indexVar` from 0)"
            )
        return "let an earlier step set a context variable and use its name"


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
