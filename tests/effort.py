"""How much work something is. Machines are noisy, so a test counts lines where it can; where the work is done in C
it only makes sure that there is an end, with a limit that no slow machine comes near and no explosion stays below.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hypothesis import settings

PATIENCE_SECONDS = 30
FEW = 25  # examples of a property test that does not say how many it needs


def times(few: int, *, deep: int) -> int:
    """Return how often a search is to try: `few` times every day, `deep` times in the deep ring (mark it `search`)."""
    return deep if settings().max_examples > FEW else few


@contextmanager
def patience() -> Iterator[None]:
    """Fails when what is done inside takes so much processor time that a person would call it hung."""
    started = time.process_time()
    yield
    taken = time.process_time() - started
    assert taken < PATIENCE_SECONDS, f"{taken:.0f} s of processor time"


def peak_memory(work: Callable[[], object]) -> int:
    """Return the most bytes that work needs at once. Garbage is collected early: what ran before changes nothing.

    What is there before is kept out of every round of the collector, which would look at all of it many times.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 10)
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*before)


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python ran, each as often as it did: the same number on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
