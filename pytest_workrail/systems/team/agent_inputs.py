"""What an agent is sent: its input, the plan that sends it, and the message around both."""

from __future__ import annotations

from typing import Any

from pytest_workrail.systems.team.run_state import Stage
from pytest_workrail.systems.team.store import REPO
from workrail_lint.systems.team import state_machine as machine
from workrail_lint.systems.team.roles import ROLES, WRITTEN_KEYS
from workrail_lint.systems.team.vocabulary import (
    APPROVE_DESIGN_ID,
    CHANGES_REQUESTED,
    META,
    SESSIONS_FOLDER,
    AgentName,
    ChangeType,
    CiStatus,
    ProjectType,
    RiskFlag,
    TaskStatus,
    WorkflowState,
    is_check,
    is_member,
    items_of,
    members_of,
    session_parts,
    strings_of,
)

A = AgentName
S = WorkflowState
CONVENTIONS = ".github/copilot-instructions.md"
CONTRACT = ".github/agents/CONTRACT.md"
# These set the status of a task while they work, so their first steps name the plan.
_SETS_STATUS = (A.SPEC_AGENT, A.PLANNER, A.CODER)


def agent_input(stage: Stage, agent: AgentName, task: str) -> dict[str, Any]:
    """The complete input of a dispatch."""
    status = stage.store.status() or {}
    repo = stage.request.repo_state
    ci = status.get("last_ci_result", repo.ci_status.value if repo and repo.ci_status else CiStatus.UNKNOWN.value)
    found: dict[str, Any] = {
        "task": _task(stage, agent, task),
        "project_type": _project_type(stage),
        "repo_state": {
            "branch": (repo.branch if repo else None) or "main",
            "ci_status": ci if is_member(ci, CiStatus) else CiStatus.UNKNOWN.value,
            "last_failed_step": stage.memory.last_failed,
        },
        "tools_available": stage.tools,
    }
    if agent is A.RESEARCHER:
        found["research_question"] = research_question(stage)
    if agent is A.SPEC_AGENT and stage.state is S.INTAKE_LEAN:
        found["lean"] = True
    return found


def _project_type(stage: Stage) -> str:
    return (stage.request.project_type or ProjectType.WEB).value


def research_question(stage: Stage) -> str:
    return f"Research what this needs: {stage.goal}"


def _task(stage: Stage, agent: AgentName, task: str) -> dict[str, Any]:
    planned = stage.task(task)
    flags = [flag for flag in strings_of(planned.get("risk_flags")) if is_member(flag, RiskFlag)]
    goal = planned.get("goal")
    found: dict[str, Any] = {
        "id": task,
        "title": planned.get("title") if type(planned.get("title")) is str else stage.goal,
        "goal": goal if type(goal) is str else _goal(stage, agent),
        "non_goals": strings_of(planned.get("non_goals")),
        "constraints": list(stage.request.constraints or ()),
        "context_files": context_files(stage, agent, planned),
        "acceptance_checks": list(filter(is_check, items_of(planned.get("acceptance_checks")))),
        "risk_flags": flags or [RiskFlag.NONE.value],
    }
    if agent is A.REVIEWER:
        found["session_changed_files"] = changed_files(stage, task)
    return found


def _goal(stage: Stage, agent: AgentName) -> str:
    if agent is A.REVIEWER:
        return machine.FINAL_REVIEW_GOAL[stage.strategy]
    if stage.state is S.APPROVE_DESIGN:
        entry = machine.decision(stage.store.status() or {}, APPROVE_DESIGN_ID) or {}
        return f"Change the design: {str(entry.get('answer') or '').removeprefix(CHANGES_REQUESTED).strip()}"
    return stage.goal


def context_files(stage: Stage, agent: AgentName, planned: dict[str, Any]) -> list[str]:
    """What the role always reads, what it reads when it is there, and what the task names."""
    role = ROLES[agent]
    files = list(role.context)
    for name in role.context_if_there:
        files += stage.store.below(name) if name.endswith("/") else [name] if stage.store.exists(name) else []
    prefix = f"{SESSIONS_FOLDER}/{stage.store.session}/"
    paths = [prefix + file for file in files]
    if agent is A.CODER:
        paths += strings_of(planned.get("context_files"))
    return list(dict.fromkeys(paths))


def changed_files(stage: Stage, task: str) -> list[dict[str, str]]:
    """What was changed for a task, or in the whole session."""
    memory = stage.memory.changed
    if task != META:
        paths = memory.get(task, []) or planned_files(stage, [stage.task(task)])
    else:
        paths = [path for files in memory.values() for path in files] or planned_files(stage, stage.store.tasks())
    return [{"path": path, "change_type": _change(stage, path).value} for path in dict.fromkeys(paths)]


def planned_files(stage: Stage, tasks: list[dict[str, Any]]) -> list[str]:
    """Who was not there when the files were changed looks for those that the plan expects."""
    started = [task for task in tasks if task.get("status") not in (TaskStatus.NOT_STARTED.value, None)]
    expected = [path for task in started for path in strings_of(task.get("files_expected"))]
    return [path for path in expected if _is_there(stage, path)]


def _is_there(stage: Stage, path: str) -> bool:
    return stage.store.refusal(f"{REPO}{path}") is None and stage.store.exists(f"{REPO}{path}")


def _change(stage: Stage, path: str) -> ChangeType:
    if not _is_there(stage, path):
        return ChangeType.DELETED
    return ChangeType.MODIFIED if path in (stage.team.repository or {}) else ChangeType.ADDED


def note_changes(stage: Stage, task: str, output: dict[str, Any]) -> None:
    """Keep in mind which files of the repository an agent says it changed."""
    artifacts = members_of(output.get("artifacts"))
    paths = [path for key in WRITTEN_KEYS for path in strings_of(artifacts.get(key))]
    known = stage.memory.changed.setdefault(task, [])
    known += [path for path in paths if session_parts(path) is None and path not in known]


def dispatch_plan(stage: Stage, agent: AgentName, given: dict[str, Any]) -> dict[str, Any]:
    """The plan with which the Orchestrator sends an agent off."""
    item = {"agent": agent.value, "task": given["task"], "project_type": given["project_type"]}
    why = f"{agent.value} is next in {stage.state.value}."
    return {"state": stage.state.value, "dispatch": [item], "why": why, "blockers": []}


def message(stage: Stage, agent: AgentName, given: bytes, *, conventions: bool) -> list[tuple[str, str]]:
    """The parts of the message in their order, each with its name."""
    role = machine.role_file(agent)
    ledger = ["set the status of your task in tasks.yaml"] if agent in _SETS_STATUS else []
    steps = [
        *([f"read {CONVENTIONS}"] if conventions else []),
        "read all context files",
        f"read {role}",
        "do the work",
        *ledger,
        "reply with one JSON object and nothing else",
    ]
    parts = {
        "role": f"You are {agent.value}; your role is described in {role}.",
        "contract": f"You are bound by the contract in {CONTRACT}.",
        "conventions": f"Read {CONVENTIONS}; it ranks below the contract, your role and the workflow.",
        "session": f"The session folder is {SESSIONS_FOLDER}/{stage.store.session}/.",
        "input": f"Your input: {given.decode('utf-8', 'replace')}",
        "first-steps": "First steps: " + "; ".join(steps) + ".",
    }
    return [(part.name, parts[part.name]) for part in machine.MESSAGE_PARTS if not part.optional or conventions]
