"""Orders, budgets and keys."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.model.step_keys import (
    TRUNCATION_MARKER,
    LoopPosition,
    collated,
    collation_key,
    parse_step_key,
    step_key,
    truncate_marked,
    utf8_prefix,
)
from workrail_lint.base import js

_safe_ids = st.from_regex(r"[a-z0-9_-]{1,8}", fullmatch=True)
_step_ids = st.lists(_safe_ids, min_size=1, max_size=3).map(".".join)
_paths = st.lists(st.builds(LoopPosition, _safe_ids, st.integers(0, 10**6)), max_size=3).map(tuple)
_any_text = st.text(st.characters(), max_size=60)


@pytest.mark.parametrize(
    "ascending",
    [
        "a_b a-b a1",
        "loop loop-x@0::a loop@0::a loop@0::b loop@0/x@1::a loop@10::a loop@2::a loopa step_a step-a",
        "a A b B",
        "k0 k1 k10 k11 k2 k3",
        "_ - : . @ / | 0 a A z Z ¡ é 😀",
    ],
)
def test_collation_golden_orders(ascending: str) -> None:
    expected = ascending.split()
    assert collated(reversed(expected)) == expected


@settings(deadline=None)
@given(_any_text, _any_text)
def test_collation_is_a_total_order(a: str, b: str) -> None:
    first, second = collation_key(a), collation_key(b)
    assert (first == second) == (a == b)
    assert (first < second) + (second < first) + (a == b) == 1


@settings(deadline=None)
@given(_any_text, st.characters())
def test_a_prefix_sorts_first(text: str, more: str) -> None:
    assert collation_key(text) < collation_key(text + more)


# @enforces truncation-marker-format
@pytest.mark.parametrize(
    ("text", "expected", "size"),
    [
        ("x" * 4096, "x" * 4096, 4096),
        ("x" * 4097, "x" * 4083 + TRUNCATION_MARKER, 4096),
        ("a" + "é" * 2048, "a" + "é" * 2041 + TRUNCATION_MARKER, 4096),
        ("é" * 2049, "é" * 2041 + TRUNCATION_MARKER, 4095),
        ("\U0001f600" * 1100, "\U0001f600" * 1020 + TRUNCATION_MARKER, 4093),
    ],
)
def test_truncation_golden_vectors(text: str, expected: str, size: int) -> None:
    cut = truncate_marked(text, 4096)
    assert cut == expected
    assert js.u8_length(cut) == size


@settings(deadline=None)
@given(_any_text, st.integers(-3, 300))
def test_a_prefix_is_whole_characters_within_the_limit(text: str, limit: int) -> None:
    prefix = utf8_prefix(text, limit)
    assert text.startswith(prefix)
    assert js.u8_length(prefix) <= max(limit, 0)
    rest = text[len(prefix) :]
    assert not rest or js.u8_length(prefix + rest[0]) > limit


@settings(deadline=None)
@given(_any_text, st.integers(0, 120))
def test_truncation_never_exceeds_its_limit_and_invents_nothing(text: str, limit: int) -> None:
    cut = truncate_marked(text, limit)
    assert js.u8_length(cut) <= limit
    if js.u8_length(text) <= limit:
        assert cut == text
    elif limit >= len(TRUNCATION_MARKER):
        assert cut.endswith(TRUNCATION_MARKER)
        assert text.startswith(cut.removesuffix(TRUNCATION_MARKER))


# @enforces step-instance-key-format
@settings(deadline=None)
@given(_step_ids, _paths)
def test_step_keys_round_trip(step_id: str, path: tuple[LoopPosition, ...]) -> None:
    assert parse_step_key(step_key(step_id, path)).value == (step_id, path)


@pytest.mark.parametrize(
    ("key", "step_id", "path"),
    [
        ("draft", "draft", ()),
        ("refine@0::draft", "draft", (("refine", 0),)),
        ("outer@0/inner@2::triage", "triage", (("outer", 0), ("inner", 2))),
        ("sweep.look", "sweep.look", ()),
        ("build-it__verification", "build-it__verification", ()),
    ],
)
def test_step_keys_read(key: str, step_id: str, path: tuple[tuple[str, int], ...]) -> None:
    assert parse_step_key(key).value == (step_id, tuple(LoopPosition(*at) for at in path))


def test_an_empty_key_has_a_code_of_its_own() -> None:
    assert parse_step_key("").error.code == "STEP_INSTANCE_KEY_EMPTY"


@pytest.mark.parametrize(
    "key",
    [
        "::",
        "::draft",
        "refine@0::",
        "refine@0::a::b",
        "refine::draft",
        "refine@::draft",
        "refine@-1::draft",
        "refine@x::draft",
        "refine@0@1::draft",
        "re.fine@0::draft",
        "refine@0/::draft",
        "Draft",
        "a..b",
        ".a",
        "a b",
        "draft\n",
        "refine@1\n::draft",
        "refine@" + "9" * 5000 + "::draft",
    ],
)
def test_malformed_keys(key: str) -> None:
    assert parse_step_key(key).error.code == "STEP_INSTANCE_KEY_BAD_FORMAT"


@settings(deadline=None)
@given(_any_text)
def test_reading_a_key_is_total(key: str) -> None:
    result = parse_step_key(key)
    if result.is_ok:
        step_id, path = result.value
        assert parse_step_key(step_key(step_id, path)).value == (step_id, path)
