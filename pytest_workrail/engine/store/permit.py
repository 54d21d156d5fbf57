"""The permit to append to a session. Only the gate makes one, so nothing is written without lock and health check."""

from __future__ import annotations

from pytest_workrail.engine.events.ids import SessionId


class AppendPermit:
    """Made by the gate for one call and dead after it."""

    __slots__ = ("_live", "session_id")

    def __init__(self, session_id: SessionId) -> None:
        self.session_id = session_id
        self._live = True

    @property
    def is_held(self) -> bool:
        """True while the gate call that made it lasts."""
        return self._live

    def revoke(self) -> None:
        """The gate call is over."""
        self._live = False
