"""Behaviour of a compiled workflow and its steps: the base classes of the generated ones, which hold the members."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from workrail_lint.documents.nodes import Node
from workrail_lint.systems.workrail.model.nodes import LOOP_CONTROL
from workrail_lint.systems.workrail.model.workflow import Condition, FunctionDefinition

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.model.ir import (
        BodyProgramStep,
        ConfirmationRule,
        ProgramStep,
        PromptFragment,
        Provenance,
        RepeatingStep,
        Repetition,
        RequiredAssessments,
        RequiredContract,
        StepOutput,
    )

_GATE_MARK = "#gate"


class ProgramNode(Node):
    """Base of a compiled workflow."""

    steps: Sequence[ProgramStep]
    capabilities: Any

    @cached_property
    def loops(self) -> list[RepeatingStep]:
        """The loops, in order."""
        return [step for step in self.steps if step.type == "loop"]

    @cached_property
    def all_steps(self) -> list[ProgramStep]:
        """Top level and bodies, in order."""
        return [inner for step in self.steps for inner in (step, *step.body)]

    @cached_property
    def required_capabilities(self) -> list[Any]:
        """The capabilities that the workflow can't do without, ascending."""
        return sorted(name for name, level in self.capabilities.items() if level == "required")

    @cached_property
    def preferred_capabilities(self) -> list[Any]:
        """The capabilities that the workflow is better with, ascending."""
        return sorted(name for name, level in self.capabilities.items() if level == "preferred")


class ProgramStepNode(Node):
    """Base of all steps. Members that only some types have are empty in the others."""

    id: str
    title: str
    notes: Literal["required", "optional"]
    run_condition: Condition | None
    confirmation: ConfirmationRule
    provenance: Provenance
    body: Sequence[BodyProgramStep] = ()
    prompt: str = ""
    agent_role: str | None = None
    model_tier: str | None = None
    fragments: Sequence[PromptFragment] = ()
    functions: Sequence[FunctionDefinition] = ()
    function_references: Sequence[str] = ()

    @property
    def contract(self) -> RequiredContract | None:
        """The contract that an artifact of the step has to satisfy."""
        return None

    @property
    def assessments(self) -> RequiredAssessments | None:
        """The assessments that the step asks for."""
        return None

    @property
    def criteria(self) -> Any:
        """The criteria for the notes."""
        return None

    @property
    def is_conditional(self) -> bool:
        """Whether a condition decides if the step runs; an empty one is always true."""
        return self.run_condition is not None and bool(self.run_condition.raw)

    @property
    def confirmation_condition(self) -> Condition | None:
        """The condition under which the step waits for approval, if there is one."""
        return self.confirmation.condition if self.confirmation.kind == "when" else None

    @property
    def may_need_person(self) -> bool:
        """Whether a person has to confirm the step in some context."""
        rule = self.confirmation
        return rule.kind != "never" and (rule.gate == "human_approval" or not rule.explicit)

    @property
    def loop_condition(self) -> Condition | None:
        """The condition that decides whether a loop goes on, if one does."""
        return None

    @property
    def loop_variable(self) -> str | None:
        """The context variable that decides how often a loop repeats, if one does."""
        return None

    @property
    def texts(self) -> list[str]:
        """Everything that an agent can be shown of the step's own words."""
        return [self.title, self.prompt, *(fragment.text for fragment in self.fragments)]

    @property
    def requires_notes(self) -> bool:
        """Whether notes are required: unless they are optional or an artifact contains what they would."""
        return self.notes == "required" and self.contract is None

    @property
    def decides_loop(self) -> bool:
        """Whether the output of the step decides about its loop."""
        return self.contract is not None and self.contract.ref == LOOP_CONTROL

    @property
    def probed_capability(self) -> str | None:
        """The capability that the step probes."""
        return None if self.contract is None else self.contract.capability

    @property
    def is_gate(self) -> bool:
        """Whether the compiler added the step as the gate of its loop."""
        provenance = self.provenance
        return provenance.source == "virtual" and (provenance.origin or "").endswith(_GATE_MARK)


class RepeatingStepNode(ProgramStepNode):
    """Base of a loop."""

    loop: Repetition

    @property
    def loop_condition(self) -> Condition | None:
        return self.loop.source.condition if self.loop.source.kind == "condition" else None

    @property
    def loop_variable(self) -> str | None:
        source = self.loop.source
        return source.variable if source.kind in ("count", "items") else None


class PromptStepNode(ProgramStepNode):
    """Base of a step that the agent works on."""

    output: StepOutput

    @property
    def contract(self) -> RequiredContract | None:
        return self.output.contract

    @property
    def assessments(self) -> RequiredAssessments | None:
        return self.output.assessments

    @property
    def criteria(self) -> Any:
        return self.output.criteria
