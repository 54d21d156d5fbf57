from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.base import js
from workrail_lint.documents import pointer
from workrail_lint.documents.schema import engine
from workrail_lint.documents.schema.dialect import duplicates, python_pattern
from workrail_lint.documents.schema.engine import Violation, compile_schema

INF = float("inf")


def violations(schema: dict[str, Any], value: object) -> list[Violation]:
    return compile_schema(schema).violations(value)


def only(schema: dict[str, Any], value: object) -> tuple[str, str, Any]:
    [violation] = violations(schema, value)
    return violation.pointer, violation.keyword, violation.expected


TREE: dict[str, Any] = {
    "$ref": "#/definitions/Tree",
    "definitions": {
        "Tree": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "left": {"$ref": "#/definitions/Tree"},
                "kids": {"type": "array", "items": {"$ref": "#/definitions/Tree"}},
                "leaf": {"$ref": "#/definitions/Leaf"},
            },
            "additionalProperties": False,
        },
        "Leaf": {"type": "object", "properties": {"size": {"type": "number"}}, "additionalProperties": False},
    },
}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string"}, 1, ("type", ("string",))),
        ({"type": ["string", "array"]}, {}, ("type", ("string", "array"))),
        ({"type": "object"}, [], ("type", ("object",))),
        ({"type": "boolean"}, 0, ("type", ("boolean",))),
        ({"type": "null"}, False, ("type", ("null",))),
        ({"type": "string", "minLength": 2}, "a", ("minLength", 2)),
        ({"type": "string", "maxLength": 1}, "ab", ("maxLength", 1)),
        ({"type": "string", "pattern": "^a$"}, "b", ("pattern", "^a$")),
        ({"type": "string", "enum": ["a", "b"]}, "c", ("enum", ("a", "b"))),
        ({"type": "string", "const": "a"}, "c", ("const", "a")),
        ({"type": "string", "enum": ["a"]}, 1, ("type", ("string",))),
        ({"enum": [1, None]}, 2, ("enum", (1, None))),
        ({"const": 1}, True, ("const", 1)),
        ({"type": "number", "minimum": 1}, 0, ("minimum", 1)),
        ({"type": "number", "maximum": 1}, 1.5, ("maximum", 1)),
        ({"type": "number", "exclusiveMinimum": 1}, 1, ("exclusiveMinimum", 1)),
        ({"type": "number", "exclusiveMaximum": 1}, 1.0, ("exclusiveMaximum", 1)),
        ({"type": "array", "minItems": 1}, [], ("minItems", 1)),
        ({"type": "array", "maxItems": 1}, [1, 2], ("maxItems", 1)),
        ({"type": "object", "required": ["a"]}, {}, ("required", "a")),
        ({"type": "object", "minProperties": 1}, {}, ("minProperties", 1)),
        ({"type": "object", "maxProperties": 1}, {"a": 1, "b": 2}, ("maxProperties", 1)),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, ("anyOf", ("a", "b"))),
        ({"anyOf": [{"type": "string"}, {"const": 3}]}, 1, ("anyOf", ("string", 3))),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, 1, ("oneOf", ("number", "integer"))),
        ({"not": {"type": "string"}}, "a", ("not", {"type": "string"})),
        ({"if": {"type": "string"}, "then": {"minLength": 2}}, "a", ("minLength", 2)),
        ({"if": {"type": "string"}, "else": {"type": "null"}}, 1, ("type", ("null",))),
        ({"allOf": [{"minLength": 2}, {"maxLength": 9}]}, "a", ("minLength", 2)),
    ],
)
def test_a_keyword_reports_its_parameter(schema: dict[str, Any], value: object, expected: tuple[str, Any]) -> None:
    [violation] = violations(schema, value)
    assert (violation.keyword, violation.expected) == expected
    assert (violation.pointer, violation.value) == ("", value)


