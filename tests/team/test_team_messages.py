"""What team rules say: on one line, with what was meant, and all that the contract wants stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from team_probe import lint_paths, lint_text, write_files

from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.trace_states import at, enter, trace


def test_messages_are_one_line_whatever_a_document_holds() -> None:
    odd = "\x1b[31m\n\u202e" + "x" * 5000
    status = samples.status(odd, samples.decision(odd, None), retry_counts={odd: {odd: 9}}, session=odd, blocker=odd)
    plan = samples.tasks().replace("T-001", '"' + "x" * 5000 + '\\n"').replace("feat", '"\\x1b"')
    for finding in [*lint_text(status, samples.STATUS), *lint_text(plan, samples.TASKS)]:
        assert finding.message.isprintable()
        assert len(finding.message) < 600


def test_messages_suggest_what_was_meant() -> None:
    (finding,) = lint_text(samples.status("IMPLEMENT"), samples.STATUS)
    assert "did you mean 'IMPLEMENT_LOOP'?" in finding.message
    (finding,) = lint_text(samples.status("FIX"), samples.STATUS)
    assert "expected one of INTAKE, INTAKE_LEAN" in finding.message
    (finding,) = lint_text(samples.tasks(samples.task(status="complete")), samples.TASKS)
    assert "did you mean 'completed'?" in finding.message


_REVIEW = samples.exchange("Reviewer", side="output")
_NAIVE = "2026-03-01T10:00:00"


def _reviewed(summary: str, severity: str) -> dict[str, Any]:
    comment = {"severity": severity, "category": "Logic"}
    return samples.agent_output("OK", {"review_comments": [comment]}, summary=summary)


@pytest.mark.parametrize(
    ("content", "path", "code", "said"),
    [
        ('{"current_state": "PLAN",}', samples.STATUS, "TC001", ["team-status", "1:25", "comma"]),
        (samples.tasks() + "project: {}\n", samples.TASKS, "TC002", ["project", "1:1", "17:1"]),
        (samples.tasks(samples.task(goal="x")).replace(": x", ": &g x"), samples.TASKS, "TC005", ["anchor", "9:11"]),
        (samples.tasks() + "---\n{}\n", samples.TASKS, "TC005", ["second document", "17:1"]),
        (samples.status(session="<session>"), samples.STATUS, "TC006", ["<session>", "/session"]),
        (samples.status(assumptions="none"), samples.STATUS, "TC101", ["'assumptions'", "a list", "a string"]),
        (samples.status(last_update="now"), samples.STATUS, "TC101", ["/last_update", "'now'"]),
        (samples.status(last_update=_NAIVE), samples.STATUS, "TC101", ["/last_update"]),
        (
            samples.status("PLAN", samples.approved(), samples.approved()),
            samples.STATUS,
            "TC202",
            ["UD-APPROVE-DESIGN", "0", "1", "update in place"],
        ),
        (
            samples.agent_input(project_type="webb"),
            samples.exchange("Coder"),
            "TC501",
            ["'project_type'", "'webb'", "web, api, cli, lib, mixed", "did you mean 'web'?"],
        ),
        (
            samples.agent_input(samples.given(session_changed_files=[])),
            samples.exchange("Reviewer"),
            "TC504",
            ["reviewer must discover changes itself"],
        ),
        (samples.agent_input(samples.given(lean=True)), samples.exchange("Coder"), "TC501", ["/task/lean"]),
        (
            samples.agent_output("BLOCKED", {"review_comments": [{"severity": "high"}]}),
            _REVIEW,
            "TC531",
            ["review_comments", "'high'"],
        ),
        (_reviewed("PASS WITH NOTES", "major"), _REVIEW, "TC542", ["PASS WITH NOTES", "OK"]),
        (samples.dispatch_plan("PLAN", "Orchestrator"), samples.PLAN, "TC560", ["PLAN", "Orchestrator"]),
        (samples.dispatch_plan("PLAN", "Tester"), samples.PLAN, "TC560", ["PLAN", "'Tester'"]),
        (
            trace(enter("DESIGN"), at("DESIGN", "reply", agent="Architect", status="OK"), enter("PLAN")),
            "x.trace.json",
            "TC801",
            ["DESIGN", "PLAN", "reply Architect OK"],
        ),
        (
            trace(
                enter("PLAN"),
                at("PLAN", "dispatch", agent="Planner", task="meta", attempt=1, input="a"),
                at("PLAN", "dispatch", agent="Planner", task="meta", attempt=2, input="b"),
            ),
            "x.trace.json",
            "TC804",
            ["Planner", "meta", "attempt 2"],
        ),
        (trace(enter("IMPLEMENT_LOOP"), enter("INTEGRATE")), "x.trace.json", "TC812", ["per-batch", "0"]),
    ],
)
def test_a_message_states_what_the_contract_wants_it_to(content: Any, path: str, code: str, said: list[str]) -> None:
    told = [finding.message for finding in lint_text(content, path) if finding.code == code]
    assert told, code
    for message in told:
        assert [word for word in said if word not in message] == []


def test_a_missing_history_is_told_with_the_correction(tmp_path: Path) -> None:
    asked = samples.status("APPROVE_DESIGN", samples.approved("changes-requested: b"))
    asked["gate_tracking"] = samples.correction("queued")
    write_files(tmp_path, samples.session({samples.STATUS: asked, samples.TASKS: ...}))
    (told,) = (finding for finding in lint_paths(tmp_path) if finding.code == "TC704")
    assert "correction queued" in told.message
