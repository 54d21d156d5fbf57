"""A JSON Schema that suggests: where a document names a builtin, the schema lists those of the project's catalog.

An editor completes the values of an `enum`. JSON Schema has no place for the description of a single value, so it is
given in the two members that editors read: `enumDescriptions` (VS Code) and `x-intellij-enum-metadata` (JetBrains).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from workrail_lint.base.terminal import json_text
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import Catalog, CatalogPhase, Contract, Feature, Ref, Routine
from workrail_lint.systems.workrail.settings import Settings

Schema = dict[str, Any]
Entry = TypeVar("Entry", bound="Contract | Feature | Ref | Routine")
# The kinds whose documents name builtins.
KINDS = ("workflow", "workflow-design")


def schema_text(kind: str, settings: Settings, *, engine: bool = True) -> str:
    """Return the schema of one of the kinds as the text of a file, for the engine's release that the settings name.

    Only the design form names what the engine lacks.
    """
    is_dated = kind == "workflow" and settings.release is not None
    schema = settings.release.schema if is_dated and settings.release is not None else load_schema(kind)
    schema = with_suggestions(schema, settings.catalog, engine=engine and kind == "workflow")
    return json_text(schema, indent=2) + "\n"


def with_suggestions(schema: Schema, catalog: Catalog, *, engine: bool) -> Schema:
    """Return the schema of a workflow with the ids of a catalog; for the engine, only those that it has."""
    named = {
        "contractRef": dict(_contracts(catalog, engine)),
        "templateId": {routine.template_id: _described(routine) for routine in _offered(catalog.templates, engine)},
        "refId": dict(_described_all(catalog.refs, engine)),
    }
    features = dict(_described_all(catalog.features, engine))
    definitions = {name: _suggesting(each, named) for name, each in schema["definitions"].items()}
    for name, definition in definitions.items():
        members = definition.get("properties", {})
        if "templateId" in members:
            definition["allOf"] = list(_arguments(catalog, engine))
        match name:
            case "Workflow":
                if "features" in members:  # the first releases have none
                    items = _one_of(members["features"]["items"], features)
                    members["features"] = {**members["features"], "items": items}
            case "FeatureUse":
                members["id"] = _one_of(members["id"], features)
            case "FeatureEntry":
                definition["then"] = _one_of(definition["then"], features)
            case "Capabilities":
                level = {"$ref": "#/definitions/CapabilityLevel"}
                definition["properties"] = {
                    each.id: {"title": each.title, "description": each.summary or each.title, **level}
                    for each in catalog.capabilities.values()
                }
            case "ArtifactSource":  # the engine reads nothing else there
                members["contractRef"]["default"] = "wr.contracts.loop_control"
    return {**schema, "definitions": definitions}


def _suggesting(definition: Schema, named: Mapping[str, Mapping[str, str]]) -> Schema:
    """Return a definition whose members suggest values, by the names of the members."""
    members = definition.get("properties")
    if members is None:
        return dict(definition)
    suggested = {name: _one_of(each, named[name]) if name in named else each for name, each in members.items()}
    return {**definition, "properties": suggested}


def _one_of(schema: Schema, described: Mapping[str, str]) -> Schema:
    if not described:
        return schema
    return {
        **schema,
        "enum": list(described),
        "enumDescriptions": list(described.values()),
        "x-intellij-enum-metadata": {value: {"description": text} for value, text in described.items()},
    }


def _contracts(catalog: Catalog, engine: bool) -> Iterator[tuple[str, str]]:
    """Yield the contracts that a step can satisfy, with the kind of the artifact that does."""
    for contract in _offered(catalog.workflow_contracts, engine):
        if contract.runtime_validated:
            yield (
                contract.id,
                f"{contract.summary or contract.title} The agent submits a {contract.artifact_kind} artifact.",
            )


def _described_all(entries: Mapping[str, Feature | Ref], engine: bool) -> Iterator[tuple[str, str]]:
    for entry in _offered(entries, engine):
        yield entry.id, entry.summary or entry.title


def _offered(entries: Mapping[str, Entry], engine: bool) -> list[Entry]:
    return [entry for entry in entries.values() if not (engine and entry.phase is CatalogPhase.DESIGN)]


def _described(routine: Routine) -> str:
    arguments = ", ".join(routine.required_args)
    return f"{routine.definition['description']} Arguments: {arguments or 'none'}."


def _arguments(catalog: Catalog, engine: bool) -> Iterator[Schema]:
    """Yield the arguments of each template that takes some, with the values of those that have a closed set."""
    for routine in _offered(catalog.templates, engine):
        if routine.required_args:
            values = {
                name: {"enum": routine.arg_values[name]} for name in routine.required_args if name in routine.arg_values
            }
            used = {
                name: {"type": ["string", "number", "boolean"], **values.get(name, {})}
                for name in routine.required_args
            }
            yield {
                "if": {"properties": {"templateId": {"const": routine.template_id}}, "required": ["templateId"]},
                "then": {
                    "required": ["args"],
                    "properties": {"args": {"required": list(routine.required_args), "properties": used}},
                },
            }
