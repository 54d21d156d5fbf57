"""What a run does step by step: messages, inputs, effects of answers, retries, and what a golden says of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from team_plays import DECIDED, SESSION, SINGLE, blockers, codes, events, full, lean, played, sent, task, tasks

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.systems.team import TeamRun, questions, run
from pytest_workrail.systems.team.questions import Effect, Kind, effect, topic_of
from pytest_workrail.systems.team.states import advised_strategy
from pytest_workrail.systems.team.team_run import SessionNormalizer
from workrail_lint.documents.json_reader import read_json
from workrail_lint.systems.team.model.build import backlog_model
from workrail_lint.systems.team.roles import review_verdict
from workrail_lint.systems.team.rules import RULES
from workrail_lint.systems.team.vocabulary import AgentName, DecisionStatus, FixLoop, Strategy

BLOCKED = {"output": {"status": "BLOCKED"}}
NOTES = {
    "output": {
        "summary": "Verdict: PASS WITH NOTES.",
        "artifacts": {"review_comments": [{"severity": "nit", "message": "A better name.", "category": "Quality"}]},
    }
}
CONVENTIONS = ".github/copilot-instructions.md"


# --------------------------------------------------------------------------------------------- dispatches


def test_the_parts_of_a_message() -> None:
    parts = ["role", "contract", "session", "input", "first-steps"]
    assert {tuple(each["parts"]) for each in lean().dispatches} == {tuple(parts)}
    with_conventions = lean(repository={CONVENTIONS: "Be kind.\n"})
    parts.insert(2, "conventions")
    assert {tuple(each["parts"]) for each in with_conventions.dispatches} == {tuple(parts)}
    assert with_conventions.status["runtime_flags"]["copilot_instructions_exists"] is True
    assert codes(with_conventions) == []


def test_questions_without_an_answer_can_be_answered_by_a_function() -> None:
    asked: list[str] = []

    def otherwise(ident: str) -> str:
        asked.append(ident)
        return {"UD-APPROVE-DESIGN": "approved", "UD-REVIEW-STRATEGY": "per-batch"}[ident]

    found = run({"mode": "full"}, otherwise=otherwise)
    assert asked == ["UD-APPROVE-DESIGN", "UD-REVIEW-STRATEGY"]
    assert (found.final_state, found.problems) == ("DONE", ())
    scripted = run({"mode": "full", "user": {"UD-APPROVE-DESIGN": ["approved"]}}, otherwise=otherwise)
    assert asked[2:] == ["UD-REVIEW-STRATEGY"]
    assert scripted.golden == found.golden


def test_the_text_of_a_message(tmp_path: Path) -> None:
    from pytest_workrail.scenarios.drivers import SimulatedClock
    from pytest_workrail.systems.team.dispatch import message
    from pytest_workrail.systems.team.run_state import SessionState
    from workrail_lint.systems.team.scenario import Team
    from workrail_lint.systems.team.vocabulary import AgentName, Mode

    stage = SessionState(tmp_path, SESSION, Team.model_validate({}), Mode.FULL, SimulatedClock())
    texts = dict(message(stage, AgentName.CODER, b'{"task": 1}', conventions=True))
    assert ".github/agents/04-coder.md" in texts["role"]
    assert f".agents-work/{SESSION}/" in texts["session"]
    assert '{"task": 1}' in texts["input"]
    assert "ranks below" in texts["conventions"]
    steps = texts["first-steps"]
    order = [CONVENTIONS, "context files", "04-coder.md", "do the work", "tasks.yaml", "JSON"]
    places = [steps.index(word) for word in order]
    assert places == sorted(places)
    assert "tasks.yaml" not in dict(message(stage, AgentName.QA, b"{}", conventions=False))["first-steps"]


def test_context_files_are_those_of_the_role() -> None:
    found = full(flags={"ui": True, "research": True})
    given_ = {
        each["agent"]: [path.rpartition(f"{SESSION}/")[2] for path in each["context_files"]]
        for each in found.dispatches
    }
    spec, research = "design-specs/design-spec-main.md", "research/research-main.md"
    assert given_["SpecAgent"] == []
    assert given_["Architect"] == ["acceptance.json", research, "spec.md"]
    assert given_["Planner"] == ["acceptance.json", "architecture.md", spec, research, "spec.md"]
    assert given_["Coder"] == ["architecture.md", spec, "spec.md", "tasks.yaml"]
    assert given_["Security"] == ["architecture.md", "tasks.yaml"]
    assert given_["Docs"] == ["acceptance.json", "architecture.md", "spec.md", "tasks.yaml"]


def test_what_is_sent_again_is_the_same() -> None:
    found = full(replies={"Docs/meta#1": {"fault": "error"}, "Docs/meta#2": {"files": {"report.md": "# Nothing\n"}}})
    tries = [event for event in found.named("dispatch") if event["agent"] == "Docs"]
    assert [event["attempt"] for event in tries] == [1, 2, 3]
    assert len({event["input"] for event in tries}) == 1
    assert [event["reason"] for event in found.named("dispatch_error")] == ["error", "guard"]
    assert found.final_state == "DONE"


def test_a_conscientious_agent_stops_at_a_broken_context_file() -> None:
    """Nobody says what the Planner does, so it does what the contract asks for: it names the file and the rule."""
    from team_plays import folder, gates, resumed, status

    files = folder(status("PLAN", *gates(strategy=None)), **{"architecture.md": "# Empty\n"})
    found = resumed(files)
    (blocker,) = found.blockers
    assert blocker.code.value == "TEAM_AGENT_BLOCKED"
    assert "architecture.md" in blocker.suggested_fix
    assert "TC410" in blocker.suggested_fix


def test_silence_about_what_security_refuses_is_no_answer() -> None:
    """Security raised the question by refusing a fourth time, so nobody but the user may close it."""
    replies = {f"Security/T-001#{number}": BLOCKED for number in range(1, 5)}
    team: dict[str, Any] = {"flags": {"sensitive": ["T-001"]}, "replies": replies}
    found = full({"UD-1": [None, "accept with known issues"]}, **team)
    assert [event["decisions"] for event in found.named("ask")][2:] == [["UD-1"], ["UD-1"]]
    assert (found.final_state, codes(found)) == ("DONE", [])
    silent = full({"UD-1": [None] * 4}, **team)
    assert blockers(silent) == ["TEAM_DECISION_UNRESOLVED"]
    assert codes(silent) == ["TC222"]


def test_silence_about_what_others_say_of_security_is_an_answer() -> None:
    """The word alone does not make it a question of Security: the run knows who asked."""
    wanted = {"output": {"status": "NEEDS_INFO", "artifacts": {"notes": ["Which security level?"]}}}
    found = full({"UD-1": [None]}, flags={"research": True}, replies={"Researcher/meta": wanted})
    assert [(each.code, each.severity.value) for each in found.findings] == [("TC224", "warning")]
    assert found.final_state == "DONE"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"tasks.yaml": tasks(task(state="completed"))}, "TC811"),
        ({"repo:.agents-work/1999-12-01_old-work/notes.md": "x"}, "TC809"),
        ({"repo:../outside.txt": "x"}, ""),
    ],
)
def test_a_violation_is_told_by_its_rule(files: dict[str, Any], code: str) -> None:
    found = full(replies={"Coder/T-001": {"files": files}})
    (blocker,) = found.blockers
    assert blocker.code.value == "TEAM_PROTOCOL_VIOLATION"
    rule = next((rule for rule in RULES.rules() if rule.code == code), None)
    if rule is None:
        assert blocker.message.startswith("Coder tried")
    else:
        assert blocker.message.startswith(f"{code} Coder")
        assert blocker.suggested_fix.startswith(("Only the Orchestrator", "Older sessions are read-only."))


def test_a_missing_plan_of_a_lean_session_is_asked_of_its_owner() -> None:
    from team_plays import folder, resumed, status

    files = folder(status("IMPLEMENT_LOOP"), **{"architecture.md": None})
    (blocker,) = resumed(files, mode="lean").blockers
    assert (blocker.pointer["file"], blocker.suggested_fix) == ("tasks.yaml", "Have SpecAgent write tasks.yaml")


def test_nothing_is_assumed_when_defaults_are_none() -> None:
    found = played(defaults="none", mode="lean")
    assert [problem.pointer for problem in found.problems] == ["/team/replies"]
    assert "SpecAgent/meta#1" in found.problems[0].message
    spec = "# S\n\n## Goals\n\na\n\n## Acceptance Criteria\n\nb\n\n## Definition of Done\n\nc\n"
    written = played(
        defaults="none", mode="lean", replies={"SpecAgent/meta": {"files": {"spec.md": spec}}, "SpecAgent/meta#2": {}}
    )
    assert written.named("dispatch_error")[0]["reason"] == "guard"
    assert set(written.artifacts) == {"spec.md"}


def test_a_coder_that_forgets_the_plan() -> None:
    """Without defaults nobody moves the task for the Coder; its OK is its word, and the Orchestrator writes it down."""
    plan = json.dumps(tasks(task()))
    spec = full().artifacts
    assert "spec.md" in spec
    replies: dict[str, Any] = {"Coder/T-001": {"files": {"tasks.yaml": plan}}}
    found = full(replies={"Planner/meta": {"files": {"tasks.yaml": plan}}, **replies})
    moves = [(event["status"], event.get("by")) for event in found.named("task_status")]
    assert moves[-3:] == [("in-progress", None), ("implemented", None), ("completed", None)]


# ------------------------------------------------------------------------------------------------ questions


def test_questions_and_answers_about_nothing_in_particular() -> None:
    """An answer that says nothing about a security finding settles the question, but not the finding."""
    replies = {f"Security/T-001#{n}": {"output": {"status": "NEEDS_DECISION"}} for n in (1, 2)}
    user = {**DECIDED, "UD-1": ["what do you think?"], "UD-2": ["accept-risk"]}
    found = played(user=user, replies=replies, flags={"sensitive": ["T-001"]})
    assert [entry["status"] for entry in found.decisions] == ["answered"] * 4
    assert sent(found).count("Security/T-001") == 2
    assert len(found.known_issues) == 1


def test_a_loop_that_the_user_has_no_word_for() -> None:
    replies = {f"QA/T-001#{n}": BLOCKED for n in range(1, 6)}
    found = played(user={**DECIDED, "UD-1": ["hm"], "UD-2": ["simplify"]}, replies=replies)
    assert found.tasks == {"T-001": "blocked"}
    assert found.states.count("FIX_TESTS") == 3
    assert found.final_state == "DONE"
    assert codes(found) == ["TC711"], "a warning: the known issues name the task"


def test_notes_after_three_repairs_start_the_count_again() -> None:
    replies = {**{f"Reviewer/T-001#{n}": BLOCKED for n in (1, 2, 3)}, "Reviewer/T-001#4": NOTES}
    found = played(user={**DECIDED, "UD-1": ["fix"]}, replies=replies)
    counts = [event["count"] for event in found.named("retry_count")]
    assert counts == [1, 2, 3, 0, 1]
    assert found.final_state == "DONE"


def test_the_recommended_agent_repairs() -> None:
    reply = {"output": {"status": "BLOCKED", "next": {"recommended_agent": "QA"}}}
    found = played(user=DECIDED, replies={"QA/T-001#1": reply})
    in_loop = [event["agent"] for event in found.named("dispatch") if event["state"] == "FIX_TESTS"]
    assert in_loop == ["QA"]


def test_a_final_pass_that_is_waived_is_not_repeated() -> None:
    replies = {f"Reviewer/meta#{n}": BLOCKED for n in range(1, 5)} | {"QA/meta#1": BLOCKED}
    found = played(user={**SINGLE, "UD-1": ["accept"]}, replies=replies)
    assert sent(found).count("Reviewer/meta") == 4
    assert found.final_state == "DONE"
    assert codes(found) == []


def test_a_finding_that_may_stay_does_not_pass_one_that_is_to_be_fixed() -> None:
    findings = [{"severity": "medium", "category": "Auth", "description": f"Finding {number}."} for number in (1, 2)]
    found = full(
        {**DECIDED, "UD-1": ["fix-now"], "UD-2": ["fix-later"]},
        flags={"sensitive": ["T-001"]},
        replies={"Security/T-001": {"output": {"status": "NEEDS_DECISION", "artifacts": {"findings": findings}}}},
    )
    assert sent(found).count("Security/T-001") == 2  # who blocked looks again at what was repaired
    assert found.states.count("FIX_SECURITY") == 1
    assert len(found.known_issues) == 1
    assert codes(found) == []


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        ("All tests PASS. Verdict: PASS WITH NOTES.", "PASS WITH NOTES"),
        ("Unit tests PASS, but the module NEEDS FIXES.", "NEEDS FIXES"),
        ("**VERDICT**: PASS. Nothing that NEEDS FIXES.", "PASS"),
        ("The verdict is PASS WITH NOTES", "PASS WITH NOTES"),
        ("It would PASS WITH NOTES", "PASS WITH NOTES"),
        ("PASSED, BYPASS", ""),
        (None, ""),
    ],
)
def test_the_verdict_of_a_review(summary: object, verdict: str) -> None:
    assert review_verdict(summary) == verdict


def test_a_release_that_turns_red_for_good() -> None:
    results = ["pass", "fail", "pass", "fail", "pass", "fail", "pass", "fail"]
    found = played(user={**DECIDED, "UD-1": [None]}, checks={"cmd: make test": results})
    assert found.final_state == "BLOCKED"
    (blocker,) = found.blockers
    assert (blocker.code.value, blocker.pointer["state"]) == ("TEAM_CI_RED", "RELEASE")


@pytest.mark.parametrize("mode", ["lean", "full"])
def test_checks_without_a_way_to_run_them(mode: str) -> None:
    plan = tasks(task(type="docs"))
    replies = {"SpecAgent/meta" if mode == "lean" else "Planner/meta": {"files": {"tasks.yaml": plan}}}
    user = {} if mode == "lean" else DECIDED
    found = played(mode=mode, user=user, replies=replies, request={"tools_available": ["read_file"]})
    (blocker,) = found.blockers
    assert blocker.code.value == "TEAM_TESTS_NOT_RUNNABLE"
    assert blocker.pointer == {"kind": "task", "taskId": "T-001"}
    assert found.states[-2] == "INTEGRATE"


def test_a_run_has_so_many_steps() -> None:
    found = played(limits={"steps": 3})
    assert blockers(found) == ["TEAM_PROTOCOL_VIOLATION"]
    assert "3 steps" in found.blockers[0].message


REFS = st.sampled_from(["T-001", "T-1234", "meta"])
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=40)


@given(REFS, TEXTS, st.sampled_from(list(FixLoop)))
def test_a_stored_question_says_what_it_is_about(ref: str, text: str, loop: FixLoop) -> None:
    for question in (questions.security(ref, text), questions.notes(ref, text), questions.exhausted(loop, ref, text)):
        assert topic_of(question.text) == question.topic
    assert topic_of(questions.info(text).text).kind is Kind.INFO


@given(st.one_of(st.none(), st.text(max_size=20), st.integers()))
def test_any_question_is_about_something(text: Any) -> None:
    assert topic_of(text).kind in Kind


@given(st.sampled_from(list(DecisionStatus)), st.none() | st.text(max_size=12), st.sampled_from(list(FixLoop)))
def test_what_is_not_answered_never_starts_work(status: DecisionStatus, answer: str | None, loop: FixLoop) -> None:
    topics = [questions.security("T-001", "a").topic, questions.notes("T-001", "a").topic]
    for topic in (*topics, questions.exhausted(loop, "T-001", "a").topic):
        found = effect(topic, status, answer)
        if status is not DecisionStatus.ANSWERED:
            assert found in (Effect.CONTINUE, Effect.WAIVE)


# -------------------------------------------------------------------------------------------------- goldens


def test_a_golden_has_its_members_in_order() -> None:
    found = lean()
    value = found.golden
    assert set(value) == {
        "pack",
        "scenario",
        "mode",
        "trace",
        "states",
        "dispatches",
        "decisions",
        "tasks",
        "retryCounts",
        "artifacts",
        "finalState",
        "blockers",
        "findings",
        "locks",
    }
    text = found.golden_bytes.decode()
    assert text == json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    assert SESSION not in text
    assert "2000-01-01T" not in text
    assert "«SESSION»" in text
    assert "«TS»" in text
    assert value["artifacts"]["spec.md"]["headings"][0] == "Specification"
    assert value["artifacts"]["tasks.yaml"]["tasks"][0]["status"] == "completed"


def test_line_endings_and_trailing_blanks_do_not_show() -> None:
    spec = "# S\n\n## Goals\n\na\n\n## Acceptance Criteria\n\nAC-001\n\n## Definition of Done\n\nc\n"
    odd = spec.replace("\n", "  \r\n")
    goldens = [lean(replies={"SpecAgent/meta": {"files": {"spec.md": text}}}).golden for text in (spec, odd)]
    assert goldens[0]["artifacts"]["spec.md"] == goldens[1]["artifacts"]["spec.md"]


def test_what_is_of_one_machine_is_replaced(tmp_path: Path) -> None:
    normalizer = SessionNormalizer(tmp_path, SESSION)
    value = {
        "at": "2026-03-01T10:00:00.5+01:00",
        "file": f"{tmp_path}/src/a.py",
        "other": "/home/somebody/a.py",
        "drive": "C:\\a.py",
        "text": f"written 2026-03-01T10:00:00Z in {SESSION}",
        "pointer": "/tasks/0",
        "none": None,
        SESSION: 1,
    }
    assert normalizer.value(value) == {
        "at": "«TS»",
        "file": "src/a.py",
        "other": "«ABS»",
        "drive": "«ABS»",
        "text": "written «TS» in «SESSION»",
        "pointer": "/tasks/0",
        "none": None,
        "«SESSION»": 1,
    }


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(-9, 9) | st.none(), max_size=4))
def test_the_text_of_a_golden_can_be_read_again(value: dict[str, Any]) -> None:
    assert read_json(dumps(value)).value == value


SCRIPT = """
import sys
from pytest_workrail.systems.team import run
assert "pytest" not in sys.modules, "a run needs no pytest"
user = {"UD-APPROVE-DESIGN": ["changes-requested: a", "approved"], "UD-REVIEW-STRATEGY": ["batch"]}
sys.stdout.buffer.write(run({"session": "2000-01-01_add-login", "user": user, "flags": {"ui": True}}).golden_bytes)
"""


def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Another hash seed, another time zone, another working folder, another folder for temporary files."""
    root = Path(__file__).resolve().parents[2]
    outputs = []
    for seed, zone, name in (("1", "UTC", "a"), ("2", "Asia/Tokyo", "b")):
        place = tmp_path / name
        place.mkdir()
        settings_ = {"PYTHONHASHSEED": seed, "TZ": zone, "TMPDIR": str(place), "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=place, env={**os.environ, **settings_}, capture_output=True, check=True
        )
        outputs.append(done.stdout)
        assert list(place.iterdir()) == [], "nothing is left behind"
    assert outputs[0] == outputs[1]
    assert b"finalState" in outputs[0]


