"""Did you mean …?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.suggest import edit_distance, nearest, nearest_id


def test_one_candidate_is_suggested() -> None:
    assert nearest("titel", ["title", "prompt"]) == "title"
    assert nearest("zzz", ["title", "prompt"]) is None


def test_a_tie_is_no_suggestion() -> None:
    assert nearest("ab", ["aa", "bb"]) is None


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
