"""Chance that is the same for the same seed, on every machine and in every order of asking."""

from __future__ import annotations

from hashlib import sha256

_BYTES = 6
_RANGE = 1 << 8 * _BYTES


def fraction(seed: int, *about: object) -> float:
    """A number from 0 up to but not including 1, decided by the seed and by what it is about."""
    text = "/".join(map(str, (seed, *about)))
    return int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest()[:_BYTES], "big") / _RANGE
