"""Kinds of scenarios: every one has a driver, found by a member of the file, and another package can bring one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_workrail.scenarios.clock import SimulatedClock, parse_time
from pytest_workrail.scenarios.drivers import PlayedScenario, ScenarioDrivers
from pytest_workrail.scenarios.failures import Fault
from pytest_workrail.scenarios.loading import ScenarioDocument
from pytest_workrail.systems import DRIVERS
from workrail_lint.base.result import Err, Ok


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario]:
    """The driver of an outside package: it expects the name of the file to be its own."""
    faults = () if scenario.name == "mine" else (Fault(f"{scenario.name} is not mine", "/name"),)
    return Ok(PlayedScenario(scenario, faults, ["1. looked"], b"{}\n", scenario.locks))


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> ScenarioDrivers:
    module = ModuleType("outside_driver")
    module.play = play  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "outside_driver", module)
    return ScenarioDrivers({"team": "outside_driver:play"})


def scenario_file(folder: Path, **members: object) -> Path:
    path = folder / "mine.scenario.json"
    path.write_text(json.dumps({"team": {}, **members}), encoding="utf-8")
    return path


def test_a_driver_is_called_by_its_name(tmp_path: Path, drivers: ScenarioDrivers) -> None:
    played = drivers.play(scenario_file(tmp_path, enforces=["a-lock"]), "mine.scenario.json")
    assert isinstance(played, Ok)
    assert played.value.failure is None
    assert (played.value.scenario.name, played.value.golden, played.value.locks) == ("mine", b"{}\n", ("a-lock",))


def test_a_fault_has_its_place_and_what_happened(tmp_path: Path, drivers: ScenarioDrivers) -> None:
    played = drivers.play(scenario_file(tmp_path, name="yours"), "mine.scenario.json")
    assert isinstance(played, Ok)
    assert str(played.value.failure).splitlines() == [
        "mine.scenario.json:1:22: yours is not mine (/name)",
        "1. looked",
    ]


def test_no_driver_sees_a_file_of_the_wrong_shape(tmp_path: Path, drivers: ScenarioDrivers) -> None:
    played = drivers.play(scenario_file(tmp_path, nmae="mine"), "mine.scenario.json")
    assert isinstance(played, Err)
    assert [fault.pointer for fault in played.error.faults] == ["/nmae"]


@pytest.mark.parametrize("member", ["workflow", "team", "block"])
def test_every_kind_has_its_driver(member: str) -> None:
    assert callable(DRIVERS.driver_of({member: {}}))


def test_a_simulated_clock_moves_only_forward() -> None:
    clock = SimulatedClock()
    assert clock.timestamp == "2000-01-01T00:00:00Z"
    clock.tick()
    clock.advance_to(500)
    assert clock.timestamp == "2000-01-01T00:00:01Z"
    clock.advance_to(1500)
    assert clock.timestamp == "2000-01-01T00:00:01.500Z"


def test_a_time_without_a_zone_is_utc() -> None:
    assert parse_time("2000-01-01T01:00:00") == parse_time("2000-01-01T02:00:00+01:00")
