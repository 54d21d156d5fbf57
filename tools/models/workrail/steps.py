"""The steps of a workflow. What differs between the two forms of the document is a type parameter."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from tools.models.workrail.conditions import Condition, Confirmation
from tools.models.workrail.criteria import ValidationCriteria
from tools.models.workrail.functions import FunctionCall, FunctionDefinition, FunctionReference
from tools.models.workrail.loops import LoopConfig
from tools.models.workrail.outputs import AssessmentConsequence, OutputContract, ShortId
from tools.models.workrail.prompts import PromptBlocks, PromptFragment, TemplateCall
from tools.models.workrail.vocabulary import ModelTier, StepType
from workrail_lint.documents.models import (
    AgentRole,
    AnyText,
    Array,
    ByMember,
    ByType,
    Closed,
    Listed,
    Maybe,
    OneOf,
    StepId,
    Text,
    Title,
)

IdT = TypeVar("IdT")
CriteriaT = TypeVar("CriteriaT")
BodyT = TypeVar("BodyT")

VirtualPrompt = Annotated[str, Text(1, 4096)]


class AuditConfig(Closed):
    """Adds a step that judges this one's result."""

    prompt: Maybe[VirtualPrompt] = Field(None, description="Instruction of the added step, instead of the rubric.")
    rubric: Maybe[Annotated[tuple[AnyText, ...], Array(1)]] = Field(None, description="Criteria for the judgement.")


class VerificationConfig(Closed):
    """Adds a step that proves this one's result."""

    command: Maybe[Annotated[str, Text(1, 1024)]] = Field(None, description="Command whose success is the proof.")
    prompt: Maybe[VirtualPrompt] = Field(None, description="Instruction of the added step, instead of the command.")


class SynthesisConfig(Closed):
    """Adds a step that combines parallel results."""

    prompt: Maybe[VirtualPrompt] = Field(None, description="Instruction of the added step.")
    output_contract: Maybe[OutputContract] = Field(None, description="What the added step must submit.")


class Delegation(Closed):
    """A child workflow that runs in parallel with its siblings."""

    workflow_id: Title = Field(description="Id of the workflow to run.")
    goal: Maybe[AnyText] = Field(None, description="What this run should achieve.")
    run_condition: Maybe[Condition] = Field(None, description="Run it only when this holds.")
    context_mapping: Maybe[dict[str, AnyText]] = Field(
        None, description="Context variables to pass: the name here, and the name in the child."
    )
    args: Maybe[dict[str, AnyText]] = Field(None, description="Arguments for the child.")
    model_tier: Maybe[OneOf[ModelTier]] = Field(None, description="How capable a model the child needs.")
    allowed_tools: Maybe[
        Annotated[tuple[Annotated[str, Text(pattern=r"^[a-zA-Z][a-zA-Z0-9_:\-]*$")], ...], Array(1)]
    ] = Field(None, description="The only tools the child may use.")


class StandardStepOf(Closed, Generic[IdT, CriteriaT]):
    """A step the agent works on. It has exactly one of `prompt`, `promptBlocks` and `templateCall`."""

    id: IdT = Field(description="Name of the step, unique within the workflow.")
    title: Title = Field(description="Short heading.")
    prompt: Maybe[Annotated[str, Text(1, 8192)]] = Field(None, description="The prompt, as one string.")
    prompt_blocks: Maybe[PromptBlocks] = Field(None, description="The prompt, in named sections.")
    template_call: Maybe[TemplateCall] = Field(None, description="Routine that replaces this step.")
    agent_role: Maybe[AgentRole] = Field(None, description="Role the agent should take.")
    model_tier: Maybe[OneOf[ModelTier]] = Field(None, description="How capable a model the step needs.")
    guidance: Maybe[Listed[AnyText]] = Field(None, description="Additional advice, as a list.")
    ask_for_files: Maybe[bool] = Field(None, description="Has no effect; kept for older documents.")
    has_validation: Maybe[bool] = Field(None, description="Has no effect; kept for older documents.")
    require_confirmation: Maybe[Confirmation] = Field(None, description="Whether the step needs approval.")
    run_condition: Maybe[Condition] = Field(None, description="Run the step only when this holds.")
    validation_criteria: Maybe[CriteriaT] = Field(None, description="What the text submitted must satisfy.")
    output_contract: Maybe[OutputContract] = Field(None, description="Artifact the step must submit.")
    assessment_refs: Maybe[Annotated[tuple[ShortId, ...], Array(1, unique=True)]] = Field(
        None, description="Assessments the step must submit, by id."
    )
    assessment_consequences: Maybe[Annotated[tuple[AssessmentConsequence, ...], Array(1, 10)]] = Field(
        None, description="What happens for which assessment results."
    )
    notes_optional: Maybe[bool] = Field(None, description="Whether the agent may submit no notes.")
    function_definitions: Maybe[Listed[FunctionDefinition]] = Field(None, description="Functions of this step.")
    function_calls: Maybe[Listed[FunctionCall]] = Field(None, description="Functions the step uses, with arguments.")
    function_references: Maybe[Listed[FunctionReference]] = Field(
        None, description="Functions the step mentions, each written with `()`."
    )
    prompt_fragments: Maybe[Annotated[tuple[PromptFragment, ...], Array(1)]] = Field(
        None, description="Text added to the prompt under conditions."
    )
    audit: Maybe[AuditConfig] = Field(None, description="Adds a step that judges the result.")
    verification: Maybe[VerificationConfig] = Field(None, description="Adds a step that proves the result.")


