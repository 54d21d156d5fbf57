"""What a run can show on its way to a step, besides getting there: each as wishes that are added if they can be met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from pytest_workrail.coverage.points import ASKED, Kind, Point, fragment_place, gate_place
from pytest_workrail.explore.guide import Guide
from pytest_workrail.explore.targets import Target
from workrail_lint.systems.workrail.solver import Wish

# What a run could still show at a place.
Waiting: TypeAlias = Callable[[str], list[Point]]


def extras(guide: Guide, target: Target, waiting_at: Waiting) -> Iterator[list[Wish]]:
    """What could be shown on the way to a target, each on its own."""

    def bound(*wishes: Wish) -> list[Wish]:
        return [guide.binder.wish(wish, target.loop, target.iteration) for wish in wishes]

    for place in (*target.way.passed, target.place):
        if place is None:
            continue
        step = guide.steps[place]
        wanted = {point.case for point in waiting_at(place) if point.kind is Kind.DECIDES and point.place == place}
        if wanted:
            for case, wishes in guide.members[step.get("runCondition")].wishes():
                if case in wanted:
                    yield bound(*wishes) if "/" in place else wishes
    if target.step is None or target.place is None:
        return
    waiting = waiting_at(target.place)
    for fragment in target.step.get("fragments", ()):
        place = fragment_place(target.place, fragment["id"])
        for point in waiting:
            if point.place == place and point.kind is Kind.FRAGMENT:
                yield bound((fragment.get("when"), point.case == "shown"))
        yield from map(list, _deciding(guide, place, fragment.get("when"), waiting, bound))
    condition = target.step["confirmation"].get("condition")
    for point in waiting:
        if point.kind is Kind.GATE:
            yield bound((condition, point.case == ASKED))
    yield from _deciding(guide, gate_place(target.place), condition, waiting, bound)
    following = guide.following.get(target.place)
    if following is not None and any(point.kind is Kind.ORDER for point in waiting):
        yield bound((following.get("runCondition"), True))
    if target.loop is not None:
        yield from _at_entry(guide, target, waiting_at)
        own = target.loop["loop"]["source"].get("condition")
        yield from _deciding(guide, target.loop["id"], own, waiting_at(target.loop["id"]), bound)


def _at_entry(guide: Guide, target: Target, waiting_at: Waiting) -> Iterator[list[Wish]]:
    """What shows about a loop as a whole when it is entered."""
    loop = target.loop
    if loop is None or target.iteration > 0:
        return
    waiting = waiting_at(loop["id"])
    yield from _deciding(guide, loop["id"], loop.get("runCondition"), waiting, lambda *wishes: list(wishes))
    following = guide.following.get(loop["id"])
    if following is not None and any(point.kind is Kind.ORDER for point in waiting):
        yield [(following.get("runCondition"), True)]


def _deciding(
    guide: Guide, place: str, condition: object, waiting: list[Point], bound: Callable[..., list[Wish]]
) -> Iterator[list[Wish]]:
    wanted = {point.case for point in waiting if point.kind is Kind.DECIDES and point.place == place}
    if wanted:
        for case, wishes in guide.members[condition].wishes():
            if case in wanted:
                yield bound(*wishes)
