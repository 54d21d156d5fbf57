"""The simulation of team sessions: an Orchestrator, eleven agents and a user, over files that are really written."""

from __future__ import annotations

from pytest_workrail.team.playing import run
from pytest_workrail.team.result import Problem, TeamRun

__all__ = ["Problem", "TeamRun", "run"]
