"""Selection, loops, completion: worked examples and errors."""

from __future__ import annotations

from typing import Any

import pytest
from engine_ir import (
    GO,
    STOP,
    for_count,
    for_each,
    loop,
    parallel,
    step,
    while_artifact,
    while_condition,
    workflow,
)

from pytest_workrail.engine.core.interpreter import Complete, Init, Interpreter, Running, Selection, State
from pytest_workrail.engine.model.step_keys import CompletedKeys, LoopFrame, LoopPosition, StepInstance, collated


class Run:
    """Drives an interpreter the way an agent does."""

    def __init__(self, ir: dict[str, Any], context: dict[str, Any] | None = None, **options: Any) -> None:
        self.interpreter = Interpreter(ir, **options)
        self.context = context or {}
        self.state: State = self.interpreter.start()
        self.selection: Selection = self._next([])

    def _next(self, artifacts: list[Any]) -> Selection:
        self.selection = self.interpreter.next(self.state, self.context, artifacts).value
        self.state = self.selection.state
        return self.selection

    def advance(self, *artifacts: Any, **context: Any) -> Selection:
        assert self.selection.step is not None
        self.state = self.interpreter.complete(self.state, self.selection.step).value
        self.context = {**self.context, **context}
        return self._next(list(artifacts))

    @property
    def at(self) -> tuple[str, ...] | None:
        pending = self.selection.step
        return (
            None
            if pending is None
            else (pending.step_id, *(f"{at.loop_id}@{at.iteration}" for at in pending.loop_path))
        )

    @property
    def trace(self) -> list[str]:
        return [entry.summary for entry in self.selection.trace]


def _shown(state: State) -> object:
    if not isinstance(state, Running):
        return type(state).__name__
    return (
        collated(state.completed),
        [(at.loop_id, at.iteration, at.body_index) for at in state.loop_stack],
        state.pending and state.pending.key,
    )


REFINE = while_artifact(
    "refine",
    step("draft", title="Draft {{currentIteration}}"),
    step("decide", contract="wr.contracts.loop_control"),
    limit=3,
)


def test_a_linear_run() -> None:
    run = Run(workflow(step("gather", title="Gather"), step("report", title="Report")))
    assert run.at == ("gather",)
    assert run.trace == ["Next step: Selected (no condition): Gather (gather)"]
    assert run.advance().step == StepInstance("report")
    end = run.advance()
    assert (end.step, end.is_complete, end.trace, end.state) == (None, True, (), Complete())


def test_a_loop_driven_by_artifacts_with_its_states_and_traces() -> None:
    run = Run(workflow(step("setup"), REFINE, step("ship-it", title="Ship")))
    assert _shown(run.state) == ([], [], "setup")
    run.advance()
    assert _shown(run.state) == (["setup"], [("refine", 0, 0)], "refine@0::draft")
    assert run.trace == [
        "Loop 'refine' iteration 0: artifact match=not_found — No artifacts provided for loop control evaluation",
        "Evaluated artifact condition for loop 'refine' at iteration 0: continue.",
        "Entered loop 'refine' at iteration 0.",
        "Next step: Draft {{currentIteration}} (draft)",
    ]
    run.advance()
    assert _shown(run.state) == (["refine@0::draft", "setup"], [("refine", 0, 1)], "refine@0::decide")
    run.advance(GO)
    done = ["refine@0::decide", "refine@0::draft", "setup"]
    assert _shown(run.state) == (done, [("refine", 1, 0)], "refine@1::draft")
    assert run.trace == [
        "Loop 'refine' iteration 0: artifact match=found — decision=\"continue\"",
        "Evaluated artifact condition for loop 'refine' at iteration 0: continue.",
        "Entered loop 'refine' at iteration 0.",
        "Loop 'refine' iteration 1: artifact match=found — decision=\"continue\"",
        "Evaluated artifact condition for loop 'refine' at iteration 1: continue.",
        "Loop 'refine' iteration 1: artifact match=found — decision=\"continue\"",
        "Evaluated artifact condition for loop 'refine' at iteration 1: continue.",
        "Next step: Draft {{currentIteration}} (draft)",
    ]
    run.advance()
    done = ["refine@0::decide", "refine@0::draft", "refine@1::draft", "setup"]
    assert _shown(run.state) == (done, [("refine", 1, 1)], "refine@1::decide")
    run.advance({**STOP, "loopId": "some-other-loop"})
    done = ["refine", "refine@0::decide", "refine@0::draft", "refine@1::decide", "refine@1::draft", "setup"]
    assert _shown(run.state) == (done, [], "ship-it")
    assert run.trace == [
        "Loop 'refine' iteration 1: artifact match=found — decision=\"stop\"",
        "Evaluated artifact condition for loop 'refine' at iteration 1: exit.",
        "Exited loop 'refine': Condition no longer met after 1 iteration(s).",
        "Next step: Selected (no condition): Ship (ship-it)",
    ]
    assert run.advance().is_complete


