"""An agent in a bad place: answers get lost, memory goes, tokens are mangled, the engine's process ends.

None of it may change what a run comes to. Faults happen around another agent's actions, never instead of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pytest_workrail.agents.actions import Action, Call, Problem, Rehydrate, Resend, Restart, Rewind, Submit
from pytest_workrail.agents.agent import Agent, StartView, StepView
from pytest_workrail.agents.seeded import fraction
from pytest_workrail.agents.transcript import Exchange
from pytest_workrail.records import Record
from workrail_lint.base.js import Json
from workrail_lint.systems.workrail.scenario_words import FaultKind


class Fault(Record):
    """A fault and when it happens: at a step, on a visit, or wherever it can; always, or as chance decides."""

    kind: FaultKind
    step_id: str | None = None
    visit: int | None = None
    rate: float = 1.0


_BEFORE: dict[FaultKind, Action] = {
    FaultKind.LOSE_MEMORY: Rehydrate(),
    FaultKind.GARBLE_TOKEN: Call("continue_workflow", {"continueToken": "$garbled", "intent": "advance"}),
    FaultKind.STALE_TOKEN: Call("continue_workflow", {"continueToken": "$previous", "intent": "advance"}),
    FaultKind.WRONG_TOKEN: Call("continue_workflow", {"continueToken": "$checkpoint", "intent": "advance"}),
    FaultKind.RESTART_ENGINE: Restart(),
}


class Lossy(Agent):
    """Another agent, with faults. Each fault happens once on each visit that it is meant for."""

    def __init__(self, inner: Agent, faults: Sequence[Fault], seed: int = 0) -> None:
        self._inner = inner
        self._faults = tuple(faults)
        self._seed = seed
        self._happened: set[tuple[int, str, int]] = set()
        self._waiting: deque[Action] = deque()
        self._has_advanced = False
        self._is_inner = False

    def begin(self, start: StartView) -> dict[str, Json]:
        self._happened.clear()
        self._waiting.clear()
        self._has_advanced = self._is_inner = False
        return self._inner.begin(start)

    def act(self, view: StepView) -> Action:
        if not self._waiting:
            self._waiting.extend(_BEFORE[kind] for kind in self._now(view) if kind in _BEFORE)
        if self._waiting:
            self._is_inner = False
            return self._waiting.popleft()
        action = self._inner.act(view)
        self._is_inner = True
        if isinstance(action, Submit):
            self._has_advanced = True
            if FaultKind.LOSE_ANSWER in self._now(view, after=True):
                self._waiting.append(Resend())
        return action

    def _now(self, view: StepView, *, after: bool = False) -> list[FaultKind]:
        """The faults that happen here, now that they are asked for."""
        kinds: list[FaultKind] = []
        for number, fault in enumerate(self._faults):
            key = (number, view.step_id, view.visit)
            is_meant = (
                fault.step_id in (None, view.step_id)
                and fault.visit in (None, view.visit)
                and (fault.kind is FaultKind.LOSE_ANSWER) is after
                and (fault.kind is not FaultKind.STALE_TOKEN or self._has_advanced)
            )
            if is_meant and key not in self._happened and fraction(self._seed, *key) < fault.rate:
                self._happened.add(key)
                kinds.append(fault.kind)
        return kinds

    def reopen(self) -> Rewind | None:
        self._is_inner = True
        return self._inner.reopen()

    def receive(self, answer: Exchange) -> None:
        if self._is_inner:
            self._is_inner = False
            self._inner.receive(answer)

    def place(self) -> str:
        return self._inner.place()

    def end(self) -> tuple[Problem, ...]:
        return self._inner.end()
