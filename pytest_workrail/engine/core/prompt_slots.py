"""The slots of a prompt: what the engine adds to the author's words.

Each slot has a marker that never changes, so that tests and agents can find it, and a body in our own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple

from pytest_workrail.engine.core.guidance import contract_guidance, fenced_json
from pytest_workrail.engine.core.index import ASSESSMENT_KIND, ContractPack
from pytest_workrail.engine.core.modes import Confirmer
from pytest_workrail.engine.core.profiles import CriteriaText, LoopBanner, Profile
from pytest_workrail.engine.model.words import Autonomy
from workrail_lint.base import js
from workrail_lint.systems.workrail.model.ir import RepeatingStep
from workrail_lint.systems.workrail.model.workflow import AssessmentDefinition

_MAX_REQUIREMENTS = 5
_SHA_KEY = "metrics_commit_shas"


class Slot(str, Enum):
    """The parts that do not come from the author. Golden files show a name instead of a free-wording body."""

    LOOP_FIRST = "LOOP_FIRST"
    LOOP_NEXT = "LOOP_NEXT"
    REQS = "REQS"
    CONTRACT = "CONTRACT"
    ASSESSMENT = "ASSESSMENT"
    NOTES_FULL = "NOTES_FULL"
    NOTES_BRIEF = "NOTES_BRIEF"
    METRICS = "METRICS"
    CONFIRM = "CONFIRM"
    RECOVERY = "RECOVERY"
    NEXT_INPUT = "NEXT_INPUT"

    @property
    def is_verbatim(self) -> bool:
        """True where the text is fully determined, so that golden files keep it."""
        return self in (Slot.REQS, Slot.RECOVERY, Slot.NEXT_INPUT)


class PromptStyle(str, Enum):
    """How much scaffolding the agent sees."""

    FULL = "full"
    CLEAN = "clean"


class PromptPart(NamedTuple):
    """A piece of a prompt; `slot` is None for the author's own text."""

    slot: Slot | None
    text: str

    @property
    def symbol(self) -> str:
        """The piece as golden files show it."""
        return self.text if self.slot is None or self.slot.is_verbatim else f"⟪{self.slot.value}⟫"


def banner_limit(loop: RepeatingStep, profile: Profile) -> float | None:
    """Return the number of passes that a loop's banner names, if it names one."""
    match profile.loop_banner:
        case LoopBanner.AS_ENGINE:
            return None if loop.body_ref is not None else loop.loop.max_iterations
        case LoopBanner.FULL:
            return loop.loop.max_iterations


def loop_banner(iteration: int, limit: int | float | None, style: PromptStyle) -> PromptPart:
    """Tells the agent that it is in a loop and how far; the loop's id is its own business."""
    number = iteration + 1
    if iteration == 0:
        most = "" if limit is None else f" (up to {js.text(limit)} passes)"
        sentence = f"This step is part of a loop and comes back with every pass{most}."
        return PromptPart(Slot.LOOP_FIRST, f"> {sentence}\n" if style is PromptStyle.FULL else f"{sentence}\n\n")
    scope = _scope(iteration, limit)
    passes = f"{number}" if limit is None else f"{number} of {js.text(limit)}"
    if style is PromptStyle.CLEAN:
        return PromptPart(Slot.LOOP_NEXT, f"This is pass {passes}: {scope}\n\n")
    lines = (
        "---",
        f"**{_progress(number, limit)}Pass {passes}**",
        "",
        f"**Scope**: {scope}",
        "",
        "What earlier passes found is in the recap of this run; build on it and do not repeat it.",
        "---",
    )
    return PromptPart(Slot.LOOP_NEXT, "\n".join(lines) + "\n")


def _progress(number: int, limit: int | float | None) -> str:
    if limit is None:
        return ""
    filled = int(min(number, limit))
    return f"Progress: [{'█' * filled}{'░' * (int(limit) - filled)}] "


