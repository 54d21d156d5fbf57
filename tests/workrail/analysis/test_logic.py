"""Whether conditions can hold, held against the evaluator over every small context."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.conditions import evaluate
from pytest_workrail.engine.core.conditions import lenient_equal as engine_equal
from workrail_lint.systems.workrail.analysis.logic import (
    IMPOSSIBLE,
    POSSIBLE,
    UNKNOWN,
    UNSET,
    Node,
    Values,
    impossible,
    satisfy,
)
from workrail_lint.systems.workrail.analysis.logic import parse as parse_condition
from workrail_lint.systems.workrail.condition_logic import comparisons, lenient_equal
from workrail_lint.systems.workrail.model.build import condition_model
from workrail_lint.systems.workrail.solver import search

MISSING = object()
LITERALS: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    5,
    1.5,
    math.inf,
    "",
    "a",
    " A",
    "b",
    "1",
    "2",
    "5",
    "yes",
    "No",
    "Infinity",
]
# Everything the literals can be told apart by: the literals, the gaps between them, other spellings, other kinds.
VALUES: list[Any] = [
    MISSING,
    *(literal for literal in LITERALS if literal != math.inf),  # which no context can hold
    *(-2, -1, -0.5, 0.25, 0.5, 0.75, 1.25, 1.75, 3, 5.5, 6, 7),
    *(" ", "zz", "00", "01", "02", "05", "0x1", "1.50", "1e400", "infinity", "true", "false", "ab", "no a"),
    *([], [1], ["a"], ["a", "b"], {}, {"a": 1}),
]
BOUNDS = st.sampled_from([-1, 0, 0.5, 1, 2, 5, 6])


def comparison(variables: list[str], *, contains: bool) -> st.SearchStrategy[dict[str, Any]]:
    name = st.sampled_from(variables)
    literal = st.sampled_from(LITERALS)
    kinds = [
        st.fixed_dictionaries({"var": name}),
        *(st.fixed_dictionaries({"var": name, operator: literal}) for operator in ("equals", "not_equals")),
        *(st.fixed_dictionaries({"var": name, operator: BOUNDS}) for operator in ("gt", "gte", "lt", "lte")),
        st.fixed_dictionaries({"var": name, "in": st.lists(literal, min_size=1, max_size=3)}),
    ]
    if contains:
        needle = st.sampled_from(["a", " B ", "1", "obj", "z", ""])
        kinds.append(st.fixed_dictionaries({"var": name, "contains": needle}))
    return st.one_of(kinds)


def nested(leaf: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def combined(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        items = st.lists(inner, max_size=4)
        return st.one_of(
            st.fixed_dictionaries({"and": items}),
            st.fixed_dictionaries({"or": items}),
            st.fixed_dictionaries({"not": inner}),
        )

    return st.recursive(leaf, combined, max_leaves=8)


def contexts(variables: list[str]) -> list[dict[str, Any]]:
    found = []
    for values in itertools.product(VALUES, repeat=len(variables)):
        named = zip(variables, values, strict=True)
        found.append({name: value for name, value in named if value is not MISSING})
    return found


ONE, TWO = contexts(["a"]), contexts(["a", "b"])


def parse(condition: dict[str, Any]) -> Node | None:
    return parse_condition(condition_model(condition))


def can_hold(*conditions: Any) -> str:
    return satisfy([parse(condition) for condition in conditions]).verdict


def can_fail(*conditions: Any) -> str:
    return satisfy((), [parse(condition) for condition in conditions]).verdict


def as_context(assignment: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in assignment.items() if value is not UNSET}


@settings(max_examples=times(30, deep=1_500), deadline=None)
@given(nested(comparison(["a", "b"], contains=True)))
def test_only_what_no_context_meets_is_impossible(condition: dict[str, Any]) -> None:
    node = parse(condition)
    for wanted, answer in ((True, satisfy([node])), (False, satisfy((), [node]))):
        if answer.verdict == IMPOSSIBLE:
            assert all(evaluate(condition, context) is not wanted for context in TWO)
        elif answer.verdict == POSSIBLE:
            assert answer.assignment is not None
            assert evaluate(condition, as_context(answer.assignment)) is wanted


@settings(max_examples=times(75, deep=4_000), deadline=None)
@given(st.lists(comparison(["a"], contains=False), min_size=1, max_size=4), st.booleans())
def test_on_one_variable_every_contradiction_is_found(parts: list[dict[str, Any]], negate: bool) -> None:
    condition = {"and": [{"not": part} for part in parts] if negate else parts}
    meets = any(evaluate(condition, context) for context in ONE)
    assert can_hold(condition) == (POSSIBLE if meets else IMPOSSIBLE)


@settings(max_examples=times(25, deep=1_000), deadline=None)
@given(st.lists(nested(comparison(["a", "b"], contains=True)), min_size=1, max_size=3))
def test_another_condition_makes_nothing_possible(conditions: list[dict[str, Any]]) -> None:
    if can_hold(*conditions[1:]) == IMPOSSIBLE:
        assert can_hold(*conditions) == IMPOSSIBLE


@settings(max_examples=times(25, deep=1_000), deadline=None)
@given(nested(comparison(["a"], contains=False)))
def test_fewer_values_make_nothing_possible(condition: dict[str, Any]) -> None:
    node = parse(condition)
    if satisfy([node]).verdict == IMPOSSIBLE:
        assert satisfy([node], (), {"a": Values(("x", 1), True)}).verdict == IMPOSSIBLE


def test_equality_is_the_evaluators() -> None:
    pairs = itertools.product([value for value in VALUES if value is not MISSING], LITERALS)
    for a, b in pairs:
        assert lenient_equal(a, b) is engine_equal(a, b), (a, b)
        assert lenient_equal(b, a) is lenient_equal(a, b), (a, b)


def a(**members: Any) -> dict[str, Any]:
    return {"var": "a", **members}


@pytest.mark.parametrize(
    "parts",
    [
        [a(equals=1), a(equals=2)],
        [a(equals="Large"), a(equals="small")],
        [a(equals="x"), a(not_equals=" X ")],
        [a(), a(equals=None)],
        [a(), {"not": a()}],
        [a(gt=5), a(lt=5)],
        [a(gte=5), a(lt=5)],
        [a(gt=5), a(contains="x"), a(lt=1)],
        [a(**{"in": ["x", "y"]}), a(**{"in": ["z", 1]})],
        [a(**{"in": ["x", "y"]}), a(not_equals="x"), a(not_equals="y")],
        [a(equals="abc"), a(contains="z")],
        [a(equals=True), a(equals=False)],
        [a(equals=1), {"var": "b"}, {"or": [a(equals=2), a(equals=3)]}],
    ],
)
def test_contradictions(parts: list[dict[str, Any]]) -> None:
    assert can_hold({"and": parts}) == IMPOSSIBLE


@pytest.mark.parametrize(
    "parts",
    [
        [a(equals=1), a(equals="1")],
        [a(equals=0), a(equals="")],
        [a(equals=True), a(equals=1)],  # the text "1" is both
        [a(equals="yes"), a(equals=True)],
        [a(equals=1), a(equals="01")],
        [a(equals=math.inf), a(equals="infinity")],
        [a(gt=5), a(equals="6")],  # the number 6 equals the text
        [a(gte=5), a(lte=5)],
        [a(gt=1), a(lt=1.0000000000000004)],
        [a(contains="x"), a(not_equals="x")],
        [a(contains="1"), a(gt=5)],
        [a(equals=1), {"var": "b", "equals": 2}],
        [a(), a(equals="")],  # a blank that is not empty is true and equals ""
        [a(not_equals=None), {"not": a()}],
    ],
)
def test_surprising_but_satisfiable(parts: list[dict[str, Any]]) -> None:
    assert can_hold({"and": parts}) != IMPOSSIBLE


@pytest.mark.parametrize(
    "parts",
    [
        [a(equals="x"), a(not_equals="X")],
        [a(not_equals=1), a(not_equals=2)],
        [a(), {"not": a()}],
        [a(not_equals="x"), {"var": "b"}, a(contains="x")],
        [a(contains="x"), {"not": a(equals="X")}, a(equals=None)],
    ],
)
def test_disjunctions_that_always_hold(parts: list[dict[str, Any]]) -> None:
    assert can_fail({"or": parts}) == IMPOSSIBLE


@pytest.mark.parametrize("parts", [[a(gt=1), a(lte=1)], [a(equals=True), a(equals=False)], [a(), a(equals=None)]])
def test_disjunctions_that_may_fail(parts: list[dict[str, Any]]) -> None:
    # Text is beyond no bound, "on" is neither true nor false, and zero is not missing.
    assert can_fail({"or": parts}) == POSSIBLE


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"equals": 1},
        {"var": "a", "equals": 1, "gt": 2},
        {"var": "a", "and": []},
        {"and": [], "or": []},
        {"var": 1},
        {"var": "a", "in": "x"},
        {"var": "a", "gt": "1"},
        {"var": "a", "matches": "x"},
        {"var": "a", "eq": 1},
        {"and": {}},
        None,
        3,
    ],
)
def test_nothing_is_said_about_a_condition_with_a_broken_part(broken: Any) -> None:
    condition = {"and": [a(equals=1), a(equals=2), broken]}
    assert parse(condition) is None
    assert can_hold(condition) == UNKNOWN
    assert can_hold(condition, a(equals=1), a(equals=2)) == IMPOSSIBLE  # the others still contradict each other


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["var", "equals", "gt", "in", "contains", "and", "or", "not", "zz"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=times(50, deep=3_000), deadline=None)
@given(JSON)
def test_any_value_can_be_looked_at(value: Any) -> None:
    condition = value if isinstance(value, dict) else {"and": [value]}
    if can_hold(condition) == IMPOSSIBLE:
        assert not any(evaluate(condition, context) for context in ONE)


def test_hostile_conditions_are_left_alone() -> None:
    deep: dict[str, Any] = a(equals=1)
    for _ in range(20_000):
        deep = {"not": deep}
    assert can_hold({"and": [deep, a(equals=2)]}) == UNKNOWN
    assert can_hold({"and": [a(equals=number) for number in range(50_000)]}) == UNKNOWN


def test_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_TRIES", 50)
    either = [{"or": [{"var": f"v{i}", "equals": j} for j in range(4)]} for i in range(8)]
    never = {"and": [{"var": "v7", "equals": 1}, {"var": "v7", "equals": 2}]}
    assert satisfy([parse(item) for item in (*either, never)]).verdict in (IMPOSSIBLE, UNKNOWN)


def test_values_are_tried_in_order() -> None:
    sizes = Values(("small", "medium", "large"), True, False)
    answer = satisfy((), [parse(a(equals="large"))], {"a": sizes})
    assert answer.assignment == {"a": "small"}
    assert satisfy((), [parse(a(equals="large"))]).assignment == {"a": UNSET}


def test_the_comparison_that_decides_comes_first() -> None:
    assert comparisons({"in": [], "lte": 1, "var": "a", "equals": 2}) == ["equals", "lte", "in"]


DOMAINS = st.sampled_from(
    [
        None,
        Values((), True),
        Values(("a", "b"), True),
        Values(("a", True, False), True, False),
        Values((), False, False),
    ]
)


@settings(max_examples=times(100, deep=6_000), deadline=None)
@given(
    st.lists(nested(comparison(["a", "b"], contains=True)), max_size=3),
    st.lists(nested(comparison(["a", "b"], contains=True)), max_size=2),
    st.fixed_dictionaries({"a": DOMAINS, "b": DOMAINS}),
)
def test_the_short_way_and_the_search_agree(
    holds: list[dict[str, Any]], fails: list[dict[str, Any]], domains: dict[str, Values | None]
) -> None:
    values = {name: allowed for name, allowed in domains.items() if allowed is not None}
    positive, negative = [parse(condition) for condition in holds], [parse(condition) for condition in fails]
    expected = satisfy(positive, negative, values).verdict == IMPOSSIBLE
    assert impossible(positive, negative, values) is expected
