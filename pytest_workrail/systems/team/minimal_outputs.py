"""The smallest valid output of every role, and the artifacts that come with it."""

from __future__ import annotations

from typing import Any

from pytest_workrail.scenarios.drivers import file_bytes
from workrail_lint.systems.team.edits import yaml_list, yaml_text
from workrail_lint.systems.team.roles import ROLES, Reach
from workrail_lint.systems.team.vocabulary import (
    CHECKLIST,
    SESSIONS_FOLDER,
    AgentName,
    Mode,
    OutputStatus,
    WorkflowState,
)

A = AgentName
CRITERION = "AC-001"
CHECK = "cmd: make test"
DESIGN_SPEC = "design-specs/design-spec-main.md"
RESEARCH = "research/research-main.md"
VERDICT = {OutputStatus.OK: "PASS", OutputStatus.BLOCKED: "NEEDS FIXES", OutputStatus.FAIL: "NEEDS FIXES"}
_RESEARCH_SECTIONS = (
    "Topic",
    "Context",
    "Methodology",
    "Findings",
    "Options",
    "Recommendation",
    "Sources",
    "Open Questions",
)


def _document(title: str, sections: dict[str, str]) -> str:
    parts = [f"# {title}\n", *(f"## {name}\n\n{text}\n" for name, text in sections.items())]
    return "\n".join(parts)


# -------------------------------------------------------------------------------------------------- artifacts


def spec(goal: str) -> str:
    return _document(
        "Specification",
        {
            "Goals": goal,
            "Acceptance Criteria": f"- {CRITERION}: the goal is met.",
            "Definition of Done": "All checks pass.",
        },
    )


def acceptance() -> bytes:
    criterion = {"id": CRITERION, "description": "The goal is met.", "verify": [CHECK.removeprefix("cmd: ")]}
    return file_bytes({"acceptance_criteria": [criterion]})


def status(session: str, state: WorkflowState, now: str) -> dict[str, Any]:
    return {
        "current_state": state.value,
        "session": session,
        "assumptions": [],
        "known_issues": [],
        "user_decisions": [],
        "last_update": now,
    }


def architecture() -> str:
    return _document("Architecture", {"Overview": "One module.", "Modules": "- main: does all of it."})


def design_spec() -> str:
    return _document("Main view", {"Layout": "One column."})


def research(question: str) -> str:
    return _document("Research", dict.fromkeys(_RESEARCH_SECTIONS, question))


def lean_tasks(goal: str) -> str:
    return (
        "project:\n  name: Simulated\n  definition_of_done: [Tested]\n"
        f"tasks:\n  - id: T-001\n    status: not-started\n    goal: {yaml_text(f'{goal} ({CRITERION})')}\n"
        f"    acceptance_checks: {yaml_list([CHECK])}\n"
    )


def full_tasks(goal: str, session: str, design_specs: list[str]) -> str:
    context = [f"{SESSIONS_FOLDER}/{session}/{file}" for file in ("spec.md", *design_specs)]
    return (
        "project:\n  name: Simulated\n  definition_of_done: [Tested]\n"
        f"tasks:\n  - id: T-001\n    title: {yaml_text(goal)}\n    type: feat\n    status: not-started\n"
        f"    goal: {yaml_text(goal)}\n    depends_on: []\n    risk_flags: [none]\n    non_goals: []\n"
        f"    files_expected: [{source_file('T-001')}]\n    context_files: {yaml_list(context)}\n"
        f"    acceptance_checks: {yaml_list([CHECK])}\n    done_when: {yaml_list([f'{CRITERION} is met.'])}\n"
    )


def report(issues: list[str]) -> str:
    return _document(
        "Report",
        {
            "What was done": "The request is built.",
            "How to run": "make run",
            "How to test": "make test",
            "Known issues": "\n".join(f"- {issue}" for issue in issues) or "None.",
        },
    )


def source_file(task: str) -> str:
    """Return the file that a Coder changes by default."""
    return f"src/{task.lower()}.txt"