def _scope(iteration: int, limit: int | float | None) -> str:
    if iteration <= 1:
        return "This is the second pass. Look at what the first one left open or got wrong."
    if limit is not None and iteration + 1 >= limit:
        return "This is the final pass. Settle what is open; what stays open has to be said."
    return "Returns are diminishing by now. Look only at what is still open, and stop when nothing is."


def requirements_slot(
    criteria: object, style: PromptStyle, shown: CriteriaText = CriteriaText.COMPOSITION_ONLY
) -> PromptPart | None:
    """The author's prose criteria, as far as they can be said in one line each."""
    if criteria is None:
        return None
    from pytest_workrail.engine.core.criteria import criteria_lines, requirement

    match shown:
        case CriteriaText.COMPOSITION_ONLY:
            lines = [line for rule in _stated_rules(criteria) if (line := requirement(rule)) is not None]
            lines = lines[:_MAX_REQUIREMENTS]
        case CriteriaText.ALL:
            lines = criteria_lines(criteria)
    return _bulleted(Slot.REQS, "**OUTPUT REQUIREMENTS:**", lines, style)


def _stated_rules(criteria: object) -> Iterable[dict[str, Any]]:
    """Rules that hold unconditionally: one alone, or members of `and` at any depth."""
    stack = [criteria]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        if "type" in node and "message" in node:
            yield node
        elif isinstance(node.get("and"), list):
            stack.extend(reversed(node["and"]))


def contract_slot(ref: str, pack: ContractPack | None, fixed: Mapping[str, str], style: PromptStyle) -> PromptPart:
    """What the artifact of this step must look like."""
    part = _bulleted(Slot.CONTRACT, "**OUTPUT REQUIREMENTS (System):**", contract_guidance(ref, pack, fixed), style)
    assert part is not None
    return part


def assessment_slot(
    refs: Sequence[str], assessments: Sequence[AssessmentDefinition], style: PromptStyle
) -> PromptPart | None:
    """Return what the assessment of this step must answer, in the order the workflow declares them."""
    wanted = [assessment for assessment in assessments if assessment.id in refs]
    sections = [_assessment(each, names_id=len(refs) > 1) for each in wanted]
    if not sections:
        return None
    heading = "**ASSESSMENT REQUIREMENTS (System):**\n" if style is PromptStyle.FULL else ""
    return PromptPart(Slot.ASSESSMENT, f"\n\n{heading}" + "\n".join(sections))


def _assessment(assessment: AssessmentDefinition, names_id: bool) -> str:
    example: dict[str, Any] = {"kind": ASSESSMENT_KIND}
    lines = [f'- Submit an artifact of kind "{ASSESSMENT_KIND}" in `output.artifacts`.']
    if names_id:
        example["assessmentId"] = assessment.id
        lines.append(f'- Set `assessmentId` to "{assessment.id}".')
    lines += [
        f'- Assessment target: "{assessment.id}"',
        f"- Purpose: {assessment.purpose}",
        "- Dimensions:",
    ]
    for dimension in assessment.dimensions:
        levels = " | ".join(dimension.levels)
        lines.append(f"  {dimension.id} ({levels}): {dimension.purpose}")
    first = assessment.dimensions[0]
    example["dimensions"] = {first.id: {"level": first.levels[0], "rationale": "Why this level fits."}}
    lines.append(f"- Example:\n{fenced_json(example)}")
    lines.append("- Use the levels as they are written here, and answer every dimension that is not optional.")
    return "\n".join(lines)


def notes_slot(brief: bool) -> PromptPart:
    """Notes are the run's memory, so leaving them out blocks the step."""
    marker = "\n\n**NOTES REQUIRED (System):**"
    if brief:
        body = " Put notes on this step only into `output.notesMarkdown`; without them the step is blocked."
        return PromptPart(Slot.NOTES_BRIEF, marker + body)
    lines = (
        " Put your notes into `output.notesMarkdown` when you advance.",
        "- Write about this step only: what you did, what you decided and why, what you found, what is open.",
        "- Whoever continues this run, perhaps without any memory of it, reads these notes and nothing else.",
        "- Without notes the step is blocked.",
    )
    return PromptPart(Slot.NOTES_FULL, marker + "\n".join(lines))


