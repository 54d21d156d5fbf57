"""Tokens: the worked examples, and everything that is not one of them.

@enforces token-prefix-closed-set
@enforces token-kind-closed-set
@enforces token-prefix-kind-match
@enforces token-signing-hmac-sha256
@enforces token-signature-input-canonical-only
@enforces token-signature-timing-safe
@enforces keyring-two-keys
@enforces keyring-32-byte-entropy
@enforces keyring-verification-order
@enforces token-binary-wire-format
@enforces token-binary-payload-layout
@enforces token-binary-roundtrip
@enforces binary-payload-deterministic
@enforces token-corruption-detection
@enforces state-token-payload-fields
@enforces ack-token-payload-fields
@enforces checkpoint-token-payload-fields
@enforces token-validation-errors-closed-set
"""

from __future__ import annotations

import hmac
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pytest_workrail.engine.model.ids import AttemptId, IdKind, NodeId, RunId, SessionId, WorkflowRef, format_id
from pytest_workrail.engine.tokens import formats
from pytest_workrail.engine.tokens.formats import (
    AttemptPayload,
    KeyPair,
    StatePayload,
    TokenErrorCode,
    keyring_bytes,
    pack_payload,
    read_keyring,
    unpack_payload,
)
from workrail_lint.base.result import Err, Ok

KEYS = KeyPair(bytes(range(32)))
OTHER_KEYS = KeyPair(bytes(range(1, 33)))
SESSION = SessionId(format_id(IdKind.SESSION, bytes(range(0x10))))
RUN = RunId(format_id(IdKind.RUN, bytes(range(0x10, 0x20))))
NODE = NodeId(format_id(IdKind.NODE, bytes(range(0x20, 0x30))))
ATTEMPT = AttemptId(format_id(IdKind.ATTEMPT, bytes(range(0x30, 0x40))))
WORKFLOW = WorkflowRef(format_id(IdKind.WORKFLOW, bytes(range(0x40, 0x50))))

STATE = StatePayload(SESSION, RUN, NODE, WORKFLOW)
ACK = AttemptPayload(SESSION, RUN, NODE, ATTEMPT, "ack")
CHECKPOINT = AttemptPayload(SESSION, RUN, NODE, ATTEMPT, "checkpoint")
MIDDLE = bytes(range(0x30)).hex()

WORKED = [
    (
        STATE,
        "0100" + MIDDLE + bytes(range(0x40, 0x50)).hex(),
        "187d7a4832ec321b33203244ef6397d0f31580ad1bfeffd54bd696f3bd8dd5d9",
        (
            "st1qyqqqqgzqvzq2ps8pqys5zcvp58q7yq3zgf3g9gkzuvpjxsmrsw3u8eqyy3zxfp9ycnjs2f29vkz6t30gpq5ys6yg4rywjzfff95cn2w"
            "fuv867jgxtkryxenyqeyfmmrjlg0x9vq45dlal74f0tfduaa3h2ajr0ng66"
        ),
    ),
    (
        ACK,
        "0101" + MIDDLE + bytes(range(0x30, 0x40)).hex(),
        "93e6cac3130f919306a05561702cc9af0d4f1bca26c7a01d6ccd4043fe5858f1",
        (
            "ack1qyqsqqgzqvzq2ps8pqys5zcvp58q7yq3zgf3g9gkzuvpjxsmrsw3u8eqyy3zxfp9ycnjs2f29vkz6t30xqcnyve5x5mrwwpe8ganc0f7"
            "87f7djkrzv8erycx5p2kzupvexhs6ncmegnv0gqadnx5qsl7tpv0ztfenfk"
        ),
    ),
    (
        CHECKPOINT,
        "0102" + MIDDLE + bytes(range(0x30, 0x40)).hex(),
        "42c48763688f7b93b52b34b584062aa2c8700029de04a07751c10d1b16590f5c",
        (
            "chk1qypqqqgzqvzq2ps8pqys5zcvp58q7yq3zgf3g9gkzuvpjxsmrsw3u8eqyy3zxfp9ycnjs2f29vkz6t30xqcnyve5x5mrwwpe8ganc0f7"
            "8apvfpmrdz8hhya49v6ttpqx923vsuqq980qfgrh28qs6xckty84cfm6ca9"
        ),
    ),
]


