"""Pieces over several processes of this machine."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType

from pytest_workrail.explore.executor import Done, Task, WorkerLost, perform_piece
from workrail_lint.base.js import Json


def _leave_interrupts_to_parent() -> None:
    """Ctrl-C reaches every process of a terminal; only the one that collects results decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Processes:
    """Fresh processes, so that a worker holds nothing of what this process did before."""

    def __init__(self, jobs: int) -> None:
        self._pool = ProcessPoolExecutor(jobs, get_context("spawn"), _leave_interrupts_to_parent)

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

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
