"""RFC 4648 base32, lower case and unpadded: how sixteen random bytes become the tail of an id."""

from __future__ import annotations

import base64
from typing import Literal, TypeAlias

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.result import Err, Ok

Base32Fault: TypeAlias = Literal["BASE32_INVALID_CHARACTER", "BASE32_INVALID_LENGTH", "BASE32_NON_CANONICAL"]

_ALPHABET = Pattern(r"[a-z2-7]*")
# The text lengths, modulo eight, that a whole number of bytes can have.
_WHOLE = frozenset({0, 2, 4, 5, 7})


def encode(raw: bytes) -> str:
    """The base32 text of some bytes."""
    return base64.b32encode(raw).decode("ascii").rstrip("=").lower()


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
