"""Small documents for the examples of rules: valid ones, and ways to bend them."""

from __future__ import annotations

import json
from typing import Any

SESSION = "2026-03-01_add-login"
FOLDER = f".agents-work/{SESSION}"
STATUS = f"{FOLDER}/status.json"
TASKS = f"{FOLDER}/tasks.yaml"
ACCEPTANCE = f"{FOLDER}/acceptance.json"
SPEC = f"{FOLDER}/spec.md"
ARCHITECTURE = f"{FOLDER}/architecture.md"
REPORT = f"{FOLDER}/report.md"
HISTORY = f"{FOLDER}/approve-design-history.jsonl"


def without(members: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the members that are set to `...`."""
    return {name: value for name, value in members.items() if value is not ...}


def status(state: str = "DESIGN", *decisions: dict[str, Any], **members: Any) -> dict[str, Any]:
    """Return a status.json in a state; a member set to `...` is left out."""
    return without(
        {
            "current_state": state,
            "session": SESSION,
            "assumptions": [],
            "known_issues": [],
            "user_decisions": list(decisions),
            "retry_counts": {},
            "last_update": "2026-03-01T12:00:00Z",
            **members,
        }
    )


def decision(ident: str = "UD-1", answer: Any = "Yes", **members: Any) -> dict[str, Any]:
    """Return an answered decision; one without an answer is pending."""
    contexts = {"UD-APPROVE-DESIGN": "APPROVE_DESIGN", "UD-REVIEW-STRATEGY": "REVIEW_STRATEGY"}
    return without(
        {
            "decision_id": ident,
            "question": "Keep the old form?",
            "status": "pending" if answer is None else "answered",
            "answer": answer,
            "asked_at": "2026-03-01T10:00:00Z",
            "resolved_at": None if answer is None else "2026-03-01T10:05:00Z",
            "state_context": contexts.get(ident, "DESIGN"),
            "resolution_reason": None,
            **members,
        }
    )


def approved(answer: str = "approved") -> dict[str, Any]:
    return decision("UD-APPROVE-DESIGN", answer)


def strategy(answer: str = "per-batch") -> dict[str, Any]:
    return decision("UD-REVIEW-STRATEGY", answer)


def implementing(**members: Any) -> dict[str, Any]:
    """Return a status.json in IMPLEMENT_LOOP with both gates passed."""
    return status("IMPLEMENT_LOOP", approved(), strategy(), **members)


def correction(state: str, **members: Any) -> dict[str, Any]:
    """Return the gate tracking of a correction."""
    dispatched = {"agent": "Architect", "task_id": "meta", "at": "2026-03-01T11:00:00Z"}
    with_dispatch = {"last_correction_dispatch": dispatched} if state in ("dispatched", "completed") else {}
    return {"APPROVE_DESIGN": without({"correction_status": state, **with_dispatch, **members})}


def task(ident: str = "T-001", **members: Any) -> dict[str, Any]:
    return without(
        {
            "id": ident,
            "title": "Login form",
            "type": "feat",
            "status": "not-started",
            "goal": "Show a login form",
            "depends_on": [],
            "risk_flags": ["none"],
            "non_goals": [],
            "files_expected": ["src/login.js"],
            "context_files": [f"{FOLDER}/spec.md"],
            "acceptance_checks": ["cmd: npm test"],
            "done_when": ["AC-001 is met"],
            **members,
        }
    )


def tasks(*items: dict[str, Any], project: Any = None) -> str:
    """Return a tasks.yaml, in block style down to the members of its tasks."""
    head = project if project is not None else {"name": "Login", "definition_of_done": ["All checks pass"]}
    lines = ["project:", *_members(head, 2)] if isinstance(head, dict) else [f"project: {_scalar(head)}"]
    lines.append("tasks:")
    for item in items or (task(),):
        first, *rest = _members(item, 4)
        lines += [f"  - {first[4:]}", *rest]
    return "\n".join(lines) + "\n"


def _members(value: dict[str, Any], indent: int) -> list[str]:
    return [f"{' ' * indent}{name}: {_scalar(item)}" for name, item in value.items()]


def _scalar(value: Any) -> str:
    if isinstance(value, str) and value.replace("-", "").replace(" ", "").isalnum() and value[0].isalpha():
        return value
    if isinstance(value, list):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def criterion(ident: str = "AC-001", **members: Any) -> dict[str, Any]:
    return without(
        {"id": ident, "description": "The form asks for name and password", "verify": ["npm test"], **members}
    )


def acceptance(*criteria: dict[str, Any]) -> dict[str, Any]:
    return {"acceptance_criteria": list(criteria) or [criterion()]}


def document(*sections: str, title: str = "Add a login form", **texts: str) -> str:
    """Return a Markdown document with one line in each section; `texts` replace the line of a section, by its first
    word.
    """
    parts = [f"# {title}\n"] if title else []
    for section in sections:
        body = texts.get(section.split()[0].lower(), "Something is said here.")
        parts.append(f"## {section}\n" + (f"\n{body}\n" if body else ""))
    return "\n".join(parts)


SPEC_SECTIONS = (
    "Problem statement",
    "Goals",
    "Non-goals",
    "User stories",
    "Functional requirements",
    "Non-functional requirements",
    "Edge cases",
    "Assumptions",
    "Acceptance Criteria",
    "Definition of Done",
)
_STORIES = "\n".join(f"- As a user I can do thing {n}." for n in range(1, 4))
_CASES = "\n".join(f"- Edge case {n}." for n in range(1, 9))


def spec(*left_out: str, **texts: str) -> str:
    """Return a spec.md with all sections but some."""
    given = {"user": _STORIES, "edge": _CASES, "acceptance": "- AC-001: the form asks for name and password.", **texts}
    return document(*(name for name in SPEC_SECTIONS if name not in left_out), **given)


ARCHITECTURE_SECTIONS = (
    "Overview",
    "Modules",
    "Data flow",
    "Interfaces",
    "Directory layout",
    "Error handling",
    "Configuration",
    "Security considerations",
    "Testing strategy",
)


def architecture(*left_out: str, **texts: str) -> str:
    return document(*(name for name in ARCHITECTURE_SECTIONS if name not in left_out), **texts)


def report(*left_out: str, **texts: str) -> str:
    names = ("What was done", "How to run", "How to test", "Known issues")
    return document(*(name for name in names if name not in left_out), title="Report", **texts)


def history(*entries: dict[str, Any]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries or (request(),))


def request(
    answer: Any = "changes-requested: add a rate limit", at: Any = "2026-03-01T10:05:00Z", **members: Any
) -> dict[str, Any]:
    """Return a line of the history."""
    return without(
        {"at": at, "decision_id": "UD-APPROVE-DESIGN", "answer": answer, "state_context": "APPROVE_DESIGN", **members}
    )


def exchange(agent: str, task_id: str = "T-001", side: str = "input") -> str:
    """Return the path of a recorded exchange."""
    return f"{FOLDER}/0007-{agent}-{task_id}.{side}.json"


def context(*files: str) -> list[str]:
    return [f"{FOLDER}/{file}" for file in files]


def given(task_id: str = "T-001", files: list[str] | None = None, **members: Any) -> dict[str, Any]:
    """Return the task of an input."""
    return without(
        {
            "id": task_id,
            "title": "Login form",
            "goal": "Show a login form",
            "non_goals": [],
            "constraints": [],
            "context_files": context("spec.md", "tasks.yaml") if files is None else files,
            "acceptance_checks": ["cmd: npm test"],
            "risk_flags": ["none"],
            **members,
        }
    )


def agent_input(task: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    return without(
        {
            "task": given() if task is None else task,
            "project_type": "web",
            "repo_state": {"branch": "main", "ci_status": "green", "last_failed_step": None},
            "tools_available": ["read_file", "write_file"],
            **members,
        }
    )


def agent_output(status: str = "OK", artifacts: dict[str, Any] | None = None, **members: Any) -> dict[str, Any]:
    gates = {
        "meets_definition_of_done": status == "OK",
        "needs_review": True,
        "needs_tests": True,
        "security_concerns": [],
    }
    return without(
        {
            "status": status,
            "summary": "The form is there.",
            "artifacts": {"notes": ["Nothing unusual."]} if artifacts is None else artifacts,
            "gates": {**gates, **members.pop("gates", {})},
            "next": {"recommended_agent": "Reviewer", "recommended_task_id": "T-001", "reason": "The work is done."},
            **members,
        }
    )


def coded(**artifacts: Any) -> dict[str, Any]:
    """Return the artifacts that a Coder owes."""
    return without(
        {"files_changed": ["src/login.js"], "commands_to_run": ["npm test"], "notes": ["Done as planned."], **artifacts}
    )


def review_comment(severity: str, category: str = "Logic") -> dict[str, Any]:
    return {
        "severity": severity,
        "category": category,
        "file": "src/login.js",
        "line": "12",
        "message": "The error is swallowed.",
        "suggested_fix": "Show it.",
    }


def dispatch_plan(state: str = "PLAN", *agents: str, **members: Any) -> dict[str, Any]:
    items = [{"agent": agent, "task": given("meta"), "project_type": "web"} for agent in agents]
    return without({"state": state, "dispatch": items, "why": "It is next.", "blockers": [], **members})


PLAN = f"{FOLDER}/0003.plan.json"


def agent_path(name: str) -> str:
    return f".github/agents/{name}.md"


def agent_file(name: str, output: dict[str, Any], *lines: str) -> str:
    """Return the instructions of an agent, with the output that it is to return."""
    front = ["---", f"name: {name}", "description: Does its part.", "---", ""]
    example = ["## Output (JSON)", "", "```json", json.dumps(output, indent=2), "```", ""]
    return "\n".join([*front, "## Mission", "", "Do your part of the work.", "", *lines, *example])


def session(changes: dict[str, Any] | None = None, state: str = "IMPLEMENT_LOOP") -> dict[str, Any]:
    """Return the files of a full session, for examples about how files fit together; one set to `...` is left out."""
    return without(
        {
            STATUS: status(state, approved(), strategy()),
            SPEC: spec(),
            ACCEPTANCE: acceptance(),
            ARCHITECTURE: architecture(),
            TASKS: tasks(),
            **(changes or {}),
        }
    )


def lean_session(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the files of a lean session."""
    files = {STATUS: status("INTAKE_LEAN"), SPEC: spec(), ACCEPTANCE: acceptance(), TASKS: tasks()}
    return without({**files, **(changes or {})})
