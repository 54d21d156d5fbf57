"""Strategies for users: what they draw fits the workflow, and a three-line property finds a real bug."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from effort import times
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from pytest_workrail.agents.agent import Agent
from pytest_workrail.api import compile, run  # noqa: A004 - the name of the fixture's method
from pytest_workrail.engine.conditions import evaluate
from pytest_workrail.engine.core.index import contract_packs
from pytest_workrail.strategies import agents, artifacts, contexts

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TRIAGE = compile(FIXTURES / "workflows" / "bug-triage.json")
REVIEW = compile(FIXTURES / "workflows" / "code-review.json")
GATE = compile(FIXTURES / "workflows" / "design-gate.json")
HAND_OVER = compile(FIXTURES / "scenarios" / "workflows" / "hand-over.json")
ANY = settings(phases=[Phase.generate])  # whichever it is, not the smallest
FEW = settings(max_examples=times(25, deep=500), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_contexts_bring_out_both_sides_of_every_condition() -> None:
    conditions = [step["runCondition"] for step in TRIAGE.ir["steps"] if "runCondition" in step]
    assert conditions
    for condition in conditions:
        for wanted in (True, False):
            find(contexts(TRIAGE.ir), lambda context, c=condition, w=wanted: evaluate(c, context) is w)


@FEW
@given(artifacts(REVIEW.ir, "give-verdict"))
def test_artifacts_meet_the_contract_of_their_step(artifact: Any) -> None:
    assert contract_packs(REVIEW.program)["wr.contracts.review_verdict"].issues(artifact) == ()


def test_artifacts_differ() -> None:
    verdicts = set()
    for wanted in ("clean", "minor", "blocking"):
        found = find(artifacts(REVIEW.ir, "give-verdict"), lambda value, w=wanted: value["verdict"] == w, settings=ANY)
        verdicts.add(found["verdict"])
    assert len(verdicts) == 3


@FEW
@given(st.data())
def test_assessments_have_a_level_for_each_dimension(data: Any) -> None:
    step = next(step for step in GATE.ir["steps"] if "assessments" in step["output"])
    drawn = data.draw(artifacts(GATE.ir, step["id"]))
    known = next(each for each in GATE.ir["assessments"] if each["id"] == drawn["assessmentId"])
    assert drawn["dimensions"].keys() == {dimension["id"] for dimension in known["dimensions"]}


@pytest.mark.parametrize("step", ["no-such-step", "reproduce"])
def test_a_step_without_artifacts_is_a_mistake_of_the_test(step: str) -> None:
    with pytest.raises(ValueError, match=step):
        artifacts(TRIAGE.ir, step)


@FEW
@given(agents(REVIEW.ir))
def test_every_drawn_agent_brings_a_sound_workflow_to_its_end(agent: Agent) -> None:
    assert run(REVIEW, agent=agent).status == "complete"


def test_a_property_finds_the_prompt_with_a_hole() -> None:
    """The fixture shows a variable that nothing sets; the property is the one in the guide."""
    agent = find(agents(HAND_OVER.ir), lambda each: "[unset:" in str(run(HAND_OVER, agent=each).prompts))
    assert "changes=[]" in repr(agent)


INPUTS = compile(
    {
        "id": "demo.inputs",
        "name": "Inputs",
        "description": "Has inputs.",
        "version": "1.0.0",
        "preconditions": ["Inputs: `ticketKey`, `urgency` (low, normal or high)"],
        "steps": [
            {"id": "read-it", "title": "Read it", "prompt": "Read the ticket."},
            {"id": "answer", "title": "Answer", "prompt": "Answer {{ticketKey}} as {{urgency}}."},
        ],
    }
)


def test_contexts_have_the_inputs() -> None:
    for value in ("low", "normal", "high"):
        find(contexts(INPUTS.ir), lambda context, v=value: context.get("urgency") == v and "ticketKey" in context)


def test_a_run_starts_with_the_inputs() -> None:
    result = run(INPUTS)
    assert "Answer example ticketKey as low." in str(result.prompts)
    assert "[unset:" not in str(result.prompts)
    given_by_caller = run(INPUTS, context={"ticketKey": "AB-7", "urgency": "high"})
    assert "Answer AB-7 as high." in str(given_by_caller.prompts)
