"""JSON Schemas and contract packs that the systems ship in their folders, generated from the models."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from workrail_lint.base.files import read_shipped
from workrail_lint.documents.scanner import loads
from workrail_lint.documents.schema.walk import SchemaWalk

_SYSTEMS = os.path.dirname(__file__)
# A JSON Schema names the members of the documents it describes, and often carries their names.
SCHEMA_SUFFIX = ".schema.json"


@cache
def _folders() -> list[str]:
    """Return the folders of schemas: each document system has one."""
    folders = [os.path.join(_SYSTEMS, name, "schemas") for name in sorted(os.listdir(_SYSTEMS))]
    return [folder for folder in folders if os.path.isdir(folder)]


def kinds() -> list[str]:
    """Return the document kinds that have a schema, in alphabetical order."""
    names = [name for folder in _folders() for name in os.listdir(folder)]
    return sorted(name.removesuffix(SCHEMA_SUFFIX) for name in names if name.endswith(SCHEMA_SUFFIX))


def schema_path(kind: str) -> str:
    """Return where the schema of a kind is kept."""
    paths = [os.path.join(folder, kind + SCHEMA_SUFFIX) for folder in _folders()]
    return next((path for path in paths if os.path.isfile(path)), paths[0])


def load_schema(kind: str) -> dict[str, Any]:
    """Return the schema of a document kind. Raises KeyError for a kind that has none."""
    if not kind.replace("-", "").isalnum():
        raise KeyError(kind)  # a name, never a path
    try:
        schema: dict[str, Any] = loads(read_shipped(schema_path(kind)))
    except FileNotFoundError:
        raise KeyError(kind) from None
    return schema


@cache
def schema_walk(kind: str) -> SchemaWalk:
    """Return what the schema of a document kind says about places. Raises KeyError for a kind that has none."""
    return SchemaWalk(load_schema(kind))


def shipped_packs() -> list[dict[str, Any]]:
    """Return the contract packs that systems besides WorkRail bring, as catalog entries."""
    entries: list[dict[str, Any]] = []
    for name in sorted(os.listdir(_SYSTEMS)):
        path = os.path.join(_SYSTEMS, name, "packs.json")
        if os.path.isfile(path):
            entries += loads(read_shipped(path))
    return entries
