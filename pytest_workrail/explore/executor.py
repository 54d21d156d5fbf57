"""One way to spread independent work: in this process, over processes, or over a dask cluster.

A piece is plain JSON, and so is what becomes of it. A piece sees no other piece, and results are ordered by their
pieces, so all executors give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pytest_workrail.records import Record
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

if TYPE_CHECKING:
    from workrail_lint.base.terminal import Progress

# A module and one of its functions, as `package.module:function`; it takes a piece and gives its result.
Task: TypeAlias = str
# The place of a piece and its result as JSON text.
Done: TypeAlias = tuple[int, str]


class WorkerLost(Exception):  # noqa: N818 - what happened, not a kind of error of ours
    """A worker process ended before it answered, or the cluster is gone."""


class Executor(Protocol):
    """Performs a task on pieces and yields each result as soon as it is there, in any order."""

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]: ...


class Gathered(Record, frozen=False):
    """The results, ordered by their pieces. After an interruption those that were finished by then."""

    results: list[tuple[int, Json]] = field(default_factory=list)
    is_interrupted: bool = False

    @property
    def values(self) -> list[Json]:
        return [value for _, value in self.results]


def perform_piece(task: Task, piece: str) -> str:
    """Perform a task on one piece; both the piece and the result are JSON text."""
    from importlib import import_module

    module, _, function = task.partition(":")
    return json.dumps(getattr(import_module(module), function)(json.loads(piece)))


def gather(executor: Executor, task: Task, pieces: Sequence[Json], progress: Progress | None = None) -> Gathered:
    """Perform a task on all pieces. Ctrl-C ends it early and keeps what is done."""
    found: dict[int, str] = {}
    gathered = Gathered()
    try:
        for place, result in executor.perform(task, pieces):
            found[place] = result
            if progress is not None:
                progress.step(len(found))
    except KeyboardInterrupt:
        gathered.is_interrupted = True
    finally:
        if progress is not None:
            progress.close()
    gathered.results = [(place, json.loads(found[place])) for place in sorted(found)]
    return gathered


class Inline:
    """One piece after the other, in this process."""

    def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
        for place, piece in enumerate(pieces):
            yield place, perform_piece(task, json.dumps(piece))


def open_executor(jobs: int = 1, scheduler: str | None = None) -> Ok[AbstractContextManager[Executor]] | Err[str]:
    """The executor for `--jobs` or `--scheduler`; leaving the context ends its workers."""
    from contextlib import nullcontext

    if scheduler is not None:
        from pytest_workrail.explore.executor_dask import connected

        return connected(scheduler)
    if jobs <= 1:
        return Ok(nullcontext(Inline()))
    from pytest_workrail.explore.executor_processes import processes
    from workrail_lint.base.processes import can_spawn

    if not can_spawn():
        return Err("--jobs needs a Python that was started without -E, or with -P")
    return Ok(processes(jobs))
