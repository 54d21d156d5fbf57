"""How tests ended, in `--workrail-runs-json` and on the page: a red test must never look green."""

from __future__ import annotations

import json
from typing import Any

import pytest
from plugin_project import Project


def _outcomes(project: Project, *arguments: str) -> dict[str, dict[str, Any]]:
    run = project.run_apart if "-n" in arguments else project.run
    run(*arguments, "--workrail-runs-json=runs.json")
    report = json.loads((project.path / "runs.json").read_text(encoding="utf-8"))
    return {each["test"].rpartition("::")[2]: each for each in report["tests"]}


@pytest.mark.parametrize("arguments", [(), ("-n", "1")])
def test_every_test_says_how_it_ended(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    project = Project(pytester)
    project.scenario("right")
    project.scenario("wrong", expect={"steps": ["read-change", "read-change"]})
    project.scenario("left-out", skip="waits for a decision")
    project.scenario("broken", workflow="../workflows/nowhere.json")
    project.write(
        "test_calls.py",
        "def test_a_call(workrail):\n"
        '    run = workrail.run("workflows/review.json")\n'
        '    assert run.status == "gated"\n\n'
        "def test_nothing(workrail):\n"
        '    workrail.run("workflows/nope.json")\n\n'
        "def test_something_else():\n"
        "    assert False\n",
    )
    found = _outcomes(project, *arguments, "--workrail-update-goldens")
    states = {name: each["state"] for name, each in found.items()}
    assert states == {
        "right": "passed",
        "wrong": "failed",
        "left-out": "skipped",
        "broken": "failed",
        "test_a_call": "failed",
        "test_nothing": "failed",
    }
    wrong = found["wrong"]
    assert wrong["message"].startswith("step 2: expected read-change, found give-verdict")
    assert (wrong["pointer"], wrong["expected"], wrong["found"]) == ("/expect/steps/1", "read-change", "give-verdict")
    assert wrong["file"] == "scenarios/wrong.scenario.json"
    line = wrong["excerpt"]["lines"][wrong["line"] - wrong["excerpt"]["first"]]
    assert '"read-change"' in line
    assert "gated" in found["test_a_call"]["message"]
    assert (found["test_a_call"]["file"], found["test_a_call"]["line"]) == ("test_calls.py", 3)
    assert found["left-out"]["message"].endswith("waits for a decision")


def test_a_golden_that_differs_is_a_state_of_its_own(pytester: pytest.Pytester) -> None:
    project = Project(pytester)
    project.scenario("plain", golden=True)
    project.run("--workrail-update-goldens")
    workflow = project.path / "workflows" / "review.json"
    workflow.write_text(workflow.read_text(encoding="utf-8").replace("Judge it", "Judge it well"), encoding="utf-8")
    assert _outcomes(project)["plain"]["state"] == "changed"


def test_the_page_shows_the_moment_of_a_failure(pytester: pytest.Pytester) -> None:
    from workrail_lint.studio.inputs import recorded_runs

    project = Project(pytester)
    project.scenario("wrong", expect={"steps": ["read-change", "read-change"]})
    project.scenario("broken", workflow="../workflows/nowhere.json")
    _outcomes(project)
    report = json.loads((project.path / "runs.json").read_text(encoding="utf-8"))
    runs = {run["name"]: run for run in recorded_runs(report)}
    moment = runs["wrong"]["outcome"]["moment"]
    assert runs["wrong"]["turns"][moment]["step"] == "give-verdict"
    assert runs["broken"]["turns"] == []
    assert runs["broken"]["outcome"]["state"] == "failed"
