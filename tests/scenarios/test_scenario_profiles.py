"""Scenarios under several profiles, without turns, and with a note of who wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.scenarios.drivers import play
from workrail_lint import Ok, check
from workrail_lint.systems.workrail.scenario_check import own_findings, scenario_profiles

WORKFLOW = {
    "id": "demo.small",
    "name": "Small",
    "description": "One step, which runs if it is asked for.",
    "version": "1.0.0",
    "steps": [
        {"id": "only", "title": "Only", "prompt": "Do it.", "runCondition": {"var": "go"}, "notesOptional": True}
    ],
}


def scenario(folder: Path, **members: Any) -> Path:
    (folder / "small.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
    path = folder / "small.scenario.json"
    path.write_text(json.dumps({"workflow": "small.json", "golden": False, **members}), encoding="utf-8")
    return path


def names(value: dict[str, Any]) -> list[str]:
    return [finding.name for finding in own_findings(value)]


def test_one_file_runs_under_each_of_its_profiles(tmp_path: Path) -> None:
    path = scenario(tmp_path, profiles=["reference", "locked"], context={"go": True}, expect={"steps": ["only"]})
    played = play(path, path.name)
    assert isinstance(played, Ok)
    runs = [played.value, *played.value.further]
    assert [(each.label, each.transcript and each.transcript.profile) for each in runs] == [
        ("reference", "reference"),
        ("locked", "locked"),
    ]
    assert all(not each.faults for each in runs)


def test_goldens_are_kept_per_profile(tmp_path: Path, pytester: pytest.Pytester) -> None:
    scenario(pytester.path, profiles=["reference", "locked"], context={"go": True}, golden=True)
    assert pytester.runpytest("--workrail-golden=new").ret == 0
    found = sorted(path.name for path in (pytester.path / "__goldens__").iterdir())
    assert found == ["small.locked.golden.json", "small.reference.golden.json"]
    assert pytester.runpytest("--workrail-golden=check").ret == 0


def test_a_failure_under_the_second_profile_is_a_failure(tmp_path: Path, pytester: pytest.Pytester) -> None:
    document = {"profiles": ["reference", "locked"], "context": {"go": True}, "expect": {"steps": ["other"]}}
    scenario(pytester.path, **document)
    assert pytester.runpytest().ret == 1


def test_a_run_that_can_not_start_needs_no_turn(tmp_path: Path) -> None:
    refused = {"status": "error", "error": "PRECONDITION_FAILED"}
    path = scenario(tmp_path, agent={"kind": "scripted", "turns": []}, expect=refused)
    played = play(path, path.name)
    assert isinstance(played, Ok)
    assert not played.value.faults
    assert check([str(path)]).findings == []


def test_what_contradicts_itself_is_found() -> None:
    assert names({"profile": "locked", "profiles": ["locked"], "expect": {"steps": []}}) == ["scenario-member-ignored"]
    assert names({"agent": {"kind": "scripted", "turns": []}}) == ["scenario-member-ignored"]
    declared = [{"reason": "missing_context_key", "step": "only", "key": "go"}]
    assert names({"profiles": ["locked", "reference"], "declares": declared}) == ["scenario-declares-unheard"]
    assert names({"profiles": ["locked"], "declares": declared}) == []
    assert scenario_profiles({}) == ["reference"]


def test_the_note_of_a_generator_has_a_digest(tmp_path: Path) -> None:
    made = {"by": "workrail-test generate", "goals": [], "digest": "sha256:" + "0" * 64}
    assert (
        check([str(scenario(tmp_path, context={"go": True}, expect={"steps": ["only"]}, generated=made))]).findings
        == []
    )
    wrong = scenario(tmp_path, context={"go": True}, expect={"steps": ["only"]}, generated={**made, "digest": "x"})
    assert [finding.pointer for finding in check([str(wrong)]).findings] == ["/generated/digest"]
