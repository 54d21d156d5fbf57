"""The catalog document as a closed model: the source of its JSON Schema.

Files are checked against the schema generated from here (see `catalog/checks.py`), because the linter runs on every
commit and pydantic alone would cost more than everything else it does. A test holds the two together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic.alias_generators import to_camel

from workrail_lint.systems.workrail.catalog.checks import order_problems

_SEMVER = (
    r"^(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)"
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$"
)

Phase = Literal["shipped", "design", "deprecated"]
Placement = Literal["goal", "constraints", "procedure", "verify"]
Text = Annotated[str, StringConstraints(min_length=1)]
SemVer = Annotated[str, StringConstraints(pattern=_SEMVER)]
JsonObject = dict[str, Any]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class TextPart(_Closed):
    """A piece of text in a prompt value."""

    kind: Literal["text"]
    text: str


class RefPart(_Closed):
    """The text of a ref in a prompt value."""

    kind: Literal["ref"]
    ref_id: Text


PromptValue = str | list[Annotated[TextPart | RefPart, Field(discriminator="kind")]]


class Inject(_Closed):
    """The items that a feature appends to the lists of a prompt block; a list left out appends nothing."""

    constraints: list[PromptValue] = []
    procedure: list[PromptValue] = []
    verify: list[PromptValue] = []


class FeatureEntry(_Closed):
    """A feature. `configSchema` is null when it takes no configuration."""

    id: Annotated[str, StringConstraints(pattern=r"^wr\.features\.[a-z][a-z0-9_]*$")]
    title: Text
    summary: str
    phase: Phase
    inject: Inject
    config_schema: JsonObject | None = None


class RefEntry(_Closed):
    """A ref: one text."""

    id: Annotated[str, StringConstraints(pattern=r"^wr\.refs\.[a-z][a-z0-9_]*$")]
    title: Text
    summary: str
    phase: Phase
    text: str
    placements: list[Placement] = ["goal", "constraints", "procedure", "verify"]


class RoutineEntry(_Closed):
    """A routine. `templateId` names it when the rule that derives the name from its id does not apply."""

    phase: Phase
    template_id: Annotated[str, StringConstraints(pattern=r"^wr\.templates\.[a-z][a-z0-9_.-]*$")] = ""
    arg_values: dict[str, Annotated[list[str], Field(min_length=1)]] = {}
    definition: JsonObject


class ContractEntry(_Closed):
    """A contract pack. `runtimeValidated` says whether the public engine can be satisfied by it."""

    id: Annotated[str, StringConstraints(pattern=r"^(?:wr|team|block)\.contracts\.[a-z][a-z0-9_]*$")]
    artifact_kind: Annotated[str, StringConstraints(pattern=r"^(?:wr|team|block)\.[a-z][a-z0-9_]*$")]
    title: Text
    summary: str
    phase: Phase
    runtime_validated: bool
    schema_: JsonObject = Field(alias="schema")
    example: JsonObject


class CapabilityEntry(_Closed):
    """A capability."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
    title: Text
    summary: str


class CatalogDocument(_Closed):
    """Builtins as data: closed, versioned, hashed."""

    catalog_format: Literal[1]
    catalog_id: Text
    catalog_version: SemVer
    engine_version: Text | None
    authoring_spec_version: Annotated[int, Field(ge=1)]
    engine_schema: dict[str, JsonObject] = {}
    features: list[FeatureEntry]
    refs: list[RefEntry]
    routines: list[RoutineEntry]
    contracts: list[ContractEntry]
    capabilities: list[CapabilityEntry]
    digest: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")] = ""

    @model_validator(mode="after")
    def _ordered(self) -> CatalogDocument:
        problems = [f"{pointer}: {message}" for pointer, _, message in order_problems(self.model_dump(by_alias=True))]
        if problems:
            raise ValueError("; ".join(problems))
        return self


def catalog_schema() -> JsonObject:
    """Return the JSON Schema of a catalog document, references resolved, in the subset of `shape`."""
    schema = CatalogDocument.model_json_schema(by_alias=True)
    definitions = schema.pop("$defs")
    return {"$schema": "http://json-schema.org/draft-07/schema#", **_inline(schema, definitions)}


def _inline(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    if "$ref" in schema:
        return _inline(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    out: JsonObject = {}
    for keyword, value in schema.items():
        match keyword:
            case "properties":
                out[keyword] = {name: _inline(member, definitions) for name, member in value.items()}
            case "anyOf" | "oneOf":
                # Our alternatives exclude each other, so "any" and "exactly one" mean the same.
                out["oneOf"] = [_inline(alternative, definitions) for alternative in value]
            case "items" | "additionalProperties" if isinstance(value, dict):
                out[keyword] = _inline(value, definitions)
            case "title" | "default" | "discriminator":
                pass
            case _:
                out[keyword] = value
    return out
