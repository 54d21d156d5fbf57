"""Drivers of the agent contracts besides WorkRail's, each in its own folder."""

from __future__ import annotations

from pytest_workrail.scenarios.drivers import ScenarioDrivers

# By the member of a scenario file that belongs to this contract alone.
DRIVERS = ScenarioDrivers(
    {
        "team": "pytest_workrail.systems.team.scenario:play",
        "block": "pytest_workrail.systems.blocks.scenario:play",
    }
)
