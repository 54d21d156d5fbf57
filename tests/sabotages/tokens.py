"""Broken tokens: each switch gives up one promise about their format, signing or keys."""

from __future__ import annotations

import hashlib
import hmac
import itertools

from pytest_workrail.locks.sabotage import breaks
from workrail_lint.base.result import Err, Ok

FORMATS = "pytest_workrail.engine.tokens.formats"
KEYS = f"{FORMATS}:KeyPair"
PACK = f"{FORMATS}:pack_payload"


@breaks("token-prefix-closed-set", at=f"{FORMATS}:claimed_kind")
def any_prefix_continues(original):
    """A text with an unknown prefix passes for a continue token."""
    return lambda text: original(text) or ("continue" if "_" in text else None)


@breaks("token-kind-closed-set", at=f"{FORMATS}:unpack_payload")
def unknown_kinds_are_checkpoints(original):
    """A payload of a kind that does not exist is read as a checkpoint."""

    def unpack(raw):
        found = original(raw)
        unknown = isinstance(found, Err) and found.error == "BINARY_UNKNOWN_TOKEN_KIND"
        return original(raw[:1] + b"\x02" + raw[2:]) if unknown else found

    return unpack


@breaks("token-prefix-kind-match", at=f"{FORMATS}:decode_bech32m")
def the_prefix_is_not_compared(original):
    """A token is what its payload says, whatever it begins with."""

    def decode(text):
        found = original(text)
        if isinstance(found, Err) or len(found.value[1]) < 2:
            return found
        prefix = {0: "st", 1: "ack", 2: "chk"}.get(found.value[1][1], found.value[0])
        return Ok((prefix, found.value[1]))

    return decode


@breaks("token-signing-hmac-sha256", at=f"{KEYS}.sign")
def signatures_use_another_hash(original):
    """Tokens are signed with another function."""
    return lambda self, message: hmac.new(self.current, message, hashlib.blake2s).digest()


@breaks("token-signature-input-canonical-only", at=f"{KEYS}.verifies")
def the_end_of_a_payload_is_not_signed(original):
    """The last byte of a payload can be changed."""

    def verifies(self, message, signature):
        return any(original(self, message[:-1] + bytes([last]), signature) for last in range(256))

    return verifies


@breaks("token-signature-timing-safe", at=f"{KEYS}.verifies")
def signatures_are_compared_byte_by_byte(original):
    """A comparison ends at the first difference."""

    def verifies(self, message, signature):
        known = [key for key in (self.current, self.previous) if key is not None]
        made = [hmac.new(key, message, hashlib.sha256).digest()[: len(signature)] for key in known]
        return bool(signature) and signature in made

    return verifies


@breaks("keyring-two-keys", at=f"{KEYS}.rotated")
def the_previous_key_is_forgotten(original):
    """After a rotation the former key verifies nothing."""
    return lambda self, fresh: type(self)(fresh)


@breaks(
    "keyring-32-byte-entropy",
    at=("pytest_workrail.engine.store.token_store:fresh_key", "pytest_workrail.engine.store.token_store:fresh_key"),
)
def short_keys_are_filled_up(original):
    """A source that gives too few random bytes is trusted."""
    return lambda entropy: Ok(entropy.generate(32).ljust(32, b"\0"))


@breaks("keyring-verification-order", at=f"{KEYS}.verifies")
def the_previous_key_comes_first(original):
    """The key before the current one verifies first."""

    def verifies(self, message, signature):
        swapped = self if self.previous is None else type(self)(self.previous, self.current)
        return original(swapped, message, signature)

    return verifies


@breaks("token-binary-wire-format", at=f"{FORMATS}:sign_long")
def long_tokens_have_another_separator(original):
    """Between prefix and data stands something else than a 1."""
    return lambda payload, keys: original(payload, keys).replace("1", ":", 1)


@breaks("token-binary-payload-layout", at=PACK)
def ids_change_places(original):
    """Run and node stand in each other's place."""

    def pack(payload):
        raw = original(payload)
        return (
            raw if isinstance(raw, Err) else Ok(raw.value[:18] + raw.value[34:50] + raw.value[18:34] + raw.value[50:])
        )

    return pack


@breaks("token-bech32m-encoding", at=f"{FORMATS}:_BECH32M_CONSTANT")
def the_older_bech32_is_used(original):
    """The checksum is that of bech32 without the m."""
    return 1


@breaks("token-binary-roundtrip", at=f"{FORMATS}:unpack_payload")
def unpacking_loses_a_bit(original):
    """What is unpacked is not what was packed."""
    return lambda raw: original(raw[:-1] + bytes([raw[-1] & 0xFE]) if raw else raw)


@breaks("binary-payload-deterministic", at=PACK)
def payloads_differ_each_time(original):
    """The same content gives other bytes the next time."""
    numbers = itertools.count()

    def pack(payload):
        raw = original(payload)
        return raw if isinstance(raw, Err) else Ok(raw.value[:-1] + bytes([next(numbers) % 256]))

    return pack


@breaks(
    "token-corruption-detection",
    "bech32m-checksum-validation",
    at=f"{FORMATS}:decode_bech32m",
)
def every_checksum_is_right(original):
    """A wrong character is not noticed before the signature."""

    def decode(text):
        from pytest_workrail.engine.tokens import formats

        if original(text) != Err("BECH32M_BAD_CHECKSUM"):
            return original(text)
        hrp, _, tail = text.rpartition("1")
        payload, _, _ = formats._regroup([formats._BECH32M_VALUE[character] for character in tail[:-6]], 5, 8)
        return Ok((hrp, bytes(payload)))

    return decode


@breaks("state-token-payload-fields", at=PACK)
def state_tokens_name_no_workflow(original):
    """Where a state token names its workflow there is nothing."""

    def pack(payload):
        raw = original(payload)
        blank = payload.kind == "state" and not isinstance(raw, Err)
        return Ok(raw.value[:50] + bytes(16)) if blank else raw

    return pack


@breaks("ack-token-payload-fields", at=PACK)
def ack_tokens_name_no_attempt(original):
    """Where an ack token names its attempt there is nothing."""

    def pack(payload):
        raw = original(payload)
        return Ok(raw.value[:50] + bytes(16)) if payload.kind == "ack" and not isinstance(raw, Err) else raw

    return pack


@breaks("checkpoint-token-payload-fields", at=PACK)
def checkpoint_tokens_name_no_attempt(original):
    """Where a checkpoint token names its attempt there is nothing."""

    def pack(payload):
        raw = original(payload)
        return Ok(raw.value[:50] + bytes(16)) if payload.kind == "checkpoint" and not isinstance(raw, Err) else raw

    return pack


@breaks("ack-idempotency-key", at="pytest_workrail.engine.model.ids:child_attempt")
def every_attempt_is_followed_by_the_same(original):
    """Different attempts have one successor."""
    return lambda attempt: original("attempt_" + "a" * 26)


@breaks("ack-idempotency-key", at="pytest_workrail.engine.model.keys:advance_recorded")
def any_attempt_is_the_first(original):
    """Which attempt an advance was does not matter."""
    return lambda session, node, attempt: original(session, node, "attempt_" + "a" * 26)


@breaks(
    "ack-replay-idempotent",
    at=(
        "pytest_workrail.engine.store.token_store:MemoryAliasIndex.by_key",
        "pytest_workrail.engine.store.token_store:FileAliasIndex.by_key",
    ),
)
def a_second_answer_has_other_tokens(original):
    """Asking again for the token of an attempt gives a fresh one."""
    return lambda self, key: Ok(None)
