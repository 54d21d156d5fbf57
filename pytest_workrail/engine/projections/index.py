"""A log, indexed: events by kind, node and dedupe key, so that a question about a few is not a search through all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.events import Envelope, Event, Log
from pytest_workrail.engine.model.ids import NodeId
from pytest_workrail.engine.projections.incremental import Grown, IncrementalProjection, Structure
from workrail_lint.base.result import Ok

Kind = TypeVar("Kind", bound=Envelope)


def _tag(event: Envelope | type[Envelope]) -> str:
    """Return the kind of an event. Not its type: events of other engines are of types derived from ours."""
    return event.__struct_config__.tag  # type: ignore[return-value]  # every event has one


class _Entries(Structure):
    """Places in the log, by what is there."""

    __slots__ = ("by_key", "by_kind", "by_node")

    def __init__(self) -> None:
        super().__init__()
        self.by_kind: dict[str, list[Event]] = {}
        self.by_key: dict[str, tuple[int, Event]] = {}
        self.by_node: dict[tuple[str, NodeId], list[tuple[int, Event]]] = {}

    def add(self, place: int, event: Event) -> None:
        kind = _tag(event)
        self.by_kind.setdefault(kind, []).append(event)
        self.by_key.setdefault(event.dedupe_key, (place, event))
        if event.scope is not None and event.scope.node_id is not None:
            self.by_node.setdefault((kind, event.scope.node_id), []).append((place, event))


class LogIndex(Struct, frozen=True):
    """The events of one log, in order, by what they are."""

    count: int = 0
    _entries: _Entries = msgspec.field(default_factory=_Entries)
    _sizes: dict[str, int] = msgspec.field(default_factory=dict)  # how many of each kind are part of this log

    def find(self, dedupe_key: str) -> Event | None:
        """The first event with a dedupe key."""
        found = self._entries.by_key.get(dedupe_key)
        return None if found is None or found[0] >= self.count else found[1]

    def of_kind(self, kind: type[Envelope]) -> Sequence[Event]:
        """The events of one kind."""
        size = self._sizes.get(_tag(kind), 0)
        return Grown(self._entries.by_kind[_tag(kind)], size) if size else ()

    def of_node(self, kind: type[Envelope], node: NodeId) -> list[Event]:
        """The events of one kind about a node."""
        found = self._entries.by_node.get((_tag(kind), node), ())
        return [event for place, event in found if place < self.count]

    def extended(self, events: Log) -> Ok[LogIndex] | None:
        """The index of a log with these events at its end; None when another log grew out of this one."""
        entries, place = self._entries, self.count
        if not entries.claim(place):
            return None
        sizes = dict(self._sizes)
        for event in events:
            entries.add(place, event)
            sizes[_tag(event)] = sizes.get(_tag(event), 0) + 1
            place += 1
        entries.settle(place)
        return Ok(LogIndex(place, entries, sizes))


_indexes: IncrementalProjection[LogIndex] = IncrementalProjection(LogIndex, LogIndex.extended)


def log_index(events: Log) -> LogIndex:
    """The index of a log."""
    return _indexes.of(events).value


def of_kind(events: Log, kind: type[Kind]) -> Sequence[Kind]:
    """The events of one kind, in order."""
    return log_index(events).of_kind(kind)  # type: ignore[return-value]  # filed by their own type


def of_node(events: Log, kind: type[Kind], node: NodeId) -> list[Kind]:
    """The events of one kind about a node, in order."""
    return log_index(events).of_node(kind, node)  # type: ignore[return-value]  # as above
