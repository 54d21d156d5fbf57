"""RFC 4648 base32, lower case and unpadded: how sixteen random bytes become the tail of an id."""

from __future__ import annotations

import base64
from itertools import product
from typing import Literal, TypeAlias

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

Base32Fault: TypeAlias = Literal["BASE32_INVALID_CHARACTER", "BASE32_INVALID_LENGTH", "BASE32_NON_CANONICAL"]

_ALPHABET = Pattern(r"[a-z2-7]*")
# The text lengths, modulo eight, that a whole number of bytes can have.
_WHOLE = frozenset({0, 2, 4, 5, 7})


_PAIRS = ["".join(pair) for pair in product("abcdefghijklmnopqrstuvwxyz234567", repeat=2)]


def encode(raw: bytes) -> str:
    """The base32 text of some bytes. Two digits at a time: the standard library's way takes twice as long."""
    bits = 8 * len(raw)
    beyond = -bits % 10
    number = int.from_bytes(raw, "big") << beyond
    text = "".join([_PAIRS[number >> place & 1023] for place in range(bits + beyond - 10, -1, -10)])
    return text if beyond < 5 else text[:-1]


def decode(text: str) -> Ok[bytes] | Err[Base32Fault]:
    """The bytes of a base32 text; two texts never give the same bytes."""
    if not _ALPHABET.fullmatch(text):
        return Err("BASE32_INVALID_CHARACTER")
    if len(text) % 8 not in _WHOLE:
        return Err("BASE32_INVALID_LENGTH")
    raw = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
    # The last character may carry bits beyond the last byte; left set, they would give one id two spellings.
    if encode(raw) != text:
        return Err("BASE32_NON_CANONICAL")
    return Ok(raw)
