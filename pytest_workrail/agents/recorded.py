"""An agent that does again what was done in another run, whatever it is answered."""

from __future__ import annotations

from typing import Any, TypeAlias

from pytest_workrail.agents.actions import Action, Prefer, Provide, Rebind, Resend, Rewind, Stop, Submit
from pytest_workrail.agents.agent import Agent, StartView, StepView
from pytest_workrail.agents.transcript import Transcript
from workrail_lint.base.js import Json

_Played: TypeAlias = Submit | Rewind | Resend | Prefer | Provide | Rebind


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
            _answer(exchange.request)
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


def _answer(request: dict[str, Any]) -> Submit:
    output: dict[str, Any] = request.get("output", {})
    notes = output.get("notesMarkdown", request.get("notes"))
    return Submit(notes, tuple(output.get("artifacts", ())), request.get("context"))
