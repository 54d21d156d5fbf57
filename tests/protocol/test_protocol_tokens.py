"""Tokens at the tools: known vectors, forgeries, wrong places, rotated keys."""

from __future__ import annotations

from typing import Any

import pytest
from protocol_bench import WORKSPACE, Bench, quiet, workflow

from pytest_workrail.engine.model.events import RunStarted
from pytest_workrail.engine.model.ids import ref_of
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, StateGrant

TWO = workflow("two-steps", quiet("one"), quiet("two"))

# Session 00…0f, run 10…1f, node 20…2f, attempt 30…3f, reference 40…4f, key 00…1f, nonce 00…0b.
STATE = (
    "st1qyqqqqgzqvzq2ps8pqys5zcvp58q7yq3zgf3g9gkzuvpjxsmrsw3u8eqyy3zxfp9ycnjs2f29vkz6t30gpq5ys6yg4rywjzfff95cn2wfuv867"
    "jgxtkryxenyqeyfmmrjlg0x9vq45dlal74f0tfduaa3h2ajr0ng66"
)
ACK = (
    "ack1qyqsqqgzqvzq2ps8pqys5zcvp58q7yq3zgf3g9gkzuvpjxsmrsw3u8eqyy3zxfp9ycnjs2f29vkz6t30xqcnyve5x5mrwwpe8ganc0f787f7d"
    "jkrzv8erycx5p2kzupvexhs6ncmegnv0gqadnx5qsl7tpv0ztfenfk"
)
CHECKPOINT = (
    "chk1qypqqqgzqvzq2ps8pqys5zcvp58q7yq3zgf3g9gkzuvpjxsmrsw3u8eqyy3zxfp9ycnjs2f29vkz6t30xqcnyve5x5mrwwpe8ganc0f78apvf"
    "pmrdz8hhya49v6ttpqx923vsuqq980qfgrh28qs6xckty84cfm6ca9"
)


class Counting:
    """Bytes that count, in the order in which a start asks for them."""

    def __init__(self, nonces: tuple[int, int]) -> None:
        ids = [bytes(range(start, start + 16)) for start in (0x00, 0x10, 0x20)]
        events = [bytes([number]) * 16 for number in range(0x50, 0x55)]
        attempt = [bytes(range(0x30, 0x40))]
        self._drawn = [*ids, *events, *attempt, *(bytes(range(start, start + 12)) for start in nonces)]
        self._rest = SeededEntropy("rest")

    def generate(self, size: int) -> bytes:
        if not self._drawn:
            return self._rest.generate(size)
        drawn = self._drawn.pop(0)
        assert len(drawn) == size
        return drawn


def counted(nonces: tuple[int, int] = (0x00, 0x80)) -> Bench:
    bench = Bench(TWO, home=in_memory(FixedClock(), Counting(nonces)))
    bench.start()
    return bench


def test_known_short_tokens() -> None:
    bench = counted()
    assert bench.session_id == "sess_aaaqeayeaudaocajbifqydiob4"
    assert bench.run_id == "run_caireeyuculbogazdinryhi6d4"
    assert bench.actual("CT1") == "ct_AAECAwQFBgcICQoL8WmpAyCK"
    place = bench.engine.place_of(bench.actual("CT1")).value
    assert place.node_id == "node_eaqseizeeutcokbjfivsyljof4"
    other = counted((0x80, 0x00))
    assert other.actual("CK1") == "ck_AAECAwQFBgcICQoLkM6R0d9A"
    advanced = bench.home.issuer.resolve_continue(bench.actual("CT1")).value
    assert advanced.attempt_id == "attempt_gaytemzugu3doobzhi5typj6h4"
    assert bench.advance("CT1")["kind"] == "ok"
    following = bench.home.issuer.resolve_continue(bench.actual("CT2")).value
    assert following.attempt_id == "attempt_5otzgdzigsjdtwkl442isym6ay"