@pytest.mark.parametrize(("payload", "raw", "signature", "token"), WORKED, ids=["state", "ack", "checkpoint"])
def test_the_worked_long_tokens(payload, raw, signature, token):
    assert pack_payload(payload) == Ok(bytes.fromhex(raw))
    assert unpack_payload(bytes.fromhex(raw)) == Ok(payload)
    assert KEYS.sign(bytes.fromhex(raw)).hex() == signature
    assert formats.sign_long(payload, KEYS) == token
    assert formats.verify_long(token, KEYS, payload.kind) == Ok(payload)
    assert len(token) == (166 if payload is STATE else 167)


@pytest.mark.parametrize(
    ("kind", "token"),
    [
        ("state", "st_AAECAwQFBgcICQoLsEr-gqGT"),
        ("ack", "ak_AAECAwQFBgcICQoL_VgnIPma"),
        ("checkpoint", "ck_AAECAwQFBgcICQoLkM6R0d9A"),
        ("continue", "ct_AAECAwQFBgcICQoL8WmpAyCK"),
    ],
)
def test_the_worked_short_tokens(kind, token):
    nonce = bytes(range(12))
    assert formats.format_token(kind, nonce, KEYS) == token
    assert len(token) == 27
    assert formats.open_token(token, KEYS) == Ok((kind, nonce))


def code_of(text, keys=KEYS, expected="state"):
    return formats.verify_long(text, keys, expected).error.code


def forge(prefix, raw, keys=KEYS):
    return formats.encode_bech32m(prefix, raw + keys.sign(raw))


def test_verification_goes_step_by_step():
    raw = pack_payload(STATE).value
    good = formats.sign_long(STATE, KEYS)
    assert code_of("hello") == "TOKEN_INVALID_FORMAT"
    assert code_of(good.upper()) == "TOKEN_INVALID_FORMAT"
    assert code_of(good[:-1] + ("q" if good[-1] != "q" else "p")) == "TOKEN_INVALID_FORMAT"
    assert "corrupted" in formats.verify_long(good[:-1] + "q", KEYS, "state").error.message
    assert code_of(good[:-1]) == "TOKEN_INVALID_FORMAT"
    assert code_of(good + "q") == "TOKEN_INVALID_FORMAT"
    assert code_of(formats.encode_bech32m("st", raw)) == "TOKEN_INVALID_FORMAT"
    assert code_of(forge("st", b"\x02" + raw[1:])) == "TOKEN_UNSUPPORTED_VERSION"
    assert code_of(forge("st", raw[:1] + b"\x03" + raw[2:])) == "TOKEN_INVALID_FORMAT"
    assert code_of(forge("ack", raw)) == "TOKEN_INVALID_FORMAT"
    assert code_of(good, OTHER_KEYS) == "TOKEN_BAD_SIGNATURE"
    assert code_of(formats.sign_long(ACK, KEYS)) == "TOKEN_INVALID_FORMAT"
    # A wrong signature is noticed before a wrong kind, so a forged token learns nothing about kinds.
    assert code_of(formats.sign_long(ACK, OTHER_KEYS)) == "TOKEN_BAD_SIGNATURE"


def test_a_payload_can_not_be_moved_to_another_signature():
    one = pack_payload(STATE).value
    other = pack_payload(structs.replace(STATE, node_id=NodeId(format_id(IdKind.NODE, bytes(16))))).value
    swapped = formats.encode_bech32m("st", other + KEYS.sign(one))
    assert code_of(swapped) == "TOKEN_BAD_SIGNATURE"


@given(st.integers(0, 97), st.integers(0, 7))
def test_no_single_bit_of_a_token_can_be_changed(place, bit):
    raw = bytearray(formats.decode_bech32m(formats.sign_long(STATE, KEYS)).value[1])
    raw[place] ^= 1 << bit
    assert isinstance(formats.verify_long(formats.encode_bech32m("st", bytes(raw)), KEYS, "state"), Err)


