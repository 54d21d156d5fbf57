"""The strict agent: a script that does not fit the run is an error, and the error says where."""

from __future__ import annotations

from typing import Any

import pytest
from agent_workflows import loop, play, step, workflow

from pytest_workrail.agents.agent import Checkpoint, Prefer, Rehydrate, Resend, Rewind, Stop, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.scripted import Behave, Prepared, Recorded, Scripted, Turn, script_turns
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.run.result import Run
from workrail_lint.systems.workrail.scenario_words import AFTER_END, Behaviour

TWO = workflow(step("one"), step("two"))
THRICE = workflow(loop("again", step("work"), type="for", count=3, maxIterations=3))


def scripted(answers: dict[str, object], authored: dict[str, object] = TWO, strict: bool = True) -> Run:
    return play(authored, Scripted(script_turns(answers), None if strict else Auto()))  # type: ignore[arg-type]


def test_a_script_that_fits() -> None:
    run = scripted({"one": "First.", "two": {"notes": "Second.", "context": {"x": 1}}})
    assert run.ending.kind == "complete"
    assert run.outputs == {"one": {"notes": "First."}, "two": {"notes": "Second."}}
    assert run.context["x"] == 1


@pytest.mark.parametrize(
    ("answers", "message", "place"),
    [
        ({"one": "x"}, "no answer for step 'two'", ""),
        ({"one": "x", "two": "y", "three": "z"}, "no step 'three' (steps: one, two)", "three"),
        ({"one": "x", "tow": "y"}, "did you mean 'two'?", "tow"),
        ({"one": ["x", "y"], "two": "z"}, "turn for step 'one' was never used", "one[1]"),
        ({"one": Behaviour.WRONG_KIND, "two": "z"}, "wrong_kind is not possible at step", "one"),
    ],
)
def test_a_script_that_does_not_fit(answers: dict[str, object], message: str, place: str) -> None:
    run = scripted(answers)
    assert run.ending.kind == "misplayed"
    assert message in run.ending.why
    assert run.ending.place == place


def test_a_blocked_step_without_a_further_answer_ends_the_run() -> None:
    run = scripted({"one": Submit(), "two": "never"})
    assert run.ending.kind == "misplayed", "the turn for two stays unused"
    run = play(TWO, Scripted([Turn("one", Submit())]))
    assert (run.ending.kind, run.status, run.blockers) == ("stopped", "blocked", ("MISSING_REQUIRED_NOTES",))


def test_answers_of_a_step_are_used_in_order() -> None:
    run = scripted({"work": ["a", "b", "c"]}, THRICE)
    notes = [output["notes"] for output in run.transcript.final["outputs"]]  # type: ignore[union-attr, index, call-overload]
    assert notes == ["a", "b", "c"]
    retried = scripted({"one": [Submit(), "now with notes"], "two": "z"})
    assert (retried.ending.kind, retried.blockers) == ("complete", ("MISSING_REQUIRED_NOTES",))


@pytest.mark.parametrize(
    "turns",
    [
        (Turn("work", Submit("any"), repeats=True), Turn("work", Submit("second"), visit=2)),
        script_turns({"work": [{"notes": "any", "repeats": True}, {"notes": "second", "visit": 2}]}),
    ],
    ids=["turns", "script"],
)
def test_turns_for_a_visit_come_before_turns_for_any(turns: tuple[Turn, ...]) -> None:
    run = play(THRICE, Scripted(turns))
    notes = [output["notes"] for output in run.transcript.final["outputs"]]  # type: ignore[union-attr, index, call-overload]
    assert notes == ["any", "second", "any"]


def test_a_turn_that_repeats_does_not_fail_for_ever() -> None:
    run = play(TWO, Scripted([Turn("one", Submit(), repeats=True)]))
    assert (run.ending.kind, run.status) == ("stopped", "error")
    assert run.blockers == ("MISSING_REQUIRED_NOTES",) * 10


def test_a_visit_that_never_comes() -> None:
    run = play(TWO, Scripted([Turn("one", Submit("x"), visit=2)], Auto()))
    assert run.ending.kind == "misplayed"
    assert "on visit 2 was never used" in run.ending.why


def test_somebody_else_acts_where_nothing_is_written() -> None:
    run = scripted({"two": "Written."}, strict=False)
    assert run.outputs == {"one": {"notes": "Done: one."}, "two": {"notes": "Written."}}


