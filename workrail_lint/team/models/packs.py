"""The team documents as contract packs, so that a workflow step can be required to hand one in.

An artifact says what it is in a member `kind`; the rest of a pack's schema comes from the models. The subset that packs
are written in knows neither references nor conditions nor uniqueness: what it can't say is left to the rules.
"""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from workrail_lint.team.models import examples
from workrail_lint.team.models.backlog import Acceptance, TaskBacklog
from workrail_lint.team.models.exchange import AgentInput, AgentOutput, DispatchPlan
from workrail_lint.team.models.status import SessionStatus
from workrail_lint.team.models.wrapped import (
    ApprovalHistory,
    ArchitectureDocument,
    ReportDocument,
    Session,
    SideDocument,
    SpecDocument,
)
from workrail_lint.workrail.model.unions import ByMember, ByType

PACKS_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "packs.json")
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
_PACKS: dict[str, tuple[type[BaseModel], dict[str, Any], str, str]] = {
    "acceptance": (Acceptance, examples.ACCEPTANCE, "Acceptance criteria", "When the work is accepted."),
    "agent_input": (AgentInput, examples.INPUT, "Agent input", "Everything an agent knows when it starts."),
    "agent_output": (AgentOutput, examples.OUTPUT, "Agent output", "The one object that an agent replies with."),
    "approval_history": (
        ApprovalHistory,
        examples.HISTORY,
        "Approval history",
        "The changes of the design that the user asked for.",
    ),
    "architecture_document": (
        ArchitectureDocument,
        examples.ARCHITECTURE,
        "Architecture document",
        "A design by its sections.",
    ),
    "dispatch_plan": (DispatchPlan, examples.PLAN, "Dispatch plan", "Which agents are sent off next, and why."),
    "report_document": (
        ReportDocument,
        examples.REPORT,
        "Report",
        "What the user gets at the end, by its four topics.",
    ),
    "session": (Session, examples.SESSION, "Session", "A session folder: its mode, its state and its files."),
    "session_status": (
        SessionStatus,
        examples.STATUS,
        "Session status",
        "Where a session stands and what was decided.",
    ),
    "side_document": (
        SideDocument,
        examples.SIDE,
        "Side document",
        "A decision record, a research report or a design spec.",
    ),
    "spec_document": (SpecDocument, examples.SPEC, "Spec", "A spec by its sections."),
    "task_backlog": (TaskBacklog, examples.BACKLOG, "Task backlog", "The plan, and how far each task is."),
}


def packs() -> list[dict[str, Any]]:
    """The entries of a catalog's list of contracts, by id."""
    return [_entry(name, *facts) for name, facts in sorted(_PACKS.items())]


def _entry(name: str, model: type[BaseModel], example: dict[str, Any], title: str, summary: str) -> dict[str, Any]:
    kind = f"team.{name}"
    return {
        "id": f"team.contracts.{name}",
        "artifactKind": kind,
        "title": title,
        "summary": summary,
        "phase": "design",
        "runtimeValidated": True,
        "schema": {**_with_kind(pack_schema(model), kind), "x-lengthUnit": "u16"},
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
        elif keyword in _ORDER and keyword != "additionalProperties":
            out[keyword] = value
    if out.get("type") == "object" and "properties" in out:
        closed = schema.get("additionalProperties") is False
        out["x-objectMode"] = "strict" if closed else "open"
        if closed:
            out["additionalProperties"] = False
    if "const" in out and out.get("type") != "null":
        # A constant says its type already; null can only be told apart by it.
        out.pop("type", None)
    return {keyword: out[keyword] for keyword in sorted(out, key=_ORDER.index)}


def _alternative(part: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """An alternative of a union, with exactly its own tag where a member tells which one is meant."""
    schema: dict[str, Any] = _rendered(part["choice"], definitions)
    if "member" not in part:
        return schema
    return {**schema, "properties": {**schema["properties"], part["member"]: {"const": part["tag"]}}}
