"""From pydantic models to JSON Schemas that any editor can use as they are."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from workrail_lint.documents.models import Switch, spaced
from workrail_lint.documents.schema.dialect import METASCHEMA

_READING_ORDER = "$schema title description $ref type const enum required properties if then else"
_ORDER = {keyword: place for place, keyword in enumerate(_READING_ORDER.split())}
_BY_NAME = frozenset({"properties", "definitions"})
_VERBATIM = frozenset({"const", "enum", "default", "examples", "required"})


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a document, every shape in it a definition named after its model."""
    root = model.model_json_schema(ref_template="#/definitions/{model}", schema_generator=_Generator)
    definitions = root.pop("$defs", {})
    if "$ref" not in root:
        definitions[model.__name__] = root
    for name, definition in definitions.items():
        definition["title"] = spaced(name)
        for member, part in definition.get("properties", {}).items():
            part.setdefault("title", spaced(member))
    top = definitions[model.__name__]
    schema: dict[str, Any] = {
        "$schema": METASCHEMA,
        "title": top["title"],
        "description": top["description"],
        "$ref": f"#/definitions/{model.__name__}",
        "definitions": dict(sorted(definitions.items())),
    }
    arranged: dict[str, Any] = _arranged(schema)
    return arranged


class _Generator(GenerateJsonSchema):
    """pydantic's generator, without its unions: an alternative is chosen, never guessed."""

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        switch = schema["discriminator"]
        if not isinstance(switch, Switch):
            alternatives = sorted(map(str, schema["choices"]))
            raise TypeError(f"a union needs a switch to distinguish its alternatives: {alternatives}")
        return switch.schema({str(tag): self.generate_inner(choice) for tag, choice in schema["choices"].items()})

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonSchemaValue:
        raise TypeError("an untagged union gives unreadable errors; use a switch")

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return {"if": {"type": "null"}, "else": self.generate_inner(schema["schema"])}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # None means "not written", which is no default an editor should offer.
        if schema.get("default") is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        names = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        values = self.generate_inner(schema["values_schema"]) if "values_schema" in schema else {}
        limits = {"minProperties": schema.get("min_length"), "maxProperties": schema.get("max_length")}
        return (
            {"type": "object"}
            | ({"propertyNames": names} if names.keys() - {"type", "title"} else {})
            | ({"additionalProperties": values} if values else {})
            | {keyword: bound for keyword, bound in limits.items() if bound is not None}
        )

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:
        return value  # `_arranged` does it, and leaves members in the order of the model


def _arranged(schema: Any) -> Any:
    """Return the keywords in reading order, descriptions on one line."""
    if isinstance(schema, list):
        return [_arranged(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    arranged = {}
    for keyword, parameter in sorted(schema.items(), key=lambda item: (_ORDER.get(item[0], len(_ORDER)), item[0])):
        if keyword in _VERBATIM:
            arranged[keyword] = parameter
        elif keyword in _BY_NAME:
            arranged[keyword] = {name: _arranged(part) for name, part in parameter.items()}
        elif keyword == "description":
            arranged[keyword] = " ".join(parameter.split())
        else:
            arranged[keyword] = _arranged(parameter)
    return arranged
