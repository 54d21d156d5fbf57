"""Pools of Python processes: copies of this one, or fresh ones that import nothing from the current folder.

Apart from `processes`, because most commands that start a program need no pool and `multiprocessing` is slow to import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.pool import Pool

from workrail_lint.base.processes import environment

# `multiprocessing` passes no option of its own choice to Python, so these say where a worker imports from.
_VARIABLES = ("PYTHONSAFEPATH", "PYTHONPATH")


def can_fork() -> bool:
    return "fork" in get_all_start_methods()


def forked_pool(jobs: int) -> Pool:
    """Return copies of this process; no program is started."""
    return get_context("fork").Pool(jobs)


def can_spawn() -> bool:
    """Return whether a fresh Python would heed the variables. After `python -E` it would not."""
    return bool(sys.flags.safe_path or not sys.flags.ignore_environment)


@contextmanager
def spawned_pool(jobs: int, initializer: Callable[[], None]) -> Iterator[ProcessPoolExecutor]:
    """Yield fresh processes. They start when there is work, so the variables stay set as long as the pool."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update({name: value for name, value in environment().items() if name in _VARIABLES})
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