def test_conditions_are_asked_again_and_a_skipped_step_can_come_late() -> None:
    run = Run(
        workflow(
            step("triage"),
            step("deep-dive", title="Deep", when={"var": "severity", "gte": 3}),
            step(
                "fast-path",
                title="Fast",
                when={"or": [{"var": "severity", "lt": 3}, {"var": "mode", "equals": "fast"}]},
            ),
            step("close-it", title="Close"),
        )
    )
    run.advance(severity=1)
    assert run.at == ("fast-path",)
    assert run.trace == ["SKIP: severity (gte)", "PASS: or-condition met", "Next step: Fast (fast-path)"]
    run.advance(severity=5)
    assert run.at == ("deep-dive",)
    assert run.trace == ["PASS: severity=5 (gte: 3)", "Next step: Deep (deep-dive)"]
    run.advance()
    assert run.at == ("close-it",)
    assert run.trace == ["Next step: Selected (no condition): Close (close-it)"]
    assert run.advance().trace == ()


def test_a_completing_search_still_tells_what_it_skipped() -> None:
    run = Run(workflow(step("only", when={"var": "never"})))
    assert run.selection.is_complete
    assert run.trace == ["SKIP: never (condition)"]
    assert [ref.to_wire() for ref in run.selection.trace[0].refs] == [{"kind": "step_id", "stepId": "only"}]


def test_for_each_item() -> None:
    body = step("build", prompt="#{{idx}} build {{slice.name}}.")
    names = {"item": "slice", "index": "idx"}
    ir = workflow(step("plan"), for_each("per-slice", "slices", body, limit=10, variables=names), step("wrap-up"))
    interpreter = Interpreter(ir)
    first = interpreter.next(interpreter.start(), {}).value
    planned = interpreter.complete(first.state, first.step).value
    error = interpreter.next(planned, {}).error
    assert (error.code, error.loop_id) == ("MissingContext", "per-slice")
    assert error.message == "forEach loop 'per-slice' requires array context['slices']"
    context = {"slices": [{"name": "api"}, {"name": "ui"}]}
    build = interpreter.next(planned, context).value
    assert build.step.loop_path == (LoopPosition("per-slice", 0),)
    again = interpreter.next(interpreter.complete(build.state, build.step).value, context).value
    assert again.step == StepInstance("build", (LoopPosition("per-slice", 1),))
    last = interpreter.next(interpreter.complete(again.state, again.step).value, context).value
    assert last.step.step_id == "wrap-up"


@pytest.mark.parametrize(
    ("item", "described"),
    [
        ("skip", 'strings (the first is "skip")'),
        (1, 'numbers (the first is "1")'),
        (None, 'nulls (the first is "null")'),
        ([1, 2], 'arrays (the first is "1,2")'),
        (True, 'booleans (the first is "true")'),
        ("x" * 70, f'strings (the first is "{"x" * 60}")'),
    ],
)
def test_items_whose_members_are_read_must_be_objects(item: object, described: str) -> None:
    body = step("use", prompt="Read {{currentItem.name}}.")
    interpreter = Interpreter(workflow(for_each("each-loop", "xs", body)))
    error = interpreter.next(interpreter.start(), {"xs": [item, {}]}).error
    assert error.code == "MissingContext"
    assert described in error.message
    assert "currentItem" in error.message
    assert "'xs'" in error.message


def test_items_may_be_anything_when_no_member_is_read() -> None:
    assert Run(workflow(for_each("each-loop", "xs", step("use"))), {"xs": ["a"]}).at == ("use", "each-loop@0")
    empty = Run(workflow(for_each("each-loop", "xs", step("use", prompt="{{currentItem.a}}"))), {"xs": []})
    assert empty.selection.is_complete


