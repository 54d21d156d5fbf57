"""JavaScript value semantics."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base import js


@pytest.mark.parametrize(
    ("lexeme", "text"),
    [
        ("1", "1"),
        ("1.0", "1"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1e0", "1"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("0.000001", "0.000001"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("100000000000000000000", "100000000000000000000"),
        ("1000000000000000000000", "1e+21"),
        ("9007199254740993", "9007199254740992"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("0.1", "0.1"),
        ("-123.456", "-123.456"),
        ("1e400", "Infinity"),
        ("-1e400", "-Infinity"),
    ],
)
def test_numbers_are_spelled_like_javascript(lexeme: str, text: str) -> None:
    assert js.number_text(js.number(lexeme)) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_text_denotes_the_same_double(value: float) -> None:
    assert float(js.number_text(value)) == value


@given(st.integers())
def test_integers_are_doubles(value: int) -> None:
    try:
        expected = float(value)
    except OverflowError:
        expected = math.inf if value > 0 else -math.inf
    assert js.number(str(value)) == expected


def test_keys_put_array_indices_first() -> None:
    written = {"b": 0, "a": 0, "1": 0, "01": 0, "4294967295": 0, "4294967294": 0, "-1": 0}
    assert js.keys(written) == ["1", "4294967294", "b", "a", "01", "4294967295", "-1"]


@given(st.dictionaries(st.text(), st.none()))
def test_keys_is_a_permutation(mapping: dict[str, None]) -> None:
    assert sorted(js.keys(mapping)) == sorted(mapping)


def test_superscript_digits_are_no_indices() -> None:
    assert js.keys({"b": 0, "²": 0, "2": 0}) == ["2", "b", "²"]


@pytest.mark.parametrize("value", [None, False, 0, -0.0, math.nan, ""])
def test_falsy(value: object) -> None:
    assert not js.truthy(value)


@pytest.mark.parametrize("value", [True, 1, -1.5, "0", "false", [], {}, " "])
def test_truthy(value: object) -> None:
    assert js.truthy(value)


def test_booleans_are_no_numbers() -> None:
    assert not js.deep_equal(True, 1)
    assert not js.deep_equal([0], [False])
    assert js.deep_equal({"a": 1, "b": [1.0]}, {"b": [1], "a": 1.0})
    assert not js.strict_equal([], [])
    assert js.strict_equal(2**53, 2**53 + 1)
    assert js.strict_equal(2**53 + 1, 2.0**53)
    assert not js.strict_equal(2**53, 2**53 + 2)


def test_deep_equal_survives_deep_nesting() -> None:
    deep: object = 1
    for _ in range(50_000):
        deep = [deep]
    assert js.deep_equal(deep, deep)
    assert js.text(deep) == "1"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ([1, None, [2, [3, ""]], {"a": 1}], "1,,2,3,,[object Object]"),
        ([], ""),
        ([[], []], ","),
        (1e21, "1e+21"),
        (True, "true"),
    ],
)
def test_text(value: object, text: str) -> None:
    assert js.text(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("", 0),
        (" 1 ", 1),
        ("0x10", 16),
        ("0B11", 3),
        ("0o17", 15),
        ("1e3", 1000),
        (".5", 0.5),
        ("5.", 5),
        ("+Infinity", math.inf),
        ([3], 3),
        (None, 0),
        (True, 1),
    ],
)
def test_to_number(value: object, number: float) -> None:
    assert js.to_number(value) == number


@pytest.mark.parametrize(
    "value",
    ["1_0", "nan", "inf", "-0x10", "0x", "0x1g", "1e", "e1", "١", {}, "1 2", "0b12", "0o\u0661"],
)
def test_not_a_number(value: object) -> None:
    assert math.isnan(js.to_number(value))


def test_trim_uses_the_ecmascript_set() -> None:
    assert js.trim("\ufeff\u00a0 a \u2028") == "a"
    assert js.trim("\x1ca\x85") == "\x1ca\x85"


def test_lengths() -> None:
    assert js.u16_length("a😀") == 3
    assert js.u16_prefix("a😀", 2) == "a\ud83d"
    assert js.u8_length("é\ud800") == 5
    assert js.u16_sorted(["ﬁ", "😀"]) == ["😀", "ﬁ"]
