"""The texts that authors write into a workflow, each with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from workrail_lint.base.result import Record
from workrail_lint.documents.nodes import Node, numbered
from workrail_lint.documents.pointer import child

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.workflow import PromptBlocks, PromptValue, Step, Workflow


class Text(Record):
    """A piece of author text inside a step or at the top level."""

    __slots__ = ("field", "pointer", "text")

    def __init__(self, text: str, pointer: str, field: str) -> None:
        self.text = text
        self.pointer = pointer
        # prompt, goal, constraints, procedure, verify, outputRequired, part, title, agentRole, guidance, fragment,
        # audit, rubric, verification, command, synthesis, delegationGoal, metaGuidance, ...
        self.field = field


# The texts of one list or object, or a single text: the strings, their field, their place below the step, and the names
# of the members they are. A place that ends in a slash is followed by the number of the text. Most texts are only
# searched, and never become a record with a pointer, which takes far longer than finding them.
Group: TypeAlias = "tuple[list[str], str, str, Sequence[str]]"


def text_of(group: Group, number: int, pointer: str) -> Text:
    """Return one text of a group of the step at a pointer."""
    strings, field, place, names = group
    if names:
        place = child(place, names[number])
    elif place[-1] == "/":
        place = f"{place}{number}"
    return Text(strings[number], pointer + place, field)


def strings_of(groups: list[Group]) -> list[str]:
    """Return the strings of some groups."""
    result: list[str] = []
    for group in groups:
        result += group[0]
    return result


def texts_of(groups: list[Group], pointer: str) -> list[Text]:
    """Return all texts of some groups."""
    return [text_of(group, number, pointer) for group in groups for number in range(len(group[0]))]


def step_groups(step: Step) -> list[Group]:
    """Return every author text of a step, prompt parts and configuration blocks included."""
    result: list[Group] = []
    _add_members(step, "", _STEP_FIELDS, result)
    if step.kind == "standard":
        if step.prompt_blocks is not None:
            _add_block_texts(step.prompt_blocks, result)
        if step.guidance:
            _add_values(step.guidance, "/guidance/", "guidance", result)
        for fragment in step.prompt_fragments:
            _add_members(fragment, f"/{fragment.key}", _FRAGMENT_FIELDS, result)
        if step.verification is not None:
            _add_members(step.verification, "/verification", _VERIFICATION_FIELDS, result)
        if step.audit is not None:
            _add_members(step.audit, "/audit", _AUDIT_FIELDS, result)
            _add_values(step.audit.rubric, "/audit/rubric/", "rubric", result)
    elif step.kind == "parallel":
        if step.synthesis is not None:
            _add_members(step.synthesis, "/synthesis", _SYNTHESIS_FIELDS, result)
        for delegation in step.parallel_delegations:
            _add_members(delegation, f"/{delegation.key}", _DELEGATION_FIELDS, result)
    return result


# Attribute, member and field of the single texts of a node.
_STEP_FIELDS = (("title", "title", "title"), ("agent_role", "agentRole", "agentRole"), ("prompt", "prompt", "prompt"))
_FRAGMENT_FIELDS = (("text", "text", "fragment"),)
_VERIFICATION_FIELDS = (("prompt", "prompt", "verification"), ("command", "command", "command"))
_AUDIT_FIELDS = (("prompt", "prompt", "audit"),)
_SYNTHESIS_FIELDS = (("prompt", "prompt", "synthesis"),)
_DELEGATION_FIELDS = (("goal", "goal", "delegationGoal"),)
_TOP_FIELDS = (("name", "name", "name"), ("description", "description", "description"), ("about", "about", "about"))
_STRINGS = frozenset((str,))


def _add_members(node: Node, place: str, fields: tuple[tuple[str, str, str], ...], groups: list[Group]) -> None:
    """Add the texts that are members of a node, if the document has them."""
    members = node.__dict__
    for attribute, member, field in fields:
        if attribute in members:
            groups.append(([members[attribute]], field, f"{place}/{member}", ()))


def _add_values(values: Sequence[PromptValue], place: str, field: str, groups: list[Group]) -> None:
    """Add the strings of a list, and the parts of what else it contains."""
    if values.__class__ is list and _STRINGS.issuperset(map(type, values)):
        if values:
            groups.append((values, field, place, ()))
        return
    for index, value in numbered(values):
        _add_value(value, f"{place}{index}", field, groups)


def _add_value(value: PromptValue, place: str, field: str, groups: list[Group]) -> None:
    if isinstance(value, str):
        groups.append(([value], field, place, ()))
        return
    for index, part in numbered(value):
        if part.kind == "text" and part.has("text"):
            groups.append(([part.text], "part", f"{place}/{index}/text", ()))


def _add_block_texts(blocks: PromptBlocks, groups: list[Group]) -> None:
    if blocks.goal is not None:
        _add_value(blocks.goal, "/promptBlocks/goal", "goal", groups)
    _add_values(blocks.constraints, "/promptBlocks/constraints/", "constraints", groups)
    _add_values(blocks.procedure, "/promptBlocks/procedure/", "procedure", groups)
    _add_values(blocks.verify, "/promptBlocks/verify/", "verify", groups)
    if blocks.output_required:
        texts = [*blocks.output_required.values()]
        groups.append((texts, "outputRequired", "/promptBlocks/outputRequired", [*blocks.output_required]))


def argument_groups(step: Step | None) -> list[Group]:
    """Return the texts that a template call passes on, which are the author's own."""
    call = step.template_call if step is not None and step.kind == "standard" else None
    texts = {name: value for name, value in call.args.items() if isinstance(value, str)} if call is not None else {}
    return [([*texts.values()], ARGUMENT, "/templateCall/args", [*texts])] if texts else []


ARGUMENT = "argument"


def top_groups(workflow: Workflow) -> list[Group]:
    """Return the author texts outside the steps."""
    result: list[Group] = []
    _add_members(workflow, "", _TOP_FIELDS, result)
    _add_values(workflow.meta_guidance, "/metaGuidance/", "metaGuidance", result)
    _add_values(workflow.preconditions, "/preconditions/", "preconditions", result)
    _add_values(workflow.clarification_prompts, "/clarificationPrompts/", "clarificationPrompts", result)
    _add_values(workflow.examples, "/examples/", "examples", result)
    return result
