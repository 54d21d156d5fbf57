"""Validates an artifact against the schema of its contract pack; agents see the issues.

The wording and the order of issues are part of the protocol, so they do not depend on a validator
library. What the schema subset can't say (one member's value deciding about another's) stands in
`_RULES`, by artifact kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.js import type_name
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.catalog.shape import (
    Path,
    Schema,
    Violation,
    has_type,
    is_closed,
    search,
    violations,
)

# The calendar is in the pattern, so that a pack stays plain data: 30 February does not match.
_LONG_MONTHS = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
_SHORT_MONTHS = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_YEAR = "[0-9]{2}(?:[2468][048]|[13579][26]|0[48])|(?:[02468][048]|[13579][26])00"
_DATE = f"(?:(?:{_LEAP_YEAR})-02-29|[0-9]{{4}}-(?:{_LONG_MONTHS}|{_SHORT_MONTHS}))"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
_HEX = "[0-9a-fA-F]"

# Pattern and what an agent reads when it is broken, by the name the catalog's sources use.
PATTERNS: dict[str, tuple[str, str]] = {
    "datetime": (f"^{_DATE}T{_TIME}Z$", "Must be a UTC date and time like 2024-01-31T12:00:00Z"),
    "uuid": (f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$", "Must be a UUID"),
    "delimiter-safe-id": (
        "^[a-z0-9_-]+$",
        "Must consist of lower-case letters, digits, hyphens and underscores",
    ),
    "expanded-step-id": (
        r"^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$",
        "Must be a step id: lower-case letters, digits, hyphens and underscores, parts joined by dots",
    ),
}
_PATTERN_TEXT = {
    **dict(PATTERNS.values()),
    # Of the packs that other document systems bring.
    r"\S": "Must not be blank",
}
_OURS = frozenset(pattern for pattern, _ in PATTERNS.values())
_PATTERN_SECONDS = 1.0


def artifact_violations(schema: Schema, artifact: object) -> list[Violation]:
    """What an artifact breaks of its pack's schema, as data."""
    return violations(schema, artifact, _matches)


def validate_artifact(schema: Schema, artifact: object) -> list[str]:
    """What is wrong with an artifact, as `<dotted path>: <problem>`; empty when it fits."""
    found = artifact_violations(schema, artifact)
    if found:
        return [_issue(violation.path, _problem(violation)) for violation in found]
    kind = artifact.get("kind") if isinstance(artifact, dict) else None
    rule = _RULES.get(kind) if isinstance(kind, str) else None
    return [_issue(path, problem) for path, problem in rule(artifact)] if rule else []  # type: ignore[arg-type]


def plain_schema(schema: Schema) -> Schema:
    """The pack as draft-07 JSON Schema for other tools: closed objects say so in its own words.

    Lengths stay as they are; a validator that counts code points is off by the astral characters.
    """
    out: Schema = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            out[keyword] = {name: plain_schema(member) for name, member in value.items()}
        elif keyword == "oneOf":
            out[keyword] = [plain_schema(alternative) for alternative in value]
        elif keyword in ("items", "additionalProperties") and isinstance(value, dict):
            out[keyword] = plain_schema(value)
        elif not keyword.startswith("x-"):
            out[keyword] = value
    if is_closed(schema):
        out["additionalProperties"] = False
    return out


def _matches(pattern: str, text: str) -> bool:
    """A pattern of ours is harmless; any other may come from a catalog file and gets a time limit."""
    if pattern in _OURS:
        return search(pattern, text)
    from workrail_lint.base.ecma_regex import compile_pattern

    compiled = compile_pattern(pattern, "u")
    return compiled.is_ok and compiled.value.search(text, _PATTERN_SECONDS) == Ok(True)


def _issue(path: Path, problem: str) -> str:
    return f"{'.'.join(map(str, path))}: {problem}"


def _problem(violation: Violation) -> str:
    keyword, schema, actual = violation.keyword, violation.schema, violation.actual
    match keyword:
        case "required":
            return _literal(schema) if "const" in schema else "Required"
        case "const":
            return _literal(schema)
        case "enum":
            return _not_a_member(schema["enum"], actual)
        case "type":
            if schema["type"] == "integer":
                is_number = has_type("number", actual)
                expected, received = ("integer", "float") if is_number else ("number", type_name(actual))
                return f"Expected {expected}, received {received}"
            return f"Expected {schema['type']}, received {type_name(actual)}"
        case "additionalProperties":
            return "Unrecognized key(s) in object: " + ", ".join(f"'{name}'" for name in actual)
        case "pattern":
            return _PATTERN_TEXT.get(schema["pattern"], f"Must match the pattern {schema['pattern']}")
        case "oneOf":
            return "Invalid input"
        case "minimum" if schema.get("type") == "integer" and schema["minimum"] == 1:
            return "Number must be greater than 0"
        case _:
            return _BOUNDS[keyword].format(_json(schema[keyword]))


_BOUNDS = {
    "minLength": "String must contain at least {} character(s)",
    "maxLength": "String must contain at most {} character(s)",
    "minItems": "Array must contain at least {} element(s)",
    "maxItems": "Array must contain at most {} element(s)",
    "minimum": "Number must be greater than or equal to {}",
    "maximum": "Number must be less than or equal to {}",
}


def _literal(schema: Schema) -> str:
    return f"Invalid literal value, expected {_json(schema['const'])}"


def _not_a_member(members: list[Any], actual: object) -> str:
    known = " | ".join(f"'{js.text(member)}'" for member in members)
    if isinstance(actual, str):
        return f"Invalid enum value. Expected {known}, received '{actual}'"
    return f"Expected {known}, received {type_name(actual)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _assessment(artifact: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    if not artifact.get("dimensions"):
        yield ("dimensions",), "Must name at least one dimension"


def _capability_observation(artifact: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    # Another catalog may define a different schema for this kind, so nothing is assumed here.
    status, provenance = artifact.get("status"), artifact.get("provenance")
    if not isinstance(provenance, dict):
        return
    result = provenance.get("result")
    if provenance.get("kind") == "attempted_use":
        if result == "failure" and "failureCode" not in provenance:
            yield ("provenance", "failureCode"), "Required when the attempt failed"
        if result == "success" and "failureCode" in provenance:
            yield ("provenance", "failureCode"), "Not allowed when the attempt succeeded"
    if result == "success" and status != "available":
        yield ("status",), "Must be 'available' when the attempt succeeded"
    elif result == "failure" and status == "available":
        yield ("status",), "Must be 'unavailable' or 'unknown' when the attempt failed"
    elif result is None and status == "unknown":
        yield ("status",), "Must be 'available' or 'unavailable' in a claim"


_RULES: dict[str, Callable[[dict[str, Any]], Iterator[tuple[Path, str]]]] = {
    "wr.assessment": _assessment,
    "wr.capability_observation": _capability_observation,
}
