"""What a planted bug is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

GUIDED, STOPS, NEVER = "guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"

Patch = tuple[Any, str, Any]


@dataclass(frozen=True)
class Planted:
    """A bug: what is wrong, its kind, where it shows, and how it is put in."""

    name: str
    kind: str
    make: Callable[[], list[Patch]]
    workflow: str
    profile: str
    mode: str

    @contextmanager
    def planted(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patches:
            for target, name, value in self.make():
                patches.setattr(target, name, value)
            yield


def bug(
    name: str, kind: str, *, workflow: str = "decision", profile: str = "reference", mode: str = GUIDED
) -> Callable[[Callable[[], list[Patch]]], Planted]:
    """Return a decorator that makes a bug of a function; the function returns what to patch."""
    return lambda make: Planted(name, kind, make, workflow, profile, mode)


# Objects whose ids are remembered: as long as they are here, no other object gets the same id.
KEPT: list[Any] = []


def session_of(events: Any) -> int:
    """Return a number that is one within a run and another in the next, although all ids are the same there."""
    KEPT.append(events[0])
    return id(events[0])
