"""What a run leaves behind: every exchange between agent and engine, and what happened step by step. No behaviour."""

from __future__ import annotations

from dataclasses import dataclass

from workrail_lint.base.js import Json


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call of a tool, as the agent made it and as it was answered; tokens and ids are the real ones."""

    tool: str
    request: dict[str, Json]
    response: dict[str, Json]
    is_error: bool


@dataclass(frozen=True, slots=True)
class Visit:
    """One attempt at one step, which ended as `advanced`, `blocked`, `gated` or `error`.

    `gaps` are the details of the critical gaps it recorded, such as `missing_required_notes`. `of_loop` are those
    of its blockers and gaps that the loop around the step brought about. `levels` are (assessment, dimension, level).
    """

    step_id: str
    loop_path: tuple[tuple[str, int], ...]
    attempt: int
    outcome: str
    blockers: tuple[str, ...]
    gaps: tuple[str, ...]
    of_loop: tuple[str, ...]
    fragments: tuple[str, ...]
    levels: tuple[tuple[str, str, str], ...]
    contract: str | None


@dataclass(frozen=True, slots=True)
class Choice:
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


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole run.

    `final` is the last projection, with the members `status`, `context`, `outputs` (of each step done, in order),
    `gaps` (all of them), `blockers` (those the run stands at) and `trace` (how its end came to be selected).
    `choices` are what every step was chosen from, in the order in which it happened.
    """

    workflow_id: str
    workflow_hash: str
    profile: str
    mode: str
    ir: dict[str, Json]
    exchanges: tuple[Exchange, ...]
    visits: tuple[Visit, ...]
    final: dict[str, Json]
    choices: tuple[Choice, ...] = ()
