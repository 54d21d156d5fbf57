"""The defects of the public engine: as data, on their page, and as marks in runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail import api
from pytest_workrail.golden.document import golden_value
from pytest_workrail.run.engine_defects import DETECTORS
from pytest_workrail.run.result import exchange_lines
from tools.engine_defects import PAGE, page
from workrail_lint.report.rule_docs import rules
from workrail_lint.systems.workrail.engine_defects import DATA_FILE, DECIDED, FORMAT, OUTCOMES, engine_defects

ROOT = Path(__file__).parents[2]
KNOWN = engine_defects()
PLAYED = {ident: ROOT / each.scenario for ident, each in KNOWN.items() if each.scenario.endswith(".scenario.json")}


def test_the_data_is_complete() -> None:
    """@enforces engine-defects-are-data"""
    document = json.loads(Path(DATA_FILE).read_text("utf-8"))
    assert document["format"] == FORMAT
    assert list(KNOWN) == [f"KD-{number:02}" for number in range(1, 45)]
    for each in KNOWN.values():
        assert set(each.decided) <= set(DECIDED)
        assert each.decided
        assert each.outcome in OUTCOMES
        assert (each.outcome == "none") is (each.decided == ("kept",))
        assert all((each.title, each.when, each.engine, each.ours))
        assert bool(each.seen) is not bool(each.read)
        assert (ROOT / each.scenario).exists()


def test_every_defect_that_strikes_in_a_run_has_a_detector() -> None:
    """@enforces engine-defects-are-data"""
    assert set(DETECTORS) == {ident for ident, each in KNOWN.items() if each.is_marked}


def test_every_defect_is_shown_by_its_scenario() -> None:
    """@enforces engine-defects-are-data"""
    assert set(KNOWN) - set(PLAYED) == {"KD-21", "KD-22", "KD-23", "KD-24"}
    for ident, path in PLAYED.items():
        expected = json.loads(path.read_text("utf-8"))["expect"]["engineDefects"]
        assert set(expected) == ({ident} if KNOWN[ident].is_marked else set())


def test_other_forms_of_a_defect_have_scenarios_of_their_own() -> None:
    folder = ROOT / "fixtures/scenarios/engine-defects"
    others = set(folder.glob("*.scenario.json")) - set(PLAYED.values())
    assert sorted(path.name for path in others) == ["kd-33-title.scenario.json", "kd-42-last.scenario.json"]
    for path in others:
        expected = json.loads(path.read_text("utf-8"))["expect"]["engineDefects"]
        assert set(expected) == {path.name[:5].upper()}


def test_every_rule_that_the_data_names_exists() -> None:
    """@enforces engine-defects-are-data"""
    known = {rule.code for rule in rules()}
    named = {ident: each.rules for ident, each in KNOWN.items() if each.rules}
    codes = {code for rules in named.values() for code in rules}
    assert codes <= known
    assert {code for code in known if code.startswith("KD")} <= codes
    decided = {ident for ident, each in KNOWN.items() if not {"document", "submission"}.isdisjoint(each.decided)}
    assert decided | {"KD-32", "KD-35"} == set(named)


def test_a_rule_says_which_defect_it_is_about() -> None:
    """@enforces engine-defects-are-data"""
    about = {rule.code: rule.why for rule in rules()}
    for ident, each in KNOWN.items():
        assert all(code.startswith("KD") or ident in about[code] for code in each.rules)


def test_the_page_is_the_generated_one() -> None:
    """@enforces engine-defects-are-data"""
    assert (ROOT / PAGE).read_text("utf-8") == page(), "run `make schemas`"


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    head = {"id": "demo.defects", "name": "Defects", "description": "d", "version": "1.0.0"}
    return {**head, **members, "steps": list(steps)}


def step(ident: str, **members: Any) -> dict[str, Any]:
    return {"id": ident, "title": ident, "prompt": f"Do {ident}.", **members}


def marks(run: Any) -> list[str]:
    return [mark.id for mark in run.engine_defects]


@pytest.mark.parametrize("profile", ["reference", "locked"])
def test_a_mark_says_where_and_what(profile: Any) -> None:
    """@enforces engine-defects-marked"""
    run = api.run(workflow(step("change", verification={"command": "make"}), step("report")), profile=profile)
    assert run.status == "complete"
    if profile == "locked":
        assert run.engine_defects == ()
        assert "engineDefects" not in golden_value(run.transcript)
        return
    [mark] = run.engine_defects
    assert mark.to_json() == {
        "id": "KD-02",
        "exchange": 1,
        "stepId": "change__verification",
        "outcome": "fails",
        "engine": KNOWN["KD-02"].engine,
    }
    assert golden_value(run.transcript)["engineDefects"] == [
        {"id": "KD-02", "exchange": 1, "stepId": "change__verification", "outcome": "fails"}
    ]


def test_the_lines_of_a_run_show_its_marks() -> None:
    """@enforces engine-defects-marked"""
    run = api.run(workflow(step("change", verification={"command": "make"}), step("report")))
    marked = [line for line in exchange_lines(run.transcript) if "public engine" in line]
    assert marked == [
        "2  continue with notes 'Done: change.' -> pending change__verification [public engine: KD-02 fails]"
    ]


def test_a_run_without_defects_has_no_marks() -> None:
    """@enforces engine-defects-marked"""
    run = api.run(workflow(step("only")))
    assert run.engine_defects == ()
    assert "engineDefects" not in golden_value(run.transcript)


@pytest.mark.parametrize(
    ("notes", "strikes"), [("é" * 2049, True), ("a" + "é" * 2048, False), ("é" * 2048, False), ("a" * 5000, False)]
)
def test_notes_are_cut_inside_a_character_only_at_one_place(notes: str, strikes: bool) -> None:
    """@enforces engine-defects-marked"""
    run = api.run(workflow(step("only")), agent=api.auto({"only": {"notes": notes}}))
    assert marks(run) == (["KD-04"] if strikes else [])


@pytest.mark.parametrize(
    ("messages", "strikes"),
    [(["größer", "breiter"], True), (["größer"], False), (["larger", "wider"], False), (["larger"], False)],
    ids=str,
)
def test_issues_are_in_another_order_only_where_there_is_one(messages: list[str], strikes: bool) -> None:
    """@enforces engine-defects-marked"""
    criteria = [{"type": "contains", "value": word, "message": word} for word in messages]
    run = api.run(workflow(step("only", validationCriteria=criteria)), agent=api.auto({"only": [{"notes": "no"}]}))
    assert marks(run) == (["KD-41"] if strikes else [])


@pytest.mark.parametrize(("size", "outcome"), [(500, None), (600, "corrupts"), (4200, "fails")])
def test_an_issue_can_be_too_long_to_store_or_to_report(size: int, outcome: str | None) -> None:
    criteria = [{"type": "contains", "value": "Risk", "message": "m" * size}]
    run = api.run(workflow(step("only", validationCriteria=criteria)), agent=api.auto({"only": [{"notes": "no"}]}))
    assert [mark.outcome for mark in run.engine_defects] == ([] if outcome is None else [outcome])


@pytest.mark.parametrize("place", ["earlier", "later"])
def test_metrics_are_missing_wherever_the_body_by_id_is(place: str) -> None:
    loop = {"id": "again", "title": "Again", "type": "loop", "loop": {"type": "for", "count": 1, "maxIterations": 1}}
    last = [step("pass"), {**loop, "body": "pass"}]
    run = api.run(workflow(step("first"), *(last if place == "earlier" else last[::-1]), metricsProfile="review"))
    assert marks(run) == ["KD-42"]


def test_metrics_come_too_early_before_generated_steps() -> None:
    verified = step("change", verification={"command": "make"})
    assert marks(api.run(workflow(step("first"), verified, metricsProfile="review"))) == ["KD-42", "KD-02"]
