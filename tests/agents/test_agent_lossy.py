"""Faults around an agent: calls get lost, memory goes, processes end, and the run comes to the same."""

from __future__ import annotations

from typing import Any

import pytest
from agent_workflows import by_artifact, decide, loop, play, step, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail import api
from pytest_workrail.agents.agent import Agent, Resend, Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Erratic, Fault, Lossy, Stubborn, fraction
from pytest_workrail.agents.scripted import Scripted, Turn
from pytest_workrail.run.result import Ending, Run
from workrail_lint.systems.workrail.scenario_words import Behaviour, FaultKind

AUTHORED = workflow(
    step("one"),
    loop("again", step("work"), decide(), **by_artifact("again")),
    step("last", outputContract={"contractRef": "wr.contracts.gate_verdict"}),
)


def outcome(run: Run) -> tuple[Any, ...]:
    """What a run came to, apart from how often was asked."""
    return run.status, run.steps, run.outputs, run.context, run.gaps, run.blockers


def tools(run: Run) -> list[str]:
    return [
        f"{exchange.request.get('intent', exchange.tool)}{' error' if exchange.is_error else ''}"
        for exchange in run.transcript.exchanges
    ]


PLAIN = outcome(play(AUTHORED, Auto()))
EFFECT = {
    FaultKind.LOSE_ANSWER: ["start_workflow", "advance", "advance"],
    FaultKind.LOSE_MEMORY: ["start_workflow", "rehydrate", "advance"],
    FaultKind.GARBLE_TOKEN: ["start_workflow", "advance error", "advance"],
    FaultKind.WRONG_TOKEN: ["start_workflow", "advance error", "advance"],
    FaultKind.RESTART_ENGINE: ["start_workflow", "advance"],
}


@pytest.mark.parametrize("kind", EFFECT)
def test_a_fault_at_one_step(kind: FaultKind) -> None:
    run = play(AUTHORED, Lossy(Auto(), [Fault(kind, "one")]))
    assert outcome(run) == PLAIN
    assert tools(run)[: len(EFFECT[kind])] == EFFECT[kind]
    assert len(run.transcript.exchanges) == 5 + len(EFFECT[kind]) - 2


def test_a_stale_token_repeats_an_old_answer() -> None:
    run = play(AUTHORED, Lossy(Auto(), [Fault(FaultKind.STALE_TOKEN)]))
    assert outcome(run) == PLAIN
    old, repeated = run.responses[1], run.responses[2]
    assert old == repeated, "a replay is the same answer again"


def test_a_lost_answer_is_answered_alike() -> None:
    run = play(AUTHORED, Lossy(Auto(), [Fault(FaultKind.LOSE_ANSWER, "one")]))
    assert run.responses[1] == run.responses[2]
    assert run.transcript.exchanges[1].request == run.transcript.exchanges[2].request


def test_faults_happen_on_the_visit_they_are_meant_for() -> None:
    twice = workflow(loop("again", step("work"), type="for", count=2, maxIterations=2))
    run = play(twice, Lossy(Auto(), [Fault(FaultKind.LOSE_MEMORY, "work", visit=2)]))
    assert tools(run) == ["start_workflow", "advance", "rehydrate", "advance"]


def test_a_script_goes_on_under_faults() -> None:
    script = Scripted([Turn("one", Submit()), Turn("one", Submit("x"), expects=lambda _: None)], Auto())
    faults = [Fault(kind) for kind in FaultKind]
    run = play(AUTHORED, Lossy(script, faults))
    assert (run.ending.kind, run.blockers) == ("complete", ("MISSING_REQUIRED_NOTES",))
    unused = play(AUTHORED, Lossy(Scripted([Turn("one", Submit("x"), visit=9)], Auto()), faults))
    assert unused.ending.kind == "misplayed"


@pytest.mark.parametrize(
    "agent",
    [Lossy(Auto(), []), Scripted([], Auto()), Stubborn(Behaviour.RIGHT), Erratic()],
    ids=lambda agent: type(agent).__name__,
)
def test_an_agent_around_another_starts_with_the_same_inputs(agent: Agent) -> None:
    asks = workflow(step("one", prompt="Read {{ticket}}."), preconditions=["Inputs: `ticket` (one or two)"])
    started = play(asks, agent).transcript.exchanges[0].request
    assert started == play(asks, Auto()).transcript.exchanges[0].request
    assert "ticket" in started["initialContext"]


def test_a_turn_that_cannot_be_played_is_shown_where_it_is_written() -> None:
    script = Scripted([Turn("one", Resend(), place="/turns/0")])
    for agent in (script, Lossy(script, [])):
        assert play(AUTHORED, agent).ending == Ending(
            "misplayed", "There is no earlier submission to send again.", "/turns/0"
        )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.builds(Fault, st.sampled_from(list(FaultKind)), rate=st.sampled_from([0.3, 0.7, 1.0])), max_size=5),
    st.integers(0, 99),
    st.sampled_from(["reference", "locked"]),
)
def test_no_fault_changes_what_a_run_comes_to(faults: list[Fault], seed: int, profile: str) -> None:
    run = play(AUTHORED, Lossy(Auto(), faults, seed), profile=profile)
    assert outcome(run) == outcome(play(AUTHORED, Auto(), profile=profile))
    assert run.transcript == play(AUTHORED, Lossy(Auto(), faults, seed), profile=profile).transcript


def test_chance_is_fair_and_fixed() -> None:
    drawn = [fraction(1, "step", number) for number in range(2000)]
    assert all(0 <= each < 1 for each in drawn)
    assert 900 < sum(each < 0.5 for each in drawn) < 1100
    assert fraction(7, "a", 1) == 0.8302361268775336, "the same on every machine"


def test_what_a_test_asks_for_by_name_happens_around_the_agent_it_names() -> None:
    def calls(agent: Agent) -> list[tuple[str, bool]]:
        return [(exchange.tool, exchange.is_error) for exchange in play(AUTHORED, agent).transcript.exchanges]

    every, plain = [Fault(kind) for kind in FaultKind], calls(Auto())
    assert calls(api.lossy()) == calls(Lossy(Auto(), every)) != plain
    assert calls(api.lossy(None, "stale_token")) == calls(Lossy(Auto(), [Fault(FaultKind.STALE_TOKEN)])) != plain
    once = Fault(FaultKind.LOSE_MEMORY, "one")
    assert calls(api.lossy(None, once)) == calls(Lossy(Auto(), [once])) != plain
    assert calls(api.lossy(rate=0.0)) == plain
    assert calls(api.lossy(Stubborn(Behaviour.MISSING_NOTES, ["one"]), rate=0.0)) == calls(
        Stubborn(Behaviour.MISSING_NOTES, ["one"])
    )
    half = [Fault(kind, rate=0.5) for kind in FaultKind]
    for seed in range(4):
        assert calls(api.lossy(seed=seed, rate=0.5)) == calls(Lossy(Auto(), half, seed))
