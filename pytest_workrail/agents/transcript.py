"""What a run leaves behind: every exchange between agent and engine, and what happened step by step. No behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.model.build import program_model

if TYPE_CHECKING:
    from pytest_workrail.agents.agent import Action
    from workrail_lint.systems.workrail.model.ir import Program

# What sort of answer a call got, whichever form the profile gives to answers.
AnswerKind: TypeAlias = Literal["ok", "blocked", "gated", "complete", "error"]


def answer_kind(response: Mapping[str, Any]) -> AnswerKind:
    """Return the sort of an answer that is no error."""
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
        """What sort of answer it was."""
        return "error" if self.is_error else answer_kind(self.response)


class Attempt(Struct, frozen=True):
    """One attempt at one step, which ended as `advanced`, `blocked`, `gated` or `error`.

    `gaps` are the details of the critical gaps it recorded, such as `missing_required_notes`. `of_loop` are those
    of its blockers and gaps that the loop around the step brought about. `levels` are (assessment, dimension, level),
    `left_out` are (assessment, dimension) of assessments that were submitted without the dimension.
    """

    step_id: str
    loop_path: tuple[tuple[str, int], ...]
    number: int
    outcome: str
    blockers: tuple[str, ...]
    gaps: tuple[str, ...]
    of_loop: tuple[str, ...]
    fragments: tuple[str, ...]
    levels: tuple[tuple[str, str, str], ...]
    contract: str | None
    left_out: tuple[tuple[str, str], ...] = ()


class Choice(Struct, frozen=True):
    """What the engine looked at when it chose what comes next, and what it then told the agent to do.

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
    profile: str
    mode: str
    ir: dict[str, Json]
    exchanges: tuple[Exchange, ...]
    attempts: tuple[Attempt, ...]
    final: dict[str, Json]
    choices: tuple[Choice, ...] = ()
    engine_defects: tuple[EngineDefectMark, ...] = ()
    # What the agent and the people around it did, in order; unknown for a transcript that was not made by a run.
    actions: tuple[Action, ...] = ()
    skipped: tuple[dict[str, Json], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()

    @cached_property
    def program(self) -> Program:
        """The typed form of the IR."""
        return program_model(self.ir)
