"""Readings that grow with their log.

A log only ever gains events at its end, and one call asks several things about it. What was made of the last few
logs is remembered, so that the next reading begins where the last one stopped. Forgetting changes no answer.

A reading is a view of a structure that grows in place: the reading of a log shows what the log holds, also after
the structure went on with the events of a longer one. So a step costs what it adds, however long the log is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import is_
from typing import Generic, Literal, Protocol, TypeVar, overload

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.events import Envelope, Event, Log
from pytest_workrail.engine.model.ids import NodeId
from workrail_lint.base.result import Err, Ok


class ProjectionError(Struct, frozen=True):
    """Misuse by the caller (an invariant violation) or a log that contradicts itself (corruption)."""

    code: Literal["PROJECTION_INVARIANT_VIOLATION", "PROJECTION_CORRUPTION_DETECTED"]
    message: str


def corruption(message: str) -> ProjectionError:
    """The log contradicts itself."""
    return ProjectionError("PROJECTION_CORRUPTION_DETECTED", message)


def violation(message: str) -> ProjectionError:
    """The caller asked wrongly."""
    return ProjectionError("PROJECTION_INVARIANT_VIOLATION", message)


def out_of_order(events: Log, after: int = -1) -> ProjectionError | None:
    """An error when events are not in the order of their indexes, on which every projection relies.

    `after` is the index of the event that comes before them.
    """
    for event in events:
        if event.event_index <= after:
            return violation(f"event {event.event_index} comes after event {after}")
        after = event.event_index
    return None


_REMEMBERED = 16
_growth: deque[tuple[Log, Log]] = deque(maxlen=_REMEMBERED)


def longer(events: Log, more: Log) -> Log:
    """A log with more events at its end, of which is remembered what it grew from."""
    log = grown(events, more)
    _growth.append((log, events))
    return log


class Structure:
    """The state that readings share. Only one of them may extend it; the others would disagree about what follows."""

    __slots__ = ("_tips",)

    def __init__(self) -> None:
        self._tips: dict[int, object] = {0: None}

    def claim(self, count: int) -> bool:
        """Whether the caller may add to it what follows the first `count` events."""
        return self._tips.pop(count, self) is None

    def settle(self, count: int) -> None:
        """It holds `count` events now. One that is never settled was given up on."""
        self._tips[count] = None


class _Reading(Protocol):
    @property
    def count(self) -> int:
        """How many events it is the reading of."""
        ...


R = TypeVar("R", bound=_Reading)


class IncrementalProjection(Generic[R]):
    """A projection given as: nothing yet, and what further events make of it.

    To extend a reading fails with None when another log has grown out of it; then the log is read from its start.
    """

    __slots__ = ("_empty", "_extend", "_last", "_recent")

    def __init__(self, empty: Callable[[], R], extend: Callable[[R, Log], Ok[R] | Err[ProjectionError] | None]) -> None:
        self._empty = empty
        self._extend = extend
        self._recent: deque[tuple[Log, Ok[R]]] = deque(maxlen=_REMEMBERED)
        self._last: tuple[Log, Ok[R]] | None = None  # nearly always it is asked for again

    def of(self, events: Log) -> Ok[R] | Err[ProjectionError]:
        """The value for a log."""
        last = self._last
        if last is not None and last[0] is events:
            return last[1]
        recent = tuple(reversed(self._recent))  # the newest is nearly always the one that grew
        for known, value in recent:
            if known is events:
                return value
        begun = _longest_start(events, recent)
        extended = None if begun is None else self._extend(begun, events[begun.count :])
        if extended is None:
            extended = self._extend(self._empty(), events)
            if extended is None:
                raise AssertionError("a structure that nobody else knows can always grow")
        if isinstance(extended, Ok):
            self._last = (events, extended)
            self._recent.append(self._last)
        return extended


def _longest_start(events: Log, recent: tuple[tuple[Log, Ok[R]], ...]) -> R | None:
    """The reading of the longest log that this one begins with, among those that are remembered."""
    for log, source in reversed(tuple(_growth)):
        if log is events:
            for known, value in recent:
                if known is source:
                    return value.value
    begun: R | None = None
    for known, value in recent:
        size = len(known)
        # A log that grew holds the very same events. Equal ones would not do: true equals 1 in Python.
        # The last event alone tells nearly every other log apart.
        longest = 0 if begun is None else begun.count
        if longest < size <= len(events) and events[size - 1] is known[-1] and all(map(is_, known, events)):
            begun = value.value
    return begun


Item = TypeVar("Item", covariant=True)


class Grown(Sequence[Item]):
    """The first items of a list that only grows."""

    __slots__ = ("_count", "_items")

    def __init__(self, items: list[Item], count: int) -> None:
        self._items = items
        self._count = count

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if not isinstance(index, slice):
            return self._items[range(self._count)[index]]
        start, stop, step = index.indices(self._count)
        if start == 0 and step == 1:
            return self if stop == self._count else Grown(self._items, max(stop, 0))
        return tuple(map(self._items.__getitem__, range(start, stop, step)))

    def followed_by(self, more: Sequence[Item]) -> Grown[Item]:
        """These items and more. The list grows in place, unless other items have come after these already."""
        items = self._items if len(self._items) == self._count else self._items[: self._count]
        items.extend(more)
        return Grown(items, len(items))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        return islice(self._items, self._count)

    def __reversed__(self) -> Iterator[Item]:
        return map(self._items.__getitem__, range(self._count - 1, -1, -1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def grown(items: Sequence[Item], more: Sequence[Item]) -> Grown[Item]:
    """Some items and more of them, at the cost of what is added."""
    return (items if isinstance(items, Grown) else Grown(list(items), len(items))).followed_by(more)


Kind = TypeVar("Kind", bound=Envelope)


def _tag(kind: type[Envelope]) -> str:
    """Return the kind of a type. Events are filed by it: those of other engines are of types derived from ours."""
    return kind.__struct_config__.tag  # type: ignore[return-value]  # every event has one


class _Entries(Structure):
    """Places in the log, by what is there. Keys and nodes are filed when someone asks for one."""

    __slots__ = ("_by_key", "_by_node", "_events", "_keyed", "_placed", "by_kind")

    def __init__(self) -> None:
        super().__init__()
        self.by_kind: dict[str, list[Event]] = {}
        self._events: list[Event] = []
        self._by_key: dict[str, tuple[int, Event]] = {}
        self._by_node: dict[tuple[str, NodeId], list[tuple[int, Event]]] = {}
        self._keyed = self._placed = 0  # how many events are filed by key, and by node

    def add(self, events: Log) -> int:
        """File events at the end, and return how many there are."""
        by_kind = self.by_kind
        for event in events:
            by_kind.setdefault(event.kind, []).append(event)
        self._events.extend(events)
        return len(self._events)

    @property
    def by_key(self) -> Mapping[str, tuple[int, Event]]:
        for place in range(self._keyed, len(self._events)):
            event = self._events[place]
            self._by_key.setdefault(event.dedupe_key, (place, event))
        self._keyed = len(self._events)
        return self._by_key

    @property
    def by_node(self) -> Mapping[tuple[str, NodeId], list[tuple[int, Event]]]:
        for place in range(self._placed, len(self._events)):
            event = self._events[place]
            if event.scope is not None and event.scope.node_id is not None:
                self._by_node.setdefault((event.kind, event.scope.node_id), []).append((place, event))
        self._placed = len(self._events)
        return self._by_node


class LogIndex(Struct, frozen=True):
    """The events of one log, in order, by what they are."""

    count: int = 0
    _entries: _Entries = msgspec.field(default_factory=_Entries)
    _sizes: dict[str, int] = msgspec.field(default_factory=dict)  # how many of each kind are part of this log

    def find(self, dedupe_key: str) -> Event | None:
        """The first event with a dedupe key."""
        entry = self._entries.by_key.get(dedupe_key)
        return None if entry is None or entry[0] >= self.count else entry[1]

    def of_kind(self, kind: type[Envelope]) -> Sequence[Event]:
        """The events of one kind."""
        tag = _tag(kind)
        size = self._sizes.get(tag, 0)
        return Grown(self._entries.by_kind[tag], size) if size else ()

    def of_node(self, kind: type[Envelope], node: NodeId) -> list[Event]:
        """The events of one kind about a node."""
        entries = self._entries.by_node.get((_tag(kind), node), ())
        return [event for place, event in entries if place < self.count]

    def extended(self, events: Log) -> Ok[LogIndex] | None:
        """The index of a log with these events at its end; None when another log grew out of this one."""
        entries = self._entries
        if not entries.claim(self.count):
            return None
        count = entries.add(events)
        entries.settle(count)
        return Ok(LogIndex(count, entries, {kind: len(filed) for kind, filed in entries.by_kind.items()}))


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
