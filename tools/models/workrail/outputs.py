"""Required submissions of a step: contracts and assessments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tools.models.workrail.vocabulary import ConsequenceEffect
from workrail_lint.documents.models import Array, Closed, FilledText, Maybe, Text

ShortId = Annotated[str, Text(1, 64)]
Purpose = Annotated[str, Text(1, 256)]


class OutputContract(Closed):
    """Requires an artifact that satisfies a contract pack."""

    contract_ref: FilledText = Field(description="Id of the contract pack in the catalog.")
    required: Maybe[bool] = Field(None, description="Whether the artifact is required (default: true).")


class AssessmentDimension(Closed):
    """One scale on which something is judged."""

    id: ShortId = Field(description="Name, unique within the assessment.")
    purpose: Purpose = Field(description="What this scale measures.")
    levels: Annotated[tuple[ShortId, ...], Array(2, unique=True)] = Field(description="The values it can take.")
    required: Maybe[bool] = Field(None, description="Whether it must be judged (default: true).")


class AssessmentDefinition(Closed):
    """A judgement that steps can require by its id."""

    id: ShortId = Field(description="Name, unique within the workflow.")
    purpose: Purpose = Field(description="What is being judged and why.")
    dimensions: Annotated[tuple[AssessmentDimension, ...], Array(1)] = Field(description="The scales.")


class ConsequenceTrigger(Closed):
    """The result that triggers a consequence."""

    any_equals_level: ShortId = Field(description="Applies as soon as one dimension is judged to be at this level.")
    for_assessment: Maybe[Annotated[str, Text(1, 128)]] = Field(
        None, description="Consider only this assessment (default: all assessments of the step)."
    )


class ConsequenceAction(Closed):
    """The action that the result triggers."""

    kind: Literal[ConsequenceEffect.REQUIRE_FOLLOWUP] = Field(description="The agent must follow up.")
    guidance: Annotated[str, Text(1, 512)] = Field(description="What the agent should do.")


class AssessmentConsequence(Closed):
    """The consequence of an assessment result."""

    when: ConsequenceTrigger = Field(description="The result that triggers it.")
    effect: ConsequenceAction = Field(description="What happens then.")
