"""The workflow document in its shipping form: what the reference engine accepts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tools.models.workrail.functions import FunctionDefinition
from tools.models.workrail.outputs import AssessmentDefinition, Purpose
from tools.models.workrail.steps import Step
from tools.models.workrail.vocabulary import (
    AcceptedKind,
    Autonomy,
    MetricsProfile,
    ModelTier,
    ReferenceBase,
    RiskPolicy,
)
from workrail_lint.documents.models import Array, Closed, Maybe, Number, OneOf, Text, Title

WORKFLOW_ID = r"^([a-z0-9_-]+|[a-z][a-z0-9_-]+\.[a-z][a-z0-9_-]+)$"
SEMVER = (
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$"
)

Version = Annotated[str, Text(pattern=SEMVER)]
SlotId = Annotated[str, Text(2, 64, r"^[a-z][a-z0-9_]*$")]
Target = Annotated[str, Text(1, 128)]
Sentences = Annotated[tuple[Annotated[str, Text(1, 256)], ...], Array(unique=True)]
AcceptedKinds = Annotated[tuple[OneOf[AcceptedKind], ...], Array(unique=True)]


class RecommendedPreferences(Closed):
    """How the author recommends running this workflow. A run that differs gets a warning."""

    recommended_autonomy: Maybe[OneOf[Autonomy]] = Field(None, description="How much to do without asking the user.")
    recommended_risk_policy: Maybe[OneOf[RiskPolicy]] = Field(None, description="How much risk to take.")


class ExtensionPoint(Closed):
    """A slot that a project can fill with its own routine or workflow."""

    slot_id: SlotId = Field(description="Name of the slot; prompts refer to it as `{{wr.bindings.<slotId>}}`.")
    purpose: Purpose = Field(description="What the slot is for.")
    default: Target = Field(description="What is used if the project binds nothing.")
    accepted_kinds: Maybe[AcceptedKinds] = Field(None, description="What may be bound here.")


class WorkflowReference(Closed):
    """A document the agent may consult."""

    id: Annotated[str, Text(2, 64, r"^[a-z][a-z0-9_-]*$")] = Field(description="Name, unique within the workflow.")
    title: Title = Field(description="Short heading.")
    source: Annotated[str, Text(1, 512)] = Field(description="Path of the document.")
    purpose: Annotated[str, Text(1, 512)] = Field(description="When to consult it and what for.")
    authoritative: bool = Field(description="Whether it overrides what the agent believes.")
    resolve_from: Maybe[OneOf[ReferenceBase]] = Field(
        None, description="What the path is relative to (default: the workspace)."
    )


class WorkflowFields(Closed):
    """The members of a workflow in either form of the document."""

    id: Annotated[str, Text(3, 64, WORKFLOW_ID)] = Field(
        description="Identity of the workflow: `namespace.name`, or a plain name in older documents."
    )
    name: Title = Field(description="Name shown to users.")
    description: Annotated[str, Text(1, 512)] = Field(description="What the workflow does, in a sentence or two.")
    about: Maybe[Annotated[str, Text(1, 4096)]] = Field(None, description="What to know before choosing this workflow.")
    examples: Maybe[Annotated[tuple[Annotated[str, Text(10, 120)], ...], Array(1, 6, unique=True)]] = Field(
        None, description="Goals this workflow is good for, as a user would put them."
    )
    preconditions: Maybe[Sentences] = Field(None, description="What must be true before a run.")
    clarification_prompts: Maybe[Sentences] = Field(None, description="Questions to answer before a run.")
    meta_guidance: Maybe[Sentences] = Field(None, description="Rules that apply to the whole run.")
    model_tier: Maybe[OneOf[ModelTier]] = Field(None, description="How capable a model the workflow needs.")
    recommended_preferences: Maybe[RecommendedPreferences] = Field(
        None, description="How the author would run this workflow."
    )
    function_definitions: Maybe[Annotated[tuple[FunctionDefinition, ...], Array(unique=True)]] = Field(
        None, description="Functions for all steps."
    )
    assessments: Maybe[Annotated[tuple[AssessmentDefinition, ...], Array(unique=True)]] = Field(
        None, description="Judgements that steps can require."
    )
    references: Maybe[Annotated[tuple[WorkflowReference, ...], Array(unique=True)]] = Field(
        None, description="Documents the agent may consult."
    )
    validated_against_spec_version: Maybe[Annotated[int, Number(1, whole=True)]] = Field(
        None, description="Version of the authoring rules that the workflow was last checked against."
    )
    metrics_profile: Maybe[OneOf[MetricsProfile]] = Field(None, description="Which outcome metrics a run reports.")


class Workflow(WorkflowFields):
    """A workflow: steps that an agent works through in order."""

    version: Version = Field(description="Version of this document, as SemVer 2.0.")
    features: Maybe[Annotated[tuple[Target, ...], Array(unique=True)]] = Field(
        None, description="Catalog features that apply to all prompts, by id."
    )
    extension_points: Maybe[Annotated[tuple[ExtensionPoint, ...], Array(unique=True)]] = Field(
        None, description="Slots that a project can fill."
    )
    steps: Annotated[tuple[Step, ...], Array(1)] = Field(description="The steps in order.")
