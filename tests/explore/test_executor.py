"""Work spread over processes and machines: the same results as in one process, and nothing lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_workrail.explore.executor import Done, Inline, Processes, Task, WorkerLost, gather, open_executor
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

PIECES: list[Json] = [{"b": 1.5, "a": ["ü", None, True]}, [], "text", -3]
TASK = "json:dumps"


def test_results_come_in_the_order_of_their_pieces() -> None:
    class Backwards:
        def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
            return iter(sorted(Inline().perform(task, pieces), reverse=True))

    assert gather(Backwards(), TASK, PIECES) == gather(Inline(), TASK, PIECES)


def test_processes_give_what_one_process_gives() -> None:
    opened = open_executor(jobs=2)
    assert isinstance(opened, Ok)
    with opened.value as executor:
        assert gather(executor, TASK, PIECES) == gather(Inline(), TASK, PIECES)
        assert gather(executor, "operator:neg", [1, 2]).values == [-1, -2]


def test_a_worker_that_dies_is_an_error_and_no_wait_without_end() -> None:
    opened = open_executor(jobs=2)
    assert isinstance(opened, Ok)
    with opened.value as executor, pytest.raises(WorkerLost, match="ended unexpectedly"):
        gather(executor, "os:_exit", [1])


def test_a_bug_in_a_task_is_not_hidden() -> None:
    with pytest.raises(TypeError):
        gather(Inline(), "operator:neg", ["text"])


def test_an_interruption_keeps_what_is_done() -> None:
    class Interrupted:
        def perform(self, task: Task, pieces: Sequence[Json]) -> Iterator[Done]:
            for place, result in Inline().perform(task, pieces):
                if place == 2:
                    raise KeyboardInterrupt
                yield place, result

    gathered = gather(Interrupted(), "operator:neg", [1, 2, 3, 4])
    assert gathered.is_interrupted
    assert gathered.results == [(0, -1), (1, -2)]


@pytest.mark.skipif(os.name == "nt", reason="signals reach a process group only on POSIX")
def test_ctrl_c_in_a_terminal_reaches_the_workers_too_and_ends_nothing_early() -> None:
    """Ctrl-C goes to the whole process group; the workers leave it to their parent."""
    program = textwrap.dedent(
        """
        import sys
        from pytest_workrail.explore.executor import gather, open_executor

        def say(place):
            print("first", flush=True)

        if __name__ == "__main__":
            with open_executor(jobs=2).value as executor:
                gathered = gather(executor, "time:sleep", [0, 1, 1, 1, 1], say)
            print(gathered.is_interrupted, gathered.results[0])
        """
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "first\n"
        os.killpg(child.pid, signal.SIGINT)
        rest = child.stdout.read()
    assert child.returncode == 0
    assert rest.splitlines()[-1] == "True (0, None)"


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system has no signal masks")
def test_an_interrupt_waits_until_the_pool_has_started() -> None:
    """A pool whose threads are half started can't be shut down: the command would end with an internal error."""

    class Pool(ThreadPoolExecutor):
        def submit(self, *args: Any, **options: Any) -> Any:
            blocked.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
            return super().submit(*args, **options)

    blocked: list[bool] = []
    with Pool(1) as pool:
        gather(Processes(pool), TASK, [1, 2])
    assert blocked == [True, True]
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_the_place_of_each_piece_that_is_done_is_told() -> None:
    places: list[int] = []
    gather(Inline(), TASK, PIECES, places.append)
    assert places == list(range(len(PIECES)))


def test_a_scheduler_that_is_not_there_is_named() -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    from pytest_workrail.explore import executor

    executor._CONNECT_SECONDS, kept = 1, executor._CONNECT_SECONDS
    try:
        opened = open_executor(scheduler="tcp://127.0.0.1:9")
    finally:
        executor._CONNECT_SECONDS = kept
    assert isinstance(opened, Err)
    assert opened.error.startswith("no dask scheduler answers at tcp://127.0.0.1:9")


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    opened = open_executor(scheduler="tcp://127.0.0.1:9")
    assert opened == Err("--scheduler needs dask: install workrail-lint[distributed]")


def test_a_cluster_gives_what_one_process_gives(scheduler: str) -> None:
    opened = open_executor(scheduler=scheduler)
    assert isinstance(opened, Ok)
    with opened.value as executor:
        assert gather(executor, TASK, PIECES) == gather(Inline(), TASK, PIECES)
        with pytest.raises(TypeError):
            gather(executor, "operator:neg", ["text"])


def test_an_interrupt_is_not_ignored_here() -> None:
    """A shell that starts the suite in the background ignores it, and processes that tests start would, too."""
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
