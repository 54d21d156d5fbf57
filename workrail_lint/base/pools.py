"""Pools of Python processes: copies of this one, or fresh ones that import nothing from the current folder.

Apart from `processes`, because most commands that start a program need no pool and `multiprocessing` is slow to import.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_all_start_methods, get_context
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.pool import Pool
from multiprocessing.resource_tracker import ensure_running

from workrail_lint.base.processes import environment, limit_memory

# `multiprocessing` passes no option of its own choice to Python, so these say where a worker imports from.
_VARIABLES = ("PYTHONSAFEPATH", "PYTHONPATH")


def can_fork() -> bool:
    return "fork" in get_all_start_methods()


def forked_pool(jobs: int) -> Pool:
    """Return copies of this process; no program is started."""
    with interrupts_left_to_parent():
        return get_context("fork").Pool(jobs, limit_memory)


@contextmanager
def interrupts_left_to_parent() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, from their first instruction on, as a terminal sends it to all.

    Only the process that collects results decides what it means, and ends the others. For itself it is put off.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker(SpawnProcess):
    """A fresh process that leaves interrupts to its parent."""

    def start(self) -> None:
        ensure_running()  # a helper of `multiprocessing`, whose start would let interrupts through again
        with interrupts_left_to_parent():
            super().start()


class _Workers(SpawnContext):
    """The context in which a pool starts its processes."""

    Process = _Worker


def end_workers() -> None:
    """End the processes of all pools, whatever they are doing."""
    for worker in active_children():
        worker.terminate()


def can_spawn() -> bool:
    """Return whether a fresh Python would heed the variables. After `python -E` it would not."""
    return bool(sys.flags.safe_path or not sys.flags.ignore_environment)


@contextmanager
def spawned_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield fresh processes. They start when there is work, so the variables stay set as long as the pool."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update({name: value for name, value in environment().items() if name in _VARIABLES})
    pool = ProcessPoolExecutor(jobs, _Workers(), limit_memory)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
