"""Choosing steps does not get slow: counted in work, and once in time with a wide margin."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from engine_ir import for_count, step, workflow

from pytest_workrail.engine.core import interpreter as module
from pytest_workrail.engine.core.interpreter import Interpreter
from workrail_lint.systems.workrail.model.workflow import Condition


def _run(interpreter: Interpreter, context: dict[str, Any]) -> int:
    state = interpreter.start()
    steps = 0
    while True:
        selection = interpreter.next(state, context).value
        if selection.step is None:
            return steps
        state = interpreter.complete(selection.state, selection.step).value
        steps += 1


def test_only_steps_that_are_still_open_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    is_met = module.is_met

    def counted(condition: Condition | None, context: Any) -> bool:
        nonlocal asked
        asked += 1
        return is_met(condition, context)

    monkeypatch.setattr(module, "is_met", counted)
    steps = [step(f"s{i}", when={"var": "p"}) for i in range(300)]
    assert _run(Interpreter(workflow(*steps)), {"p": True}) == 300
    assert asked == 300


def _per_step(ir: Any, size: int) -> float:
    """Seconds; the best of several runs, since a machine may be busy with something else in one of them."""
    interpreter = Interpreter(ir)
    best = 1.0
    for _ in range(5):
        begin = process_time()
        assert _run(interpreter, {}) == size
        best = min(best, (process_time() - begin) / size)
    return best


def test_a_step_of_a_long_workflow_costs_about_as_much_as_one_of_a_short() -> None:
    long, short = (workflow(*(step(f"s{i}") for i in range(size))) for size in (4000, 200))
    # Scanning from the first step every time would make this twenty-fold.
    assert _per_step(long, 4000) < 8 * _per_step(short, 200)


def test_a_long_loop_does_not_copy_its_past() -> None:
    ir = workflow(for_count("many", 3000, step("body"), limit=3000))
    short = workflow(for_count("many", 150, step("body"), limit=3000))
    # Copying everything at each step would cost twenty times as much for each.
    assert _per_step(ir, 3000) < 8 * _per_step(short, 150)
