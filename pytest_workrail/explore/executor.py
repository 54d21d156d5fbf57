"""One way to spread independent work: in this process, over processes, or over a dask cluster.

A piece is plain JSON, and so is its result. A piece sees no other piece, and results are ordered by their pieces, so
all executors give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor as Pool
from concurrent.futures import Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, TypeAlias

from workrail_lint.base.js import Json
from workrail_lint.base.pools import can_spawn, end_workers, interrupts_left_to_parent, spawned_pool
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.version import VERSION
from workrail_lint.base.version import VERSION as INSTALLED

# A module and one of its functions, as `package.module:function`; it takes a piece and gives its result.
Task: TypeAlias = str
# The place of a piece and its result as JSON text.
Done: TypeAlias = tuple[int, str]

_CONNECT_SECONDS = 10


class WorkerLost(Exception):  # noqa: N818 - what happened, not a kind of error of ours
    """A worker process ended before it answered, or the cluster is gone."""


class Executor(Protocol):
    """Performs a task on pieces and yields each result as soon as it is there, in any order."""

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]: ...


@dataclass(slots=True)
class Gathered:
    """The results, ordered by their pieces. After an interruption those that were finished by then."""

    results: list[tuple[int, Json]] = field(default_factory=list)
    is_interrupted: bool = False

    @property
    def values(self) -> list[Json]:
        return [value for _, value in self.results]


def perform_piece(task: Task, piece: str) -> str:
    """Perform a task on one piece; both the piece and the result are JSON text."""
    module, _, function = task.partition(":")
    return json.dumps(getattr(import_module(module), function)(json.loads(piece)))


def gather(
    executor: Executor, task: Task, pieces: Sequence[Json], done: Callable[[int], None] | None = None
) -> Gathered:
    """Perform a task on all pieces; `done` hears the place of each. Ctrl-C ends it early and keeps what is done."""
    results: dict[int, str] = {}
    gathered = Gathered()
    try:
        for place, result in executor.perform(task, pieces):
            results[place] = result
            if done is not None:
                done(place)
    except KeyboardInterrupt:
        gathered.is_interrupted = True
    gathered.results = [(place, json.loads(results[place])) for place in sorted(results)]
    return gathered


class Inline:
    """One piece after the other, in this process."""

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
        for place, piece in enumerate(pieces):
            yield place, perform_piece(task, json.dumps(piece))


def open_executor(jobs: int = 1, scheduler: str | None = None) -> Ok[AbstractContextManager[Executor]] | Err[str]:
    """The executor for `--jobs` or `--scheduler`; leaving the context ends its workers."""
    if scheduler is not None:
        return connected(scheduler)
    if jobs <= 1:
        return Ok(nullcontext(Inline()))

    if not can_spawn():
        return Err("--jobs needs a Python that was started without -E, or with -P")
    return Ok(processes(jobs))


@contextmanager
def processes(jobs: int) -> Iterator[Processes]:
    """Yield an executor with fresh processes, so that a worker holds nothing of what this process did before."""
    with spawned_pool(jobs) as pool:
        yield Processes(pool)


class Processes:
    """Performs pieces in the processes of a pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
        places: dict[Future[str], int] = {}
        is_done = False
        try:
            with interrupts_left_to_parent():  # a pool that is half started can't be shut down
                for place, piece in enumerate(pieces):
                    places[self._pool.submit(perform_piece, task, json.dumps(piece))] = place
            waiting = set(places)
            while waiting:
                done, waiting = wait(waiting, return_when="FIRST_COMPLETED")
                for future in sorted(done, key=places.__getitem__):
                    yield places[future], future.result()
            is_done = True
        except BrokenProcessPool:
            raise WorkerLost("a worker process ended unexpectedly; try again with fewer --jobs") from None
        finally:
            if not is_done:  # nobody waits for the rest, and a piece may take minutes
                end_workers()


def connected(address: str) -> Ok[AbstractContextManager[Executor]] | Err[str]:
    """Return a cluster by the address of its scheduler, or why it can't be used."""
    try:
        from distributed import Client
    except ImportError:
        return Err("--scheduler needs dask: install workrail-lint[distributed]")
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as problem:
        return Err(f"no dask scheduler answers at {address} ({type(problem).__name__})")
    try:
        versions = client.run(_version)
    except Exception as problem:
        client.close()
        return Err(f"a worker of {address} can't import this package ({type(problem).__name__}: {problem})")
    if not versions:
        client.close()
        return Err(f"the cluster at {address} has no workers")
    strangers = sorted({str(version) for version in versions.values()} - {VERSION})
    if strangers:
        client.close()
        return Err(f"a worker of {address} has version {strangers[0]} of this package, not {VERSION}")
    return Ok(Cluster(client))


def _version() -> str:
    """Return the version that a worker has installed; runs there."""
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
        import distributed

        # A result is never taken from an earlier search: the code of the workers may have changed since.
        futures = [self._client.submit(perform_piece, task, json.dumps(piece), pure=False) for piece in pieces]
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in distributed.as_completed(futures, loop=self._client.loop):
                yield places[future.key], future.result()
        except (distributed.scheduler.KilledWorker, distributed.client.FutureCancelledError, OSError) as problem:
            raise WorkerLost(f"the dask cluster lost a worker ({type(problem).__name__})") from None
        finally:
            self._client.cancel(futures)
