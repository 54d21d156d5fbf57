"""Scenario kinds and who plays them.

A scenario belongs to a kind by a member that only this kind has; a file without such a member is about a workflow.
Each kind has one driver, written as "package.module:attribute" so that it is imported only when a file of its kind is
played, and so that another package can bring one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from pytest_workrail.agents.transcript import Transcript
    from pytest_workrail.scenarios.failures import Fault, ScenarioFailure
    from pytest_workrail.scenarios.loading import ScenarioDocument
    from workrail_lint.base.result import Err, Ok

WORKFLOW_DRIVER = "pytest_workrail.scenarios.workflow_driver:play"


class PlayedScenario(NamedTuple):
    """What came of a scenario. `golden` is None where the scenario wants none or did not hold."""

    scenario: ScenarioDocument
    faults: tuple[Fault, ...]
    happened: Sequence[str]  # for people, a line each
    golden: bytes | None
    locks: tuple[str, ...] = ()  # of those the scenario claims, the ones that the run gives evidence for
    turn: str = ""  # the pointer to the turn that was played last, if the kind has turns
    transcript: Transcript | None = None  # what workflow coverage counts

    @property
    def failure(self) -> ScenarioFailure | None:
        """Why the scenario did not hold; None when it did."""
        from pytest_workrail.scenarios.failures import ScenarioFailure

        if not self.faults:
            return None
        return ScenarioFailure(self.scenario.file, self.scenario.document, self.faults, self.happened, self.turn)


Playing: TypeAlias = "Ok[PlayedScenario] | Err[ScenarioFailure]"


class ScenarioDriver(Protocol):
    """Plays the scenarios of one kind. A scenario that can't be played is an Err, one that did not hold has faults."""

    def __call__(self, scenario: ScenarioDocument, /) -> Playing: ...


class ScenarioDrivers:
    """The drivers of all kinds besides workflows, by the member that a kind is known by."""

    def __init__(self, drivers: Mapping[str, str]) -> None:
        self._drivers = drivers

    def driver_of(self, value: Mapping[str, Any]) -> ScenarioDriver:
        """The driver for what a scenario file holds."""
        name = next((driver for member, driver in self._drivers.items() if member in value), WORKFLOW_DRIVER)
        module, _, attribute = name.partition(":")
        driver: ScenarioDriver = getattr(import_module(module), attribute)
        return driver

    def play(self, path: Path, file: str) -> Playing:
        """Read a scenario file and play it. `file` is what it is called in messages."""
        from pytest_workrail.scenarios.loading import open_scenario
        from workrail_lint.base.result import Err

        opened = open_scenario(path, file)
        return opened if isinstance(opened, Err) else self.driver_of(opened.value.value)(opened.value)
