"""The scripted agent: does what was written down, and takes a script that does not fit for an error.

Strict by itself: a step without an answer, an answer that is never used and a step that does not exist are all
faults of the script. With another agent for the rest, only what is written down has to fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_workrail.agents.actions import Action, Problem, Rewind, Stop, Submit
from pytest_workrail.agents.agent import Agent, StartView, StepView
from pytest_workrail.agents.behaviours import behave
from pytest_workrail.agents.choices import member_of, unknown_step_message
from pytest_workrail.agents.transcript import Exchange
from pytest_workrail.records import Record, replace
from workrail_lint.base.js import Json
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.scenario_words import AFTER_END, Behaviour

# Looks at what came of a turn and says what is wrong with it; None when nothing is.
Expectation: TypeAlias = Callable[[Exchange], str | None]


class Behave(Record):
    """Answer as a behaviour does, with more context if need be."""

    behaviour: Behaviour
    context: Mapping[str, Json] | None = None


class Turn(Record):
    """What to do at a step. Without a visit, turns of a step are used one after the other, whatever the visit.

    `place` is where the turn is written down; `repeats` marks one that serves any number of visits.
    """

    step_id: str
    does: Action | Behave
    visit: int | None = None
    repeats: bool = False
    place: str = ""
    expects: Expectation | None = None


class Scripted(Agent):
    """Plays turns. `otherwise` is who acts where nothing is written down; without it, that is an error."""

    def __init__(self, turns: Sequence[Turn], otherwise: Agent | None = None) -> None:
        self._turns = tuple(turns)
        self._otherwise = otherwise
        self._waiting: dict[tuple[str, int | None], deque[Turn]] = {}
        self._used: set[int] = set()
        self._current: Turn | None = None  # while its action is being carried out
        self._last: Turn | None = None
        self._fault: Problem | None = None

    @property
    def last_place(self) -> str:
        """Where the turn that was played last is written down."""
        return "" if self._last is None else self._last.place

    def begin(self, start: StartView) -> dict[str, Json]:
        self._waiting = {}
        self._used = set()
        self._current = self._last = None
        self._fault = self._unknown_step(start)
        for turn in self._turns:
            self._waiting.setdefault((turn.step_id, turn.visit), deque()).append(turn)
        return {} if self._otherwise is None else self._otherwise.begin(start)

    def _unknown_step(self, start: StartView) -> Problem | None:
        known = start.program.index.step_ids
        for turn in self._turns:
            if turn.step_id not in known and not (turn.step_id == AFTER_END and isinstance(turn.does, Rewind)):
                return Problem(unknown_step_message(turn.step_id, known), turn.place)
        return None

    def act(self, view: StepView) -> Action:
        if self._fault is not None:
            return self._fault
        turn = self._next(view)
        self._current = turn
        if turn is not None:
            self._used.add(id(turn))
            self._last = turn
            return self._done(turn, view)
        if self._otherwise is not None:
            return self._otherwise.act(view)
        if view.refusal is not None:
            return Stop(f"The script has no more turns for step '{view.step_id}'.")
        visit = "" if view.visit == 1 else f" on visit {view.visit}"
        return Problem(f"The script has no answer for step '{view.step_id}'{visit}.")

    def reopen(self) -> Rewind | None:
        waiting = self._waiting.get((AFTER_END, None))
        if self._fault is not None or not waiting:
            return None
        turn = self._current = self._last = waiting.popleft()
        self._used.add(id(turn))
        return turn.does if isinstance(turn.does, Rewind) else None

    def _next(self, view: StepView) -> Turn | None:
        """The turn for this visit, else the next one for the step, else one that serves every visit."""
        for visit in (view.visit, None):
            waiting = self._waiting.get((view.step_id, visit))
            if waiting:
                turn = waiting[0]
                if not turn.repeats:
                    return waiting.popleft()
                # What has just failed would fail forever.
                return None if view.refusal == "error" and turn is self._last else turn
        return None

    def _done(self, turn: Turn, view: StepView) -> Action:
        if not isinstance(turn.does, Behave):
            return turn.does
        answer = behave(turn.does.behaviour, view)
        if isinstance(answer, Err):
            return Problem(f"The turn can't be played: {answer.error}.", turn.place)
        if turn.does.context is None:
            return answer.value
        return replace(answer.value, context={**(answer.value.context or {}), **turn.does.context})

    def receive(self, answer: Exchange) -> None:
        turn, self._current = self._current, None
        if turn is None:
            if self._otherwise is not None:
                self._otherwise.receive(answer)
            return
        wrong = None if turn.expects is None else turn.expects(answer)
        if wrong is not None:
            self._fault = Problem(wrong, turn.place)

    def place(self) -> str:
        return "" if self._current is None else self._current.place

    def end(self) -> tuple[Problem, ...]:
        if self._fault is not None:
            return (self._fault,)
        unused = (turn for turn in self._turns if id(turn) not in self._used)
        return tuple(
            Problem(f"The turn for step '{turn.step_id}'{_on_visit(turn)} was never used.", turn.place)
            for turn in unused
        )


def _on_visit(turn: Turn) -> str:
    return "" if turn.visit is None else f" on visit {turn.visit}"


Answer: TypeAlias = "str | Submit | Behaviour | Mapping[str, Any] | Action"


def script_turns(answers: Mapping[str, Answer | Sequence[Answer]]) -> tuple[Turn, ...]:
    """The turns of a script as tests write it: by step id, one answer or several for one visit after the other.

    An answer is a string (the notes), a behaviour, an action, or an object: with `notes`, `artifacts` and `context`, or
    with the name of a behaviour as `does` and `context`; `visit` and `repeats` are those of a turn.
    """
    __tracebackhide__ = True
    if not isinstance(answers, Mapping):
        raise TypeError(f"a script must map step ids to answers, not be a {type(answers).__name__}")
    return tuple(
        _turn(step_id, answer, f"{step_id}[{number}]" if len(given) > 1 else step_id)
        for step_id, answer_or_answers in answers.items()
        for given in [_listed(answer_or_answers)]
        for number, answer in enumerate(given)
    )


def _listed(answers: Any) -> list[Any]:
    return list(answers) if isinstance(answers, list | tuple) else [answers]


def _turn(step_id: str, answer: Any, place: str) -> Turn:
    __tracebackhide__ = True
    if isinstance(answer, Behaviour):
        return Turn(step_id, Behave(answer), place=place)
    if isinstance(answer, str):
        return Turn(step_id, Submit(answer), place=place)
    if isinstance(answer, Action):
        return Turn(step_id, answer, place=place)
    if not isinstance(answer, Mapping):
        kinds = "a string, a behaviour, an action or a mapping"
        raise TypeError(f"an answer must be {kinds}, not a {type(answer).__name__}")
    return Turn(step_id, _action(answer), answer.get("visit"), bool(answer.get("repeats")), place)


def _action(answer: Mapping[str, Any]) -> Submit | Behave:
    __tracebackhide__ = True
    known = ("does", "context") if "does" in answer else ("notes", "artifacts", "context")
    unknown = sorted(set(answer) - {*known, "visit", "repeats"})
    if unknown:
        beside = " with does" if "does" in answer and unknown[0] in ("notes", "artifacts") else ""
        raise TypeError(
            f"unknown in an answer{beside}: {', '.join(unknown)} (known: {', '.join(known)}, visit, repeats)"
        )
    context = answer.get("context")
    if context is not None and not isinstance(context, Mapping):
        raise TypeError(f"the context of an answer must be a mapping, not a {type(context).__name__}")
    if "does" in answer:
        return Behave(member_of(Behaviour, "behaviour", answer["does"]), context)
    notes, artifacts = answer.get("notes"), answer.get("artifacts", ())
    if notes is not None and not isinstance(notes, str):
        raise TypeError(f"the notes of an answer must be a string, not a {type(notes).__name__}")
    if not isinstance(artifacts, list | tuple):
        raise TypeError(f"the artifacts of an answer must be a list, not a {type(artifacts).__name__}")
    return Submit(notes, tuple(artifacts), None if context is None else dict(context))
