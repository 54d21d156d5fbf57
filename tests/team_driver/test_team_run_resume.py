"""Resuming: from every state, with nothing but what stands on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from team_plays import (
    DECIDED,
    SPEC,
    blockers,
    codes,
    decision,
    events,
    folder,
    gates,
    history,
    lean,
    resumed,
    sent,
    status,
    task,
    tasks,
)

CODE = {"src/t-001.txt": "T-001\n"}
RELEASING = ["Docs/meta", "Integrator/meta"]
FINAL = ["Security/meta", "Reviewer/meta", "Integrator/meta", *RELEASING]


def begun(state: str, work: str = "not-started", **members: Any) -> dict[str, Any]:
    """A full session with a plan and both decisions."""
    return folder(status(state, *gates(), **members), **{"tasks.yaml": tasks(task(state=work))})


@pytest.mark.parametrize(
    ("files", "user", "dispatches"),
    [
        ({"status.json": status("INTAKE")}, DECIDED, ["SpecAgent/meta", "Architect/meta", "Planner/meta"]),
        (folder(status("DESIGN"), **{"architecture.md": None}), DECIDED, ["Architect/meta", "Planner/meta"]),
        (folder(status("APPROVE_DESIGN")), DECIDED, ["Planner/meta"]),
        (folder(status("APPROVE_DESIGN", *gates(strategy=None))), {"UD-REVIEW-STRATEGY": ["batch"]}, ["Planner/meta"]),
        (folder(status("PLAN", *gates(strategy=None))), {"UD-REVIEW-STRATEGY": ["batch"]}, ["Planner/meta"]),
        (
            folder(status("REVIEW_STRATEGY", *gates(strategy=None)), **{"tasks.yaml": tasks()}),
            {"UD-REVIEW-STRATEGY": ["batch"]},
            [],
        ),
        (folder(status("REVIEW_STRATEGY", *gates()), **{"tasks.yaml": tasks()}), {}, []),
        (begun("IMPLEMENT_LOOP"), {}, []),
    ],
)
def test_from_the_states_before_the_work(files: Any, user: Any, dispatches: list[str]) -> None:
    found = resumed(files, user=user)
    assert sent(found) == [*dispatches, "Coder/T-001", "Reviewer/T-001", "QA/T-001", *FINAL]
    assert found.final_state == "DONE"
    assert codes(found) == []


@pytest.mark.parametrize(
    ("files", "states", "dispatches"),
    [
        (begun("IMPLEMENT_LOOP", "in-progress"), [], ["Coder/T-001", "Reviewer/T-001", "QA/T-001", *FINAL]),
        (begun("IMPLEMENT_LOOP", "implemented"), [], ["Reviewer/T-001", "QA/T-001", *FINAL]),
        (begun("IMPLEMENT_LOOP", "completed"), [], FINAL),
        (begun("IMPLEMENT_LOOP", "blocked"), [], ["Coder/T-001", "Reviewer/T-001", "QA/T-001", *FINAL]),
        (
            begun("FIX_TESTS", "in-progress", retry_counts={"T-001": {"FIX_TESTS": 1}}),
            ["FIX_TESTS"],
            ["Coder/T-001", "Reviewer/T-001", "QA/T-001", *FINAL],
        ),
        (
            begun("FIX_REVIEW", "implemented", retry_counts={"T-001": {"FIX_REVIEW": 2}}),
            ["FIX_REVIEW"],
            ["Reviewer/T-001", "QA/T-001", *FINAL],
        ),
        (
            begun("FIX_SECURITY", "completed", retry_counts={"meta": {"FIX_SECURITY": 1}}),
            ["FIX_SECURITY"],
            ["Coder/meta", *FINAL],
        ),
        (begun("INTEGRATE", "completed"), None, ["Integrator/meta", *RELEASING]),
        (
            begun("FIX_BUILD", "completed", last_ci_result="red", retry_counts={"meta": {"FIX_BUILD": 1}}),
            None,
            ["Integrator/meta", "Integrator/meta", *RELEASING],
        ),
        (begun("RELEASE", "completed", last_ci_result="green"), None, RELEASING),
    ],
)
def test_from_the_states_of_the_work(files: Any, states: Any, dispatches: list[str]) -> None:
    found = resumed(files, repository=CODE)
    assert sent(found) == dispatches
    if states is not None:
        assert found.states == [*states, "IMPLEMENT_LOOP", "INTEGRATE", "RELEASE", "DONE"]
    assert found.final_state == "DONE"
    assert codes(found) == []
    before = files["status.json"].get("retry_counts", {})
    assert found.retry_counts == before, "a round that was counted is not counted again"


def test_single_final_goes_on_with_its_one_pass() -> None:
    files = folder(
        status("IMPLEMENT_LOOP", *gates(strategy="single-final")),
        **{"tasks.yaml": tasks(task(state="implemented"), task("T-002", "in-progress"))},
    )
    found = resumed(files, repository=CODE)
    assert sent(found)[:4] == ["Coder/T-002", "Reviewer/meta", "QA/meta", "Security/meta"]
    assert found.tasks == {"T-001": "completed", "T-002": "completed"}


def test_a_session_that_is_done_is_left_alone() -> None:
    files = begun("DONE", "completed", last_ci_result="green")
    found = resumed(files)
    assert events(found) == ["read_status", "end"]
    assert found.status == files["status.json"]


def test_lean_sessions() -> None:
    plan = {"project": {"name": "x", "definition_of_done": ["y"]}, "tasks": [task(state="implemented")]}
    files = {
        "status.json": status("IMPLEMENT_LOOP"),
        "spec.md": SPEC,
        "acceptance.json": folder({})["acceptance.json"],
        "tasks.yaml": plan,
    }
    found = resumed(files, repository=CODE)
    assert found.mode == "lean", "told from the files"
    assert sent(found) == ["Reviewer/T-001", "QA/T-001"]
    assert found.states == ["IMPLEMENT_LOOP", "INTEGRATE", "DONE"]
    assert codes(found) == []
    begin = resumed({"status.json": status("INTAKE_LEAN")})
    assert sent(begin) == sent(lean())


QUESTION = "Security finding in T-001: Sessions never end. Is it to be fixed (fix-now, fix-later, accept-risk)?"


@pytest.mark.parametrize(
    ("question", "answer", "states", "dispatches"),
    [
        (QUESTION, "fix-now", ["ASK_USER", "FIX_SECURITY"], ["Coder/T-001", "Reviewer/T-001", "QA/T-001"]),
        (QUESTION, "accept-risk", ["ASK_USER"], ["Reviewer/T-001", "QA/T-001"]),
        ("Is the security of it enough?", None, ["ASK_USER"], None),
        ("Review notes on T-001: none. Repair them first (fix), or continue?", "go on", ["ASK_USER"], None),
        ("FIX_TESTS of T-001 was tried 3 times: no. Take a different approach?", "guidance", ["ASK_USER"], None),
        ("FIX_TESTS of T-001 was tried 3 times: no. Take a different approach?", "simplify", ["ASK_USER"], None),
        ("Which colour?", None, ["ASK_USER"], ["Reviewer/T-001", "QA/T-001"]),
    ],
)
def test_open_questions_are_asked_first(question: str, answer: Any, states: list[str], dispatches: Any) -> None:
    """Whatever the state: what is pending is asked, and nothing is written before that."""
    pending = decision("UD-1", question=question)
    files = folder(
        status("IMPLEMENT_LOOP", *gates(), pending, retry_counts={"T-001": {"FIX_TESTS": 3}}),
        **{"tasks.yaml": tasks(task(state="implemented"))},
    )
    answers = [answer] if answer is not None else [None, {"cancel": "later"}]
    found = resumed(files, user={"UD-1": answers[:1] if question == "Which colour?" else answers}, repository=CODE)
    assert found.problems == ()
    assert found.states[: len(states)] == states
    assert events(found)[:3] == ["read_status", "enter_state", "ask"]
    assert found.final_state == "DONE"
    assert [each.code for each in found.findings if each.severity.value == "error"] == []
    if dispatches is not None:
        assert sent(found)[: len(dispatches)] == dispatches


def test_an_open_question_about_the_build() -> None:
    text = "FIX_BUILD of meta was tried 3 times: cmd: make test fails. Take a different approach?"
    files = begun("ASK_USER", "completed", last_ci_result="red", retry_counts={"meta": {"FIX_BUILD": 3}})
    files["status.json"]["user_decisions"].append(decision("UD-1", question=text, state_context="INTEGRATE"))
    found = resumed(files, user={"UD-1": ["different approach"]})
    assert found.states == ["ASK_USER", "FIX_BUILD", "INTEGRATE", "RELEASE", "DONE"]
    assert found.retry_counts == {"meta": {"FIX_BUILD": 1}}


def test_ask_user_without_an_open_question_goes_back() -> None:
    asked = decision("UD-1", "answered", "yes", state_context="PLAN")
    files = folder(status("ASK_USER", *gates(strategy=None), asked))
    found = resumed(files, user={"UD-REVIEW-STRATEGY": ["batch"]})
    assert found.states[:2] == ["ASK_USER", "PLAN"]


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize(
    ("context", "work", "states"),
    [
        ("FIX_REVIEW", "in-progress", ["FIX_REVIEW", "IMPLEMENT_LOOP"]),
        ("FIX_TESTS", "implemented", ["FIX_TESTS", "IMPLEMENT_LOOP"]),
        ("FIX_BUILD", "completed", ["FIX_BUILD", "INTEGRATE"]),
        ("REVIEW_STRATEGY", "not-started", ["REVIEW_STRATEGY", "IMPLEMENT_LOOP"]),
        ("RELEASE", "completed", ["RELEASE", "DONE"]),
    ],
)
def test_ask_user_goes_back_to_any_state(context: str, work: str, states: list[str], is_open: bool) -> None:
    asked = decision("UD-1", state_context=context) if is_open else decision("UD-1", "answered", "x")
    counts = {"T-001": {"FIX_REVIEW": 1, "FIX_TESTS": 1}, "meta": {"FIX_BUILD": 1}}
    files = begun("ASK_USER", work, last_ci_result="unknown", retry_counts=counts)
    files["status.json"]["user_decisions"].append({**asked, "state_context": context})
    found = resumed(files, user={"UD-1": ["yes"]} if is_open else {}, repository=CODE)
    assert found.states[:3] == ["ASK_USER", *states]
    assert found.final_state == "DONE"
    assert found.retry_counts == counts, "a round that was counted is not counted again"
    assert "TC801" not in codes(found)


@pytest.mark.parametrize(
    ("state", "context", "work", "dispatches"),
    [
        ("IMPLEMENT_LOOP", "DESIGN", "implemented", ["Reviewer/T-001", "QA/T-001"]),  # the design stays approved
        ("FIX_REVIEW", "IMPLEMENT_LOOP", "in-progress", ["Coder/T-001", "Reviewer/T-001"]),
        ("PLAN", "IMPLEMENT_LOOP", "not-started", ["Planner/meta", "Coder/T-001"]),  # and nothing is left out
    ],
)
def test_a_session_goes_on_where_it_stood(state: str, context: str, work: str, dispatches: list[str]) -> None:
    """A question that was left open in another state is asked; only ASK_USER itself goes back to where it came from."""
    files = begun(state, work, retry_counts={"T-001": {"FIX_REVIEW": 1}})
    files["status.json"]["user_decisions"].append(decision("UD-1", state_context=context))
    found = resumed(files, user={"UD-1": ["yes"], "UD-REVIEW-STRATEGY": ["batch"]}, repository=CODE)
    assert found.states[:2] == ["ASK_USER", state]
    assert sent(found)[: len(dispatches)] == dispatches
    assert found.final_state == "DONE"


@pytest.mark.parametrize("context", ["IMPLEMENT_LOOP", "FIX_TESTS"])
def test_a_task_that_is_given_up_on_resume_is_left_in_one_step(context: str) -> None:
    text = "FIX_TESTS of T-001 was tried 3 times: no. Take a different approach?"
    plan = tasks(task(state="implemented"), task("T-002"))
    asked = decision("UD-1", question=text, state_context=context)
    files = folder(
        status("ASK_USER", *gates(), asked, retry_counts={"T-001": {"FIX_TESTS": 3}}), **{"tasks.yaml": plan}
    )
    found = resumed(files, user={"UD-1": ["simplify"]})
    assert found.states == [*dict.fromkeys(["ASK_USER", context, "IMPLEMENT_LOOP"]), "INTEGRATE", "RELEASE", "DONE"]
    assert found.tasks == {"T-001": "blocked", "T-002": "completed"}
    assert codes(found) == ["TC711"]


@pytest.mark.parametrize("ref", ["T-001", "meta"])
@pytest.mark.parametrize("strategy", ["per-batch", "single-final"])
def test_a_review_that_is_lifted_after_a_break_was_done_before(ref: str, strategy: str) -> None:
    text = f"FIX_REVIEW of {ref} was tried 3 times: no. Take a different approach?"
    work = "completed" if (ref, strategy) == ("meta", "per-batch") else "implemented"
    asked = status("ASK_USER", *gates(strategy=strategy), decision("UD-1", question=text))
    asked["retry_counts"] = {ref: {"FIX_REVIEW": 3}}
    found = resumed(
        folder(asked, **{"tasks.yaml": tasks(task(state=work))}), user={"UD-1": ["accept"]}, repository=CODE
    )
    assert (found.final_state, codes(found)) == ("DONE", [])


@pytest.mark.parametrize("context", ["ASK_USER", "NOWHERE"])
def test_a_question_that_leads_nowhere(context: str) -> None:
    found = resumed(folder(status("ASK_USER", decision("UD-1", state_context=context)), **{"tasks.yaml": tasks()}))
    assert blockers(found) == ["TEAM_DECISION_UNRESOLVED"]


def test_a_blocked_session_has_to_be_told_where_to_go_on() -> None:
    files = begun("BLOCKED", "in-progress", blocker="subagent_failure")
    found = resumed(files)
    assert [problem.pointer for problem in found.problems] == ["/team/start"]
    again = resumed(files, start={"as": "IMPLEMENT_LOOP"}, repository=CODE)
    assert again.final_state == "DONE"
    assert "blocker" not in again.status


@pytest.mark.parametrize(
    ("agent", "file", "made"),
    [
        ("SpecAgent", "spec.md", True),
        ("SpecAgent", "acceptance.json", True),
        ("Architect", "adr/ADR-001.md", True),
        ("Designer", "design-specs/design-spec-form.md", True),
        ("Designer", "architecture.md", False),
        (None, "architecture.md", False),
    ],
)
def test_evidence_of_a_correction(agent: str | None, file: str, made: bool) -> None:
    answer = "changes-requested: smaller"
    at = None if agent is None else "2000-01-01T00:00:05Z"
    sent_out = {"agent": agent, "task_id": agent and "meta", "at": at}
    tracking = {"APPROVE_DESIGN": {"correction_status": "dispatched", "last_correction_dispatch": sent_out}}
    adr = "# A\n\n## Context\n\na\n\n## Decision\n\nb\n\n## Alternatives\n\nc\n\n## Consequences\n\nd\n"
    extra = {file: adr} if "/" in file else {}
    files = folder(
        status("APPROVE_DESIGN", *gates(answer, None), gate_tracking=tracking),
        **{"approve-design-history.jsonl": history(answer), **extra},
    )
    found = resumed(files, start={"mtimes": {file: "2000-01-01T00:00:09Z"}}, user={"UD-APPROVE-DESIGN": ["what?"]})
    if made:
        assert "ask" in events(found)
        assert found.status["gate_tracking"]["APPROVE_DESIGN"]["correction_status"] == "completed"
    else:
        assert blockers(found) == ["TEAM_CORRECTION_UNVERIFIED"]


def test_a_broken_artifact_is_no_evidence() -> None:
    answer = "changes-requested: smaller"
    sent_out = {"agent": "Architect", "task_id": "meta", "at": "2000-01-01T00:00:05Z"}
    tracking = {"APPROVE_DESIGN": {"correction_status": "dispatched", "last_correction_dispatch": sent_out}}
    files = folder(
        status("APPROVE_DESIGN", *gates(answer, None), gate_tracking=tracking),
        **{"approve-design-history.jsonl": history(answer), "architecture.md": "# Nothing\n"},
    )
    found = resumed(files, start={"mtimes": {"architecture.md": "2000-01-01T00:00:09Z"}})
    assert blockers(found) == ["TEAM_CORRECTION_UNVERIFIED"]


@pytest.fixture(params=["UTC", "Asia/Tokyo", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A machine that stands somewhere."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("second", "made"), [(4, False), (5, False), (6, True)])
def test_a_time_without_a_zone_is_the_same_everywhere(zone: str, second: int, made: bool) -> None:
    """It counts as UTC, so that evidence of a correction does not depend on where the machine stands."""
    answer = "changes-requested: smaller"
    sent_out = {"agent": "Architect", "task_id": "meta", "at": "2000-01-01T00:00:05"}
    tracking = {"APPROVE_DESIGN": {"correction_status": "dispatched", "last_correction_dispatch": sent_out}}
    files = folder(
        status("APPROVE_DESIGN", *gates(answer, None), gate_tracking=tracking),
        **{"approve-design-history.jsonl": history(answer)},
    )
    times = {"architecture.md": f"2000-01-01T00:00:0{second}Z"}
    found = resumed(files, start={"mtimes": times}, user={"UD-APPROVE-DESIGN": [{"cancel": "no"}]})
    assert blockers(found) == ["TEAM_GATE_DECISION_MISSING" if made else "TEAM_CORRECTION_UNVERIFIED"]


def test_the_clock_goes_on_behind_times_without_a_zone() -> None:
    asked = decision("UD-1", asked_at="2026-03-01T10:00:00")
    files = folder(status("ASK_USER", *gates(), asked, last_update="2026-03-01T10:00:00"), **{"tasks.yaml": tasks()})
    found = resumed(files, user={"UD-1": ["yes"]})
    assert set(codes(found)) == {"TC101"}
    assert found.status["last_update"] > "2026-03-01T10:00:00"


@pytest.mark.parametrize(
    "issue", ["T-001 left out (simplify): too much.", "T-001: too much", "Left for later (T-001)."]
)
def test_a_task_that_was_given_up_stays_so_however_the_issue_is_worded(issue: str) -> None:
    plan = tasks(task(state="blocked"), task("T-002"))
    found = resumed(folder(status("IMPLEMENT_LOOP", *gates(), known_issues=[issue]), **{"tasks.yaml": plan}))
    assert sent(found) == ["Coder/T-002", "Reviewer/T-002", "QA/T-002", *FINAL]
    assert found.tasks == {"T-001": "blocked", "T-002": "completed"}
    assert codes(found) == ["TC711"]  # a warning: the issue names the task
