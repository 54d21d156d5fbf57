"""A definition compiled: the plan, and for each block what its prompt consists of.

What people see but blocks do not (labels, positions, dates, descriptions that are not tasks) is not part of it, so that
the hash changes exactly when a run would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.blocks.check import check_document
from workrail_lint.systems.blocks.documents import WORKFLOW_SUFFIX, BlockKind
from workrail_lint.systems.blocks.model.documents import Node, StudioWorkflow
from workrail_lint.systems.blocks.options import BlockOptions
from workrail_lint.systems.blocks.plan import Plan, make_plan
from workrail_lint.systems.blocks.prompts import sections
from workrail_lint.systems.blocks.rules.base import BlockDocument

FORMAT = "workrail.blocks/1"
# What only people look at, where a definition has it.
_FOR_PEOPLE = ("label", "position", "description")
_DATES = ("createdAt", "updatedAt", "lastUsedAt")
_IN_PROMPT = ("systemPrompt", "systemPromptPrefix", "outputChecklist")
# The nested lists whose entries also have labels for people.
_INNER = {"nodes": ("inputs", "outputs"), "gates": ("options",)}


def compile_definition(
    value: dict[str, Any], restrictions: Iterable[str] = (), options: BlockOptions | None = None
) -> Ok[dict[str, Any]] | Err[list[Finding]]:
    """Return the IR of a definition, or the errors that prevent it."""
    document = JsonDocument("")
    document.readable, document.value = True, value
    judged = BlockDocument(f"definition{WORKFLOW_SUFFIX}", BlockKind.WORKFLOW, document, options or BlockOptions())
    findings = check_document(judged)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    definition = judged.definition
    plan = make_plan(definition)
    if errors or isinstance(plan, Err):
        return Err(errors or findings)
    patterns = list(restrictions)
    members = {name: _bare(name, member) for name, member in value.items() if name != "rules"}
    members["metadata"] = _without(value["metadata"], (*_FOR_PEOPLE, *_DATES))
    members["nodes"] = [
        {**bare, **_compiled(definition, node, plan.value, patterns)}
        for bare, node in zip(members["nodes"], definition.nodes, strict=True)
    ]
    # The studio takes other branches for the same expressions, so what it runs is another workflow.
    profile = {"profile": judged.options.profile.value} if judged.options.studio else {}
    return Ok({"format": FORMAT, **members, **profile, "plan": plan.value.as_json()})


def _compiled(definition: StudioWorkflow, node: Node, plan: Plan, restrictions: list[str]) -> dict[str, Any]:
    prompt = [] if node.is_control else sections(definition, node, restrictions)
    return {
        "config": _without(node.config.raw, _IN_PROMPT),
        "blockType": None if node.block_type is None else node.block_type.value,
        "stepIndex": plan.step_index.get(node.id),
        "sections": [{"part": section.part.value, "text": section.text} for section in prompt],
    }


def _bare(name: str, member: Any) -> Any:
    """Return a member of a definition; the entries of a list without what only people look at."""
    if not isinstance(member, list):
        return member
    entries = [_without(entry, _FOR_PEOPLE) if isinstance(entry, dict) else entry for entry in member]
    for inner in _INNER.get(name, ()):
        for entry in entries:
            entry[inner] = _bare(inner, entry[inner])
    return entries


def _without(value: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: member for name, member in value.items() if name not in names}
