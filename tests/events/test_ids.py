"""Identifiers and their base32.

@enforces branded-id-types
@enforces ack-idempotency-key
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.engine.model import ids
from pytest_workrail.engine.model.ids import IdKind, IdMint
from pytest_workrail.engine.store.memory import SeededEntropy
from workrail_lint.base.result import Err, Ok


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"f", "my"),
        (b"fo", "mzxq"),
        (b"foo", "mzxw6"),
        (b"foob", "mzxw6yq"),
        (b"fooba", "mzxw6ytb"),
        (b"foobar", "mzxw6ytboi"),
    ],
)
def test_base32_is_the_published_one(raw, text):
    assert ids.encode_base32(raw) == text
    assert ids.decode_base32(text) == Ok(raw)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("MY", "BASE32_INVALID_CHARACTER"),
        ("m1", "BASE32_INVALID_CHARACTER"),
        ("my======", "BASE32_INVALID_CHARACTER"),
        ("m", "BASE32_INVALID_LENGTH"),
        ("mzx", "BASE32_INVALID_LENGTH"),
        ("mzxw6y", "BASE32_INVALID_LENGTH"),
        ("mz", "BASE32_NON_CANONICAL"),
    ],
)
def test_base32_has_one_text_per_value(text, fault):
    assert ids.decode_base32(text) == Err(fault)


@given(st.binary(max_size=40))
def test_base32_round_trip(raw):
    assert ids.decode_base32(ids.encode_base32(raw)) == Ok(raw)


@given(st.text(max_size=30))
def test_base32_decoding_is_total_and_injective(text):
    match ids.decode_base32(text):
        case Ok(raw):
            assert ids.encode_base32(raw) == text
        case Err(fault):
            assert fault.startswith("BASE32_")


@pytest.mark.parametrize(
    ("kind", "first", "text"),
    [
        (IdKind.SESSION, 0x00, "sess_aaaqeayeaudaocajbifqydiob4"),
        (IdKind.RUN, 0x10, "run_caireeyuculbogazdinryhi6d4"),
        (IdKind.NODE, 0x20, "node_eaqseizeeutcokbjfivsyljof4"),
        (IdKind.ATTEMPT, 0x30, "attempt_gaytemzugu3doobzhi5typj6h4"),
        (IdKind.WORKFLOW, 0x40, "wf_ibaueq2eivdeoscjjjfuytkoj4"),
    ],
)
def test_the_worked_ids(kind, first, text):
    raw = bytes(range(first, first + 16))
    assert ids.format_id(kind, raw) == text
    assert ids.id_bytes(kind, text) == Ok(raw)


@given(st.sampled_from([*IdKind]), st.binary(min_size=16, max_size=16))
def test_ids_round_trip(kind, raw):
    assert ids.id_bytes(kind, ids.format_id(kind, raw)) == Ok(raw)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sess_",
        "sess_" + "a" * 25,
        "sess_" + "a" * 27,
        "sess_" + "A" * 26,
        "run_" + "a" * 26,
        "sess_" + "a" * 25 + "b",
    ],
)
def test_only_sixteen_bytes_behind_the_right_prefix_are_an_id(text):
    assert isinstance(ids.id_bytes(IdKind.SESSION, text), Err)


def test_text_becomes_an_id_only_when_it_has_the_shape():
    assert ids.session_id("sess_" + "a" * 26).is_ok
    assert ids.session_id("sess_" + "a" * 26 + "\n").error.message.startswith("not a session id")
    assert not ids.run_id("sess_" + "a" * 26).is_ok
    assert ids.snapshot_ref("sha256:" + "0" * 64).is_ok
    assert not ids.snapshot_ref("sha256:" + "0" * 63 + "G").is_ok


def test_an_id_of_another_length_is_a_bug():
    with pytest.raises(ValueError, match="16 bytes"):
        ids.format_id(IdKind.NODE, b"short")


def test_each_attempt_has_one_successor():
    first = ids.AttemptId("attempt_gaytemzugu3doobzhi5typj6h4")
    second = ids.child_attempt(first)
    third = ids.child_attempt(second)
    assert (second, third, ids.child_attempt(third)) == (
        "attempt_5otzgdzigsjdtwkl442isym6ay",
        "attempt_dw7h4uwaoc2wlz4okl6c4wevlu",
        "attempt_rjwtpjd3fv4bz72qimzrwht3mq",
    )


def test_the_short_reference_of_a_workflow_hash():
    assert ids.ref_of(ids.WorkflowHash("sha256:" + "0123456789abcdef" * 4)) == "wf_aerukz4jvpg66ajdivtytk6n54"


def test_fresh_ids_come_from_the_given_bytes_only():
    one, other = IdMint(SeededEntropy("x").generate), IdMint(SeededEntropy("x").generate)
    made = [one.session(), one.run(), one.node(), one.attempt(), one.event()]
    assert made == [other.session(), other.run(), other.node(), other.attempt(), other.event()]
    assert [text.partition("_")[0] for text in made] == ["sess", "run", "node", "attempt", "evt"]
    assert len(set(made)) == 5
