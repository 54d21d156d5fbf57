"""Short ways to play team sessions, and sessions to resume."""

from __future__ import annotations

from typing import Any

from pytest_workrail.systems.team import TeamRun, run

SESSION = "2000-01-01_add-login"
APPROVED = {"UD-APPROVE-DESIGN": ["approved"]}
DECIDED = {**APPROVED, "UD-REVIEW-STRATEGY": ["per-batch"]}
SINGLE = {**APPROVED, "UD-REVIEW-STRATEGY": ["single-final"]}
T0 = "2000-01-01T00:00:10Z"


def played(*, locks: list[str] | None = None, keep: Any = None, **team: Any) -> TeamRun:
    """A run of a session by the members of its `team` block."""
    scenario = {"name": "example", "team": {"session": SESSION, **team}, "enforces": locks or []}
    return run(scenario, keep=keep)


def full(user: dict[str, Any] | None = None, **team: Any) -> TeamRun:
    return played(mode="full", user={**DECIDED, **(user or {})}, **team)


def lean(**team: Any) -> TeamRun:
    return played(mode="lean", **team)


def events(found: TeamRun, state: str | None = None) -> list[str]:
    """The names of the events, of one state or of all."""
    return [event["event"] for event in found.events if state in (None, event["state"])]


def codes(found: TeamRun) -> list[str]:
    return [finding.code for finding in found.findings]


def blockers(found: TeamRun) -> list[str]:
    return [blocker.code.value for blocker in found.blockers]


def sent(found: TeamRun) -> list[str]:
    return [f"{each['agent']}/{each['task']}" for each in found.dispatches]


def decision(ident: str, status: str = "pending", answer: str | None = None, **members: Any) -> dict[str, Any]:
    gates = {"UD-APPROVE-DESIGN": "APPROVE_DESIGN", "UD-REVIEW-STRATEGY": "REVIEW_STRATEGY"}
    return {
        "decision_id": ident,
        "question": "What now?",
        "status": status,
        "answer": answer,
        "asked_at": "2000-01-01T00:00:01Z",
        "resolved_at": None if status == "pending" else "2000-01-01T00:00:02Z",
        "state_context": gates.get(ident, "IMPLEMENT_LOOP"),
        "resolution_reason": None,
        **members,
    }


def gates(design: str = "approved", strategy: str | None = "per-batch") -> list[dict[str, Any]]:
    found = [decision("UD-APPROVE-DESIGN", "answered", design)]
    return found + ([decision("UD-REVIEW-STRATEGY", "answered", strategy)] if strategy else [])


def status(state: str, *decisions: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "current_state": state,
        "session": SESSION,
        "assumptions": [],
        "known_issues": [],
        "user_decisions": list(decisions),
        "last_update": T0,
        **members,
    }


def task(ident: str = "T-001", state: str = "not-started", **members: Any) -> dict[str, Any]:
    return {
        "id": ident,
        "title": "A task",
        "type": "feat",
        "status": state,
        "goal": "Do it",
        "depends_on": [],
        "risk_flags": ["none"],
        "non_goals": [],
        "files_expected": [f"src/{ident.lower()}.txt"],
        "context_files": [f".agents-work/{SESSION}/spec.md"],
        "acceptance_checks": ["cmd: make test"],
        "done_when": ["AC-001 is met."],
        **members,
    }


def tasks(*items: dict[str, Any]) -> dict[str, Any]:
    """A plan; JSON is YAML, so it may stand in tasks.yaml as it is."""
    return {"project": {"name": "Example", "definition_of_done": ["Tested"]}, "tasks": list(items) or [task()]}


def document(title: str, **sections: str) -> str:
    parts = [f"# {title}\n", *(f"## {name.replace('_', ' ')}\n\n{text}\n" for name, text in sections.items())]
    return "\n".join(parts)


SPEC = document("Spec", Goals="Login.", Acceptance_Criteria="- AC-001: it works.", Definition_of_Done="Tested.")
ARCHITECTURE = document("Architecture", Overview="One module.", Modules="- main")
REPORT = document("Report", Summary="Done.", How_to_run="run", How_to_test="test", Known_issues="None.")
ACCEPTANCE = {"acceptance_criteria": [{"id": "AC-001", "description": "It works.", "verify": ["make test"]}]}
REQUEST = {"at": "2000-01-01T00:00:02Z", "decision_id": "UD-APPROVE-DESIGN", "state_context": "APPROVE_DESIGN"}


def history(answer: str) -> str:
    import json

    return json.dumps({**REQUEST, "answer": answer}) + "\n"


def folder(state: dict[str, Any], **files: Any) -> dict[str, Any]:
    """The files of a full session; a name has `_` for `.` and `-`, and None leaves a file out."""
    found: dict[str, Any] = {
        "status.json": state,
        "spec.md": SPEC,
        "acceptance.json": ACCEPTANCE,
        "architecture.md": ARCHITECTURE,
        **files,
    }
    return {name: content for name, content in found.items() if content is not None}


def resumed(files: dict[str, Any], user: dict[str, Any] | None = None, **team: Any) -> TeamRun:
    start = {"resume": files, **team.pop("start", {})}
    return played(start=start, user=user or {}, **team)
