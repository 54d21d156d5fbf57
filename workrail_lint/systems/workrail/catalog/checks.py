"""Checks of a catalog document beyond its shape.

Pure functions over plain data. The pydantic model uses the order rules of this module too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError
from workrail_lint.base.js import type_name
from workrail_lint.base.result import Err
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.findings import Finding
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import digest_of, load_core, routine_of
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact
from workrail_lint.systems.workrail.catalog.pack_schema import schema_problems
from workrail_lint.systems.workrail.catalog.reading import finding
from workrail_lint.systems.workrail.catalog.routine import admit
from workrail_lint.systems.workrail.catalog.shape import Violation, violations

LISTS = ("features", "refs", "routines", "contracts", "capabilities")
Entry = dict[str, Any]


def check_document(document: object) -> list[Finding]:
    """Everything that is wrong with a catalog document. The other checks rely on its shape, which is checked first."""
    broken = [found for violation in violations(format_schema(), document) for found in _shape(violation)]
    if broken or not isinstance(document, dict):
        return broken
    return [
        *(finding(name, message, pointer) for pointer, name, message in order_problems(document)),
        *_features(document),
        *_routines(document["routines"]),
        *_contracts(document["contracts"]),
        *_digest(document),
    ]


@lru_cache(maxsize=1)
def format_schema() -> dict[str, Any]:
    """The JSON Schema of a catalog document, generated from the model."""
    return load_schema("catalog")


def order_problems(document: Entry) -> Iterator[tuple[str, str, str]]:
    """Pointer, name and message for every id that is a duplicate in its list or out of order."""
    for name in LISTS:
        seen: set[str] = set()
        previous = ""
        for index, entry in enumerate(document[name]):
            entry_id, at = _id_of(name, entry, index)
            if entry_id is None:
                continue  # a routine without an id is rejected as a routine
            if entry_id in seen:
                yield at, "catalog-duplicate-id", f"duplicate id {quoted(entry_id)} in '{name}'"
            elif js.u16_sorted((previous, entry_id))[0] != previous:
                message = f"'{name}' is not sorted by id: {quoted(entry_id)} comes after {quoted(previous)}"
                yield at, "catalog-not-sorted", message
            seen.add(entry_id)
            previous = entry_id


def _id_of(name: str, entry: Entry, index: int) -> tuple[str | None, str]:
    if name != "routines":
        return entry["id"], f"/{name}/{index}/id"
    routine_id = entry["definition"].get("id")
    return routine_id if isinstance(routine_id, str) else None, f"/routines/{index}/definition/id"


def _features(document: Entry) -> Iterator[Finding]:
    known = {entry["id"] for entry in document["refs"]}
    for index, entry in enumerate(document["features"]):
        for block, values in entry["inject"].items():
            for at, value in enumerate(values):
                for part_at, part in enumerate(value if isinstance(value, list) else ()):
                    if part["kind"] == "ref" and part["refId"] not in known:
                        place = f"/features/{index}/inject/{block}/{at}/{part_at}/refId"
                        message = (
                            f"feature {quoted(entry['id'])} uses ref {quoted(part['refId'])}, which is not in 'refs'"
                        )
                        yield finding("ref-unknown", message, place)
        if entry.get("configSchema") is not None:
            yield from _subset(entry["configSchema"], f"/features/{index}/configSchema")


def _routines(entries: list[Entry]) -> Iterator[Finding]:
    owner: dict[str, str] = {}
    for index, entry in enumerate(entries):
        at = f"/routines/{index}/definition"
        admitted = admit(entry["definition"])
        if isinstance(admitted, Err):
            yield finding("catalog-routine-refused", admitted.error.message, at + admitted.error.pointer)
            continue
        routine = routine_of(entry)
        if routine.template_id in owner:
            message = (
                f"routines {quoted(owner[routine.template_id])} and {quoted(routine.routine_id)} both map to template "
                f"{quoted(routine.template_id)}; rename one"
            )
            yield finding("routine-template-collision", message, f"{at}/id")
        owner[routine.template_id] = routine.routine_id


def _contracts(entries: list[Entry]) -> Iterator[Finding]:
    for index, entry in enumerate(entries):
        at = f"/contracts/{index}"
        broken = list(_subset(entry["schema"], f"{at}/schema"))
        yield from broken
        if broken:
            continue
        for issue in validate_artifact(entry["schema"], entry["example"]):
            message = f"the example of {quoted(entry['id'])} does not match its schema: {issue}"
            yield finding("catalog-example-invalid", message, f"{at}/example")
        if entry["example"].get("kind") != entry["artifactKind"]:
            message = f"the example of {quoted(entry['id'])} must have the kind {quoted(entry['artifactKind'])}"
            yield finding("catalog-example-invalid", message, f"{at}/example")


def _subset(schema: Entry, at: str) -> Iterator[Finding]:
    for path, problem in schema_problems(schema):
        yield finding("catalog-schema-keyword", problem, at + pointers.encode(path))


def _digest(document: Entry) -> Iterator[Finding]:
    try:
        actual = digest_of(document)
    except CanonicalError as error:
        yield finding("number-not-finite", f"the digest of the catalog can't be computed: {error}")
        return
    declared = document.get("digest")
    if declared is not None and declared != actual:
        yield finding("catalog-digest-mismatch", f"the digest does not match the content; expected {actual}", "/digest")
    core = load_core()
    is_core = (document["catalogId"], document["catalogVersion"]) == (core.catalog_id, core.version)
    if is_core and actual != core.digest:
        message = (
            f"catalog {core.catalog_id} {core.version} has the digest {core.digest}; give a changed catalog another id "
            "or version"
        )
        yield finding("catalog-digest-mismatch", message, "/catalogVersion")


_Wording = Callable[[dict[str, Any], Any], str]
# For every keyword about a value: the name of its finding, and the message.
_SHAPES: dict[str, tuple[str, _Wording]] = {
    "const": ("schema-enum", lambda schema, _: f"must be {json.dumps(schema['const'])}"),
    "enum": ("schema-enum", lambda schema, _: f"must be one of {', '.join(map(str, schema['enum']))}"),
    "type": ("schema-type", lambda schema, actual: f"must be of type {schema['type']}, not {type_name(actual)}"),
    "oneOf": ("schema-type", lambda schema, actual: f"must be {_alternatives(schema)}, not {type_name(actual)}"),
    "pattern": ("schema-pattern", lambda schema, actual: f"{json.dumps(actual)} does not match {schema['pattern']}"),
    "minLength": (
        "schema-too-short",
        lambda schema, _: f"must have at least {counted(schema['minLength'], 'character')}",
    ),
    "maxLength": (
        "schema-too-long",
        lambda schema, _: f"must have at most {counted(schema['maxLength'], 'character')}",
    ),
    "minItems": ("schema-too-few", lambda schema, _: f"must have at least {counted(schema['minItems'], 'item')}"),
    "maxItems": ("schema-too-many", lambda schema, _: f"must have at most {counted(schema['maxItems'], 'item')}"),
    "minimum": ("schema-range", lambda schema, _: f"must be at least {schema['minimum']}"),
    "maximum": ("schema-range", lambda schema, _: f"must be at most {schema['maximum']}"),
}


def _alternatives(schema: Entry) -> str:
    return " or ".join(str(alternative.get("type", "of another form")) for alternative in schema["oneOf"])


def _shape(violation: Violation) -> Iterator[Finding]:
    path, keyword = violation.path, violation.keyword
    if keyword == "additionalProperties":
        known = ", ".join(violation.schema.get("properties", ()))
        for name in violation.actual:
            message = f"unknown field {quoted(name)}; expected one of {known}"
            yield finding("schema-unknown-member", message, pointers.encode((*path, name)), on_name=True)
    elif keyword == "required":
        message = f"the required field '{path[-1]}' is missing"
        yield finding("schema-missing-member", message, pointers.encode(path[:-1]))
    else:
        name, wording = _SHAPES[keyword]
        yield finding(name, wording(violation.schema, violation.actual), pointers.encode(path))
