"""How fast sessions run: the interpreter alone, and whole calls in the memory store."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.measure import Figure, best
from pytest_workrail.engine.core.interpreter import Interpreter
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.memory_library import MemoryLibrary
from pytest_workrail.engine.store.clocks import FixedClock, SeededEntropy
from pytest_workrail.engine.store.home import in_memory
from workrail_lint import compile_workflow

_STEPS = 400
_INTERPRETED_RUNS = 25
_LOOP_ROUNDS = 200_000
_SESSIONS = 5
_FIRST = 100


def run() -> Iterator[Figure]:
    loop = best(_fixed_loop) / _LOOP_ROUNDS
    interpreted = best(_interpret) / (_STEPS * _INTERPRETED_RUNS)
    yield Figure("interpreter alone, linear workflow", 1 / interpreted, "steps/s", 50_000, at_least=True)
    yield Figure("the same as rounds of a fixed loop, per step", interpreted / loop, "x")
    session = _least_costs()
    yield Figure("whole calls in memory, trivial agent", 1 / mean(session.costs), "steps/s")
    yield Figure("the same as rounds of a fixed loop, per step", mean(session.costs) / loop, "x")
    growth = max(session.costs) / mean(session.costs[:_FIRST])
    yield Figure(f"dearest step up to {session.events} events by the mean of the first {_FIRST}", growth, "x", 3.0)


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


class _Session(NamedTuple):
    """What each step of a session cost, and how many events there were in the end."""

    costs: list[float]
    events: int


def _least_costs() -> _Session:
    """Each step's least cost over several equal sessions: what the machine does besides can only add to it."""
    sessions = []
    for _ in range(_SESSIONS):
        _session(steps=10)  # the last big session is let go here, not in the middle of the next
        sessions.append(_session(_STEPS))
    costs = [min(each) for each in zip(*(session.costs for session in sessions), strict=True)]
    return _Session(costs, sessions[0].events)


def _session(steps: int) -> _Session:
    library = MemoryLibrary()
    library.put_ir(_IR)
    engine = Engine(in_memory(FixedClock(), SeededEntropy("bench")), library)
    answer = engine.start_workflow({"workflowId": "linear", "workspacePath": "/work", "goal": "measure"})
    costs: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(steps):
            token = answer.value.response.progress.tokens.continue_token  # type: ignore[union-attr]
            began = time.thread_time()
            answer = engine.continue_workflow({"continueToken": token, "notes": "n"})
            costs.append(time.thread_time() - began)
    finally:
        gc.enable()
    (entry,) = engine.home.stores.sessions.list_sessions().value
    return _Session(costs, len(engine.home.stores.sessions.load(entry.session_id).value.events))
