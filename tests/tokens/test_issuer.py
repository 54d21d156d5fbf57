"""The token desk: the same token for the same thing, and an error value for everything else.

@enforces token-validation-errors-closed-set
@enforces ack-replay-idempotent
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.engine.model.ids import AttemptId, IdMint, WorkflowRef
from pytest_workrail.engine.store.memory import SeededEntropy, TreeFiles
from pytest_workrail.engine.store.token_store import FileAliasIndex, FileKeyring, MemoryAliasIndex, MemoryKeyring
from pytest_workrail.engine.tokens import formats
from pytest_workrail.engine.tokens.formats import AttemptPayload, KeyPair
from pytest_workrail.engine.tokens.issuer import CheckpointGrant, ContinueGrant, NodeAddress, StateGrant, TokenIssuer
from workrail_lint.base.result import Err, Ok

MINT = IdMint(SeededEntropy("ids").generate)
PLACE = NodeAddress(MINT.session(), MINT.run(), MINT.node())
ATTEMPT = MINT.attempt()
REF = WorkflowRef("wf_ibaueq2eivdeoscjjjfuytkoj4")
CONTINUE, CHECKPOINT, STATE = (
    ContinueGrant(PLACE, ATTEMPT, REF),
    CheckpointGrant(PLACE, ATTEMPT),
    StateGrant(PLACE, REF),
)


class Desk:
    """A desk whose parts can be looked at."""

    def __init__(self, on_files: bool) -> None:
        self.entropy = SeededEntropy("desk")
        self.files = TreeFiles()
        if on_files:
            self.keyring, self.aliases = FileKeyring(self.files, self.entropy), FileAliasIndex(self.files)
        else:
            self.keyring, self.aliases = MemoryKeyring(self.entropy), MemoryAliasIndex()
        self.issuer = TokenIssuer(self.keyring, self.aliases, self.entropy)


@pytest.fixture(params=["memory", "files"])
def setup(request) -> Desk:
    return Desk(request.param == "files")


def test_what_is_handed_out_comes_back(setup):
    issuer = setup.issuer
    assert issuer.resolve_continue(issuer.continue_token(CONTINUE).value) == Ok(CONTINUE)
    assert issuer.resolve_checkpoint(issuer.checkpoint_token(CHECKPOINT).value) == Ok(CHECKPOINT)
    assert issuer.resolve_state(issuer.state_token(STATE).value) == Ok(STATE)
    assert issuer.resolve_state(issuer.long_state_token(STATE).value) == Ok(STATE)
    keys = setup.keyring.load().value
    portable = formats.sign_long(
        AttemptPayload(PLACE.session_id, PLACE.run_id, PLACE.node_id, ATTEMPT, "checkpoint"), keys
    )
    assert issuer.resolve_checkpoint(portable) == Ok(CHECKPOINT)


def test_asking_twice_gives_the_same_token_and_the_slot_another(setup):
    issuer = setup.issuer
    plain, retry = issuer.continue_token(CONTINUE).value, issuer.continue_token(CONTINUE, "retry").value
    assert plain != retry
    assert issuer.continue_token(CONTINUE).value == plain
    assert issuer.continue_token(CONTINUE, "retry").value == retry
    assert issuer.resolve_continue(retry) == issuer.resolve_continue(plain) == Ok(CONTINUE)
    other = ContinueGrant(PLACE, MINT.attempt(), REF)
    assert issuer.continue_token(other).value not in (plain, retry)
    assert issuer.state_token(STATE).value == issuer.state_token(STATE).value
    assert issuer.checkpoint_token(CHECKPOINT).value == issuer.checkpoint_token(CHECKPOINT).value


def test_prefixes(setup):
    issuer = setup.issuer
    assert issuer.continue_token(CONTINUE).value.startswith("ct_")
    assert issuer.checkpoint_token(CHECKPOINT).value.startswith("ck_")
    assert issuer.state_token(STATE).value.startswith("st_")
    assert issuer.long_state_token(STATE).value.startswith("st1")


def changed(token):
    return token[:-1] + ("A" if token[-1] != "A" else "B")


def test_every_refusal(setup):
    issuer = setup.issuer
    ct, ck = issuer.continue_token(CONTINUE).value, issuer.checkpoint_token(CHECKPOINT).value
    st_, st1 = issuer.state_token(STATE).value, issuer.long_state_token(STATE).value

    def refusal(outcome):
        return outcome.error.code, outcome.error.message

    expected = ("TOKEN_INVALID_FORMAT", "Expected a continue token (ct_...).")
    for text in ("hello", "", ck, st_, st1, ct.upper()):
        assert refusal(issuer.resolve_continue(text)) == expected
    assert refusal(issuer.resolve_continue(changed(ct))) == (
        "TOKEN_BAD_SIGNATURE",
        "Continue token HMAC verification failed.",
    )
    assert refusal(issuer.resolve_continue("ct_x")) == (
        "TOKEN_INVALID_FORMAT",
        "Continue token format invalid: SHORT_TOKEN_INVALID_ENCODING",
    )
    assert refusal(issuer.resolve_continue("ct_")) == (
        "TOKEN_INVALID_FORMAT",
        "Continue token format invalid: SHORT_TOKEN_INVALID_LENGTH",
    )
    assert refusal(issuer.resolve_state("st_x")) == (
        "TOKEN_INVALID_FORMAT",
        "Short token format invalid: SHORT_TOKEN_INVALID_ENCODING",
    )
    assert refusal(issuer.resolve_checkpoint(changed(ck)))[0] == "TOKEN_BAD_SIGNATURE"
    for text in (ct, st_, st1, "ck1", "hello"):
        assert issuer.resolve_checkpoint(text).error.code == "TOKEN_INVALID_FORMAT"
    for text in (ct, ck, "hello"):
        assert issuer.resolve_state(text).error.code == "TOKEN_INVALID_FORMAT"


def test_a_token_of_a_forgotten_index_is_unknown(setup):
    token = setup.issuer.continue_token(CONTINUE).value
    other = TokenIssuer(setup.keyring, MemoryAliasIndex(), setup.entropy)
    refused = other.resolve_continue(token).error
    assert (refused.code, refused.message) == ("TOKEN_INVALID_FORMAT", "Continue token is not known here.")


def test_a_nonce_given_out_for_something_else_is_refused():
    """Only a broken index can do this; the kind on record decides, not the prefix."""
    entropy = SeededEntropy("x")
    keyring, aliases = MemoryKeyring(entropy), MemoryAliasIndex()

    class Same:
        def generate(self, size):
            return bytes(size)

    issuer = TokenIssuer(keyring, aliases, Same())
    issuer.state_token(STATE)
    forged = formats.format_token("continue", bytes(12), keyring.load().value)
    assert issuer.resolve_continue(forged).error.message == "Continue token was given out as a state token."
    assert issuer.continue_token(CONTINUE).error.code == "TOKEN_ALIAS_DUPLICATE_NONCE"


def test_tokens_expire_with_the_second_rotation(setup):
    issuer = setup.issuer
    tokens = [
        (issuer.resolve_continue, issuer.continue_token(CONTINUE).value),
        (issuer.resolve_checkpoint, issuer.checkpoint_token(CHECKPOINT).value),
        (issuer.resolve_state, issuer.state_token(STATE).value),
        (issuer.resolve_state, issuer.long_state_token(STATE).value),
    ]
    assert setup.keyring.rotate().is_ok
    assert all(resolve(token).is_ok for resolve, token in tokens)
    assert issuer.continue_token(CONTINUE).value != tokens[0][1]
    assert issuer.resolve_continue(issuer.continue_token(CONTINUE).value) == Ok(CONTINUE)
    assert setup.keyring.rotate().is_ok
    assert [resolve(token).error.code for resolve, token in tokens] == ["TOKEN_BAD_SIGNATURE"] * 4


def test_a_keyring_or_index_that_fails_is_passed_on():
    class NoKeys:
        def load(self):
            return Err("no keys")

    class NoAliases(MemoryAliasIndex):
        def by_key(self, key):
            return Err("no aliases")

        def by_nonce(self, nonce):
            return Err("no aliases")

    entropy = SeededEntropy("x")
    keyless = TokenIssuer(NoKeys(), MemoryAliasIndex(), entropy)
    assert keyless.continue_token(CONTINUE) == Err("no keys")
    assert keyless.long_state_token(STATE) == Err("no keys")
    for resolve, text in [
        (keyless.resolve_continue, "ct_x"),
        (keyless.resolve_checkpoint, "chk1x"),
        (keyless.resolve_state, "st1x"),
    ]:
        assert resolve(text) == Err("no keys")
    keyring = MemoryKeyring(entropy)
    token = TokenIssuer(keyring, MemoryAliasIndex(), entropy).continue_token(CONTINUE).value
    lost = TokenIssuer(keyring, NoAliases(), entropy)
    assert lost.continue_token(CONTINUE) == Err("no aliases")
    assert lost.resolve_continue(token) == Err("no aliases")


@given(st.text(max_size=40))
def test_resolving_is_total(text):
    issuer = TokenIssuer(MemoryKeyring(SeededEntropy("x"), KeyPair(b"k" * 32)), MemoryAliasIndex(), SeededEntropy("x"))
    for resolve in (issuer.resolve_continue, issuer.resolve_checkpoint, issuer.resolve_state):
        assert isinstance(resolve(text), Err)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12))
def test_any_sequence_of_requests_keeps_tokens_apart(choices):
    issuer = TokenIssuer(MemoryKeyring(SeededEntropy("x")), MemoryAliasIndex(), SeededEntropy("y"))
    attempts = [AttemptId("attempt_" + letter * 26) for letter in "abcdef"]
    grants = [ContinueGrant(PLACE, attempts[choice], REF) for choice in choices]
    tokens = [issuer.continue_token(grant).value for grant in grants]
    assert len(set(tokens)) == len(set(choices))
    assert [issuer.resolve_continue(token).value for token in tokens] == grants
