"""Validation criteria: rules on the text an agent submits, and how rules combine."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag
from typing_extensions import TypeAliasType

from tools.models.workrail.vocabulary import ValidationRuleType
from workrail_lint.documents.models import AnyText, Array, ByPresence, ByType, Closed, Finite, Listed, Maybe, OneOf


class RuleCondition(Closed):
    """When a rule applies. It allows less than a step's condition, and the parts it combines are not checked."""

    var: Maybe[AnyText] = Field(None, description="Context variable to test.")
    equals: Any = Field(None, description="Holds when the variable equals this.")
    not_equals: Any = Field(None, alias="not_equals", description="Holds when `equals` would not.")
    gt: Maybe[Finite] = Field(None, description="Holds for a number greater than this.")
    gte: Maybe[Finite] = Field(None, description="Holds for a number greater than or equal to this.")
    lt: Maybe[Finite] = Field(None, description="Holds for a number less than this.")
    lte: Maybe[Finite] = Field(None, description="Holds for a number less than or equal to this.")
    and_: Maybe[Listed[dict[str, Any]]] = Field(None, alias="and", description="Holds when all of these hold.")
    or_: Maybe[Listed[dict[str, Any]]] = Field(None, alias="or", description="Holds when any of these holds.")
    not_: Maybe[dict[str, Any]] = Field(None, alias="not", description="Holds when this does not.")


class RuleFields(Closed):
    """The members of a rule in either form of the document."""

    type: OneOf[ValidationRuleType] = Field(description="How the output is checked.")
    value: Maybe[AnyText] = Field(None, description="Text the output must contain, for a `contains` rule.")
    pattern: Maybe[AnyText] = Field(None, description="Regular expression to match, for a `regex` rule.")
    flags: Maybe[AnyText] = Field(None, description="Flags of the regular expression.")
    min: Maybe[Finite] = Field(None, description="Shortest length allowed, for a `length` rule.")
    max: Maybe[Finite] = Field(None, description="Greatest length allowed, for a `length` rule.")
    schema_: Maybe[dict[str, Any]] = Field(
        None, alias="schema", description="JSON Schema for the output read as JSON, for a `schema` rule."
    )
    condition: Maybe[RuleCondition] = Field(None, description="Apply the rule only when this holds.")


class ValidationRule(RuleFields):
    """One check on the text an agent submits."""

    message: AnyText = Field(description="What the agent reads when the check fails.")


class AllCriteria(Closed):
    """Every part must pass."""

    and_: Annotated[tuple[Criterion, ...], Array(1)] = Field(alias="and", description="Parts that must all pass.")


class AnyCriteria(Closed):
    """At least one part must pass."""

    or_: Annotated[tuple[Criterion, ...], Array(1)] = Field(alias="or", description="Parts of which one must pass.")


class NotCriteria(Closed):
    """The part must fail."""

    not_: Criterion = Field(alias="not", description="The part that must fail.")


_COMBINATORS = {"and": "and", "or": "or", "not": "not"}

Criterion = TypeAliasType(
    "Criterion",
    Annotated[
        Annotated[AllCriteria, Tag("and")]
        | Annotated[AnyCriteria, Tag("or")]
        | Annotated[NotCriteria, Tag("not")]
        | Annotated[ValidationRule, Tag("rule")],
        Discriminator(ByPresence(_COMBINATORS, otherwise="rule")),
        Field(description="A rule, or a combination of rules."),
    ],
)
Composition = TypeAliasType(
    "Composition",
    Annotated[
        Annotated[AllCriteria, Tag("and")] | Annotated[AnyCriteria, Tag("or")] | Annotated[NotCriteria, Tag("not")],
        Discriminator(ByPresence(_COMBINATORS)),
        Field(description="Rules combined by exactly one of `and`, `or` and `not`."),
    ],
)
ValidationCriteria = TypeAliasType(
    "ValidationCriteria",
    Annotated[
        Annotated[Listed[ValidationRule], Tag("array")] | Annotated[Composition, Tag("object")],
        Discriminator(ByType()),
        Field(description="What the output must satisfy: a list of rules, all of which apply, or one combination."),
    ],
)
