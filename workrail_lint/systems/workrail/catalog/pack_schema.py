"""Whether a pack's schema stays inside the subset that packs may use.

A keyword outside the subset would be silently ignored, and an artifact would pass that should not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from workrail_lint.base.ecma_regex import compile_pattern
from workrail_lint.base.js import type_name
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import quoted
from workrail_lint.documents.schema.dialect import LENGTH_UNITS, OBJECT_MODES

# Checking an artifact recurses as deep as its schema does.
_MAX_DEPTH = 100
Path = tuple[str | int, ...]


def schema_problems(schema: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Where and how a pack's schema leaves the subset."""
    if not isinstance(schema, dict):
        yield path, f"a schema must be an object, not {type_name(schema)}"
        return
    if len(path) > _MAX_DEPTH:
        yield path, f"the schema is nested more than {_MAX_DEPTH} levels deep"
        return
    for keyword, value in schema.items():
        at = (*path, keyword)
        problem = _KEYWORDS[keyword](value) if keyword in _KEYWORDS else "is not a supported schema keyword"
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


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _count(value: object) -> str | None:
    return None if type(value) is int and value >= 0 else "must be a non-negative integer"


def _number(value: object) -> str | None:
    return None if type_name(value) == "number" else "must be a number"


def _one_of(*members: str) -> Callable[[object], str | None]:
    text = "must be one of " + ", ".join(members)
    return lambda value: None if isinstance(value, str) and value in members else text


def _pattern(value: object) -> str | None:
    if not isinstance(value, str):
        return "must be a string"
    match compile_pattern(value, "u"):
        case Err(reason):
            return f"must be a regular expression: {reason}"
        case Ok(_):
            return None


def _that(holds: Callable[[object], bool], text: str) -> Callable[[object], str | None]:
    return lambda value: None if holds(value) else text


# The valid values of each keyword; a message continues the sentence that starts with the keyword.
_KEYWORDS: dict[str, Callable[[object], str | None]] = {
    "type": _one_of("string", "number", "integer", "boolean", "object", "array", "null"),
    "const": lambda _: None,
    "enum": _that(lambda v: isinstance(v, list) and bool(v), "must be a non-empty list"),
    "properties": _that(lambda v: isinstance(v, dict), "must be an object"),
    "required": _that(_is_string_list, "must be a list of field names"),
    "additionalProperties": _that(lambda v: isinstance(v, bool | dict), "must be true, false or a schema"),
    "items": _that(lambda v: isinstance(v, dict), "must be a schema"),
    "minItems": _count,
    "maxItems": _count,
    "minLength": _count,
    "maxLength": _count,
    "pattern": _pattern,
    "minimum": _number,
    "maximum": _number,
    "oneOf": _that(lambda v: isinstance(v, list) and bool(v), "must be a non-empty list of schemas"),
    "x-objectMode": _one_of(*OBJECT_MODES),
    "x-lengthUnit": _one_of(*LENGTH_UNITS),
}
