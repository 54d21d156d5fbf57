"""The input of a block: nine environment variables, and a prompt of up to five sections.

Output of earlier blocks is never part of a prompt; an agent finds that at the path its environment names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from enum import Enum
from typing import NamedTuple

from workrail_lint.base import js
from workrail_lint.systems.blocks.model.documents import Node, StudioWorkflow
from workrail_lint.systems.blocks.paths import OUTPUT_DIR
from workrail_lint.systems.blocks.plan import Plan, nodes_of
from workrail_lint.systems.blocks.vocabulary import text_of

NAMES = (
    "WORKFLOW_ID",
    "EXECUTION_ID",
    "NODE_ID",
    "STEP_INDEX",
    "FILE_RESTRICTIONS",
    "TELEMETRY_ENABLED",
    "TELEMETRY_URL",
    "OUTPUT_DIR",
    "PREVIOUS_BLOCK_ID",
)
RUN_SCOPE = (
    "WORKFLOW_ID",
    "EXECUTION_ID",
    "FILE_RESTRICTIONS",
    "TELEMETRY_ENABLED",
    "TELEMETRY_URL",
    "OUTPUT_DIR",
)
BLOCK_SCOPE = ("NODE_ID", "STEP_INDEX", "PREVIOUS_BLOCK_ID")


class Run(NamedTuple):
    """The settings shared by all blocks of a run."""

    execution_id: str
    telemetry_url: str
    telemetry: bool = True
    restrictions: tuple[str, ...] = ()


def environment(definition: StudioWorkflow, plan: Plan, node: str, run: Run, ran: Collection[str]) -> dict[str, str]:
    """Return the variables of a node's block; `ran` are the nodes that ran before it."""
    return {
        "WORKFLOW_ID": definition.id,
        "EXECUTION_ID": run.execution_id,
        "NODE_ID": node,
        "STEP_INDEX": str(plan.step_index[node]),
        "FILE_RESTRICTIONS": restrictions_text(run.restrictions),
        "TELEMETRY_ENABLED": "1" if run.telemetry else "0",
        "TELEMETRY_URL": run.telemetry_url,
        "OUTPUT_DIR": OUTPUT_DIR,
        "PREVIOUS_BLOCK_ID": previous_block(definition, plan, node, ran),
    }


def restrictions_text(patterns: Collection[str]) -> str:
    """Return the restrictions as the variable holds them: a JSON array without blanks."""
    return json.dumps(list(patterns), ensure_ascii=False, separators=(",", ":"))


def previous_block(definition: StudioWorkflow, plan: Plan, node: str, ran: Collection[str]) -> str:
    """Return the block whose output a node may read first; empty when none ran before it.

    All lanes of a group look at the entry before the group; after a group it is the last of its lanes that ran.
    """
    for entry in reversed(plan.entries[: plan.position[node]]):
        for earlier in reversed(nodes_of(entry)):
            if earlier in ran and not definition.by_id[earlier].is_control:
                return earlier
    return ""


SEPARATOR = "\n\n"
_RULES = "Rules:"
_RESTRICTION = "Only modify files matching: "
_RESTRICTION_END = ". Other files are read-only."
_CHECKLIST = "You must produce the following outputs:"
_REVISION = "Revision feedback:"
_FEEDBACK = f"{SEPARATOR}{_REVISION}\n"


class Part(str, Enum):
    """The sections of a prompt, in their order; only a revision has the last one."""

    RULES = "rules"
    PREFIX = "prefix"
    TASK = "task"
    RESTRICTION = "restriction"
    CHECKLIST = "checklist"
    REVISION = "revision"


class Section(NamedTuple):
    """A section that has something to say."""

    part: Part
    text: str


