"""The condition language."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.conditions import (
    _COMPARISONS,
    evaluate,
    lenient_equal,
    passed_summary,
    skipped_summary,
)

_MISSING = object()


def _context(value: object) -> dict[str, Any]:
    return {} if value is _MISSING else {"a": value}


@pytest.mark.parametrize(
    ("comparison", "value", "expected"),
    [
        ({}, "false", True),
        ({}, 0, False),
        ({}, [], True),
        ({}, _MISSING, False),
        ({"equals": None}, _MISSING, True),
        ({"equals": None}, 0, False),
        ({"equals": 5}, "5", True),
        ({"equals": 5}, " 5 ", True),
        ({"equals": 5}, "5.0", True),
        ({"equals": 5}, "abc", False),
        ({"equals": 0}, "", True),
        ({"equals": 16}, "0x10", True),
        ({"equals": "5.0"}, 5, True),
        ({"equals": "abc"}, 5, False),
        ({"equals": "[1]"}, [1], False),
        ({"equals": "Yes"}, True, True),
        ({"equals": True}, "Yes", True),
        ({"equals": True}, "1", True),
        ({"equals": True}, 1, False),
        ({"equals": True}, "on", False),
        ({"equals": False}, _MISSING, False),
        ({"equals": [1]}, [1], False),
        ({"not_equals": "x"}, _MISSING, True),
        ({"gt": 3}, "4", False),
        ({"gt": None}, 1, True),
        ({"contains": "2"}, [1, 2], True),
        ({"contains": ""}, _MISSING, True),
        ({"matches": "^$"}, _MISSING, True),
        ({"in": ["X", 1, True]}, "x", True),
        ({"in": ["X", 1, True]}, "1", True),
        ({"in": [None]}, _MISSING, True),
        # beyond the table
        ({"gt": 3}, True, False),
        ({"gt": "3"}, 4, True),
        ({"gte": float("nan")}, 4, False),
        ({"startsWith": " AB "}, "abc", True),
        ({"endsWith": "BC"}, " abc ", True),
        ({"matches": "("}, "(", False),
        ({"matches": "^A$"}, " a ", True),
        ({"in": "x"}, "x", False),
        ({"equals": 1, "not_equals": 1}, 1, True),
        ({"and": [{"var": "zz"}]}, 1, True),
    ],
)
def test_comparisons(comparison: dict[str, Any], value: object, expected: bool) -> None:
    assert evaluate({"var": "a", **comparison}, _context(value)) is expected


@pytest.mark.parametrize("absent", [None, {}, [], "text", 5, True])
def test_no_condition_holds(absent: object) -> None:
    assert evaluate(absent, {})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"and": []}, True),
        ({"or": []}, False),
        ({"and": [{}]}, False),
        ({"not": {}}, False),
        ({"not": None}, False),
        ({"not": {"var": "zz"}}, True),
        ({"or": [{"foo": 1}, {"var": "a"}]}, False),
        ({"or": [{"var": "a"}, {"foo": 1}]}, True),
        ({"and": [{"var": "zz"}, {"foo": 1}]}, False),
        ({"not": {"and": [{"var": "a"}, {"foo": 1}]}}, False),
        ({"not": {"or": [{"var": "zz"}, {"var": "a", "in": 5}]}}, False),
        ({"and": "x"}, False),
        ({"or": {"var": "a"}}, False),
        ([1], False),
        ({"foo": 1}, False),
        ({"var": None}, False),
    ],
)
def test_combinations_and_errors(condition: object, expected: bool) -> None:
    assert evaluate(condition, {"a": 1}) is expected


def test_a_variable_name_is_text_and_never_a_path() -> None:
    assert evaluate({"var": None}, {"null": 1})
    assert evaluate({"var": 1.0}, {"1": "x"})
    assert not evaluate({"var": "a.b"}, {"a": {"b": 1}})


@pytest.mark.parametrize(("depth", "expected"), [(10_000, True), (10_001, False)])
def test_deep_negation_costs_no_stack(depth: int, expected: bool) -> None:
    condition: dict[str, Any] = {"var": "a"}
    for _ in range(depth):
        condition = {"not": condition}
    assert evaluate(condition, {"a": 1}) is expected


def test_deep_combination_costs_no_stack() -> None:
    condition: dict[str, Any] = {"var": "a"}
    for _ in range(5_000):
        condition = {"and": [{"or": [condition]}]}
    assert evaluate(condition, {"a": 1})


def test_a_pattern_that_takes_too_long_makes_the_condition_false(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_workrail.engine.core.conditions.DEFAULT_TIMEOUT", 0.02)
    endless = {"var": "a", "matches": "^(?:a|a|aa)+$"}
    context = {"a": "a" * 60 + "!"}
    assert not evaluate(endless, context)
    assert not evaluate({"not": endless}, context)


@pytest.mark.parametrize(
    ("condition", "passed", "skipped"),
    [
        ({"var": "severity", "gte": 3}, "PASS: severity=5 (gte: 3)", "SKIP: severity (gte)"),
        ({"var": "severity"}, "PASS: severity=5 (condition)", "SKIP: severity (condition)"),
        ({"var": "zz", "equals": None}, "PASS: zz=(unset) (equals: null)", "SKIP: zz (equals)"),
        ({"var": "list", "in": ["x", 1.0]}, 'PASS: list=1,2 (in: ["x",1])', "SKIP: list (in)"),
        ({"or": []}, "PASS: or-condition met", "SKIP: or-condition not met"),
        ({"var": "a", "not": {}, "and": []}, "PASS: and-condition met", "SKIP: and-condition not met"),
        ({}, "PASS: condition met", "SKIP: condition not met"),
        ({"var": ""}, "PASS: condition met", "SKIP: condition not met"),
        ([], "PASS: condition met", "SKIP: condition not met"),
    ],
)
def test_summaries(condition: object, passed: str, skipped: str) -> None:
    context = {"severity": 5, "list": [1, 2]}
    assert passed_summary(condition, context) == passed
    assert skipped_summary(condition) == skipped


_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
_values = st.recursive(
    _scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3)
)
_leaves = st.fixed_dictionaries(
    {"var": st.sampled_from(["a", "b", "zz"])},
    optional=dict.fromkeys(sorted(_COMPARISONS.keys() - {"matches"}), _values),
)
_conditions = st.recursive(
    _leaves | st.dictionaries(st.text(max_size=3), _values, max_size=2) | _values,
    lambda c: st.fixed_dictionaries(
        {}, optional={"and": st.lists(c, max_size=3), "or": st.lists(c, max_size=3), "not": c}
    ),
)


@settings(deadline=None)
@given(_conditions, st.dictionaries(st.sampled_from(["a", "b"]), _values))
def test_evaluation_is_total_and_repeatable(condition: object, context: dict[str, Any]) -> None:
    result = evaluate(condition, context)
    assert isinstance(result, bool)
    assert evaluate(condition, context) is result


@settings(deadline=None)
@given(st.text(max_size=12), st.text(max_size=12))
def test_any_pattern_and_text_give_an_answer(pattern: str, text: str) -> None:
    assert isinstance(evaluate({"var": "a", "matches": pattern}, {"a": text}), bool)


@settings(deadline=None)
@given(_leaves, st.dictionaries(st.sampled_from(["a", "b"]), _values))
def test_double_negation_and_single_members_change_nothing(leaf: dict[str, Any], context: dict[str, Any]) -> None:
    plain = evaluate(leaf, context)
    assert evaluate({"and": [leaf]}, context) is plain
    assert evaluate({"or": [leaf]}, context) is plain
    assert evaluate({"not": {"not": leaf}}, context) is plain


@settings(deadline=None)
@given(_values, _values)
def test_lenient_equality_is_symmetric(a: object, b: object) -> None:
    assert lenient_equal(a, b) is lenient_equal(b, a)


@settings(deadline=None)
@given(_values)
def test_not_equals_is_the_opposite_of_equals(value: object) -> None:
    context = {"a": value}
    for expected in (None, True, 0, "", "x", [1]):
        equal = evaluate({"var": "a", "equals": expected}, context)
        assert evaluate({"var": "a", "not_equals": expected}, context) is not equal
