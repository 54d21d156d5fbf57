"""What all parts of a run share: the clock, the log, the workspace, and everything that is kept of it."""

from __future__ import annotations

import os
from dataclasses import field
from typing import Any, Literal, TypeAlias

from pytest_workrail.records import Record
from pytest_workrail.scenarios.clock import SimulatedClock
from pytest_workrail.systems.blocks.agent_script import Script
from pytest_workrail.systems.blocks.blockers import Blocker
from pytest_workrail.systems.blocks.container_pool import Pool
from pytest_workrail.systems.blocks.event_log import EventLog
from pytest_workrail.systems.blocks.git import Repository
from pytest_workrail.systems.blocks.setup import TELEMETRY_URL, Setup
from pytest_workrail.systems.blocks.user_answers import UserAnswers
from pytest_workrail.systems.blocks.workspaces import Workspace
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.definition import Definition
from workrail_lint.systems.blocks.environment import Run
from workrail_lint.systems.blocks.plan import Plan
from workrail_lint.systems.blocks.run_vocabulary import Containers, GitState
from workrail_lint.systems.blocks.vocabulary import NodeStatus, Synthetic

WORKSPACE = "workspace"
SkipReason: TypeAlias = Literal["condition", "branch"]


class Step(Record, frozen=False):
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


class SharedState:
    """Shared by a run and the runs inside it."""

    def __init__(self, setup: Setup, folder: str) -> None:
        self.setup = setup
        self.folder = folder
        self.clock = SimulatedClock()
        self.log = EventLog()
        self.script = Script(setup.replies)
        self.answers = UserAnswers(setup.gates, setup.conflicts, setup.manual, setup.pauses)
        self.pool = Pool(self.clock, warm=setup.containers is Containers.WARM)
        self.run = Run(setup.execution, TELEMETRY_URL, setup.telemetry, setup.repo.restrictions)
        self.steps: list[Step] = []
        self.fan_ins: list[dict[str, Any]] = []
        self.copies: list[dict[str, Any]] = []
        self.accesses: list[dict[str, Any]] = []
        self.limits: dict[str, int] = {}
        self.blockers: list[Blocker] = []
        self.findings: list[Finding] = []
        self.stages: list[Stage] = []  # the run itself, and the runs inside it as they start
        self.main, self.repository = _made(setup, os.path.join(folder, WORKSPACE))

    def lane_folder(self, number: int) -> str:
        return os.path.join(self.folder, f"lane-{number}")


def _made(setup: Setup, folder: str) -> tuple[Workspace, Repository | None]:
    os.makedirs(folder)
    workspace = Workspace(folder)
    for path, text in setup.repo.files.items():
        if not workspace.write(path, encoded(text)):
            raise AssertionError(f"a path that no scenario may have: {path}")
    if setup.repo.git is GitState.NONE:
        return workspace, None
    repository = Repository(workspace.root)
    repository.create(with_files=setup.repo.git is GitState.CLEAN)
    return workspace, repository


def encoded(text: str) -> bytes:
    """A text as bytes; JSON can hold half characters that UTF-8 has no bytes for."""
    return text.encode("utf-8", "surrogatepass")


class Stage(Record, frozen=False):
    """One definition at work: the whole run, or a sub-workflow of it."""

    shared: SharedState
    definition: Definition
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


def start_variables(definition: Definition, given: dict[str, Any]) -> dict[str, Any]:
    """The variables of a definition: what was given, over what it says by itself."""
    defaults = {
        variable["name"]: variable["defaultValue"]
        for _, variable in definition.variables
        if isinstance(variable.get("name"), str) and "defaultValue" in variable
    }
    return {**defaults, **given}
