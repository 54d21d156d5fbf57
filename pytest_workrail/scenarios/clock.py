"""The time of a simulated run: it starts at a fixed moment and passes only when the simulation says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
TICK_MS = 1000


class SimulatedClock:
    """A clock that never goes back. `elapsed_ms` is the time since its start."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._start = start
        self.elapsed_ms = 0.0

    def tick(self) -> None:
        self.elapsed_ms += TICK_MS

    def advance_to(self, elapsed_ms: float) -> None:
        self.elapsed_ms = max(self.elapsed_ms, elapsed_ms)

    @property
    def now(self) -> datetime:
        return self._start + timedelta(milliseconds=self.elapsed_ms)

    @property
    def timestamp(self) -> str:
        """The time as documents write it."""
        precision = "milliseconds" if self.now.microsecond else "seconds"
        return self.now.isoformat(timespec=precision).replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Return the moment that a text names; without a zone it is UTC, wherever the run is played."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
