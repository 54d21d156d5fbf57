"""The JSON Schemas we ship, generated from the models. Reading one needs no pydantic."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

_SYSTEMS = os.path.dirname(__file__)
_SUFFIX = ".schema.json"


@cache
def _folders() -> list[str]:
    """Each document system keeps its schemas in a folder of that name."""
    folders = [os.path.join(_SYSTEMS, name, "schemas") for name in sorted(os.listdir(_SYSTEMS))]
    return [folder for folder in folders if os.path.isdir(folder)]


def kinds() -> list[str]:
    """The document kinds that have a schema, in alphabetical order."""
    names = [name for folder in _folders() for name in os.listdir(folder)]
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def schema_path(kind: str) -> str:
    """Where the schema of a kind is kept."""
    paths = [os.path.join(folder, kind + _SUFFIX) for folder in _folders()]
    return next((path for path in paths if os.path.isfile(path)), paths[0])


def load_schema(kind: str) -> dict[str, Any]:
    """The schema of a document kind. Raises KeyError for a kind that has none."""
    if not kind.replace("-", "").isalnum():
        raise KeyError(kind)  # a name, never a path
    try:
        with open(schema_path(kind), encoding="utf-8") as file:
            schema: dict[str, Any] = json.load(file)
    except FileNotFoundError:
        raise KeyError(kind) from None
    return schema
