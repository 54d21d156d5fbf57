"""A log, indexed: events by kind and by dedupe key, so that a question about a few is not a search through all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from pytest_workrail.engine.events.kinds import Envelope, Event
from pytest_workrail.engine.projections.incremental import IncrementalProjection
from workrail_lint.base.result import Ok

Kind = TypeVar("Kind", bound=Envelope)


@dataclass(frozen=True, slots=True)
class LogIndex:
    """The events of one log, in order, by what they are."""

    by_kind: dict[type, list[Event]] = field(default_factory=dict)
    by_key: dict[str, Event] = field(default_factory=dict)

    def extended(self, events: tuple[Event, ...]) -> LogIndex:
        """The index of a log with these events at its end."""
        by_kind = {kind: list(found) for kind, found in self.by_kind.items()}
        by_key = dict(self.by_key)
        for event in events:
            by_kind.setdefault(type(event), []).append(event)
            by_key.setdefault(event.dedupe_key, event)
        return LogIndex(by_kind, by_key)


_indexes: IncrementalProjection[LogIndex] = IncrementalProjection(
    LogIndex(), lambda index, events: Ok(index.extended(events))
)


def log_index(events: tuple[Event, ...]) -> LogIndex:
    """The index of a log."""
    return _indexes.of(events).value


def of_kind(events: tuple[Event, ...], kind: type[Kind]) -> list[Kind]:
    """The events of one kind, in order. Not to be changed: it is the index's own list."""
    return log_index(events).by_kind.get(kind, [])  # type: ignore[return-value]  # filed by their own type
