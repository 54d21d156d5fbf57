"""BC340 and BC342 to BC347: how nodes are configured, and the strings that become their prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.documents.nodes import numbered
from workrail_lint.documents.operations import Remove, ReplaceText
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.limits import PROMPT_FIELD_CHARACTERS
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.prompts import clean, task_of
from workrail_lint.systems.blocks.rules.base import DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.definition_shape import DefinitionRule
from workrail_lint.systems.blocks.rules.samples import WORKFLOW_PATH, node, workflow
from workrail_lint.systems.blocks.vocabulary import Backend, BlockType, is_member, text_of, texts_of
from workrail_lint.systems.blocks.wording import shown


class Field(NamedTuple):
    """A string that becomes part of a prompt."""

    text: str
    pointer: str
    is_item: bool


def prompt_fields(definition: StudioWorkflow) -> Iterator[Field]:
    """Every string of a definition that can become part of a prompt."""
    for at, rule in numbered(definition.rules):
        yield Field(rule, f"/rules/{at}", True)
    for found in definition.nodes:
        if found.is_control:
            continue
        config = found.config
        prompts = {"systemPromptPrefix": config.system_prompt_prefix, "systemPrompt": config.system_prompt}
        for name, text in prompts.items():
            if text is not None:
                yield Field(text, config.at(name), False)
        if found.description is not None and text_of(config.system_prompt) is None:
            yield Field(found.description, found.at("description"), False)
        for at, item in numbered(config.output_checklist):
            yield Field(item, config.at("outputChecklist", at), True)


class BlockTypeContradiction(DefinitionRule):
    code = "BC340"
    name = "block-type-contradiction"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The block type in a node's configuration contradicts the type of the node."
    why = "The configuration wins, so an agent in one role is expected to deliver what another role produces."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for found in document.definition.nodes:
            written, mapped = found.config.block_type, found.mapped_type
            if is_member(BlockType, written) and mapped is not None and written != mapped.value:
                text = f"{shown(found.id)} is a {found.type} node, which produces {mapped.value}, not {written}"
                report(f"{found.pointer}/config/blockType", text)

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(node("dev", "coding", config={"blockType": "plan"})),
            workflow(node("dev", "coding", config={"blockType": "dev"})),
            path=WORKFLOW_PATH,
        )


class BackendUnsupported(DefinitionRule):
    code = "BC342"
    name = "backend-unsupported"
    severity = Severity.WARNING
    origin = ENGINES
    summary = "A node uses a backend that engines know but can't run."
    why = "The block does not start, or another program starts in its place."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for found in document.definition.nodes:
            if found.config.backend == Backend.CODEX.value:
                report(f"{found.pointer}/config/backend", f"the backend 'codex' of {shown(found.id)} is not supported")

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(node("plan", config={"backend": "codex"})),
            workflow(node("plan", config={"backend": "claude"})),
            path=WORKFLOW_PATH,
        )


class TaskInstructionMissing(DefinitionRule):
    code = "BC343"
    name = "task-instruction-missing"
    severity = Severity.ERROR
    origin = DECIDED
    summary = "An agent node has neither a system prompt nor a description."
    why = "The prompt contains no task, and an agent without a task still costs money."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for found in document.definition.nodes:
            if not found.is_control and task_of(found) is None:
                text = f"{shown(found.id)} has no task; set 'config.systemPrompt' or 'description'"
                report(found.pointer, text)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(node("plan", prompt=None)), workflow(node("plan")), path=WORKFLOW_PATH)


class TaskInstructionAmbiguous(DefinitionRule):
    code = "BC344"
    name = "task-instruction-ambiguous"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "The system prompt and the description of a node say different things."
    why = "Only the system prompt reaches the agent; people who read the description are misled."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for found in document.definition.nodes:
            prompt, description = text_of(found.config.system_prompt), text_of(found.description)
            if found.is_control or prompt is None or description is None or clean(prompt) == clean(description):
                continue
            text = f"{shown(found.id)} has a different description; the agent only sees the system prompt"
            report(f"{found.pointer}/description", text)

    def examples(self) -> Iterator[Example]:
        yield Example(
            workflow(node("plan", prompt="Plan", description="Write code")),
            workflow(node("plan", prompt=None, description="Plan")),
            path=WORKFLOW_PATH,
        )


class ListItemBlank(DefinitionRule):
    code = "BC345"
    name = "list-item-blank"
    severity = Severity.WARNING
    origin = DECIDED
    summary = "A rule or an item of a checklist is blank."
    why = "It is left out of the prompt, so the list is shorter than its author expects."
    fix = "Remove it."
    fix_safety = "safe"

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for field in prompt_fields(document.definition):
            if field.is_item and js.is_blank(field.text):
                report(field.pointer, "the item is blank", fix=safe("remove it", Remove(field.pointer)))

    def examples(self) -> Iterator[Example]:
        good = workflow(node("plan", config={"outputChecklist": ["tests"]}))
        bad = workflow(node("plan", config={"outputChecklist": ["tests", ""]}))
        yield Example(bad, good, good, path=WORKFLOW_PATH)


class PromptFieldLong(DefinitionRule):
    code = "BC346"
    name = "prompt-field-long"
    severity = Severity.WARNING
    origin = ENGINES
    summary = f"A part of the prompt has more than {PROMPT_FIELD_CHARACTERS} characters."
    why = "Engines silently cut longer parts, and the end of the instruction is lost."

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for field in prompt_fields(document.definition):
            if len(field.text) > PROMPT_FIELD_CHARACTERS:
                text = f"this prompt part has {len(field.text):,} characters; engines keep {PROMPT_FIELD_CHARACTERS:,}"
                report(field.pointer, text)

    def examples(self) -> Iterator[Example]:
        yield Example(workflow(rules=["x" * 5000]), workflow(rules=["Keep it small."]), path=WORKFLOW_PATH)


class NulCharacter(BlockRule):
    code = "BC347"
    name = "nul-character"
    severity = Severity.ERROR
    origin = ENGINES
    summary = "A part of the prompt contains a NUL character."
    why = "Arguments and environment variables end at a NUL, so the agent gets half a prompt or does not start."
    fix = "Remove it."
    fix_safety = "safe"
    kinds = (BlockKind.WORKFLOW, BlockKind.MOUNT)

    def check_document(self, document: BlockDocument, report: Report) -> None:
        fields: list[Any] = list(prompt_fields(document.definition))
        if document.kind is BlockKind.MOUNT:
            patterns = texts_of(document.value.get("fileRestrictions"))
            fields = [Field(pattern, f"/fileRestrictions/{at}", True) for at, pattern in patterns]
        for field in fields:
            if "\0" in field.text:
                fix = safe("remove it", ReplaceText(field.pointer, "\0", ""))
                report(field.pointer, "this prompt part contains a NUL character", fix=fix)

    def examples(self) -> Iterator[Example]:
        good = workflow(rules=["Keep it small."])
        yield Example(workflow(rules=["Keep it\0 small."]), good, good, path=WORKFLOW_PATH)
