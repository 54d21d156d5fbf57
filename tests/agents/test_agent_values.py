"""The smallest value of a schema: it fits, and nothing in it could be left out."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.agents.values import padded, smallest
from workrail_lint.base import js
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

PACKS = load_core().contracts


def is_valid(schema: dict[str, Any], value: Json) -> bool:
    return bool(jsonschema.Draft7Validator(schema).is_valid(value))


@pytest.mark.parametrize("ref", sorted(set(PACKS) - {"wr.contracts.assessment", "wr.contracts.capability_observation"}))
def test_every_contract_pack(ref: str) -> None:
    schema = PACKS[ref].schema
    artifact = smallest(schema, lambda inner, value: not validate_artifact(inner, value))
    assert isinstance(artifact, dict)
    assert validate_artifact(schema, artifact) == []
    required = [set(branch["required"]) for branch in schema.get("oneOf", [schema])]
    assert set(artifact) in required, "nothing but what is required"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLength": 3}}}, {"a": "a a"}),
        ({"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["x", "y"]}}, ["x", "y"]),
        ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"anyOf": [{"type": "integer", "minimum": 3, "maximum": 2}, {"const": "b"}]}, "b"),
        (
            {"allOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"const": 1}, "b": {"const": 2}}},
            {"a": 1, "b": 2},
        ),
        ({"$ref": "#/definitions/id", "definitions": {"id": {"type": "string", "pattern": "^[A-Z]{2}$"}}}, "AA"),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "type": "object"}, {"a": "a", "b": "b"}),
        ({"type": ["null", "string"]}, None),
        ({"type": "object", "minProperties": 2}, {"member1": "member1", "member2": "member2"}),
        ({"type": "array", "contains": {"const": 7}}, [7]),
        ({"enum": [[], "x"]}, []),
        (
            {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^k[01]$"}, "required": ["k0"]},
            {"k0": "k0", "k1": "k1"},
        ),
        (
            {
                "type": "object",
                "minProperties": 1,
                "patternProperties": {"^x-": {"type": "integer"}},
                "additionalProperties": False,
            },
            {"x-": 0},
        ),
        (
            {
                "type": "object",
                "required": ["a"],
                "dependencies": {"a": ["b"], "b": ["c"], "z": ["y"]},
                "properties": {"b": {"const": 1}, "c": {"const": 2}},
            },
            {"a": "a", "b": 1, "c": 2},
        ),
        ({"type": "array", "items": [{"const": 1}], "minItems": 2, "additionalItems": {"const": 2}}, [1, 2]),
    ],
)
def test_schemas_of_authors(schema: dict[str, Any], expected: Json) -> None:
    value = smallest(schema, is_valid)
    assert value == expected
    assert is_valid(schema, value)


def test_a_free_text_is_the_name_it_is_given() -> None:
    assert smallest({"type": "string", "minLength": 3}, is_valid) == "text"
    assert smallest({"type": "string", "minLength": 3}, is_valid, "summary") == "summary"


def test_a_schema_that_nothing_fits() -> None:
    assert smallest({"type": "string", "minLength": 3, "maxLength": 2}, is_valid) is None
    assert smallest({"$ref": "#/nowhere"}, is_valid_of_nothing) is None
    recursive = {
        "$ref": "#/definitions/a",
        "definitions": {"a": {"required": ["a"], "properties": {"a": {"$ref": "#/definitions/a"}}, "type": "object"}},
    }
    assert smallest(recursive, is_valid) is None


def is_valid_of_nothing(schema: dict[str, Any], value: Json) -> bool:
    return False


def schemas() -> st.SearchStrategy[dict[str, Any]]:
    texts = st.builds(
        lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
        st.integers(0, 30),
        st.integers(0, 9),
    )
    numbers = st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        st.integers(-9, 9),
        st.integers(0, 5),
    )
    plain = st.one_of(texts, numbers, st.just({"type": "boolean"}), st.sampled_from([{"const": 1}, {"enum": ["x", 2]}]))
    return st.recursive(
        plain,
        lambda inner: st.one_of(
            st.builds(lambda items, low: {"type": "array", "items": items, "minItems": low}, inner, st.integers(0, 3)),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
                lambda members: {
                    "type": "object",
                    "properties": members,
                    "required": sorted(members),
                    "additionalProperties": False,
                }
            ),
            st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"oneOf": parts}).filter(_has_one_alternative),
        ),
        max_leaves=5,
    )


def _has_one_alternative(schema: dict[str, Any]) -> bool:
    """Alternatives that overlap exclude each other, so only those are drawn that surely differ."""
    kinds = [part.get("type") for part in schema["oneOf"]]
    return None not in kinds and len(set(kinds)) == len(kinds)


@given(schemas())
def test_schemas_that_can_be_met_are_met(schema: dict[str, Any]) -> None:
    value = smallest(schema, is_valid)
    assert is_valid(schema, value)


@given(st.text(max_size=20), st.integers(0, 60))
def test_padding_is_exact(text: str, low: int) -> None:
    longer = padded(text, low)
    assert longer.startswith(text)
    assert js.u16_length(longer) == max(low, js.u16_length(text))
