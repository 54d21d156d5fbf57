"""The permit to append to a session. Only the gate makes one, so nothing is written without lock and health check."""

from __future__ import annotations

from collections.abc import Callable

from pytest_workrail.engine.model.ids import SessionId


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
