"""Bech32m (BIP-350), with the length limit raised from 90 to 1023, the longest its checksum is good for.

Any single changed character is found, which is what tells a mistyped token from a forged one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from workrail_lint.base.result import Err, Ok

Bech32mFault: TypeAlias = Literal[
    "BECH32M_TOO_LONG",
    "BECH32M_INVALID_CHARACTER",
    "BECH32M_NO_SEPARATOR",
    "BECH32M_TOO_SHORT",
    "BECH32M_BAD_CHECKSUM",
    "BECH32M_BAD_PADDING",
]

MAX_LENGTH = 1023
_CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_VALUE = {character: value for value, character in enumerate(_CHARSET)}
_CONSTANT = 0x2BC830A3
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LENGTH = 6


def _polymod(values: Iterable[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            if top >> bit & 1:
                checksum ^= generator
    return checksum


def _expanded(hrp: str) -> list[int]:
    return [ord(c) >> 5 for c in hrp] + [0] + [ord(c) & 31 for c in hrp]


def _regroup(values: Iterable[int], width: int, target: int) -> tuple[list[int], int, int]:
    """Groups of `width` bits as groups of `target` bits, most significant first; then the bits left over."""
    out: list[int] = []
    pending = bits = 0
    for value in values:
        pending = pending << width | value
        bits += width
        while bits >= target:
            bits -= target
            out.append(pending >> bits)
            pending &= (1 << bits) - 1
    return out, pending, bits


def encode(hrp: str, payload: bytes) -> str:
    """The text of some bytes under a human-readable prefix."""
    data, rest, bits = _regroup(payload, 8, 5)
    if bits:
        data.append(rest << (5 - bits))
    polymod = _polymod([*_expanded(hrp), *data, *[0] * _CHECKSUM_LENGTH]) ^ _CONSTANT
    checksum = [polymod >> 5 * (_CHECKSUM_LENGTH - 1 - i) & 31 for i in range(_CHECKSUM_LENGTH)]
    return f"{hrp}1{''.join(_CHARSET[value] for value in data + checksum)}"


def decode(text: str) -> Ok[tuple[str, bytes]] | Err[Bech32mFault]:
    """The prefix and the bytes of a text. Lower case only: a token has one spelling."""
    if len(text) > MAX_LENGTH:
        return Err("BECH32M_TOO_LONG")
    hrp, separator, tail = text.rpartition("1")
    if not separator or not hrp:
        return Err("BECH32M_NO_SEPARATOR")
    if any(not "!" <= c <= "~" or "A" <= c <= "Z" for c in hrp) or any(c not in _VALUE for c in tail):
        return Err("BECH32M_INVALID_CHARACTER")
    if len(tail) < _CHECKSUM_LENGTH:
        return Err("BECH32M_TOO_SHORT")
    values = [_VALUE[c] for c in tail]
    if _polymod(_expanded(hrp) + values) != _CONSTANT:
        return Err("BECH32M_BAD_CHECKSUM")
    payload, rest, bits = _regroup(values[:-_CHECKSUM_LENGTH], 5, 8)
    if bits >= 5 or rest:
        return Err("BECH32M_BAD_PADDING")
    return Ok((hrp, bytes(payload)))
