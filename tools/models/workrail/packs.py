"""Documents of other contracts as contract packs, so that a workflow step can be required to submit one.

An artifact says what it is in a member `kind`; the rest of a pack's schema comes from the models. The subset that packs
are written in knows neither references nor conditions, exclusive bounds nor uniqueness: what it has no word for is
rendered into what it has, or left to the rules.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from workrail_lint.documents.models import ByMember, ByType

# The smallest number above zero that a double can hold: "at least this" is "more than nothing".
_ABOVE_ZERO = 5e-324
_ORDER = (
    "type",
    "const",
    "enum",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "oneOf",
    "x-objectMode",
    "x-lengthUnit",
)


class Pack(NamedTuple):
    """A model whose documents can be submitted."""

    model: type[BaseModel]
    example: dict[str, Any]
    title: str
    summary: str


def entries(system: str, packs: dict[str, Pack], **facts: str) -> list[dict[str, Any]]:
    """Return the entries of a catalog's list of contracts, by id; `facts` hold for every schema as a whole."""
    return [_entry(f"{system}.{name}", f"{system}.contracts.{name}", packs[name], facts) for name in sorted(packs)]


def _entry(kind: str, ident: str, pack: Pack, facts: dict[str, str]) -> dict[str, Any]:
    return {
        "id": ident,
        "artifactKind": kind,
        "title": pack.title,
        "summary": pack.summary,
        "phase": "design",
        "runtimeValidated": True,
        "schema": {**_with_kind(_pack_schema(pack.model), kind), **facts},
        "example": {"kind": kind, **pack.example},
    }


def _pack_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a model in the subset that packs are written in."""
    root = model.model_json_schema(schema_generator=_Generator)
    rendered: dict[str, Any] = _rendered(root, root.get("$defs", {}))
    return rendered


def _with_kind(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    if "oneOf" in schema:
        return {**schema, "oneOf": [_with_kind(choice, kind) for choice in schema["oneOf"]]}
    return {
        **schema,
        "properties": {"kind": {"const": kind}, **schema["properties"]},
        "required": ["kind", *schema.get("required", ())],
    }


class _Generator(GenerateJsonSchema):
    """pydantic's generator with unions as lists of alternatives that exclude each other."""

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        switch = schema["discriminator"]
        choices = {str(tag): self.generate_inner(choice) for tag, choice in schema["choices"].items()}
        if isinstance(switch, ByMember):
            return {"oneOf": [{"member": switch.member, "tag": tag, "choice": c} for tag, c in choices.items()]}
        if isinstance(switch, ByType):
            return {"oneOf": [{"choice": choice} for choice in choices.values()]}
        raise TypeError("alternatives of a pack are told apart by a member or by their type")

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return {"oneOf": [{"choice": {"type": "null"}}, {"choice": self.generate_inner(schema["schema"])}]}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def _rendered(schema: Any, definitions: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _rendered(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    out: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            out[keyword] = {name: _rendered(member, definitions) for name, member in value.items()}
        elif keyword == "oneOf":
            out[keyword] = [_alternative(part, definitions) for part in value]
        elif keyword in ("items", "additionalProperties") and isinstance(value, dict):
            out[keyword] = _rendered(value, definitions)
        elif keyword == "exclusiveMinimum":
            out["minimum"] = _ABOVE_ZERO
        elif keyword in _ORDER and keyword != "additionalProperties":
            out[keyword] = value
    if out.get("type") == "object" and "properties" in out:
        if schema.get("additionalProperties") is False:
            out |= {"x-objectMode": "strict", "additionalProperties": False}
        elif "additionalProperties" not in out:
            out["x-objectMode"] = "open"
    if "const" in out and out.get("type") != "null":
        # A constant says its type already; null can only be told apart by it.
        out.pop("type", None)
    return {keyword: out[keyword] for keyword in sorted(out, key=_ORDER.index)}


def _alternative(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return an alternative of a union, with exactly its own tag where a member tells which one is meant."""
    schema: dict[str, Any] = _rendered(part["choice"], definitions)
    if "member" not in part:
        return schema
    return {**schema, "properties": {**schema["properties"], part["member"]: {"const": part["tag"]}}}
