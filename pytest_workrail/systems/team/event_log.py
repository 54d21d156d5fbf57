"""The events of a simulated session, in the order in which they happen."""

from __future__ import annotations

from typing import Any

from pytest_workrail.scenarios.clock import SimulatedClock
from workrail_lint.systems.team.vocabulary import AgentName, WorkflowState

# What an event knows for the rules alone: it follows from the rest, or would only make a golden longer.
FOR_RULES = ("input", "parts", "conventions", "context")


class EventLog:
    """The events of a run, numbered from 1; each moves the clock."""

    def __init__(self, clock: SimulatedClock, state: WorkflowState) -> None:
        self.clock = clock
        self.state = state
        self.events: list[dict[str, Any]] = []

    def emit(self, event: str, /, **members: Any) -> None:
        self.clock.tick()
        self.events.append({"n": len(self.events) + 1, "state": self.state.value, "event": event, **members})

    def enter(self, state: WorkflowState) -> None:
        self.state = state
        self.emit("enter_state")

    def dispatched(self, agent: AgentName) -> bool:
        """Whether an agent was sent off in this run."""
        return any(e["event"] == "dispatch" and e["agent"] == agent.value for e in self.events)