def metrics_slot(profile: str | None, is_last_step: bool) -> PromptPart | None:
    """Which metrics the agent reports through the context."""
    parts: list[str] = []
    if profile == "coding":
        parts.append(
            f"Set `{_SHA_KEY}` in the context to the full list of commits you made in this run so far, "
            "not only to those of this step."
        )
    if is_last_step and profile in _LAST_STEP_METRICS:
        keys = "; ".join(_LAST_STEP_METRICS[profile])
        parts.append(f"This is the last step. Also set in the context: {keys}.")
    if not parts:
        return None
    return PromptPart(Slot.METRICS, "".join(f"\n\n**METRICS (System):** {part}" for part in parts))


_OUTCOME = "`metrics_outcome` (success | partial | abandoned | error)"
_PULL_REQUESTS = "`metrics_pr_numbers` (a list of numbers)"
_SIZES = "`metrics_files_changed`, `metrics_lines_added` and `metrics_lines_removed` (numbers)"
_LAST_STEP_METRICS = {
    "coding": (_OUTCOME, _PULL_REQUESTS, _SIZES),
    "review": (_PULL_REQUESTS, _OUTCOME),
    "research": (_OUTCOME,),
    "design": (_OUTCOME,),
    "ticket": (_OUTCOME,),
}


def confirmation_slot(confirmer: Confirmer | None, autonomy: Autonomy) -> PromptPart | None:
    """Who confirms the step, what to show them, and what advancing does."""
    if confirmer is None:
        return None
    if confirmer == "coordinator":
        text = (
            "A coordinator confirms this step. Show what you did and what speaks for and against it. When you advance, "
            "an autonomous run stops at a gate, and the gate decides whether the step counts."
        )
    else:
        text = "A person confirms this step. Show them what you did and what follows from it. " + _PERSON[autonomy]
    return PromptPart(Slot.CONFIRM, f"\n\n**CONFIRMATION (System):** {text}")


_PERSON: dict[Autonomy, str] = {
    "guided": "Advancing is their confirmation, so wait for their word before you advance.",
    "full_auto_stop_on_user_deps": "Advancing is blocked until a person has approved.",
    "full_auto_never_stop": "Nobody is asked in this mode: advancing records the confirmation as missing.",
}


class NextInput(NamedTuple):
    """What a step waits for from outside: who gives it, what it is, and the call that follows."""

    source: Literal["user", "coordinator", "you"]
    needed: str
    call: str


def next_input_slot(expected: NextInput | None) -> PromptPart | None:
    """The last words of a prompt whose step needs more than the agent's own work."""
    if expected is None:
        return None
    lines = (f"- From: {expected.source}", f"- Needed: {expected.needed}", f"- Then: {expected.call}")
    return PromptPart(Slot.NEXT_INPUT, "\n\n**NEXT INPUT (System):**\n" + "\n".join(lines))


def recovery_slot(text: str, style: PromptStyle) -> PromptPart | None:
    """What an agent without memory is told about the run."""
    if not text:
        return None
    if style is PromptStyle.CLEAN:
        text = text.replace("## Recovery Context", "Your previous work:", 1)
    return PromptPart(Slot.RECOVERY, f"\n\n{text}")


def _bulleted(slot: Slot, heading: str, lines: list[str], style: PromptStyle) -> PromptPart | None:
    if not lines:
        return None
    top = f"{heading}\n" if style is PromptStyle.FULL else ""
    return PromptPart(slot, f"\n\n{top}" + "\n".join(f"- {line}" for line in lines))
