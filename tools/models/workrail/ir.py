"""The IR, version 1: what a workflow is compiled to. It is what `workflowHash` hashes and what our engine runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Discriminator, Field, Tag, create_model
from typing_extensions import TypeAliasType

from tools.models.workrail.conditions import Condition
from tools.models.workrail.criteria import ValidationCriteria
from tools.models.workrail.functions import FunctionCall, FunctionDefinition
from tools.models.workrail.outputs import AssessmentConsequence, AssessmentDefinition
from tools.models.workrail.prompts import PromptFragment
from tools.models.workrail.steps import Delegation, StandardStep
from tools.models.workrail.vocabulary import (
    CapabilityLevel,
    GateKind,
    LoopType,
    MetricsProfile,
    ModelTier,
)
from tools.models.workrail.workflow import RecommendedPreferences, WorkflowReference
from workrail_lint.documents.models import AnyText, ByMember, Closed, Finite, Listed, Maybe, Number, OneOf
from workrail_lint.systems.workrail.compiler.ir import CARRIED

NotesRule = Literal["required", "optional"]
ModelT = TypeVar("ModelT", bound=BaseModel)


def with_carried_members(model: type[ModelT]) -> type[ModelT]:
    """Return the model with the members of a step that the compiler carries over as they are."""
    carried: Any = {
        name: (field.annotation, field) for name, field in StandardStep.model_fields.items() if field.alias in CARRIED
    }
    return create_model(model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **carried)


class Injection(Closed):
    """A builtin whose text is in the prompt of a step."""

    kind: Literal["ref", "feature"] = Field(description="What it is in the catalog.")
    id: AnyText = Field(description="Its id in the catalog.")
    sha256: AnyText = Field(description="Digest of its texts, joined by a newline.")
    bytes: Annotated[int, Number(0, whole=True)] = Field(description="Size of these texts in UTF-8.")


class Provenance(Closed):
    """Where a step comes from."""

    source: Literal["authored", "template", "feature", "virtual", "normalized"] = Field(description="What produced it.")
    origin: Maybe[AnyText] = Field(None, description="The template, step or normalization that produced it.")
    injected: Listed[Injection] = Field(description="Builtins in its prompt, in the order of their first use.")


class NoConfirmation(Closed):
    """The step needs no approval."""

    kind: Literal["never"] = Field(description="The step needs no approval.")


class EveryConfirmation(Closed):
    """The step always waits for approval."""

    kind: Literal["always"] = Field(description="The step always waits for approval.")
    gate: OneOf[GateKind] = Field(description="Who approves.")
    explicit: Maybe[bool] = Field(None, description="Whether the author named the gate.")


class ConditionalConfirmation(Closed):
    """The step waits for approval under a condition."""

    kind: Literal["when"] = Field(description="The step waits for approval under a condition.")
    gate: OneOf[GateKind] = Field(description="Who approves.")
    explicit: Maybe[bool] = Field(None, description="Whether the author named the gate.")
    condition: Condition = Field(description="When approval is needed.")


ConfirmationRule = TypeAliasType(
    "ConfirmationRule",
    Annotated[
        Annotated[NoConfirmation, Tag("never")]
        | Annotated[EveryConfirmation, Tag("always")]
        | Annotated[ConditionalConfirmation, Tag("when")],
        Discriminator(ByMember("kind")),
        Field(description="Whether a step waits for approval."),
    ],
)


class RequiredContract(Closed):
    """The contract pack that an artifact of the step must satisfy."""

    ref: AnyText = Field(description="Id of the contract pack, which is among `contracts`.")
    required: bool = Field(description="Whether the artifact is required.")
    capability: Maybe[AnyText] = Field(None, description="On a probe step, the capability to observe.")


class RequiredAssessments(Closed):
    """The assessments that a step must submit."""

    refs: Listed[AnyText] = Field(description="Ids of the assessments.")
    consequences: Listed[AssessmentConsequence] = Field(description="What follows from their results.")


class StepOutput(Closed):
    """The required submission of a step besides notes."""

    contract: Maybe[RequiredContract] = Field(None, description="An artifact that satisfies a contract pack.")
    assessments: Maybe[RequiredAssessments] = Field(None, description="Assessments.")
    criteria: Maybe[ValidationCriteria] = Field(None, description="What the notes must satisfy.")


class ProgramStepFields(Closed):
    """The members of steps of all types."""

    id: AnyText = Field(description="Name of the step, unique within the workflow.")
    title: AnyText = Field(description="Short heading.")
    run_condition: Maybe[Condition] = Field(None, description="Run the step only when this holds.")
    confirmation: ConfirmationRule = Field(description="Whether the step waits for approval.")
    notes: NotesRule = Field(description="Whether the agent must submit notes.")
    provenance: Provenance = Field(description="Where the step comes from.")


@with_carried_members
class PromptStep(ProgramStepFields):
    """A step that the agent works on."""

    type: Literal["step"] = Field(description="A step that the agent works on.")
    prompt: AnyText = Field(description="The prompt, rendered.")
    guidance: Listed[AnyText] = Field(description="Additional advice.")
    output: StepOutput = Field(description="What the agent must submit.")
    fragments: Listed[PromptFragment] = Field(description="Text added to the prompt under conditions.")
    functions: Listed[FunctionDefinition] = Field(description="Functions of the step.")
    function_calls: Listed[FunctionCall] = Field(description="Functions that the step uses.")
    function_references: Listed[AnyText] = Field(description="Functions that the step mentions.")


class DelegatingStep(ProgramStepFields):
    """A step that runs child workflows in parallel."""

    type: Literal["parallel"] = Field(description="A step that runs child workflows in parallel.")
    delegations: Listed[Delegation] = Field(description="The child workflows.")


class CountSource(Closed):
    """A number decides how often a loop repeats."""

    kind: Literal["count"] = Field(description="A number decides.")
    count: Maybe[Finite] = Field(None, description="The number.")
    variable: Maybe[AnyText] = Field(None, description="The context variable that has it.")


class ItemsSource(Closed):
    """A loop iterates over a list."""

    kind: Literal["items"] = Field(description="A list decides.")
    variable: AnyText = Field(description="The context variable that has the list.")


class LoopCondition(Closed):
    """A condition on the context decides before each pass."""

    kind: Literal["condition"] = Field(description="A condition decides.")
    condition: Condition = Field(description="The condition.")
    derived: Literal["source", "legacy"] = Field(description="Which member of the source it comes from.")


class LoopArtifact(Closed):
    """An artifact of the agent decides after each pass."""

    kind: Literal["artifact"] = Field(description="An artifact decides.")
    contract_ref: AnyText = Field(description="The contract pack of the artifact.")
    loop_id: Maybe[AnyText] = Field(None, description="The id that the artifact names.")


class NoSource(Closed):
    """Nothing can decide: a configuration error at run time."""

    kind: Literal["none"] = Field(description="Nothing decides.")


LoopSource = TypeAliasType(
    "LoopSource",
    Annotated[
        Annotated[CountSource, Tag("count")]
        | Annotated[ItemsSource, Tag("items")]
        | Annotated[LoopCondition, Tag("condition")]
        | Annotated[LoopArtifact, Tag("artifact")]
        | Annotated[NoSource, Tag("none")],
        Discriminator(ByMember("kind")),
        Field(description="What decides whether a loop continues."),
    ],
)


class LoopVariables(Closed):
    """The context variables that a loop sets, after defaults."""

    iteration: AnyText = Field(description="Counts the passes from 1.")
    item: Maybe[AnyText] = Field(None, description="The element of a `forEach` loop.")
    index_: Maybe[AnyText] = Field(None, alias="index", description="Counts the elements from 0.")


class Repetition(Closed):
    """How a loop repeats."""

    kind: OneOf[LoopType] = Field(description="What kind of loop it is.")
    max_iterations: Finite = Field(description="Maximum number of passes; a fraction fails at run time.")
    source: LoopSource = Field(description="What decides whether it continues.")
    variables: LoopVariables = Field(description="The context variables that it sets.")


BodyProgramStep = TypeAliasType(
    "BodyProgramStep",
    Annotated[
        Annotated[PromptStep, Tag("step")] | Annotated[DelegatingStep, Tag("parallel")],
        Discriminator(ByMember("type")),
        Field(description="A step in the body of a loop."),
    ],
)


class RepeatingStep(ProgramStepFields):
    """A step that repeats others."""

    type: Literal["loop"] = Field(description="A step that repeats others.")
    loop: Repetition = Field(description="How it repeats.")
    body: Listed[BodyProgramStep] = Field(description="What is repeated, in order.")
    functions: Listed[FunctionDefinition] = Field(description="Functions of the loop.")
    body_ref: Maybe[Literal["earlier", "later"]] = Field(
        None, description="Where the step is in the source, if the body names it by its id."
    )


ProgramStep = TypeAliasType(
    "ProgramStep",
    Annotated[
        Annotated[PromptStep, Tag("step")]
        | Annotated[RepeatingStep, Tag("loop")]
        | Annotated[DelegatingStep, Tag("parallel")],
        Discriminator(ByMember("type")),
        Field(description="A step, in the order of execution."),
    ],
)


class ContractPack(Closed):
    """A contract pack that a step can require."""

    ref: AnyText = Field(description="Its id.")
    artifact_kind: AnyText = Field(description="The `kind` of its artifacts.")
    mode: AnyText = Field(description="Whether unknown members are rejected.")
    runtime_validated: bool = Field(description="Whether the public engine checks it at run time.")
    schema_: dict[str, Any] = Field(alias="schema", description="The JSON Schema of its artifacts.")
    example: Any = Field(description="An artifact that satisfies it.")


class FeatureUse(Closed):
    """A feature that the workflow uses."""

    id: AnyText = Field(description="Its id in the catalog.")
    config: dict[str, Any] = Field(description="Its configuration.")


class BindingValues(Closed):
    """The bindings of the workflow's slots."""

    resolved: dict[str, Any] = Field(description="Every slot that is used.")
    overrides: dict[str, Any] = Field(description="Those that the project bound.")


