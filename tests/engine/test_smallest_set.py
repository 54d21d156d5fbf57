"""The smallest set of variables that makes a condition hold, held against a search through all of them."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.smallest_set import MAX_ALTERNATIVES, ConditionSolver

C1 = {
    "and": [
        {"var": "depth", "in": ["full", "deep"]},
        {"or": [{"var": "skipDeep", "not_equals": True}, {"var": "forced", "equals": True}]},
    ]
}


@pytest.mark.parametrize(
    ("condition", "context", "patch"),
    [
        (C1, {}, {"depth": "full"}),
        (C1, {"skipDeep": True}, {"depth": "full", "forced": True}),
        ({"or": [{"and": [{"var": "a"}, {"var": "b"}]}, {"var": "score", "gte": 3}]}, {}, {"score": 3}),
        ({"and": [{"var": "n", "gt": 2}, {"var": "n", "lt": 3}]}, {}, {"n": 2.5}),
        ({"not": {"var": "mode", "equals": None}}, {}, {"mode": True}),
        ({"and": [{"var": "x", "equals": 1}, {"var": "x", "equals": 2}]}, {}, None),
        # Every operator on its own.
        ({"var": "x"}, {}, {"x": True}),
        ({"var": "x", "equals": "Full"}, {}, {"x": "Full"}),
        ({"var": "x", "equals": False}, {}, {"x": False}),
        ({"not": {"var": "x", "not_equals": "a"}}, {}, {"x": "a"}),
        ({"var": "x", "gt": 2.5}, {}, {"x": 3}),
        ({"var": "x", "lt": 2.5}, {}, {"x": 2}),
        ({"var": "x", "gte": 2.5}, {}, {"x": 2.5}),
        ({"var": "x", "lte": -1}, {}, {"x": -1}),
        ({"var": "x", "contains": "mid"}, {}, {"x": "mid"}),
        ({"var": "x", "matches": "^v[0-9]$"}, {}, {"x": "v1"}),
        ({"and": [{"var": "x", "startsWith": "a"}, {"var": "x", "endsWith": "z"}]}, {}, {"x": "az"}),
        ({"and": [{"var": "x", "in": ["a", "b"]}, {"not": {"var": "x", "equals": "a"}}]}, {}, {"x": "b"}),
        ({"and": [{"var": "x"}, {"not": {"var": "x", "contains": "true"}}]}, {}, {"x": "other"}),
        ({"var": "metrics_outcome", "not_equals": None}, {}, {"metrics_outcome": "success"}),
        # What no agent can set, and what can't be evaluated.
        ({"var": "eat_token"}, {}, None),
        ({"var": "constructor"}, {}, None),
        ({"var": ""}, {}, None),
        ({"var": "x" * 257}, {}, None),
        ({"or": [{"var": "x", "in": "no list"}, {"var": "y"}]}, {}, None),
        ({"or": [{"var": "y"}, {"var": "x", "in": "no list"}]}, {}, {"y": True}),
        ({"not": {}}, {}, None),
        ([{"var": "x"}], {}, None),
        # Siblings that the language ignores are not read.
        ({"var": "x", "and": [{"var": "y"}]}, {}, {"x": True}),
        # Variables with a value are left alone.
        ({"and": [{"var": "x", "equals": 1}, {"var": "y"}]}, {"x": 2}, None),
    ],
)
def test_what_is_asked_for(condition: Any, context: dict[str, Any], patch: Any) -> None:
    """@enforces unset-set-smallest"""
    found = ConditionSolver(condition).smallest(True, context)
    assert found == patch
    if found:
        assert [type(value) for value in found.values()] == [type(value) for value in patch.values()]


def test_fixed_variables_stay_unset() -> None:
    solver = ConditionSolver({"or": [{"var": "a"}, {"var": "b"}]})
    assert solver.smallest(True, {}) == {"a": True}
    assert solver.smallest(True, {}, {"a"}) == {"b": True}
    assert solver.smallest(True, {}, {"a", "b"}) is None


def test_too_many_alternatives_are_given_up() -> None:
    members = [{"and": [{"var": f"v{row}{column}"} for column in range(4)]} for row in range(8)]
    solver = ConditionSolver({"not": {"and": [{"not": {"or": members}}, {"var": "z"}]}})
    assert MAX_ALTERNATIVES < 4**7
    assert (solver.smallest(True, {"z": True}), solver.is_possible(True)) == (None, True)


def test_as_many_alternatives_as_are_looked_at() -> None:
    groups = [[{"var": f"v{group}{number}", "equals": "on"} for number in range(4)] for group in range(6)]
    most = {"and": [{"or": group} for group in groups]}
    assert MAX_ALTERNATIVES == 4**6
    assert ConditionSolver(most).smallest(True, {}) == {f"v{group}0": "on" for group in range(6)}
    one_more = {"or": [most, {"var": "last", "equals": "on"}]}
    assert ConditionSolver(one_more).smallest(True, {}) is None


def test_a_condition_too_deep_to_read_is_given_up() -> None:
    condition: Any = {"var": "x"}
    for _ in range(3000):
        condition = {"not": {"not": condition}}
    solver = ConditionSolver(condition)
    assert (solver.smallest(True, {}), solver.is_possible(True)) == (None, True)


# ------------------------------------------------------------------------------------------------- the whole search

NAMES = ("a", "b", "c")
WORDS = ("full", "deep", "none")
NUMBERS = (1, 2, 3)
# On both sides of everything the conditions below compare with, and nothing the solver made up.
POOL: tuple[Any, ...] = (*WORDS, "else", "", True, False, *NUMBERS, 0, -9, 99, 1.5, 2.5)


def _comparison() -> st.SearchStrategy[dict[str, Any]]:
    name = st.sampled_from(NAMES).map(lambda each: {"var": each})
    operand = st.sampled_from([*WORDS, *NUMBERS, True, False, None])
    number = st.sampled_from(NUMBERS)
    tails = st.one_of(
        st.just({}),
        st.sampled_from(("equals", "not_equals")).flatmap(lambda key: operand.map(lambda value: {key: value})),
        st.sampled_from(("gt", "gte", "lt", "lte")).flatmap(lambda key: number.map(lambda value: {key: value})),
        st.lists(operand, max_size=3).map(lambda values: {"in": values}),
    )
    return st.tuples(name, tails).map(lambda parts: {**parts[0], **parts[1]})


CONDITIONS = st.recursive(
    _comparison(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda members: {"and": members}),
        st.lists(inner, max_size=3).map(lambda members: {"or": members}),
        inner.map(lambda member: {"not": member}),
    ),
    max_leaves=6,
)
CONTEXTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(POOL), max_size=2)


def _exhaustive(condition: Any, wanted: bool, context: dict[str, Any], order: tuple[str, ...]) -> list[str] | None:
    """The variables of the smallest change, by trying every value of every set of variables."""
    free = [name for name in order if name not in context]
    for size in range(len(free) + 1):
        for names in combinations(free, size):
            for values in product(POOL, repeat=size):
                if evaluate(condition, {**context, **dict(zip(names, values, strict=True))}) is wanted:
                    return list(names)
    return None


@settings(deadline=None, max_examples=times(50, deep=3_000))
@given(CONDITIONS, CONTEXTS, st.booleans())
def test_no_smaller_set_would_do(condition: Any, context: dict[str, Any], wanted: bool) -> None:
    """@enforces unset-set-smallest"""
    solver = ConditionSolver(condition)
    found = solver.smallest(wanted, context)
    assert _exhaustive(condition, wanted, context, solver.variables) == (None if found is None else list(found))
    if found is not None:
        assert evaluate(condition, {**context, **found}) is wanted
        assert not set(found) & set(context)


@settings(deadline=None, max_examples=times(25, deep=1_000))
@given(CONDITIONS, st.booleans())
def test_what_nothing_can_make_true_is_known(condition: Any, wanted: bool) -> None:
    solver = ConditionSolver(condition)
    possible = any(
        evaluate(condition, {name: value for name, value in zip(NAMES, values, strict=True) if value is not None})
        is wanted
        for values in product((None, *POOL), repeat=len(NAMES))
    )
    assert solver.is_possible(wanted) is possible


@settings(deadline=None, max_examples=times(25, deep=1_000))
@given(CONDITIONS, CONTEXTS)
def test_a_solver_gives_the_same_answer_each_time(condition: Any, context: dict[str, Any]) -> None:
    solver = ConditionSolver(condition)
    assert solver.smallest(True, context) == solver.smallest(True, context)
    assert ConditionSolver(condition).smallest(True, context) == solver.smallest(True, context)
