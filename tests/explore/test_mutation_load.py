"""What judging mutants costs: an IR is made a program once, however many scenarios are played on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_workrail.api import run
from pytest_workrail.engine.protocol import sessions
from pytest_workrail.explore import mutation_report
from pytest_workrail.explore.mutation_operators import OPERATORS, mutants
from pytest_workrail.explore.mutation_verdicts import _OF_PROMPTS
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
