"""The driver of the stateless block contract: definitions run with simulated agents, in real folders and real git."""

from __future__ import annotations

from pytest_workrail.systems.blocks.attempts import Killed
from pytest_workrail.systems.blocks.block_run import BlockRun, ScenarioInvalid, run
from pytest_workrail.systems.blocks.setup import Agent, Reply

__all__ = ["Agent", "BlockRun", "Killed", "Reply", "ScenarioInvalid", "run"]
