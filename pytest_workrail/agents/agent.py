"""Agents: what one is given when it is its turn, what it can predict, what it can do, and what its run leaves behind.

Actions are plain data; the driver carries them out. So is a transcript: every exchange between agent and engine, and
what happened step by step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from msgspec import Struct

from pytest_workrail.engine.core.interpreter import Selection, State
from pytest_workrail.engine.core.outcomes import InterpreterError
from pytest_workrail.engine.core.outputs import Submission
from pytest_workrail.engine.core.profiles import Profile, ProfileName
from pytest_workrail.engine.model.reasons import Reason
from pytest_workrail.engine.model.step_keys import StepInstance
from pytest_workrail.engine.model.trace import SkippedStep
from pytest_workrail.engine.model.words import Autonomy, Preferences
from pytest_workrail.engine.protocol.requests import merged
from pytest_workrail.engine.protocol.sessions import Program
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.suggest import hint
from workrail_lint.systems.workrail.blocker_codes import BlockerCode, GapDetail, UserDependency
from workrail_lint.systems.workrail.model.build import program_model
from workrail_lint.systems.workrail.model.ir import Program as Definition
from workrail_lint.systems.workrail.model.ir import ProgramStep, RepeatingStep

# What sort of answer a call got, whichever form the profile gives to answers.
AnswerKind: TypeAlias = Literal["ok", "blocked", "gated", "complete", "error"]


def answer_kind(response: Mapping[str, Any]) -> AnswerKind:
    """Return the kind of a successful answer."""
    match response.get("kind"):
        case "blocked":
            return "blocked"
        case "gate_checkpoint":
            return "gated"
        case "complete":
            return "complete"
        case _:
            return "complete" if response.get("isComplete") is True else "ok"


class Exchange(Struct, frozen=True):
    """One call of a tool, as the agent made it and as it was answered; tokens and ids are the real ones."""

    tool: str
    request: dict[str, Json]
    response: dict[str, Json]
    is_error: bool

    @property
    def answer(self) -> AnswerKind:
        """The kind of answer."""
        return "error" if self.is_error else answer_kind(self.response)

    @property
    def pending(self) -> dict[str, Any] | None:
        """The step that the answer shows as pending."""
        pending = self.response.get("pending")
        return pending if isinstance(pending, dict) else None

    @property
    def step(self) -> str | None:
        """The id of that step."""
        return None if self.pending is None else str(self.pending["stepId"])

    @property
    def blockers(self) -> list[dict[str, Any]]:
        """The blockers in the answer, in its order."""
        report: Any = self.response.get("blockers")
        return list(report["blockers"]) if isinstance(report, dict) else []

    @property
    def codes(self) -> tuple[BlockerCode, ...]:
        """The codes of these blockers."""
        return tuple(blocker["code"] for blocker in self.blockers)

    @property
    def notes(self) -> str | None:
        """The notes that were submitted, under whichever name."""
        notes = self._submitted("notesMarkdown", "notes")
        return notes if isinstance(notes, str) else None

    @property
    def artifacts(self) -> list[Any]:
        """The artifacts that were submitted, under whichever name."""
        artifacts = self._submitted("artifacts", "artifacts")
        return artifacts if isinstance(artifacts, list) else []

    def _submitted(self, member: str, short: str) -> Json:
        output = self.request.get("output")
        given = output.get(member) if isinstance(output, dict) else None
        return self.request.get(short) if given is None else given


AttemptOutcome: TypeAlias = Literal["advanced", "blocked", "gated", "error"]


class Attempt(Struct, frozen=True):
    """One attempt at one step.

    `gaps` are the details of the critical gaps it recorded, such as `missing_required_notes`. `of_loop` are those
    of its blockers and gaps that the loop around the step brought about. `levels` are (assessment, dimension, level),
    `left_out` are (assessment, dimension) of assessments that were submitted without the dimension.
    """

    step_id: str
    loop_path: tuple[tuple[str, int], ...]
    number: int
    outcome: AttemptOutcome
    blockers: tuple[BlockerCode, ...]
    gaps: tuple[GapDetail, ...]
    of_loop: tuple[BlockerCode | GapDetail, ...]
    fragments: tuple[str, ...]
    levels: tuple[tuple[str, str, str], ...]
    contract: str | None
    left_out: tuple[tuple[str, str], ...] = ()


class Choice(Struct, frozen=True):
    """A choice of the engine: what it was based on, and what the agent was then asked to do.

    It leads from one node of the run to another: from that of the step that was done, or from nowhere at the
    start, to that of the chosen step, or to nowhere when a run can't start because no step can be chosen.
    """

    origin: str | None
    target: str | None
    context: dict[str, Json]
    artifacts: tuple[Json, ...]
    never_stops: bool
    intent: str | None


class EngineDefectMark(Struct, frozen=True):
    """A point of a run at which the public engine would have failed or answered differently.

    `exchange` counts from 0, and `outcome` is `fails`, `corrupts` or `differs`.
    """

    id: str
    exchange: int
    step_id: str | None
    outcome: str
    engine: str

    def to_json(self) -> dict[str, Json]:
        """Return the mark as transcripts and goldens show it."""
        step: dict[str, Json] = {} if self.step_id is None else {"stepId": self.step_id}
        return {"id": self.id, "exchange": self.exchange, **step, "outcome": self.outcome, "engine": self.engine}


class Transcript(Struct, frozen=True, dict=True):
    """A whole run.

    `final` is the last projection, with the members `status`, `context`, `outputs` (of each step done, in order),
    `gaps` (all of them), `blockers` (those the run stands at) and `trace` (how its end came to be selected).
    `choices` are what every step was chosen from, in the order in which it happened. `engine_defects` are the points at
    which the public engine would have failed or answered differently; only profile reference has them. `skipped` are
    the steps that selections passed over, once for each reason; `left_out` are those that were never done, with the
    last reason.
    """

    workflow_id: str
    workflow_hash: str
    profile: ProfileName
    mode: Autonomy
    ir: dict[str, Json]
    exchanges: tuple[Exchange, ...]
    attempts: tuple[Attempt, ...]
    final: dict[str, Json]
    choices: tuple[Choice, ...] = ()
    engine_defects: tuple[EngineDefectMark, ...] = ()
    # What the agent and the people around it did, in order; unknown for a transcript that was not made by a run.
    actions: tuple[Action, ...] = ()
    skipped: tuple[SkippedStep, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @cached_property
    def program(self) -> Definition:
        """The typed form of the IR."""
        return program_model(self.ir)


_Member = TypeVar("_Member", bound=Enum)

# The symbols that stand for tokens in the request of a `Call`; the driver puts in what they name.
TokenSymbol: TypeAlias = Literal[
    "$continue",  # of the pending step: what the last response proposes to use
    "$checkpoint",  # the checkpoint token that came with it
    "$first",  # the continue token of the first response of the run
    "$previous",  # the continue token that was used last
    "$resume",  # of the last checkpoint, or of the first session that resume_session found
    "$gate",  # of the last gate
    "$garbled",  # the continue token with its last character changed
    "$foreign",  # a continue token of the same node that names another version of the workflow
]
# What became of the last advance of this visit, when it did not go through.
Refusal: TypeAlias = Literal["blocked", "terminal", "gated", "error"]


def one_of(what: str, name: str, known: Iterable[str]) -> str:
    """Return the name, if it is a known one."""
    __tracebackhide__ = True
    names = list(known)
    if name not in names:
        raise ValueError(f"unknown {what} '{name}'{hint(str(name), names)}")
    return name


def member_of(kind: type[_Member], what: str, name: str) -> _Member:
    """Return the member of an enum with this value."""
    __tracebackhide__ = True
    return kind(one_of(what, name, [member.value for member in kind]))


def unknown_step_message(step_id: str, known: Collection[str]) -> str:
    """Return the message about a step that a workflow does not have."""
    return f"The workflow has no step '{step_id}'{hint(step_id, known, 'steps')}"


class Submit(Struct, frozen=True):
    """Submit the pending step. `context` is the change to the context, None for none."""

    notes: str | None = None
    artifacts: tuple[Json, ...] = ()
    context: dict[str, Json] | None = None


class Rehydrate(Struct, frozen=True):
    """Rehydrate the node the run stands at, as an agent does that lost its memory."""


class Rewind(Struct, frozen=True):
    """Go back to a step and go on from there: rehydrate its node. Without a name, the pending step's own node.

    A node can be named instead, by its number in the run: the first one is 1.
    """

    step_id: str | None = None
    node: int | None = None


class Checkpoint(Struct, frozen=True):
    """Mark the node to come back to."""


class Resend(Struct, frozen=True):
    """Send the last advance again, as an agent does that never saw its answer."""


class Restart(Struct, frozen=True):
    """The engine's process ends and another one goes on with the same data."""


