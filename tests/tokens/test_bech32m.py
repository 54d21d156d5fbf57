"""Bech32m: the published vectors, and every single mistake found.

@enforces token-bech32m-encoding
@enforces bech32m-checksum-validation
@enforces token-corruption-detection
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.engine.tokens import formats
from workrail_lint.base.result import Err, Ok

CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

# From BIP-350, those in lower case.
VALID = [
    "a1lqfn3a",
    "an83characterlonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11sg7hg6",
    "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx",
    "split1checkupstagehandshakeupstreamerranterredcaperredlc445v",
    "?1v759aa",
]
INVALID = {
    " 1xj0phk": "BECH32M_INVALID_CHARACTER",
    "\x7f1g6xzxy": "BECH32M_INVALID_CHARACTER",
    "\x801vctc34": "BECH32M_INVALID_CHARACTER",
    "qyrz8wqd2c9m": "BECH32M_NO_SEPARATOR",
    "1qyrz8wqd2c9m": "BECH32M_NO_SEPARATOR",
    "y1b0jsk6g": "BECH32M_INVALID_CHARACTER",
    "lt1igcx5c0": "BECH32M_INVALID_CHARACTER",
    "in1muywd": "BECH32M_TOO_SHORT",
    "mm1crxm3i": "BECH32M_INVALID_CHARACTER",
    "au1s5cgom": "BECH32M_INVALID_CHARACTER",
    "m1vuxwez": "BECH32M_BAD_CHECKSUM",
    "16plkw9": "BECH32M_NO_SEPARATOR",
    "1p2gdwpf": "BECH32M_NO_SEPARATOR",
    "A1LQFN3A": "BECH32M_INVALID_CHARACTER",
    # The older checksum of BIP-173 is not this one.
    "a12uel5l": "BECH32M_BAD_CHECKSUM",
}


@pytest.mark.parametrize("text", VALID)
def test_published_texts_have_a_right_checksum(text):
    # Not all of them hold whole bytes; what matters here is that the checksum is accepted.
    decoded = formats.decode_bech32m(text)
    assert decoded.is_ok or decoded == Err("BECH32M_BAD_PADDING")
    if decoded.is_ok:
        assert formats.encode_bech32m(*decoded.value) == text


@pytest.mark.parametrize("text", INVALID)
def test_published_mistakes_are_found(text):
    assert formats.decode_bech32m(text) == Err(INVALID[text])


def test_the_length_limit():
    longest = formats.encode_bech32m("a", bytes(630))
    assert len(longest) == 1016
    assert formats.decode_bech32m(longest).is_ok
    assert formats.decode_bech32m("a1" + "q" * 1022) == Err("BECH32M_TOO_LONG")


def spelled(hrp, values):
    """The text of five-bit groups, whatever they hold, with its checksum."""
    checksum = formats._polymod([*formats._expanded(hrp), *values, *[0] * 6]) ^ formats._BECH32M_CONSTANT
    return f"{hrp}1" + "".join(
        formats._BECH32M[v] for v in [*values, *(checksum >> 5 * (5 - i) & 31 for i in range(6))]
    )


@pytest.mark.parametrize(
    ("values", "is_whole"),
    [
        ([0, 0], True),  # one byte and two bits of padding
        ([0, 1], False),  # padding that is not zero
        ([0, 0, 0, 0], True),  # two bytes and four bits
        ([0, 0, 0], False),  # one byte and seven bits: a group that holds nothing
        ([0], False),  # five bits and no byte
        ([0, 0, 0, 0, 0, 0, 0, 0], True),  # five bytes, no padding
        ([0, 0, 0, 0, 0, 0, 0, 0, 0], False),  # and a group that holds nothing
    ],
)
def test_bytes_have_one_spelling(values, is_whole):
    decoded = formats.decode_bech32m(spelled("st", values))
    assert decoded == (Ok(("st", bytes(len(values) * 5 // 8))) if is_whole else Err("BECH32M_BAD_PADDING"))


PAYLOAD = st.binary(max_size=120)
PREFIX = st.sampled_from(["st", "ack", "chk", "x"])


@given(PREFIX, PAYLOAD)
def test_round_trip(hrp, payload):
    assert formats.decode_bech32m(formats.encode_bech32m(hrp, payload)) == Ok((hrp, payload))


@given(PREFIX, PAYLOAD, st.data())
def test_any_single_change_is_found(hrp, payload, data):
    text = formats.encode_bech32m(hrp, payload)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(min_codepoint=33, max_codepoint=126).filter(lambda c: c != text[place]))
    assert isinstance(formats.decode_bech32m(text[:place] + other + text[place + 1 :]), Err)


def test_any_single_change_of_a_whole_token_is_found():
    """All of them: every character of the charset at every place of a text as long as a token."""
    text = formats.encode_bech32m("st", bytes(range(98)))
    for place in range(3, len(text)):
        for other in CHARSET:
            if other != text[place]:
                assert isinstance(formats.decode_bech32m(text[:place] + other + text[place + 1 :]), Err)


@given(st.data())
def test_two_swapped_neighbours_are_found(data):
    text = formats.encode_bech32m("st", data.draw(st.binary(min_size=20, max_size=98)))
    place = data.draw(st.integers(3, len(text) - 2))
    swapped = text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    assert swapped == text or isinstance(formats.decode_bech32m(swapped), Err)


@given(st.text(max_size=40))
def test_decoding_is_total(text):
    match formats.decode_bech32m(text):
        case Ok((hrp, payload)):
            assert formats.encode_bech32m(hrp, payload) == text
        case Err(fault):
            assert fault.startswith("BECH32M_")


@given(st.binary(max_size=40))
def test_base64url_round_trip(raw):
    assert formats.decode_base64url(formats.encode_base64url(raw)) == raw


@given(st.text(alphabet="ABab01_-=+/ ", max_size=12))
def test_base64url_has_one_text_per_value(text):
    raw = formats.decode_base64url(text)
    assert raw is None or formats.encode_base64url(raw) == text
