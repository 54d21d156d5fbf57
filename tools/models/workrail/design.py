"""The workflow document in its design form: everything the compatibility pass knows how to rewrite.

Whatever is valid in the shipping form is valid here too. Only the shipping form exists past the
boundary, so this model is for reading and for editors, not for the compiler.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from tools.models.workrail.conditions import Condition, Confirmation
from tools.models.workrail.criteria import RuleFields
from tools.models.workrail.functions import FunctionDefinition
from tools.models.workrail.loops import MaxIterations
from tools.models.workrail.outputs import Purpose
from tools.models.workrail.steps import LoopStepOf, ParallelStepOf, StandardStepOf
from tools.models.workrail.vocabulary import (
    AcceptedKind,
    CapabilityLevel,
    ConditionKind,
    LoopDecision,
    StepType,
)
from tools.models.workrail.workflow import AcceptedKinds, ExtensionPoint, SlotId, Target, Version, WorkflowFields
from workrail_lint.documents.models import (
    AgentRole,
    AnyText,
    Array,
    ByMember,
    ByPresence,
    ByType,
    Closed,
    FilledText,
    Listed,
    Maybe,
    OneOf,
    Text,
    Title,
)

LooseId = Annotated[str, Text(1, 64, r"^[a-z0-9_-]+$")]


class ConstantCondition(Closed):
    """A named condition with a fixed answer."""

    id: LooseId = Field(description="Name by which loops refer to it.")
    kind: Literal[ConditionKind.ALWAYS_TRUE, ConditionKind.ALWAYS_FALSE] = Field(description="The answer.")


class LoopControlCondition(Closed):
    """A named condition that the agent's loop-control artifact decides."""

    id: LooseId = Field(description="Name by which loops refer to it.")
    kind: Literal[ConditionKind.LOOP_CONTROL] = Field(description="Decided by an artifact.")
    continue_when: Maybe[OneOf[LoopDecision]] = Field(
        None, description="The decision on which the loop goes on; `continue` when left out."
    )


NamedCondition = TypeAliasType(
    "NamedCondition",
    Annotated[
        Annotated[ConstantCondition, Tag("always_true")]
        | Annotated[ConstantCondition, Tag("always_false")]
        | Annotated[LoopControlCondition, Tag("loop_control")],
        Discriminator(ByMember("kind")),
        Field(description="A condition with a name."),
    ],
)


class ConditionRef(Closed):
    """Points to a named condition of the workflow."""

    kind: Literal["condition_ref"] = Field(description="This is a reference.")
    condition_id: LooseId = Field(description="Name of the condition.")


class DesignOutput(Closed):
    """The submission of a step."""

    contract_ref: Maybe[FilledText] = Field(None, description="Contract pack the artifact must satisfy.")
    hints: Maybe[dict[str, AnyText]] = Field(None, description="Advice by topic; nothing is enforced.")


class DesignRule(RuleFields):
    """One check on the text an agent submits; the message may be left out."""

    message: Maybe[AnyText] = Field(None, description="What the agent reads when the check fails.")


class DesignAllCriteria(Closed):
    """Every part must pass."""

    and_: Annotated[tuple[DesignCriterion, ...], Array(1)] = Field(alias="and", description="Parts that must pass.")


class DesignAnyCriteria(Closed):
    """At least one part must pass."""

    or_: Annotated[tuple[DesignCriterion, ...], Array(1)] = Field(
        alias="or", description="Parts of which one must pass."
    )


class DesignNotCriteria(Closed):
    """The part must fail."""

    not_: DesignCriterion = Field(alias="not", description="The part that must fail.")


DesignCriterion = TypeAliasType(
    "DesignCriterion",
    Annotated[
        Annotated[DesignAllCriteria, Tag("and")]
        | Annotated[DesignAnyCriteria, Tag("or")]
        | Annotated[DesignNotCriteria, Tag("not")]
        | Annotated[DesignRule, Tag("rule")],
        Discriminator(ByPresence({"and": "and", "or": "or", "not": "not"}, otherwise="rule")),
        Field(description="A rule, or a combination of rules."),
    ],
)
DesignCriteria = TypeAliasType(
    "DesignCriteria",
    Annotated[
        Annotated[Listed[DesignRule], Tag("array")] | Annotated[DesignCriterion, Tag("object")],
        Discriminator(ByType()),
        Field(description="What the output must satisfy: a list of rules, one combination, or one bare rule."),
    ],
)


class DesignStandardStep(StandardStepOf[LooseId, DesignCriteria]):
    """A step the agent works on. It has exactly one of `prompt`, `promptBlocks` and `templateCall`."""

    output: Maybe[DesignOutput] = Field(None, description="What the step submits.")


class DesignParallelStep(ParallelStepOf[LooseId]):
    """A step that runs child workflows in parallel."""


class TemplateCallStep(Closed):
    """A step that a routine takes the place of."""

    type: Literal[StepType.TEMPLATE_CALL] = Field(description="Makes this a template call.")
    template_id: Target = Field(description="Id of the template in the catalog.")
    args: Maybe[dict[str, Any]] = Field(None, description="Values for the routine's placeholders.")
    id: Maybe[LooseId] = Field(None, description="Name of the step; made from the template's id when left out.")
    title: Maybe[Title] = Field(None, description="Short heading; made from the name when left out.")


