"""`workrail-test run`: workflows once through, played by the automatic agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_workrail.cli import main

WORKFLOWS = Path(__file__).parents[2] / "fixtures" / "workflows"


def test_a_run_shows_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(WORKFLOWS / "code-review.json"), "--profile", "reference"]) == 0
    assert "complete (reference): read-change -> look-for-problems -> give-verdict" in capsys.readouterr().out
    assert main(["run", str(WORKFLOWS / "code-review.json"), "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["workflows"]
    assert [run["profile"] for run in report["runs"]] == ["reference", "locked"]


def test_a_step_that_can_not_run_fails_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workflow = json.loads((WORKFLOWS / "code-review.json").read_text())
    never = {"and": [{"var": "x", "equals": 1}, {"var": "x", "equals": 2}]}
    workflow["steps"][1]["runCondition"] = never
    file = tmp_path / "a.json"
    file.write_text(json.dumps(workflow))
    assert main(["run", str(file)]) == 1
    assert "look-for-problems" in capsys.readouterr().out
    assert main(["run", str(tmp_path / "gone.json")]) == 2


def test_mode_context_and_what_the_agent_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [
        {"id": "scope", "title": "Scope", "prompt": "Ask the user what to look at in {{area}}."},
        {"id": "deep", "title": "Deep", "prompt": "Dig.", "runCondition": {"var": "depth", "equals": 2}},
    ]
    file = tmp_path / "audit.json"
    authored = {"id": "demo.audit", "name": "A", "description": "d", "version": "1.0.0", "steps": steps}
    file.write_text(json.dumps(authored), encoding="utf-8")
    options = [
        "--profile",
        "locked",
        "--mode",
        "full_auto_never_stop",
        "--context",
        "depth=2",
        "--context",
        "area=auth",
    ]
    assert main(["run", str(file), *options, "-v"]) == 0
    shown = capsys.readouterr().out
    assert "complete (locked): scope -> deep" in shown
    assert "missing_user_context" in shown
    assert main(["run", str(file), "--context", "depth"]) == 2
    assert "--context needs NAME=VALUE, found 'depth'" in capsys.readouterr().err


def test_one_step_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", str(WORKFLOWS / "code-review.json"), "--profile", "reference"]
    assert main([*command, "--step", "look-for-problems", "--step", "look-for-problem"]) == 0
    read, *prompt, answer, misspelled, summary = capsys.readouterr().out.splitlines()
    assert read == "  look-for-problems:"
    assert all(line.startswith("  | ") for line in prompt)
    assert answer.startswith("continue_workflow {")
    assert "Done: look-for-problems." in answer
    assert misspelled == "  look-for-problem: this run does not reach it"
    assert "complete (reference): read-change" in summary
