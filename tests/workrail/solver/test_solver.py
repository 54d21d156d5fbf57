"""The solver against the engine's evaluator: what it finds holds, and no value does what it calls impossible."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.conditions import evaluate
from workrail_lint.systems.workrail.condition_logic import COMPARISONS, compare
from workrail_lint.systems.workrail.model.build import condition_model, unchecked_condition
from workrail_lint.systems.workrail.solver import Wish, search
from workrail_lint.systems.workrail.solver.candidates import distinct_texts
from workrail_lint.systems.workrail.solver.expression import IMPOSSIBLE, POSSIBLE, UNKNOWN, UNSET, Values
from workrail_lint.systems.workrail.solver.search import Solver

EXAMPLES = times(40, deep=3_000)
MISSING = object()
WORDS = ["api", "db", "api db", "p", "Small", "other", "", "3", "yes", "true"]
NUMBERS = [0, 1, 3, 4, 0.2, 0.8, 11, 99]
GRID: list[Any] = [
    MISSING, True, False, None, *NUMBERS, *WORDS,
    *(-1, 0.5, 2, 3.5, 5, 10.5, 12, 50, 98.5, 100, "4", "03", "3.0", "no", "0", " ", "False", "small", "LARGE"),
    *("api other", "other db", "db api", "apidb", "dbapi", "xapi", "apix", "x api db y", "api x db", "pdb", "smallapi"),
    *("api 3", "33", "3api", "other api db", "some yes", "xyz", "p p"),
    *([], {}, ["api"], ["api db"], [3], ["x"], ["db", "api"]),
]  # fmt: skip


def comparisons(names: str, *, patterns: bool = False) -> st.SearchStrategy[dict[str, Any]]:
    literal = st.sampled_from([*WORDS, *NUMBERS, True, False, None])
    kinds = [
        st.fixed_dictionaries({}),
        *(st.fixed_dictionaries({operator: literal}) for operator in ("equals", "not_equals")),
        *(st.fixed_dictionaries({operator: st.sampled_from(NUMBERS)}) for operator in ("gt", "gte", "lt", "lte")),
        *(
            st.fixed_dictionaries({operator: st.sampled_from(WORDS)})
            for operator in ("contains", "startsWith", "endsWith")
        ),
        st.fixed_dictionaries({"in": st.lists(literal, max_size=3)}),
    ]
    if patterns:
        kinds.append(st.fixed_dictionaries({"matches": st.sampled_from(["^a", "[0-9]$", "^(api|db)$", "("])}))
    return st.builds(lambda name, members: {"var": name, **members}, st.sampled_from(names), st.one_of(kinds))


def conditions(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        members = st.lists(inner, max_size=3)
        return st.one_of(
            members.map(lambda parts: {"and": parts}),
            members.map(lambda parts: {"or": parts}),
            inner.map(lambda part: {"not": part}),
        )

    return st.recursive(leaf, combined, max_leaves=6)


def wishes(names: str = "ab", *, patterns: bool = False) -> st.SearchStrategy[list[tuple[Any, bool]]]:
    return st.lists(st.tuples(conditions(comparisons(names, patterns=patterns)), st.booleans()), min_size=1, max_size=3)


def contexts(names: str) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in zip(names, values, strict=True) if value is not MISSING}
        for values in itertools.product(GRID, repeat=len(names))
    ]


GRIDS = {"a": contexts("a"), "ab": contexts("ab")}


def asked(wanted: list[tuple[Any, bool]]) -> list[Wish]:
    return [(unchecked_condition(condition), truth) for condition, truth in wanted]


def meets(wanted: list[tuple[Any, bool]], context: dict[str, Any]) -> bool:
    return all(evaluate(condition, context) is truth for condition, truth in wanted)


def check(wanted: list[tuple[Any, bool]], grid: list[dict[str, Any]]) -> None:
    answer = Solver().solve(asked(wanted))
    if answer.verdict == POSSIBLE:
        assert answer.change is not None
        assert meets(wanted, {name: value for name, value in answer.change.items() if value is not None})
    elif answer.verdict == IMPOSSIBLE or not mixes(wanted):
        assert not any(meets(wanted, context) for context in grid)


def mixes(wanted: Any) -> bool:
    """Whether numbers may be asked for by value and by how they are written; db is a part of a hexadecimal one."""
    text = json.dumps(wanted)
    return any(f'"{name}": "{part}"' in text for name in ("contains", "startsWith", "endsWith") for part in ("3", "db"))


@settings(max_examples=EXAMPLES)
@given(wishes())
def test_two_variables_against_a_grid_of_values(wanted: list[tuple[Any, bool]]) -> None:
    check(wanted, GRIDS["ab"])


@settings(max_examples=EXAMPLES * 5)
@given(wishes("a"))
def test_one_variable_against_a_grid_of_values(wanted: list[tuple[Any, bool]]) -> None:
    check(wanted, GRIDS["a"])


@settings(max_examples=EXAMPLES)
@given(st.lists(comparisons("a"), min_size=1, max_size=5), st.lists(st.booleans(), min_size=5, max_size=5))
def test_nothing_is_left_unknown_without_patterns_and_parts_of_numerals(
    parts: list[dict[str, Any]], truths: list[bool]
) -> None:
    wanted = list(zip(parts, truths, strict=False))
    assert Solver().solve(asked(wanted)).verdict != UNKNOWN or mixes(wanted)


@settings(max_examples=EXAMPLES)
@given(wishes("a", patterns=True))
def test_patterns_are_guessed_and_never_proved_impossible_wrongly(wanted: list[tuple[Any, bool]]) -> None:
    answer = Solver().solve(asked(wanted))
    if answer.verdict == IMPOSSIBLE:
        assert not any(meets(wanted, context) for context in GRIDS["a"])


@settings(max_examples=EXAMPLES)
@given(wishes("ab"), st.dictionaries(st.sampled_from("ab"), st.sampled_from(["api", 3, True, "db", 50])))
def test_no_smaller_change_would_do(wanted: list[tuple[Any, bool]], context: dict[str, Any]) -> None:
    answer = Solver().solve(asked(wanted), context)
    if answer.change is None:
        return
    changed = {name: value for name, value in {**context, **answer.change}.items() if value is not None}
    assert meets(wanted, changed)
    if len(answer.change) == 1:
        assert not meets(wanted, context)
    elif mixes(wanted):
        return
    elif len(answer.change) == 2:
        for name in "ab":
            others = [{**context, name: value} for value in GRID if value is not MISSING]
            others.append({other: value for other, value in context.items() if other != name})
            assert not any(meets(wanted, each) for each in others)


OPERANDS: list[Any] = [*WORDS, *NUMBERS, True, False, None, [], ["api", 3, None], {"x": 1}, float("inf"), "("]


def test_comparisons_answer_as_the_engine_does() -> None:
    for name, operand in itertools.product(COMPARISONS, OPERANDS):
        for value in GRID:
            context = {} if value is MISSING else {"a": value}
            expected = evaluate({"var": "a", name: operand}, context)
            assert (compare(name, context.get("a"), operand) is True) is expected, (name, operand, value)


def a(**members: Any) -> dict[str, Any]:
    return {"var": "a", **members}


def verdict(*wanted: dict[str, Any]) -> str:
    return Solver().solve(asked([(condition, True) for condition in wanted])).verdict


@pytest.mark.parametrize(
    "wanted",
    [
        [a(contains="a"), a(contains="b")],
        [a(gt=3), a(lt=4)],
        [a(gt=0.2), a(lt=0.8)],
        [a(gt=10), a(lt=100), {"not": a(**{"in": [11, 99]})}],
        [a(contains="api"), {"not": a(equals="api")}],
        [a(), {"not": a(equals="other")}, {"not": a(equals=True)}, {"not": a(equals=False)}],
        [a(gt=11), a(lt=99)],
        [a(equals=3), a(equals="3"), {"not": a(equals="03")}],
        [a(contains="b"), a(contains="a"), {"not": a(contains="ab")}, {"not": a(contains="a b")}],
        [a(startsWith="ab"), a(endsWith="bc"), {"not": a(contains="abbc")}, {"not": a(contains="ab bc")}],
        [a(contains="aba"), a(contains="bab"), {"not": a(contains="baba")}],
        [a(startsWith="x"), a(endsWith="x"), {"not": a(equals="x")}],
        [*(a(contains=word) for word in ("one", "two", "three", "four", "five", "six"))],
    ],
    ids=str,
)
def test_what_few_values_would_miss(wanted: list[dict[str, Any]]) -> None:
    assert verdict(*wanted) == POSSIBLE


@pytest.mark.parametrize(
    "wanted",
    [
        [a(equals="small"), a(equals="large")],
        [a(startsWith="ab"), a(startsWith="b")],
        [a(endsWith="abc"), {"not": a(contains="b")}],
        [a(contains="x"), a(equals="y")],
        [a(gt=3), a(contains="x")],
        [a(gt=3), a(contains="x"), a(not_equals=1)],
        [a(gt=3), a(lt=3.0000000000000004), {"not": a(equals=3)}],
        [{"not": a(contains="")}],
        [a(matches="^v"), a(equals=1), a(equals=2)],
        [a(startsWith="api"), a(startsWith="db"), a(not_equals=1)],
    ],
    ids=str,
)
def test_contradictions_are_proved(wanted: list[dict[str, Any]]) -> None:
    assert verdict(*wanted) == IMPOSSIBLE


def test_a_pattern_that_no_guess_meets_proves_nothing() -> None:
    assert verdict(a(matches="^x$"), a(matches="^y$")) == UNKNOWN
    assert verdict(a(contains="77"), a(gt=5), a(lt=5.1)) == UNKNOWN, "5.077 is such a number"
    assert verdict(a(contains="7"), a(gt=5), a(lt=6)) == POSSIBLE, "5.7 is"


def test_a_contradiction_over_many_variables_is_found() -> None:
    names = [f"v{number}" for number in range(9)]
    several = [{"or": [{"var": name, "equals": 1}, {"var": name, "equals": 2}]} for name in names]
    neither = {"and": [{"not": {"var": names[4], "in": [1, 2]}}]}
    assert verdict(*several) == POSSIBLE
    assert verdict(*several, neither) == IMPOSSIBLE
    # Each differs from its neighbour, all are one of two, and there is an odd number of them in a circle.
    circle = [
        {"or": [{"and": [a_is(one, 1), a_is(two, 2)]}, {"and": [a_is(one, 2), a_is(two, 1)]}]}
        for one, two in itertools.pairwise([*names, names[0]])
    ]
    assert verdict(*circle) == IMPOSSIBLE
    assert verdict(*circle[:-1]) == POSSIBLE


def a_is(name: str, value: int) -> dict[str, Any]:
    return {"var": name, "equals": value}


def test_a_search_that_is_cut_off_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_TRIES", 5)
    names = [f"v{number}" for number in range(8)]
    circle = [
        {"or": [{"and": [a_is(one, 1), a_is(two, 2)]}, {"and": [a_is(one, 2), a_is(two, 1)]}]}
        for one, two in itertools.combinations(names, 2)
    ]
    assert verdict(*circle) == UNKNOWN


def test_a_core_holds_nothing_that_can_be_left_out() -> None:
    parts = [{"var": "b"}, a(equals="small"), a(contains="l"), a(equals="large")]
    wanted = asked([(part, True) for part in parts])
    solver = Solver()
    assert solver.core(wanted) == [wanted[1], wanted[3]]
    assert solver.classes(solver.core(wanted)) == {"a": [UNSET, "small", "large"]}


def test_values_that_others_compare_with_come_first() -> None:
    solver = Solver([unchecked_condition(a(equals=value)) for value in ("small", "large")])
    assert solver.solve(asked([(a(equals="small"), False), (a(), True)])).change == {"a": "large"}
    assert Solver().solve(asked([(a(equals="small"), False), (a(), True)])).change == {"a": True}


def test_what_is_fixed_kept_or_limited_is_not_changed() -> None:
    condition = {"or": [{"var": "round", "lt": 3}, {"var": "more"}]}
    solver = Solver(limits={"role": Values(("host",), True, True)})
    assert solver.solve(asked([(condition, False)]), {"more": True}, {"round": 5}).change == {"more": False}
    assert solver.solve(asked([(condition, False)]), {"more": True}, {"round": 1}).verdict == IMPOSSIBLE
    assert solver.solve(asked([(condition, False)]), {"more": True}, {"round": 5}, ("more",)).verdict == IMPOSSIBLE
    assert solver.solve(asked([({"var": "role", "equals": "guest"}, True)])).verdict == IMPOSSIBLE
    assert solver.solve(asked([({"var": "role"}, True)])).change == {"role": "host"}


def test_a_variable_that_is_surely_set_may_hold_what_a_missing_one_reads_like() -> None:
    solver = Solver(limits={"note": Values((), False, False)})
    answer = solver.solve(asked([({"var": "note"}, False), ({"var": "note", "contains": "e"}, False)]))
    assert answer.verdict == POSSIBLE
    assert answer.assignment is not None
    assert answer.assignment["note"] in ("", 0)
    assert solver.solve(asked([({"var": "note", "equals": None}, True)])).verdict == IMPOSSIBLE


@pytest.mark.parametrize("broken", [[1], [a()], {"and": {}}, {"var": "a", "in": "x"}, {"zz": 1}, {"not": {"zz": 1}}])
def test_a_condition_that_can_not_be_evaluated_is_false_also_under_not(broken: Any) -> None:
    assert Solver().solve([(condition_model({"and": [broken]}), True)]).verdict == IMPOSSIBLE
    assert Solver().solve([(condition_model({"not": broken}), True)]).verdict == IMPOSSIBLE
    assert Solver().solve([(condition_model({"and": [broken]}), False)]).verdict == POSSIBLE
    decided = condition_model({"or": [a(equals=1), broken]})
    assert Solver().solve([(decided, True)]).change == {"a": 1}


def test_a_condition_that_is_too_large_proves_nothing() -> None:
    deep: dict[str, Any] = a(equals=1)
    for _ in range(20_000):
        deep = {"not": deep}
    assert verdict(deep) == UNKNOWN
    assert verdict({"and": [a(equals=number) for number in range(50_000)]}) == UNKNOWN


def test_strings_of_all_classes() -> None:
    texts = distinct_texts(["ab", "ba"], ["ab", "aba"])
    assert texts is not None
    found = list(texts)
    classes = {(("ab" in text), ("ba" in text), text == "ab", text == "aba", text[:2] == "ab") for text in found}
    assert (True, True, False, True, True) in classes
    assert (True, True, False, False, False) in classes
    assert len(found) == len(set(found))
    assert distinct_texts([f"{letter}x{letter}" for letter in "abcdefghijklmno"], []) is None
