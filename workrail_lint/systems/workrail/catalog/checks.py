"""Reading and checking a catalog document: its shape, its entries, and the schemas of its packs.

A pack's schema stays inside a subset: a keyword outside it would be silently ignored, and an artifact would pass that
should not. The pydantic model uses the order rules of this module too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.canonical import CanonicalError
from workrail_lint.base.ecma_regex import compile_pattern
from workrail_lint.base.files import read_bytes
from workrail_lint.base.js import type_name
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import counted, quoted
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import JsonDocument, read_json
from workrail_lint.documents.schema.dialect import LENGTH_UNITS, OBJECT_MODES
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema
from workrail_lint.documents.source_text import Problem
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.systems.schemas import load_schema
from workrail_lint.systems.workrail.catalog.catalog import Routine, digest_of, load_core, text_of
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact
from workrail_lint.systems.workrail.engines.releases import derived_target

PathLike = str | os.PathLike[str]
# The engine reads such a file too: the last of the duplicate members counts.
_HARMLESS = frozenset({"json-duplicate-key"})


def read_document(
    path: PathLike, *, strict: bool, max_bytes: int | None = None
) -> Ok[JsonDocument] | Err[list[Finding]]:
    """Return a JSON file. Unless `strict`, duplicate member names are accepted, as the engine does."""
    name = os.fspath(path)
    try:
        data = read_bytes(name)
    except OSError as error:
        return Err([finding("file-not-readable", f"can not be read: {reason(error)}", phase=Phase.READ, path=name)])
    document = read_json(data, max_bytes=max_bytes)
    problems = [problem for problem in document.problems if strict or problem.name not in _HARMLESS]
    if problems:
        return Err([_of_problem(problem, document, name) for problem in problems])
    return Ok(document)


def reason(error: OSError | ValueError) -> str:
    """Return the system's reason, without the path. A ValueError means an impossible file name."""
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error) or type(error).__name__).lower()


def finding(
    name: str,
    message: str,
    pointer: str = "",
    *,
    severity: Severity = Severity.ERROR,
    phase: Phase = Phase.SCHEMA,
    path: str = "",
    on_name: bool = False,
    help_text: str | None = None,
) -> Finding:
    """Return a finding about a catalog; its code is its name until the rule registry sets it."""
    return Finding(name, name, severity, message, pointer, phase=phase, path=path, on_name=on_name, help=help_text)


def place(findings: list[Finding], document: JsonDocument | None, path: str) -> list[Finding]:
    """Give findings their file and, if the text is available, their position."""
    for item in findings:
        item.path = path
        if document is not None:
            item.span = document.locate(item.pointer, item.on_name)
    return findings


def _of_problem(problem: Problem, document: JsonDocument, path: str) -> Finding:
    located = finding(problem.name, problem.message, problem.pointer, phase=Phase.READ, path=path)
    located.span = document.source.span(problem.start, problem.end)
    return located


# Checking an artifact recurses as deep as its schema does.
_MAX_DEPTH = 100
Path = tuple[str | int, ...]


def schema_problems(schema: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Return where and how a pack's schema leaves the subset."""
    if not isinstance(schema, dict):
        yield path, f"a schema must be an object, not {type_name(schema)}"
        return
    if len(path) > _MAX_DEPTH:
        yield path, f"the schema is nested more than {_MAX_DEPTH} levels deep"
        return
    wrong = {pointers.decode(violation.pointer)[0] for violation in _keyword_validator().violations(schema)}
    for keyword, value in schema.items():
        at = (*path, keyword)
        problem = _keyword_problem(keyword, value, keyword in wrong)
        if problem:
            yield at, f"{quoted(keyword)} {problem}"
        elif keyword == "properties":
            for name, member in value.items():
                yield from schema_problems(member, (*at, name))
        elif keyword == "oneOf":
            for index, alternative in enumerate(value):
                yield from schema_problems(alternative, (*at, index))
        elif keyword == "items" or (keyword == "additionalProperties" and isinstance(value, dict)):
            yield from schema_problems(value, at)
    if schema.get("x-objectMode") == "strict" and schema.get("additionalProperties", False) is not False:
        yield path, "'x-objectMode' strict contradicts 'additionalProperties'"
    if schema.get("x-objectMode") in ("strip", "open") and schema.get("additionalProperties") is False:
        yield path, f"'x-objectMode' {schema['x-objectMode']} contradicts 'additionalProperties'"


_COUNT = {"type": "integer", "minimum": 0}
_NOT_A_COUNT = "must be a non-negative integer"
_TYPES = ("string", "number", "integer", "boolean", "object", "array", "null")
# The valid values of each keyword, and how the sentence goes on that starts with a keyword whose value is wrong.
_KEYWORDS: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"enum": [*_TYPES]}, f"must be one of {', '.join(_TYPES)}"),
    "const": ({}, ""),
    "enum": ({"type": "array", "minItems": 1}, "must be a non-empty list"),
    "properties": ({"type": "object"}, "must be an object"),
    "required": ({"type": "array", "items": {"type": "string"}}, "must be a list of field names"),
    "additionalProperties": ({"type": ["boolean", "object"]}, "must be true, false or a schema"),
    "items": ({"type": "object"}, "must be a schema"),
    "minItems": (_COUNT, _NOT_A_COUNT),
    "maxItems": (_COUNT, _NOT_A_COUNT),
    "minLength": (_COUNT, _NOT_A_COUNT),
    "maxLength": (_COUNT, _NOT_A_COUNT),
    "pattern": ({"type": "string"}, "must be a string"),
    "minimum": ({"type": "number"}, "must be a number"),
    "maximum": ({"type": "number"}, "must be a number"),
    "oneOf": ({"type": "array", "minItems": 1}, "must be a non-empty list of schemas"),
    "x-objectMode": ({"enum": [*OBJECT_MODES]}, f"must be one of {', '.join(OBJECT_MODES)}"),
    "x-lengthUnit": ({"enum": [*LENGTH_UNITS]}, f"must be one of {', '.join(LENGTH_UNITS)}"),
}