def test_where_a_violation_is() -> None:
    closed = {"type": "object", "properties": {"a/b": {"type": "string"}}, "additionalProperties": False}
    assert only(closed, {"a/b": 1}) == ("/a~1b", "type", ("string",))
    assert only(closed, {"x~y": 1}) == ("/x~0y", "additionalProperties", ("a/b",))
    assert only({"items": {"required": ["a"]}}, [{"a": 1}, {}]) == ("/1", "required", "a")
    assert only({"uniqueItems": True}, ["a", "b", "a"]) == ("/2", "uniqueItems", 0)
    assert only({"propertyNames": {"maxLength": 1}}, {"a": 1, "bc": 2}) == ("/bc", "maxLength", 1)
    assert only({"additionalProperties": {"type": "string"}}, {"a": "x", "b": 1}) == ("/b", "type", ("string",))


def test_a_violation_names_the_definition_it_breaks() -> None:
    document = {"name": "a", "left": {"name": 1}, "leaf": {"size": "big"}, "kids": [{}]}
    assert [(v.pointer, v.shape) for v in violations(TREE, document)] == [
        ("/left/name", "Tree"),
        ("/leaf/size", "Leaf"),
        ("/kids/0", "Tree"),
    ]


def test_the_result_is_in_document_order() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "required": ["z"],
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/definitions/Tree"}},
        "additionalProperties": False,
        "allOf": [{"required": ["y"]}, {"properties": {"c": {"minimum": 1}}}],
        "definitions": TREE["definitions"],
    }
    document = {"unknown": 0, "c": 0, "b": {"left": {"name": 1}, "name": 2, "kids": [{"name": 3}, 4]}, "a": 5}
    assert [(v.pointer, v.keyword) for v in violations(schema, document)] == [
        ("", "required"),
        ("", "required"),
        ("/unknown", "additionalProperties"),
        ("/c", "additionalProperties"),
        ("/c", "minimum"),
        ("/b/left/name", "type"),
        ("/b/name", "type"),
        ("/b/kids/0/name", "type"),
        ("/b/kids/1", "type"),
        ("/a", "type"),
    ]
    items: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 9}
    assert [(v.pointer, v.keyword) for v in violations(items, [1, "a", "a", 1, 2])] == [
        ("", "minItems"),
        ("/0", "type"),
        ("/2", "uniqueItems"),
        ("/3", "type"),
        ("/3", "uniqueItems"),
        ("/4", "type"),
    ]


@pytest.mark.parametrize("grow", [lambda tree: {"name": "n", "left": tree}, lambda tree: {"name": "n", "kids": [tree]}])
def test_nesting_is_not_limited_by_the_stack(grow: Any) -> None:
    tree: Any = {"name": "n"}
    for _ in range(10_000):
        tree = grow(tree)
    validator = compile_schema(TREE)
    assert validator.violations(tree) == []
    bottom = tree
    while bottom.get("left") or bottom.get("kids"):
        bottom = bottom.get("left") or bottom["kids"][0]
    bottom["name"] = 1
    [violation] = validator.violations(tree)
    assert violation.keyword == "type"
    assert violation.pointer.endswith("/name")
    assert len(pointer.decode(violation.pointer)) > 10_000


def test_alternatives_decide_on_deep_values_too() -> None:
    schema = {"anyOf": [{"$ref": "#/definitions/Tree"}, {"type": "null"}], "definitions": TREE["definitions"]}
    tree: Any = {"name": "n"}
    for _ in range(10_000):
        tree = {"name": "n", "left": tree}
    assert violations(schema, tree) == []
    tree["left"]["left"]["name"] = 1
    assert only(schema, tree) == ("", "anyOf", ("Tree", "null"))


def test_numbers_are_javascripts() -> None:
    assert violations({"type": "integer"}, 1.0) == []
    assert only({"type": "integer"}, 1.5)[1] == "type"
    for kind in ("number", "integer"):
        for value in (True, False, "1", INF, -INF):
            assert only({"type": kind}, value) == ("", "type", (kind,))
    assert violations({"type": ["integer", "number"]}, 1.5) == []
    assert violations({}, INF) == []
    assert violations({"enum": [1]}, 1.0) == []
    assert violations({"const": {"a": [1]}}, {"a": [1.0]}) == []
    assert only({"const": {"a": [1]}}, {"a": [True]})[1] == "const"


