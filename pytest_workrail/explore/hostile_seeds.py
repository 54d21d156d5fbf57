"""Generated runs as turns, so that a hostile agent gets to where it can do harm."""

from __future__ import annotations

from typing import Any

from pytest_workrail.agents.actions import Rewind, Submit
from pytest_workrail.engine.core.packs import LOOP_CONTROL_KIND, artifact_kind
from pytest_workrail.engine.core.profiles import ProfileName
from pytest_workrail.explore.generation import generate
from pytest_workrail.explore.hostile_turns import Turn
from pytest_workrail.explore.plans import Plan, Taken
from workrail_lint.base.canonical import canonical_bytes, digest

_made: tuple[str, list[tuple[Turn, ...]]] | None = None


def generated_seeds(ir: dict[str, Any], profile: ProfileName) -> list[tuple[Turn, ...]]:
    """What the generated scenarios of a workflow do; pieces of one workflow come one after the other."""
    global _made
    key = digest(canonical_bytes([ir, profile]))
    if _made is None or _made[0] != key:
        plans, _ = generate(ir, (profile,))
        _made = (key, [turns for plan in plans if (turns := turns_of(plan))])
    return _made[1]


def turns_of(plan: Plan) -> tuple[Turn, ...]:
    """A run as turns of the first agent. They say less than the run did, so they may lead elsewhere."""
    return tuple(turn for taken in plan.taken if (turn := _turn(taken)) is not None)


def _turn(taken: Taken) -> Turn | None:
    match taken.action:
        case Rewind():
            return ("rewind", 0, 1)
        case Submit(_, artifacts, context):
            if taken.exchange is not None and "blockers" in taken.exchange.response:
                return ("block", 0, 1)
            if context:
                name, value = list(context.items())[-1]
                return ("context", 0, name, value)
            decisions = [each for each in artifacts if artifact_kind(each) == LOOP_CONTROL_KIND]
            stays = any(isinstance(each, dict) and each.get("decision") == "continue" for each in decisions)
            return ("around", 0, 1) if stays else ("adv", 0, "right")
        case _:
            return None
