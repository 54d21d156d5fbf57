"""How things are measured: the best of several rounds, and limits that fail the run when they are passed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple


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

    def line(self) -> str:
        promise = "" if self.limit is None else f"   {'at least' if self.at_least else 'at most'} {self.limit:g}"
        return f"{'ok  ' if self.kept else 'MISS'} {self.name:<62} {self.value:>10.2f} {self.unit}{promise}"


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
    times = [(best(first, 1), best(second, 1)) for _ in range(rounds)]
    return min(time for time, _ in times), min(time for _, time in times)
