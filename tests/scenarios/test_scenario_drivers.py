"""Kinds of scenarios: every one has a driver, found by a member of the file, and another package can bring one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_workrail.scenarios import drivers
from pytest_workrail.scenarios.drivers import Fault, PlayedScenario, ScenarioDocument, SimulatedClock, parse_time
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.base import resolved
from workrail_lint.systems.builtin import known_systems, scenario_system


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario]:
    """The driver of an outside package: it expects the name of the file to be its own."""
    faults = () if scenario.name == "mine" else (Fault(f"{scenario.name} is not mine", "/name"),)
    return Ok(PlayedScenario(scenario, faults, ["1. looked"], b"{}\n", scenario.locks))


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Team scenarios are played by somebody else."""
    module = ModuleType("outside_driver")
    module.play = play  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "outside_driver", module)
    team = next(system for system in known_systems() if system.name == "team")
    assert team.scenario is not None
    monkeypatch.setattr(team.scenario, "driver", "outside_driver:play")


def scenario_file(folder: Path, **members: object) -> Path:
    path = folder / "mine.scenario.json"
    path.write_text(json.dumps({"team": {}, **members}), encoding="utf-8")
    return path


@pytest.mark.usefixtures("outside")
def test_a_driver_is_called_by_its_name(tmp_path: Path) -> None:
    played = drivers.play(scenario_file(tmp_path, enforces=["a-lock"]), "mine.scenario.json")
    assert isinstance(played, Ok)
    assert played.value.failure is None
    assert (played.value.scenario.name, played.value.golden, played.value.locks) == ("mine", b"{}\n", ("a-lock",))


@pytest.mark.usefixtures("outside")
def test_a_fault_has_its_place_and_what_happened(tmp_path: Path) -> None:
    played = drivers.play(scenario_file(tmp_path, name="yours"), "mine.scenario.json")
    assert isinstance(played, Ok)
    assert str(played.value.failure).splitlines() == [
        "mine.scenario.json:1:22: yours is not mine (/name)",
        "1. looked",
    ]


@pytest.mark.usefixtures("outside")
def test_no_driver_sees_a_file_of_the_wrong_shape(tmp_path: Path) -> None:
    played = drivers.play(scenario_file(tmp_path, nmae="mine"), "mine.scenario.json")
    assert isinstance(played, Err)
    assert [fault.pointer for fault in played.error.faults] == ["/nmae"]


@pytest.mark.parametrize("member", ["workflow", "team", "block"])
def test_every_kind_has_its_driver(member: str) -> None:
    assert callable(resolved(scenario_system().kind_of({member: {}}).driver))


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
