"""Functions that a workflow describes in words and its steps refer to."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from tools.models.workrail.vocabulary import FunctionScope, ParameterType
from workrail_lint.documents.models import (
    AnyText,
    Array,
    ByType,
    Closed,
    Finite,
    Identifier,
    Listed,
    Maybe,
    OneOf,
    Text,
)

Choice = Annotated[
    Annotated[AnyText, Tag("string")] | Annotated[Finite, Tag("number")] | Annotated[bool, Tag("boolean")],
    Discriminator(ByType()),
]
FunctionReference = Annotated[str, Text(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*\(\)$")]


class FunctionParameter(Closed):
    """A parameter of a function."""

    name: Identifier = Field(description="Name under which the argument is passed.")
    type: OneOf[ParameterType] = Field(description="JSON type of the argument.")
    required: Maybe[bool] = Field(None, description="Whether every call must pass it.")
    description: Maybe[AnyText] = Field(None, description="What the argument means.")
    enum: Maybe[Annotated[tuple[Choice, ...], Array(1)]] = Field(None, description="The only values allowed.")
    default: Any = Field(None, description="Value if the argument is omitted.")


class FunctionDefinition(Closed):
    """A reusable instruction with a name."""

    name: Identifier = Field(description="Name by which steps call it.")
    definition: AnyText = Field(description="What it does, in words.")
    parameters: Maybe[Listed[FunctionParameter]] = Field(None, description="What a call can pass.")
    scope: Maybe[OneOf[FunctionScope]] = Field(None, description="Where it is meant to be used.")


class FunctionCall(Closed):
    """A call of a described function."""

    name: Identifier = Field(description="Name of the function.")
    args: dict[str, Any] = Field(description="Arguments by parameter name; `{}` when there are none.")
