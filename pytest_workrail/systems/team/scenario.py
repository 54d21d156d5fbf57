"""A scenario file of the team contract, played for the test that it is."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_workrail.scenarios.contract_run import PackRun
from pytest_workrail.scenarios.failures import Fault, ScenarioFailure, fault_of
from pytest_workrail.systems.team.expectations import unmet
from pytest_workrail.systems.team.runner import run
from workrail_lint.base.files import read_file
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import JsonDocument
from workrail_lint.findings import Severity
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.team.scenario import TeamScenario
from workrail_lint.systems.team.scenario_check import findings

_ENDING = ".scenario.json"


def play(path: Path, file: str) -> Ok[PackRun] | Err[ScenarioFailure]:
    """Play a scenario file. `file` is what it is called in messages."""
    found_file = read_file(os.fspath(path))
    if isinstance(found_file, Err):
        return Err(ScenarioFailure(file, JsonDocument(""), [Fault(found_file.error.message, "")]))
    read = scenario_system().read(found_file.value)
    folder = os.fspath(path.parent)
    found = read.findings or [each for each in findings(read.value, folder) if each.severity is Severity.ERROR]
    if found:
        return Err(ScenarioFailure(file, read.document, [fault_of(each, read.document) for each in found]))
    scenario = TeamScenario.model_validate({**read.value, "name": read.value.get("name") or _name(path)})
    played = run(scenario, folder=path.parent)
    problems = [Fault(problem.message, problem.pointer) for problem in played.problems]
    golden = None if scenario.golden is False else played.golden_bytes
    faults = tuple(problems or unmet(scenario, played))
    return Ok(PackRun(read.document, faults, tuple(played.told()), golden))


def _name(path: Path) -> str:
    return path.name.removesuffix(_ENDING)
