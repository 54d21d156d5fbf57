"""The shared state of a run of blocks: its log, its containers, people's answers, and its definitions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pytest_workrail.scenarios.drivers import Fault, SimulatedClock
from pytest_workrail.systems.blocks.setup import TELEMETRY_URL, Revise, Setup
from pytest_workrail.systems.blocks.workspaces import Repository, Workspace
from pytest_workrail.systems.kernel.run import Answers, Choices, EventLog, Replies, RunState, text_bytes
from workrail_lint.documents.pointer import child
from workrail_lint.systems.blocks.model.documents import StudioWorkflow
from workrail_lint.systems.blocks.outputs import MANUAL, PathConflict
from workrail_lint.systems.blocks.plan import Plan
from workrail_lint.systems.blocks.prompts import Run
from workrail_lint.systems.blocks.vocabulary import (
    ABORT,
    MAX_CONTAINERS,
    Containers,
    ContainerState,
    EventType,
    ExecutionStatus,
    GitState,
    NodeStatus,
    Synthetic,
)

WORKSPACE = "workspace"
Memory = dict[str, Any]
SkipReason: TypeAlias = Literal["condition", "branch"]
Halt: TypeAlias = ExecutionStatus | None
"""The status of a run that stops; None if it continues."""


class BlockLog(EventLog):
    """The log of a run of blocks: an event can name a node and have data."""

    def emit(self, kind: EventType, node: str | None = None, **data: Any) -> None:
        members: dict[str, Any] = {"type": kind.value}
        if node is not None:
            members["nodeId"] = node
        if data:
            members["data"] = data
        self.append(**members)


def event_lines(events: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the events for people, a line each."""
    return tuple(_line(event) for event in events)


def _line(event: dict[str, Any]) -> str:
    data = ", ".join(f"{name} {_shown(value)}" for name, value in event.get("data", {}).items())
    words = [f"{event['n']}.", event["type"], event.get("nodeId", ""), f"({data})" if data else ""]
    return " ".join(word for word in words if word)


