"""An example for every contract pack: the smallest that still shows what the document is for."""

from __future__ import annotations

from typing import Any

_SESSION = "2026-03-01_add-login-form"
_FOLDER = f".agents-work/{_SESSION}"

STATUS: dict[str, Any] = {
    "current_state": "IMPLEMENT_LOOP",
    "session": _SESSION,
    "assumptions": ["Accounts exist already."],
    "known_issues": [],
    "user_decisions": [
        {
            "decision_id": "UD-APPROVE-DESIGN",
            "question": "Do you approve the design?",
            "status": "answered",
            "answer": "approved",
            "asked_at": "2026-03-01T10:00:00Z",
            "resolved_at": "2026-03-01T10:05:00Z",
            "state_context": "APPROVE_DESIGN",
            "resolution_reason": None,
        },
        {
            "decision_id": "UD-REVIEW-STRATEGY",
            "question": "Review each task, or all of them at the end?",
            "status": "answered",
            "answer": "per-batch",
            "asked_at": "2026-03-01T10:30:00Z",
            "resolved_at": "2026-03-01T10:31:00Z",
            "state_context": "REVIEW_STRATEGY",
            "resolution_reason": None,
        },
    ],
    "retry_counts": {"T-001": {"FIX_REVIEW": 1}},
    "last_ci_result": "unknown",
    "last_update": "2026-03-01T11:00:00Z",
}
BACKLOG: dict[str, Any] = {
    "project": {"name": "Shop", "definition_of_done": ["All checks pass."]},
    "tasks": [
        {
            "id": "T-001",
            "title": "Login form",
            "type": "feat",
            "status": "not-started",
            "goal": "Show a form that asks for name and password.",
            "depends_on": [],
            "risk_flags": ["security"],
            "non_goals": ["Registration"],
            "files_expected": ["src/login.js"],
            "context_files": [f"{_FOLDER}/spec.md"],
            "acceptance_checks": ["cmd: npm test"],
            "done_when": ["AC-001 is met."],
        }
    ],
}
ACCEPTANCE: dict[str, Any] = {
    "acceptance_criteria": [
        {"id": "AC-001", "description": "A wrong password is refused.", "verify": ["npm test", "manual: try one"]}
    ]
}
_TASK: dict[str, Any] = {
    "id": "T-001",
    "title": "Login form",
    "goal": "Show a form that asks for name and password.",
    "non_goals": ["Registration"],
    "constraints": [],
    "context_files": [f"{_FOLDER}/spec.md", f"{_FOLDER}/tasks.yaml"],
    "acceptance_checks": ["cmd: npm test"],
    "risk_flags": ["security"],
}
INPUT: dict[str, Any] = {
    "task": _TASK,
    "project_type": "web",
    "repo_state": {"branch": "main", "ci_status": "green", "last_failed_step": None},
    "tools_available": ["read_file", "write_file", "run_cmd"],
}
OUTPUT: dict[str, Any] = {
    "status": "OK",
    "summary": "The form is there and its tests pass.",
    "artifacts": {
        "files_changed": ["src/login.js", "src/login.css"],
        "commands_to_run": ["npm test"],
        "notes": ["The form posts to /session."],
    },
    "gates": {
        "meets_definition_of_done": True,
        "needs_review": True,
        "needs_tests": True,
        "security_concerns": ["Passwords pass through this form."],
    },
    "next": {"recommended_agent": "Reviewer", "recommended_task_id": "T-001", "reason": "The task is implemented."},
}
PLAN: dict[str, Any] = {
    "state": "IMPLEMENT_LOOP",
    "dispatch": [{"agent": "Coder", "task": _TASK, "project_type": "web"}],
    "why": "T-001 is the first task that is ready.",
    "blockers": [],
    "next_state_hint": "IMPLEMENT_LOOP",
}
HISTORY: dict[str, Any] = {
    "entries": [
        {
            "at": "2026-03-01T10:02:00Z",
            "decision_id": "UD-APPROVE-DESIGN",
            "answer": "changes-requested: limit how often one may try",
            "state_context": "APPROVE_DESIGN",
        }
    ]
}
SPEC: dict[str, Any] = {
    "goals": "Users log in with name and password.",
    "acceptance_criteria": "AC-001: a wrong password is refused.",
    "definition_of_done": "All checks pass and the form is documented.",
    "edge_cases": "An empty password; a name with spaces around it.",
}
ARCHITECTURE: dict[str, Any] = {
    "overview": "One form, one endpoint.",
    "modules_components": "login.js renders the form; session.js checks it.",
}
REPORT: dict[str, Any] = {
    "what_was_done": "A login form with a limit on attempts.",
    "how_to_run": "npm start",
    "how_to_test": "npm test",
    "known_issues": "None.",
}
SIDE: dict[str, Any] = {
    "type": "adr",
    "context": "The form needs to know who is logged in.",
    "decision": "Keep sessions on the server.",
    "alternatives": "Signed tokens in the browser.",
    "consequences": "One more table.",
}
SESSION: dict[str, Any] = {
    "session": _SESSION,
    "mode": "full",
    "status": STATUS,
    "files": ["spec.md", "acceptance.json", "architecture.md", "tasks.yaml", "status.json"],
}
