"""Loops under the profile that reports limits and missing decisions."""

from __future__ import annotations

from typing import Any

import pytest
from engine_ir import for_count, for_each, step, while_artifact, while_condition, workflow
from msgspec.structs import fields

from pytest_workrail.engine.core.interpreter import Interpreter, Selection, State
from pytest_workrail.engine.core.profiles import LOCKED, PROFILES, REFERENCE, profile_of
from pytest_workrail.engine.model.reasons import InvalidRequiredOutput, LoopLimitReached, MissingRequiredOutput
from pytest_workrail.engine.model.step_keys import LoopPosition

GO = {"kind": "wr.loop_control", "decision": "continue", "loopId": "refine"}
STOP = {"kind": "wr.loop_control", "decision": "stop", "loopId": "refine"}
LOOP_CONTROL = "wr.contracts.loop_control"


def _refine(limit: int, *body: dict[str, Any]) -> dict[str, Any]:
    return workflow(while_artifact("refine", *(body or (step("draft"),)), limit=limit), step("ship"))


def _locked(ir: dict[str, Any], **options: Any) -> Interpreter:
    return Interpreter(ir, profile="locked", **options)


def _advanced(interpreter: Interpreter, *turns: tuple[dict[str, Any], list[Any]]) -> State:
    """The state after some turns, with the last pending step completed."""
    state = interpreter.start()
    context: dict[str, Any] = {}
    artifacts: list[Any] = []
    for context, artifacts in turns:
        selection = interpreter.next(state, context, artifacts).value
        state = interpreter.complete(selection.state, selection.step).value
    return state


def _after_draft(interpreter: Interpreter, context: dict[str, Any] | None = None) -> State:
    first = interpreter.next(interpreter.start(), context or {}).value
    return interpreter.complete(first.state, first.step).value


def test_profiles_differ_only_where_they_should() -> None:
    assert profile_of("reference") is REFERENCE
    assert profile_of(LOCKED) is LOCKED
    assert [profile.name for profile in PROFILES.values()] == ["reference", "locked"]
    same = {f.name for f in fields(REFERENCE) if getattr(REFERENCE, f.name) == getattr(LOCKED, f.name)}
    assert same == {"capability_downgrade"}


def test_a_loop_that_would_go_beyond_its_limit_is_an_error() -> None:
    interpreter = _locked(_refine(1))
    error = interpreter.next(_after_draft(interpreter), {}, [GO]).error
    assert error.code == "MaxIterationsExceeded"
    assert (error.loop_id, error.iteration, error.max_iterations) == ("refine", 1, 1)
    assert error.message == "Loop 'refine' would start iteration 1 but is limited to 1."
    assert interpreter.next(_after_draft(interpreter), {}, [STOP]).value.step.step_id == "ship"


def test_a_run_that_never_stops_leaves_the_loop_and_says_so() -> None:
    interpreter = _locked(_refine(1), never_stop=True)
    selection: Selection = interpreter.next(_after_draft(interpreter), {}, [GO]).value
    assert selection.step.step_id == "ship"
    assert selection.gaps == (LoopLimitReached("refine", 1, 1),)
    assert "Exited loop 'refine': Limit of 1 iteration(s) reached." in [entry.summary for entry in selection.trace]
    assert interpreter.next(_after_draft(interpreter), {}, [GO], never_stop=False).error.code == "MaxIterationsExceeded"


def test_never_stopping_can_be_said_for_one_call() -> None:
    interpreter = _locked(_refine(1))
    assert interpreter.next(_after_draft(interpreter), {}, [GO], never_stop=True).value.gaps


@pytest.mark.parametrize(("count", "reported"), [(2, False), (3, True)])
def test_a_counted_loop_may_end_exactly_at_its_limit(count: int, reported: bool) -> None:
    interpreter = _locked(workflow(for_count("loop", "n", step("body"), limit=2), step("after")))
    state = _advanced(interpreter, ({"n": count}, []), ({"n": count}, []))
    result = interpreter.next(state, {"n": count})
    if reported:
        assert result.error.code == "MaxIterationsExceeded"
        assert interpreter.next(state, {"n": 2}).value.step.step_id == "after"
    else:
        assert result.value.step.step_id == "after"
        assert result.value.gaps == ()


