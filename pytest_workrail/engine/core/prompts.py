"""A pending step as the agent sees it: the author's words, the context in them, and the slots that the engine adds.

Each slot has a marker that never changes, so that tests and agents can find it, and a body in our own words. What an
agent reads about a contract comes from the pack: the kind, the fields and an example.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal

from msgspec import Struct

from pytest_workrail.engine.core.conditions import Context, is_met
from pytest_workrail.engine.core.criteria import criteria_lines, requirement
from pytest_workrail.engine.core.full_auto import FullAuto, asked_of_user, full_auto_text
from pytest_workrail.engine.core.index import ASSESSMENT_KIND, ContractPack, IrIndex, functions_block
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.core.modes import Confirmer, confirmed_by, reports_confirmation, required_gate
from pytest_workrail.engine.core.profiles import CriteriaText, Profile
from pytest_workrail.engine.model.step_keys import LoopPath, StepInstance, collated
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, Autonomy, GateKind, Preferences
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.model.ir import DelegatingStep, Delegation, Program, ProgramStep, RepeatingStep
from workrail_lint.systems.workrail.model.workflow import AssessmentDefinition


def fixed_members(step: ProgramStep, loop_id: str | None, profile: Profile) -> dict[str, str]:
    """Return the members of a step's artifact whose value follows from where the step is."""
    fixed: dict[str, str] = {}
    if step.probed_capability is not None:
        fixed["capability"] = step.probed_capability
    if step.decides_loop and loop_id is not None and profile.loop_id == "match":
        fixed["loopId"] = loop_id
    return fixed


def contract_guidance(ref: str, pack: ContractPack | None, fixed: Mapping[str, str]) -> list[str]:
    """One line per fact; the last may be a fenced block. `fixed` are members that allow one value only."""
    lines = [f"Artifact contract: {ref}"]
    if pack is None:
        return [*lines, "Submit an artifact that meets this contract in `output.artifacts`."]
    lines.append(f'Submit one artifact of kind "{pack.artifact_kind}" in `output.artifacts`.')
    required = pack.schema.get("required", [])
    fields = {name: shape for name, shape in _members(pack.schema) if name != "kind"}
    must = [_field(name, shape) for name, shape in fields.items() if name in required]
    may = [_field(name, shape) for name, shape in fields.items() if name not in required]
    if must:
        lines.append(f"Required fields: {'; '.join(must)}.")
    if may:
        lines.append(f"Optional fields: {'; '.join(may)}.")
    example = pack.example
    if isinstance(example, dict):
        # A loop id that is not asked for would only mislead.
        members = {name: value for name, value in example.items() if name != "loopId"}
        example = {**members, **fixed}
    lines += [f'Set `{name}` to "{value}"; nothing else is accepted here.' for name, value in fixed.items()]
    if pack.schema.get("x-objectMode") == "strict":
        lines.append("Any other field makes the artifact invalid.")
    if example is not None:
        lines.append(f"Example:\n{fenced_json(_arranged(example, pack.schema))}")
    return lines


def fenced_json(value: object) -> str:
    """A value as a fenced block."""
    return f"```json\n{json.dumps(value, ensure_ascii=False)}\n```"


