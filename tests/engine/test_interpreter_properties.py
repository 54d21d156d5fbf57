"""What holds for every workflow and every run."""

from __future__ import annotations

from typing import Any

from effort import times
from engine_ir import GO, STOP, for_count, for_each, parallel, step, while_artifact, while_condition, workflow
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_interpreter import LiteralRun

from pytest_workrail.engine.core.interpreter import Complete, Interpreter, Running, snapshot_of, state_of
from pytest_workrail.engine.model.snapshot import read_snapshot
from pytest_workrail.engine.model.step_keys import CompletedKeys
from workrail_lint.base.result import Err

_conditions = st.sampled_from(
    [
        None,
        {"var": "p"},
        {"not": {"var": "p"}},
        {"var": "q", "equals": "x"},
        {"var": "currentIteration", "gt": 1},
        {"and": [{"var": "p"}, {"var": "q"}]},
    ]
)


@st.composite
def _steps(draw: st.DrawFn, prefix: str) -> list[dict[str, Any]]:
    count = draw(st.integers(1, 3))
    return [step(f"{prefix}-{i}", when=draw(_conditions)) for i in range(count)]


@st.composite
def _workflows(draw: st.DrawFn) -> dict[str, Any]:
    made: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, 6))):
        name = f"s{index}"
        common = {"when": draw(_conditions)}
        limit = draw(st.sampled_from([1, 2, 3, 3, 4]))
        match draw(st.sampled_from(["step", "step", "step", "parallel", "for", "each", "while", "until", "artifact"])):
            case "step":
                made.append(step(name, **common))
            case "parallel":
                made.append(parallel(name, **common))
            case "for":
                count = draw(st.sampled_from([0, 1, 2, 2.5, "n"]))
                made.append(for_count(name, count, *draw(_steps(name)), limit=limit, **common))
            case "each":
                made.append(for_each(name, "xs", *draw(_steps(name)), limit=limit, **common))
            case "artifact":
                made.append(while_artifact(name, *draw(_steps(name)), limit=limit, **common))
            case kind:
                condition = draw(_conditions.filter(bool))
                made.append(while_condition(name, condition, *draw(_steps(name)), limit=limit, kind=kind, **common))
    return workflow(*made)


_contexts = st.fixed_dictionaries(
    {},
    optional={
        "p": st.sampled_from([True, False, 0, 1]),
        "q": st.sampled_from(["x", "y", ""]),
        "n": st.sampled_from([0, 1, 3, "3"]),
        "xs": st.sampled_from([[], ["a"], [{"b": 1}, 2], "no list"]),
    },
)
_artifacts = st.lists(st.sampled_from([GO, STOP, {"kind": "wr.loop_control"}, {"kind": "wr.other"}]), max_size=2)
_turns = st.lists(st.tuples(_contexts, _artifacts), min_size=1, max_size=25)


@settings(max_examples=times(30, deep=1_500), deadline=None)
@given(_workflows(), _turns)
def test_the_interpreter_does_what_its_description_says(ir: dict[str, Any], turns: list[Any]) -> None:
    interpreter, literal = Interpreter(ir), LiteralRun(ir)
    state = interpreter.start()
    for context, artifacts in turns:
        result = interpreter.next(state, context, artifacts)
        pending = literal.next(context, artifacts)
        if isinstance(pending, str):
            assert result.error.code == pending
            return
        selection = result.value
        assert selection.is_complete is not pending
        if not pending:
            assert selection.state == Complete()
            return
        assert (selection.step.step_id, selection.step.loop_path) == literal.pending
        state = interpreter.complete(selection.state, selection.step).value
        literal.complete()
        assert set(state.completed) == set(literal.completed)


@settings(max_examples=times(25, deep=1_000), deadline=None)
@given(_workflows(), _turns)
def test_every_run_keeps_its_promises(ir: dict[str, Any], turns: list[Any]) -> None:
    interpreter = Interpreter(ir)
    limits = {loop["id"]: loop["loop"]["maxIterations"] for loop in ir["steps"] if loop["type"] == "loop"}
    state = interpreter.start()
    seen: set[str] = set()
    history = []
    for context, artifacts in turns:
        result = interpreter.next(state, context, artifacts)
        assert interpreter.next(state, context, artifacts) == result
        if isinstance(result, Err) or result.value.step is None:
            break
        selection = result.value
        history.append((state, context, artifacts, result))
        assert selection.step.key not in seen
        for at in selection.step.loop_path:
            assert at.iteration < limits[at.loop_id]
        idle = interpreter.next(selection.state, {}, [STOP]).value
        assert (idle.state, idle.step, idle.trace) == (selection.state, selection.step, ())
        seen.add(selection.step.key)
        state = interpreter.complete(selection.state, selection.step).value
        assert selection.step.key in state.completed
    # Whatever happened since, every older state continues as it did the first time.
    for old, context, artifacts, result in reversed(history):
        assert interpreter.next(old, context, artifacts) == result


@settings(max_examples=times(25, deep=1_000), deadline=None)
@given(_workflows(), _turns)
def test_a_state_that_was_stored_continues_like_the_one_in_memory(ir: dict[str, Any], turns: list[Any]) -> None:
    kept, restoring = Interpreter(ir), Interpreter(ir)
    state = kept.start()
    for context, artifacts in turns:
        stored = state_of(read_snapshot(snapshot_of(state).to_bytes()).value)
        assert stored == state
        result = kept.next(state, context, artifacts)
        assert restoring.next(stored, context, artifacts) == result
        if isinstance(result, Err) or result.value.step is None:
            return
        state = kept.complete(result.value.state, result.value.step).value


@settings(deadline=None)
@given(st.lists(st.text("abc@:", min_size=1, max_size=4), max_size=40), st.data())
def test_completed_keys_are_a_set_that_shares_and_never_changes(keys: list[str], data: st.DataObject) -> None:
    versions = [CompletedKeys()]
    for key in keys:
        base = versions[data.draw(st.integers(0, len(versions) - 1))]
        before = list(base)
        grown = base.with_key(key)
        assert list(base) == before
        assert list(grown) == (before if key in before else [*before, key])
        assert key in grown
        assert len(grown) == len(set(grown))
        assert grown == CompletedKeys(reversed(list(grown)))
        assert hash(grown) == hash(CompletedKeys(reversed(list(grown))))
        versions.append(grown)


def test_a_long_loop_copies_little() -> None:
    keys = CompletedKeys()
    for number in range(5_000):
        keys = keys.with_key(f"loop@{number}::body")
    assert len(keys) == 5_000
    assert len(keys._chunks) <= 13


def test_a_state_of_another_workflow_is_counted_afresh() -> None:
    short, long = Interpreter(workflow(step("a"), step("b"))), Interpreter(workflow(step("b"), step("a"), step("c")))
    first = short.next(short.start(), {}).value
    done = short.complete(first.state, first.step).value
    assert isinstance(done, Running)
    assert long.next(done, {}).value.step.step_id == "b"
