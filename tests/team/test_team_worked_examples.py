"""The worked examples of the contract: exactly these findings, and exactly these fixes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from team_probe import codes, fix, fix_on_disk, lint_paths, lint_text, write_files

from workrail_lint.findings import Severity
from workrail_lint.systems.team.rules import samples

SESSION = "2026-03-01_add-login-form"
FOLDER = f".agents-work/{SESSION}"

E1 = {
    "current_state": "IMPLEMENT_LOOP",
    "session": SESSION,
    "assumptions": [],
    "known_issues": [],
    "completed_tasks": ["T-001"],
    "retry_counts": {"T-001": {"FIX_REVIEW": 4}},
    "last_update": "2026-03-01T11:00:00Z",
    "user_decisions": [
        {
            "decision_id": "UD-2",
            "question": "Keep sessions?",
            "status": "pending",
            "answer": None,
            "asked_at": "2026-03-01T10:00:00Z",
            "resolved_at": None,
            "state_context": "DESIGN",
            "resolution_reason": None,
        },
        {
            "decision_id": "UD-REVIEW-STRATEGY",
            "question": "Which strategy?",
            "status": "answered",
            "answer": "Per Batch",
            "asked_at": "2026-03-01T10:30:00Z",
            "resolved_at": None,
            "state_context": "PLAN",
            "resolution_reason": None,
        },
    ],
}


def test_e1_status() -> None:
    text = json.dumps(E1, separators=(",", ":"))
    found = lint_text(text, "status.json")
    assert codes(found) == [
        ("TC108", "/completed_tasks"),
        ("TC101", "/retry_counts/T-001/FIX_REVIEW"),
        ("TC204", "/user_decisions/0/decision_id"),
        ("TC222", "/user_decisions/0/status"),
        ("TC217", "/user_decisions/1/answer"),
        ("TC209", "/user_decisions/1/resolved_at"),
        ("TC214", "/user_decisions/1/state_context"),
    ]
    assert "UD-1 is missing" in found[2].message
    fixed = json.loads(fix(text, "status.json").text)
    expected: Any = json.loads(text)
    expected["user_decisions"][1] |= {"answer": "per-batch", "state_context": "REVIEW_STRATEGY"}
    assert fixed == expected
    assert [code for code, _ in codes(lint_text(fixed, "status.json"))] == ["TC108", "TC101", "TC204", "TC222", "TC209"]


E2 = """\
project: Login
tasks:
  - id: T-001
    status: in_progress
    goal: Build the form
    depends_on: [T-002]
    acceptance_checks:
      - cmd: npm test
    done_when: ["AC-001 met"]
  - id: T-002
    status: not-started
    goal: Add the endpoint
    deps: [T-001]
    acceptance_checks: ["npm run lint"]
