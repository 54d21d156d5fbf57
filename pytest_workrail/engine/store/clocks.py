"""Clocks and sources of random bytes: real ones, and repeatable ones for tests."""

from __future__ import annotations

import hashlib
import os
import time


class SystemClock:
    """The wall clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class SystemEntropy:
    """The operating system's random bytes."""

    def generate(self, size: int) -> bytes:
        return os.urandom(size)


class FixedClock:
    """A clock that moves one step each time it is asked."""

    def __init__(self, start_ms: int = 1_700_000_000_000, step_ms: int = 0) -> None:
        self._next = start_ms
        self._step = step_ms

    def now_ms(self) -> int:
        now = self._next
        self._next += self._step
        return now


class SeededEntropy:
    """Bytes that look random and are the same for the same seed."""

    def __init__(self, seed: str = "") -> None:
        self._seeded = hashlib.sha256(seed.encode("utf-8"))
        self._drawn = 0

    def generate(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            block = self._seeded.copy()
            block.update(self._drawn.to_bytes(8, "big"))
            out += block.digest()
            self._drawn += 1
        return out[:size]
