"""Who holds a lock: which worker, in which process, on which kernel."""

from __future__ import annotations

import hashlib
import os
import platform
import time

from msgspec import Struct

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Ok


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


class Machine(Struct, frozen=True):
    """Where a process runs. A process number means something only within its namespace, and within one boot."""

    host: str
    boot: str  # new each time a kernel starts; the same in all containers on it; empty where none is known
    booted_ms: int
    namespace: str
    process_started: str  # tells two processes apart that had the same number


class Holder(Struct, frozen=True):
    """A process, a worker in it, and one life of that worker; `machine` is None for one that does not say."""

    pid: int
    worker_id: str
    instance_id: str
    machine: Machine | None = None


def this_machine() -> Machine:
    """Where this process runs, as far as the system tells."""
    booted = next((line.split()[1] for line in _read("/proc/stat").splitlines() if line.startswith("btime ")), "0")
    # The name of the program is in brackets and may hold anything; the start is the 20th field behind it.
    facts = _read("/proc/self/stat").rpartition(")")[2].split()
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return Machine(
        host=platform.node(),
        boot=_read("/proc/sys/kernel/random/boot_id").strip(),
        booted_ms=int(booted) * 1000,
        namespace=namespace,
        process_started=facts[19] if len(facts) > 19 else "",
    )


def _read(path: str) -> str:
    """A file that the kernel makes up; empty on other systems."""
    read = read_file(path)
    return read.value.decode("ascii", "replace") if isinstance(read, Ok) else ""