class Call(Struct, frozen=True):
    """Any call at all. Token symbols in the request are replaced; nothing else is touched."""

    tool: str
    request: dict[str, Json] = {}


class Prefer(Struct, frozen=True):
    """A person sets the preferences from here on: at the pending step's own node."""

    preferences: Preferences


class Provide(Struct, frozen=True):
    """A person provides what the scenario declared to be needed."""

    step_id: str
    detail: UserDependency


class Rebind(Struct, frozen=True):
    """The project fills the slots of the workflow with something else. A run goes on with what it was started with."""

    overrides: dict[str, str]


class Stop(Struct, frozen=True):
    """Leave the run as it stands."""

    why: str


class Problem(Struct, frozen=True):
    """The agent itself is at fault: its script does not fit the run. `place` is where in the script."""

    kind: ClassVar[str] = "script"
    message: str
    place: str = ""


Action: TypeAlias = (
    Submit | Rehydrate | Rewind | Checkpoint | Resend | Restart | Call | Prefer | Provide | Rebind | Stop | Problem
)


class StartView(Struct, frozen=True):
    """A run that is about to start. `context` is what it would start with."""

    program: Program
    profile: Profile
    preferences: Preferences
    context: Mapping[str, Any]

    def predict(self, added: Mapping[str, Json]) -> Ok[Selection] | Err[InterpreterError]:
        """Return the first step, if the run started with this added to its context and stopped at whatever is wrong."""
        interpreter = self.program.interpreter
        return interpreter.next(interpreter.start(), merged(self.context, added), never_stop=False)


