"""The block documents as contract packs, so that a workflow step can be required to hand one in.

An artifact says what it is in a member `kind`; the rest of a pack's schema comes from the models. The subset that packs
are written in has no exclusive bounds, no uniqueness and no references, so those are rendered into what it has.
"""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from workrail_lint.blocks.models import examples
from workrail_lint.blocks.models.definition import StudioWorkflow
from workrail_lint.blocks.models.output import BlockOutput
from workrail_lint.blocks.models.run import Environment, FanInResult, RepoMount
from workrail_lint.blocks.models.wrapped import OutputFolder, Prompt
from workrail_lint.workrail.model.unions import ByMember

PACKS_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "packs.json")
# The smallest number above zero that a double can hold: "at least this" is "more than nothing".
_ABOVE_ZERO = 5e-324
_ORDER = [
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
]
_PACKS: dict[str, tuple[type[BaseModel], dict[str, Any], str, str]] = {
    "block_output": (BlockOutput, examples.OUTPUT, "Block output", "What a stateless block leaves behind."),
    "environment": (Environment, examples.ENVIRONMENT, "Block environment", "The nine variables a block is given."),
    "fan_in_result": (FanInResult, examples.FAN_IN, "Fan-in result", "How parallel lanes came together."),
    "output_folder": (OutputFolder, examples.FOLDER, "Output folder", "The outputs of all blocks of a run."),
    "prompt": (Prompt, examples.PROMPT, "Block prompt", "The prompt that was assembled for one block."),
    "repo_mount": (RepoMount, examples.MOUNT, "Repository mount", "Which repository blocks work on, and where."),
    "workflow_definition": (StudioWorkflow, examples.WORKFLOW, "Studio workflow", "A graph of stateless blocks."),
}


def packs() -> list[dict[str, Any]]:
    """The entries of a catalog's list of contracts, by id."""
    return [_entry(name, *facts) for name, facts in sorted(_PACKS.items())]


def _entry(name: str, model: type[BaseModel], example: dict[str, Any], title: str, summary: str) -> dict[str, Any]:
    kind = f"block.{name}"
    return {
        "id": f"block.contracts.{name}",
        "artifactKind": kind,
        "title": title,
        "summary": summary,
        "phase": "design",
        "runtimeValidated": True,
        "schema": _with_kind(pack_schema(model), kind),
        "example": {"kind": kind, **example},
    }


def pack_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of a model in the subset that packs are written in."""
    root = model.model_json_schema(schema_generator=_Generator)
    rendered: dict[str, Any] = _rendered(root, root.get("$defs", {}))
    return rendered


def _with_kind(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    if "oneOf" in schema:
        return {**schema, "oneOf": [_with_kind(choice, kind) for choice in schema["oneOf"]]}
    return {
        **schema,
        "properties": {"kind": {"const": kind}, **schema["properties"]},
        "required": ["kind", *schema["required"]],
    }


class _Generator(GenerateJsonSchema):
    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        switch = schema["discriminator"]
        if not isinstance(switch, ByMember):
            raise TypeError("a pack can only tell alternatives apart by one member")
        choices = {str(tag): self.generate_inner(choice) for tag, choice in schema["choices"].items()}
        return {"oneOf": [{"member": switch.member, "tag": tag, "choice": choice} for tag, choice in choices.items()]}

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
            out[keyword] = [_alternative(_rendered(part["choice"], definitions), part) for part in value]
        elif keyword in ("items", "additionalProperties") and isinstance(value, dict):
            out[keyword] = _rendered(value, definitions)
        elif keyword == "exclusiveMinimum":
            out["minimum"] = _ABOVE_ZERO
        elif keyword in _ORDER and keyword != "additionalProperties":
            out[keyword] = value
    if out.get("type") == "object" and "properties" in out:
        out.setdefault("required", [])
        if "additionalProperties" not in out:
            out["x-objectMode"] = "open"
    if "const" in out:
        del out["type"]
    return {keyword: out[keyword] for keyword in sorted(out, key=_ORDER.index)}


def _alternative(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """An alternative of a union with exactly its own tag, so that the tag alone tells which one is meant."""
    return {**schema, "properties": {**schema["properties"], part["member"]: {"const": part["tag"]}}}
