"""The automatic agent sets each variable at the step whose prompt asks for it, to a value that the prompt names."""

from __future__ import annotations

from typing import Any

from pytest_workrail import api
from pytest_workrail.agents.correct import Auto
from pytest_workrail.run.result import Run


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": "demo.obey", "name": "Obey", "description": "Obeys.", "version": "1.0.0", "steps": list(steps)}


def step(ident: str, prompt: str = "Do it.", **members: Any) -> dict[str, Any]:
    return {"id": ident, "title": ident.title(), "prompt": prompt, **members}


def when(variable: str, value: object) -> dict[str, Any]:
    return {"var": variable, "equals": value}


def changes(run: Run) -> dict[str, dict[str, Any]]:
    """Return what was set, by the step that was answered."""
    result: dict[str, dict[str, Any]] = {}
    step_id = ""
    for exchange in run.transcript.exchanges:
        context: Any = exchange.request.get("context") if exchange.tool == "continue_workflow" else None
        if context:
            result.setdefault(step_id, {}).update(context)
        pending: Any = exchange.response.get("pending")
        step_id = pending["stepId"] if pending else ""
    return result


INCIDENT = workflow(
    step("classify", "Classify the bug. Set the context variable `severity` to low or high."),
    step("warn-users", runCondition=when("severity", "high")),
    step("ship-fix"),
)


def test_a_variable_is_set_where_the_prompt_asks_for_it() -> None:
    """@enforces auto-agent-sets-where-asked"""
    run = api.run(INCIDENT)
    assert list(run.steps) == ["classify", "warn-users", "ship-fix"]
    assert changes(run) == {"classify": {"severity": "high"}}


def test_what_the_run_starts_with_steers_it() -> None:
    run = api.run(INCIDENT, context={"severity": "low"})
    assert list(run.steps) == ["classify", "ship-fix"]
    assert changes(run) == {}


def test_of_branches_that_exclude_each_other_the_first_one_runs() -> None:
    run = api.run(
        workflow(
            step("ask", "Set the context variable `size` to small, medium or large."),
            step("for-large", runCondition=when("size", "large")),
            step("for-small", runCondition=when("size", "small")),
        )
    )
    assert list(run.steps) == ["ask", "for-large"]


def test_a_variable_that_only_a_fragment_reads_gets_the_first_value() -> None:
    fragment = {"id": "calm", "when": when("mood", "tense"), "text": "Stay calm."}
    run = api.run(workflow(step("ask", "Set `mood` to calm or tense."), step("proceed", promptFragments=[fragment])))
    assert changes(run) == {"ask": {"mood": "calm"}}


def test_a_loop_that_waits_for_a_variable_is_entered_and_left() -> None:
    loop = {
        "id": "rounds",
        "title": "Rounds",
        "type": "loop",
        "loop": {"type": "while", "maxIterations": 5, "condition": when("more", True)},
        "body": [step("again", "Work. Set the context variable `more` to true or false.")],
    }
    run = api.run(workflow(step("ask", "Set the context variable `more` to true or false."), loop, step("end")))
    assert list(run.steps) == ["ask", "again", "end"]
    assert changes(run)["ask"] == {"more": True}


def test_a_variable_that_nobody_asks_for_is_still_set_before_the_end() -> None:
    run = api.run(workflow(step("one"), step("two", runCondition=when("hidden", 1))))
    assert list(run.steps) == ["one", "two"]


def test_searches_set_as_few_variables_as_possible() -> None:
    class Sparing(Auto):
        obeys_prompts = False

    fragment = {"id": "calm", "when": when("mood", "tense"), "text": "Stay calm."}
    run = api.run(
        workflow(step("ask", "Set `mood` to calm or tense."), step("proceed", promptFragments=[fragment])),
        agent=Sparing(),
    )
    assert changes(run) == {}


def test_prompts_are_obeyed_beside_the_steps_of_a_template() -> None:
    """Expanded steps have ids that an author may not write."""
    call = {"templateId": "wr.templates.routine.context-gathering", "args": {"deliverableName": "context.md"}}
    classify, warn, ship = INCIDENT["steps"]
    run = api.run(workflow(classify, warn, {"id": "look-around", "title": "Look", "templateCall": call}, ship))
    assert changes(run)["classify"] == {"severity": "high"}
    assert list(run.steps)[:2] == ["classify", "warn-users"]
