"""The document systems that come with the product. A new one is a folder here and its name in the list below."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from workrail_lint.systems.base import LazySystem, Manifest, System

if TYPE_CHECKING:
    from workrail_lint.systems.scenario.system import ScenarioSystem  # most checks play none

# In the order in which files are offered to them: a named file of no other kind is a workflow.
_NAMES = ("scenario", "team", "blocks", "workrail")


@cache
def manifests() -> tuple[Manifest, ...]:
    """Return what each system says of itself before it is needed."""
    folder = os.path.dirname(__file__)
    return tuple(Manifest(os.path.join(folder, name)) for name in _NAMES)


def builtin_systems() -> list[System]:
    """Return fresh instances, in their order."""
    systems: list[System] = [LazySystem(manifest) for manifest in manifests()]
    introduce(systems)
    return systems


def introduce(systems: list[System]) -> None:
    """Let the systems of a run know each other: a scenario may be about the documents of any of them."""
    for system in systems:
        system.peers = systems


@cache
def known_systems() -> tuple[System, ...]:
    """Return shared instances, for those who only ask for rules."""
    return tuple(builtin_systems())


@cache
def scenario_system(others: tuple[System, ...] = ()) -> ScenarioSystem:
    """Return the system of scenario files, for those who play them; `others` are systems that plugins bring."""
    from workrail_lint.systems.scenario.system import ScenarioSystem  # most checks play none

    system = ScenarioSystem()
    system.peers = (*others, *known_systems())
    return system
