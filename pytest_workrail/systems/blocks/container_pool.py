"""The containers that blocks run in. Nothing is really started: what counts is which memory a block meets."""

from __future__ import annotations

from typing import Any

from pytest_workrail.scenarios.clock import SimulatedClock
from workrail_lint.systems.blocks.limits import MAX_CONTAINERS
from workrail_lint.systems.blocks.vocabulary import ContainerState

Memory = dict[str, Any]


class Container:
    """One container: a number, a state, and what processes in it remember while it lives."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.state = ContainerState.STARTING
        self.memory: Memory = {}
        self.blocks = 0  # how many it has run
        self.expires = 0.0

    @property
    def is_warm(self) -> bool:
        """Whether a block before the present one ran in it."""
        return self.blocks > 1


class Pool:
    """All containers of a run."""

    def __init__(self, clock: SimulatedClock, *, warm: bool) -> None:
        self._clock = clock
        self._warm = warm
        self._all: list[Container] = []

    def acquire(self) -> Container | None:
        """An idle container, else a dormant one woken up, else a new one; None while all ten are at work."""
        self._expire()
        found = self._in_state(ContainerState.IDLE) or self._in_state(ContainerState.DORMANT)
        if found is None:
            if sum(each.state is not ContainerState.TERMINATED for each in self._all) >= MAX_CONTAINERS:
                return None
            found = Container(len(self._all))
            self._all.append(found)
        found.state = ContainerState.RUNNING
        found.blocks += 1
        return found

    def release(self, container: Container, dormancy_ms: float) -> None:
        """A block ended: the container sleeps, or is gone at once where none is kept."""
        container.state = ContainerState.DORMANT if self._warm else ContainerState.TERMINATED
        container.expires = self._clock.elapsed_ms + dormancy_ms

    def teardown(self) -> None:
        for container in self._all:
            container.state = ContainerState.TERMINATED

    def _expire(self) -> None:
        for container in self._all:
            if container.state is ContainerState.DORMANT and container.expires <= self._clock.elapsed_ms:
                container.state = ContainerState.TERMINATED

    def _in_state(self, state: ContainerState) -> Container | None:
        return next((each for each in self._all if each.state is state), None)
