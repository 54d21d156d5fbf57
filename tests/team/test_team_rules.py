"""Single rules at their edges: what just triggers them, what just does not, what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from team_probe import codes, lint_paths, lint_text, write_files

from workrail_lint.findings import Severity
from workrail_lint.systems.team.roles import may_write
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.rules.outputs import sentence_count
from workrail_lint.systems.team.sections import normal_title
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    ac_ids_in,
    is_check,
    is_session_name,
    is_task_id,
    is_timestamp,
    machine_reason,
    moment,
    session_parts,
)


def found(content: Any, path: str, **options: object) -> list[str]:
    return [finding.code for finding in lint_text(content, path, options)]


# -------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("2026-03-01T10:00:00Z", True),
        ("2026-03-01T10:00:00.123456789+02:00", True),
        ("2026-03-01T10:00:00-0130", True),
        ("2024-02-29T00:00:00Z", True),
        ("2026-02-29T00:00:00Z", False),
        ("2026-03-01T24:00:00Z", False),
        ("2026-03-01T10:60:00Z", False),
        ("2026-03-01T10:00:00.1234567890Z", False),
        ("2026-03-01T10:00Z", False),
        ("2026-03-01 10:00:00Z", False),
        ("2026-03-01T10:00:00", False),
        ("2026-03-01T10:00:00+25:00", False),
        ("2026-03-01T10:00:00Z\n", False),
        ("0000-01-01T00:00:00Z", False),
    ],
)
def test_timestamps(text: str, is_good: bool) -> None:
    assert is_timestamp(text) is is_good


def test_times_compare_across_zones() -> None:
    early, late = moment("2026-03-01T10:00:00+02:00"), moment("2026-03-01T09:00:00Z")
    assert early is not None
    assert late is not None
    assert early.instant < late.instant
    assert not late.instant < early.instant
    tiny = moment("2026-03-01T09:00:00.000000001Z")
    assert tiny is not None
    assert late.instant < tiny.instant


def test_ids_and_paths() -> None:
    assert is_task_id("T-1234")
    assert not is_task_id("T-12")
    assert is_session_name("2026-03-01_a")
    assert not is_session_name("2026-03-01_A-b")
    assert is_check("cmd: x")
    assert not is_check("cmd:x")
    assert not is_check("manual:  ")
    assert machine_reason("src/a..b/c.js") is None
    assert machine_reason("a/..") == "leaves the repository"
    assert session_parts("./.agents-work/s/adr/x.md") == ("s", "adr/x.md")
    assert session_parts(".agents-work//s/./x.md") == ("s", "x.md")
    assert session_parts(".agents-work/s/../t/x.md") is None
    assert session_parts("/.agents-work/s/x.md") is None
    assert ac_ids_in("AC-001, AC-LOGIN-002; XAC-003 AC-0044 AC-005x AC-006-a AC-007.") == [
        "AC-001",
        "AC-LOGIN-002",
        "AC-007",
    ]


@pytest.mark.parametrize(
    ("title", "normal"),
    [
        ("1. Goals", "goals"),
        ("2) Goals", "goals"),
        ("3.1 Goals", "goals"),
        ("3.1. Goals", "goals"),
        ("GOALS:", "goals"),
        ("Goals (draft)", "goals"),
        ("Goals - what we want", "goals"),
        ("Goals – what we want", "goals"),
        ("Definition   of\tDone — v2", "definition of done"),
        ("Ｇｏａｌｓ", "goals"),
        ("2026 goals", "2026 goals"),
        ("Non-goals", "non-goals"),
    ],
)
def test_titles(title: str, normal: str) -> None:
    assert normal_title(title) == normal


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One.", 1),
        ("One", 1),
        ("One. Two! Three?", 3),
        ("It is in app.js, version 1.2.3, e.g. the form.", 1),
        ("Wait... what? Yes.", 2),
        ("He said (see above.) And left.", 2),
        ("One.\n\nTwo.", 2),
        ("", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert sentence_count(text) == count


# --------------------------------------------------------------------------------------------------------- status


def test_ci_result_is_needed_from_integration_on() -> None:
    for state in ("INTEGRATE", "RELEASE", "DONE", "FIX_BUILD"):
        assert "TC101" in found(samples.status(state), samples.STATUS)
    for state in ("IMPLEMENT_LOOP", "BLOCKED", "FIX_TESTS"):
        assert "TC101" not in found(samples.status(state, blocker="agent_blocked"), samples.STATUS)
    # A question is as far as the state it returns to.
    asked = samples.decision(answer=None, state_context="INTEGRATE")
    assert "TC101" in found(samples.status("ASK_USER", asked), samples.STATUS)
    assert found(samples.status("ASK_USER", {**asked, "state_context": "PLAN"}), samples.STATUS) == []


def test_a_first_status_needs_little() -> None:
    assert found(samples.status("INTAKE"), samples.STATUS) == []


def test_numbers_of_decisions() -> None:
    def numbers(*idents: str) -> list[str]:
        return found(samples.status("DESIGN", *map(samples.decision, idents)), samples.STATUS)

    assert numbers("UD-1", "UD-2") == []
    assert numbers("UD-2", "UD-1") == ["TC204"]
    assert numbers("UD-0") == ["TC204"]
    assert numbers("UD-1", "UD-01") == ["TC202", "TC204"]
    assert numbers("UD-1", "UD-5") == ["TC204"]
    (gap,) = lint_text(samples.status("DESIGN", samples.decision("UD-4")), samples.STATUS)
    assert "UD-1 to UD-3 are missing" in gap.message


def test_pending_while_blocked_is_a_warning() -> None:
    status = samples.status("BLOCKED", samples.decision(answer=None), blocker="agent_failed")
    (finding,) = lint_text(status, samples.STATUS)
    assert (finding.code, finding.severity) == ("TC222", Severity.WARNING)


def test_silence_about_security_is_an_error_where_the_source_is_known() -> None:
    silent = samples.decision(
        answer=None,
        question="Security: accept the risk?",
        status="cancelled",
        resolved_at="2026-03-01T10:05:00Z",
        resolution_reason="no response provided",
    )
    for options, level in (({}, Severity.WARNING), ({"team-simulated": True}, Severity.ERROR)):
        (finding,) = lint_text(samples.status("DESIGN", silent), samples.STATUS, options)
        assert (finding.code, finding.severity) == ("TC224", level)


def test_a_gate_in_its_own_state_may_be_pending() -> None:
    status = samples.status("APPROVE_DESIGN", samples.decision("UD-APPROVE-DESIGN", None))
    assert found(status, samples.STATUS) == []


def test_cancelled_correction_members() -> None:
    tracking = {"APPROVE_DESIGN": {"correction_status": None, "last_correction_dispatch": None}}
    assert found(samples.status(gate_tracking=tracking), samples.STATUS) == []
    empty = {"agent": None, "task_id": None, "at": None}
    assert (
        found(samples.status(gate_tracking=samples.correction("none", last_correction_dispatch=empty)), samples.STATUS)
        == []
    )
    assert found(
        samples.status(gate_tracking=samples.correction("completed", last_correction_dispatch=empty)), samples.STATUS
    ) == ["TC117"]


def test_a_correction_has_the_task_meta_and_a_time() -> None:
    dispatch = {"agent": "Architect", "task_id": "T-001", "at": 7}
    tracking = samples.correction("dispatched", last_correction_dispatch=dispatch)
    findings = lint_text(samples.status("APPROVE_DESIGN", gate_tracking=tracking), samples.STATUS, {})
    messages = {finding.pointer.rpartition("/")[2]: finding.message for finding in findings if finding.code == "TC117"}
    assert messages == {
        "task_id": "a correction must have the task meta, not 'T-001'",
        "at": "'at' must be a date-time, not a number",
    }


# ---------------------------------------------------------------------------------------------------------- tasks


def test_with_single_final_implemented_is_done(tmp_path: Path) -> None:
    second = samples.task("T-002", status="implemented", depends_on=["T-001"])
    plan = samples.tasks(samples.task(status="implemented"), second)
    assert found(plan, samples.TASKS) == ["TC314"]
    status = samples.status("IMPLEMENT_LOOP", samples.approved(), samples.strategy("single-final"))
    write_files(tmp_path, samples.session({samples.TASKS: plan, samples.STATUS: status}))
    assert lint_paths(tmp_path) == []


def test_cycles_are_told_once() -> None:
    items = [
        samples.task("T-001", depends_on=["T-002"]),
        samples.task("T-002", depends_on=["T-003"]),
        samples.task("T-003", depends_on=["T-001"]),
        samples.task("T-004", depends_on=["T-001"], type="test"),
    ]
    cycles = [f for f in lint_text(samples.tasks(*items), samples.TASKS) if f.code == "TC313"]
    assert [f.message.partition(": ")[2] for f in cycles] == ["T-001, T-002, T-003, T-001"]


def test_a_cycle_starts_with_its_first_task() -> None:
    into = samples.task(depends_on=["T-003"])
    cycle = (samples.task("T-002", depends_on=["T-003"]), samples.task("T-003", depends_on=["T-002"]))
    told = [f for f in lint_text(samples.tasks(into, *cycle), samples.TASKS) if f.code == "TC313"]
    assert [(f.pointer, f.message.rpartition(": ")[2]) for f in told] == [
        ("/tasks/1/depends_on", "T-002, T-003, T-002")
    ]


@pytest.mark.parametrize(
    ("members", "pointer", "message"),
    [
        ({"goal": ...}, "/tasks/0", "'goal' is missing from T-001"),
        ({"goal": " "}, "/tasks/0/goal", "'goal' of T-001 is empty"),
        ({"goal": 10}, "/tasks/0/goal", "'goal' of T-001 must be a string, not a number"),
        (
            {"acceptance_checks": []},
            "/tasks/0/acceptance_checks",
            "'acceptance_checks' of T-001 is empty; write a list such as [\"cmd: npm test\"]",
        ),
    ],
)
def test_what_is_there_is_not_called_missing(members: dict[str, Any], pointer: str, message: str) -> None:
    told = [f for f in lint_text(samples.tasks(samples.task(**members)), samples.TASKS) if f.code == "TC303"]
    assert [(f.pointer, f.message) for f in told] == [(pointer, message)]


@pytest.mark.parametrize(
    ("entry", "message", "fixed"),
    [
        ("npm test", "must start with 'cmd: ' or", True),
        ("CMD: npm test", "must start with 'cmd: ' or", False),  # `cmd: CMD: npm test` would be no better
        (" manual: look", "must start with 'cmd: ' or", False),
        ("cmd:  ", "has nothing after its prefix", False),
        (5, "must be a string", False),
    ],
)
def test_checks_that_are_none(entry: Any, message: str, fixed: bool) -> None:
    given = samples.agent_input({**samples.given(), "acceptance_checks": [entry]})
    plan = samples.tasks(samples.task(acceptance_checks=[entry]))
    for document, path, code in ((plan, samples.TASKS, "TC310"), (given, samples.exchange("Coder"), "TC310")):
        (told,) = (f for f in lint_text(document, path) if f.code == code)
        assert message in told.message
        assert (told.fix is not None) is fixed


def test_legacy_dependencies_are_not_missing_ones() -> None:
    plan = samples.tasks(samples.task(depends_on=...)).replace("    goal:", "    deps: []\n    goal:")
    assert found(plan, samples.TASKS) == ["TC318"]


# ------------------------------------------------------------------------------------------------------- documents


def test_numbered_and_decorated_sections_count() -> None:
    spec = samples.spec()
    for name in ("Goals", "Acceptance Criteria", "Definition of Done"):
        spec = spec.replace(f"## {name}\n", f"### 2.1 **{name}** (final) ##\n")
    assert found(spec, samples.SPEC) == []


def test_a_section_in_a_code_block_does_not_count() -> None:
    spec = samples.spec("Goals") + "\n```\n## Goals\n\ntext\n```\n"
    assert found(spec, samples.SPEC) == ["TC410"]


def test_a_section_may_hold_its_content_in_deeper_sections() -> None:
    assert found(samples.spec(goals="### First\n\nLog in."), samples.SPEC) == []
    assert found(samples.spec(goals="### First"), samples.SPEC) == ["TC412"]
    assert found(samples.spec(goals="<!-- to do -->"), samples.SPEC) == ["TC412"]


def test_a_missing_section_is_told_with_the_titles_of_the_project() -> None:
    (told,) = lint_text(samples.spec("Goals"), samples.SPEC, {"team-section-aliases": {"goals": ["Ziele", "/zweck/"]}})
    assert told.message.endswith("the heading goals, goal, Ziele or zweck")


RECORD = samples.document("Context", "Decision", "Alternatives", "Consequences", "Notes", title="Use sessions")


def test_a_decision_record_should_have_notes() -> None:
    path = f"{samples.FOLDER}/adr/ADR-001.md"
    assert found(RECORD, path) == []
    (told,) = lint_text(RECORD.partition("## Notes")[0], path)
    assert (told.code, told.severity, told.pointer) == ("TC413", Severity.INFO, "#Notes")
    assert found(RECORD.partition("## Notes")[0], path, **{"team-mode": "lean"}) == []


def test_an_empty_section_of_a_side_document_is_told_too() -> None:
    (told,) = lint_text("## Context\n\n" + RECORD.replace("## Context\n\n", "## "), f"{samples.FOLDER}/adr/ADR-001.md")
    assert (told.code, told.severity, told.pointer) == ("TC412", Severity.ERROR, "#Context")


def test_a_side_folder_holds_its_documents_alone(tmp_path: Path) -> None:
    strays = ("adr/first.txt", "adr/old/ADR-001.md", "design-specs/form.png", "research/research.MD")
    files = {f"{samples.FOLDER}/{name}": "x" for name in (*strays, "adr/.gitkeep")}
    write_files(tmp_path, samples.session(files))
    told = [(f.path.removeprefix(f"{samples.FOLDER}/"), f.code, f.severity) for f in lint_paths(tmp_path)]
    assert told == [(name, "TC416", Severity.WARNING) for name in strays]


def test_a_report_before_the_end_is_warned_about(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session({samples.REPORT: samples.report("Known issues")}))
    assert [(f.code, f.severity) for f in lint_paths(tmp_path)] == [("TC413", Severity.WARNING)]


def test_stories_in_tables_and_headings_are_counted() -> None:
    table = "| id | story |\n| --- | --- |\n| 1 | a |\n| 2 | b |\n| 3 | c |"
    assert found(samples.spec(user=table), samples.SPEC) == []
    headings = "### One\n\nx\n\n### Two\n\nx\n\n### Three\n\nx"
    assert found(samples.spec(user=headings), samples.SPEC) == []
    nested = "- a\n  - b\n  - c\n- d"
    assert found(samples.spec(user=nested), samples.SPEC) == ["TC413"]


# ------------------------------------------------------------------------------------------------------- exchanges


def test_the_orchestrator_is_given_another_object() -> None:
    path = samples.exchange("Orchestrator", "meta")
    request = {
        "user_goal": "Add login",
        "constraints": [],
        "project_type": "web",
        "repo_state": {"branch": "main", "ci_status": "unknown"},
        "tools_available": [],
    }
    assert found(request, path) == []
    assert found({**request, "user_goal": ""}, path) == ["TC501"]


def test_a_researcher_needs_a_question() -> None:
    given = samples.agent_input(samples.given("meta", samples.context("spec.md")))
    path = samples.exchange("Researcher", "meta")
    assert found(given, path) == ["TC501"]
    assert found({**given, "research_question": "Which store?"}, path) == []


def test_rules_about_roles_wait_for_a_role() -> None:
    assert found(samples.agent_input(), "x.input.json") == []
    assert found(samples.agent_output(artifacts={"files_changed": ["src/a.py"]}), "x.output.json") == []


def test_an_artifact_of_another_role_is_unknown_and_no_more() -> None:
    strange = samples.coded(options=[{"id": "A"}], confidence="x", test_results="no")
    told = found(samples.agent_output(artifacts=strange), samples.exchange("Coder", side="output"))
    assert told == ["TC531"] * 3


def test_options_are_judged_where_it_is_known_who_gives_them() -> None:
    output = samples.agent_output(artifacts={"options": [{"id": "A"}]})
    assert found(output, "x.output.json") == []
    assert "TC531" in found(output, "x.output.json", **{"team-agent": "Researcher"})


def test_plans_are_judged_like_inputs() -> None:
    plan = samples.dispatch_plan("PLAN", "Planner")
    plan["dispatch"][0]["task"]["acceptance_checks"] = ["npm test"]
    del plan["dispatch"][0]["task"]["goal"]
    assert codes(lint_text(plan, samples.PLAN)) == [
        ("TC501", "/dispatch/0/task"),
        ("TC310", "/dispatch/0/task/acceptance_checks/0"),
    ]


@pytest.mark.parametrize(
    ("agent", "path", "may"),
    [
        ("SpecAgent", f"{samples.FOLDER}/spec.md", True),
        ("SpecAgent", "spec.md", True),
        ("SpecAgent", "./spec.md", True),
        ("SpecAgent", "src/a.js", False),
        ("Architect", "adr/ADR-001.md", True),
        ("Designer", "design-specs/design-spec-form.md", True),
        ("Coder", "src/a.js", True),
        ("Coder", ".agents-work/2025-01-01_old-one/spec.md", False),
        ("Coder", ".agents-work//2025-01-01_old-one/spec.md", False),
        ("Coder", ".//.agents-work/./2025-01-01_old-one/spec.md", False),
        ("Coder", "../a.js", False),
        ("Reviewer", "src/a.js", False),
        ("Reviewer", f"{samples.FOLDER}/tasks.yaml", True),
        ("QA", "tests/a.test.js", True),
        ("QA", "src/a.spec.ts", True),
        ("QA", "src/__tests__/a.js", True),
        ("QA", "test_a.py", True),
        ("QA", "src/LoginFormTest.java", True),
        ("QA", "src/Contest.java", False),
        ("QA", "src/contest.js", False),
        ("QA", f"{samples.FOLDER}/spec.md", False),
        ("Docs", "README.md", True),
        ("Docs", "docs/img/a.png", True),
        ("Docs", f"{samples.FOLDER}/report.md", True),
        ("Docs", "src/a.js", False),
        ("Security", "SECURITY.md", False),
        ("Orchestrator", f"{samples.FOLDER}/status.json", True),
        ("Orchestrator", "Makefile", False),
        ("Integrator", "package.json", True),
    ],
)
def test_reach(agent: str, path: str, may: bool) -> None:
    assert may_write(AgentName(agent), path, samples.SESSION) is may


def test_an_exact_path_is_no_name() -> None:
    assert may_write(AgentName.ARCHITECT, "adr/ADR-001.md", samples.SESSION)
    assert not may_write(AgentName.ARCHITECT, "adr/ADR-001.md", samples.SESSION, is_exact=True)
    assert not may_write(AgentName.SPEC_AGENT, "spec.md", samples.SESSION, is_exact=True)


def test_prose_around_an_output_does_not_hide_what_is_in_it() -> None:
    text = "Done!\n" + '{"status": "DONE", "summary": "x", "artifacts": {}, "gates": {}, "next": {}}'
    listed = found(text, "x.output.json")
    assert listed[0] == "TC530"
    assert "TC531" in listed


@pytest.mark.parametrize(
    ("inline", "codes"),
    [("x\n" * 80, []), ("x\n" * 79 + "x", []), ("x\n" * 81, ["TC547"]), (" ", ["TC547"]), (None, ["TC547"])],
)
def test_a_design_spec_has_at_most_80_lines_and_says_something(inline: str | None, codes: list[str]) -> None:
    output = samples.agent_output("OK", {"notes": [], "design_spec_inline": inline, "design_spec_file": None})
    assert found(output, samples.exchange("Designer", side="output")) == codes


@pytest.mark.parametrize(("lines", "codes"), [(80, []), (81, ["TC536"])])
def test_a_designer_may_write_80_lines_of_summary(lines: int, codes: list[str]) -> None:
    artifacts = {"notes": [], "design_spec_inline": "One column."}
    output = samples.agent_output("OK", artifacts, summary="A line.\n" * lines)
    assert found(output, samples.exchange("Designer", side="output")) == codes


def test_two_objects_are_no_reply() -> None:
    one = '{"status": "OK", "next": {}}'
    told = lint_text(f"{one}\n{one}", "x.output.json")
    (second,) = (finding for finding in told if finding.code == "TC530")
    assert second.span is not None
    assert second.span.start.line == 2
    assert second.fix is None  # nobody knows which one is meant
    assert "TC001" not in [finding.code for finding in told]


@pytest.mark.parametrize("reply", ["{}", '{"status": "OK"}'])
def test_a_fence_is_told_whatever_is_in_it(reply: str) -> None:
    told = lint_text(f"```json\n{reply}\n```\n", "x.output.json")
    assert {finding.code for finding in told} == {"TC530", "TC531"}


def test_a_text_that_is_no_object_says_so_and_no_more() -> None:
    assert found('x {"status": "OK", "summary": "so far', "x.output.json") == ["TC001", "TC001"]
    assert found("x", samples.STATUS) == ["TC001"]
