"""A pending step as the agent sees it: the author's words, the context in them, and the engine's slots."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pytest_workrail.engine.core import prompt_slots as slots
from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.guidance import fixed_members
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.modes import (
    DEFAULT_PREFERENCES,
    Confirmer,
    Preferences,
    confirmed_by,
    reports_confirmation,
    required_gate,
)
from pytest_workrail.engine.core.profiles import Answers, Profile
from pytest_workrail.engine.core.prompt_slots import NextInput, PromptPart, PromptStyle
from pytest_workrail.engine.core.rendering import fragments_text, parallel_prompt, render_context, substitute
from pytest_workrail.engine.model.places import StepInstance
from pytest_workrail.engine.model.words import GateKind
from workrail_lint.systems.workrail.model.ir import Program, ProgramStep, RepeatingStep


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