def test_lists_and_conditions_can_be_too_long_as_well() -> None:
    long_list = _locked(workflow(for_each("loop", "xs", step("body"), limit=1)))
    context = {"xs": [1, 2]}
    assert long_list.next(_after_draft(long_list, context), context).error.code == "MaxIterationsExceeded"
    endless = _locked(workflow(while_condition("loop", {"and": []}, step("body"), limit=1)))
    assert endless.next(_after_draft(endless), {}).error.code == "MaxIterationsExceeded"


def test_several_limits_in_one_search_each_leave_a_gap() -> None:
    never = step("body", when={"var": "never"})
    other = {**never, "id": "other"}
    ir = workflow(for_count("one", 5, never, limit=2), for_count("two", 5, other, limit=3), step("ship"))
    selection = _locked(ir, never_stop=True).next(_locked(ir).start(), {}).value
    assert selection.step.step_id == "ship"
    assert selection.gaps == (LoopLimitReached("one", 2, 2), LoopLimitReached("two", 3, 3))


def test_a_decision_is_required_at_the_end_of_an_iteration() -> None:
    interpreter = _locked(_refine(3))
    state = _after_draft(interpreter)
    missing = interpreter.next(state, {}, [{"kind": "wr.other"}]).error
    assert (missing.code, missing.loop_id, missing.iteration) == ("MissingLoopControl", "refine", 0)
    for artifact, issue in (
        ({"kind": "wr.loop_control", "decision": "stop"}, "loopId: Required"),
        ({**STOP, "loopId": "other"}, 'loopId: Invalid literal value, expected "refine"'),
    ):
        invalid = interpreter.next(state, {}, [artifact]).error
        assert (invalid.code, invalid.iteration, invalid.issues) == ("InvalidLoopControl", 0, (issue,))
    assert interpreter.next(state, {}, [GO]).value.step.loop_path == (LoopPosition("refine", 1),)
    assert interpreter.next(state, {}, [STOP, {**GO, "loopId": "other"}]).value.step.step_id == "ship"


def test_without_a_decision_a_run_that_never_stops_leaves_the_loop() -> None:
    interpreter = _locked(_refine(3), never_stop=True)
    state = _after_draft(interpreter)
    missing = interpreter.next(state, {}).value
    assert missing.step.step_id == "ship"
    assert missing.gaps == (MissingRequiredOutput(LOOP_CONTROL, loop=LoopPosition("refine", 0)),)
    invalid = interpreter.next(state, {}, [{"kind": "wr.loop_control"}]).value
    assert invalid.gaps == (InvalidRequiredOutput(LOOP_CONTROL, loop=LoopPosition("refine", 0)),)


def test_between_body_steps_no_decision_is_needed_but_a_stop_counts() -> None:
    interpreter = _locked(_refine(3, step("draft"), step("later")))
    state = _after_draft(interpreter)
    assert interpreter.next(state, {}).value.step.step_id == "later"
    assert interpreter.next(state, {}, [STOP]).value.step.step_id == "ship"
    later = interpreter.next(state, {}, [GO]).value
    done = interpreter.complete(later.state, later.step).value
    assert interpreter.next(done, {}, [GO]).value.step.loop_path == (LoopPosition("refine", 1),)
    assert interpreter.next(done, {}).error.code == "MissingLoopControl"


def test_a_decision_is_also_required_when_no_body_step_was_eligible() -> None:
    interpreter = _locked(_refine(3, step("draft", when={"var": "never"})))
    assert interpreter.next(interpreter.start(), {}).error.code == "MissingLoopControl"
    passed = interpreter.next(interpreter.start(), {}, never_stop=True).value
    assert passed.step.step_id == "ship"
    assert len(passed.gaps) == 1


def test_the_reference_profile_reports_nothing() -> None:
    interpreter = Interpreter(_refine(1))
    selection = interpreter.next(_after_draft(interpreter), {}, [GO]).value
    assert (selection.step.step_id, selection.gaps) == ("ship", ())
