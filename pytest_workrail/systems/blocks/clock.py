"""Time as a run sees it: it starts in the year 2000 and passes only when a block takes some."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_START = datetime(2000, 1, 1, tzinfo=UTC)
TICK_MS = 1000


class Clock:
    """A virtual clock in milliseconds; it never goes back."""

    def __init__(self) -> None:
        self.now = 0.0

    def advance_to(self, moment: float) -> None:
        self.now = max(self.now, moment)

    def stamp(self) -> str:
        """The time as outputs write it."""
        at = _START + timedelta(milliseconds=self.now)
        return at.isoformat(timespec="milliseconds" if at.microsecond else "seconds").replace("+00:00", "Z")