def test_known_long_tokens() -> None:
    """@enforces token-kind-closed-set
    @enforces token-prefix-kind-match
    """
    empty = Bench(TWO)
    assert empty.go(STATE)["code"] == "TOKEN_UNKNOWN_NODE"
    assert empty.checkpoint(CHECKPOINT)["code"] == "TOKEN_UNKNOWN_NODE"
    bench = counted()
    # The same session, but another workflow than the token was made for.
    assert bench.go(STATE)["code"] == "TOKEN_WORKFLOW_HASH_MISMATCH"
    assert bench.go(ACK) == bench.go("hello")
    marked = bench.checkpoint(CHECKPOINT)
    assert marked["nextCall"]["params"]["continueToken"] == "«CT1»"
    assert marked == bench.checkpoint("CK1")
    assert bench.checkpoint(STATE)["code"] == "TOKEN_INVALID_FORMAT"
    assert bench.checkpoint(ACK)["code"] == "TOKEN_INVALID_FORMAT"


def altered(token: str, at: int) -> str:
    """The same token with one character changed for another of its alphabet."""
    return token[:at] + ("q" if token[at] != "q" else "p") + token[at + 1 :]


@pytest.mark.parametrize("at", [3, 10, 40, 100, 165])
def test_a_long_token_with_a_changed_character_is_corrupted(at: int) -> None:
    """@enforces token-corruption-detection"""
    shown = Bench(TWO).go(altered(STATE, at))
    assert shown["code"] == "TOKEN_INVALID_FORMAT"
    assert "corrupted" in shown["message"]


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        (lambda t: t[:-4], "TOKEN_INVALID_FORMAT", "Continue token format invalid: SHORT_TOKEN_INVALID_LENGTH"),
        (lambda t: t + "AAAA", "TOKEN_INVALID_FORMAT", "Continue token format invalid: SHORT_TOKEN_INVALID_LENGTH"),
        (lambda t: t + "=", "TOKEN_INVALID_FORMAT", "Continue token format invalid: SHORT_TOKEN_INVALID_ENCODING"),
        (lambda t: t[:-1] + "!", "TOKEN_INVALID_FORMAT", "Continue token format invalid: SHORT_TOKEN_INVALID_ENCODING"),
        (lambda t: t.replace("ct_", "CT_"), "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        (lambda t: " " + t, "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        (lambda t: t.replace("ct_", "ck_"), "TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...)."),
        (lambda t: t.replace("ct_", "st_"), "TOKEN_BAD_SIGNATURE", "Short token HMAC verification failed."),
        (lambda t: altered(t, 5), "TOKEN_BAD_SIGNATURE", "Continue token HMAC verification failed."),
    ],
)
def test_altered_short_tokens(make: Any, code: str, message: str) -> None:
    bench = Bench(TWO)
    bench.start()
    before = bench.events
    shown = bench.go(make(bench.actual("CT1")))
    assert (shown["code"], shown["message"]) == (code, message)
    assert bench.events == before


def test_truncated_tokens() -> None:
    bench = Bench(TWO)
    bench.start()
    bench.checkpoint("CK1")
    for name in ("CT1", "ST1"):
        token = bench.actual(name)
        for size in range(1, len(token)):
            assert bench.go(token[:size])["code"] == "TOKEN_INVALID_FORMAT"
    for size in range(1, len(CHECKPOINT)):
        assert bench.checkpoint(CHECKPOINT[:size])["code"] == "TOKEN_INVALID_FORMAT"


def test_a_well_made_token_that_nobody_gave_out() -> None:
    """Signed with the right key, but its nonce stands for nothing."""
    assert Bench(TWO).go("ct_AAECAwQFBgcICQoL8WmpAyCK")["code"] == "TOKEN_INVALID_FORMAT"


def test_tokens_of_another_home() -> None:
    """@enforces bundle-tokens-not-portable"""
    here, there = Bench(TWO, seed="here"), Bench(TWO, seed="there")
    here.start()
    there.start()
    assert here.go(there.actual("CT1"))["code"] == "TOKEN_INVALID_FORMAT"


def test_a_checkpoint_tool_takes_checkpoint_tokens_only() -> None:
    bench = Bench(TWO)
    bench.start()
    for token in ("hello", bench.actual("CT1"), "ck_", ""):
        shown = bench.checkpoint(token)
        assert shown["code"] in ("TOKEN_INVALID_FORMAT", "VALIDATION_ERROR")
    assert bench.checkpoint(altered(bench.actual("CK1"), 6))["code"] == "TOKEN_BAD_SIGNATURE"


