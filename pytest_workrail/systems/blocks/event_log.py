"""What a run tells, in the order in which it happens."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.blocks.run_vocabulary import EventType


class EventLog:
    """Events, numbered from 1."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    @property
    def n(self) -> int:
        """The number of the last event."""
        return len(self.events)

    def emit(self, kind: EventType, node: str | None = None, **data: Any) -> None:
        event: dict[str, Any] = {"n": self.n + 1, "type": kind.value}
        if node is not None:
            event["nodeId"] = node
        if data:
            event["data"] = data
        self.events.append(event)


def event_lines(events: list[dict[str, Any]]) -> tuple[str, ...]:
    """Events for people, a line each."""
    return tuple(_line(event) for event in events)


def _line(event: dict[str, Any]) -> str:
    data = ", ".join(f"{name} {_shown(value)}" for name, value in event.get("data", {}).items())
    words = [f"{event['n']}.", event["type"], event.get("nodeId", ""), f"({data})" if data else ""]
    return " ".join(word for word in words if word)


def _shown(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "none"
    return str(value)
