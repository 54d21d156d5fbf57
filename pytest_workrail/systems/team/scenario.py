"""The driver of team scenarios."""

from __future__ import annotations

from pytest_workrail.scenarios.drivers import PlayedScenario
from pytest_workrail.scenarios.failures import ScenarioFailure
from pytest_workrail.scenarios.loading import ScenarioDocument, errors
from pytest_workrail.systems.team.expectations import unmet
from pytest_workrail.systems.team.runner import run
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team.scenario import TeamScenario
from workrail_lint.systems.team.scenario_check import findings


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario] | Err[ScenarioFailure]:
    """Play a scenario and hold it against what it expects."""
    found = errors(findings(scenario.value, scenario.folder))
    if found:
        return scenario.invalid(found)
    model = TeamScenario.model_validate({**scenario.value, "name": scenario.name})
    played = run(model, folder=scenario.path.parent)
    faults = played.problems or unmet(model, played)
    golden = played.golden_bytes if scenario.wants_golden and not faults else None
    locks = tuple(lock for lock, is_shown in played.locks.items() if is_shown)
    return Ok(PlayedScenario(scenario, faults, played.event_lines(), golden, locks))
