"""The turns that recorded sessions need: back to a node, on after the end, leave, the onboarding step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from session_files import step, workflow

from pytest_workrail.scenarios.drivers import PlayedScenario, play
from workrail_lint.base.result import Err
from workrail_lint.cli import main as lint

PLAIN = workflow(step("first"), step("second"), step("third"))


def scenario(folder: Path, *turns: dict[str, Any], **members: Any) -> Path:
    (folder / "plain.json").write_text(json.dumps(PLAIN), encoding="utf-8")
    path = folder / "x.scenario.json"
    value = {"workflow": "plain.json", "agent": {"kind": "scripted", "turns": list(turns)}, **members}
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def played(path: Path) -> PlayedScenario:
    playing = play(path, path.name)
    assert not isinstance(playing, Err), playing.error
    return playing.value


def notes(step_id: str, text: str = "Done.", **members: Any) -> dict[str, Any]:
    return {"step": step_id, "notes": text, **members}


def test_a_run_can_be_left(tmp_path: Path) -> None:
    leave = {"step": "second", "call": "leave"}
    assert played(scenario(tmp_path, notes("first"), leave, expect={"status": "in_progress"})).failure is None


def test_a_rewind_goes_to_a_node_and_on_from_there(tmp_path: Path) -> None:
    back = {"step": "third", "call": "rewind", "node": 2}
    turns = [notes("first"), notes("second"), back, notes("second", "Again."), notes("third")]
    made = played(scenario(tmp_path, *turns, expect={"status": "complete", "outputs": {"second": {"notes": "Again."}}}))
    assert made.failure is None
    assert made.transcript is not None
    assert str(made.transcript.exchanges[3].request["continueToken"]).startswith("st1")


def test_a_node_that_does_not_exist_is_the_scripts_fault(tmp_path: Path) -> None:
    back = {"step": "second", "call": "rewind", "node": 7}
    failure = played(scenario(tmp_path, notes("first"), back, notes("second"), notes("third"))).failure
    assert "can't go back to node 7, because it has no such node" in str(failure)


def test_a_run_goes_on_after_its_end(tmp_path: Path) -> None:
    end = [notes("first"), notes("second"), notes("third")]
    back = {"step": "$complete", "call": "rewind", "node": 3}
    path = scenario(tmp_path, *end, back, notes("third", "Other."), expect={"outputs": {"third": {"notes": "Other."}}})
    assert played(path).failure is None


def test_the_onboarding_step_can_be_played(tmp_path: Path) -> None:
    onboarding = {"step": "wr-system-onboarding"}
    turns = [onboarding, notes("first"), notes("second"), notes("third")]
    assert played(scenario(tmp_path, *turns, onboarding=True)).failure is None
    playing = play(scenario(tmp_path, *turns), "x.scenario.json")
    assert isinstance(playing, Err)
    assert "the workflow has no step wr-system-onboarding" in str(playing.error)


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        ({"step": "first", "call": "rewind", "node": 1, "to": "first"}, "a rewind takes `to` or `node`, not both"),
        ({"step": "first", "call": "checkpoint", "node": 1}, "checkpoint has no use for `node`"),
        ({"step": "$complete", "call": "checkpoint"}, "the workflow has no step $complete"),
        ({"step": "first", "call": "rewind", "node": 0}, "node"),
    ],
)
def test_turns_that_make_no_sense_are_found_by_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], turn: dict[str, Any], words: str
) -> None:
    path = scenario(tmp_path, turn, notes("first"), notes("second"), notes("third"))
    lint(["check", "--isolated", "--no-cache", str(path)])
    assert words in capsys.readouterr().out
