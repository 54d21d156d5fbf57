"""Prose criteria."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.criteria import MAX_BYTES, MAX_LINES, Validation, criteria_lines, evaluate_criteria
from workrail_lint.base.result import Err

REVIEW = "Review validation criteria and adjust output accordingly."
COMPOSITION = Validation(False, ("Validation composition failed",), (REVIEW,))
VALID = Validation(True)


def _contains(value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "contains", "value": value, "message": f"wants {value}", **more}


BROKEN = {"type": "regex", "pattern": "(", "message": "m"}


def _verdict(criteria: object, text: str = "some text", context: dict[str, Any] | None = None) -> Validation:
    return evaluate_criteria(criteria, text, context or {}).value


@pytest.mark.parametrize(
    ("rule", "text", "valid"),
    [
        ({"type": "contains", "value": "Text"}, "some text", False),
        ({"type": "contains", "value": "text"}, "some text", True),
        ({"type": "contains", "value": 5}, "5", False),
        ({"type": "contains"}, "text", False),
        ({"type": "regex", "pattern": "^some$", "flags": "m"}, "a\nsome", True),
        ({"type": "regex", "pattern": "^some$"}, "a\nsome", False),
        ({"type": "regex", "pattern": r"^\s*$"}, "\ufeff", True),
        ({"type": "regex"}, "anything", True),
        ({"type": "length", "min": 2}, "\U0001f600", True),
        ({"type": "length", "max": 1}, "\U0001f600", False),
        ({"type": "length"}, "", True),
        ({"type": "length", "min": "3"}, "ab", False),
        ({"type": "schema"}, "{}", False),
        ({"type": "schema", "schema": {"type": "object"}}, "{", False),
        ({"type": "schema", "schema": {"type": "object"}}, "{}", True),
        ({"type": "schema", "schema": {"type": "number"}}, "NaN", False),
        ({"type": "schema", "schema": {"type": "object"}}, '"{\\"a\\":1}"', True),
        ({"type": "schema", "schema": {"anyOf": [{"required": ["a"]}]}}, '"{\\"a\\":1}"', True),
        ({"type": "schema", "schema": {"type": "string"}}, '"{\\"a\\":1}"', True),
        ({"type": "schema", "schema": {"type": ["array", "null"]}}, '"[1]"', True),
        ({"type": "schema", "schema": {"type": "object"}}, '"words"', False),
        ({"type": "schema", "schema": {"pattern": r"^\d$"}}, '"\uff11"', False),
        ({"type": "schema", "schema": {"patternProperties": {"^a$": {"type": "number"}}}}, '{"a": "x"}', False),
        ({"type": "schema", "schema": {"patternProperties": {"^a$": {"type": "number"}}}}, '{"b": "x"}', True),
        ({"type": "schema", "schema": True}, "1", True),
        ({"type": "schema", "schema": {"$ref": "http://json-schema.org/draft-07/schema#"}}, '{"type": 5}', False),
        ({"type": "schema", "schema": {"$ref": "http://json-schema.org/draft-07/schema#"}}, '{"type": "null"}', True),
        ({"type": "schema", "schema": {}}, "[" * 100_000, False),
    ],
)
def test_rules(rule: dict[str, Any], text: str, valid: bool) -> None:
    assert _verdict([{"message": "m", **rule}], text).valid is valid


@pytest.mark.parametrize(
    "criteria",
    [
        [BROKEN],
        [{"type": "regex", "pattern": "a", "flags": "zz", "message": "m"}],
        [{"type": "other", "message": "m"}],
        [{"message": "m"}],
        ["("],
        [["text"]],
        {"and": ["text"]},
        {"and": [5]},
        {"and": "x"},
        {"nor": []},
        {"or": [{"not": [1]}]},
        [{"type": "schema", "schema": {"type": "nonsense"}, "message": "m"}],
        [{"type": "schema", "schema": {"$ref": "https://example.invalid/s.json"}, "message": "m"}],
        [{"type": "schema", "schema": {"$ref": "#"}, "message": "m"}],
        [{"type": "schema", "schema": {"type": "string", "pattern": "("}, "message": "m"}],
        [{"type": "schema", "schema": {"properties": {"unused": {"pattern": "("}}}, "message": "m"}],
        [{"type": "schema", "schema": {"$ref": "#/definitions/none"}, "message": "m"}],
        [{"type": "schema", "schema": "text", "message": "m"}],
        "words",
    ],
)
def test_criteria_that_can_not_be_evaluated(criteria: object) -> None:
    assert isinstance(evaluate_criteria(criteria, '"x"', {}), Err)


def test_an_endless_pattern_is_an_evaluation_error() -> None:
    endless = {"type": "regex", "pattern": "^(?:a|a|aa)+$", "message": "m"}
    assert isinstance(evaluate_criteria([endless, endless], "a" * 60 + "!", {}, time_limit=0.1), Err)
    schema = {"type": "schema", "schema": {"pattern": "^(?:a|a|aa)+$"}, "message": "m"}
    assert isinstance(evaluate_criteria([schema], f'"{"a" * 60}!"', {}, time_limit=0.1), Err)


def test_a_list_reports_every_rule_that_fails() -> None:
    rules = [_contains("## Risks"), _contains("text"), {"type": "length", "min": 20, "message": "Too short"}]
    assert _verdict(rules) == Validation(False, ("wants ## Risks", "Too short"), (REVIEW,))
    assert _verdict([_contains("some")]) == VALID


def test_a_bare_string_in_a_list_is_a_pattern() -> None:
    assert _verdict(["^Some", "TEXT$"], "Some TEXT") == VALID
    assert _verdict(["^some", "x{3}"], "Some text").issues == (
        "Output does not match pattern: ^some",
        "Output does not match pattern: x{3}",
    )


def test_a_composition_says_only_that_it_failed() -> None:
    rules = {"and": [_contains("## Risks"), {"type": "length", "min": 20, "message": "Too short"}]}
    assert _verdict(rules, "short") == COMPOSITION
    assert _verdict(rules, "## Risks\nNone that matter.") == VALID


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ({"or": [_contains("text"), BROKEN]}, VALID),
        ({"and": [_contains("nope"), BROKEN]}, COMPOSITION),
        ({"not": _contains("nope")}, VALID),
        ({"not": {"not": _contains("nope")}}, COMPOSITION),
        ({"and": []}, VALID),
        ({"or": []}, COMPOSITION),
        ({"and": [{}]}, VALID),
        ({}, VALID),
        (_contains("text"), VALID),
        (_contains("nope"), Validation(False, ("wants nope",), (REVIEW,))),
    ],
)
def test_compositions(criteria: object, expected: Validation) -> None:
    assert _verdict(criteria) == expected


def test_deep_compositions_cost_no_stack() -> None:
    criteria: dict[str, Any] = _contains("text")
    for _ in range(5_000):
        criteria = {"and": [{"not": {"not": criteria}}]}
    assert _verdict(criteria) == VALID


def test_a_rule_can_be_conditional() -> None:
    rule = _contains("nope", condition={"var": "strict"})
    assert _verdict([rule]) == VALID
    assert not _verdict([rule], context={"strict": True}).valid
    assert _verdict({"not": rule}) == COMPOSITION


def test_messages_have_defaults() -> None:
    rules = [
        {"type": "contains", "value": "x", "message": ""},
        {"type": "regex", "pattern": "^z", "message": ""},
        {"type": "length", "min": 9, "max": 3, "message": ""},
        {"type": "schema", "schema": {}, "message": ""},
    ]
    issues = _verdict(rules, "abcd").issues
    assert len(issues) == 5
    assert "x" in issues[0]
    assert "^z" in issues[1]
    assert "9" in issues[2]
    assert "3" in issues[3]


@pytest.mark.parametrize(
    ("message", "hinted"),
    [('Needs "{', True), ("Needs ` [", True), ("Needs '\n{a}'", True), ("Needs {a}", False), ('"a {', False)],
)
def test_quoted_json_gets_a_hint(message: str, hinted: bool) -> None:
    suggestions = _verdict([{"type": "contains", "value": "zz", "message": message}]).suggestions
    assert suggestions[-1] == REVIEW
    assert (len(suggestions) == 2) is hinted


@pytest.mark.parametrize(("text", "valid"), [("words", True), (" \ufeff\n", False), ("\x85", True)])
def test_without_criteria_any_words_will_do(text: str, valid: bool) -> None:
    for nothing in (None, []):
        verdict = _verdict(nothing, text)
        assert verdict.valid is valid
        assert bool(verdict.issues) is bool(verdict.suggestions) is not valid


_rules = st.fixed_dictionaries(
    {"type": st.sampled_from(["contains", "regex", "length", "schema", "odd"])},
    optional={
        "message": st.text(max_size=5),
        "value": st.text(max_size=2) | st.integers(),
        "pattern": st.sampled_from(["a", "(", "^$", ".*"]),
        "flags": st.sampled_from(["", "i", "zz"]),
        "min": st.integers(-1, 5),
        "max": st.integers(-1, 5),
        "schema": st.sampled_from([{}, {"type": "object"}, {"type": 5}, None, "x"]),
        "condition": st.sampled_from([{}, {"var": "zz"}, {"not": {}}]),
    },
)
_criteria = st.recursive(
    _rules | st.lists(_rules, max_size=3) | st.none() | st.integers(),
    lambda c: st.fixed_dictionaries(
        {}, optional={"and": st.lists(c, max_size=3), "or": st.lists(c, max_size=3), "not": c}
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(_criteria, st.text(max_size=6))
def test_evaluation_is_total(criteria: object, text: str) -> None:
    verdict = evaluate_criteria(criteria, text, {})
    if not isinstance(verdict, Err):
        assert verdict.value.valid is not bool(verdict.value.issues)
        assert bool(verdict.value.issues) is bool(verdict.value.suggestions)
        assert evaluate_criteria(criteria, text, {}) == verdict


LONG = {"type": "object", "title": "x" * 600}


@pytest.mark.parametrize(
    ("criteria", "lines"),
    [
        (["^a", {"type": "regex", "pattern": "b"}], ["Must match pattern: ^a", "Must match pattern: b"]),
        ({"type": "regex", "pattern": "b", "flags": "im"}, ["Must match pattern: b (flags: im)"]),
        ({"and": ["a", _contains("b")]}, ['Must contain: "b"']),
        ({"or": [_contains("a"), {"and": [_contains("b"), _contains("c")]}, "d"]},
         ['One of: Must contain: "a"; Must contain: "b" and Must contain: "c"']),
        ({"or": ["d"]}, []),
        ({"not": _contains("a")}, ['Not: Must contain: "a"']),
        ({"not": "a"}, []),
        ({"type": "length", "min": 0}, ["Length: ≥0 chars"]),
        ({"type": "length", "max": 9}, ["Length: ≤9 chars"]),
        ({"type": "length", "min": 1, "max": 9}, ["Length: ≥1 chars, ≤9 chars"]),
        ([{"type": "length"}, {"type": "contains", "value": ""}, {"type": "regex"}, {"type": "schema"}, 5], []),
        ({"type": "schema", "schema": {"b": 1, "a": 2}}, ['Must be JSON that fits: {"a":2,"b":1}']),
        ({"type": "schema", "schema": LONG}, [f'Must be JSON that fits: {{"title":"{"x" * 502}']),
        (_contains("a", condition={"var": "v"}), ['Must contain: "a" (when v truthy)']),
        (_contains("a", condition={"var": "v", "gt": 3}), ['Must contain: "a" (when v gt 3)']),
        (_contains("a", condition={"and": [{"var": "v"}]}), ['Must contain: "a" (under a condition)']),
        (_contains("a", condition={}), ['Must contain: "a"']),
    ],
)  # fmt: skip
def test_criteria_are_shown_in_lines(criteria: object, lines: list[str]) -> None:
    assert criteria_lines(criteria) == lines


def test_as_many_criteria_are_shown_as_fit() -> None:
    rules = [_contains(str(number)) for number in range(MAX_LINES + 2)]
    assert len(criteria_lines(rules[:MAX_LINES])) == MAX_LINES
    shown = criteria_lines(rules)
    assert (len(shown), shown[-2:]) == (MAX_LINES + 1, [f'Must contain: "{MAX_LINES - 1}"', "… and 2 more"])
    room = MAX_BYTES - len('Must contain: ""')
    for size, last in ((room, "x" * room + '"'), (room + 1, "… and 1 more")):
        assert criteria_lines([_contains("x" * size)])[-1].endswith(last)
    # Bytes are counted, not characters, over all lines.
    half = "ä" * (room // 4)
    assert criteria_lines([_contains(half)] * 3)[1:] == ["… and 2 more"]
