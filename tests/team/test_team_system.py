"""The team system in a run: what it claims, what a session is, modes, profiles, named files, many files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import lines_run
from team_probe import Settings, as_bytes, codes, fix_on_disk, lint_paths, lint_text, write_files

from workrail_lint.findings import Severity
from workrail_lint.project.discovery import discover
from workrail_lint.project.run import Plan, run
from workrail_lint.project.selection import KnownRules, Selection
from workrail_lint.systems.team.documents import SUFFIXES, Place, TeamKind, exchange_of, place_by_path, place_of
from workrail_lint.systems.team.rules import samples
from workrail_lint.systems.team.system import TeamSystem

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "team"
SESSION, FOLDER = samples.SESSION, samples.FOLDER


# ----------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize(
    ("path", "content", "named", "kind"),
    [
        (samples.STATUS, "[]", False, "team-status"),
        ("status.json", {"current_state": "PLAN"}, False, "team-status"),
        ("status.json", {"healthy": True}, False, None),
        ("status.json", {"healthy": True}, True, "team-status"),
        ("status.json", {"jobs": [{"current_state": "idle"}]}, False, None),
        ("status.json", '{"current_state": "PLAN",}', False, "team-status"),
        (samples.TASKS, "", False, "team-tasks"),
        ("ansible/tasks.yaml", "tasks:\n- name: x\n", False, None),
        ("plan/tasks.yaml", "tasks:\n- acceptance_checks: []\n", False, "team-tasks"),
        ("tasks.yaml", "x", True, "team-tasks"),
        ("docs/spec.md", "# Spec", False, None),
        ("docs/spec.md", "# Spec", True, "team-spec"),
        ("docs/architecture.md", "# A", False, None),
        ("README.md", "# R", True, None),
        (f"{FOLDER}/architecture.md", "# A", False, "team-architecture"),
        (f"work/{SESSION}/report.md", "# R", False, "team-report"),
        (f"{FOLDER}/adr/first.md", "# A", False, "team-adr"),
        (f"{FOLDER}/research/research-x.md", "# A", False, "team-research"),
        (f"{FOLDER}/design-specs/design-spec-x.md", "# A", False, "team-design-spec"),
        ("docs/adr/ADR-001.md", "# A", False, None),
        (samples.HISTORY, "", False, "team-history"),
        ("acceptance.json", {"acceptance_criteria": []}, False, "team-acceptance"),
        ("acceptance.json", {"accept": []}, False, None),
        ("x.input.json", {"project_type": "web"}, False, "team-input"),
        ("compiler/x.input.json", {"source": "a"}, False, None),
        ("0001-Coder-T-001.output.json", "all done", False, "team-output"),
        ("x.output.json", {"gates": {}}, False, "team-output"),
        ("x.plan.json", {"dispatch": []}, False, "team-plan"),
        ("any.json", {"task": {}, "project_type": "web"}, False, "team-input"),
        ("any.json", {"status": "OK", "gates": {}, "next": {}}, False, "team-output"),
        ("any.json", {"state": "PLAN", "dispatch": []}, False, "team-plan"),
        ("any.json", {"inner": {"task": {}, "project_type": "web"}}, False, None),
        ("workflows/a.json", {"id": "a", "steps": []}, False, None),
        ("any.json", '{"task": 1, "project_type": ', False, None),
        ("x.trace.json", {"trace": []}, False, "team-trace"),
    ],
)
def test_claims(
    path: str, content: Any, named: bool, kind: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert TeamSystem().claims(path, as_bytes(content), named) == kind


def test_names_of_exchanges() -> None:
    found = exchange_of("a/b/0007-Reviewer-T-001.input.json")
    assert found is not None
    assert (found.agent.value, found.task) == ("Reviewer", "T-001")
    for other in ("7-Reviewer-T-001.input.json", "0007-reviewer-T-001.input.json", "0007-Coder-x.output.json"):
        assert exchange_of(other) is None


def test_places_by_path() -> None:
    assert place_by_path(samples.STATUS) == Place(FOLDER, SESSION, "status.json")
    assert place_by_path(f"/repo/{FOLDER}/adr/ADR-001.md") == Place(f"/repo/{FOLDER}", SESSION, "adr/ADR-001.md")
    assert place_by_path(".agents-work/odd/spec.md") == Place(".agents-work/odd", "odd", "spec.md")
    assert place_by_path(".agents-work/spec.md") is None
    assert place_by_path("docs/spec.md") is None


def test_a_session_is_found_by_what_lies_beside_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"work/status.json": samples.status(session="work"), "work/adr/ADR-001.md": "# A"})
    monkeypatch.chdir(tmp_path)
    assert place_of("work/tasks.yaml") == Place("work", "work", "tasks.yaml")
    assert place_of("work/adr/ADR-001.md") == Place("work", "work", "adr/ADR-001.md")
    assert place_of("work/notes.md") is None
    monkeypatch.chdir(tmp_path / "work")
    assert place_of("tasks.yaml") == Place(".", "work", "tasks.yaml")
    assert place_of("adr/ADR-001.md") == Place(".", "work", "adr/ADR-001.md")
    monkeypatch.chdir(tmp_path / "work" / "adr")
    assert place_of("ADR-001.md") is None, "without its folder a name alone is not known"
    (found, *_) = [f for f in lint_paths(tmp_path / "work") if f.code == "TC101"]
    assert found.path == "status.json"


def test_a_check_from_inside_a_session_folder(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session({samples.SPEC: samples.spec("Goals")}))
    assert [(f.code, f.path) for f in lint_paths(tmp_path / FOLDER)] == [("TC410", "spec.md")]


def test_our_own_cache_is_no_stray(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session({f"{samples.FOLDER}/.workrail-cache/0a.json": "{}"}))
    assert lint_paths(tmp_path) == []


def test_the_kind_of_every_name_is_one_of_ours() -> None:
    assert {kind.value for kind in TeamKind} >= {"team-status", "team-session", "team-trace"}
    assert TeamSystem().may_claim("a.json")
    assert TeamSystem().may_claim("x/spec.md")
    assert not TeamSystem().may_claim("README.md")
    assert not TeamSystem().may_claim("deploy/values.yaml")


# ------------------------------------------------------------------------------------------------------ fixtures


@pytest.mark.parametrize(("name", "count"), [("full", 16), ("lean", 7)])
def test_shipped_sessions_are_clean(name: str, count: int) -> None:
    assert lint_paths(FIXTURES / name) == []
    found = [file.path for file in discover([str(FIXTURES / name)], suffixes=SUFFIXES).files]
    assert len(found) == count
    for path in found:
        assert TeamSystem().claims(path, Path(path).read_bytes(), False) is not None, path


def test_a_shipped_file_named_by_itself_is_clean_too() -> None:
    for file in discover([str(FIXTURES)], suffixes=SUFFIXES).files:
        assert lint_paths(FIXTURES, file.path) == [], file.path


# --------------------------------------------------------------------------------------------- named files, modes


def test_named_files_are_judged_by_themselves(tmp_path: Path) -> None:
    status = samples.implementing(session="2026-03-02_other-name", retry_counts={"T-009": {}})
    write_files(tmp_path, samples.session({samples.STATUS: status}))
    assert [f.code for f in lint_paths(tmp_path)] == ["TC701", "TC703"]
    assert lint_paths(tmp_path, samples.STATUS) == []
    assert lint_paths(tmp_path, samples.STATUS, samples.TASKS) == []


def test_a_named_file_of_a_lean_session_is_judged_as_lean(tmp_path: Path) -> None:
    plan = samples.tasks(samples.task(depends_on=..., done_when=..., type=...))
    files = samples.lean_session({samples.STATUS: samples.status("IMPLEMENT_LOOP"), samples.TASKS: plan})
    write_files(tmp_path, files)
    assert lint_paths(tmp_path, samples.TASKS) == []
    assert [f.code for f in lint_text(plan, samples.TASKS)] == ["TC304"]
    forced = lint_paths(tmp_path, samples.TASKS, options={"team-mode": "full"})
    assert [f.code for f in forced] == ["TC304"]


@pytest.mark.parametrize(("end", "codes"), [("A", []), ("B", ["TC704"])])
def test_long_answers_are_compared_to_their_end(tmp_path: Path, end: str, codes: list[str]) -> None:
    said = f"changes-requested: {'more ' * 200}"
    status = samples.status(
        "APPROVE_DESIGN", samples.approved(f"{said}A"), gate_tracking=samples.correction("dispatched")
    )
    history = samples.history(samples.request(f"{said}{end}"))
    write_files(tmp_path, samples.session({samples.STATUS: status, samples.HISTORY: history, samples.TASKS: ...}))
    assert [f.code for f in lint_paths(tmp_path)] == codes


def test_an_exchange_outside_the_folder_finds_its_session(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session())
    given = samples.agent_input(samples.given("T-042", samples.context("spec.md", "tasks.yaml", "architecture.md")))
    write_files(tmp_path, {"recorded/0001-Coder-T-042.input.json": given})
    assert [f.code for f in lint_paths(tmp_path)] == ["TC512"]
    assert codes(lint_text(given, "recorded/0001-Coder-T-042.input.json")) == []


def test_the_agent_can_be_told(tmp_path: Path) -> None:
    output = samples.agent_output("NEEDS_INFO")
    assert lint_text(output, "x.output.json") == []
    assert [f.code for f in lint_text(output, "x.output.json", {"team-agent": "Coder"})] == ["TC533"]


# ------------------------------------------------------------------------------------------------------ profiles


def test_profiles() -> None:
    twice = samples.acceptance(samples.criterion(), samples.criterion())
    for profile, level in (("strict", "error"), ("lenient", "warning"), ("legacy", "warning"), ("odd", "error")):
        (found,) = lint_text(twice, samples.ACCEPTANCE, {"team-profile": profile})
        assert (found.code, found.severity.value) == ("TC404", level)
    plan = samples.tasks(samples.task(done_when=...))
    for profile, level in (("strict", "warning"), ("lenient", "info"), ("legacy", "info")):
        (found,) = lint_text(plan, samples.TASKS, {"team-profile": profile})
        assert (found.code, found.severity.value) == ("TC304", level)
    repeated = '{"acceptance_criteria": 1, "acceptance_criteria": []}'
    found = lint_text(repeated, samples.ACCEPTANCE, {"team-profile": "lenient"})[0]
    assert (found.code, found.severity) == ("TC002", Severity.WARNING)


def test_legacy_sessions_may_lack_gates_and_artifacts(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session({samples.STATUS: samples.status("PLAN"), samples.ACCEPTANCE: ...}))
    strict = {f.code: f.severity for f in lint_paths(tmp_path)}
    legacy = {f.code: f.severity for f in lint_paths(tmp_path, options={"team-profile": "legacy"})}
    assert strict == {"TC702": Severity.ERROR, "TC709": Severity.ERROR}
    assert legacy == dict.fromkeys(strict, Severity.INFO)


def test_sections_in_another_language() -> None:
    spec = samples.spec().replace("## Goals", "## Ziele")
    assert [f.code for f in lint_text(spec, samples.SPEC)] == ["TC410"]
    assert lint_text(spec, samples.SPEC, {"team-section-aliases": {"goals": ["Ziele"]}}) == []


# ------------------------------------------------------------------------------------------------------- the rest


def test_findings_know_their_place_by_ids() -> None:
    found = lint_text(samples.tasks(samples.task(status="done")), samples.TASKS)
    assert found[0].details["place"] == "/tasks/T-001/status"
    found = lint_text(samples.status("PLAN", samples.decision(answer=None)), samples.STATUS)
    assert found[0].details["place"] == "/user_decisions/UD-1/status"
    system = TeamSystem()
    data = as_bytes(samples.tasks(samples.task(status="done")))
    (finding,) = system.check(samples.TASKS, data, "team-tasks", Settings({"fingerprints": True})).findings
    assert finding.details["valueHash"]


def test_results_that_depend_on_the_session_are_not_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, samples.session())
    monkeypatch.chdir(tmp_path)
    system = TeamSystem()
    for path, cacheable in ((samples.STATUS, True), (samples.TASKS, False), (samples.SPEC, False)):
        kind = system.claims(path, Path(path).read_bytes(), False)
        assert kind is not None
        result = system.check(path, Path(path).read_bytes(), kind, Settings(None, "."))
        assert result.cacheable is cacheable, path
        assert json.loads(json.dumps(result.record)) == result.record
    kind = system.claims(samples.TASKS, b"", True)
    assert kind is not None
    assert system.check(samples.TASKS, as_bytes(samples.tasks()), kind, Settings()).cacheable


def test_the_last_word_of_the_orchestrator_is_plain_text(tmp_path: Path) -> None:
    path = samples.exchange("Orchestrator", "meta", "output")
    assert lint_text("Everything is done.\n", path) == []
    done = samples.status("DONE", samples.approved(), samples.strategy(), last_ci_result="green")
    plan = samples.tasks(samples.task(status="completed"))
    files = samples.session({samples.STATUS: done, samples.TASKS: plan, samples.REPORT: samples.report()})
    write_files(tmp_path, {**files, path: "Everything is done.\n"})
    assert lint_paths(tmp_path) == []
    write_files(tmp_path, {samples.STATUS: samples.implementing()})
    assert [f.code for f in lint_paths(tmp_path, path)] == ["TC530"]


def test_fixes_on_disk_look_at_the_session(tmp_path: Path) -> None:
    path = samples.exchange("QA")
    bad = samples.agent_input(samples.given(files=samples.context("spec.md")))
    write_files(tmp_path, {**samples.session(), path: bad})
    fixed = json.loads(fix_on_disk(tmp_path, path, "context-file-required"))
    assert fixed["task"]["context_files"] == samples.context("spec.md", "acceptance.json", "tasks.yaml")


def test_a_session_that_was_fixed_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = samples.status("IMPLEMENT_LOOP", samples.approved(), samples.strategy("Per Batch"))
    path = samples.exchange("QA")
    given = samples.given(files=samples.context("spec.md", "acceptance.json", "tasks.yaml"))
    write_files(tmp_path, {**samples.session({samples.STATUS: wrong}), path: samples.agent_input(given)})
    monkeypatch.chdir(tmp_path)
    system = TeamSystem()
    data = Path(path).read_bytes()
    assert [f.code for f in system.check(path, data, "team-input", Settings(None, ".")).findings] == ["TC709"]
    write_files(tmp_path, {samples.STATUS: samples.implementing()})
    assert system.check(path, data, "team-input", Settings(None, ".")).findings == []


def test_an_unwanted_rule_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, samples.session({samples.SPEC: samples.spec("Goals", "Edge cases")}))
    monkeypatch.chdir(tmp_path)
    system = TeamSystem()
    selection = system.choice = Selection(KnownRules([system]), select=["TC413"])
    outcome = run(discover(["."], suffixes=SUFFIXES), Plan([system], Settings(None, "."), selection, complete=True))
    assert [f.code for f in outcome.findings] == ["TC413"]


def big_session(folder: Path, count: int) -> None:
    """A session with many recorded exchanges."""
    files = samples.session()
    given = samples.given(files=samples.context("spec.md", "tasks.yaml", "architecture.md"))
    for number in range(count // 2):
        name = f"{FOLDER}/exchanges/{number:04d}-Coder-T-001"
        files[f"{name}.input.json"] = samples.agent_input(given)
        files[f"{name}.output.json"] = samples.agent_output(artifacts=samples.coded())
    write_files(folder, files)


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    big_session(tmp_path, 260)
    write_files(tmp_path, {samples.exchange("Coder", "T-009"): samples.agent_input(samples.given("T-009"))})
    alone, together = lint_paths(tmp_path), lint_paths(tmp_path, jobs=2)
    assert [f.code for f in alone] == ["TC512", "TC508"]
    assert alone == together


def test_a_long_session_costs_its_share(tmp_path: Path) -> None:
    def work(count: int) -> int:
        folder = tmp_path / str(count)
        folder.mkdir()
        big_session(folder, count)
        assert lint_paths(folder) == []
        return lines_run(lambda: lint_paths(folder))

    assert work(400) < 4.5 * work(100)


def test_checking_needs_no_heavy_imports(tmp_path: Path) -> None:
    write_files(tmp_path, samples.session())
    script = (
        "import sys; from workrail_lint.systems.builtin import builtin_systems;"
        "heavy = lambda: sorted({'pydantic', 'jsonschema', 'dataclasses', 'inspect', 'pathlib'} & sys.modules.keys());"
        "system = next(each for each in builtin_systems() if each.name == 'team');"
        "foreign = system.claims('package.json', b'{}', False);"
        "before = heavy(); light = 'workrail_lint.systems.team.system' in sys.modules;"
        "data = open(sys.argv[1], 'rb').read();"
        "from workrail_lint.systems.base import RunSettings;"
        "result = system.check(sys.argv[1], data, system.claims(sys.argv[1], data, True), RunSettings({}, '.'));"
        "print(foreign, before, heavy(), light, result.findings)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, samples.STATUS], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "None [] [] False []"