# ---------------------------------------------------------------------------------------------------- outputs


def output(agent: AgentName, task: str, status: OutputStatus, mode: Mode, written: list[str]) -> dict[str, Any]:
    """Return the smallest valid output of a role with a status. `written` are paths in the repository."""
    is_ok = status is OutputStatus.OK
    return {
        "status": status.value,
        "summary": _summary(agent, status),
        "artifacts": _artifacts(agent, status, written),
        "gates": {
            "meets_definition_of_done": is_ok,
            "needs_review": agent is A.CODER,
            "needs_tests": agent is A.CODER,
            "security_concerns": [],
        },
        "next": {
            "recommended_agent": _next(agent, status, mode).value,
            "recommended_task_id": "T-001" if agent is A.SPEC_AGENT and mode is Mode.LEAN else task,
            "reason": "The work is done." if is_ok else "The work can't continue like this.",
        },
    }


def _summary(agent: AgentName, status: OutputStatus) -> str:
    if agent is A.REVIEWER:
        return f"Verdict: {VERDICT.get(status, 'PASS')}."
    return "All of it is done." if status is OutputStatus.OK else "It is not done."


def _next(agent: AgentName, status: OutputStatus, mode: Mode) -> AgentName:
    usual = ROLES[agent].usual_next
    if agent is A.SPEC_AGENT and mode is Mode.LEAN:
        return A.CODER
    if status is not OutputStatus.OK and A.CODER in usual:
        return A.CODER
    return usual[0] if usual and status is OutputStatus.OK else A.ORCHESTRATOR


def _artifacts(agent: AgentName, status: OutputStatus, written: list[str]) -> dict[str, Any]:
    role = ROLES[agent]
    artifacts: dict[str, Any] = {key: [] for key in role.required}
    is_ok = status is OutputStatus.OK
    artifacts["notes"] = ["Done as asked." if is_ok else "Something prevents it."]
    if written:
        artifacts[_written_key(role.reach)] = written
    if "commands_to_run" in artifacts:
        artifacts["commands_to_run"] = [CHECK.removeprefix("cmd: ")]
    match agent:
        case A.REVIEWER:
            artifacts["review_comments"] = [] if is_ok else [_comment()]
            artifacts["checklist_summary"] = dict.fromkeys(CHECKLIST, "OK" if is_ok else "issues_found")
        case A.QA:
            artifacts["test_results"] = {
                "passed": 1 if is_ok else 0,
                "failed": 0 if is_ok else 1,
                "skipped": 0,
                "output": "",
            }
        case A.SECURITY if not is_ok:
            artifacts["findings"] = [_finding("medium" if status is OutputStatus.NEEDS_DECISION else "high")]
        case A.DESIGNER:
            files = [path for path in written if "/design-specs/" in path]
            artifacts["design_spec_inline"] = None if files else "One column."
            artifacts["design_spec_file"] = files[0] if files else None
        case A.RESEARCHER if not is_ok:
            artifacts["notes"] = ["Which of the two is meant?"]
        case _:
            pass
    return artifacts


def _written_key(reach: Reach) -> str:
    match reach:
        case Reach.SESSION:
            return "files_to_create_or_update"
        case Reach.TESTS:
            return "tests_added_or_updated"
        case _:
            return "files_changed"


def _comment() -> dict[str, str]:
    return {
        "severity": "blocker",
        "category": "Logic",
        "file": source_file("T-001"),
        "line": "1",
        "message": "This does not do what was asked.",
        "suggested_fix": "Do what was asked.",
    }


def _finding(severity: str) -> dict[str, str]:
    return {
        "severity": severity,
        "category": "Validation",
        "file": source_file("T-001"),
        "description": "Input is taken as it comes.",
        "recommended_fix": "Check the input.",
    }


def merged(base: Any, over: Any) -> Any:
    """Return one value merged over another: objects member by member, anything else as a whole."""
    if type(base) is dict and type(over) is dict:
        both = {name: merged(base[name], value) if name in base else value for name, value in over.items()}
        return {**base, **both}
    return over