def test_lengths_are_code_points() -> None:
    schema = {"type": "string", "minLength": 2, "maxLength": 2}
    assert violations(schema, "\U0001f600\U0001f600") == []
    assert violations(schema, "\ud83dx") == []
    assert only(schema, "\U0001f600")[1] == "minLength"


@pytest.mark.parametrize(
    ("items", "pairs"),
    [
        (["a", "b"], []),
        ([1, 1.0], [(1, 0)]),
        ([1, True, 0, False], []),
        ([True, 1, True], [(2, 0)]),
        ([[1], [True]], []),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}], [(1, 0)]),
        ([{"a": 1}, {"a": 1, "b": 1}], []),
        ([[], {}, "", None, 0], []),
        ([["a", "b"], ["a"], ["b"], [["a"], "b"], ["a", ["b"]]], []),
        ([{"a": "b"}, {"b": "a"}, ["a", "b"]], []),
        (["x", [], "x", [], "x"], [(2, 0), (3, 1), (4, 0)]),
    ],
)
def test_duplicates(items: list[object], pairs: list[tuple[int, int]]) -> None:
    assert duplicates(items) == pairs


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 3),
        st.sampled_from([0.0, 1.0, 1.5, -2.0]),
        st.text("abé$", max_size=3),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=6))
def test_duplicates_are_what_deep_equality_finds(items: list[object]) -> None:
    expected = []
    for later, item in enumerate(items):
        first = next(i for i, other in enumerate(items) if js.deep_equal(item, other))
        if first != later:
            expected.append((later, first))
    assert duplicates(items) == expected


def _bounds(low: str, high: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={low: st.integers(0, 2), high: st.integers(0, 3)})


def _merged(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda dicts: {name: value for part in dicts for name, value in part.items()})


TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"]
MEMBERS = st.sampled_from("abc")


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any mix of the dialect's keywords, whether or not it makes sense."""
    typed = st.fixed_dictionaries(
        {}, optional={"type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), min_size=1, unique=True)}
    )
    required = st.lists(MEMBERS, unique=True, max_size=2)
    objects = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(MEMBERS, inner, max_size=2),
            "required": required,
            "additionalProperties": st.booleans() | inner,
            "propertyNames": st.fixed_dictionaries({"pattern": st.sampled_from(["^[ab]$", "c"])}),
        },
    )
    arrays = st.fixed_dictionaries({}, optional={"items": inner, "uniqueItems": st.booleans()})
    strings = st.fixed_dictionaries({}, optional={"pattern": st.sampled_from([r"^[ab]+$", r"\$", r"^\w*$", "a|é"])})
    general = st.one_of(
        st.just({}),
        st.fixed_dictionaries({"enum": st.lists(JSON, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"const": JSON}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
        st.fixed_dictionaries(
            {"if": st.builds(lambda name: {"type": "object", "required": [name]}, MEMBERS), "then": inner}
        ),
        st.sampled_from(["allOf", "anyOf", "oneOf"]).flatmap(
            lambda word: st.fixed_dictionaries({word: st.lists(inner, min_size=1, max_size=3)})
        ),
    )
    return _merged(
        typed,
        objects,
        arrays,
        strings,
        _bounds("minLength", "maxLength"),
        _bounds("minItems", "maxItems"),
        _bounds("minProperties", "maxProperties"),
        _bounds("minimum", "maximum"),
        _bounds("exclusiveMinimum", "exclusiveMaximum"),
        general,
    )


LEAVES = st.sampled_from([{}, True, False, {"$ref": "#/definitions/Tree"}])
SCHEMAS = st.recursive(LEAVES, _schemas, max_leaves=6).filter(
    lambda schema: isinstance(schema, dict) and "$ref" not in schema
)


@settings(max_examples=times(75, deep=4_000), deadline=None)
@given(SCHEMAS, JSON)
def test_any_schema_of_the_dialect_means_what_it_means_elsewhere(schema: dict[str, Any], value: Any) -> None:
    schema = {**schema, "definitions": TREE["definitions"]}
    found = violations(schema, value)
    assert jsonschema_rs.Draft7Validator(schema).is_valid(value) == (not found), found
    text = json.dumps(value, ensure_ascii=False)
    # It has Python's patterns: \w knows more letters there than in ECMAScript, and $ looks past a line end.
    if r"\\w" not in json.dumps(schema) or (text.isascii() and r"\n" not in text):
        assert jsonschema.Draft7Validator(schema).is_valid(value) == (not found), found


@settings(max_examples=times(50, deep=2_000), deadline=None)
@given(SCHEMAS, JSON)
def test_every_violation_points_to_its_value(schema: dict[str, Any], value: Any) -> None:
    found = violations({**schema, "definitions": TREE["definitions"]}, value)
    for violation in found:
        place = pointer.resolve(value, violation.pointer)
        named = pointer.decode(violation.pointer)[-1:]
        assert place is violation.value or violation.value in named  # a member's name can be the offender
    places = [_place(value, violation.pointer) for violation in found]
    assert places == sorted(places)


def _place(value: Any, where: str) -> list[int]:
    place = []
    for token in pointer.decode(where):
        place.append(list(value).index(token) if isinstance(value, dict) else int(token))
        value = value[token] if isinstance(value, dict) else value[int(token)]
    return place


@pytest.mark.parametrize(
    "schema",
    [
        {"format": "date"},
        {"items": {"contains": {}}},
        {"$ref": "#/definitions/A", "minLength": 1, "definitions": {"A": {}}},
        {"$ref": "https://example.invalid/schema.json"},
    ],
)
def test_what_is_outside_the_dialect_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        compile_schema(schema)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"^a$", ["a"], ["a\n", "ab"]),
        (r"^\d+$", ["09"], ["٣", ""]),
        (r"^\w$", ["a", "_"], ["é"]),
        (r"^\s$", [" ", "\ufeff", "\u2029"], ["\x1c", "\x85", "a"]),
        (r"^[\s]$", ["\ufeff"], ["\x1c"]),
        (r"^\S$", ["\x1c", "a"], [" "]),
        (r"^.$", ["a", "\x85", "\U0001f600"], ["\n", "\r", "\u2028", "\u2029"]),
        (r"^[$.]$", ["$", "."], ["a", ""]),
        (r"^\$\.$", ["$."], ["$a"]),
        (r"^a\/b$", ["a/b"], ["a\\/b"]),
        (r"^[[&~|-]+$", ["[", "&&", "~~", "||", "--"], ["a"]),
        (r"^(?<n>a)b$", ["ab"], ["b"]),
        (r"^(?<=)(?<!x)a$", ["a"], ["xa"]),
        (r"^é$", ["\u00e9"], ["e\u0301"]),
    ],
)
def test_patterns_are_ecmascript(pattern: str, matching: list[str], other: list[str]) -> None:
    schema = {"type": "string", "pattern": pattern}
    for text in matching:
        assert violations(schema, text) == []
    for text in other:
        assert only(schema, text) == ("", "pattern", pattern)


@pytest.mark.parametrize("pattern", [r"\p{L}", r"\u{1F600}", r"[\S]", r"(?<n>a)\k<n>", r"\cA", "[]", "[^]", "a\\"])
def test_a_pattern_without_equivalent_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError):
        python_pattern(pattern)


