"""Pieces over a dask cluster, whose workers have the same version of this package installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from pytest_workrail.explore.executor import Done, Executor, Task, WorkerLost, perform_piece
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.version import VERSION

_CONNECT_SECONDS = 10


def connected(address: str) -> Ok[AbstractContextManager[Executor]] | Err[str]:
    """A cluster by the address of its scheduler, or why it can't be used."""
    try:
        from distributed import Client
    except ImportError:
        return Err("--scheduler needs dask: install workrail-lint[distributed]")
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        return Err(f"no dask scheduler answers at {address} ({type(problem).__name__})")
    try:
        found = client.run(_version)
    except Exception as problem:
        client.close()
        return Err(f"a worker of {address} can't import this package ({type(problem).__name__}: {problem})")
    if not found:
        client.close()
        return Err(f"the cluster at {address} has no workers")
    strangers = sorted({str(version) for version in found.values()} - {VERSION})
    if strangers:
        client.close()
        return Err(f"a worker of {address} has version {strangers[0]} of this package, not {VERSION}")
    return Ok(Cluster(client))


def _version() -> str:
    """The version that a worker has installed; runs there."""
    from workrail_lint.base.version import VERSION as INSTALLED

    return INSTALLED


class Cluster:
    """A connection to a cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
        from distributed import as_completed
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker

        # A result is never taken from an earlier search: the code of the workers may have changed since.
        futures = [self._client.submit(perform_piece, task, json.dumps(piece), pure=False) for piece in pieces]
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in as_completed(futures, loop=self._client.loop):
                yield places[future.key], future.result()
        except (KilledWorker, FutureCancelledError, OSError) as problem:
            raise WorkerLost(f"the dask cluster lost a worker ({type(problem).__name__})") from None
        finally:
            self._client.cancel(futures)