def test_a_counted_loop_takes_numbers_only() -> None:
    for count, passes in ((2, 2), (2.5, 3), (0, 0), (-1, 0)):
        run = Run(workflow(for_count("count-loop", count, step("body"))))
        seen = 0
        while run.at:
            run.advance()
            seen += 1
        assert seen == passes
    interpreter = Interpreter(workflow(for_count("count-loop", "n", step("body"))))
    for bad in ({}, {"n": "3"}, {"n": True}, {"n": None}):
        error = interpreter.next(interpreter.start(), bad).error
        assert error.code == "MissingContext"
        assert error.message == "for loop 'count-loop' requires numeric context['n']"
    assert interpreter.next(interpreter.start(), {"n": 1}).value.step.step_id == "body"


def test_a_condition_that_turns_mid_body_ends_the_loop_at_once() -> None:
    loop_ = while_condition("poll", {"var": "busy"}, step("ask"), step("wait"))
    run = Run(workflow(loop_, step("after")), {"busy": True})
    assert run.at == ("ask", "poll@0")
    run.advance(busy=False)
    assert run.at == ("after",)
    assert run.trace[0] == "Evaluated context condition for loop 'poll' at iteration 0: exit."
    assert run.trace[1] == "Exited loop 'poll': Condition no longer met after 0 iteration(s)."


def test_until_inverts_conditions_but_not_artifacts() -> None:
    ready = while_condition("poll", {"var": "ready"}, step("ask"), kind="until", derived="legacy")
    run = Run(workflow(ready))
    assert run.at == ("ask", "poll@0")
    assert run.trace[0] == "Evaluated context condition for loop 'poll' at iteration 0: continue."
    assert run.advance(ready=True).is_complete
    decided = Run(workflow(while_artifact("poll", step("ask"), kind="until")))
    assert decided.advance(GO).step.loop_path == (LoopPosition("poll", 1),)
    assert decided.advance(STOP).is_complete


@pytest.mark.parametrize(
    ("artifacts", "goes_on"),
    [
        ([STOP], False),
        ([GO], True),
        ([GO, STOP], False),
        ([STOP, GO], True),
        ([STOP, {**GO, "summary": "not a field"}], False),
        ([{"kind": "wr.loop_control", "decision": "maybe"}], True),
        ([{"kind": "wr.other"}, "text", 5, None, [STOP]], True),
        ([], True),
    ],
)
def test_the_last_valid_decision_counts(artifacts: list[Any], goes_on: bool) -> None:
    run = Run(workflow(while_artifact("refine", step("draft"))))
    run.advance(*artifacts)
    assert run.at == (("draft", "refine@1") if goes_on else None)


def test_reasons_of_decisions_that_do_not_count() -> None:
    run = Run(workflow(while_artifact("refine", step("draft"), named="elsewhere")))
    run.advance({"kind": "wr.other"})
    first = run.selection.trace[0]
    assert first.summary == (
        "Loop 'elsewhere' iteration 0: artifact match=not_found — No wr.loop_control artifact found"
    )
    assert [ref.to_wire() for ref in first.refs] == [
        {"kind": "loop_id", "loopId": "elsewhere"},
        {"kind": "iteration", "value": 0},
    ]
    run.advance({"kind": "wr.loop_control"})
    assert run.trace[0].startswith("Loop 'elsewhere' iteration 1: artifact match=invalid — ")
    assert "schema" in run.trace[0]


def test_the_limit_is_a_natural_end() -> None:
    run = Run(workflow(while_condition("again", {"and": []}, step("body"), limit=2), step("after")))
    assert [run.at, run.advance() and run.at, run.advance() and run.at] == [
        ("body", "again@0"),
        ("body", "again@1"),
        ("after",),
    ]
    assert "Exited loop 'again': Condition no longer met after 1 iteration(s)." in run.trace


def test_loop_variables_shadow_the_context_in_conditions() -> None:
    body = (
        step("first-only", when={"var": "currentIteration", "equals": 1}),
        step("rest", when={"var": "currentIteration", "gt": 1}),
    )
    run = Run(workflow(for_count("twice", 2, *body)), {"currentIteration": 99})
    assert run.at == ("first-only", "twice@0")
    run.advance()
    assert run.at == ("rest", "twice@1")
    assert run.advance().is_complete


