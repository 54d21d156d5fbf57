"""Canonical JSON: three routes, one result."""

from __future__ import annotations

import json
import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base import canonical, js
from workrail_lint.base.canonical import CanonicalError, canonical_bytes, canonical_hash, hash_ref
from workrail_lint.documents.json_reader import read_json

_SAFE = 2**53 - 1
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-_SAFE, _SAFE)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_json = st.recursive(_scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)


# @enforces jcs-rfc-8785
@given(_json)
def test_same_bytes_as_the_reference(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(_json)
def test_each_encoder_of_plain_values_gives_the_same_bytes(value: object) -> None:
    if canonical.is_plain(value):
        expected = rfc8785.dumps(value)  # type: ignore[arg-type]
        assert canonical._encoder()(value).encode() == expected
        assert canonical._orjson_encoder()(value) == expected


@given(
    st.recursive(
        st.text(st.characters(codec=None)), lambda inner: st.dictionaries(st.text(st.characters(codec=None)), inner)
    )
)
def test_encoders_agree_on_any_text_at_all(value: object) -> None:
    assert canonical_bytes(value) == canonical._canonical_text(value).encode()


@given(_json)
def test_every_route_gives_the_same_bytes(value: object) -> None:
    assert canonical._canonical_text(value).encode() == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(_json)
def test_canonical_text_is_a_fixed_point(value: object) -> None:
    once = canonical_bytes(value)
    again = read_json(once, max_bytes=None)
    assert again.problems == []
    assert canonical_bytes(again.value) == once


@given(st.dictionaries(st.text(), st.integers(0, 9)), st.randoms(use_true_random=False))
def test_member_order_does_not_matter(value: dict[str, int], random: object) -> None:
    names = list(value)
    random.shuffle(names)  # type: ignore[attr-defined]
    assert canonical_bytes({name: value[name] for name in names}) == canonical_bytes(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, -0.0, 1e21, 1e-7]}, '{"a":[1,0,1e+21,1e-7],"b":1}'),
        ({"ﬁ": 1, "😀": 2}, '{"😀":2,"ﬁ":1}'),
        ('\x00\x1f\x7f\u2028/\\"', '"\\u0000\\u001f\x7f\u2028/\\\\\\""'),
        (2**53 + 1, "9007199254740992"),
        (10**30, "1e+30"),
        ((1, 2), "[1,2]"),
    ],
)
def test_known_bytes(value: object, text: str) -> None:
    assert canonical_bytes(value) == text.encode()


def test_lone_surrogates_are_escaped_and_pairs_joined() -> None:
    assert canonical_bytes("a\ud800") == b'"a\\ud800"'
    assert canonical_bytes({"\udfff": "\ud83d\ude00"}) == '{"\\udfff":"😀"}'.encode()


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, [1e400]])
def test_non_finite_numbers_have_no_form(value: object) -> None:
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes(value)
    assert caught.value.code == canonical.NON_FINITE


@pytest.mark.parametrize("value", [object(), {1: 2}, b"x", {"a": {1, 2}}])
def test_other_types_have_no_form(value: object) -> None:
    with pytest.raises(CanonicalError) as caught:
        canonical_bytes(value)
    assert caught.value.code == canonical.UNSUPPORTED


def test_deep_nesting_is_no_obstacle() -> None:
    deep: object = "x"
    for _ in range(20_000):
        deep = {"a": [deep]}
    assert canonical_bytes(deep) == b'{"a":[' * 20_000 + b'"x"' + b"]}" * 20_000


# @enforces hash-format-sha256-hex
def test_hash_and_short_reference() -> None:
    digest = canonical_hash({})
    assert digest == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    short = hash_ref("sha256:31c5d47cd67cbdfa4a795a01c788013b6cab2c90fc8afd49f889131b17cb6835")
    assert short == "wf_ghc5i7gwps67ustzlia4pcabhm"
    with pytest.raises(CanonicalError):
        hash_ref("sha256:xyz")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_hash_alike(value: float) -> None:
    assert canonical_bytes(js.number(json.dumps(value))) == canonical_bytes(value)
