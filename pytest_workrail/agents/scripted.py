"""Agents whose answers are known beforehand: written down turn by turn, prepared by step, or taken from another run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from pytest_workrail.agents.agent import (
    Action,
    Agent,
    Exchange,
    Prefer,
    Problem,
    Provide,
    Rebind,
    Resend,
    Rewind,
    StartView,
    StepView,
    Stop,
    Submit,
    Transcript,
    member_of,
    unknown_step_message,
)
from pytest_workrail.agents.misbehaving import behave
from workrail_lint.base.js import Json, deep_equal
from workrail_lint.base.result import Err
from workrail_lint.base.suggest import hint
from workrail_lint.systems.workrail.scenario_words import AFTER_END, Behaviour

# Looks at what came of a turn and says what is wrong with it; None when nothing is.
Expectation: TypeAlias = Callable[[Exchange], str | None]

Answer: TypeAlias = "str | Submit | Behaviour | Mapping[str, Any] | Action"
# `notesMarkdown`, `artifacts` and `context`, each of which may be left out.
StepOutput: TypeAlias = Mapping[str, Any]
# Called with a step's id and `{"loopPath", "visit"}`; None stands for nothing prepared.
Prepare: TypeAlias = Callable[[str, dict[str, Json]], "StepOutput | None"]
Fixtures: TypeAlias = "Mapping[str, StepOutput | Sequence[StepOutput]] | Prepare"
_MEMBERS = ("notesMarkdown", "artifacts", "context")
_Played: TypeAlias = Submit | Rewind | Resend | Prefer | Provide | Rebind


class Behave(Struct, frozen=True):
    """Answer as a behaviour does, with more context if need be."""

    behaviour: Behaviour
    context: Mapping[str, Json] | None = None


class Turn(Struct, frozen=True):
    """The action at a step. Without a visit, turns of a step are used one after the other.

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

    kind = "scripted"
    example: ClassVar[dict[str, Json]] = {"turns": [{"step": "one", "notes": "x"}, {"step": "two", "notes": "y"}]}

    def __init__(self, turns: Sequence[Turn] = (), otherwise: Agent | None = None) -> None:
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
        """Return the turn for this visit, else the next one for the step, else one that serves every visit."""
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


def script_turns(answers: Mapping[str, Answer | Sequence[Answer]]) -> tuple[Turn, ...]:
    """Return the turns of a script as tests write it: by step id, one answer or several for one visit after the other.

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


class Prepared(Agent):
    """Submits prepared outputs. A list gives one at each visit, its last one over and over.

    A step that was refused is tried again with the next output. Submitting the same output again would change nothing,
    so the agent stops there.
    """

    def __init__(self, fixtures: Fixtures) -> None:
        if not callable(fixtures) and not isinstance(fixtures, Mapping):
            raise TypeError(f"fixtures must be a mapping by step id or a function, not a {type(fixtures).__name__}")
        self._fixtures = fixtures
        self._asked: Counter[str] = Counter()
        self._last: Submit | None = None
        self.lacks: str | None = None  # the step for which nothing was prepared

    def begin(self, start: StartView) -> dict[str, Json]:
        """Start from the first of each list."""
        self._asked.clear()
        self._last = self.lacks = None
        return {}

    def act(self, view: StepView) -> Action:
        """Submit the prepared output, if there is one and it can change anything."""
        if view.refusal in ("terminal", "gated", "error"):
            return Stop("No output can change this.")
        prepared = self._prepared(view)
        if prepared is None:
            self.lacks = view.step_id
            return Stop(f"No output is prepared for step '{view.step_id}'.")
        answer = _submission(prepared, view.step_id)
        if view.refusal == "blocked" and _is_same(answer, self._last):
            return Stop("The same output was already refused.")
        self._last = answer
        return answer

    def _prepared(self, view: StepView) -> StepOutput | None:
        """Return the next output of a step; an attempt after a refusal counts as a visit."""
        step_id = view.step_id
        self._asked[step_id] += 1
        visit = self._asked[step_id]
        if callable(self._fixtures):
            path: list[Json] = [{"loopId": at.loop_id, "iteration": at.iteration} for at in view.instance.loop_path]
            return self._fixtures(step_id, {"loopPath": path, "visit": visit})
        given = self._fixtures.get(step_id)
        if given is None or isinstance(given, Mapping):
            return given
        return given[min(visit, len(given)) - 1] if given else None


def _submission(output: object, step_id: str) -> Submit:
    if not isinstance(output, Mapping):
        raise TypeError(f"the fixture of step '{step_id}' must be a mapping, not a {type(output).__name__}")
    for name in output:
        if name not in _MEMBERS:
            raise TypeError(f"the fixture of step '{step_id}' has no member '{name}'{hint(str(name), _MEMBERS)}")
    context, artifacts = output.get("context"), output.get("artifacts")
    if context is not None and not isinstance(context, Mapping):
        raise TypeError(f"the context of step '{step_id}' must be a mapping, not a {type(context).__name__}")
    if artifacts is not None and not isinstance(artifacts, list | tuple):
        raise TypeError(f"the artifacts of step '{step_id}' must be a list, not a {type(artifacts).__name__}")
    return Submit(
        output.get("notesMarkdown"),
        tuple(_copied(list(artifacts or ()))),
        None if context is None else _copied(dict(context)),
    )


def _copied(value: Any) -> Any:
    """Return a value as it is now, whatever a function does to it before it is asked again."""
    try:
        return _as_lists(value)
    except RecursionError:
        return value  # too deep, or without end: the call it is submitted with says so


def _as_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_lists(item) for name, item in value.items()}
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value


def _is_same(answer: Submit, last: Submit | None) -> bool:
    """Return whether two outputs are one as JSON, where a boolean is no number."""
    if last is None or answer.notes != last.notes:
        return False
    return deep_equal(list(answer.artifacts), list(last.artifacts)) and deep_equal(answer.context, last.context)


class Recorded(Agent):
    """Plays a transcript again, in order: the same work against another profile or another version.

    That is every submission, also one that was sent twice, every step the run went back to, even after its end, and
    everything that people did: preferences, what they provided, and bindings. A transcript that holds nothing but
    exchanges is played by its submissions.
    """

    def __init__(self, transcript: Transcript) -> None:
        first: dict[str, Any] = transcript.exchanges[0].request
        self._context: dict[str, Json] = first.get("initialContext", {})
        self._actions: list[Action] = [action for action in transcript.actions if isinstance(action, _Played)] or [
            _answer(exchange)
            for exchange in transcript.exchanges
            if exchange.tool == "continue_workflow" and exchange.request.get("intent") == "advance"
        ]
        self._played = 0

    def begin(self, start: StartView) -> dict[str, Json]:
        self._played = 0
        return dict(self._context)

    def act(self, view: StepView) -> Action:
        if self._played == len(self._actions):
            return Stop("The recording ends here.")
        self._played += 1
        return self._actions[self._played - 1]

    def reopen(self) -> Rewind | None:
        action = self._actions[self._played] if self._played < len(self._actions) else None
        if not isinstance(action, Rewind):
            return None
        self._played += 1
        return action


def _answer(exchange: Exchange) -> Submit:
    context: Any = exchange.request.get("context")
    return Submit(exchange.notes, tuple(exchange.artifacts), context)
