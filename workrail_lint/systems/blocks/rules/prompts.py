"""BC420 and BC421: recorded prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.documents.operations import Respell
from workrail_lint.findings import Severity, safe
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.prompts import Section, difference, joined, sections, without_revision
from workrail_lint.systems.blocks.rules.base import CONTRACT, BlockRule
from workrail_lint.systems.blocks.rules.environments import patterns_in
from workrail_lint.systems.blocks.rules.samples import (
    MOUNT_PATH,
    WORKFLOW_PATH,
    edge,
    mount,
    node,
    output,
    output_path,
    workflow,
)
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.wording import shown

_FILE = ".run/prompt-plan.txt"
# A shorter string may be in any prompt by chance.
_SHORTEST_QUOTE = 8


class PromptRule(BlockRule):
    """A rule about recorded prompts."""

    kinds = (BlockKind.PROMPT,)


def expected_sections(unit: Unit, node_id: str) -> list[Section] | None:
    """The expected sections of a node's prompt; None if something that decides them is unknown."""
    definition = unit.definition
    restrictions = unit.restrictions
    if restrictions is None and node_id in unit.environments:
        values = unit.environments[node_id].value
        restrictions = patterns_in(values.get("FILE_RESTRICTIONS")) if isinstance(values, dict) else None
    if definition is None or restrictions is None or node_id not in definition.by_id:
        return None
    return sections(definition, definition.by_id[node_id], restrictions)


class PromptDiffers(PromptRule):
    code = "BC420"
    name = "prompt-differs"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A recorded prompt is not the one that the definition and the mount produce."
    why = "The agent read something other than its authors wrote: a section moved, is missing, or was added."
    fix = "Write the assembled prompt into the record."
    fix_safety = "safe"

    def check_unit(self, unit: Unit, report: Report) -> None:
        for ident, file in unit.prompts.items() if unit.options.prompt_check else ():
            expected = expected_sections(unit, ident)
            if expected is None or not isinstance(file.value, str):
                continue
            found = difference(expected, file.value)
            if found is not None:
                where = "the prompt" if found.part is None else f"the section {shown(found.part.value)}"
                what = _PROBLEMS[found.how].format(where)
                feedback = file.value[len(without_revision(file.value)) :]
                fix = safe("write the assembled prompt", Respell(0, len(file.value), joined(expected) + feedback))
                report("", f"{found.how}: {what}", path=file.path, fix=fix)

    def examples(self) -> Iterator[Example]:
        flow = workflow(node("plan", config={"outputChecklist": ["A task list"]}))
        task, checklist = "Plan the login page.", "You must produce the following outputs:\n1) A task list"
        files: dict[str, Any] = {WORKFLOW_PATH: flow, MOUNT_PATH: mount()}
        good = f"{task}\n\n{checklist}"
        yield Example(f"{checklist}\n\n{task}", good, good, path=_FILE, files=files)
        yield Example(f"{task}\n\n\n{checklist}", good, good, path=_FILE, files=files)


_PROBLEMS = {
    "order": "{} is in the wrong place",
    "separator": "{} must be separated by exactly one blank line",
    "missing": "{} is missing",
    "extra": "{} is surrounded by text that belongs to no section",
    "text": "{} has a different wording",
}


class PromptInlinesOutput(PromptRule):
    code = "BC421"
    name = "prompt-inlines-output"
    severity = Severity.ERROR
    origin = CONTRACT
    summary = "A prompt quotes the output of an earlier block."
    why = "Agents read earlier outputs from the output folder; quoted in prompts they bloat every later prompt."

    def check_unit(self, unit: Unit, report: Report) -> None:
        for ident, file in unit.prompts.items():
            if isinstance(file.value, str):
                for earlier in _quoted(unit, ident, without_revision(file.value)):
                    report("", f"the prompt quotes the output of the block {shown(earlier)}", path=file.path)

    def examples(self) -> Iterator[Example]:
        flow = workflow(node("plan"), node("dev", "coding", "Build it."), edges=[edge("plan", "dev")])
        plan = output("plan", "plan", summary="Three tasks: a form, a route and a test.")
        files: dict[str, Any] = {WORKFLOW_PATH: flow, output_path("plan"): plan}
        bad = "Build it.\n\nThree tasks: a form, a route and a test."
        yield Example(bad, "Build it.", path=".run/prompt-dev.txt", files=files)


def _quoted(unit: Unit, ident: str, prompt: str) -> Iterator[str]:
    """The earlier blocks that a prompt quotes, unless its author wrote the same words."""
    own = "" if unit.definition is None else _authored(unit.definition, ident)
    for earlier, file in unit.outputs.items():
        if earlier == ident or not isinstance(file.value, dict) or not _is_before(unit, earlier, ident):
            continue
        for member in ("summary", "document"):
            text = file.value.get(member)
            quote = text.strip() if isinstance(text, str) else ""
            if len(quote) >= _SHORTEST_QUOTE and quote in prompt and quote not in own:
                yield earlier
                break


def _authored(definition: StudioWorkflow, ident: str) -> str:
    return joined(sections(definition, definition.by_id[ident])) if ident in definition.by_id else ""


def _is_before(unit: Unit, earlier: str, ident: str) -> bool:
    plan = unit.plan
    if plan is None or earlier not in plan.position or ident not in plan.position:
        return True  # without a plan every other output may be an earlier one
    return plan.position[earlier] < plan.position[ident]
