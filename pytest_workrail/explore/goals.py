"""What is left to show about a workflow, and what was tried for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.points import Kind, Point
from pytest_workrail.engine.core.profiles import Confirmation, Profile
from pytest_workrail.engine.core.vocabulary import Autonomy

GUIDED: Autonomy = "guided"
NEVER_STOP: Autonomy = "full_auto_never_stop"


class Ledger:
    """The goals of one workflow under one profile: which are still missing, and which a mode did not bring about."""

    def __init__(self, ir: dict[str, Any], profile: Profile) -> None:
        self.goals = goals(ir, profile, strong=True)
        self._profile = profile
        self.missing: dict[Point, None] = dict.fromkeys(self.goals)
        self.tried: dict[Point, list[str]] = {}
        self._marks: set[tuple[str, Point]] = set()
        self._by_place: dict[str, list[Point]] = {}  # what is missing
        for point in self.goals:
            self._by_place.setdefault(point.place.partition("#")[0], []).append(point)

    def cover(self, points: Iterable[Point]) -> list[Point]:
        """Note what a run has shown; returns what was missing until now."""
        found = [point for point in points if point in self.missing]
        for point in found:
            del self.missing[point]
            self._by_place[point.place.partition("#")[0]].remove(point)
        return found

    def mark(self, mode: str, points: Iterable[Point]) -> None:
        """A run in this mode was meant to show these and did not."""
        for point in points:
            if point in self.missing:
                self._marks.add((mode, point))
                self.tried.setdefault(point, []).append(mode)

    def modes_tried(self, point: Point) -> list[str]:
        """The modes in which runs were sent for a point, each once."""
        return sorted(set(self.tried.get(point, ())))

    def clear_marks(self) -> None:
        self._marks.clear()

    def waiting(self, place: str | None, mode: str) -> Iterator[Point]:
        """What a run in this mode could still show at a place."""
        for point in self._by_place.get(place or "", ()):
            if self._fits(point, mode) and (mode, point) not in self._marks:
                yield point

    def _fits(self, point: Point, mode: str) -> bool:
        match point.kind:
            case Kind.BLOCKER:
                return mode == GUIDED
            case Kind.GAP:
                return mode == NEVER_STOP
            case Kind.GATE:
                never_told = self._profile.confirmation is Confirmation.USER_DEPENDENCY
                return not (mode == NEVER_STOP and never_told)
            case _:
                return True


def shows_there(point: Point) -> bool:
    """Whether it is worth to get to the place of a point: some show only when it is passed by."""
    if point.kind is Kind.CONDITION:
        return point.case == "true"
    if point.kind is Kind.DECIDES and "#" not in point.place:
        # Under an odd number of negations a member that is true keeps the condition from holding.
        return point.case.endswith("true") is (point.case.count("/not") % 2 == 0)
    if point.kind is Kind.LOOP:
        return point.case != "zero"
    return True
