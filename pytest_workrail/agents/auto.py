"""The automatic agent: needs no script, and brings every valid workflow to its end."""

from __future__ import annotations

from pytest_workrail.agents.actions import Action, Stop
from pytest_workrail.agents.agent import Agent, Moment, Opening
from pytest_workrail.agents.correct import right_answer
from pytest_workrail.agents.initial_context import opening_context
from workrail_lint.base.js import Json


class Auto(Agent):
    """Hands in the smallest valid answer to every step."""

    def __init__(self) -> None:
        self._answered: tuple[str, int] | None = None

    def begin(self, opening: Opening) -> dict[str, Json]:
        self._answered = None
        return opening_context(opening)

    def act(self, moment: Moment) -> Action:
        if moment.refusal in ("terminal", "gated"):
            return Stop("Nothing an agent hands in can help here.")
        place = (moment.step_id, moment.visit)
        if moment.refusal is not None and self._answered == place:
            return Stop("The smallest valid answer was refused.")
        self._answered = place
        return right_answer(moment)
