"""Of many runs the few that show everything together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pytest_workrail.coverage.points import Point
from pytest_workrail.explore.plans import Plan
from pytest_workrail.records import Record

# A goal under a profile.
Shown = tuple[str, Point]


class Selected(Record):
    """A run that is kept, and what no other one shows."""

    plan: Plan
    unique: tuple[Shown, ...]


def shown_by(plan: Plan, wanted: Collection[Shown]) -> set[Shown]:
    return {(name, point) for name, points in plan.shown.items() for point in points if (name, point) in wanted}


def smallest_cover(plans: Sequence[Plan], wanted: Iterable[Shown], *, keep_first: bool = True) -> list[Selected]:
    """Greedily those that show most, short ones first; then without those that the others make needless."""
    order = {goal: at for at, goal in enumerate(wanted)}
    shows = [shown_by(plan, order) for plan in plans]
    chosen: list[int] = []
    left = set(order)
    if keep_first and plans:
        chosen.append(0)
        left -= shows[0]
    while left:
        best = max(range(len(plans)), key=lambda at: (len(shows[at] & left), -plans[at].size, -at), default=-1)
        if best < 0 or not shows[best] & left:
            break
        chosen.append(best)
        left -= shows[best]
    for at in sorted(chosen, key=lambda at: (len(shows[at]), -plans[at].size)):
        others = set().union(*(shows[other] for other in chosen if other != at))
        if shows[at] <= others and not (keep_first and at == 0):
            chosen.remove(at)
    chosen.sort()
    return [Selected(plans[at], _unique(at, chosen, shows, order)) for at in chosen]


def _unique(at: int, chosen: Sequence[int], shows: Sequence[set[Shown]], order: dict[Shown, int]) -> tuple[Shown, ...]:
    others = set().union(*(shows[other] for other in chosen if other != at))
    return tuple(sorted(shows[at] - others, key=order.__getitem__))
