"""Whether the schema of a validation rule can be compiled: only called when a workflow has such a rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workrail_lint.base.ecma_regex import why_invalid
from workrail_lint.documents import pointer as pointers

if TYPE_CHECKING:
    from jsonschema import ValidationError

_META_SCHEMA = "http://json-schema.org/draft-07/schema"
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_LINE = 120
# Members whose value is data, not a schema.
_DATA = ("const", "default", "enum", "examples")
_MAPS = ("properties", "patternProperties", "definitions", "$defs", "dependencies")


def problems(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what is wrong with a schema, each with the pointer of its place inside it."""
    shape = _shape_problems(schema)
    return shape or list(_other_problems(schema))


def _shape_problems(schema: dict[str, Any]) -> list[tuple[str, str]]:
    from jsonschema import Draft7Validator  # slow to import, and few criteria have a schema

    try:
        errors = Draft7Validator(Draft7Validator.META_SCHEMA).iter_errors(schema)
        problems = [(pointers.encode(error.absolute_path), _message(error)) for error in errors]
    except RecursionError:
        return []  # nested too deeply to be checked
    return sorted(problems, key=lambda problem: pointers.sort_key(problem[0]))


def _message(error: ValidationError) -> str:
    if error.absolute_path and error.absolute_path[-1] == "type" and error.validator == "anyOf":
        return f"unknown type {_shown(error.instance)}; expected one of {', '.join(_TYPES)}"
    return _cut(error.message)


def _shown(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    """Return a text on one line, cut where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


def _other_problems(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield patterns that do not compile and references that do not resolve."""
    has_ids = False
    references: list[tuple[str, str]] = []
    stack: list[tuple[object, str]] = [(schema, "")]
    while stack:
        value, place = stack.pop()
        if isinstance(value, list):
            stack.extend((item, f"{place}/{i}") for i, item in enumerate(value))
        if not isinstance(value, dict):
            continue
        has_ids = has_ids or "$id" in value
        for name, item in value.items():
            at = pointers.child(place, name)
            if name == "pattern" and isinstance(item, str) and (reason := why_invalid(item)):
                yield at, f"invalid pattern {_shown(item)}: {reason}"
            elif name == "$ref" and isinstance(item, str):
                references.append((item, at))
            elif name in _MAPS and isinstance(item, dict):
                if name == "patternProperties":
                    bad = ((pattern, why_invalid(pattern)) for pattern in item)
                    yield from (
                        (pointers.child(at, pattern), f"invalid pattern {_shown(pattern)}: {reason}")
                        for pattern, reason in bad
                        if reason
                    )
                stack.extend((inner, pointers.child(at, key)) for key, inner in item.items())
            elif name not in _DATA:
                stack.append((item, at))
    for reference, at in references:
        if not has_ids and not _resolves(schema, reference):
            yield at, f"the reference {_shown(reference)} does not resolve"


def _resolves(schema: dict[str, Any], reference: str) -> bool:
    base, _, fragment = reference.partition("#")
    if base:
        return base == _META_SCHEMA
    try:
        from urllib.parse import unquote

        pointers.resolve(schema, unquote(fragment))
    except (KeyError, ValueError):
        return False
    return True