DesignBodyStep = TypeAliasType(
    "DesignBodyStep",
    Annotated[
        Annotated[DesignStandardStep, Tag("standard")]
        | Annotated[DesignParallelStep, Tag("parallel")]
        | Annotated[TemplateCallStep, Tag("template_call")],
        Discriminator(ByMember("type", absent="standard")),
        Field(description="A step in the body of a loop. Loops do not nest."),
    ],
)
DesignLoopBody = TypeAliasType(
    "DesignLoopBody",
    Annotated[
        Annotated[AnyText, Tag("string")]
        | Annotated[tuple[DesignBodyStep, ...], Array(1), Tag("array")]
        | Annotated[DesignBodyStep, Tag("object")],
        Discriminator(ByType()),
        Field(description="Steps in order, a single step, or the id of one step of the workflow."),
    ],
)


class ConfiguredLoopStep(LoopStepOf[LooseId, DesignLoopBody]):
    """A step that repeats others, set up by a `loop` member."""


class NamedLoopStep(Closed):
    """A step that repeats others as long as a named condition holds."""

    type: Literal[StepType.LOOP] = Field(description="Makes this a loop.")
    loop_id: LooseId = Field(description="Name of the loop, unique within the workflow.")
    title: Maybe[Title] = Field(None, description="Short heading; made from the name when left out.")
    while_: ConditionRef = Field(alias="while", description="The condition that keeps the loop going.")
    max_iterations: MaxIterations = Field(description="Maximum number of rounds, whatever ends the loop.")
    body: DesignLoopBody = Field(description="What is repeated.")
    function_definitions: Maybe[Listed[FunctionDefinition]] = Field(
        None, description="Functions for the steps written in the body."
    )
    require_confirmation: Maybe[Confirmation] = Field(None, description="Whether the loop needs approval.")
    run_condition: Maybe[Condition] = Field(None, description="Enter the loop only when this holds.")
    notes_optional: Maybe[bool] = Field(None, description="Whether the agent may submit no notes.")


DesignLoopStep = TypeAliasType(
    "DesignLoopStep",
    Annotated[
        Annotated[NamedLoopStep, Tag("named")] | Annotated[ConfiguredLoopStep, Tag("configured")],
        Discriminator(ByPresence({"loopId": "named", "while": "named"}, otherwise="configured")),
        Field(description="A loop, in the form its members show."),
    ],
)
DesignStep = TypeAliasType(
    "DesignStep",
    Annotated[
        Annotated[DesignStandardStep, Tag("standard")]
        | Annotated[DesignLoopStep, Tag("loop")]
        | Annotated[DesignParallelStep, Tag("parallel")]
        | Annotated[TemplateCallStep, Tag("template_call")],
        Discriminator(ByMember("type", absent="standard")),
        Field(description="A step: what its `type` says, otherwise a standard one."),
    ],
)


class Capabilities(Closed):
    """The requirements of the workflow on the agent's environment."""

    delegation: Maybe[OneOf[CapabilityLevel]] = Field(None, description="Handing work to other agents.")
    web_browsing: Maybe[OneOf[CapabilityLevel]] = Field(
        None, alias="web_browsing", description="Looking things up on the web."
    )


class FeatureUse(Closed):
    """A feature with settings."""

    id: Target = Field(description="Id of the feature in the catalog.")
    config: Maybe[dict[str, Any]] = Field(None, description="Settings; which ones there are is up to the feature.")


FeatureEntry = TypeAliasType(
    "FeatureEntry",
    Annotated[
        Annotated[Target, Tag("string")] | Annotated[FeatureUse, Tag("object")],
        Discriminator(ByType()),
        Field(description="A feature by id, with or without settings."),
    ],
)


class DesignExtensionPoint(Closed):
    """A slot that a project can fill; its name is the member it stands under."""

    purpose: Purpose = Field(description="What the slot is for.")
    default_binding: Target = Field(description="What is used if the project binds nothing.")
    accepted_kinds: Maybe[AcceptedKinds] = Field(None, description="What may be bound here.")
    input_contract: Maybe[dict[str, Any]] = Field(None, description="What the slot offers to what is bound.")
    output_contract: Maybe[dict[str, Any]] = Field(None, description="What the slot expects back.")


ExtensionPoints = TypeAliasType(
    "ExtensionPoints",
    Annotated[
        Annotated[tuple[ExtensionPoint, ...], Array(unique=True), Tag("array")]
        | Annotated[dict[SlotId, DesignExtensionPoint], Tag("object")],
        Discriminator(ByType()),
        Field(description="Slots that a project can fill: a list, or an object by slot name."),
    ],
)


class DesignWorkflow(WorkflowFields):
    """A workflow that an agent is led through step by step, as the authoring design writes it."""

    version: Maybe[Version] = Field(None, description="Version of this document; `0.1.0` when left out.")
    agent_role: Maybe[AgentRole] = Field(None, description="Stance for all steps that set none of their own.")
    capabilities: Maybe[Capabilities] = Field(None, description="What the workflow needs from its environment.")
    features: Maybe[Annotated[tuple[FeatureEntry, ...], Array(unique=True)]] = Field(
        None, description="Catalog features that apply to all prompts."
    )
    conditions: Maybe[Listed[NamedCondition]] = Field(None, description="Conditions that loops refer to by name.")
    extension_points: Maybe[ExtensionPoints] = Field(None, description="Slots that a project can fill.")
    kind: Maybe[OneOf[AcceptedKind]] = Field(None, description="What this document is when it is bound to a slot.")
    extension_contract: Maybe[dict[str, Any]] = Field(
        None, description="What this document accepts and produces when it is bound to a slot."
    )
    steps: Annotated[tuple[DesignStep, ...], Array(1)] = Field(description="The steps in order.")
