"""Readings that grow with their log.

A log only ever gains events at its end, and one call asks several things about it. What was made of the last few
logs is remembered, so that the next reading begins where the last one stopped. Forgetting changes no answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from operator import is_
from typing import Generic, TypeVar

from pytest_workrail.engine.events.kinds import Event
from pytest_workrail.engine.projections.errors import ProjectionError
from workrail_lint.base.result import Err, Ok

T = TypeVar("T")
_REMEMBERED = 16


class IncrementalProjection(Generic[T]):
    """A projection given as: nothing yet, and what further events make of it. Values are never changed."""

    __slots__ = ("_empty", "_extend", "_recent")

    def __init__(self, empty: T, extend: Callable[[T, tuple[Event, ...]], Ok[T] | Err[ProjectionError]]) -> None:
        self._empty = empty
        self._extend = extend
        self._recent: deque[tuple[tuple[Event, ...], T]] = deque(maxlen=_REMEMBERED)

    def of(self, events: tuple[Event, ...]) -> Ok[T] | Err[ProjectionError]:
        """The value for a log."""
        recent = tuple(reversed(self._recent))  # the newest is nearly always the one that grew
        for known, value in recent:
            if known is events:
                return Ok(value)
        begun, read = self._empty, 0
        for known, value in recent:
            size = len(known)
            # A log that grew holds the very same events. Equal ones would not do: true equals 1 in Python.
            # The last event alone tells nearly every other log apart.
            if read < size <= len(events) and events[size - 1] is known[-1] and all(map(is_, known, events)):
                begun, read = value, size
        extended = self._extend(begun, events[read:])
        if isinstance(extended, Ok):
            self._recent.append((events, extended.value))
        return extended