def test_a_state_token_only_looks() -> None:
    bench = Bench(TWO)
    bench.start()
    bench.checkpoint("CK1")
    silent = bench.advance("ST1")
    assert silent["code"] == "TOKEN_SCOPE_MISMATCH"
    spoken = bench.go("ST1", notes="n")
    assert spoken["code"] == "TOKEN_SCOPE_MISMATCH"
    assert silent["message"] != spoken["message"]
    shown = bench.go("ST1")
    assert (shown["nextIntent"], shown["pending"]["stepId"]) == ("rehydrate_only", "one")
    assert bench.advance(shown["continueToken"].strip("«»"))["pending"]["stepId"] == "two"


def test_swapped_parts_are_noticed() -> None:
    """A token that names parts of two sessions is bound to neither."""
    bench = Bench(TWO)
    bench.start()
    bench.start()
    one = bench.home.issuer.resolve_continue(bench.actual("CT1")).value
    two = bench.home.issuer.resolve_continue(bench.actual("CT2")).value
    mixed_run = type(one.place)(one.place.session_id, two.place.run_id, one.place.node_id)
    mixed_node = type(one.place)(one.place.session_id, one.place.run_id, two.place.node_id)
    for place in (mixed_run, mixed_node):
        attempt = bench.home.mint.attempt()
        token = bench.home.issuer.continue_token(ContinueGrant(place, attempt, one.workflow_ref)).value
        for shown in (bench.advance(token), bench.look(token)):
            assert shown["code"] == "TOKEN_UNKNOWN_NODE"
        marker = bench.home.issuer.checkpoint_token(CheckpointGrant(place, attempt)).value
        assert bench.checkpoint(marker)["code"] == "TOKEN_UNKNOWN_NODE"


def test_a_token_for_another_version_of_the_workflow() -> None:
    bench = Bench(TWO)
    bench.start()
    grant = bench.home.issuer.resolve_continue(bench.actual("CT1")).value
    other = ref_of(type(bench.events[1].data.workflow_hash)("sha256:" + "0" * 64))  # type: ignore[union-attr]
    attempt = bench.home.mint.attempt()
    token = bench.home.issuer.continue_token(ContinueGrant(grant.place, attempt, other)).value
    for shown in (bench.advance(token), bench.look(token)):
        assert shown["code"] == "TOKEN_WORKFLOW_HASH_MISMATCH"
    state = bench.home.issuer.long_state_token(StateGrant(grant.place, other)).value
    assert bench.look(state)["code"] == "TOKEN_WORKFLOW_HASH_MISMATCH"
    assert isinstance(bench.events[1], RunStarted)


def test_key_rotation() -> None:
    """@enforces keyring-verification-order
    @enforces keyring-two-keys
    """
    bench = Bench(TWO)
    bench.start()
    bench.checkpoint("CK1")
    old = {name: bench.actual(name) for name in ("CT1", "CK1", "ST1")}
    candidates = bench.engine.resume_session({"workspacePath": WORKSPACE}).value.to_json()["candidates"]
    long_token = candidates[0]["resumeToken"]  # type: ignore[index, call-overload]
    assert bench.engine.rotate_keys().is_ok
    assert bench.go(old["CT1"])["kind"] == "ok"
    assert bench.go(old["ST1"])["kind"] == "ok"
    assert bench.go(long_token)["kind"] == "ok"
    marked = bench.checkpoint(old["CK1"])
    # New tokens are signed with the new key, also those for what was given out before.
    assert marked["nextCall"]["params"]["continueToken"] != "«CT1»"
    assert bench.engine.rotate_keys().is_ok
    for name in ("CT1", "ST1"):
        assert bench.go(old[name])["code"] == "TOKEN_BAD_SIGNATURE"
    assert bench.go(long_token)["code"] == "TOKEN_BAD_SIGNATURE"
    assert bench.checkpoint(old["CK1"])["code"] == "TOKEN_BAD_SIGNATURE"
