"""A step costs what it adds: counted in lines, the thousandth is no dearer than the tenth."""

from __future__ import annotations

from effort import lines_run

from pytest_workrail.engine.projections.incremental import Grown, grown
from pytest_workrail.engine.protocol.engine import Engine
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from workrail_lint import compile_workflow

STEPS = 1000


def a_long_session():
    """Advances a session of many steps, one at each call."""
    steps = [{"id": f"step-{at}", "title": f"Step {at}", "prompt": "Do it."} for at in range(STEPS + 20)]
    head = {"id": "long", "name": "Long", "description": "Many plain steps.", "version": "1.0.0"}
    library = MemoryLibrary()
    library.put_ir(compile_workflow({**head, "steps": steps}).value.ir)
    engine = Engine(in_memory(FixedClock(), SeededEntropy("long")), library)
    answer = engine.start_workflow({"workflowId": "long", "workspacePath": "/work", "goal": "count"})

    def advance():
        nonlocal answer
        token = answer.value.response.progress.tokens.continue_token
        answer = engine.continue_workflow({"continueToken": token, "notes": "n"})

    return engine, advance


def test_a_step_runs_as_many_lines_however_long_the_session_is():
    _, advance = a_long_session()
    for _ in range(10):
        advance()
    early = min(lines_run(advance) for _ in range(5))
    for _ in range(STEPS - 20):
        advance()
    late = min(lines_run(advance) for _ in range(5))
    assert late < 1.1 * early, (early, late)


def test_an_append_copies_no_log():
    engine, advance = a_long_session()
    advance()
    sessions = engine.home.stores.sessions
    (entry,) = sessions.list_sessions().value
    before = sessions.load(entry.session_id).value
    shown = tuple(before.events)
    advance()
    after = sessions.load(entry.session_id).value
    assert after.events._items is before.events._items
    assert after.manifest._items is before.manifest._items
    assert tuple(before.events) == shown, "what was read before stays as it was"
    assert after.events[: len(shown)] == shown


def test_two_logs_that_grow_out_of_one_do_not_meet():
    first = grown((1, 2), (3,))
    one, other = grown(first, (4,)), grown(first, (5, 6))
    assert (first, one, other) == ((1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 5, 6))
    assert one[1:] == (2, 3, 4)
    assert one[-1] == 4
    assert one[::-1] == (4, 3, 2, 1)
    assert isinstance(one[:2], Grown)
    assert grown(one[:2], (9,)) == (1, 2, 9)
    assert one == (1, 2, 3, 4)