def sections(
    definition: StudioWorkflow, node: Node, restrictions: Iterable[str] = (), feedback: str | None = None
) -> list[Section]:
    """Return the sections of a node's prompt; what is absent or blank is left out."""
    rules = _items(definition.rules)
    patterns = _items(restrictions)
    checklist = _items(node.config.output_checklist)
    built = {
        Part.RULES: "\n".join([_RULES, *(f"- {rule}" for rule in rules)]) if rules else None,
        Part.PREFIX: text_of(node.config.system_prompt_prefix),
        Part.TASK: task_of(node),
        Part.RESTRICTION: _RESTRICTION + ", ".join(patterns) + _RESTRICTION_END if patterns else None,
        Part.CHECKLIST: "\n".join([_CHECKLIST, *(f"{at}) {item}" for at, item in enumerate(checklist, 1))])
        if checklist
        else None,
        Part.REVISION: f"{_REVISION}\n{feedback}" if feedback is not None else None,
    }
    cleaned = [Section(part, clean(text)) for part, text in built.items() if text is not None]
    return [section for section in cleaned if not js.is_blank(section.text)]


def task_of(node: Node) -> str | None:
    """Return the task instruction: the system prompt, else the description."""
    return text_of(node.config.system_prompt) or text_of(node.description)


def clean(text: str) -> str:
    """Return a text with plain line ends, without NUL, and without line breaks around it."""
    return text.replace("\r\n", "\n").replace("\0", "").strip("\n")


def joined(parts: Iterable[Section]) -> str:
    """Return the whole prompt: one blank line between two sections, none at the end."""
    return SEPARATOR.join(section.text for section in parts)


def assemble(
    definition: StudioWorkflow, node: Node, restrictions: Iterable[str] = (), feedback: str | None = None
) -> str:
    """Return the prompt of a node."""
    return joined(sections(definition, node, restrictions, feedback))


def _items(texts: Iterable[str]) -> list[str]:
    """Return the items of a list that are left once they are cleaned."""
    items = [item.replace("\r\n", "\n").replace("\0", "") for item in texts]
    return [item for item in items if not js.is_blank(item)]


# ------------------------------------------------------------------------------------------------- comparing


class Difference(NamedTuple):
    """The first way in which a recorded prompt is not the assembled one."""

    part: Part | None
    how: str  # order, separator, missing, extra or text


def without_revision(recorded: str) -> str:
    """Return a recorded prompt without the user's feedback, which the definition knows nothing about and may say
    anything.
    """
    start = recorded.find(_FEEDBACK)
    return recorded if start < 0 else recorded[:start]


def difference(expected: list[Section], recorded: str) -> Difference | None:
    """Return how a recorded prompt differs from the sections it should consist of; None when it does not."""
    whole = joined(expected)
    if recorded == whole or recorded.startswith(whole + _FEEDBACK):
        return None
    end = 0
    for number, section in enumerate(expected):
        at = _place(section.text, recorded, end)
        if at < 0:
            elsewhere = _place(section.text, recorded, 0) >= 0
            return Difference(section.part, "order" if elsewhere else _absent(section, recorded))
        gap = recorded[end:at]
        if gap != (SEPARATOR if number else ""):
            later = any(other.text in gap for other in expected[number + 1 :])
            return Difference(section.part, "order" if later else _surplus(gap))
        end = at + len(section.text)
    return Difference(expected[-1].part if expected else None, _surplus(recorded[end:]))


def _place(text: str, recorded: str, start: int) -> int:
    """Return the position of a section: on separate lines if possible, else wherever it occurs."""
    first = at = recorded.find(text, start)
    while at >= 0:
        end = at + len(text)
        if (at == 0 or recorded[at - 1] == "\n") and (end == len(recorded) or recorded[end] == "\n"):
            return at
        at = recorded.find(text, at + 1)
    return first


def _absent(section: Section, recorded: str) -> str:
    """Return how a section that is not there word for word is there: in other words, with other line ends, or not."""
    heads = {Part.RESTRICTION: _RESTRICTION, Part.RULES: f"{_RULES}\n", Part.CHECKLIST: f"{_CHECKLIST}\n"}
    head = heads.get(section.part, section.text.partition("\n")[0])
    return "text" if head in recorded.replace("\r\n", "\n") else "missing"


def _surplus(text: str) -> str:
    return "separator" if js.is_blank(text) else "extra"