def test_the_condition_of_a_loop_sees_the_iteration_it_is_asked_about() -> None:
    run = Run(
        workflow(while_condition("few", {"var": "pass", "lte": 2}, step("body"), variables={"iteration": "pass"}))
    )
    passes = 0
    while run.at:
        run.advance()
        passes += 1
    assert passes == 2


def test_an_iteration_without_an_eligible_step_counts() -> None:
    run = Run(workflow(for_count("skip", 3, step("body", when={"var": "currentIteration", "equals": 3}))))
    assert run.at == ("body", "skip@2")


def test_a_parallel_step_is_a_step() -> None:
    run = Run(workflow(parallel("fan-out", {"workflowId": "a"}), for_count("once", 1, parallel("inner"))))
    assert run.at == ("fan-out",)
    run.advance()
    assert run.at == ("inner", "once@0")
    assert run.advance().is_complete


def test_a_search_without_end_is_an_error() -> None:
    forever = while_condition("spin", {"and": []}, step("body", when={"var": "never"}), limit=100_000)
    interpreter = Interpreter(workflow(forever))
    assert interpreter.next(interpreter.start(), {}).error.code == "InvalidState"


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (loop("odd", "while", {"kind": "none"}, step("body")), "InvalidLoop"),
        (for_count("odd", 3, step("body"), limit=2.5), "InvalidLoop"),
        (for_count("odd", 3, step("body"), limit=-1), "InvalidLoop"),
        (for_count("odd", 3), "InvalidLoop"),
        (for_count("odd", 3, step("body"), limit=0), "InvalidState"),
    ],
)
def test_broken_loops(broken: dict[str, Any], code: str) -> None:
    interpreter = Interpreter(workflow(broken))
    error = interpreter.next(interpreter.start(), {}).error
    assert (error.code, error.loop_id) == (code, "odd")


@pytest.mark.parametrize(
    "frame", [LoopFrame("twice", 2, 0), LoopFrame("twice", -1, 0), LoopFrame("twice", 0, 2), LoopFrame("gone", 0, 0)]
)
def test_impossible_frames(frame: LoopFrame) -> None:
    interpreter = Interpreter(workflow(for_count("twice", 2, step("body"), limit=2)))
    state = Running(CompletedKeys(), (frame,))
    assert interpreter.next(state, {}).error.code == "InvalidState"


def test_a_frame_may_be_at_the_end_of_its_body() -> None:
    """There the pass is over, and the next one begins."""
    interpreter = Interpreter(workflow(for_count("twice", 2, step("body"), limit=2)))
    state = Running(CompletedKeys(["twice@0::body"]), (LoopFrame("twice", 0, 1),))
    assert interpreter.next(state, {}).value.step == StepInstance("body", (LoopPosition("twice", 1),))


def test_completing() -> None:
    interpreter = Interpreter(workflow(step("one"), step("two")))
    one = StepInstance("one")
    assert interpreter.complete(Complete(), one).value == Complete()
    assert interpreter.complete(Init(), one).error.code == "InvalidState"
    assert interpreter.complete(Running(), one).error.code == "InvalidState"
    pending = interpreter.next(interpreter.start(), {}).value
    wrong = interpreter.complete(pending.state, StepInstance("two")).error
    assert wrong.code == "InvalidState"
    assert "'one'" in wrong.message
    assert "'two'" in wrong.message
    done = interpreter.complete(pending.state, StepInstance("one", ())).value
    assert list(done.completed) == ["one"]
    assert done.pending is None


def test_a_pending_step_is_returned_as_it_is() -> None:
    interpreter = Interpreter(workflow(step("one", when={"var": "go"})))
    pending = interpreter.next(interpreter.start(), {"go": True}).value
    again = interpreter.next(pending.state, {"go": False}).value
    assert (again.state, again.step, again.is_complete, again.trace) == (pending.state, pending.step, False, ())


# @enforces ir-format-refused-when-unknown
def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"workrail\.ir/1"):
        Interpreter({**workflow(step("one")), "format": "workrail.ir/2"})


def test_an_ir_must_hold_the_pack_a_loop_is_driven_by() -> None:
    with pytest.raises(ValueError, match="loop_control"):
        Interpreter({**workflow(REFINE), "contracts": []})
