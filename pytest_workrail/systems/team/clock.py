"""The time and the events of a simulated session. Nothing here looks at a real clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from workrail_lint.systems.team.vocabulary import AgentName, WorkflowState

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
# What an event knows for the rules alone: it follows from the rest, or would only make a golden longer.
FOR_RULES = ("input", "parts", "conventions", "context")


class Clock:
    """Starts at a fixed moment and advances by one second with every event."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = start
        self._ticks = 0

    def tick(self) -> None:
        self._ticks += 1

    @property
    def now(self) -> str:
        return written(self._start + timedelta(seconds=self._ticks))

    @property
    def seconds(self) -> float:
        """The same as the modification time of a file."""
        return (self._start + timedelta(seconds=self._ticks)).timestamp()


def written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(text: str) -> datetime:
    """The moment that a text names; without a zone it is UTC, wherever the run is played."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class Recorder:
    """The events of a run, in order; each moves the clock."""

    def __init__(self, clock: Clock, state: WorkflowState) -> None:
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