def _shown(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "none"
    return str(value)


# ----------------------------------------------------------------------------------------------------------- containers


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
        """Return whether another block ran in it before."""
        return self.blocks > 1


class Pool:
    """All containers of a run."""

    def __init__(self, clock: SimulatedClock, *, warm: bool) -> None:
        self._clock = clock
        self._warm = warm
        self._all: list[Container] = []

    def acquire(self) -> Container | None:
        """Return an idle container, a dormant one or a new one; None while all ten are in use."""
        self._expire()
        container = self._in_state(ContainerState.IDLE) or self._in_state(ContainerState.DORMANT)
        if container is None:
            if sum(each.state is not ContainerState.TERMINATED for each in self._all) >= MAX_CONTAINERS:
                return None
            container = Container(len(self._all))
            self._all.append(container)
        container.state = ContainerState.RUNNING
        container.blocks += 1
        return container

    def release(self, container: Container, dormancy_ms: float) -> None:
        """Put a container to sleep after a block, or end it if none are kept."""
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


# -------------------------------------------------------------------------------------------------------------- answers


class UserAnswers:
    """All answers of a scenario, and which of them were asked for."""

    def __init__(
        self,
        gates: Mapping[str, Sequence[str | Revise]],
        conflicts: Mapping[str, str],
        manual: Mapping[str, str],
        pauses: Mapping[str, str],
    ) -> None:
        self._gates = Answers(gates)
        self._conflicts = Choices(conflicts)
        self._manual = Choices(manual)
        self._pauses = Choices(pauses)
        self._misfits: list[Fault] = []

    def answer(self, node: str) -> str | Revise | None:
        """Return the next answer to a question about a node; None if there is none."""
        return self._gates.take(node) if self._gates.has_next(node) else None

    def reject_last(self, node: str, possible: Sequence[str]) -> None:
        """Record that the last answer about a node does not fit the question."""
        text = f"the gate of {node} accepts only {', '.join(dict.fromkeys(possible))}"
        self._misfits.append(Fault(text, child(child("/block/gates", node), self._gates.given[node] - 1)))

    def choices(self, path_conflicts: Sequence[PathConflict]) -> dict[str, str] | None:
        """Return the winner of each conflict; None if a choice is missing. One abort aborts all."""
        chosen: dict[str, str] = {}
        for clash in path_conflicts:
            choice, possible = self._conflicts.take(clash.path), (*clash.lanes, MANUAL, ABORT)
            if choice in possible:
                chosen[clash.path] = choice
            elif choice is not None:
                text = f"{clash.path} accepts only {', '.join(possible)}"
                self._misfits.append(Fault(text, child("/block/conflicts", clash.path)))
        return chosen if len(chosen) == len(path_conflicts) or ABORT in chosen.values() else None

    def manual_text(self, path: str) -> str:
        text = self._manual.take(path)
        assert text is not None, "a scenario that chooses it has the content"
        return text

    def pause(self, name: str) -> str | None:
        """Return how the pause before a node or group ends; None if there is no pause."""
        return self._pauses.take_once(name)

    def problems(self) -> Iterator[Fault]:
        """Yield the answers that did not fit, and everything in the scenario that was not used."""
        yield from self._misfits
        for node, index in self._gates.unused():
            text = f"this answer was not used: {node} did not ask for it"
            yield Fault(text, child(child("/block/gates", node), index))
        for path in self._conflicts.unused:
            text = f"this choice was not used: there was no conflict about {path}"
            yield Fault(text, child("/block/conflicts", path))
        for path in self._manual.unused:
            text = f"this content was not used: {MANUAL} was not chosen for {path}"
            yield Fault(text, child("/block/manual", path))
        for name in self._pauses.unused:
            yield Fault(f"this pause was not used: the run did not reach {name}", child("/block/pauses", name))


# ---------------------------------------------------------------------------------------------------------------- state


@dataclass(slots=True)
class Step:
    """One run of one block."""

    node: str
    step_index: int
    env: dict[str, str]
    prompt: str
    iteration: int | None = None  # which pass of a forEach it belongs to
    lane: bool = False
    container: int = 0
    warm: bool = False
    output: dict[str, Any] | None = None
    synthetic: Synthetic | None = None
    status: NodeStatus = NodeStatus.RUNNING
    detected: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.node if self.iteration is None else f"{self.node}[{self.iteration}]"


class SharedState(RunState):
    """Shared by a run and the runs inside it."""

    def __init__(self, setup: Setup, folder: str) -> None:
        super().__init__(SimulatedClock())
        self.setup = setup
        self.folder = folder
        self.log = BlockLog()
        self.replies = Replies(setup.replies)
        self.answers = UserAnswers(setup.gates, setup.conflicts, setup.manual, setup.pauses)
        self.pool = Pool(self.clock, warm=setup.containers is Containers.WARM)
        self.run = Run(setup.execution, TELEMETRY_URL, setup.telemetry, setup.repo.restrictions)
        self.steps: list[Step] = []
        self.fan_ins: list[dict[str, Any]] = []
        self.copies: list[dict[str, Any]] = []
        self.accesses: list[dict[str, Any]] = []
        self.limits: dict[str, int] = {}
        self.stages: list[Stage] = []  # the run itself, and the runs inside it as they start
        self.main, self.repository = _made(setup, os.path.join(folder, WORKSPACE))

    def lane_folder(self, number: int) -> str:
        return os.path.join(self.folder, f"lane-{number}")


def _made(setup: Setup, folder: str) -> tuple[Workspace, Repository | None]:
    os.makedirs(folder)
    workspace = Workspace(folder)
    for path, text in setup.repo.files.items():
        if not workspace.write(path, text_bytes(text)):
            raise AssertionError(f"a path that no scenario may have: {path}")
    if setup.repo.git is GitState.NONE:
        return workspace, None
    repository = Repository(workspace.root)
    repository.create(with_files=setup.repo.git is GitState.CLEAN)
    return workspace, repository


@dataclass(slots=True)
class Stage:
    """One definition at work: the whole run, or a sub-workflow of it."""

    shared: SharedState
    definition: StudioWorkflow
    plan: Plan
    variables: dict[str, Any]
    depth: int = 0
    statuses: dict[str, NodeStatus] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    skips: dict[str, SkipReason] = field(default_factory=dict)  # nodes that were decided against, and why
    iteration: int | None = None

    def __post_init__(self) -> None:
        self.shared.stages.append(self)

    @property
    def failed(self) -> bool:
        return NodeStatus.FAILED in self.statuses.values()


def start_variables(definition: StudioWorkflow, given: dict[str, Any]) -> dict[str, Any]:
    """Return the variables of a definition: the given values, and defaults for the others."""
    defaults = {
        variable.name: variable.default_value for variable in definition.variables if "defaultValue" in variable
    }
    return {**defaults, **given}
