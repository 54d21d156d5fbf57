"""Agents that get things wrong on purpose: they never learn, never do the same twice, or set no variables."""

from __future__ import annotations

from collections.abc import Collection

from pytest_workrail.agents.actions import Action, Problem, Rewind, Stop
from pytest_workrail.agents.agent import Agent, StartView, StepView
from pytest_workrail.agents.auto import Auto
from pytest_workrail.agents.behaviours import behave, possible
from pytest_workrail.agents.choices import unknown_step_message
from pytest_workrail.agents.correct import correct_answer
from pytest_workrail.agents.initial_context import start_context
from pytest_workrail.agents.seeded import fraction
from pytest_workrail.engine.core.state import StepInstance
from pytest_workrail.records import replace
from workrail_lint.base.js import Json
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.scenario_words import Behaviour


class Stubborn(Agent):
    """Behaves in one way wherever a step gives occasion for it, however often it is refused.

    Steps that are not meant, or give no occasion, get the right answer. The run ends when the engine has enough.
    """

    def __init__(self, behaviour: Behaviour, steps: Collection[str] | None = None) -> None:
        self._behaviour = behaviour
        self._steps = steps
        self._auto = Auto()
        self._fault: Problem | None = None

    def begin(self, start: StartView) -> dict[str, Json]:
        known = start.program.index.step_ids
        unknown = [step_id for step_id in self._steps or () if step_id not in known]
        self._fault = Problem(unknown_step_message(unknown[0], known)) if unknown else None
        return self._auto.begin(start)

    def act(self, view: StepView) -> Action:
        if self._fault is not None:
            return self._fault
        if self._steps is None or view.step_id in self._steps:
            answer = behave(self._behaviour, view)
            if isinstance(answer, Ok):
                is_over = view.refusal in ("terminal", "gated", "error")
                return Stop("The engine accepts no more attempts.") if is_over else answer.value
        return self._auto.act(view)


class Unsetting(Agent):
    """Does every step right and sets no variables, also when it is asked for them. Gives up when that is refused."""

    def __init__(self) -> None:
        self._refused: Json = None

    def begin(self, start: StartView) -> dict[str, Json]:
        self._refused = None
        return {}

    def act(self, view: StepView) -> Action:
        blockers = view.response.get("blockers")
        if view.refusal is not None and (view.refusal != "blocked" or blockers == self._refused):
            return Stop("The right answer without variables was refused.")
        self._refused = None if view.refusal is None else blockers
        return replace(correct_answer(view), context=None)


class Erratic(Agent):
    """Does something random at every attempt, and the right thing when its patience is over.

    A block that can't be retried makes it go back to the step and do it right. Where the right thing is refused, it
    gives up.
    """

    def __init__(self, seed: int = 0, patience: int = 2) -> None:
        self._seed = seed
        self._patience = patience
        self._done_right: set[StepInstance] = set()

    def begin(self, start: StartView) -> dict[str, Json]:
        self._done_right = set()
        return start_context(start)

    def act(self, view: StepView) -> Action:
        if view.refusal == "gated":
            return Stop("The run waits at a gate, which an agent can't open.")
        if view.refusal is not None and view.instance in self._done_right:
            return Stop("The right answer was refused.")
        if view.refusal == "terminal":
            return Rewind()
        if view.attempt > self._patience or view.refusal == "error":
            self._done_right.add(view.instance)
            return correct_answer(view)
        choices = possible(view)
        at = fraction(self._seed, view.step_id, view.visit, view.attempt)
        answer = behave(choices[int(at * len(choices))], view)
        return answer.value if isinstance(answer, Ok) else correct_answer(view)
