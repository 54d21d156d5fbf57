"""A pending step as the agent sees it: the author's words, the context in them, and the engine's slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_workrail.engine.core import prompt_slots as slots
from pytest_workrail.engine.core.conditions import Context
from pytest_workrail.engine.core.confirmation import reports_confirmation, required_gate
from pytest_workrail.engine.core.functions import functions_block
from pytest_workrail.engine.core.guidance import fixed_members
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.outputs import requires_notes
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.prompt_slots import PromptPart, PromptStyle
from pytest_workrail.engine.core.rendering import fragments_text, parallel_prompt, render_context, substitute
from pytest_workrail.engine.core.state import StepInstance
from pytest_workrail.engine.core.vocabulary import GateKind


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A step ready to be handed out. `gate` is who must confirm it, if anybody."""

    step_id: str
    title: str
    parts: tuple[PromptPart, ...]
    agent_role: str | None
    model_tier: str | None
    gate: GateKind | None
    requires_confirmation: bool

    @property
    def prompt(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def golden_prompt(self) -> str:
        """The prompt with the free-wording slots as symbols."""
        return "".join(part.symbol for part in self.parts)


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of the run when a step is rendered. `recovery` is set on a rehydrate, empty or not."""

    context: Context
    has_recap: bool = False
    recovery: str | None = None
    style: PromptStyle = PromptStyle.FULL


class PromptRenderer:
    """Renders the steps of one IR under one profile."""

    __slots__ = ("_index", "_last_step_id", "_profile")

    def __init__(self, index: IrIndex, profile: Profile) -> None:
        self._index = index
        self._profile = profile
        self._last_step_id = last_step_id(index.ir)

    def render(self, instance: StepInstance, situation: Situation) -> PendingStep:
        """The step with its prompt; rendering decides nothing and changes nothing."""
        step = self._index.definitions[instance.step_id]
        loop = self._index.innermost_loop(instance)
        context = render_context(loop, instance.loop_path, situation.context)
        gate = required_gate(step, context)
        if step["type"] == "parallel":
            parts: list[PromptPart | None] = [PromptPart(None, parallel_prompt(step, context))]
        else:
            parts = self._step_parts(step, instance, loop, context, situation)
        if situation.recovery is not None:
            parts.append(slots.recovery_slot(situation.recovery, situation.style))
        return PendingStep(
            instance.step_id,
            substitute(step["title"], context),
            tuple(part for part in parts if part is not None and part.text),
            step.get("agentRole"),
            step.get("modelTier"),
            gate,
            reports_confirmation(step, context, self._profile),
        )

    def functions(self, instance: StepInstance) -> str:
        """The functions the step can see, for the recovery text."""
        loops = tuple(self._index.loops[at.loop_id] for at in instance.loop_path)
        return functions_block(self._index.ir, self._index.definitions[instance.step_id], loops)

    def _step_parts(
        self,
        step: dict[str, Any],
        instance: StepInstance,
        loop: dict[str, Any] | None,
        context: Context,
        situation: Situation,
    ) -> list[PromptPart | None]:
        style = situation.style
        output = step["output"]
        parts: list[PromptPart | None] = []
        if loop is not None and not slots.is_exit_step(step):
            parts.append(slots.loop_banner(instance.loop_path[-1].iteration, loop["loop"]["maxIterations"], style))
        parts.append(PromptPart(None, substitute(step["prompt"], context)))
        parts.append(slots.requirements_slot(output.get("criteria"), style))
        if "contract" in output:
            ref = output["contract"]["ref"]
            fixed = fixed_members(step, None if loop is None else loop["id"], self._profile)
            parts.append(slots.contract_slot(ref, self._index.packs.get(ref), fixed, style))
        if "assessments" in output:
            parts.append(slots.assessment_slot(output["assessments"]["refs"], self._index.ir["assessments"], style))
        if requires_notes(step) and style is PromptStyle.FULL:
            parts.append(slots.notes_slot(brief=situation.has_recap and situation.recovery is None))
        fragments = fragments_text(step, context)
        if fragments:
            parts.append(PromptPart(None, f"\n\n{fragments}"))
        is_last = step["id"] == self._last_step_id
        parts.append(slots.metrics_slot(self._index.ir.get("metricsProfile"), is_last))
        return parts


def last_step_id(ir: dict[str, Any]) -> str | None:
    """The step after which nothing comes; in a loop, the last one that does the work and not the deciding."""
    if not ir["steps"]:
        return None
    last = ir["steps"][-1]
    if last["type"] != "loop":
        return str(last["id"])
    working = [step for step in last["body"] if not slots.is_exit_step(step)]
    return str(working[-1]["id"]) if working else None
