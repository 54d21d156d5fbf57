"""What a projection says when it can't say anything."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pytest_workrail.engine.model.events import Log


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
