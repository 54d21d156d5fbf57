"""Prompts: prompt blocks, their parts, fragments and template calls."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from tools.models.workrail.conditions import Condition
from tools.models.workrail.vocabulary import PromptPartKind
from workrail_lint.documents.models import AnyText, ByMember, ByType, Closed, FilledText, Listed, Maybe, Text


class TextPart(Closed):
    """Literal text."""

    kind: Literal[PromptPartKind.TEXT] = Field(description="This part is literal text.")
    text: AnyText = Field(description="The text.")


class RefPart(Closed):
    """A catalog reference, replaced by its text when the workflow is compiled."""

    kind: Literal[PromptPartKind.REF] = Field(description="This part is a reference.")
    ref_id: FilledText = Field(description="Id of the reference in the catalog.")


PromptPart = TypeAliasType(
    "PromptPart",
    Annotated[
        Annotated[TextPart, Tag("text")] | Annotated[RefPart, Tag("ref")],
        Discriminator(ByMember("kind")),
        Field(description="One piece of a prompt."),
    ],
)
PromptValue = TypeAliasType(
    "PromptValue",
    Annotated[
        Annotated[AnyText, Tag("string")] | Annotated[Listed[PromptPart], Tag("array")],
        Discriminator(ByType()),
        Field(description="Prompt text: a string, or parts that are joined."),
    ],
)


class PromptBlocks(Closed):
    """A prompt in named sections, rendered in a fixed order. At least one section is required."""

    goal: Maybe[PromptValue] = Field(None, description="What the step should achieve.")
    constraints: Maybe[Listed[PromptValue]] = Field(None, description="Limits that apply during the whole step.")
    procedure: Maybe[Listed[PromptValue]] = Field(None, description="What to do, in order.")
    output_required: Maybe[dict[str, AnyText]] = Field(
        None, description="What to submit: the name of each output and what it must hold. Order is kept."
    )
    verify: Maybe[Listed[PromptValue]] = Field(None, description="What to check before submitting.")


class TemplateCall(Closed):
    """Replaces the step by the steps of a routine."""

    template_id: Annotated[str, Text(1, 128)] = Field(description="Id of the template in the catalog.")
    args: Maybe[dict[str, Any]] = Field(None, description="Values for the routine's placeholders.")


class PromptFragment(Closed):
    """Text added to the prompt when a condition holds."""

    id: Annotated[str, Text(1, 64, r"^[a-z][a-z0-9_-]*$")] = Field(description="Name, unique within the step.")
    text: Annotated[str, Text(1, 4096)] = Field(description="Text to add.")
    when: Maybe[Condition] = Field(None, description="Add it only when this holds (default: always).")
