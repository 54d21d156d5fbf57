"""Did you mean …?"""

from __future__ import annotations

from effort import lines_run, patience
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.suggest import edit_distance, nearest, nearest_id


def test_one_candidate_is_suggested() -> None:
    assert nearest("titel", ["title", "prompt"]) == "title"
    assert nearest("zzz", ["title", "prompt"]) is None


def test_a_tie_is_no_suggestion() -> None:
    assert nearest("ab", ["aa", "bb"]) is None


def test_names_with_nothing_in_common_are_not_near() -> None:
    assert nearest("bb", ["cc"]) is None
    assert nearest("b", ["c"]) is None
    assert nearest("bb", ["bc"]) == "bc"
    assert nearest("a", ["ab"]) == "ab"


def test_ids_match_by_their_tail() -> None:
    known = ["wr.features.capabilities", "wr.features.memory_context"]
    assert nearest_id("wr.feature.capabilities", known) == "wr.features.capabilities"
    assert nearest_id("memory-context", known) == "wr.features.memory_context"


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_distance_is_symmetric_and_zero_only_for_equal(a: str, b: str) -> None:
    assert edit_distance(a, b, 10) == edit_distance(b, a, 10)
    assert (edit_distance(a, b, 10) == 0) == (a == b)


def test_swapped_neighbours_are_one_edit() -> None:
    assert edit_distance("abcd", "abdc", 3) == 1


@given(st.text("abc", min_size=1, max_size=8), st.text("abc", min_size=1, max_size=8))
def test_among_many_one_edit_is_enough_to_be_found(a: str, b: str) -> None:
    many = [f"{number:06}-other" for number in range(400)]
    near = edit_distance(a, b, 2) == 1 < max(len(a), len(b))
    assert nearest(a, [b, *many]) == (b if near else None)


def test_many_names_and_long_ones_take_no_time() -> None:
    many = [f"step-{number:05}" for number in range(5000)]
    few = many[:500]
    assert lines_run(lambda: nearest_id("step-00007x", many)) < 1.1 * lines_run(lambda: nearest_id("step-00007x", few))
    with patience():
        assert nearest("x" * 100_000, ["x" * 99_999]) is None
