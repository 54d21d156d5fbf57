"""How fast sessions run: the interpreter alone, whole calls in memory, and sessions on disk beside SQLite."""

from __future__ import annotations

import gc
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.measure import Figure, Growth, best
from pytest_workrail.engine.core.interpreter import Interpreter
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store import disk
from pytest_workrail.engine.store.disk import SystemClock, SystemEntropy, on_disk
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from workrail_lint import compile_workflow

_STEPS = 400
_INTERPRETED_RUNS = 25
_LOOP_ROUNDS = 200_000
_SESSIONS = 5
_FIRST = 100
_ON_DISK = 60


def run(quick: bool) -> Iterator[Figure | Growth]:
    loop = best(_fixed_loop) / _LOOP_ROUNDS
    interpreted = best(_interpret) / (_STEPS * _INTERPRETED_RUNS)
    yield Figure("interpreter alone, linear workflow, per step", interpreted * 1e6, "us", 3)
    yield Figure("the same as rounds of a fixed loop, per step", interpreted / loop, "x")
    session = _least_costs()
    yield Figure("whole calls in memory, trivial agent, per step", mean(session.costs) * 1e3, "ms", 0.6)
    yield Figure("the same as rounds of a fixed loop, per step", mean(session.costs) / loop, "x")
    growth = max(session.costs) / mean(session.costs[:_FIRST])
    yield Figure(f"dearest step up to {session.events} events by the mean of the first {_FIRST}", growth, "x", 3.0)
    sizes = (100, 200, 400) if quick else (100, 300, 1000, 3000)
    yield _growth("steps of a session", sizes, _linear)
    yield _growth("rounds of a loop", sizes if quick else (100, 300, 900), _looping)
    yield _segments((25, 50, 100) if quick else (50, 100, 200, 400))
    yield from _beside_sqlite()


def _segments(sizes: tuple[int, ...]) -> Growth:
    """What reading a session takes that was written in as many segments as it has steps."""
    points = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as made, _without_syncs():
            root = Path(made) / "home"
            player = _Player(on_disk(root, SystemClock(), SystemEntropy()).value, _linear(size + 2))
            for _ in range(size):
                player.advance()
            sessions = player.engine.home.stores.sessions
            (entry,) = sessions.list_sessions().value

            def read(ident: Any = entry.session_id, root: Path = root) -> None:
                home = on_disk(root, SystemClock(), SystemEntropy()).value  # one that remembers nothing
                assert home.stores.sessions.load(ident).value.events

            points.append((float(size), best(read, 3)))
    return Growth("segments of a session", tuple(points))


@contextmanager
def _without_syncs() -> Iterator[None]:
    """Writing what is only going to be read need not wait for the disk."""
    single, whole = os.fsync, disk._sync_file_system
    os.fsync = lambda descriptor: None
    disk._sync_file_system = lambda: lambda descriptor: 0  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync, disk._sync_file_system = single, whole


def _growth(name: str, sizes: tuple[int, ...], workflow: Any) -> Growth:
    """What a whole session takes at several lengths."""
    points = []
    for size in sizes:
        ir = workflow(size)
        costs = [sum(_session(size - 1, ir).costs) for _ in range(3 if size < 1000 else 1)]
        points.append((float(size), min(costs)))
    return Growth(name, tuple(points))