"""


def test_e2_tasks() -> None:
    assert codes(lint_text(E2, "tasks.yaml")) == [
        ("TC304", "/project"),
        ("TC304", "/tasks/0"),
        ("TC303", "/tasks/0/status"),
        ("TC314", "/tasks/0/status"),
        ("TC310", "/tasks/0/acceptance_checks/0"),
        ("TC304", "/tasks/1"),
        ("TC318", "/tasks/1/deps"),
        ("TC310", "/tasks/1/acceptance_checks/0"),
    ]
    fixed = fix(E2, "tasks.yaml").text
    assert fixed == E2.replace("in_progress", "in-progress").replace("- cmd: npm test", '- "cmd: npm test"').replace(
        "    deps:", "    depends_on:"
    )
    again = lint_text(fixed, "tasks.yaml")
    assert [code for code, _ in codes(again)] == ["TC304", "TC304", "TC314", "TC313", "TC304", "TC310"]
    (cycle,) = [finding for finding in again if finding.code == "TC313"]
    assert cycle.message.endswith("T-001, T-002, T-001")


def full_session(changes: dict[str, Any]) -> dict[str, Any]:
    """The sample session under the name of the examples."""
    text = json.dumps(samples.session())
    files = json.loads(text.replace(samples.SESSION, SESSION))
    return {path: content for path, content in {**files, **changes}.items() if content is not None}


def named(value: Any) -> Any:
    return json.loads(json.dumps(value).replace(samples.SESSION, SESSION))


def test_e4_a_gate_that_was_never_answered_is_no_error(tmp_path: Path) -> None:
    cancelled = samples.decision(
        "UD-REVIEW-STRATEGY",
        None,
        status="cancelled",
        resolved_at="2026-03-01T10:05:00Z",
        resolution_reason="no valid answer after 3 re-asks",
    )
    status = samples.status("BLOCKED", samples.approved(), cancelled, blocker="mandatory_user_decision_missing")
    write_files(tmp_path, full_session({f"{FOLDER}/status.json": named(status)}))
    assert [f for f in lint_paths(tmp_path) if f.severity is Severity.ERROR] == []


def test_e5_exchanges(tmp_path: Path) -> None:
    path = f"{FOLDER}/0011-Reviewer-T-001.input.json"
    given = samples.given(files=["spec.md", f"{FOLDER}/tasks.yaml"])
    write_files(tmp_path, full_session({path: samples.agent_input(given)}))
    found = [finding for finding in lint_paths(tmp_path) if finding.path == path]
    assert sorted(codes(found)) == [
        ("TC504", "/task"),
        ("TC508", "/task/context_files"),
        ("TC509", "/task/context_files/0"),
    ]
    assert "architecture.md" in next(f.message for f in found if f.code == "TC508")
    assert lint_paths(tmp_path) == found, "nothing else is wrong"
    prefixed = json.loads(fix_on_disk(tmp_path, path, "context-file-place"))
    assert prefixed["task"]["context_files"] == [f"{FOLDER}/spec.md", f"{FOLDER}/tasks.yaml"]
    appended = json.loads(fix_on_disk(tmp_path, path, "context-file-required"))
    assert appended["task"]["context_files"] == ["spec.md", f"{FOLDER}/tasks.yaml", f"{FOLDER}/architecture.md"]

    finding = {"severity": "medium", "category": "Auth", "file": "a.js", "description": "d", "recommended_fix": "f"}
    output = samples.agent_output("OK", {"findings": [finding], "notes": []})
    (mismatch,) = lint_text(output, f"{FOLDER}/0012-Security-T-001.output.json")
    assert mismatch.code == "TC542"
    assert "NEEDS_DECISION" in mismatch.message
    decided = samples.agent_output("NEEDS_DECISION", {"findings": [finding], "notes": []})
    assert lint_text(decided, f"{FOLDER}/0012-Security-T-001.output.json") == []


@pytest.mark.parametrize("left_out", [(), ("Definition of Done",)])
def test_e6_a_lean_spec_may_omit_the_definition_of_done(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    done = samples.status("DONE", last_ci_result="green")
    files = samples.lean_session(
        {
            samples.STATUS: done,
            samples.SPEC: samples.spec(*left_out),
            samples.TASKS: samples.tasks(samples.task(status="completed", type=...)),
            samples.REPORT: samples.report(),
        }
    )
    write_files(tmp_path, files)
    found = [(finding.code, finding.severity) for finding in lint_paths(tmp_path)]
    assert found == ([("TC410", Severity.WARNING)] if left_out else [])


def test_e7_a_change_request_without_tracking() -> None:
    status = samples.status("APPROVE_DESIGN", samples.approved("changes-requested: split module"))
    assert [code for code, _ in codes(lint_text(status, samples.STATUS))] == ["TC227"]


def test_e9_folder(tmp_path: Path) -> None:
    status = samples.status(
        "DONE",
        samples.decision("UD-1", None),
        samples.approved(),
        samples.strategy("single-final"),
        session="2026-03-01_add-login",
        retry_counts={"T-009": {}},
        last_ci_result="green",
    )
    context = [f"{FOLDER}/spec.md"]
    tasks = samples.tasks(
        samples.task("T-001", status="completed", done_when=["Works"], context_files=context),
        samples.task("T-002", status="implemented", done_when=["Meets AC-007"], context_files=context),
    )
    write_files(
        tmp_path,
        {
            f"{FOLDER}/status.json": status,
            f"{FOLDER}/tasks.yaml": tasks,
            f"{FOLDER}/acceptance.json": samples.acceptance(),
            f"{FOLDER}/spec.md": samples.spec(),
            f"{FOLDER}/architecture.md": samples.architecture("Overview"),
        },
    )
    found = lint_paths(tmp_path)
    by_file: dict[str, list[tuple[str, str]]] = {}
    for finding in found:
        by_file.setdefault(finding.path, []).append((finding.code, finding.pointer))
    assert list(by_file) == [
        FOLDER,
        f"{FOLDER}/acceptance.json",
        f"{FOLDER}/architecture.md",
        f"{FOLDER}/status.json",
        f"{FOLDER}/tasks.yaml",
    ]
    assert by_file[FOLDER] == [("TC702", "")]
    assert "report.md" in found[0].message
    assert by_file[f"{FOLDER}/acceptance.json"] == [("TC418", "/acceptance_criteria/0/id")]
    assert by_file[f"{FOLDER}/architecture.md"] == [("TC410", "#Overview")]
    assert by_file[f"{FOLDER}/status.json"] == [
        ("TC701", "/session"),
        ("TC222", "/user_decisions/0/status"),
        ("TC711", "/user_decisions/0/status"),
        ("TC703", "/retry_counts/T-009"),
    ]
    assert by_file[f"{FOLDER}/tasks.yaml"] == [("TC711", "/tasks/1/status"), ("TC418", "/tasks/1/done_when/0")]
