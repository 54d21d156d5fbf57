"""How much work something is. Machines are noisy, so a test counts lines where it can; where the work is done in C
it only makes sure that there is an end, with a limit that no slow machine comes near and no explosion stays below.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hypothesis import settings

PATIENCE_SECONDS = 30
FEW = 50  # examples of a property test that does not say how many it needs


def examples(number: int) -> int:
    """Return how many examples to draw where `number` are enough for every day; the deep profile draws more."""
    return max(1, number * settings().max_examples // FEW)


@contextmanager
def patience() -> Iterator[None]:
    """Fails when what is done inside takes so much processor time that a person would call it hung."""
    started = time.process_time()
    yield
    taken = time.process_time() - started
    assert taken < PATIENCE_SECONDS, f"{taken:.0f} s of processor time"


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
