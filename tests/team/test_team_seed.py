"""Sessions by the contract's own minimum: what it calls enough is valid, and good practice is a warning at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tables import for_each
from team_probe import lint_paths, lint_text, write_files

from workrail_lint.findings import Severity
from workrail_lint.systems.team.vocabulary import AgentName

NAME = "2026-05-04_limit-api-calls"
FOLDER = f".agents-work/{NAME}"
SPEC = """# Limits
## Goals
A key may call five times a minute.
## Acceptance Criteria
- AC-001 the sixth call is refused
## Definition of Done
The checks pass.
"""
TASKS = """tasks:
  - id: T-001
    status: completed
    goal: Count the calls of each key
    acceptance_checks: ["cmd: npm test"]
  - id: T-002
    status: completed
    goal: Refuse the sixth call
    acceptance_checks: ["manual: call six times"]
"""
GATES = {"meets_definition_of_done": True, "needs_review": True, "needs_tests": False, "security_concerns": []}


def decision(ident: str, answer: str) -> dict[str, Any]:
    return {
        "decision_id": ident,
        "question": "How do we go on?",
        "status": "answered",
        "answer": answer,
        "asked_at": "2026-05-04T10:00:00Z",
        "resolved_at": "2026-05-04T10:01:00Z",
        "state_context": ident.removeprefix("UD-").replace("-", "_"),
        "resolution_reason": None,
    }


def status(state: str = "DONE", **members: Any) -> dict[str, Any]:
    full = {
        "current_state": state,
        "session": NAME,
        "assumptions": ["There is one server."],
        "user_decisions": [decision("UD-APPROVE-DESIGN", "approved"), decision("UD-REVIEW-STRATEGY", "per-batch")],
        "retry_counts": {"T-001": {"FIX_REVIEW": 0, "FIX_TESTS": 0, "FIX_SECURITY": 0, "FIX_BUILD": 0}},
        "known_issues": [],
        "last_ci_result": "unknown",
        "last_update": "2026-05-04T11:00:00Z",
    }
    return {name: value for name, value in (full | members).items() if value is not ...}


def session(**changed: Any) -> dict[str, Any]:
    criterion = {"id": "AC-001", "description": "The sixth call is refused.", "verify": "npm test"}
    files = {
        "spec.md": SPEC,
        "acceptance.json": {"acceptance_criteria": [criterion]},
        "architecture.md": "# Design\n## Overview\nA counter.\n## Modules/components\nOne.\n",
        "tasks.yaml": TASKS,
        "status.json": status(),
        "report.md": "The sixth call of a minute is refused.\n",
        **changed,
    }
    return {f"{FOLDER}/{name}": content for name, content in files.items()}


def output(status: str = "OK", **artifacts: Any) -> dict[str, Any]:
    lists = ("files_to_create_or_update", "files_changed", "tests_added_or_updated", "commands_to_run", "manual_steps")
    return {
        "status": status,
        "summary": "The work is done.",
        "artifacts": {**{name: [] for name in (*lists, "review_comments", "findings", "notes")}, **artifacts},
        "gates": GATES if status == "OK" else GATES | {"meets_definition_of_done": False},
        "next": {"recommended_agent": "Orchestrator", "recommended_task_id": "meta", "reason": "Go on."},
    }


def given(project: str = "api", **task: Any) -> dict[str, Any]:
    return {
        "task": {
            "id": "T-001",
            "title": "Count calls",
            "goal": "Count the calls of each key",
            "non_goals": [],
            "context_files": [f"{FOLDER}/{name}" for name in ("spec.md", "architecture.md", "tasks.yaml")],
            "constraints": [],
            "acceptance_checks": ["cmd: npm test"],
            "risk_flags": ["none"],
            **task,
        },
        "project_type": project,
        "repo_state": {"branch": "main", "ci_status": "unknown", "last_failed_step": None},
        "tools_available": ["read_file", "write_file", "apply_patch", "run_cmd", "search_repo"],
    }


def test_a_session_by_the_minimum_is_valid(tmp_path: Path) -> None:
    write_files(tmp_path, session())
    findings = lint_paths(tmp_path)
    assert [f.message for f in findings if f.severity is Severity.ERROR] == []
    warnings = [f for f in findings if f.severity is Severity.WARNING]
    assert {f.code for f in warnings} == {"TC304", "TC413"}  # fields of the plan, topics of the report


def test_an_id_that_is_written_otherwise_is_not_called_missing(tmp_path: Path) -> None:
    criterion = {"id": "AC-1", "description": "The sixth call is refused.", "verify": "npm test"}
    files = session(**{"acceptance.json": {"acceptance_criteria": [criterion]}})
    write_files(tmp_path, files | {f"{FOLDER}/spec.md": SPEC.replace("AC-001", "AC-1")})
    findings = [finding for finding in lint_paths(tmp_path) if "AC-1" in finding.message]
    assert [(finding.code, finding.severity) for finding in findings] == [("TC402", Severity.WARNING)]


def test_the_lenient_profile_takes_good_practice_for_advice(tmp_path: Path) -> None:
    write_files(tmp_path, session())
    assert {f.severity for f in lint_paths(tmp_path, options={"team-profile": "lenient"})} == {Severity.INFO}


def test_the_lenient_profile_takes_our_decisions_for_warnings(tmp_path: Path) -> None:
    twice = [{"id": "AC-001", "description": "It works.", "verify": "make"}] * 2
    write_files(tmp_path, session(**{"acceptance.json": {"acceptance_criteria": twice}}))
    levels = {
        profile: [f.severity for f in lint_paths(tmp_path, options={"team-profile": profile}) if f.code == "TC404"]
        for profile in ("strict", "lenient")
    }
    assert levels == {"strict": [Severity.ERROR], "lenient": [Severity.WARNING]}


def test_a_lean_session_by_the_minimum_is_valid(tmp_path: Path) -> None:
    files = session(**{"tasks.yaml": TASKS[: TASKS.index("  - id: T-002")], "status.json": status(user_decisions=[])})
    del files[f"{FOLDER}/architecture.md"]
    write_files(tmp_path, files)
    assert [f.message for f in lint_paths(tmp_path) if f.severity is Severity.ERROR] == []


@for_each("agent", AgentName)
def test_the_universal_output_is_valid_for_every_agent(agent: AgentName) -> None:
    written = [f"{FOLDER}/design-specs/design-spec-form.md"] if agent is AgentName.DESIGNER else []
    findings = lint_text(output(files_to_create_or_update=written), f"0001-{agent.value}-T-001.output.json")
    assert [f.message for f in findings if f.severity is Severity.ERROR] == []


def test_the_universal_input_is_valid(tmp_path: Path) -> None:
    context = [f"{FOLDER}/{name}" for name in ("spec.md", "acceptance.json", "architecture.md", "tasks.yaml")]
    changed = [{"path": "src/limit.js", "change_type": "modified"}]
    write_files(
        tmp_path,
        session()
        | {
            "0001-Coder-T-001.input.json": given(),
            "0002-Reviewer-T-001.input.json": given(session_changed_files=changed),
            "0003-QA-T-001.input.json": given(context_files=context, session_changed_files=[]),
            "0004-Researcher-meta.input.json": given(id="meta", context_files=context[:3]),
        },
    )
    findings = lint_paths(tmp_path)
    assert [(f.path, f.message) for f in findings if f.severity is Severity.ERROR] == []


def test_findings_may_be_strings() -> None:
    path = "0001-Security-T-001.output.json"

    def problems(status: str, *findings: str) -> list[str]:
        found = lint_text(output(status, findings=list(findings)), path)
        return [f.message for f in found if f.severity is Severity.ERROR]

    assert problems("NEEDS_DECISION", "Keys are written to the log.") == []
    assert problems("NEEDS_DECISION", "medium: keys are written to the log") == []
    assert problems("OK", "low: an old package") == []
    assert problems("OK", "[Medium] keys are logged") == ["a medium finding requires the status NEEDS_DECISION, not OK"]
    assert problems("NEEDS_DECISION", "high - any key is accepted") == [
        "a high finding requires the status BLOCKED, not NEEDS_DECISION"
    ]
    assert problems("NEEDS_DECISION") == ["NEEDS_DECISION requires a medium finding; without one the status must be OK"]


def test_criteria_under_another_name_are_found() -> None:
    """The contract names the fields of a criterion, but not where the criteria are."""
    path = f"{FOLDER}/acceptance.json"
    criterion = {"id": "AC-001", "description": "The sixth call is refused.", "verify": "npm test"}

    def problems(value: Any) -> list[tuple[str, bool]]:
        return [(f.message, f.fix is not None) for f in lint_text(value, path) if f.severity is Severity.ERROR]

    assert problems({"acceptance_criteria": [criterion]}) == []
    assert problems({"criteria": [criterion]}) == [("'acceptance_criteria' is missing; 'criteria' is not read", True)]
    example = '[{"id": "AC-001", "description": "...", "verify": "npm test"}]'
    assert problems({}) == [(f"'acceptance_criteria' is missing; write a list such as {example}", False)]
    (problem,) = problems([criterion])
    assert problem[0] == 'the document is a list, not an object; put it into {"acceptance_criteria": [...]}'


def test_what_only_a_web_project_has_is_noticed_elsewhere(tmp_path: Path) -> None:
    def topics(project: str, *findings: Any) -> list[tuple[str, str]]:
        write_files(
            tmp_path,
            {
                "0001-Security-T-001.input.json": given(project),
                "0001-Security-T-001.output.json": output("NEEDS_DECISION", findings=list(findings)),
            },
        )
        return [(f.pointer, f.message.split(";")[0]) for f in lint_paths(tmp_path) if f.code == "TC550"]

    xss = {"severity": "medium", "category": "XSS", "file": "src/a.js", "description": "x", "recommended_fix": "y"}
    noticed = [("/artifacts/findings/0", "Security reports XSS, which does not apply to a cli project")]
    assert topics("cli", xss) == noticed
    assert topics("cli", "medium: XSS in the help page") == noticed
    assert topics("web", xss) == []
    assert topics("cli", "medium: XSS is not applicable, but the token is logged") == []
    assert topics("lib", xss | {"category": "Deps"}) == []


def test_missing_retry_counts_are_as_bad_as_other_missing_fields() -> None:
    for name in ("retry_counts", "known_issues", "last_update"):
        findings = lint_text(status("IMPLEMENT_LOOP", **{name: ...}), f"{FOLDER}/status.json")
        assert [(f.severity, name in f.message) for f in findings] == [(Severity.ERROR, True)], name