class LoopStepOf(Closed, Generic[IdT, BodyT]):
    """A step that repeats others. It has no prompt."""

    id: IdT = Field(description="Name of the loop, unique within the workflow.")
    type: Literal[StepType.LOOP] = Field(description="Makes this a loop.")
    title: Title = Field(description="Short heading.")
    loop: LoopConfig = Field(description="How the loop repeats.")
    body: BodyT = Field(description="What is repeated: steps in order, or the id of one step of the workflow.")
    function_definitions: Maybe[Listed[FunctionDefinition]] = Field(
        None, description="Functions for the steps written in the body."
    )
    require_confirmation: Maybe[Confirmation] = Field(None, description="Whether the loop needs approval.")
    run_condition: Maybe[Condition] = Field(None, description="Enter the loop only when this holds.")
    notes_optional: Maybe[bool] = Field(None, description="Whether the agent may submit no notes.")


class ParallelStepOf(Closed, Generic[IdT]):
    """A step that runs child workflows in parallel."""

    id: IdT = Field(description="Name of the step, unique within the workflow.")
    type: Literal[StepType.PARALLEL] = Field(description="Makes this a parallel step.")
    title: Title = Field(description="Short heading.")
    parallel_delegations: Annotated[tuple[Delegation, ...], Array(1, unique=True)] = Field(
        description="The child workflows."
    )
    require_confirmation: Maybe[Confirmation] = Field(None, description="Has no effect on a parallel step.")
    run_condition: Maybe[Condition] = Field(None, description="Run the step only when this holds.")
    notes_optional: Maybe[bool] = Field(None, description="Whether the agent may submit no notes.")
    synthesis: Maybe[SynthesisConfig] = Field(None, description="Adds a step that combines the results.")


class StandardStep(StandardStepOf[StepId, ValidationCriteria]):
    """A step the agent works on. It has exactly one of `prompt`, `promptBlocks` and `templateCall`."""


class ParallelStep(ParallelStepOf[StepId]):
    """A step that runs child workflows in parallel."""


BodyStep = TypeAliasType(
    "BodyStep",
    Annotated[
        Annotated[StandardStep, Tag("standard")] | Annotated[ParallelStep, Tag("parallel")],
        Discriminator(ByMember("type", absent="standard")),
        Field(description="A step in the body of a loop. Loops do not nest."),
    ],
)
LoopBody = TypeAliasType(
    "LoopBody",
    Annotated[
        Annotated[AnyText, Tag("string")] | Annotated[tuple[BodyStep, ...], Array(1), Tag("array")],
        Discriminator(ByType()),
        Field(description="Steps in order, or the id of one step of the workflow."),
    ],
)


class LoopStep(LoopStepOf[StepId, LoopBody]):
    """A step that repeats others. It has no prompt."""


Step = TypeAliasType(
    "Step",
    Annotated[
        Annotated[StandardStep, Tag("standard")]
        | Annotated[LoopStep, Tag("loop")]
        | Annotated[ParallelStep, Tag("parallel")],
        Discriminator(ByMember("type", absent="standard")),
        Field(description="A step: a loop or a parallel step as its `type` says, otherwise a standard one."),
    ],
)