@lru_cache(maxsize=1)
def _keyword_validator() -> Validator:
    valid = {name: valid for name, (valid, _) in _KEYWORDS.items()}
    return compile_schema({"type": "object", "properties": valid}, by_schema=True)  # where infinity is a number


def _keyword_problem(keyword: str, value: Any, is_wrong: bool) -> str | None:
    if keyword not in _KEYWORDS:
        return "is not a supported schema keyword"
    if is_wrong:
        return _KEYWORDS[keyword][1]
    if keyword == "pattern":
        match compile_pattern(value, "u"):
            case Err(reason):
                return f"must be a regular expression: {reason}"
    return None


_ROUTINE_MEMBERS: dict[str, dict[str, Any]] = {
    "id": {"type": "string"},
    "name": {"type": "string"},
    "description": {"type": "string"},
    "version": {"type": "string"},
    "steps": {"type": "array", "minItems": 1, "items": {"type": "object"}},
}


@lru_cache(maxsize=1)
def _routine_validator() -> Validator:
    return compile_schema({"type": "object", "required": [*_ROUTINE_MEMBERS], "properties": _ROUTINE_MEMBERS})


class Refusal:
    """Why a document is not registered as a routine. `step_id` is set if it calls a template."""

    __slots__ = ("message", "pointer", "step_id")

    def __init__(self, message: str, pointer: str = "", step_id: str | None = None) -> None:
        self.message = message
        self.pointer = pointer
        self.step_id = step_id

    @property
    def recursive(self) -> bool:
        return self.step_id is not None


def admit(definition: Any) -> Ok[dict[str, Any]] | Err[Refusal]:
    """Return whether a document can be registered as a routine. Its schema is deliberately not checked."""
    violations = _routine_validator().violations(definition)
    if violations:
        return Err(_refusal(min(violations, key=_place_in_routine)))
    for index, step in enumerate(definition["steps"]):
        if js.truthy(step.get("templateCall")):
            step_id = text_of(step.get("id")) or "(missing id)"
            message = (
                f"routine {quoted(definition['id'])} calls a template in step {quoted(step_id)}; routines can't nest"
            )
            return Err(Refusal(message, f"/steps/{index}/templateCall", step_id))
    if _has_infinity(definition):
        return Err(Refusal("it contains a number too large for a double, which can't be hashed"))
    return Ok(definition)


def _place_in_routine(violation: Violation) -> int:
    """Return where the routine's member is in the schema: what is wrong there first is reported."""
    return [*_ROUTINE_MEMBERS].index(violation.member) if violation.member else -1


def _refusal(violation: Violation) -> Refusal:
    match violation.member:
        case "":
            message = "a routine must be a JSON object"
        case "steps" if violation.pointer.startswith("/steps/"):
            message = "a step of a routine must be a JSON object"
        case "steps":
            message = "a routine needs a non-empty list 'steps'"
        case member:
            message = f"a routine needs a string '{member}'"
    return Refusal(message, violation.pointer)


def _has_infinity(root: dict[str, Any]) -> bool:
    """Return whether a routine, which becomes part of a catalog with a digest, has a number that can't be hashed."""
    stack: list[object] = [root]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            stack += value.values()
        elif type(value) is list:
            stack += value
        elif type(value) is float and not isfinite(value):
            return True
    return False


LISTS = ("features", "refs", "routines", "contracts", "capabilities")
Entry = dict[str, Any]


def check_document(document: object) -> list[Finding]:
    """Return everything that is wrong with a catalog document.

    The other checks rely on its shape, which is checked first.
    """
    broken = [_shape(violation) for violation in format_validator().violations(document)]
    if broken or not isinstance(document, dict):
        return broken
    return [
        *(finding(name, message, pointer) for pointer, name, message in order_problems(document)),
        *_features(document),
        *_routines(document["routines"]),
        *_contracts(document["contracts"]),
        *_engine_schema(document),
        *_digest(document),
    ]