ID = st.binary(min_size=16, max_size=16)


@given(ID, ID, ID, ID, st.sampled_from(["state", "ack", "checkpoint"]), st.binary(min_size=32, max_size=32))
def test_tokens_round_trip(session, run, node, last, kind, key):
    place = (
        SessionId(format_id(IdKind.SESSION, session)),
        RunId(format_id(IdKind.RUN, run)),
        NodeId(format_id(IdKind.NODE, node)),
    )
    if kind == "state":
        payload = StatePayload(*place, WorkflowRef(format_id(IdKind.WORKFLOW, last)))
    else:
        payload = AttemptPayload(*place, AttemptId(format_id(IdKind.ATTEMPT, last)), kind)
    keys = KeyPair(key)
    token = formats.sign_long(payload, keys)
    assert token == formats.sign_long(payload, keys)
    assert formats.verify_long(token, keys, kind) == Ok(payload)
    assert pack_payload(unpack_payload(pack_payload(payload).value).value) == pack_payload(payload)


@given(st.binary(max_size=80))
def test_unpacking_is_total(raw):
    match unpack_payload(raw):
        case Ok(payload):
            assert pack_payload(payload) == Ok(raw)
        case Err(fault):
            assert fault.startswith("BINARY_")


def test_pack_and_unpack_faults():
    assert pack_payload(structs.replace(STATE, version=2)) == Err("BINARY_INVALID_VERSION")
    assert pack_payload(structs.replace(ACK, kind="other")) == Err("BINARY_INVALID_TOKEN_KIND")
    for field, text in [
        ("session_id", RUN),
        ("run_id", "run_x"),
        ("node_id", NODE.upper()),
        # Both spell the same bytes, but only one of them is the id.
        ("node_id", NODE[:-1] + "5"),
        ("workflow_ref", ATTEMPT),
    ]:
        assert pack_payload(structs.replace(STATE, **{field: text})) == Err("BINARY_INVALID_ID_FORMAT")
    raw = pack_payload(STATE).value
    assert unpack_payload(raw[:-1]) == Err("BINARY_INVALID_LENGTH")
    assert unpack_payload(raw + b"\0") == Err("BINARY_INVALID_LENGTH")
    assert unpack_payload(b"\0" + raw[1:]) == Err("BINARY_UNSUPPORTED_VERSION")
    assert unpack_payload(raw[:1] + b"\x09" + raw[2:]) == Err("BINARY_UNKNOWN_TOKEN_KIND")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "SHORT_TOKEN_UNKNOWN_PREFIX"),
        ("xx_AAECAwQFBgcICQoL8WmpAyCK", "SHORT_TOKEN_UNKNOWN_PREFIX"),
        ("CT_AAECAwQFBgcICQoL8WmpAyCK", "SHORT_TOKEN_UNKNOWN_PREFIX"),
        ("ct_", "SHORT_TOKEN_INVALID_LENGTH"),
        ("ct_AAECAwQFBgcICQoL8WmpAyC", "SHORT_TOKEN_INVALID_ENCODING"),
        ("ct_AAECAwQFBgcICQoL8Wmp", "SHORT_TOKEN_INVALID_LENGTH"),
        ("ct_AAECAwQFBgcICQoL8WmpAyCKAAAA", "SHORT_TOKEN_INVALID_LENGTH"),
        ("ct_AAECAwQFBgcICQoL8WmpAyCK==", "SHORT_TOKEN_INVALID_ENCODING"),
        ("ct_AAECAwQFBgcICQoL8WmpAy/K", "SHORT_TOKEN_INVALID_ENCODING"),
        ("ct_AAECAwQFBgcICQoL8WmpAyCK\n", "SHORT_TOKEN_INVALID_ENCODING"),
        ("ct_AAECAwQFBgcICQoL8WmpAyCL", "SHORT_TOKEN_BAD_SIGNATURE"),
        ("ct_BAECAwQFBgcICQoL8WmpAyCK", "SHORT_TOKEN_BAD_SIGNATURE"),
        # The kind is part of what is signed.
        ("st_AAECAwQFBgcICQoL8WmpAyCK", "SHORT_TOKEN_BAD_SIGNATURE"),
    ],
)
def test_what_is_not_a_short_token(text, fault):
    assert formats.open_token(text, KEYS) == Err(fault)