class CompileWarning(Closed):
    """Something that the compiler accepted with a warning."""

    code: AnyText = Field(description="The code of the warning.")
    pointer_: AnyText = Field(alias="pointer", description="Its place in the source.")


class Program(Closed):
    """A compiled workflow: self-contained, independent of time, machine, path and locale."""

    format: Literal["workrail.ir/1"] = Field(description="The version of this format.")
    workflow_id: AnyText = Field(description="Identity of the workflow.")
    name: AnyText = Field(description="Name shown to users.")
    description: AnyText = Field(description="What the workflow does.")
    version: AnyText = Field(description="Version of the workflow.")
    kind: Literal["workflow", "routine"] = Field(description="Whether it is meant to be run or to be called.")
    agent_role: Maybe[AnyText] = Field(None, description="Role of the agent in all steps.")
    meta_guidance: Listed[AnyText] = Field(description="Rules that apply to the whole run.")
    preconditions: Listed[AnyText] = Field(description="What must be true before a run.")
    clarification_prompts: Listed[AnyText] = Field(description="Questions to answer before a run.")
    examples: Listed[AnyText] = Field(description="Goals this workflow is good for.")
    about: Maybe[AnyText] = Field(None, description="What to know before choosing this workflow.")
    capabilities: dict[str, OneOf[CapabilityLevel]] = Field(description="What the workflow needs from its host.")
    features: Listed[FeatureUse] = Field(description="The features it uses, by ascending id.")
    contracts: Listed[ContractPack] = Field(description="Every contract pack a step can require, by ascending id.")
    assessments: Listed[AssessmentDefinition] = Field(description="Judgements that steps require.")
    functions: Listed[FunctionDefinition] = Field(description="Functions of the workflow.")
    references: Listed[WorkflowReference] = Field(description="Documents the agent may consult.")
    recommended_preferences: Maybe[RecommendedPreferences] = Field(
        None, description="How the author recommends running it."
    )
    model_tier: Maybe[OneOf[ModelTier]] = Field(None, description="How capable a model it needs.")
    metrics_profile: Maybe[OneOf[MetricsProfile]] = Field(None, description="What kind of work it is.")
    conditions: Listed[dict[str, Any]] = Field(description="Named conditions, by ascending id.")
    steps: Listed[ProgramStep] = Field(description="The steps, in the order of execution.")
    bindings: BindingValues = Field(description="What the slots are bound to.")
    warnings: Listed[CompileWarning] = Field(description="What the compiler accepted with a warning, by place.")
