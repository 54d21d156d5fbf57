"""The simulation of team sessions: an Orchestrator, eleven agents and a user, over files that are really written."""

from __future__ import annotations

from pytest_workrail.systems.team.team_run import TeamRun, run

__all__ = ["TeamRun", "run"]
