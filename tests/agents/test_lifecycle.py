"""Runs with prepared outputs: which output serves which visit, and how each way to end is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from agent_workflows import by_artifact, decide, loop, step, workflow
from changed import replace
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail import lifecycle
from pytest_workrail.agents.agent import Exchange
from pytest_workrail.engine.core.prompts import PromptRenderer
from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.protocol.errors import not_healthy
from pytest_workrail.engine.store.gate import CorruptTail
from pytest_workrail.lifecycle import Blocked, Gated, IntegrityFailure, MissingFixture, Success, run_lifecycle
from pytest_workrail.run.bench import Bench
from workrail_lint import compile_workflow

TWO = workflow(step("first"), step("second"))
NOTES = {"notesMarkdown": "Done."}
BOTH = {"first": NOTES, "second": NOTES}
LOOP = workflow(loop("again", step("look"), decide(), **by_artifact("again", 5)))


_DAMAGED = not_healthy(CorruptTail(CorruptionReason("digest_mismatch", "a segment was altered")))


def decision(said: str) -> dict[str, Any]:
    return {**NOTES, "artifacts": [{"kind": "wr.loop_control", "loopId": "again", "decision": said}]}


def test_a_whole_run() -> None:
    result = run_lifecycle(TWO, BOTH)
    assert result.to_json() == {
        "kind": "success",
        "stepsVisited": ["first", "second"],
        "status": "complete",
        "gaps": [],
    }
    assert run_lifecycle(compile_workflow(json.dumps(TWO)).value, BOTH) == result


def test_a_list_serves_one_visit_after_the_other_and_its_last_item_all_others() -> None:
    seen: list[dict[str, Any]] = []

    def prepared(step_id: str, info: dict[str, Any]) -> dict[str, Any]:
        seen.append({"step": step_id, **info})
        return decision("continue" if info["visit"] < 3 else "stop") if step_id == "decide" else NOTES

    by_function = run_lifecycle(LOOP, prepared)
    by_list = run_lifecycle(LOOP, {"look": [NOTES], "decide": [decision("continue")] * 2 + [decision("stop")]})
    assert by_function == by_list
    assert isinstance(by_list, Success)
    assert by_list.steps_visited == ("look", "decide") * 3
    assert seen[3] == {"step": "decide", "loopPath": [{"loopId": "again", "iteration": 1}], "visit": 2}


@given(st.integers(1, 5), st.integers(1, 5))
def test_the_length_of_a_list_decides_how_often_its_last_item_is_used(length: int, rounds: int) -> None:
    asked = [{"notesMarkdown": f"look {number}"} for number in range(length)]
    decisions = [decision("continue")] * (rounds - 1) + [decision("stop")]
    result = run_lifecycle(LOOP, {"look": asked, "decide": decisions})
    assert result.run is not None
    outputs: Any = result.run.transcript.final["outputs"]
    said = [output["notes"] for output in outputs if output["step"] == "look"]
    assert said == [f"look {min(number, length - 1)}" for number in range(rounds)]


def test_a_refused_step_is_handed_in_with_what_comes_next() -> None:
    result = run_lifecycle(TWO, {"first": [{}, NOTES], "second": [{}, {}, NOTES]})
    assert isinstance(result, Blocked)  # the second empty output is the first one again
    assert result.step_id == "second"
    assert [blocker["code"] for blocker in result.blockers] == ["MISSING_REQUIRED_NOTES"]
    assert result.run is not None
    assert result.run.steps == ("first",)


def test_outputs_that_only_python_takes_for_the_same() -> None:
    """A number is no boolean, so the second output is another one, and the third is tried as well."""
    divergence = {"kind": "wr.workflow_divergence", "reason": "missing_user_context", "summary": "Asked nobody."}
    diverging = workflow(step("first", outputContract={"contractRef": "wr.contracts.workflow_divergence"}))
    outputs = [{**NOTES, "artifacts": [{"kind": "note", "said": said}]} for said in (1, True)]
    result = run_lifecycle(diverging, {"first": [*outputs, {**NOTES, "artifacts": [divergence]}]})
    assert result.kind == "success"


def test_a_function_may_change_what_it_gave_before() -> None:
    given: dict[str, Any] = {**NOTES, "artifacts": [{"kind": "wr.loop_control", "decision": "perhaps"}]}

    def prepared(step_id: str, info: dict[str, Any]) -> dict[str, Any]:
        if info["visit"] == 2:
            given["artifacts"][0]["decision"] = "stop"
        return given

    result = run_lifecycle(workflow(decide()), prepared)
    assert result.kind == "success"
    assert result.golden().count("perhaps") > 0  # as it was when it was submitted


def test_an_empty_change_of_the_context_is_one() -> None:
    stored = {}
    for context in ({}, {"context": {}}):
        log = run_lifecycle(TWO, {**BOTH, "first": {**NOTES, **context}}).golden()
        stored[len(context)] = log.count('"kind": "context_set"')
    assert stored[1] == stored[0] + 1


def test_a_tuple_is_the_same_list_again() -> None:
    odd = {"artifacts": ({"kind": "wr.other", "parts": ((1, 2), (3,))},)}
    result = run_lifecycle(TWO, lambda step_id, info: odd)
    assert isinstance(result, Blocked)
    assert result.run is not None
    assert len(result.run.responses) == 2


def test_context_is_merged_step_by_step() -> None:
    conditional = workflow(step("first"), step("second", runCondition={"var": "go", "equals": True}))
    changed = {**BOTH, "first": {**NOTES, "context": {"go": True}}}
    result = run_lifecycle(conditional, changed, initial_context={"kept": 1})
    assert result.run is not None
    assert (result.run.steps, result.run.context["kept"]) == (("first", "second"), 1)
    assert run_lifecycle(conditional, BOTH).to_json()["stepsVisited"] == ["first"]


def test_nothing_prepared() -> None:
    for fixtures in ({"first": NOTES}, {"first": NOTES, "second": []}, {"first": NOTES, "second": None}):
        assert run_lifecycle(TWO, fixtures) == MissingFixture("second")  # type: ignore[arg-type]
    assert run_lifecycle(TWO, lambda step_id, info: None).to_json() == {"kind": "missing_fixture", "stepId": "first"}


def test_as_many_rounds_as_there_may_be() -> None:
    assert run_lifecycle(TWO, BOTH, max_steps=2).kind == "success"
    assert run_lifecycle(TWO, BOTH, max_steps=1).to_json() == {"kind": "driver_exceeded_iterations", "limit": 1}


GATED = workflow(step("first"), step("second", requireConfirmation={"kind": "human_approval"}))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gated", {"initial_context": {"is_autonomous": "true"}}),
        ("blocked", {"profile": "locked", "preferences": {"autonomy": "full_auto_stop_on_user_deps"}}),
    ],
)
def test_a_run_that_goes_no_further_in_its_last_round_did_not_have_too_few(kind: str, options: Any) -> None:
    assert run_lifecycle(GATED, BOTH, max_steps=2, **options).kind == kind
    assert run_lifecycle(GATED, BOTH, max_steps=1, **options).kind == "driver_exceeded_iterations"


def test_a_call_that_fails_in_the_last_round() -> None:
    failing = {**BOTH, "second": {**NOTES, "context": {"constructor": 1}}}
    result = run_lifecycle(TWO, failing, max_steps=2)
    assert result.to_json()["envelope"]["code"] == "VALIDATION_ERROR"
    (*_, last) = json.loads(result.golden())["transcript"]
    assert (list(last), last["response"]["code"]) == (["request", "response"], "VALIDATION_ERROR")


def test_a_gate() -> None:
    gated = workflow(step("first"), step("second", requireConfirmation={"kind": "human_approval"}))
    result = run_lifecycle(gated, BOTH, initial_context={"is_autonomous": "true"})
    assert result == Gated("second", "human_approval")
    assert result.to_json() == {"kind": "gated", "stepId": "second", "gateKind": "human_approval"}


def test_gaps_of_a_run_that_never_stops() -> None:
    for preferences in ({"autonomy": "full_auto_never_stop"}, Preferences("full_auto_never_stop", "conservative")):
        result = run_lifecycle(TWO, {"first": {}, "second": NOTES}, preferences=preferences)
        assert isinstance(result, Success)
        assert result.status == "complete_with_gaps"
        assert [gap["detail"] for gap in result.gaps] == ["missing_required_notes"]


def test_a_workflow_that_does_not_compile() -> None:
    result = run_lifecycle(workflow(), {})
    assert result.kind == "compilation_failed"
    (error,) = result.to_json()["errors"]
    assert (error["name"], error["pointer"]) == ("schema-bounds", "/steps")
    with pytest.raises(RuntimeError, match="there is no golden"):
        result.golden()


def test_a_run_that_can_not_start() -> None:
    result = run_lifecycle(workflow(step("first", runCondition={"var": "go"})), {})
    assert result.kind == "error"
    assert result.to_json()["envelope"]["code"] == "PRECONDITION_FAILED"


def test_a_prompt_that_can_not_be_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    render = PromptRenderer.render

    def broken(self: PromptRenderer, instance: Any, situation: Any) -> Any:
        if instance.step_id == "second":
            raise KeyError("prompt")
        return render(self, instance, situation)

    monkeypatch.setattr(PromptRenderer, "render", broken)
    shown = run_lifecycle(TWO, BOTH).to_json()
    assert shown["kind"] == "prompt_render_failed"
    assert (shown["stepId"], "KeyError" in shown["message"]) == ("second", True)


def test_a_session_that_is_damaged_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    call: Callable[..., Exchange] = Bench.call

    def damaged(self: Bench, tool: str, request: dict[str, Any]) -> Exchange:
        if tool == "start_workflow":
            return call(self, tool, request)
        exchange = Exchange(tool, request, _DAMAGED.to_json(), True)
        self.exchanges.append(exchange)
        return exchange

    monkeypatch.setattr(Bench, "call", damaged)
    result = run_lifecycle(TWO, BOTH)
    assert isinstance(result, IntegrityFailure)
    assert (result.step_id, "corrupt_tail" in result.message) == ("first", True)


def test_the_golden_of_a_run_holds_transcript_and_log() -> None:
    result = run_lifecycle(TWO, {**BOTH, "second": [{}, NOTES]}, profile="locked")
    text = result.golden()
    assert text == run_lifecycle(TWO, {**BOTH, "second": [{}, NOTES]}, profile="locked").golden()
    assert text.endswith("}\n")
    golden = json.loads(text)
    assert list(golden) == ["workflowHash", "profile", "transcript", "log", "status"]
    assert (golden["profile"], golden["status"]) == ("locked", "complete")
    assert [event["index"] for event in golden["log"]] == list(range(len(golden["log"])))
    assert golden["log"][1]["kind"] == "run_started"
    assert golden["transcript"][0]["response"]["continueToken"] == "«CT1»"
    assert "⟪FIX⟫" in text
    assert "⟪NOTES_FULL⟫" in text


@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_neither_ids_nor_our_wording_are_part_of_the_golden(monkeypatch: pytest.MonkeyPatch, profile: Any) -> None:
    """The stored state of a refused attempt holds both, so what it comes to as a digest tells them, too."""

    def golden() -> str:
        fixtures = {"first": [{}, NOTES], "second": [{}, {"notesMarkdown": ""}, NOTES]}
        return run_lifecycle(TWO, fixtures, profile=profile).golden()

    before = golden()
    made = lifecycle.drive
    monkeypatch.setattr(lifecycle, "drive", lambda setup, agent: made(replace(setup, seed=1), agent))
    assert golden() == before
    assert before.count("«SNAPSHOT»") == 3


@pytest.mark.parametrize(
    ("fixtures", "said"),
    [
        (3, "not a int"),
        ({"first": 3}, "int"),
        ({"first": "Done."}, "must be a mapping, not a str"),
        ({"first": {"notes": "Done."}}, "did you mean|known: notesMarkdown"),
        ({"first": {"artifacts": {"kind": "note"}}}, "the artifacts of step 'first' must be a list, not a dict"),
        ({"first": {"artifacts": "note"}}, "the artifacts of step 'first' must be a list, not a str"),
        ({"first": {"context": "go"}}, "the context of step 'first' must be a mapping, not a str"),
        ({"first": {"context": [["go", 1]]}}, "the context of step 'first' must be a mapping, not a list"),
    ],
)
def test_fixtures_that_are_none(fixtures: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        run_lifecycle(TWO, fixtures)


def test_preferences_that_are_none() -> None:
    with pytest.raises(ValueError, match="unknown preference 'autnomy'; did you mean 'autonomy'"):
        run_lifecycle(TWO, BOTH, preferences={"autnomy": "guided"})
    with pytest.raises(ValueError, match="unknown riskPolicy 'bold'"):
        run_lifecycle(TWO, BOTH, preferences={"riskPolicy": "bold"})
    with pytest.raises(TypeError, match="preferences must be a mapping, not a str"):
        run_lifecycle(TWO, BOTH, preferences="guided")  # type: ignore[arg-type]


def test_an_initial_context_that_is_none() -> None:
    with pytest.raises(TypeError, match="the context of a run must be a mapping, not a list"):
        run_lifecycle(TWO, BOTH, initial_context=["go"])  # type: ignore[arg-type]


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(TypeError, match="unknown option 'max_stps'; did you mean 'max_steps'"):
        run_lifecycle(TWO, BOTH, max_stps=1)  # type: ignore[call-arg]
