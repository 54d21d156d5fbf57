"""Settling a condition: what is found settles it, and what can be settled is found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.agents.correct import solve, solve_all
from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.protocol.requests import merged
from workrail_lint.systems.workrail.model.build import unchecked_condition

LEAVES = [
    {"var": "a", "equals": "x"},
    {"var": "a", "not_equals": "x"},
    {"var": "a", "equals": 3},
    {"var": "a", "equals": True},
    {"var": "a", "equals": None},
    {"var": "a", "gt": 3},
    {"var": "a", "gte": 3},
    {"var": "a", "lt": 3},
    {"var": "a", "lte": 2.5},
    {"var": "a", "contains": "needle"},
    {"var": "a", "startsWith": "pre"},
    {"var": "a", "endsWith": "post"},
    {"var": "a", "matches": "^v[0-9]+$"},
    {"var": "a", "in": ["x", 2]},
    {"var": "a"},
]


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("condition", LEAVES, ids=str)
@pytest.mark.parametrize("context", [{}, {"a": "x"}, {"a": 7}], ids=str)
def test_every_comparison_both_ways(condition: dict[str, Any], wanted: bool, context: dict[str, Any]) -> None:
    change = solve(unchecked_condition(condition), wanted, context, {})
    assert change is not None
    assert evaluate(condition, merged(context, change)) is wanted


def test_nothing_is_changed_without_need() -> None:
    assert solve(unchecked_condition({"var": "a", "equals": 1}), True, {"a": 1}, {}) == {}
    assert solve(None, True, {}, {}) == {}


def test_the_fewest_variables_are_changed() -> None:
    condition = {"and": [{"var": "a"}, {"var": "b"}, {"or": [{"var": "c"}, {"var": "d"}]}]}
    change = solve(unchecked_condition(condition), True, {"b": 1}, {})
    assert change is not None
    assert len(change) == 2
    assert solve(unchecked_condition(condition), False, {"a": 1, "b": 1, "c": 1}, {}) == {"c": False}


def test_what_lies_on_top_or_is_kept_can_not_be_changed() -> None:
    condition = {"or": [{"var": "round", "lt": 3}, {"var": "more"}]}
    assert solve(unchecked_condition(condition), False, {"more": True}, {"round": 5}) == {"more": False}
    assert solve(unchecked_condition(condition), False, {}, {"round": 1}) is None
    assert solve(unchecked_condition({"var": "goal", "equals": "x"}), True, {"goal": "y"}, {}, kept=("goal",)) is None


def test_what_can_not_be_settled() -> None:
    assert solve(unchecked_condition({"and": [{"var": "a", "gt": 3}, {"var": "a", "lt": 2}]}), True, {}, {}) is None
    assert solve(unchecked_condition({"not": {}}), True, {}, {}) is None
    assert solve(unchecked_condition({"var": "a", "equals": [1]}), True, {}, {}) is None


def conditions() -> st.SearchStrategy[Any]:
    leaves = st.builds(lambda leaf, name: {**leaf, "var": name}, st.sampled_from(LEAVES), st.sampled_from("abc"))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: {"and": parts}),
            st.lists(inner, max_size=3).map(lambda parts: {"or": parts}),
            inner.map(lambda part: {"not": part}),
        ),
        max_leaves=5,
    )


@given(conditions(), st.booleans(), st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", 3, True, "needle"])))
def test_whatever_is_found_settles_it(condition: Any, wanted: bool, context: dict[str, Any]) -> None:
    change = solve(unchecked_condition(condition), wanted, context, {})
    if change is not None:
        assert evaluate(condition, merged(context, change)) is wanted


def test_several_conditions_at_once() -> None:
    small, large, set_b = map(unchecked_condition, ({"var": "a", "lt": 3}, {"var": "a", "gt": 1}, {"var": "b"}))
    assert solve_all([(small, True), (large, True)], {}, {}) == {"a": 2}
    assert solve_all([(small, True), (large, False), (set_b, True)], {"a": 1}, {}) == {"b": True}
    assert solve_all([(small, True), (small, False)], {}, {}) is None
    assert solve_all([(large, True)], {}, {"a": 1}) is None


def test_what_belongs_to_the_host_is_not_set() -> None:
    for name in ("__proto__", "eat_token"):
        assert solve(unchecked_condition({"var": name}), True, {}, {}) is None
        assert solve(unchecked_condition({"var": name}), True, {name: "x"}, {}) == {}
    assert solve(unchecked_condition({"var": "metrics_outcome"}), True, {}, {}) == {"metrics_outcome": "success"}
    assert solve(unchecked_condition({"var": "metrics_outcome", "equals": "great"}), True, {}, {}) is None
