"""Who plays a scenario file: the driver that the system of its kind names.

A scenario belongs to a kind by a member that only this kind has; a file without such a member is about a workflow.
A driver is imported when a file of its kind is played; another package can bring one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from pytest_workrail.agents.transcript import Transcript
    from pytest_workrail.scenarios.failures import Fault, ScenarioFailure
    from pytest_workrail.scenarios.loading import ScenarioDocument
    from workrail_lint.base.result import Err, Ok


class PlayedScenario(NamedTuple):
    """What came of a scenario. `golden` is None where the scenario wants none or did not hold."""

    scenario: ScenarioDocument
    faults: tuple[Fault, ...]
    happened: Sequence[str]  # for people, a line each
    golden: bytes | None
    locks: tuple[str, ...] = ()  # of those the scenario claims, the ones that the run gives evidence for
    turn: str = ""  # the pointer to the turn that was played last, if the kind has turns
    transcript: Transcript | None = None  # what workflow coverage counts
    label: str | None = None  # what tells its golden from others of the same file
    further: tuple[PlayedScenario, ...] = ()  # the same scenario under its other profiles

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


def play(path: Path, file: str) -> Playing:
    """Read a scenario file and play it. `file` is what it is called in messages."""
    from pytest_workrail.scenarios.loading import open_scenario
    from workrail_lint.base.result import Err
    from workrail_lint.systems.base import resolved

    opened = open_scenario(path, file)
    if isinstance(opened, Err):
        return opened
    driver: ScenarioDriver = resolved(opened.value.driver)
    return driver(opened.value)
