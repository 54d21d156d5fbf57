"""A pending step as the agent sees it: the author's words, the context in them, and the engine's slots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from pytest_workrail.engine.core import prompt_slots as slots
from pytest_workrail.engine.core.conditions import Context, evaluate
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.loops import loop_variables
from pytest_workrail.engine.core.modes import Confirmer, confirmed_by, reports_confirmation, required_gate
from pytest_workrail.engine.core.profiles import Answers, Profile
from pytest_workrail.engine.core.prompt_slots import NextInput, PromptPart, PromptStyle, fixed_members
from pytest_workrail.engine.model.places import LoopPath, StepInstance, collated
from pytest_workrail.engine.model.words import DEFAULT_PREFERENCES, GateKind, Preferences
from workrail_lint.base import js
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.patterns import Pattern
from workrail_lint.systems.workrail.model.ir import DelegatingStep, Delegation, Program, ProgramStep, RepeatingStep

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
    applying = [fragment.text for fragment in step.fragments if evaluate(fragment.when, context)]
    return "\n\n".join(substitute(text, context) for text in applying)


def parallel_prompt(step: DelegatingStep, context: Context) -> str:
    """Return the prompt of a parallel step: what to give to which subagent, for the delegations that apply."""
    active = [each for each in step.delegations if evaluate(each.run_condition, context)]
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

    @property
    def prompt(self) -> str:
        return "".join([part.text for part in self.parts])

    @property
    def golden_prompt(self) -> str:
        """The prompt with the free-wording slots as symbols."""
        return "".join(part.symbol for part in self.parts)


class Situation(Struct, frozen=True):
    """What is known of the run when a step is rendered. `recovery` is set on a rehydrate, empty or not.

    `dependencies` are what only a person can provide; `asked_for` are the variables a question is about.
    """

    context: Context
    has_recap: bool = False
    recovery: str | None = None
    style: PromptStyle = PromptStyle.FULL
    preferences: Preferences = DEFAULT_PREFERENCES
    dependencies: tuple[str, ...] = ()
    asked_for: tuple[str, ...] = ()


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
        tells = self._profile.answers is Answers.UNION
        if tells:
            parts.append(slots.confirmation_slot(confirmer, situation.preferences.autonomy))
        if situation.recovery is not None:
            parts.append(slots.recovery_slot(situation.recovery, situation.style))
        if tells:
            parts.append(slots.next_input_slot(_next_input(confirmer, situation)))
        return PendingStep(
            instance.step_id,
            substitute(step.title, context),
            tuple([part for part in parts if part is not None and part.text]),
            step.agent_role,
            step.model_tier,
            gate,
            reports_confirmation(step, context, self._profile),
            confirmer,
        )

    def functions(self, instance: StepInstance) -> str:
        """The functions the step can see, for the recovery text."""
        from pytest_workrail.engine.core.index import functions_block

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
            limit = slots.banner_limit(loop, self._profile)
            parts.append(slots.loop_banner(instance.loop_path[-1].iteration, limit, style))
        parts.append(PromptPart(None, substitute(step.prompt, context)))
        parts.append(slots.requirements_slot(step.criteria, style, self._profile.criteria_text))
        if step.contract is not None:
            ref = step.contract.ref
            fixed = fixed_members(step, None if loop is None else loop.id, self._profile)
            parts.append(slots.contract_slot(ref, self._index.packs.get(ref), fixed, style))
        if step.assessments is not None:
            parts.append(slots.assessment_slot(step.assessments.refs, self._index.program.assessments, style))
        if step.requires_notes and style is PromptStyle.FULL:
            parts.append(slots.notes_slot(brief=situation.has_recap and situation.recovery is None))
        fragments = fragments_text(step, context)
        if fragments:
            parts.append(PromptPart(None, f"\n\n{fragments}"))
        if not step.is_gate:
            is_last = step.id == self._last_step_id
            parts.append(slots.metrics_slot(self._index.program.metrics_profile, is_last))
        return parts


_ADVANCE = "continue_workflow with the token of this answer and what the step asks for"


def _next_input(confirmer: Confirmer | None, situation: Situation) -> NextInput | None:
    """What the step waits for besides the agent's own work."""
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
