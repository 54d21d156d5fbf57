"""Pieces over several processes of this machine."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from pytest_workrail.explore.executor import Done, Task, WorkerLost, perform_piece
from workrail_lint.base.js import Json
from workrail_lint.base.processes import spawned_pool


def _leave_interrupts_to_parent() -> None:
    """Ctrl-C reaches every process of a terminal; only the one that collects results decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """Yield an executor with fresh processes, so that a worker holds nothing of what this process did before."""
    with spawned_pool(jobs, _leave_interrupts_to_parent) as pool:
        yield Processes(pool)


class Processes:
    """Performs pieces in the processes of a pool."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
        places: dict[Future[str], int] = {
            self._pool.submit(perform_piece, task, json.dumps(piece)): place for place, piece in enumerate(pieces)
        }
        waiting = set(places)
        try:
            while waiting:
                done, waiting = wait(waiting, return_when="FIRST_COMPLETED")
                for future in sorted(done, key=places.__getitem__):
                    yield places[future], future.result()
        except BrokenProcessPool:
            raise WorkerLost("a worker process ended unexpectedly; try again with fewer --jobs") from None
        finally:
            for future in waiting:
                future.cancel()
