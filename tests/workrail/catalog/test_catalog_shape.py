"""The schema subset itself: dialect, unions, keywords, and what lies outside it."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.documents.schema.dialect import search, tag_of
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.workrail.catalog.checks import schema_problems
from workrail_lint.systems.workrail.catalog.contracts import artifact_violations, by_object, plain_schema


def keywords(schema: dict[str, Any], value: object) -> list[tuple[tuple[Any, ...], str]]:
    return [(path, found.keyword) for path, found, _ in by_object(artifact_violations(schema, value))]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\$$", "$", True),
        ("^[$]+$", "$$", True),
        (r"^\d+$", "\u0663", False),
        (r"^\w$", "é", False),
        (r"^\s$", "\ufeff", True),
        (r"^\s$", "\x85", False),
        (r"^[\s,]+$", ", \u2003", True),
        ("(?<year>[0-9]+)", "in 1999", True),
        ("(?<=a)b", "ab", True),
        ("(?<!a)b", "ab", False),
    ],
)
def test_patterns_are_read_as_ecmascript_reads_them(pattern: str, text: str, matches: bool) -> None:
    assert search(pattern)(text) is matches


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("integer", 1.0, True),
        ("integer", 1.5, False),
        ("integer", 10**400, True),
        ("integer", True, False),
        ("integer", float("inf"), False),
        ("number", 1, True),
        ("number", False, False),
        ("null", None, True),
        ("array", [], True),
        ("array", (), False),
        ("object", {}, True),
        ("boolean", 0, False),
        ("string", "", True),
    ],
)
def test_types(name: str, value: object, expected: bool) -> None:
    assert (compile_schema({"type": name}, by_schema=True).violations(value) == []) is expected


TAGGED = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]},
        {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"], "x-objectMode": "strict"},
    ]
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "a", "n": 1}, []),
        ({"kind": "a"}, [(("n",), "required")]),
        ({"kind": "b", "n": 1}, [((), "additionalProperties")]),
        ({"kind": "c"}, [(("kind",), "enum")]),
        ({"kind": ["a"]}, [(("kind",), "enum")]),
        ({}, [(("kind",), "required")]),
        ([], [((), "type")]),
    ],
)
def test_a_tagged_union_is_judged_by_its_tag(value: object, expected: list[Any]) -> None:
    assert keywords(TAGGED, value) == expected


def test_unions_without_a_tag() -> None:
    by_type = {"oneOf": [{"type": "string", "minLength": 2}, {"type": "array", "items": {"type": "string"}}]}
    assert keywords(by_type, "x") == [((), "minLength")]
    assert keywords(by_type, ["a", 1]) == [(("1",), "type")]
    assert keywords(by_type, 1) == [((), "oneOf")]
    overlapping = {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "number", "maximum": 5}]}
    assert keywords(overlapping, 7) == keywords(overlapping, -1) == []
    assert keywords(overlapping, 3) == [((), "oneOf")]
    assert tag_of([]) is None
    assert tag_of([{"properties": {"k": {"const": "a"}}}]) is None, "a tag has to be required"


def test_lengths_count_code_points_unless_told_otherwise() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 1}}}
    assert keywords(schema, {"a": "\U0001f600"}) == []
    assert keywords({**schema, "x-lengthUnit": "u16"}, {"a": "\U0001f600"}) == [(("a",), "maxLength")]


def test_a_required_member_need_not_be_declared() -> None:
    assert keywords({"type": "object", "required": ["a"]}, {}) == [(("a",), "required")]
    assert keywords({"required": ["a"]}, 7) == []


def test_maps_check_every_value() -> None:
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}}
    assert keywords(schema, {"a": "free", "b": 1, "c": "x"}) == [(("c",), "type")]


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ([], ()),
        ({"anyOf": []}, ("anyOf",)),
        ({"type": "text"}, ("type",)),
        ({"type": ["string"]}, ("type",)),
        ({"enum": []}, ("enum",)),
        ({"properties": []}, ("properties",)),
        ({"properties": {"a": {"format": "date"}}}, ("properties", "a", "format")),
        ({"items": [{}]}, ("items",)),
        ({"items": {"minItems": -1}}, ("items", "minItems")),
        ({"maxLength": True}, ("maxLength",)),
        ({"minimum": "1"}, ("minimum",)),
        ({"oneOf": [{}, 1]}, ("oneOf", 1)),
        ({"additionalProperties": {"required": [1]}}, ("additionalProperties", "required")),
        ({"pattern": "("}, ("pattern",)),
        ({"pattern": 1}, ("pattern",)),
        ({"x-objectMode": "loose"}, ("x-objectMode",)),
        ({"x-lengthUnit": "bytes"}, ("x-lengthUnit",)),
        ({"x-objectMode": "strict", "additionalProperties": True}, ()),
        ({"x-objectMode": "open", "additionalProperties": False}, ()),
    ],
)
def test_schemas_outside_the_subset(schema: object, path: tuple[Any, ...]) -> None:
    ((found, message),) = schema_problems(schema)
    assert found == path
    assert message


def test_a_schema_may_not_nest_without_end() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"items": schema}
    ((_, message),) = schema_problems(schema)
    assert "100 levels" in message


def test_the_plain_form_says_in_plain_words_what_is_closed() -> None:
    schema = {
        "type": "object",
        "x-objectMode": "strict",
        "x-lengthUnit": "u16",
        "properties": {"a": {"type": "array", "items": {"type": "object", "x-objectMode": "open"}}},
        "oneOf": [{"type": "object", "additionalProperties": {"type": "object", "x-objectMode": "strip"}}],
    }
    assert plain_schema(schema) == {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "object"}}},
        "oneOf": [{"type": "object", "additionalProperties": {"type": "object"}}],
        "additionalProperties": False,
    }