def _beside_sqlite() -> Iterator[Figure]:
    """Steps on disk and rows of as many bytes in SQLite, in turns, so that both meet the same disk."""
    syncs = {"fsync": 0, "syncfs": 0}

    def counted(name: str, call: Any) -> Any:
        def counting(descriptor: int) -> Any:
            syncs[name] += 1
            return call(descriptor)

        return counting

    whole, single = disk._sync_file_system, os.fsync
    found = whole()
    with tempfile.TemporaryDirectory() as made:
        home = on_disk(Path(made) / "home", SystemClock(), SystemEntropy()).value
        # What is committed to the log of SQLite is synced each time, as what a session is told is.
        base = sqlite3.connect(Path(made) / "base", isolation_level=None)
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=FULL")
        base.execute("CREATE TABLE steps (content BLOB)")
        steps, rows = [], []
        player = _Player(home, _linear(_ON_DISK + 3))
        player.advance()
        size = _bytes_below(Path(made) / "home")
        os.fsync = counted("fsync", single)
        disk._sync_file_system = lambda: None if found is None else counted("syncfs", found)  # type: ignore[assignment]
        try:
            for _ in range(_ON_DISK):
                began = time.perf_counter()
                player.advance()
                steps.append(time.perf_counter() - began)
                grown = _bytes_below(Path(made) / "home")
                began = time.perf_counter()
                base.execute("INSERT INTO steps VALUES (?)", (os.urandom(grown - size),))
                rows.append(time.perf_counter() - began)
                size = grown
        finally:
            os.fsync, disk._sync_file_system = single, whole
            base.close()
    yield Figure("syncs of a step on disk", sum(syncs.values()) / _ON_DISK, "", 2)
    yield Figure("a step on disk, in the middle", median(steps) * 1e3, "ms")
    yield Figure("a step on disk, times a row of as many bytes in SQLite", median(steps) / median(rows), "x", 10)


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _fixed_loop() -> int:
    total = 0
    seen: dict[int, int] = {}
    for number in range(_LOOP_ROUNDS):
        seen[number & 255] = total
        total += seen.get(number & 127, 0) ^ number
    return total


def _linear(steps: int) -> dict[str, Any]:
    authored = {
        "id": "linear",
        "name": "Linear",
        "description": "Many plain steps.",
        "version": "1.0.0",
        "steps": [{"id": f"step-{at}", "title": f"Step {at}", "prompt": "Do it."} for at in range(steps)],
    }
    ir: dict[str, Any] = compile_workflow(authored).value.ir
    return ir


_IR = _linear(_STEPS)


def _interpret() -> None:
    interpreter = Interpreter(_IR)
    for _ in range(_INTERPRETED_RUNS):
        state = interpreter.start()
        while True:
            selection = interpreter.next(state, {}).value
            if selection.step is None:
                break
            state = interpreter.complete(selection.state, selection.step).value


def _looping(rounds: int) -> dict[str, Any]:
    loop = {"type": "for", "count": rounds, "maxIterations": rounds}
    body = [{"id": "inside", "title": "Inside", "prompt": "Do it."}]
    authored = {
        "id": "linear",
        "name": "Loop",
        "description": "Many rounds.",
        "version": "1.0.0",
        "steps": [{"id": "again", "type": "loop", "title": "Again", "loop": loop, "body": body}],
    }
    ir: dict[str, Any] = compile_workflow(authored).value.ir
    return ir


class _Player:
    """Plays one session, step by step."""

    def __init__(self, home: Home, ir: dict[str, Any]) -> None:
        library = MemoryLibrary()
        library.put_ir(ir)
        self.engine = Engine(home, library)
        self._answer = self.engine.start_workflow({"workflowId": "linear", "workspacePath": "/work", "goal": "measure"})

    def advance(self) -> None:
        token = self._answer.value.response.progress.tokens.continue_token  # type: ignore[union-attr]
        self._answer = self.engine.continue_workflow({"continueToken": token, "notes": "n"})


class _Session(NamedTuple):
    """What each step of a session cost, and how many events there were in the end."""

    costs: list[float]
    events: int


def _least_costs() -> _Session:
    """Each step's least cost over several equal sessions: what the machine does besides can only add to it."""
    sessions = []
    for _ in range(_SESSIONS):
        _session(10, _IR)  # the last big session is let go here, not in the middle of the next
        sessions.append(_session(_STEPS, _IR))
    costs = [min(each) for each in zip(*(session.costs for session in sessions), strict=True)]
    return _Session(costs, sessions[0].events)


def _session(steps: int, ir: dict[str, Any]) -> _Session:
    player = _Player(in_memory(FixedClock(), SeededEntropy("bench")), ir)
    costs: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(steps):
            began = time.thread_time()
            player.advance()
            costs.append(time.thread_time() - began)
    finally:
        gc.enable()
    sessions = player.engine.home.stores.sessions
    (entry,) = sessions.list_sessions().value
    return _Session(costs, len(sessions.load(entry.session_id).value.events))
