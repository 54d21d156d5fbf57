"""Conditions over a run's context, and the rules that ask for confirmation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from tools.models.workrail.vocabulary import ConditionSourceKind, GateKind
from workrail_lint.documents.models import (
    AnyText,
    ByMember,
    ByPresence,
    ByType,
    Closed,
    FilledText,
    Finite,
    Listed,
    Maybe,
    OneOf,
)


class Condition(Closed):
    """A test on the context. With `var`, the first operator that is present decides; without one, the
    variable's truth does. Otherwise `and`, `or` and `not` combine other conditions."""

    var: Maybe[AnyText] = Field(None, description="Context variable to test; a dot in its name has no special meaning.")
    equals: Any = Field(None, description="Holds when the variable equals this, ignoring case and surrounding space.")
    not_equals: Any = Field(None, alias="not_equals", description="Holds when `equals` would not.")
    gt: Maybe[Finite] = Field(None, description="Holds for a number greater than this.")
    gte: Maybe[Finite] = Field(None, description="Holds for a number greater than or equal to this.")
    lt: Maybe[Finite] = Field(None, description="Holds for a number less than this.")
    lte: Maybe[Finite] = Field(None, description="Holds for a number less than or equal to this.")
    in_: Maybe[Listed[Any]] = Field(None, alias="in", description="Holds when the variable equals one of these.")
    contains: Maybe[AnyText] = Field(None, description="Holds when the variable's text contains this, ignoring case.")
    and_: Maybe[Listed[Condition]] = Field(
        None, alias="and", description="Holds when every one of these holds; an empty list always does."
    )
    or_: Maybe[Listed[Condition]] = Field(
        None, alias="or", description="Holds when at least one of these holds; an empty list never does."
    )
    not_: Maybe[Condition] = Field(None, alias="not", description="Holds when this condition does not.")


class ConfirmationGate(Closed):
    """Asks a named party to approve, always or under a condition."""

    kind: OneOf[GateKind] = Field(description="Who approves.")
    condition: Maybe[Condition] = Field(None, description="Ask only when this holds (default: always ask).")


Confirmation = TypeAliasType(
    "Confirmation",
    Annotated[
        Annotated[bool, Tag("boolean")]
        | Annotated[
            Annotated[
                Annotated[ConfirmationGate, Tag("gate")] | Annotated[Condition, Tag("condition")],
                Discriminator(ByPresence({"kind": "gate"}, otherwise="condition")),
            ],
            Tag("object"),
        ],
        Discriminator(ByType()),
        Field(
            description="Whether a step needs approval: true or false, a gate that says who approves, or a condition."
        ),
    ],
)


class ArtifactSource(Closed):
    """The agent decides: it submits an artifact that says whether the loop continues."""

    kind: Literal[ConditionSourceKind.ARTIFACT_CONTRACT] = Field(description="Decided by an artifact.")
    contract_ref: FilledText = Field(description="Contract pack the artifact must satisfy.")
    loop_id: Maybe[FilledText] = Field(None, description="The loop that the artifact is about.")


class ContextSource(Closed):
    """The context decides: a condition is evaluated before each round."""

    kind: Literal[ConditionSourceKind.CONTEXT_VARIABLE] = Field(description="Decided by the context.")
    condition: Condition = Field(description="The condition to evaluate.")


ConditionSource = TypeAliasType(
    "ConditionSource",
    Annotated[
        Annotated[ArtifactSource, Tag("artifact_contract")] | Annotated[ContextSource, Tag("context_variable")],
        Discriminator(ByMember("kind")),
        Field(description="Where a loop reads its decision."),
    ],
)
