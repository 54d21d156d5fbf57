"""How things are measured: as ratios taken in one run, as instructions, or as the exponent of their growth.

A figure with a limit fails the run when it is past it. A benchmark module has a function `run(quick)` that yields
figures and growths; with `quick` it makes do with fewer rounds and smaller inputs.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

# No input may make the work grow faster than its size to this power.
FLAT = 1.2


class Figure(NamedTuple):
    """A measured value and, where a promise is made, the limit it must keep."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def kept(self) -> bool:
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def promise(self) -> str:
        return "" if self.limit is None else f"{'at least' if self.at_least else 'at most'} {self.limit:g}"

    def line(self) -> str:
        promise = f"   {self.promise}" if self.promise else ""
        return f"{'ok  ' if self.kept else 'MISS'} {self.name:<66} {self.value:>10.2f} {self.unit}{promise}"


class Growth(NamedTuple):
    """What something takes at several sizes, the largest last."""

    name: str
    points: tuple[tuple[float, float], ...]
    unit: str = "s"

    @property
    def exponent(self) -> float:
        """How the cost grows with the size: the slope of the three largest sizes on logarithmic axes.

        What is paid once hides the growth at small sizes, so they only count for the plot.
        """
        upper = self.points[-3:]
        xs = [math.log(size) for size, _ in upper]
        ys = [math.log(max(cost, 1e-9)) for _, cost in upper]
        x, y = sum(xs) / len(xs), sum(ys) / len(ys)
        return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)

    @property
    def figure(self) -> Figure:
        first, last = self.points[0][0], self.points[-1][0]
        return Figure(f"{self.name}, {first:,.0f} to {last:,.0f}: exponent", self.exponent, "", FLAT)


def best(work: Callable[[], object], rounds: int = 7) -> float:
    """The shortest time of several rounds, in seconds of processor time."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def side_by_side(first: Callable[[], object], second: Callable[[], object], rounds: int = 15) -> tuple[float, float]:
    """The shortest times of two pieces of work, taken in turns so that both meet the same machine."""
    with _little_collection():
        times = [(best(first, 1), best(second, 1)) for _ in range(rounds)]
    return min(time for time, _ in times), min(time for _, time in times)


@contextmanager
def _little_collection() -> Iterator[None]:
    """Garbage is collected as rarely as on the command line, once for 100,000 new objects."""
    usual = gc.get_threshold()
    gc.collect()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def grown(
    name: str, sizes: Sequence[int], prepare: Callable[[int], Callable[[], object]], rounds: int = 3, unit: str = "s"
) -> Growth:
    """How work grows: `prepare` makes the work for a size, and what it does itself is not measured.

    The sizes take turns, so that a slow moment of the machine meets all of them.
    """
    works = [prepare(size) for size in sizes]
    with _little_collection():
        times = [[best(work, 1) for work in works] for _ in range(rounds)]
    points = [(float(size), min(column)) for size, column in zip(sizes, zip(*times, strict=True), strict=True)]
    return Growth(name, tuple(points), unit)


class Spent(NamedTuple):
    """What a process and its children used: seconds on the clock, seconds of processor time, the largest in MiB."""

    clock: float
    processor: float
    largest: float
    code: int


def spent(command: Sequence[str], folder: str | Path, rounds: int = 1, env: dict[str, str] | None = None) -> Spent:
    """The least that a command uses. The processor time counts all its processes."""
    runs = []
    for _ in range(rounds):
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        clock = time.perf_counter() - start
        runs.append(Spent(clock, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode))
    return Spent(
        min(run.clock for run in runs),
        min(run.processor for run in runs),
        min(run.largest for run in runs),
        runs[-1].code,
    )


def in_turns(commands: Iterable[Sequence[str]], folder: str | Path, rounds: int) -> list[float]:
    """The least processor time of each command, all taken in turns so that they meet the same machine."""
    asked = list(commands)
    times = [[spent(command, folder).processor for command in asked] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def counts_instructions() -> bool:
    """Whether instructions can be counted here."""
    return shutil.which("valgrind") is not None


def instructions(command: Sequence[str], folder: str | Path, env: dict[str, str] | None = None) -> float:
    """How many millions of instructions a command takes: nearly the same number on a busy machine."""
    with tempfile.TemporaryDirectory() as made:
        counted = Path(made) / "counted"
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={counted}", "-q"]
        # A fixed seed: otherwise the order of sets moves the number by a percent.
        wanted = {**os.environ, "PYTHONHASHSEED": "0", **(env or {})}
        subprocess.run([*tool, *command], cwd=folder, env=wanted, capture_output=True, check=False)
        summary = next(line for line in reversed(counted.read_text().splitlines()) if line.startswith("summary:"))
    return int(summary.split()[1]) / 1e6


def peak_memory() -> float:
    """The most memory this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