@cache
def _plain() -> TeamRun:
    return full()


@given(st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=5, deadline=None)
def test_lost_writes_never_change_what_comes_of_a_run(first: int, second: int) -> None:
    """However often a write is lost within the limit, the session ends with the same files."""
    faults = [
        {"op": "write", "file": "status.json", "nth": nth, "kind": "corrupt"}
        for nth in [*range(1, 1 + first), *range(2 + first, 2 + first + second)]
    ]
    found = full(faults=faults)
    plain = _plain()
    assert found.final_state == "DONE"
    assert found.golden["artifacts"] == plain.golden["artifacts"]
    assert events(found).count("ask") == events(plain).count("ask")


@pytest.mark.parametrize(
    ("tasks", "strategy"),
    [
        ([{"id": "T-001"}], Strategy.SINGLE_FINAL),
        ([{"risk_flags": ["none"]}], Strategy.SINGLE_FINAL),
        ([{"risk_flags": ["perf"]}], Strategy.PER_BATCH),
        ([{"depends_on": ["T-001"]}], Strategy.SINGLE_FINAL),
        ([{"depends_on": ["T-001", "T-002"]}], Strategy.PER_BATCH),
        ([{}] * 4, Strategy.SINGLE_FINAL),
        ([{}] * 5, Strategy.PER_BATCH),
    ],
)
def test_the_strategy_that_is_advised(tasks: list[dict[str, Any]], strategy: Strategy) -> None:
    assert advised_strategy(backlog_model({"tasks": tasks}).tasks) is strategy


