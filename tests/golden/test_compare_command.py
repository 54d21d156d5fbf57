"""`workrail-test compare`: where the two profiles part, and which choice of theirs decides it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from pytest_workrail.agents.correct import Auto
from pytest_workrail.agents.misbehaving import Unsetting
from pytest_workrail.cli import main
from pytest_workrail.engine.core.profiles import LOCKED, REFERENCE, Profile
from pytest_workrail.golden.profiles import CHOICES, both_profiles, profile_reasons
from pytest_workrail.run.bench import Setup
from workrail_lint import check_text, compile_workflow
from workrail_lint.systems.workrail.engine_defects import engine_defects

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "fixtures" / "scenarios"
INCIDENT = SCENARIOS / "workflows" / "merge-review.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The incident and its scenarios, and nothing else."""
    (tmp_path / "workflows").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.workrail-lint]\n", "utf-8")
    shutil.copy(INCIDENT, tmp_path / "workflows")
    for path in SCENARIOS.glob("incident-*.scenario.json"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": "demo.parted", "name": "P", "description": "d", "version": "1.0.0", "steps": list(steps)}


def step(ident: str, **members: Any) -> dict[str, Any]:
    return {"id": ident, "title": ident, "prompt": f"Do {ident}.", "notesOptional": True, **members}


def setup(authored: dict[str, Any]) -> Setup:
    return Setup(compile_workflow(authored).value.ir)


def test_the_incident_is_told_with_its_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "workflows/merge-review.json", "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)["workflows"]
    assert (report["workflowId"], report["path"]) == ("demo.merge_review", "workflows/merge-review.json")
    (reason,) = report["reasons"]
    assert (reason["choice"], reason["reference"], reason["locked"]) == ("unset_condition", "ends", "asks once")
    runs = {run["run"]: run for run in report["runs"]}
    assert runs["automatic agent (guided)"]["agree"]
    assert {run["run"] for run in reason["runs"]} == {name for name, run in runs.items() if not run["agree"]}
    asked = runs["incident-asked.scenario.json"]
    assert (asked["reference"]["steps"], asked["reference"]["ending"]) == (["triage"], "misplayed")
    assert asked["locked"]["steps"] == ["triage", "gather-context", "deep-review"]


def test_the_report_for_people(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "empty").mkdir()
    assert main(["compare", "workflows", "--scenarios", "empty"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "demo.merge_review: the profiles part in 1 of 4 runs",
        "  run that would end while steps wait for unset variables",
        "    reference: ends",
        "    locked: asks once",
        "    in agent that sets no variables (guided)",
        "      turn at 'triage' (blocked) is new",
        "  agent that sets no variables (guided)",
        "    reference: complete after triage",
        "    locked: complete after triage (MISSING_CONTEXT_KEY, invariant_violation)",
    ]


def test_profiles_that_agree(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    authored = workflow(step("change", verification={"command": "make"}))
    (project / "same.json").write_text(json.dumps(authored), "utf-8")
    assert main(["compare", "same.json"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "demo.parted: both profiles do the same in 4 runs",
        "  the public engine differs from both: KD-02 (docs/engine-defects.md)",
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["none.json"], 2), (["workflows", "--scenarios", "none"], 2), (["broken.json"], 2), (["empty"], 3), ([], 2)],
)
def test_exit_codes(project: Path, arguments: list[str], code: int) -> None:
    (project / "empty").mkdir()
    (project / "broken.json").write_text(json.dumps(workflow()), "utf-8")
    assert main(["compare", *arguments]) == code


def test_check_reports_the_workflow_of_the_incident() -> None:
    """What a run shows is known before it: nothing sets the variables that two of three steps wait for."""
    found = check_text(INCIDENT.read_bytes(), filename="merge-review.json").findings
    reported = {finding.pointer.split("/")[2] for finding in found if finding.code == "CD023"}
    assert reported == {"1", "2"}


def loop(**members: Any) -> dict[str, Any]:
    return {"id": "again", "title": "Again", "type": "loop", **members}


LONG = loop(loop={"type": "for", "count": 3, "maxIterations": 2}, body=[step("work")])
OVER = loop(loop={"type": "for", "count": "n", "maxIterations": 2}, body=[step("work")])
DECIDED = loop(
    loop={
        "type": "while",
        "maxIterations": 2,
        "conditionSource": {
            "kind": "artifact_contract",
            "contractRef": "wr.contracts.loop_control",
            "loopId": "again",
        },
    },
    body=[step("work")],
)
RULES = [{"type": "contains", "value": "done", "message": "Say what is done."}]


@pytest.mark.parametrize(
    ("authored", "agent", "choices"),
    [
        (workflow(step("one"), LONG), Auto(), {"loop_limit"}),
        (workflow(step("one"), DECIDED), Auto(), {"loop_gate", "loop_id"}),
        (workflow(step("one"), OVER), Unsetting(), {"loop_variable"}),
        (workflow(step("one", validationCriteria=RULES)), Auto(), {"criteria_text"}),
        (workflow(step("one", runCondition={"var": "x"}), step("two")), Unsetting(), {"unset_condition"}),
        (workflow(step("one"), step("two")), Auto(), set()),
    ],
)
def test_the_choice_that_decides_is_named(authored: dict[str, Any], agent: Any, choices: set[str]) -> None:
    made = setup(authored)
    found = profile_reasons(made, agent, both_profiles(made, agent))
    assert {reason.choice for reason in found} == choices
    assert all(reason.headlines for reason in found)


def test_every_choice_is_described_as_the_guide_describes_it() -> None:
    parted = {each.name for each in fields(Profile) if getattr(REFERENCE, each.name) != getattr(LOCKED, each.name)}
    assert parted - {"name", "engine_defects"} == set(CHOICES)
    assert {ident for facts in CHOICES.values() for ident in facts.defects} <= set(engine_defects())
    page = (ROOT / "docs" / "engine.md").read_text("utf-8").split("\n## Profiles\n")[1]
    table = re.sub(r" \(\[[^]]*\]\(#[^)]*\)\)", "", page)
    rows = [f"| {facts.topic} | {facts.reference} | {facts.locked} |" for facts in CHOICES.values()]
    assert [line for line in table.splitlines() if line.startswith("| ")][2:] == rows
