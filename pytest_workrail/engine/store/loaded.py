"""A session as it was loaded: its events, checked against the manifest that lists them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from pytest_workrail.engine.model.base import CorruptionReason
from pytest_workrail.engine.model.events import Event, Log
from pytest_workrail.engine.model.ids import SessionId
from pytest_workrail.engine.model.manifest import ManifestRecord, SegmentClosed
from pytest_workrail.engine.projections.incremental import grown, longer
from pytest_workrail.engine.projections.index import log_index


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