def test_an_invalid_output_says_what_is_invalid() -> None:
    wrong = {"output": {"status": "DONE", "next": {"recommended_agent": "tester"}}}
    found = lean(replies={f"Coder/T-001#{number}": wrong for number in (1, 2, 3)})
    failures = [event for event in found.events if event["event"] == "dispatch_error"]
    assert [event["problems"] for event in failures] == [
        [
            "TC531 unknown value 'DONE' for 'status'; expected one of OK, BLOCKED, NEEDS_INFO, NEEDS_DECISION, FAIL",
            "TC531 unknown value 'tester' for 'recommended_agent' of next; expected one of " + ", ".join(AgentName),
        ]
    ] * 3
    (blocker,) = found.blockers
    assert blocker.message == f"Coder with T-001 failed 3 times: {'; '.join(failures[-1]['problems'])}"


def test_a_reply_about_web_pages_is_noticed_in_a_cli_session() -> None:
    xss = {"severity": "medium", "category": "XSS", "description": "The help echoes input."}
    reply = {"output": {"status": "NEEDS_DECISION", "artifacts": {"findings": [xss]}}}
    members = {"flags": {"sensitive": ["T-001"]}, "replies": {"Security/T-001": reply}}
    noticed = {
        kind: codes(full({"UD-1": ["accept-risk"]}, request={"project_type": kind}, **members))
        for kind in ("cli", "web")
    }
    assert noticed == {"cli": ["TC550"], "web": []}