def test_checking_a_document_imports_nothing_heavy() -> None:
    # Without site packages, which bring in modules on their own account.
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from workrail_lint.documents.schema.engine import compile_schema
from workrail_lint.systems.schemas import load_schema
assert compile_schema(load_schema("workflow")).violations({"id": "x"})
print(sorted({"pydantic", "jsonschema", "pluggy", "dataclasses", "inspect", "pathlib"} & sys.modules.keys()))
"""
    root = Path(engine.__file__).parents[3]
    command = [sys.executable, "-I", "-S", "-c", program, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


# ------------------------------------------------------------------------------------------------- alternatives

TAGGED: dict[str, Any] = {
    "oneOf": [
        {"type": "object", "required": ["kind", "n"], "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}},
        {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "b"}}, "additionalProperties": False},
    ]
}
TYPED: dict[str, Any] = {"oneOf": [{"type": "string", "minLength": 2}, {"type": "array", "items": {"type": "string"}}]}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (TAGGED, {"kind": "a"}, ("", "required", "n")),
        (TAGGED, {"kind": "b", "n": 1}, ("/n", "additionalProperties", ("kind",))),
        (TAGGED, {"kind": "c"}, ("/kind", "enum", ("a", "b"))),
        (TAGGED, {"kind": ["a"]}, ("/kind", "enum", ("a", "b"))),
        (TAGGED, {}, ("", "required", "kind")),
        (TAGGED, 7, ("", "type", ("object",))),
        (TYPED, "x", ("", "minLength", 2)),
        (TYPED, ["x", 1], ("/1", "type", ("string",))),
        (TYPED, 7, ("", "oneOf", ("string", "array"))),
    ],
)
def test_alternatives_that_differ_in_a_constant_or_a_type_are_a_switch(
    schema: dict[str, Any], value: object, expected: tuple[str, str, Any]
) -> None:
    assert only(schema, value) == expected
    assert not jsonschema.Draft7Validator(schema).is_valid(value)


_KINDS = st.sampled_from(["a", "b", "c", 1, None])
_MEMBERS = st.dictionaries(st.sampled_from(["kind", "n", "m"]), st.one_of(_KINDS, st.integers(0, 2)), max_size=3)


@st.composite
def _unions(draw: st.DrawFn) -> dict[str, Any]:
    """Alternatives that are nearly, but not always, told apart by a constant or a type."""

    def alternative() -> dict[str, Any]:
        members: dict[str, Any] = draw(
            st.dictionaries(
                st.sampled_from(["kind", "n"]),
                st.sampled_from([{"const": "a"}, {"const": "b"}, {"type": "integer"}, {}]),
            )
        )
        schema: dict[str, Any] = {"properties": members}
        if draw(st.booleans()):
            schema["required"] = sorted(members)
        kind = draw(st.sampled_from(["object", "object", "string", None]))
        return schema | ({"type": kind} if kind else {})

    return {"oneOf": [alternative() for _ in range(draw(st.integers(1, 3)))]}


@given(_unions(), st.one_of(_MEMBERS, st.sampled_from(["a", 1, None])))
def test_a_switch_decides_as_one_of_does(schema: dict[str, Any], value: Any) -> None:
    assert (violations(schema, value) == []) is jsonschema.Draft7Validator(schema).is_valid(value)


# ------------------------------------------------------------------------------------------------ contract packs


def test_lengths_may_be_utf_16_code_units_from_there_on_down() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 1}}}
    assert violations(inner, {"a": "\U0001f600"}) == []
    assert only({**inner, "x-lengthUnit": "u16"}, {"a": "\U0001f600"}) == ("/a", "maxLength", 1)


def test_an_object_mode_closes_an_object() -> None:
    assert only({"type": "object", "x-objectMode": "strict"}, {"a": 1}) == ("/a", "additionalProperties", ())
    assert violations({"type": "object", "x-objectMode": "strip"}, {"a": 1}) == []


def test_violations_in_the_order_of_the_schema() -> None:
    schema = {
        "type": "object",
        "required": ["b", "a"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "enum": ["x"]},
            "c": {"minLength": 9, "pattern": "z"},
        },
        "additionalProperties": False,
    }
    found = compile_schema(schema, by_schema=True).violations({"d": 1, "c": "y", "b": 7})
    assert [(each.pointer, each.keyword) for each in found] == [
        ("", "required"),
        ("/b", "enum"),
        ("/c", "minLength"),
        ("/c", "pattern"),
        ("/d", "additionalProperties"),
    ]


def test_patterns_of_others_are_left_to_a_matcher() -> None:
    asked = []

    def matches(pattern: str, text: str) -> bool:
        asked.append((pattern, text))
        return False

    validator = compile_schema({"type": "string", "pattern": "(a+)+$"}, by_schema=True, matches=matches)
    assert [each.keyword for each in validator.violations("aaa")] == ["pattern"]
    assert asked == [("(a+)+$", "aaa")]


def test_a_violation_knows_its_member() -> None:
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"list": {"type": "array", "items": {"type": "string"}}},
        "additionalProperties": False,
    }
    assert [each.member for each in violations(schema, {"list": ["x", 1], "0": 1})] == ["a", "list", "0"]
