"""What judging mutants costs: an IR is made a program once, however many scenarios are played on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_workrail.api import run
from pytest_workrail.engine.protocol import sessions
from pytest_workrail.explore import mutation_report, mutation_verdicts
from pytest_workrail.explore.mutation_operators import OPERATORS, mutants
from pytest_workrail.explore.mutation_verdicts import _OF_PROMPTS, Baseline, baseline, notices
from workrail_lint import Ok, compile_workflow
from workrail_lint.systems.workrail.rules.samples import step, workflow


def test_runs_of_the_same_ir_share_their_program(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    interpreter = sessions.Interpreter
    monkeypatch.setattr(sessions, "Interpreter", lambda *given: (made.append(given), interpreter(*given))[1])
    document = workflow(step("first"), step("second"), id="demo.shared-program")
    for _ in range(3):
        assert run(document).status == "complete"
    assert len(made) == 1
    assert run(document, profile="locked").status == "complete"
    assert len(made) == 2


def test_operators_that_only_prompts_show_are_known_by_their_names() -> None:
    assert {name for name in OPERATORS if name.startswith(_OF_PROMPTS)} >= {"FRG-DROP", "FRG-ALWAYS", "INJ-DROP"}
    assert all(any(name.startswith(begin) for name in OPERATORS) for begin in _OF_PROMPTS)


def test_mutants_of_one_place_are_compared_with_one_run_of_the_sound_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_workflow(json.dumps(workflow(step("first"), step("second"))))
    assert isinstance(compiled, Ok)
    ir = compiled.value.ir
    played: list[Any] = []
    play = mutation_report.run_scenario
    monkeypatch.setattr(mutation_report, "run_scenario", lambda loaded: (played.append(loaded.ir), play(loaded))[1])
    sound = mutation_report.SoundRuns(ir)
    missing = [mutation_report.missing_scenario(mutant, sound, ["reference"]) for mutant in mutants(ir)]
    assert len([each for each in missing if each]) > 4
    assert len([each for each in played if each is ir]) < len(missing) / 2


def ir_of(names: str, prompt: str = "Do it, and say how.") -> dict[str, Any]:
    """Return the IR of a workflow with a step for each letter."""
    compiled = compile_workflow(json.dumps(workflow(*(step(f"step-{name}", prompt) for name in names))))
    assert isinstance(compiled, Ok)
    return compiled.value.ir


def known(**scenario: Any) -> Baseline:
    return baseline("a scenario", {"workflow": "a.json", **scenario}, ir_of("abcd"))


def test_a_run_is_over_at_the_first_step_that_its_scenario_does_not_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    expecting = known(expect={"status": "complete", "steps": ["step-a", "step-b", "step-c", "step-d"]})
    other = known(golden=False)
    calls: list[int] = []
    play = mutation_verdicts.run_scenario

    def counted(*given: Any, **more: Any) -> Any:
        played = play(*given, **more)
        calls.append(len(played.run.transcript.exchanges))
        return played

    monkeypatch.setattr(mutation_verdicts, "run_scenario", counted)
    assert notices(expecting, ir_of("bacd")) == "expectation"
    assert notices(expecting, ir_of("abdc")) == "expectation"
    assert notices(expecting, ir_of("abcd")) is None
    assert notices(expecting, ir_of("abc")) == "expectation"
    assert notices(other, ir_of("bacd")) == "unchecked"
    assert calls == [2, 4, 5, 4, 5]


def test_of_a_mutant_that_is_known_to_differ_only_expectations_and_goldens_count() -> None:
    changed = ir_of("abcd", "Do it well, and say how.")
    assert notices(known(golden=False), changed) == "unchecked"
    assert notices(known(golden=False), changed, is_known_to_differ=True) is None
    assert notices(known(), changed, is_known_to_differ=True) == "golden"
    expecting = known(golden=False, expect={"steps": ["step-a", "step-b", "step-c", "step-d"]})
    assert notices(expecting, ir_of("abdc"), is_known_to_differ=True) == "expectation"
