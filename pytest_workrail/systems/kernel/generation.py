"""Generation of scenarios for a driver: play a variation, and mend its scenario until it holds together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, Generic, Protocol, TypeVar

from pytest_workrail.scenarios.drivers import Fault
from pytest_workrail.scenarios.variations import Content, Shown, Subject
from workrail_lint.base.js import Json
from workrail_lint.documents.pointer import decode

_MOST_ANSWERS = 25


class _Run(Protocol):
    @property
    def problems(self) -> Sequence[Fault]: ...


R = TypeVar("R", bound=_Run)


class DriverSubject(Subject, Generic[R]):
    """A subject whose scenarios a driver of this package plays."""

    @abstractmethod
    def run(self, content: Content) -> R | None:
        """Play a scenario; None if it is invalid."""

    @abstractmethod
    def shown_goals(self, content: Content, run: R) -> Iterator[str]:
        """Yield the goals that a run has shown."""

    @abstractmethod
    def expectations(self, run: R) -> dict[str, Json]:
        """Return what a scenario of this run can expect."""

    def first(self, content: Content) -> Content:
        """Return the scenario to play first for a variation."""
        return deepcopy(content)

    def answer(self, content: Content, run: R, variation: Content) -> bool:
        """Add an answer that a run waits for; False if it waits for none, or if the variation wants it to."""
        return False

    def played(self, content: Content) -> Shown | None:
        """Play a scenario with the answers that it asks for, and without what it does not use."""
        mended = self.first(content)
        for _ in range(_MOST_ANSWERS):
            run = self.run(mended)
            if run is None:
                return None
            # What a run did not use did not change it. Indices stay valid if the last is dropped first.
            if not all(drop_unused(mended, problem.pointer) for problem in reversed(run.problems)):
                return None
            if not self.answer(mended, run, content):
                used = {name: value for name, value in mended.items() if value not in ({}, [])}
                return Shown(used, frozenset(self.shown_goals(mended, run)), self.expectations(run))
        return None


def merged(content: Content, change: Content) -> Content:
    """Return a scenario with changed members; objects are merged, anything else is replaced."""
    result = deepcopy(content)
    for name, value in change.items():
        result[name] = {**result.get(name, {}), **deepcopy(value)} if isinstance(value, dict) else deepcopy(value)
    return result


def drop_unused(content: Content, pointer: str) -> bool:
    """Leave out what a run did not use; False if the pointer leads to nothing of that kind."""
    member, *path = decode(pointer)[1:] or [""]
    held: Any = content.get(member)
    if not path or not isinstance(held, list | dict):
        return False
    if isinstance(held, list):
        del held[int(path[0])]
    elif len(path) > 1 and isinstance(held.get(path[0]), list):
        del held[path[0]][int(path[1]) :]
    else:
        held.pop(path[0], None)
    if isinstance(held, dict):
        for name in [name for name, value in held.items() if value == []]:
            del held[name]
    if not held:
        content.pop(member)
    return True
