"""The shared state of a simulated session: its files, its log, who answers, and its memory.

Memory holds only what the contract lets an Orchestrator remember. Whatever has to survive a break is read from disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_workrail.scenarios.drivers import SimulatedClock
from pytest_workrail.systems.kernel.run import EventLog, RunState
from pytest_workrail.systems.team.minimal_outputs import status as first_status
from pytest_workrail.systems.team.session import (
    NO_TASK,
    FailingWrite,
    Halt,
    SessionLinter,
    Store,
    TeamBlocker,
    about_artifact,
    about_state,
    blocked,
)
from pytest_workrail.systems.team.simulated_agents import Answer, SimulatedAgents, SimulatedUser
from workrail_lint.base.js import items_of, members_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.model.build import status_model
from workrail_lint.systems.team.model.documents import SessionStatus, Task
from workrail_lint.systems.team.scenario import Flags, Request, Team
from workrail_lint.systems.team.vocabulary import (
    KNOWN_TOOLS,
    AgentName,
    BlockerSlug,
    CheckResult,
    CiStatus,
    Defaults,
    FixLoop,
    Mode,
    ProjectType,
    Strategy,
    TaskStatus,
    WorkflowState,
)

S = WorkflowState
Status = dict[str, Any]

# What an event knows for the rules alone: it follows from the rest, or would only make a golden longer.
FOR_RULES = ("input", "parts", "conventions", "context")


class TeamLog(EventLog):
    """The log of a session: every event has the state it happens in, and moves the clock."""

    def __init__(self, clock: SimulatedClock, state: WorkflowState) -> None:
        super().__init__()
        self.clock = clock
        self.state = state

    def emit(self, event: str, /, **members: Any) -> None:
        self.clock.tick()
        self.append(state=self.state.value, event=event, **members)

    def enter(self, state: WorkflowState) -> None:
        self.state = state
        self.emit("enter_state")

    def dispatched(self, agent: AgentName) -> bool:
        """Return whether an agent was dispatched in this run."""
        return any(e["event"] == "dispatch" and e["agent"] == agent.value for e in self.events)


@dataclass(slots=True)
class Memory:
    """The memory of a run between events; it is lost when the run is interrupted."""

    waived: set[tuple[AgentName, str]] = field(default_factory=set)  # gates that the user lifted
    build_waived: bool = False  # the user lives with a red build
    changed: dict[str, list[str]] = field(default_factory=dict)  # task to the files its Coder named
    change_requests: int = 0
    exchanges: int = 0
    researched: bool = False
    required: dict[str, list[str]] = field(default_factory=dict)  # task to the agents whose OK it needs
    check_runs: dict[str, int] = field(default_factory=dict)
    last_failed: str | None = None


class SessionState(RunState):
    """One simulated session while it runs."""

    def __init__(
        self,
        root: Path,
        session: str,
        team: Team,
        mode: Mode,
        clock: SimulatedClock,
        otherwise: Callable[[str], Answer] | None = None,
    ) -> None:
        super().__init__(clock)
        self.team = team
        self.request = team.request or Request.model_validate({})
        self.flags = team.flags or Flags.model_validate({})
        faults = [FailingWrite(fault.file, fault.nth, fault.kind) for fault in team.faults or ()]
        self.store = Store(root, session, clock, faults)
        self.log = TeamLog(clock, S.INTAKE_LEAN if mode is Mode.LEAN else S.INTAKE)
        self.linter = SessionLinter(self.store, self.project_type)
        self.linter.mode = mode
        self.agents = SimulatedAgents(self.store, team.replies or {}, team.defaults or Defaults.MINIMAL_OK)
        self.user = SimulatedUser(team.user or {}, otherwise)
        self.memory = Memory()

    # ------------------------------------------------------------------------------------------------- facts

    @property
    def mode(self) -> Mode:
        return self.linter.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.linter.mode = mode

    @property
    def state(self) -> WorkflowState:
        return self.log.state

    @property
    def project_type(self) -> ProjectType:
        return self.request.project_type or ProjectType.WEB

    @property
    def goal(self) -> str:
        return self.request.user_goal or "Do what was asked for"

    @property
    def tools(self) -> list[str]:
        return list(KNOWN_TOOLS if self.request.tools_available is None else self.request.tools_available)

    @property
    def strategy(self) -> Strategy:
        """Return the strategy on disk; lean runs review as they go."""
        strategy = self.status_model.strategy
        return strategy if strategy is not None and self.mode is Mode.FULL else Strategy.PER_BATCH

    @property
    def status(self) -> Status:
        """Return status.json; empty if there is none that can be read."""
        return self.store.status() or {}

    @property
    def status_model(self) -> SessionStatus:
        """Return the model of status.json."""
        return status_model(self.status)

    def task(self, ident: str) -> Task:
        return next((task for task in self.store.tasks() if task.id == ident), NO_TASK)

    def repairs(self, loop: FixLoop, task: str) -> int:
        """Return how often something was repaired already, according to the disk."""
        counts = members_of(members_of(self.status.get("retry_counts")).get(task))
        count = counts.get(loop.value)
        return count if type(count) is int else 0

    def out_of_steps(self) -> Halt | None:
        limits = self.team.limits
        most = machine.LIMITS.steps if limits is None or limits.steps is None else limits.steps
        if len(self.log.events) < most:
            return None
        text = f"the run has more than {most} steps"
        fix = "Find the question or repair that repeats"
        return blocked(BlockerSlug.AGENT_FAILED, about_state(TeamBlocker.PROTOCOL_VIOLATION, self.state, text, fix))

    # ----------------------------------------------------------------------------------------------- changes

    def save(self, change: Callable[[Status], None]) -> None:
        """Change status.json without a write event of its own: another event implies it."""
        status = self.store.status()
        if status is not None:
            change(status)
            status["last_update"] = self.clock.timestamp
            self.store.save_status(status)

    def enter(self, state: WorkflowState, slug: BlockerSlug | None = None) -> None:
        """Go to a state and store it; the event implies the write."""
        status = self.store.status()
        if status is None and state is S.BLOCKED and self.store.read("status.json") is None:
            status = first_status(self.store.session, state, self.clock.timestamp)
        if status is not None:
            status["current_state"] = state.value
            status.pop("blocker", None)
            if slug is not None:
                status["blocker"] = slug.value
            if state is S.INTEGRATE:
                status.setdefault("last_ci_result", CiStatus.UNKNOWN.value)
            status.setdefault("retry_counts", {})
            status["last_update"] = self.clock.timestamp
            self.store.save_status(status)
        self.log.enter(state)

    def arrive(self, state: WorkflowState) -> None:
        """Go to a state, unless a question or a repair has come back to it already."""
        entered = [event["state"] for event in self.log.events if event["event"] == "enter_state"]
        if entered[-1:] != [state.value]:
            self.enter(state)

    def move_task(self, ident: str, status: TaskStatus) -> None:
        self.store.set_task(ident, status)
        self.log.emit("task_status", task=ident, status=status.value)

    def count_repair(self, loop: FixLoop, task: str, count: int) -> None:
        def change(status: Status) -> None:
            counts = status.setdefault("retry_counts", {})
            counts.setdefault(task, {})[loop.value] = count

        self.save(change)
        self.log.emit("retry_count", task=task, loop=loop.value, count=count)

    def add_issue(self, issue: str) -> None:
        self.save(lambda status: items_of(status.setdefault("known_issues", [])).append(issue))

    def write_file(self, file: str, data: bytes) -> Ok[None] | Err[Halt]:
        """Write a file of the Orchestrator itself, read it back, and write it again if that failed."""
        for _ in range(machine.LIMITS.rewrites + 1):
            if isinstance(self.store.write(file, data), Err):
                self.log.emit("write_error", file=file)
                continue
            self.log.emit("write", file=file)
            is_stored = self.store.read(file) == data
            self.log.emit("verify", ok=is_stored)
            if is_stored:
                return Ok(None)
        return Err(persistence_failed(file, self.state, f"Write {file} again"))

    def check_result(self, check: str) -> CheckResult:
        """Return how a command ends this time; the last of several results repeats."""
        given = (self.team.checks or {}).get(check, CheckResult.PASS)
        run = self.memory.check_runs[check] = self.memory.check_runs.get(check, 0) + 1
        return given if isinstance(given, CheckResult) else given[min(run, len(given)) - 1]


def persistence_failed(file: str, state: WorkflowState, fix: str) -> Halt:
    tries = machine.LIMITS.rewrites + 1
    text = f"{file} could not be stored in {state.value}: {tries} writes failed"
    return blocked(BlockerSlug.PERSISTENCE_ERROR, about_artifact(TeamBlocker.PERSISTENCE_FAILED, file, text, fix))
