"""Faults around an agent: calls get lost, memory goes, processes end, and the run comes to the same."""

from __future__ import annotations

from typing import Any

import pytest
from agent_workflows import by_artifact, decide, loop, play, step, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.agents.agent import Submit
from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Fault, Lossy, fraction
from pytest_workrail.agents.scripted import Scripted, Turn
from pytest_workrail.run.result import Run
from workrail_lint.systems.workrail.scenario_words import FaultKind

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
