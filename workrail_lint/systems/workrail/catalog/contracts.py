"""Validates an artifact against the schema of its contract pack; agents see the issues.

The wording and the order of issues are part of the protocol, so they do not depend on a validator
library. What the schema subset can't say (one member's value deciding about another's) stands in
`_RULES`, by artifact kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Any

from workrail_lint.base import js
from workrail_lint.base.js import type_name
from workrail_lint.base.result import Ok
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.schema.dialect import Schema, search
from workrail_lint.documents.schema.engine import Validator, Violation, compile_schema

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
Path = tuple[str, ...]
# The validators of the schemas that are in use, each beside its schema, so that no other object has its id.
_VALIDATORS: dict[int, tuple[Schema, Validator]] = {}
_MOST_VALIDATORS = 200


def artifact_violations(schema: Schema, artifact: object) -> list[Violation]:
    """Return what an artifact breaks of its pack's schema, in the order of the schema."""
    known = _VALIDATORS.get(id(schema))
    if known is None:
        if len(_VALIDATORS) >= _MOST_VALIDATORS:
            _VALIDATORS.clear()
        known = schema, compile_schema(schema, by_schema=True, matches=_matches)
        _VALIDATORS[id(schema)] = known
    return known[1].violations(artifact)


def by_object(violations: Iterable[Violation]) -> Iterator[tuple[Path, Violation, list[str]]]:
    """Yield the place of each violation as agents see it: unknown members at their object, with their names.

    A missing member has the path it would have.
    """
    for (keyword, at), group in groupby(violations, _object_of):
        for violation in group:
            path = tuple(pointers.decode(at))
            if keyword == "additionalProperties":
                names = [pointers.decode(each.pointer)[-1] for each in (violation, *group)]
                yield path, violation, js.keys(dict.fromkeys(names))
            else:
                yield (*path, violation.expected) if keyword == "required" else path, violation, []


def _object_of(violation: Violation) -> tuple[str, str]:
    is_unknown = violation.keyword == "additionalProperties"
    return violation.keyword, pointers.parent(violation.pointer) if is_unknown else violation.pointer


def validate_artifact(schema: Schema, artifact: object) -> list[str]:
    """Return what is wrong with an artifact, as `<dotted path>: <problem>`; empty when it fits."""
    violations = artifact_violations(schema, artifact)
    if violations:
        return [_issue(path, _problem(violation, unknown)) for path, violation, unknown in by_object(violations)]
    rule = _RULES.get(js.string_in(artifact, "kind") or "")
    return [_issue(path, problem) for path, problem in rule(artifact)] if rule else []  # type: ignore[arg-type]


def plain_schema(schema: Schema) -> Schema:
    """Return the pack as draft-07 JSON Schema for other tools: closed objects say so in its own words.

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
    if schema.get("x-objectMode") == "strict":
        out["additionalProperties"] = False
    return out


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches. Ours are harmless; others may come from a catalog file and get a time limit."""
    if pattern in _OURS:
        return _own_search(pattern)(text)
    from workrail_lint.base.ecma_regex import compile_pattern  # only a catalog of others needs it

    compiled = compile_pattern(pattern, "u")
    return compiled.is_ok and compiled.value.search(text, _PATTERN_SECONDS) == Ok(True)


@lru_cache(maxsize=8)
def _own_search(pattern: str) -> Callable[[str], bool]:
    return search(pattern)


def _issue(path: Path, problem: str) -> str:
    return f"{'.'.join(path)}: {problem}"


def _problem(violation: Violation, unknown: list[str]) -> str:
    keyword, expected, actual = violation.keyword, violation.expected, violation.value
    match keyword:
        case "required":
            missing = violation.schema.get("properties", {}).get(expected, {})
            return _literal(missing["const"]) if "const" in missing else "Required"
        case "const":
            return _literal(expected)
        case "enum":
            return _not_a_member(expected, actual)
        case "type":
            received = type_name(actual)
            if expected == ("integer",):
                wanted, received = ("integer", "float") if received == "number" else ("number", received)
                return f"Expected {wanted}, received {received}"
            return f"Expected {expected[0]}, received {received}"
        case "additionalProperties":
            return "Unrecognized key(s) in object: " + ", ".join(f"'{name}'" for name in unknown)
        case "pattern":
            return _PATTERN_TEXT.get(expected, f"Must match the pattern {expected}")
        case "oneOf":
            return "Invalid input"
        case "minimum" if violation.schema.get("type") == "integer" and expected == 1:
            return "Number must be greater than 0"
        case _:
            return _BOUNDS[keyword].format(_json(expected))


_BOUNDS = {
    "minLength": "String must contain at least {} character(s)",
    "maxLength": "String must contain at most {} character(s)",
    "minItems": "Array must contain at least {} element(s)",
    "maxItems": "Array must contain at most {} element(s)",
    "minimum": "Number must be greater than or equal to {}",
    "maximum": "Number must be less than or equal to {}",
}


def _literal(expected: object) -> str:
    return f"Invalid literal value, expected {_json(expected)}"


def _not_a_member(members: Iterable[object], actual: object) -> str:
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
    status, provenance = artifact.get("status"), js.object_in(artifact, "provenance")
    if provenance is None:
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
