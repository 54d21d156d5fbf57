"""The driver of block scenarios."""

from __future__ import annotations

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.scenarios.drivers import PlayedScenario
from pytest_workrail.scenarios.failures import ScenarioFailure
from pytest_workrail.scenarios.loading import ScenarioDocument
from pytest_workrail.systems.blocks.block_run import play as play_setup
from pytest_workrail.systems.blocks.event_log import event_lines
from pytest_workrail.systems.blocks.expectations import unmet
from pytest_workrail.systems.blocks.loading import checked_setup, scenario_options
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.blocks.scenario_check import load_definitions


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario] | Err[ScenarioFailure]:
    """Run a scenario and hold it against what it expects."""
    options = scenario_options(scenario.value["block"], scenario.folder)
    if isinstance(options, Err):
        return scenario.invalid(options.error)
    definitions = load_definitions(scenario.value["block"], scenario.folder, options.value)
    setup = checked_setup(scenario.value, definitions, options.value)
    if isinstance(setup, Err):
        return scenario.invalid(setup.error)
    run = play_setup(setup.value, scenario.name)
    faults = tuple(unmet(scenario.value, run))
    locks = tuple(lock for lock in run.golden["locks"] if lock in scenario.locks)
    golden = dumps({**run.golden, "locks": locks}, sort_keys=True) if scenario.wants_golden and not faults else None
    return Ok(PlayedScenario(scenario, faults, event_lines(run.events), golden, locks))
