"""The shipping form as a draft-07 schema, written apart from the product so that it can judge it."""

from __future__ import annotations

from typing import Any

import jsonschema

STEP_ID = {"type": "string", "minLength": 3, "maxLength": 64, "pattern": r"\A[a-z0-9-]+\Z"}
NAME = {"type": "string", "pattern": r"\A[a-zA-Z_][a-zA-Z0-9_]*\Z"}


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text(low: int, high: int | None = None) -> dict[str, Any]:
    return {"type": "string", "minLength": low} | ({} if high is None else {"maxLength": high})


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/definitions/{name}"}


def array(items: Any, low: int = 0, unique: bool = False) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": low, "uniqueItems": unique}


CONDITION = closed(
    {
        "var": {"type": "string"},
        "equals": {},
        "not_equals": {},
        **{name: {"type": "number"} for name in ("gt", "gte", "lt", "lte")},
        "in": {"type": "array"},
        "contains": {"type": "string"},
        "and": array(ref("condition")),
        "or": array(ref("condition")),
        "not": ref("condition"),
    }
)
RULE = closed(
    {
        "type": {"enum": ["contains", "regex", "length", "schema"]},
        "message": {"type": "string"},
        "value": {"type": "string"},
        "pattern": {"type": "string"},
        "flags": {"type": "string"},
        "min": {"type": "number"},
        "max": {"type": "number"},
        "schema": {"type": "object"},
    },
    "type",
    "message",
)
CHILD = {"oneOf": [ref("rule"), ref("composition")]}
COMPOSITION = closed({"and": array(CHILD, 1), "or": array(CHILD, 1), "not": CHILD}) | {
    "minProperties": 1,
    "maxProperties": 1,
}
OUTPUT_CONTRACT = closed({"contractRef": text(1), "required": {"type": "boolean"}}, "contractRef")
STANDARD = closed(
    {
        "id": STEP_ID,
        "title": text(1, 128),
        "prompt": text(1, 8192),
        "templateCall": closed({"templateId": text(1, 128), "args": {"type": "object"}}, "templateId"),
        "agentRole": text(10, 1024),
        "guidance": array({"type": "string"}),
        "requireConfirmation": {"type": "boolean"},
        "runCondition": ref("condition"),
        "validationCriteria": {"oneOf": [array(ref("rule")), ref("composition")]},
        "outputContract": ref("outputContract"),
    },
    "id",
    "title",
)
PARALLEL = closed(
    {
        "id": STEP_ID,
        "type": {"const": "parallel"},
        "title": text(1, 128),
        "parallelDelegations": array(closed({"workflowId": text(1, 128)}, "workflowId"), 1, True),
    },
    "id",
    "type",
    "title",
    "parallelDelegations",
)
SOURCE = {
    "oneOf": [
        closed(
            {"kind": {"const": "artifact_contract"}, "contractRef": text(1), "loopId": text(1)},
            "kind",
            "contractRef",
        ),
        closed({"kind": {"const": "context_variable"}, "condition": ref("condition")}, "kind", "condition"),
    ]
}
LOOP = closed(
    {
        "id": STEP_ID,
        "type": {"const": "loop"},
        "title": text(1, 128),
        "loop": closed(
            {
                "type": {"enum": ["while", "until", "for", "forEach"]},
                "maxIterations": {"type": "number", "minimum": 1, "maximum": 1000},
                "condition": ref("condition"),
                "conditionSource": SOURCE,
                "count": {"type": "number", "minimum": 0, "maximum": 1000},
                "iterationVar": NAME,
            },
            "type",
            "maxIterations",
        )
        | {
            "if": {"properties": {"type": {"enum": ["while", "until"]}}},
            "then": {"anyOf": [{"required": ["condition"]}, {"required": ["conditionSource"]}]},
        },
        "body": {
            "anyOf": [{"type": "string"}, array({"oneOf": [ref("standard"), ref("parallel")]}, 1)],
        },
        "runCondition": ref("condition"),
    },
    "id",
    "type",
    "title",
    "loop",
    "body",
)
WORKFLOW = closed(
    {
        "id": text(3, 64),
        "name": text(1, 128),
        "description": text(1, 512),
        "version": {"type": "string", "pattern": r"\A(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)\Z"},
        "features": array(text(1, 128), unique=True),
        "metaGuidance": array(text(1, 256), unique=True),
        "extensionPoints": array(
            closed(
                {
                    "slotId": text(2, 64) | {"pattern": r"\A[a-z][a-z0-9_]*\Z"},
                    "purpose": text(1, 256),
                    "default": text(1, 128),
                    "acceptedKinds": array({"enum": ["routine", "workflow"]}, unique=True),
                },
                "slotId",
                "purpose",
                "default",
            ),
            unique=True,
        ),
        "steps": array({"oneOf": [ref("standard"), ref("loop"), ref("parallel")]}, 1),
    },
    "id",
    "name",
    "description",
    "version",
    "steps",
) | {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {
        "condition": CONDITION,
        "rule": RULE,
        "composition": COMPOSITION,
        "outputContract": OUTPUT_CONTRACT,
        "standard": STANDARD,
        "parallel": PARALLEL,
        "loop": LOOP,
    },
}

jsonschema.Draft7Validator.check_schema(WORKFLOW)
VALIDATOR = jsonschema.Draft7Validator(WORKFLOW)


def schema_errors(document: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]
