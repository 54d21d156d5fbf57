"""The automatic agent: needs no script, and brings every valid workflow to its end."""

from __future__ import annotations

from pytest_workrail.agents.agent import Action, Agent, StartView, StepView, Stop
from pytest_workrail.agents.correct import correct_answer, start_context
from workrail_lint.base.js import Json


class Auto(Agent):
    """Submits the smallest valid answer to every step."""

    def __init__(self) -> None:
        self._answered: tuple[str, int] | None = None

    def begin(self, start: StartView) -> dict[str, Json]:
        self._answered = None
        return start_context(start)

    def act(self, view: StepView) -> Action:
        if view.refusal in ("terminal", "gated"):
            return Stop("No answer of an agent can change this.")
        place = (view.step_id, view.visit)
        if view.refusal is not None and self._answered == place:
            return Stop("The smallest valid answer was refused.")
        self._answered = place
        return correct_answer(view)
