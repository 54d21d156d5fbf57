"""What is known of one workflow under one profile, for all runs that are made of it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pytest_workrail.agents.condition_solver import workflow_solver
from pytest_workrail.coverage.observe import steps_by_place
from pytest_workrail.coverage.path import PathPlan
from pytest_workrail.coverage.points import place_of
from pytest_workrail.coverage.strong import MemberTable
from pytest_workrail.engine.core.index import IrIndex
from pytest_workrail.engine.core.profiles import PROFILES, ProfileName
from pytest_workrail.explore.goals import Ledger
from pytest_workrail.explore.targets import Binder, Map


class Guide:
    """What is known of one workflow under one profile, for all runs that are made of it."""

    def __init__(self, ir: dict[str, Any], profile: ProfileName) -> None:
        self.ir = ir
        self.name: ProfileName = profile
        self.profile = PROFILES[profile]
        self.ledger = Ledger(ir, self.profile)
        self.index = IrIndex(ir)
        self.solver = workflow_solver(ir)
        self.binder = Binder()
        self.map = Map(ir, self.profile, self.binder)
        self.paths = PathPlan(ir, self.profile, strong=True)
        self.members = MemberTable()
        self.steps = steps_by_place(ir)
        self.following = _neighbours(ir)


def _neighbours(ir: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The step after each, by place."""
    found: dict[str, dict[str, Any]] = {}
    for loop, steps in [(None, ir["steps"]), *((each, each["body"]) for each in ir["steps"] if each["type"] == "loop")]:
        for step, following in pairwise(steps):
            found[place_of(step["id"], ((loop["id"], 0),) if loop is not None else ())] = following
    return found