def _members(schema: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The members a schema knows, required ones first.

    Sorted here, because an IR read back from its canonical bytes has lost the order of the catalog, and
    a prompt must not tell the two apart.
    """
    required = schema.get("required", [])
    members = schema.get("properties", {})
    return sorted(members.items(), key=lambda member: (_rank(member[0], required), member[0]))


def _rank(name: str, required: list[str]) -> int:
    return required.index(name) if name in required else len(required)


def _arranged(value: Any, schema: Mapping[str, Any]) -> Any:
    """An example with its members in the order in which they are described."""
    if isinstance(value, list):
        return [_arranged(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    required = schema.get("required", [])
    shapes = schema.get("properties", {})
    names = sorted(value, key=lambda name: (_rank(name, required), name not in shapes, name))
    return {name: _arranged(value[name], shapes.get(name, {})) for name in names}


def _field(name: str, shape: dict[str, Any]) -> str:
    return f"`{name}` ({_shape(shape)})"


def _shape(shape: dict[str, Any]) -> str:
    """A schema in a few words: values where there is a choice, otherwise the type and its bounds."""
    if "const" in shape:
        return json.dumps(shape["const"], ensure_ascii=False)
    if "enum" in shape:
        return " | ".join(str(member) for member in shape["enum"])
    if "oneOf" in shape:
        return " or ".join(_shape(alternative) for alternative in shape["oneOf"])
    match shape.get("type"):
        case "array":
            return f"{_bounded('list', shape, 'Items', 'items')} of {_shape(shape.get('items', {}))}"
        case "object":
            needed = shape.get("required", [])
            inner = (f"{name}{'' if name in needed else '?'}: {_shape(member)}" for name, member in _members(shape))
            return f"object {{{', '.join(inner)}}}" if shape.get("properties") else "object"
        case "string":
            return _bounded("text", shape, "Length", "characters")
        case kind:
            return str(kind or "any value")


def _bounded(noun: str, shape: dict[str, Any], what: str, unit: str) -> str:
    low, high = shape.get(f"min{what}", 0), shape.get(f"max{what}")
    if low == 1:
        noun = f"non-empty {noun}"
    elif low:
        noun = f"{noun} of at least {low} {unit}"
    return noun if high is None else f"{noun}, at most {high} {unit}"


class FixContext(Struct, frozen=True):
    """The facts that a suggested fix can use. `fixed` are artifact members determined by the place of the step."""

    packs: Mapping[str, ContractPack]
    is_autonomous: bool = False
    fixed: Mapping[str, str] = {}

    @property
    def tool(self) -> str:
        """The tool with which this agent submits a step."""
        return "complete_step" if self.is_autonomous else "continue_workflow"

    def guidance(self, contract_ref: str, loop_id: str | None) -> list[str] | None:
        """Return what an agent has to know about a contract; None for one without a pack."""
        pack = self.packs.get(contract_ref)
        if pack is None:
            return None
        return contract_guidance(contract_ref, pack, self.fixed if loop_id is None else {"loopId": loop_id})


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
    FULL_AUTO = "FULL_AUTO"
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


class PromptPart(Struct, frozen=True):
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
        case "as_engine":
            return None if loop.body_ref is not None else loop.loop.max_iterations
        case "full":
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
    criteria: object, style: PromptStyle, text_style: CriteriaText = "composition_only"
) -> PromptPart | None:
    """The author's prose criteria, as far as they can be said in one line each."""
    if criteria is None:
        return None

    match text_style:
        case "composition_only":
            lines = [line for rule in _stated_rules(criteria) if (line := requirement(rule)) is not None]
            lines = lines[:_MAX_REQUIREMENTS]
        case "all":
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
    """Return the prompt part that describes the required artifact."""
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


class NextInput(Struct, frozen=True):
    """An input that a step waits for from outside: who gives it, what it is, and the call that follows."""

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
    """Return the prompt part that tells an agent without memory about the run."""
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


_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_TOKEN = Pattern(rf"\{{\{{(?!wr\.)({_NAME}(?:\.{_NAME})*)\}}\}}")
_PREVIEW_UNITS = 60
_PARALLEL_HEADING = "# Parallel Subagent Spawning Phase"
_MISSING: Any = object()


def render_context(loop: RepeatingStep | None, loop_path: LoopPath, context: Context) -> Context:
    """The context as texts of a step see it: the variables of its innermost loop lie on top."""
    if loop is None or not loop_path:
        return context
    return {**context, **loop_variables(loop, loop_path[-1].iteration, context)}


def substitute(text: str, context: Context) -> str:
    """Replace `{{name}}` and `{{name.member}}`; everything else, `{{wr.…}}` included, stays as it is."""
    if "{{" not in text:
        return text
    return _TOKEN.sub(lambda token: _resolve(token[1], context), text)


def _resolve(path: str, context: Context) -> str:
    names = path.split(".")
    value: Any = context.get(names[0])
    if value is None:
        return f"[unset: {path}]"
    for index, name in enumerate(names[1:], start=1):
        if not isinstance(value, dict | list):
            prefix = ".".join(names[:index])
            return f"[unset: {path} -- '{prefix}' is {_type_name(value)} (\"{_preview(value)}\"), not object]"
        value = _member(value, name)
    return f"[unset: {path}]" if value is None or value is _MISSING else js.text(value)


def _member(container: dict[str, Any] | list[Any], name: str) -> Any:
    if isinstance(container, list):
        return len(container) if name == "length" else _MISSING
    return container.get(name, _MISSING)


def _type_name(value: Any) -> str:
    if value is _MISSING:
        return "undefined"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def _preview(value: Any) -> str:
    text = "undefined" if value is _MISSING else js.text(value)
    return text if js.u16_length(text) <= _PREVIEW_UNITS else js.u16_prefix(text, _PREVIEW_UNITS) + "…"


def fragments_text(step: ProgramStep, context: Context) -> str:
    """Return the fragments that apply, in their order, with a blank line between them."""
    applying = [fragment.text for fragment in step.fragments if is_met(fragment.when, context)]
    return "\n\n".join(substitute(text, context) for text in applying)


def parallel_prompt(step: DelegatingStep, context: Context) -> str:
    """Return the prompt of a parallel step: what to give to which subagent, for the delegations that apply."""
    active = [each for each in step.delegations if is_met(each.run_condition, context)]
    if not active:
        return (
            f"{_PARALLEL_HEADING} (Bypassed)\n\n"
            "None of this step's delegations applies in the current context. "
            "There is nothing to spawn: advance to the next step."
        )
    opening = (
        f"{_PARALLEL_HEADING}\n\n"
        "Start one subagent for each delegation below, all at the same time, and wait for every one of them. "
        "Give each exactly the goal and the inputs listed here. Advance when all have reported."
    )
    return "\n\n".join([opening, *(_delegation(number, each, context) for number, each in enumerate(active, 1))])


def _delegation(number: int, delegation: Delegation, context: Context) -> str:
    lines = [
        f"## Delegation {number}",
        f"- Workflow: `{delegation.workflow_id}`",
        f"- Goal: {_goal(delegation)}",
    ]
    if delegation.allowed_tools:
        lines.append(f"- Allowed tools: {', '.join(delegation.allowed_tools)}")
    lines.extend(_inputs(delegation, context))
    return "\n".join(lines)


def _goal(delegation: Delegation) -> str:
    if delegation.goal:
        return delegation.goal
    workflow, family = delegation.workflow_id, delegation.args.get("familyName")
    return f"Run {js.text(family)} review family for workflow {workflow}" if family else f"Run {workflow}"


def _inputs(delegation: Delegation, context: Context) -> Iterable[str]:
    inputs: dict[str, str] = {}
    mapping = delegation.context_mapping
    # In a fixed order, because an IR read back from its canonical bytes has lost the one of the source.
    for parent in js.u16_sorted(mapping):
        value = context.get(parent)
        if value is not None:
            inputs[mapping[parent]] = js.text(value)
    for name, value in delegation.args.items():
        inputs[name] = value if isinstance(value, str) else canonical_bytes(value).decode()
    if not inputs:
        return []
    return ["- Inputs:", *(f"  - `{name}`: {inputs[name]}" for name in collated(inputs))]


class PendingStep(Struct, frozen=True):
    """A step ready to be handed out. `gate` is who must confirm it, if anybody."""

    step_id: str
    title: str
    parts: tuple[PromptPart, ...]
    agent_role: str | None
    model_tier: str | None
    gate: GateKind | None
    requires_confirmation: bool
    confirmed_by: Confirmer | None = None
    full_auto: FullAuto = FullAuto()

    @property
    def prompt(self) -> str:
        return "".join([part.text for part in self.parts])

    @property
    def golden_prompt(self) -> str:
        """The prompt with the free-wording slots as symbols."""
        return "".join(part.symbol for part in self.parts)


class Situation(Struct, frozen=True):
    """The state of the run when a step is rendered. `recovery` is set on a rehydrate, empty or not.

    `dependencies` are what only a person can provide; `asked_for` are the variables a question is about.
    """

    context: Context
    has_recap: bool = False
    recovery: str | None = None
    style: PromptStyle = PromptStyle.FULL
    preferences: Preferences = DEFAULT_PREFERENCES
    dependencies: tuple[str, ...] = ()
    asked_for: tuple[str, ...] = ()
    # The contracts that earlier steps did without, where a later output still resolves the gap.
    open_contracts: tuple[str, ...] = ()


class PromptRenderer:
    """Renders the steps of one IR under one profile."""

    __slots__ = ("_index", "_last_step_id", "_profile")

    def __init__(self, index: IrIndex, profile: Profile) -> None:
        self._index = index
        self._profile = profile
        self._last_step_id = last_step_id(index.program)

    def render(self, instance: StepInstance, situation: Situation) -> PendingStep:
        """The step with its prompt; rendering decides nothing and changes nothing."""
        step = self._index.definitions[instance.step_id]
        loop = self._index.innermost_loop(instance)
        context = render_context(loop, instance.loop_path, situation.context)
        gate = required_gate(step, context)
        if step.type == "parallel":
            parts: list[PromptPart | None] = [PromptPart(None, parallel_prompt(step, context))]
        else:
            parts = self._step_parts(step, instance, loop, context, situation)
        confirmer = confirmed_by(step, context)
        tells = self._profile.answers == "union"
        questions = asked_of_user(step, context, situation.preferences, self._profile)
        asked = tuple(substitute(each.sentence, context) for each in questions)
        full_auto = FullAuto(asked, situation.open_contracts)
        if tells:
            parts.append(confirmation_slot(confirmer, situation.preferences.autonomy))
        parts.append(PromptPart(Slot.FULL_AUTO, full_auto_text(full_auto, instance.step_id)))
        if situation.recovery is not None:
            parts.append(recovery_slot(situation.recovery, situation.style))
        if tells:
            parts.append(next_input_slot(_next_input(confirmer, situation)))
        return PendingStep(
            instance.step_id,
            substitute(step.title, context),
            tuple([part for part in parts if part is not None and part.text]),
            step.agent_role,
            step.model_tier,
            gate,
            reports_confirmation(step, context, self._profile),
            confirmer,
            full_auto,
        )

    def instructions(self, instance: StepInstance, context: Context) -> str:
        """The author's own words of a step: its title, its id and its prompt."""
        step = self._index.definitions[instance.step_id]
        seen = render_context(self._index.innermost_loop(instance), instance.loop_path, context)
        prompt = parallel_prompt(step, seen) if step.type == "parallel" else substitute(step.prompt, seen)
        return f"**{substitute(step.title, seen)}** (`{step.id}`)\n{prompt}"

    def functions(self, instance: StepInstance) -> str:
        """The functions the step can see, for the recovery text."""
        loops = tuple(self._index.loops[at.loop_id] for at in instance.loop_path)
        return functions_block(self._index.program, self._index.definitions[instance.step_id], loops)

    def _step_parts(
        self,
        step: ProgramStep,
        instance: StepInstance,
        loop: RepeatingStep | None,
        context: Context,
        situation: Situation,
    ) -> list[PromptPart | None]:
        style = situation.style
        parts: list[PromptPart | None] = []
        if loop is not None and not step.decides_loop:
            limit = banner_limit(loop, self._profile)
            parts.append(loop_banner(instance.loop_path[-1].iteration, limit, style))
        parts.append(PromptPart(None, substitute(step.prompt, context)))
        parts.append(requirements_slot(step.criteria, style, self._profile.criteria_text))
        if step.contract is not None:
            ref = step.contract.ref
            fixed = fixed_members(step, None if loop is None else loop.id, self._profile)
            parts.append(contract_slot(ref, self._index.packs.get(ref), fixed, style))
        if step.assessments is not None:
            parts.append(assessment_slot(step.assessments.refs, self._index.program.assessments, style))
        if step.requires_notes and style is PromptStyle.FULL:
            parts.append(notes_slot(brief=situation.has_recap and situation.recovery is None))
        fragments = fragments_text(step, context)
        if fragments:
            parts.append(PromptPart(None, f"\n\n{fragments}"))
        if not step.is_gate:
            is_last = step.id == self._last_step_id
            parts.append(metrics_slot(self._index.program.metrics_profile, is_last))
        return parts


_ADVANCE = "continue_workflow with the token of this answer and what the step asks for"


def _next_input(confirmer: Confirmer | None, situation: Situation) -> NextInput | None:
    """Return the input that the step waits for besides the agent's own work."""
    if situation.asked_for:
        needed = ", ".join(f"`{name}`" for name in situation.asked_for)
        return NextInput("you", needed, "continue_workflow as `nextCall` shows it, with the true values in `context`")
    needs = list(situation.dependencies)
    if confirmer is not None and not situation.preferences.never_stops:
        needs.insert(0, "approval of this step")
    if not needs:
        return None
    source: Literal["user", "coordinator"] = "user"
    if confirmer == "coordinator" and not situation.dependencies:
        source = "coordinator"
    return NextInput(source, "; ".join(needs), _ADVANCE)


def last_step_id(program: Program) -> str | None:
    """Return the step after which nothing comes; in a loop, the last one that does the work and not the deciding."""
    if not program.steps:
        return None
    last = program.steps[-1]
    if last.type != "loop":
        return last.id
    working = [step for step in last.body if not step.decides_loop]
    return working[-1].id if working else None
