"""The temporary repository of a run, and what the linter finds in it.

The files are real, and writes can be made to fail. `write` and `append` are the writes that a trace shows; faults apply
to them. `put` is for writes that other events stand for. All are confined to the repository, whatever the path says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from pytest_workrail.scenarios.drivers import SimulatedClock, file_bytes
from pytest_workrail.systems.kernel.run import Blocker, blocker, text_bytes
from pytest_workrail.systems.team.questions import topic_of
from workrail_lint.base.files import make_folders, read_bytes, remove_file, write_atomically, write_in_place
from workrail_lint.base.js import items_of
from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Severity
from workrail_lint.project.discovery import discover
from workrail_lint.project.run import Plan, order, run
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.systems.base import RunSettings
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.documents import SUFFIXES, TeamKind, kind_by_name
from workrail_lint.systems.team.model.build import backlog_model, status_model
from workrail_lint.systems.team.model.documents import Task
from workrail_lint.systems.team.options import team_options
from workrail_lint.systems.team.rules.walk import run_trace
from workrail_lint.systems.team.session import list_files, plan_document, plan_tasks
from workrail_lint.systems.team.system import TeamSystem, default_rules
from workrail_lint.systems.team.trace import Trace
from workrail_lint.systems.team.vocabulary import (
    SESSIONS_FOLDER,
    AgentName,
    BlockerSlug,
    Mode,
    ProjectType,
    TaskStatus,
    WorkflowState,
    WriteFault,
    machine_reason,
)
from workrail_lint.systems.workrail.blocker_codes import BlockerCode

# Whom to ask for an artifact that is not there.
OWNERS = {
    "spec.md": AgentName.SPEC_AGENT,
    "acceptance.json": AgentName.SPEC_AGENT,
    "status.json": AgentName.SPEC_AGENT,
    "architecture.md": AgentName.ARCHITECT,
    "tasks.yaml": AgentName.PLANNER,
    "report.md": AgentName.DOCS,
    "research/": AgentName.RESEARCHER,
    "design-specs/": AgentName.DESIGNER,
}


# In a lean session others do the work of those who are not sent off.
_LEAN_OWNERS = {"tasks.yaml": AgentName.SPEC_AGENT, "report.md": AgentName.ORCHESTRATOR}


class TeamBlocker(str, Enum):
    """The codes of this contract."""

    CONTEXT_FILE_MISSING = "TEAM_CONTEXT_FILE_MISSING"
    ARTIFACT_MISSING = "TEAM_ARTIFACT_MISSING"
    ARTIFACT_INVALID = "TEAM_ARTIFACT_INVALID"
    GATE_DECISION_MISSING = "TEAM_GATE_DECISION_MISSING"
    DECISION_UNRESOLVED = "TEAM_DECISION_UNRESOLVED"
    PERSISTENCE_FAILED = "TEAM_PERSISTENCE_FAILED"
    SUBAGENT_FAILED = "TEAM_SUBAGENT_FAILED"
    TESTS_NOT_RUNNABLE = "TEAM_TESTS_NOT_RUNNABLE"
    HIGH_RISK_FINDING = "TEAM_HIGH_RISK_FINDING"
    AGENT_BLOCKED = "TEAM_AGENT_BLOCKED"
    AGENT_FAILED = "TEAM_AGENT_FAILED"
    CORRECTION_UNVERIFIED = "TEAM_CORRECTION_UNVERIFIED"
    CI_RED = "TEAM_CI_RED"
    PROTOCOL_VIOLATION = "TEAM_PROTOCOL_VIOLATION"


B = TeamBlocker
COMMON: dict[TeamBlocker, BlockerCode] = {
    B.CONTEXT_FILE_MISSING: "MISSING_CONTEXT_KEY",
    B.ARTIFACT_MISSING: "MISSING_REQUIRED_OUTPUT",
    B.ARTIFACT_INVALID: "INVALID_REQUIRED_OUTPUT",
    B.GATE_DECISION_MISSING: "USER_ONLY_DEPENDENCY",
    B.DECISION_UNRESOLVED: "USER_ONLY_DEPENDENCY",
    B.PERSISTENCE_FAILED: "STORAGE_CORRUPTION_DETECTED",
    B.SUBAGENT_FAILED: "REQUIRED_CAPABILITY_UNAVAILABLE",
    B.TESTS_NOT_RUNNABLE: "REQUIRED_CAPABILITY_UNAVAILABLE",
    B.HIGH_RISK_FINDING: "INVARIANT_VIOLATION",
    B.AGENT_BLOCKED: "INVARIANT_VIOLATION",
    B.AGENT_FAILED: "INVARIANT_VIOLATION",
    B.CORRECTION_UNVERIFIED: "USER_ONLY_DEPENDENCY",
    B.CI_RED: "INVARIANT_VIOLATION",
    B.PROTOCOL_VIOLATION: "INVARIANT_VIOLATION",
}


def about_artifact(code: TeamBlocker, file: str, message: str, fix: str, path: str = "") -> Blocker:
    pointer = {"kind": "artifact", "file": file, **({"path": path} if path else {})}
    return blocker(code, pointer, message, fix)


def about_decision(code: TeamBlocker, ident: str, message: str, fix: str) -> Blocker:
    return blocker(code, {"kind": "decision", "decisionId": ident}, message, fix)


def about_task(code: TeamBlocker, task: str, message: str, fix: str) -> Blocker:
    return blocker(code, {"kind": "task", "taskId": task}, message, fix)


def about_agent(code: TeamBlocker, agent: AgentName, task: str, message: str, fix: str) -> Blocker:
    return blocker(code, {"kind": "agent", "agent": agent.value, "taskId": task}, message, fix)


def about_state(code: TeamBlocker, state: WorkflowState, message: str, fix: str) -> Blocker:
    return blocker(code, {"kind": "state", "state": state.value}, message, fix)


def missing(file: str, mode: Mode = Mode.FULL) -> Blocker:
    """Return the blocker about a required artifact that does not exist."""
    owners = OWNERS if mode is Mode.FULL else {**OWNERS, **_LEAN_OWNERS}
    owner = owners.get(file, AgentName.ORCHESTRATOR).value
    return about_artifact(B.ARTIFACT_MISSING, file, f"{file} is missing", f"Have {owner} write {file}")


def invalid(file: str, finding: Finding) -> Blocker:
    """Return the blocker about an error in an artifact that a guard needs."""
    fix = finding.fix.title if finding.fix is not None else f"Correct {file} and dispatch its agent again"
    return about_artifact(B.ARTIFACT_INVALID, file, f"{finding.code} {finding.message}", fix, finding.pointer)


@dataclass(frozen=True, slots=True)
class Halt:
    """A run that stops: blocked for a reason, or broken off because the scenario does not say how it goes on."""

    slug: BlockerSlug | None
    blockers: tuple[Blocker, ...] = ()
    problem: str = ""  # what the scenario lacks; such a run ends where it is
    pointer: str = ""


def blocked(slug: BlockerSlug, *blockers: Blocker) -> Halt:
    return Halt(slug, blockers)


def unscripted(problem: str, pointer: str) -> Halt:
    return Halt(None, problem=problem, pointer=pointer)


# A reply with one of these can't be used: it is not one object, lacks members, or contradicts itself.
_UNUSABLE = tuple(f"TC5{number}" for number in range(30, 49))

_SHAPES = ("status-invalid", "decision-id-duplicate")

REPO = "repo:"
STATUS = "status.json"
TASKS = "tasks.yaml"
HISTORY = "approve-design-history.jsonl"


@dataclass(frozen=True, slots=True)
class FailingWrite:
    """The nth write of a file that a trace shows goes wrong; the first is 1."""

    file: str
    nth: int
    kind: WriteFault


NO_TASK: Task = backlog_model({"tasks": [{}]}).tasks[0]


class Store:
    """The files of one run."""

    def __init__(self, root: Path, session: str, clock: SimulatedClock, faults: Sequence[FailingWrite] = ()) -> None:
        self.root = root.resolve()
        self.session = session
        self.folder = self.root / SESSIONS_FOLDER / session
        self._clock = clock
        self._faults = {(fault.file, fault.nth): fault for fault in faults}
        self._writes: dict[str, int] = {}
        self._plan: tuple[bytes, list[Task]] | None = None  # the plan that was read last
        make_folders(os.fspath(self.folder), os.fspath(self.root))

    @property
    def unused_faults(self) -> list[FailingWrite]:
        return list(self._faults.values())

    # ------------------------------------------------------------------------------------------------- paths

    def refusal(self, file: str) -> str | None:
        """Return why no agent may touch a file; None if one may. A file of the session has no prefix."""
        path = self.repo_path(file)
        reason = machine_reason(file.removeprefix(REPO)) or machine_reason(path)
        if reason is not None:
            return reason
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if not parts or "\0" in path:
            return "is not a file"
        if parts[0] == SESSIONS_FOLDER and (len(parts) < 3 or parts[1] != self.session):
            return "belongs to another session"
        target = self.root.joinpath(*parts)
        try:
            is_inside = target.parent.resolve().is_relative_to(self.root) and not target.is_symlink()
        except OSError:
            return "can't be a file"
        return None if is_inside else "is a link out of the repository"

    def repo_path(self, file: str) -> str:
        """Return the path of a file from the root of the repository."""
        return file.removeprefix(REPO) if file.startswith(REPO) else f"{SESSIONS_FOLDER}/{self.session}/{file}"

    def path(self, file: str) -> Path:
        return self.root / self.repo_path(file)

    # ----------------------------------------------------------------------------------------------- reading

    def read(self, file: str) -> bytes | None:
        try:
            return read_bytes(os.fspath(self.path(file)))
        except OSError:
            return None

    def exists(self, file: str) -> bool:
        return os.path.isfile(self.path(file))

    def files(self) -> list[str]:
        """Return the files of the session, sorted."""
        return list_files(os.fspath(self.folder))

    def below(self, folder: str) -> list[str]:
        """Return the Markdown files of a side folder, by their paths below the session."""
        return [file for file in self.files() if file.startswith(folder) and file.endswith(".md")]

    def status(self) -> dict[str, Any] | None:
        """Return status.json as it is on disk; None if it can't be read."""
        data = self.read(STATUS)
        document = None if data is None else read_json(data)
        return document.value if document is not None and document.readable and type(document.value) is dict else None

    def tasks(self) -> list[Task]:
        """Return the tasks of the plan as it is on disk; a task without an id can't be worked on."""
        data = self.read(TASKS)
        if data is None:
            return []
        if self._plan is None or self._plan[0] != data:
            self._plan = data, [task for task in plan_tasks(data) or () if task.has("id")]
        return list(self._plan[1])

    def age(self, file: str) -> float:
        """Return when a file was last written, in the time of the run."""
        return self.path(file).stat().st_mtime

    # ----------------------------------------------------------------------------------------------- writing

    def put(self, file: str, data: bytes, at: float | None = None) -> None:
        """Write a file as a whole, by another name first, so that it is there as it was or as it shall be."""
        reason = self.refusal(file)
        if reason is not None:
            raise ValueError(f"{file} {reason}")
        self._replace(self.path(file), data, at)

    def seed(self, path: str, data: bytes) -> None:
        """Put a file into the repository before the run; older sessions belong to what is there."""
        if machine_reason(path) is not None:
            raise ValueError(f"{path} {machine_reason(path)}")
        self._replace(self.root / path, data, None)

    def _replace(self, path: Path, data: bytes, at: float | None) -> None:
        # The repository of a simulated session does not outlive the run.
        write_atomically(os.fspath(path), data, os.fspath(self.root), parents=True, durable=False, is_output=False)
        self._date(path, at)

    def remove(self, file: str) -> None:
        remove_file(os.fspath(self.path(file)), os.fspath(self.root), is_output=False)

    def write(self, file: str, data: bytes) -> Ok[None] | Err[str]:
        """Write a file as the trace shows it. Ok only means that no error came back."""
        fault = self._fault(file)
        if fault is WriteFault.IO_ERROR:
            return Err("the disk refused")
        try:
            if fault is None:
                self.put(file, data)
            elif fault is WriteFault.CORRUPT:
                write_in_place(os.fspath(self.path(file)), data[: len(data) // 2], os.fspath(self.root))
        except OSError as problem:
            return Err(problem.strerror or "the disk refused")
        return Ok(None)

    def append(self, file: str, kept: bytes, line: bytes) -> Ok[None] | Err[str]:
        """Append a line to what was there; what an earlier attempt left after it is dropped."""
        fault = self._fault(file)
        if fault is WriteFault.IO_ERROR:
            return Err("the disk refused")
        if fault is WriteFault.LOST:
            return Ok(None)
        try:
            added = line[: len(line) // 2] if fault is WriteFault.CORRUPT else line
            write_in_place(os.fspath(self.path(file)), added, os.fspath(self.root), keep=len(kept))
            self._date(self.path(file))
        except OSError as problem:
            return Err(problem.strerror or "the disk refused")
        return Ok(None)

    def _fault(self, file: str) -> WriteFault | None:
        self._writes[file] = self._writes.get(file, 0) + 1
        fault = self._faults.pop((file, self._writes[file]), None)
        return None if fault is None else fault.kind

    def _date(self, path: Path, at: float | None = None) -> None:
        moment = self._clock.now.timestamp() if at is None else at
        os.utime(path, (moment, moment))

    def save_status(self, status: dict[str, Any]) -> None:
        """Store status.json; another event implies the write."""
        self.put(STATUS, file_bytes(status))

    def set_task(self, ident: str, status: TaskStatus) -> None:
        """Change the status of one task and nothing else in the text of the plan."""
        data = self.read(TASKS)
        changed = None if data is None else with_task_status(data, ident, status)
        if changed is not None:
            self.put(TASKS, changed)


def with_task_status(data: bytes, ident: str, status: TaskStatus) -> bytes | None:
    """Return the text of a plan with another status of a task; None if there is no such task."""
    document = plan_document(data)
    value = document.value
    tasks = items_of(value.get("tasks")) if type(value) is dict else []
    for index, task in enumerate(tasks):
        node = document.node(f"/tasks/{index}/status")
        if type(task) is dict and task.get("id") == ident and node is not None:
            text = document.text
            return f"{text[: node.start]}{status.value}{text[node.end :]}".encode("utf-8", "surrogatepass")
    return None


def content_bytes(content: Any) -> bytes:
    """Return the content of a file as a scenario gives it: a string as it is, anything else as JSON."""
    return text_bytes(content) if type(content) is str else file_bytes(content)


# -------------------------------------------------------------------------------------------------------------- linting


class SessionLinter:
    """The linter, pointed at one session."""

    def __init__(self, store: Store, project_type: ProjectType) -> None:
        self._store = store
        self._project_type = project_type
        self.mode = Mode.FULL
        self._findings: dict[tuple[Any, ...], list[Finding]] = {}

    @property
    def _settings(self) -> Any:
        asked = status_model(self._store.status() or {}).user_decisions
        others = [entry.decision_id for entry in asked if not topic_of(entry.question).is_from_security]
        options: dict[str, object] = {
            "team-simulated": True,
            "team-mode": self.mode.value,
            "team-not-from-security": others,
            "team-project-type": self._project_type.value,
        }
        return RunSettings(options=options, workspace=os.fspath(self._store.root))

    def _checked(self, name: str, data: bytes, kind: TeamKind) -> list[Finding]:
        # A system remembers sessions by the times of their files, which are not real ones here: a new one each time.
        path = os.fspath(self._store.folder / name)
        findings = TeamSystem().check(path, data, kind.value, self._settings).findings
        return self._named(sorted(findings, key=order))

    def _named(self, findings: list[Finding]) -> list[Finding]:
        """Return the findings with paths below the session; the folder itself is called `.`."""
        for finding in findings:
            finding.path = os.path.relpath(finding.path, self._store.folder).replace(os.sep, "/")
        return findings

    def input(self, number: int, agent: AgentName, task: str, data: bytes) -> list[Finding]:
        return self._checked(f"{number:04d}-{agent.value}-{task}.input.json", data, TeamKind.INPUT)

    def output(self, number: int, agent: AgentName, task: str, data: bytes) -> list[Finding]:
        return self._checked(f"{number:04d}-{agent.value}-{task}.output.json", data, TeamKind.OUTPUT)

    def plan(self, number: int, data: bytes) -> list[Finding]:
        return self._checked(f"{number:04d}.plan.json", data, TeamKind.PLAN)

    def artifact(self, file: str) -> list[Finding]:
        """Return the findings about one file; they are kept until something in the session changes."""
        data, kind = self._store.read(file), kind_by_name(file)
        if data is None or kind is None:
            return []
        key = file, data, *self._around()
        if key not in self._findings:
            self._findings = {known: findings for known, findings in self._findings.items() if known[0] != file}
            self._findings[key] = self._checked(file, data, kind)
        return self._findings[key]

    def _around(self) -> tuple[Any, ...]:
        """Return what the findings about a file depend on besides it: all of the session except the time."""
        status = {name: value for name, value in (self._store.status() or {}).items() if name != "last_update"}
        return self.mode, json.dumps(status), self._store.read("tasks.yaml"), *self._store.files()

    def guard(self, name: str) -> list[Blocker]:
        """Return the blockers of a guard: files that do not exist, and errors in those that do."""
        guard = machine.GUARDS[name]
        blockers: list[Blocker] = []
        for file in guard.files:
            if not self._store.exists(file):
                blockers.append(missing(file, self.mode))
            else:
                blockers += self.errors(file)
        return blockers

    def errors(self, file: str) -> list[Blocker]:
        """Return the errors in an artifact."""
        return [invalid(file, finding) for finding in self.artifact(file) if _stops(finding)]

    def misshapen_status(self) -> list[Blocker]:
        """Return the errors with which status.json can't be gone on from: values of another type, names of nothing.

        A member that is missing gets its default, and what an earlier run left undone is what resuming is for.
        """
        errors = [each for each in self.artifact(STATUS) if _stops(each) and each.name in _SHAPES]
        return [
            invalid(STATUS, each) for each in errors if each.pointer and not each.pointer.endswith("/state_context")
        ]

    def folder(self) -> list[Finding]:
        """Return all findings about the session folder except advice, which does not depend on the run."""
        system = TeamSystem()
        selection = system.choice = Selection(KnownRules([system]))
        plan = Plan([system], self._settings, selection, complete=True)
        findings = run(discover([os.fspath(self._store.folder)], suffixes=SUFFIXES), plan).findings
        return self._named(without_advice(findings))

    def trace(self, value: dict[str, Any]) -> list[Finding]:
        findings = run_trace(default_rules(), Trace(value), team_options(self._settings.options))
        for finding in findings:
            finding.path = "trace"
        return findings


def _stops(finding: Finding) -> bool:
    """Return whether a guard counts a finding. The user is owed every topic of a report."""
    is_topic = finding.path == "report.md" and finding.name == "advised-section"
    return finding.severity is Severity.ERROR or is_topic


def without_advice(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.INFO]


def is_unusable(finding: Finding) -> bool:
    """Return whether a finding means that an output can't be used."""
    return finding.severity is Severity.ERROR and (finding.code in _UNUSABLE or finding.code.startswith("TC0"))
