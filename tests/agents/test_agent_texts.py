"""Texts made from patterns: whatever is offered is found by the pattern."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.ecma_regex import compile_pattern, matching_texts
from workrail_lint.base.result import Ok


def found(pattern: str, text: str, flags: str = "") -> bool:
    return compile_pattern(pattern, flags).value.search(text) == Ok(True)


@pytest.mark.parametrize(
    ("pattern", "flags", "simplest"),
    [
        ("risk", "", "risk"),
        (r"\b(401|unauthorized)\b", "i", "401"),
        ("/(auth/)?login", "", "/login"),
        ("^[0-9]{3}-[a-z]+$", "u", "111-a"),
        (r"^(?=.*\d)(?=.*[a-z]).{3,}$", "", None),
        (r"(\w+) \1", "", "a a"),
        ("^## .+$", "m", "## a"),
        (r"\S+\s\S+", "", "a a"),
        ("(?!no)yes", "", "yes"),
        ("a{40}", "", "a" * 40),
        ("", "", ""),
    ],
)
def test_the_simplest_text(pattern: str, flags: str, simplest: str | None) -> None:
    texts = matching_texts(pattern, flags)
    assert texts
    assert all(found(pattern, text, flags) for text in texts)
    assert simplest is None or texts[0] == simplest


@pytest.mark.parametrize(("pattern", "flags"), [("(", ""), ("a", "zz"), ("[]", ""), ("(?!)", ""), ("a{100000000}", "")])
def test_nothing_is_offered_where_nothing_was_found(pattern: str, flags: str) -> None:
    assert matching_texts(pattern, flags) == ()


ATOMS = st.sampled_from(["a", "B", "7", r"\d", r"\w", r"\s", "[x-z]", "[^a]", ".", r"\."])


def patterns() -> st.SearchStrategy[str]:
    return st.recursive(
        ATOMS,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
            st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,3}"])).map(
                lambda both: f"(?:{both[0]}){both[1]}"
            ),
        ),
        max_leaves=6,
    )


@given(patterns(), st.sampled_from(["", "i", "m", "u"]), st.booleans())
def test_plain_patterns_always_get_a_text(pattern: str, flags: str, anchored: bool) -> None:
    whole = f"^(?:{pattern})$" if anchored else pattern
    texts = matching_texts(whole, flags)
    assert texts
    assert all(found(whole, text, flags) for text in texts)


@given(st.text(alphabet="ab(|)[]{}*+?^$\\.,-123dws=!<:", max_size=12), st.sampled_from(["", "i", "u"]))
def test_total_on_any_text(pattern: str, flags: str) -> None:
    assert all(found(pattern, text, flags) for text in matching_texts(pattern, flags))
