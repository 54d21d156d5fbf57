"""Who holds a lock: which worker, in which process, on which kernel."""

from __future__ import annotations

import os
import platform

from msgspec import Struct

from workrail_lint.base.files import read_file
from workrail_lint.base.result import Ok


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
