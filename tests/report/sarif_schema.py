"""The parts of the SARIF 2.1.0 schema that we use: which members there are, what they hold, which must be there.

Written from the published specification. Every object is closed, as in the published schema, so that a member we
misspell is noticed.
"""

from __future__ import annotations

from typing import Any

_STRING: dict[str, Any] = {"type": "string"}
_LEVEL: dict[str, Any] = {"enum": ["none", "note", "warning", "error"]}
_POSITIVE: dict[str, Any] = {"type": "integer", "minimum": 1}
_INDEX: dict[str, Any] = {"type": "integer", "minimum": -1}
_STRINGS: dict[str, Any] = {"type": "object", "additionalProperties": _STRING}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _list(items: dict[str, Any], *, least: int = 0, unique: bool = False) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": unique}


def _object(members: dict[str, Any], *required: str, any_of: tuple[str, ...] = ()) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "type": "object",
        "properties": {**members, "properties": _ref("propertyBag")},
        "required": list(required),
        "additionalProperties": False,
    }
    if any_of:
        shape["anyOf"] = [{"required": [name]} for name in any_of]
    return shape


_DEFINITIONS: dict[str, Any] = {
    "propertyBag": {"type": "object", "properties": {"tags": _list(_STRING, unique=True)}},
    "message": _object({"text": _STRING, "markdown": _STRING, "id": _STRING}, any_of=("text", "id")),
    "multiformatMessageString": _object({"text": _STRING, "markdown": _STRING}, "text"),
    "artifactContent": _object({"text": _STRING, "binary": _STRING}),
    "artifactLocation": _object(
        {"uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": _STRING, "index": _INDEX}
    ),
    "region": _object(
        {
            "startLine": _POSITIVE,
            "startColumn": _POSITIVE,
            "endLine": _POSITIVE,
            "endColumn": _POSITIVE,
            "charOffset": _INDEX,
            "charLength": {"type": "integer", "minimum": 0},
            "byteOffset": _INDEX,
            "byteLength": {"type": "integer", "minimum": 0},
            "snippet": _ref("artifactContent"),
        },
        any_of=("startLine", "charOffset", "byteOffset"),
    ),
    "physicalLocation": _object(
        {"artifactLocation": _ref("artifactLocation"), "region": _ref("region"), "contextRegion": _ref("region")},
        any_of=("artifactLocation", "address"),
    ),
    "logicalLocation": _object(
        {"name": _STRING, "fullyQualifiedName": _STRING, "decoratedName": _STRING, "kind": _STRING, "index": _INDEX}
    ),
    "location": _object(
        {
            "id": _INDEX,
            "physicalLocation": _ref("physicalLocation"),
            "logicalLocations": _list(_ref("logicalLocation"), unique=True),
            "message": _ref("message"),
        }
    ),
    "replacement": _object(
        {"deletedRegion": _ref("region"), "insertedContent": _ref("artifactContent")}, "deletedRegion"
    ),
    "artifactChange": _object(
        {"artifactLocation": _ref("artifactLocation"), "replacements": _list(_ref("replacement"), least=1)},
        "artifactLocation",
        "replacements",
    ),
    "fix": _object(
        {"description": _ref("message"), "artifactChanges": _list(_ref("artifactChange"), least=1, unique=True)},
        "artifactChanges",
    ),
    "suppression": _object(
        {
            "kind": {"enum": ["inSource", "external"]},
            "status": {"enum": ["accepted", "underReview", "rejected"]},
            "justification": _STRING,
            "location": _ref("location"),
        },
        "kind",
    ),
    "result": _object(
        {
            "ruleId": _STRING,
            "ruleIndex": _INDEX,
            "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
            "level": _LEVEL,
            "message": _ref("message"),
            "locations": _list(_ref("location")),
            "partialFingerprints": _STRINGS,
            "fingerprints": _STRINGS,
            "suppressions": _list(_ref("suppression"), unique=True),
            "baselineState": {"enum": ["new", "unchanged", "updated", "absent"]},
            "fixes": _list(_ref("fix"), unique=True),
        },
        "message",
    ),
    "reportingConfiguration": _object({"enabled": {"type": "boolean"}, "level": _LEVEL}),
    "reportingDescriptor": _object(
        {
            "id": _STRING,
            "name": _STRING,
            "shortDescription": _ref("multiformatMessageString"),
            "fullDescription": _ref("multiformatMessageString"),
            "help": _ref("multiformatMessageString"),
            "helpUri": {"type": "string", "format": "uri"},
            "defaultConfiguration": _ref("reportingConfiguration"),
        },
        "id",
    ),
    "toolComponent": _object(
        {
            "name": _STRING,
            "version": _STRING,
            "semanticVersion": _STRING,
            "informationUri": {"type": "string", "format": "uri"},
            "rules": _list(_ref("reportingDescriptor"), unique=True),
        },
        "name",
    ),
    "run": _object(
        {
            "tool": _object({"driver": _ref("toolComponent")}, "driver"),
            "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            "newlineSequences": _list(_STRING, least=1, unique=True),
            "results": _list(_ref("result")),
        },
        "tool",
    ),
}

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {
            "$schema": {"type": "string", "format": "uri"},
            "version": {"const": "2.1.0"},
            "runs": _list(_ref("run")),
        },
        "version",
        "runs",
    ),
    "$defs": _DEFINITIONS,
}
