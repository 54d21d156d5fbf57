"""Generated scenarios of team sessions and block definitions: every goal, and files that pass as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from effort import times

from pytest_workrail.cli import main
from pytest_workrail.scenarios.drivers import play
from pytest_workrail.systems.team.generation import TeamSubject
from workrail_lint import Ok
from workrail_lint import check as lint

BLOCKS = Path(__file__).resolve().parents[2] / "fixtures" / "scenarios" / "blocks" / "workflows"


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code = main(["generate", *arguments, "--json"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)["workflows"]


def assert_passing(folder: Path, scenarios: list[dict[str, Any]]) -> None:
    for each in scenarios:
        runs = [play(folder / each["name"], each["name"]) for _ in range(2)]
        goldens = []
        for run in runs:
            assert isinstance(run, Ok), str(run.error)
            assert [fault.message for fault in run.value.faults] == [], each["name"]
            goldens.append(run.value.golden)
        assert goldens[0] == goldens[1]
    assert [finding.message for finding in lint([str(folder)]).findings] == []


@pytest.mark.search
@pytest.mark.parametrize(
    ("name", "goals"),
    [
        ("careful-halves", ["lanes:halves:stopped", "merge:halves:clean", "conflict:halves:manual"]),
        ("rescue", ["node:rescue:skipped", "retry:build:exhausted", "gate:build:revisions-used-up"]),
        ("train", ["each:each:many", "branch:allowed:true", "node:shout:failed"]),
    ],
)
def test_every_goal_of_a_definition_is_shown(
    name: str, goals: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for needed in (name, "announcement"):
        shutil.copy(BLOCKS / f"{needed}.workflow.json", tmp_path)
    (found,) = result(capsys, f"{name}.workflow.json", "--out", "made", "--golden")
    assert found["uncovered"] == []
    assert set(goals) <= set(found["new"])
    assert_passing(Path("made"), found["scenarios"][:: times(3, deep=1)])
    (again,) = result(capsys, f"{name}.workflow.json", "--out", "made", "--check")
    assert again["scenarios"] == again["new"] == again["redundant"] == again["stale"] == []


def test_definitions_are_found_in_folders_and_one_that_waits_for_itself_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("circle", "reviews"):
        shutil.copy(BLOCKS / f"{name}.workflow.json", tmp_path)
    assert main(["generate", "."]) == 2
    printed = capsys.readouterr()
    assert "reviews.workflow.json: 7 goals, 7 covered" in printed.out
    assert "egg, hen can't run: each waits for another" in printed.err


def test_what_somebody_edited_is_kept_and_what_fails_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(BLOCKS / "login.workflow.json", tmp_path)
    result(capsys, "login.workflow.json", "--out", "made")
    complete = Path("made/login.complete.scenario.json")
    edited = {**json.loads(complete.read_text()), "description": "Mine now."}
    complete.write_text(json.dumps(edited))
    definition = json.loads(Path("login.workflow.json").read_text())
    definition["nodes"][0]["config"]["gateMode"] = "gate"
    Path("login.workflow.json").write_text(json.dumps(definition))
    (found,) = result(capsys, "login.workflow.json", "--out", "made")
    assert found["edited"] == [complete.name]
    assert found["scenarios"]
    assert json.loads(complete.read_text()) == edited


@pytest.mark.search
def test_every_goal_of_a_team_session_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = result(capsys, "--system", "team", "--out", "made")
    assert found["uncovered"] == []
    assert found["covered"] == found["goals"] == len(TeamSubject().goals)
    assert {"repair:FIX_BUILD:exhausted", "gate:UD-REVIEW-STRATEGY:refused", "step:RELEASE->FIX_BUILD"} <= set(
        found["new"]
    )
    assert_passing(Path("made"), found["scenarios"][:: times(18, deep=3)])


def test_something_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate"]) == 2
    assert "name a workflow, a folder, or a system" in capsys.readouterr().err
