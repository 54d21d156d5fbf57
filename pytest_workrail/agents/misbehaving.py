"""Agents that get things wrong on purpose: one that never learns, and one that never does the same twice."""

from __future__ import annotations

from collections.abc import Collection

from pytest_workrail.agents.actions import Action, Problem, Rewind, Stop
from pytest_workrail.agents.agent import Agent, Moment, Opening
from pytest_workrail.agents.auto import Auto
from pytest_workrail.agents.behaviours import behave, possible
from pytest_workrail.agents.choices import no_step
from pytest_workrail.agents.correct import right_answer
from pytest_workrail.agents.initial_context import opening_context
from pytest_workrail.agents.seeded import fraction
from pytest_workrail.engine.core.state import StepInstance
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

    def begin(self, opening: Opening) -> dict[str, Json]:
        known = opening.program.index.step_ids
        unknown = [step_id for step_id in self._steps or () if step_id not in known]
        self._fault = Problem(no_step(unknown[0], known)) if unknown else None
        return self._auto.begin(opening)

    def act(self, moment: Moment) -> Action:
        if self._fault is not None:
            return self._fault
        if self._steps is None or moment.step_id in self._steps:
            answer = behave(self._behaviour, moment)
            if isinstance(answer, Ok):
                is_over = moment.refusal in ("terminal", "gated", "error")
                return Stop("The engine takes no further attempt.") if is_over else answer.value
        return self._auto.act(moment)


class Erratic(Agent):
    """Does something else at every attempt, as chance decides, and the right thing when its patience is over.

    A block that can't be retried makes it go back to the step and do it right. Where the right thing is refused, it
    gives up.
    """

    def __init__(self, seed: int = 0, patience: int = 2) -> None:
        self._seed = seed
        self._patience = patience
        self._done_right: set[StepInstance] = set()

    def begin(self, opening: Opening) -> dict[str, Json]:
        self._done_right = set()
        return opening_context(opening)

    def act(self, moment: Moment) -> Action:
        if moment.refusal == "gated":
            return Stop("A gate is opened by somebody else.")
        if moment.refusal is not None and moment.instance in self._done_right:
            return Stop("The right answer was refused.")
        if moment.refusal == "terminal":
            return Rewind()
        if moment.attempt > self._patience or moment.refusal == "error":
            self._done_right.add(moment.instance)
            return right_answer(moment)
        choices = possible(moment)
        at = fraction(self._seed, moment.step_id, moment.visit, moment.attempt)
        answer = behave(choices[int(at * len(choices))], moment)
        return answer.value if isinstance(answer, Ok) else right_answer(moment)