@lru_cache(maxsize=1)
def format_validator() -> Validator:
    """Return the compiled schema of a catalog document."""
    return compile_schema(load_schema("catalog"), by_schema=True)


def order_problems(document: Entry) -> Iterator[tuple[str, str, str]]:
    """Yield pointer, name and message of each id that is a duplicate in its list or out of order."""
    for name in LISTS:
        seen: set[str] = set()
        previous = ""
        for index, entry in enumerate(document[name]):
            entry_id, at = _id_of(name, entry, index)
            if entry_id is None:
                continue  # a routine without an id is rejected as a routine
            if entry_id in seen:
                yield at, "catalog-invalid", f"duplicate id {quoted(entry_id)} in '{name}'"
            elif js.u16_sorted((previous, entry_id))[0] != previous:
                message = f"'{name}' is not sorted by id: {quoted(entry_id)} comes after {quoted(previous)}"
                yield at, "catalog-invalid", message
            seen.add(entry_id)
            previous = entry_id


def _id_of(name: str, entry: Entry, index: int) -> tuple[str | None, str]:
    if name != "routines":
        return entry["id"], f"/{name}/{index}/id"
    at = f"/routines/{index}/definition/id"
    match entry["definition"]:
        case {"id": str() as routine_id}:
            return routine_id, at
    return None, at


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
                        yield finding("catalog-id-unknown", message, place)
        if entry.get("configSchema") is not None:
            yield from _subset(entry["configSchema"], f"/features/{index}/configSchema")


def _routines(entries: list[Entry]) -> Iterator[Finding]:
    owner: dict[str, str] = {}
    for index, entry in enumerate(entries):
        at = f"/routines/{index}/definition"
        admitted = admit(entry["definition"])
        if isinstance(admitted, Err):
            yield finding("catalog-invalid", admitted.error.message, at + admitted.error.pointer)
            continue
        routine = Routine(entry)
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


def _engine_schema(document: Entry) -> Iterator[Finding]:
    if "engineSchema" not in document:
        return
    try:
        compile_schema(derived_target(document["engineVersion"], document["engineSchema"]).schema)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        yield finding("catalog-invalid", "the engine's schema can't be used; import the engine again", "/engineSchema")


def _digest(document: Entry) -> Iterator[Finding]:
    try:
        actual = digest_of(document)
    except CanonicalError as error:
        yield finding("number-not-finite", f"the digest of the catalog can't be computed: {error}")
        return
    declared = document.get("digest")
    if declared is not None and declared != actual:
        yield finding("catalog-invalid", f"the digest does not match the content; expected {actual}", "/digest")
    core = load_core()
    is_core = (document["catalogId"], document["catalogVersion"]) == (core.catalog_id, core.version)
    if is_core and actual != core.digest:
        message = (
            f"catalog {core.catalog_id} {core.version} has the digest {core.digest}; give a changed catalog another id "
            "or version"
        )
        yield finding("catalog-invalid", message, "/catalogVersion")


_Wording = Callable[[Any, Any], str]
# For every keyword about a value: the name of its finding, and the message.
_SHAPES: dict[str, tuple[str, _Wording]] = {
    "const": ("schema-enum", lambda expected, _: f"must be {json.dumps(expected)}"),
    "enum": ("schema-enum", lambda expected, _: f"must be one of {', '.join(map(str, expected))}"),
    "type": ("schema-type", lambda expected, actual: f"must be of type {expected[0]}, not {type_name(actual)}"),
    "oneOf": ("schema-type", lambda expected, actual: f"must be {_alternatives(expected)}, not {type_name(actual)}"),
    "pattern": ("schema-pattern", lambda expected, actual: f"{json.dumps(actual)} does not match {expected}"),
    "minLength": ("schema-bounds", lambda expected, _: f"must have at least {counted(expected, 'character')}"),
    "maxLength": ("schema-bounds", lambda expected, _: f"must have at most {counted(expected, 'character')}"),
    "minItems": ("schema-bounds", lambda expected, _: f"must have at least {counted(expected, 'item')}"),
    "maxItems": ("schema-bounds", lambda expected, _: f"must have at most {counted(expected, 'item')}"),
    "minimum": ("schema-bounds", lambda expected, _: f"must be at least {expected}"),
    "maximum": ("schema-bounds", lambda expected, _: f"must be at most {expected}"),
}


def _alternatives(types: tuple[object, ...]) -> str:
    return " or ".join("of another form" if kind == "any" else str(kind) for kind in types)


def _shape(violation: Violation) -> Finding:
    pointer, expected = violation.pointer, violation.expected
    if violation.keyword == "additionalProperties":
        message = f"unknown field {quoted(pointers.decode(pointer)[-1])}; expected one of {', '.join(expected)}"
        return finding("schema-unknown-member", message, pointer, on_name=True)
    if violation.keyword == "required":
        return finding("schema-missing-member", f"the required field '{expected}' is missing", pointer)
    name, wording = _SHAPES[violation.keyword]
    return finding(name, wording(expected, violation.value), pointer)
