"""A session as it was loaded: its events, checked against the manifest that lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.events import Event, Log
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.model.manifest import ManifestRecord, SegmentClosed
from pytest_workrail.engine.projections.incremental import grown, log_index, longer


class AppendPermit:
    """Made by the gate for one call and dead after it."""

    __slots__ = ("_is_locked", "_live", "session_id")

    def __init__(self, session_id: SessionId, is_locked: Callable[[], bool] = lambda: True) -> None:
        self.session_id = session_id
        self._live = True
        self._is_locked = is_locked

    @property
    def is_held(self) -> bool:
        """True while the gate call that made it lasts, as long as its lock does: a copy of this process has none."""
        return self._live and self._is_locked()

    def revoke(self) -> None:
        """The gate call is over."""
        self._live = False


class SessionTruth(Struct, frozen=True):
    """The events of a session in order, and its manifest."""

    events: Log = ()
    manifest: Sequence[ManifestRecord] = ()

    @property
    def next_index(self) -> int:
        """The index the next event gets."""
        return len(self.events)

    def find(self, dedupe_key: str) -> Event | None:
        """The event known by a dedupe key."""
        return log_index(self.events).find(dedupe_key)

    def extended(self, events: Log, records: tuple[ManifestRecord, ...]) -> SessionTruth:
        """The session after an append."""
        return SessionTruth(longer(self.events, events), grown(self.manifest, records))

    def as_of(self, event_index: int) -> Log:
        """The log as it stood when the append that holds this event was done.

        A replayed answer is rendered from this, so that it can't differ from the first one.
        """
        # Backwards, because most questions are about what happened last.
        for record in reversed(self.manifest):
            if isinstance(record, SegmentClosed) and record.first_event_index <= event_index:
                if event_index > record.last_event_index:
                    break
                return self.events[: record.last_event_index + 1]
        raise IndexError(f"no event has index {event_index}")


class Complete(Struct, frozen=True):
    """Everything the manifest attests is there."""


class Truncated(Struct, frozen=True):
    """The log goes on, but from here it can't be trusted."""

    reason: CorruptionReason


class ValidatedPrefix(Struct, frozen=True):
    """What salvage found: to look at and to export, never to continue from."""

    truth: SessionTruth
    extent: Complete | Truncated


class SessionEntry(Struct, frozen=True):
    """A session on the list, and when it last changed."""

    session_id: SessionId
    modified_ms: int
