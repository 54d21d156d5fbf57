"""The recorded events of a run, as the rules about traces see them.

What a trace and its events consist of is in `team-trace.schema.json` and `model/events.py`. Events that are not of the
contract are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeVar

from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.model.build import document_model, validator
from workrail_lint.systems.team.model.events import (
    TRACE_EVENT,
    AgentDispatched,
    AgentReplied,
    RunTrace,
    StateEntered,
    TraceEvent,
)
from workrail_lint.systems.team.vocabulary import AgentName, Mode, Strategy, WorkflowState

EVENTS = tuple(TRACE_EVENT.choices)
E = TypeVar("E", bound="TraceEvent")


class Trace:
    """A run by its events."""

    def __init__(self, value: dict[str, Any]) -> None:
        model = document_model(RunTrace, value, validator(TeamKind.TRACE).violations(value))
        self.model = model
        self.events = model.trace
        self.strategy = Strategy(model.strategy or Strategy.PER_BATCH)
        self.session = model.session or ""

    def of_type(self, cls: type[E]) -> Iterator[E]:
        """Yield the events of a class."""
        return (event for event in self.events if isinstance(event, cls))

    def mode_at(self, event: TraceEvent) -> Mode:
        """Return the mode of the run at an event: a lean run that grows continues as a full one."""
        return Mode.FULL if event.index >= self._intake else Mode(self.model.mode or Mode.FULL)

    @cached_property
    def _intake(self) -> float:
        """The index of the event from which on the run is a full one."""
        entered = (event.index for event in self.of_type(StateEntered) if event.state == WorkflowState.INTAKE)
        return next(entered, float("inf"))

    def task_of(self, event: AgentDispatched | AgentReplied) -> str:
        """Return the task of a dispatch or a reply: without one, that of the last dispatch of the agent."""
        return self._tasks[event.index]

    @cached_property
    def _tasks(self) -> dict[int, str]:
        tasks: dict[int, str] = {}
        last: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, AgentDispatched | AgentReplied):
                tasks[event.index] = event.task or last.get(event.agent, "")
                if isinstance(event, AgentDispatched):
                    last[event.agent] = tasks[event.index]
        return tasks

    def required(self, task: str) -> list[AgentName]:
        """Return whose OK a task needs before it is completed."""
        return [AgentName.REVIEWER, *map(AgentName, self.model.required.get(task, ()))]