@given(st.sampled_from(["state", "ack", "checkpoint", "continue"]), st.binary(min_size=12, max_size=12), st.data())
def test_short_tokens_round_trip_and_notice_any_change(kind, nonce, data):
    token = formats.format_token(kind, nonce, KEYS)
    assert formats.open_token(token, KEYS) == Ok((kind, nonce))
    place = data.draw(st.integers(0, 26))
    other = data.draw(st.characters(min_codepoint=33, max_codepoint=126).filter(lambda c: c != token[place]))
    assert isinstance(formats.open_token(token[:place] + other + token[place + 1 :], KEYS), Err)


@given(st.text(max_size=30))
def test_opening_is_total(text):
    assert isinstance(formats.open_token(text, KEYS), Err)


def test_a_nonce_of_another_length_is_a_bug():
    with pytest.raises(ValueError, match="12 bytes"):
        formats.format_token("state", b"", KEYS)


def test_a_token_outlives_one_rotation_and_not_two():
    long_token, short_token = formats.sign_long(STATE, KEYS), formats.format_token("continue", bytes(12), KEYS)
    once = KEYS.rotated(b"b" * 32)
    twice = once.rotated(b"c" * 32)
    assert formats.verify_long(long_token, once, "state").is_ok
    assert formats.open_token(short_token, once).is_ok
    assert formats.verify_long(long_token, twice, "state").error.code == "TOKEN_BAD_SIGNATURE"
    assert formats.open_token(short_token, twice) == Err("SHORT_TOKEN_BAD_SIGNATURE")
    # New tokens know the current key only.
    assert formats.sign_long(STATE, once) == formats.sign_long(STATE, KeyPair(b"b" * 32))
    assert (twice.current, twice.previous) == (b"c" * 32, b"b" * 32)


def test_signatures_are_compared_in_constant_time_current_key_first(monkeypatch):
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(a) or False)
    pair = KeyPair(b"a" * 32, b"b" * 32)
    assert not pair.verifies(b"m", pair.sign(b"m"))
    assert compared == [KeyPair(b"a" * 32).sign(b"m"), KeyPair(b"b" * 32).sign(b"m")]


def test_an_empty_signature_verifies_nothing():
    assert not KEYS.verifies(b"m", b"")


def test_the_keyring_file():
    assert keyring_bytes(KEYS) == (
        b'{"current":{"alg":"hmac_sha256","keyBase64Url":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"},'
        b'"previous":null,"v":1}'
    )
    assert read_keyring(keyring_bytes(KEYS) + b"\n") == Ok(KEYS)  # as we wrote it once
    rotated = KEYS.rotated(b"x" * 32)
    assert read_keyring(keyring_bytes(rotated)) == Ok(rotated)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b'{"v":2}',
        keyring_bytes(KEYS).replace(b"hmac_sha256", b"hmac_sha512"),
        keyring_bytes(KEYS).replace(b"AAEC", b""),
        keyring_bytes(KEYS).replace(b"AAEC", b"!!!!"),
        keyring_bytes(KEYS).replace(b'"v":1', b'"more":1,"v":1'),
        keyring_bytes(KEYS).replace(b',"previous":null', b""),
    ],
)
def test_a_damaged_keyring_is_refused_without_quoting_it(raw):
    reason = read_keyring(raw).error
    assert "AAEC" not in reason
    assert "AwQF" not in reason


def test_keys_do_not_show():
    assert b"a".hex() * 8 not in repr(KeyPair(b"a" * 32))
    assert "a" * 8 not in repr(KeyPair(b"a" * 32, b"b" * 32))
    with pytest.raises(ValueError, match="32 bytes"):
        KeyPair(b"short")


def test_the_closed_sets():
    assert len(get_args(TokenErrorCode)) == 7
    assert set(get_args(formats.TokenKind)) == {"state", "ack", "checkpoint", "continue"}