class StepView(Struct, frozen=True):
    """A pending step. `visit` counts arrivals at this step id, `attempt` what was submitted since the last one.

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
    def step(self) -> ProgramStep:
        """The definition of the step in the IR."""
        return self.program.step(self.instance.step_id)

    @property
    def loop(self) -> RepeatingStep | None:
        """The definition of the loop that the step is in."""
        return self.program.index.innermost_loop(self.instance)

    def merged(self, delta: Mapping[str, Json] | None) -> dict[str, Any]:
        """Return the context as the engine would see it with a change."""
        return merged(self.context, delta)

    def reasons(self, answer: Submit) -> tuple[Reason, ...]:
        """Return what the step itself would have against an answer."""
        submission = Submission(answer.notes, answer.artifacts)
        validator = self.program.validator
        return validator.check(self.step, self.instance.loop_path, submission, self.merged(answer.context)).reasons()

    def predict(self, answer: Submit, never_stop: bool = False) -> Ok[Selection] | Err[InterpreterError]:
        """Return the selection that follows if the answer is accepted, in a run that stops at problems or does not."""
        interpreter = self.program.interpreter
        done = interpreter.complete(self.state, self.instance)
        if isinstance(done, Err):
            return done
        artifacts = self.earlier + answer.artifacts
        return interpreter.next(done.value, self.merged(answer.context), artifacts, never_stop=never_stop)


class Agent(ABC):
    """The base of all agents. One object may play several runs, one after the other: `begin` starts it anew.

    Scenario files name an agent by its `kind`; those without one are for Python only. `example` is what a scenario
    about the steps `one` and `two` could say about it besides.
    """

    kind: ClassVar[str | None] = None
    example: ClassVar[dict[str, Json]] = {}

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any], seed: int) -> Agent:
        """Return the agent that the member `agent` of a scenario describes; the shape of the plan was checked."""
        return cls()

    def begin(self, start: StartView) -> dict[str, Json]:
        """Return what to add to the context that the run starts with."""
        return {}

    @abstractmethod
    def act(self, view: StepView) -> Action:
        """Return what to do about the pending step."""

    def reopen(self) -> Rewind | None:
        """Return where to go on although the run is complete; None to leave it so."""
        return None

    def receive(self, answer: Exchange) -> None:  # noqa: B027 - most agents need not listen
        """Receive the answer to the last action, for agents that made a call."""

    def place(self) -> str:
        """Return where the action that is being carried out is written down, if it is."""
        return ""

    def end(self) -> tuple[Problem, ...]:
        """Return what is wrong with the agent itself, now that the run is over."""
        return ()


def agents_by_kind() -> dict[str, type[Agent]]:
    """Return the agents that scenario files can name; their modules must have been imported."""
    by_kind: dict[str, type[Agent]] = {}
    waiting = Agent.__subclasses__()
    while waiting:
        agent = waiting.pop()
        waiting += agent.__subclasses__()
        if agent.kind is not None and "kind" in vars(agent):
            by_kind[agent.kind] = agent
    return by_kind
