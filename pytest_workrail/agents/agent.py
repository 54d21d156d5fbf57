"""What an agent is given when it is its turn, and what it can find out by thinking ahead."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pytest_workrail.agents.actions import Action, Problem, Rewind, Submit
from pytest_workrail.agents.transcript import Exchange
from pytest_workrail.engine.core.errors import InterpreterError
from pytest_workrail.engine.core.interpreter import Selection
from pytest_workrail.engine.core.modes import Preferences
from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.core.profiles import Profile
from pytest_workrail.engine.core.reasons import Reason
from pytest_workrail.engine.core.state import State, StepInstance
from pytest_workrail.engine.protocol.context import merged
from pytest_workrail.engine.protocol.program import Program
from pytest_workrail.records import Record
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok

# What became of the last advance of this visit, when it did not go through.
Refusal: TypeAlias = Literal["blocked", "terminal", "gated", "error"]


class StartView(Record):
    """A run that is about to start. `context` is what it would start with."""

    program: Program
    profile: Profile
    preferences: Preferences
    context: Mapping[str, Any]

    def predict(self, added: Mapping[str, Json]) -> Ok[Selection] | Err[InterpreterError]:
        """The first step, if the run started with this added to its context and stopped at whatever is wrong."""
        interpreter = self.program.interpreter
        return interpreter.next(interpreter.start(), merged(self.context, added), never_stop=False)


class StepView(Record):
    """A pending step. `visit` counts arrivals at this step id, `attempt` what was handed in since the last one.

    `earlier` are the artifacts of steps before this one in the same loop iteration, where they decide about it.
    `response` is the answer that led here.
    """

    program: Program
    profile: Profile
    preferences: Preferences
    state: State
    instance: StepInstance
    context: Mapping[str, Any]
    earlier: tuple[Json, ...]
    visit: int
    attempt: int
    refusal: Refusal | None
    response: Mapping[str, Json]

    @property
    def step_id(self) -> str:
        return self.instance.step_id

    @property
    def step(self) -> dict[str, Any]:
        """The definition of the step in the IR."""
        return self.program.step(self.instance.step_id)

    @property
    def loop(self) -> dict[str, Any] | None:
        """The definition of the loop the step stands in."""
        return self.program.index.innermost_loop(self.instance)

    def merged(self, delta: Mapping[str, Json] | None) -> dict[str, Any]:
        """The context as the engine would see it with a change."""
        return merged(self.context, delta)

    def reasons(self, answer: Submit) -> tuple[Reason, ...]:
        """What the step itself would have against an answer."""
        submission = Submission(answer.notes, answer.artifacts)
        validator = self.program.validator
        return validator.check(self.step, self.instance.loop_path, submission, self.merged(answer.context)).reasons()

    def predict(self, answer: Submit, never_stop: bool = False) -> Ok[Selection] | Err[InterpreterError]:
        """What would come next if the answer were accepted, in a run that stops at whatever is wrong, or does not."""
        interpreter = self.program.interpreter
        done = interpreter.complete(self.state, self.instance)
        if isinstance(done, Err):
            return done
        artifacts = self.earlier + answer.artifacts
        return interpreter.next(done.value, self.merged(answer.context), artifacts, never_stop=never_stop)


class Agent(ABC):
    """The base of all agents. One object may play several runs, one after the other: `begin` starts it anew."""

    def begin(self, start: StartView) -> dict[str, Json]:
        """What to add to the context that the run starts with."""
        return {}

    @abstractmethod
    def act(self, view: StepView) -> Action:
        """What to do about the pending step."""

    def reopen(self) -> Rewind | None:
        """Where to go on although the run is complete; None to leave it so."""
        return None

    def receive(self, answer: Exchange) -> None:  # noqa: B027 - most agents need not listen
        """What came of the last action, for those that made a call."""

    def place(self) -> str:
        """Where the action that is being carried out is written down, if it is."""
        return ""

    def end(self) -> tuple[Problem, ...]:
        """What is wrong with the agent itself, now that the run is over."""
        return ()