def test_expectations_of_a_turn_stop_the_run_there() -> None:
    turn = Turn("one", Submit("x"), place="/here", expects=lambda answer: f"got {answer.response['kind']}")
    run = play(TWO, Scripted([turn], Auto()))
    assert (run.ending.kind, run.ending.why, run.ending.place) == ("misplayed", "got ok", "/here")
    assert len(run.transcript.exchanges) == 2
    last = Turn("two", Submit("x"), place="/there", expects=lambda answer: "not like this")
    assert play(TWO, Scripted([last], Auto())).ending.place == "/there", "also when nothing comes after it"


def test_going_back_where_the_run_has_never_been() -> None:
    run = play(TWO, Scripted([Turn("one", Rewind("two"), place="/there")], Auto()))
    assert (run.ending.kind, run.ending.place) == ("misplayed", "/there")
    assert "can't go back to step 'two'" in run.ending.why
    assert play(TWO, Scripted([Turn("one", Rewind())], Auto())).ending.kind == "complete"


def test_a_fork_is_a_new_visit() -> None:
    turns = [
        Turn("one", Submit("a")),
        Turn("two", Rewind("one")),
        Turn("one", Submit("b"), visit=2),
        Turn("two", Checkpoint(), visit=2),
        Turn("two", Rehydrate(), visit=2),
    ]
    run = play(TWO, Scripted(turns, Auto()))
    assert (run.ending.kind, run.steps) == ("complete", ("one", "one", "two"))
    assert run.outputs["one"] == {"notes": "b"}, "outputs are those of the branch the run went on with"


def test_agents_may_leave_a_run_as_it_is() -> None:
    run = play(TWO, Scripted([Turn("two", Stop("Lunch."))], Auto()))
    assert (run.status, run.ending.why, run.steps) == ("in_progress", "Lunch.", ("one",))


def test_context_beside_a_behaviour() -> None:
    run = play(TWO, Scripted([Turn("one", Behave(Behaviour.RIGHT, {"n": 1}))], Auto()))
    assert run.context["n"] == 1


def test_answers_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="unknown in an answer with does: notes"):
        script_turns({"one": {"does": "right", "notes": "x"}})
    with pytest.raises(TypeError, match="unknown in an answer: note"):
        script_turns({"one": {"note": "x"}})
    with pytest.raises(ValueError, match="wrong_kinds"):
        script_turns({"one": {"does": "wrong_kinds"}})


def test_a_recording_hands_in_the_same_again() -> None:
    first = scripted({"one": [Submit(), Submit("x", ({"kind": "demo.note"},), {"n": 1})], "two": "y"})
    again = play(TWO, Recorded(first.transcript))
    assert again.transcript == first.transcript
    longer = workflow(step("one"), step("two"), step("three"))
    assert play(longer, Recorded(first.transcript)).ending.why == "The recording ends here."


def test_a_recording_keeps_what_is_no_submission() -> None:
    never = Prefer(Preferences("full_auto_never_stop", "aggressive"))
    turns = [
        Turn("one", never),
        Turn("one", Submit("first")),
        Turn("two", Resend()),
        Turn("two", Rewind("one")),
        Turn("one", Submit("second")),
        Turn(AFTER_END, Rewind("two")),
        Turn("two", Submit("third"), visit=3),
    ]
    first = play(TWO, Scripted(turns, Auto()))
    again = play(TWO, Recorded(first.transcript))
    assert [type(action) for action in first.transcript.actions][:4] == [Prefer, Submit, Resend, Rewind]
    assert first.steps == ("one", "one", "two", "two")
    assert again.transcript == first.transcript


def test_a_function_prepares_answers_by_step_iteration_and_visit() -> None:
    """An attempt after a refusal is a visit too."""
    asked: list[tuple[str, object]] = []

    def prepared(step_id: str, info: Any) -> dict[str, object]:
        asked.append((step_id, info))
        return {"notesMarkdown": "Done."} if info["visit"] != 2 else {"context": {}}

    run = play(THRICE, Prepared(prepared))
    assert run.ending.kind == "complete"
    iterations = (0, 1, 1, 2)
    assert asked == [
        ("work", {"loopPath": [{"loopId": "again", "iteration": at}], "visit": visit})
        for visit, at in enumerate(iterations, 1)
    ]
