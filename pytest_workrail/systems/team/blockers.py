"""The blockers of a team session, with the codes that all contracts share, and how a run halts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pytest_workrail.engine.model.words import BlockerCode
from pytest_workrail.systems.kernel.run import Blocker, blocker
from workrail_lint.findings import Finding
from workrail_lint.systems.team.vocabulary import AgentName, BlockerSlug, Mode, WorkflowState

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
