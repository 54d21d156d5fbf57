"""Goldens of real runs: from a workflow file through the fixture, and from a scenario file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import golden_bench
import pytest
from golden_suite import Suite

from pytest_workrail import api
from pytest_workrail.scenarios import drivers, workflow_driver

# Loaded here, so that the runs below need not load them again and again.
PRELOADED = (api, drivers, golden_bench, workflow_driver)
TEST = """
def test_review(workrail):
    run = workrail.run("review.json", {"read": "Read it all.", "judge": "Judged."})
    assert run.status == "complete"
    run.match_golden()
"""


@pytest.fixture
def project(suite: Suite) -> Suite:
    """A workflow with a test and a scenario."""
    _write_workflow(suite, "Read the change.\nAll of it.")
    suite.tests(test_it=TEST)
    (suite.path / "automatic.scenario.json").write_text(json.dumps({"workflow": "review.json"}))
    return suite


def _write_workflow(suite: Suite, prompt: str) -> None:
    authored = golden_bench.workflow(golden_bench.step("read", prompt), golden_bench.step("judge", "Judge it."))
    (suite.path / "review.json").write_text(json.dumps(authored))


def _golden(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def test_a_changed_prompt_is_found_in_both(project: Suite) -> None:
    assert project.run(mode="new").ret == 0
    assert project.names() == ["automatic", "test_review"]
    assert project.run().ret == 0
    _write_workflow(project, "Read the change.\nHalf of it.")
    result = project.run()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "golden differs: prompt of 'read': one word",
            "in *automatic.golden.json",
            "[[]??????] prompt of 'read': one word, in 2 runs: automatic, test_it/test_review",
            "    [[]-All-]{+Half+} of it.",
        ]
    )


def test_the_golden_holds_what_was_asked_for(project: Suite) -> None:
    project.run(mode="new")
    golden = _golden(project.golden("test_review"))
    members = ["format", "workflow", "profile", "mode", "metadata", "prompts", "transcript", "final"]
    assert list(golden) == members
    assert set(golden["metadata"]) == {"version", "description", "workflowHash"}
    assert (golden["profile"], golden["mode"]) == ("reference", "guided")
    assert [each["tool"] for each in golden["transcript"]] == ["start_workflow", *["continue_workflow"] * 2]
    assert golden["final"]["status"] == "complete"
    assert {"gaps", "outputs", "blockers", "context"} <= set(golden["final"])
    assert str(project.path) not in project.golden("test_review").read_text()


def test_a_scenario_that_is_renamed_leaves_its_golden_behind(project: Suite) -> None:
    project.run(mode="new")
    (project.path / "automatic.scenario.json").rename(project.path / "by-itself.scenario.json")
    result = project.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*no golden yet: __goldens__/by-itself.golden.json", "*1 unused *", "*/automatic.*"])
    assert project.run(mode="new").ret == 0
    assert project.run(mode="prune").ret == 0
    assert project.names() == ["by-itself", "test_review"]


def test_a_scenario_that_fails_its_expectations_updates_nothing(project: Suite) -> None:
    project.run(mode="new")
    before = project.files()
    _write_workflow(project, "Changed.")
    failing = {"workflow": "review.json", "expect": {"steps": ["judge"]}}
    (project.path / "automatic.scenario.json").write_text(json.dumps(failing))
    project.run(mode="update").assert_outcomes(passed=1, failed=1)
    changed = {path for path, data in project.files().items() if before[path] != data}
    assert changed == {"__goldens__/test_it/test_review.golden.json"}


def test_a_scenario_without_a_golden_keeps_what_is_there(project: Suite) -> None:
    project.run(mode="new")
    before = project.files()
    (project.path / "automatic.scenario.json").write_text(json.dumps({"workflow": "review.json", "golden": False}))
    result = project.run(mode="prune")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["1 unused, but kept as their tests passed without looking at any golden:"])
    assert project.files() == before


def test_what_can_not_be_written_fails_the_run(project: Suite) -> None:
    conftest = (project.path / "conftest.py").read_text()
    broken = """
def pytest_sessionfinish():
    import os
    def full(descriptor):
        raise OSError(28, "No space left on device")
    pytest.MonkeyPatch().setattr(os, "fsync", full)
"""
    project.pytester.makeconftest(conftest + broken)
    result = project.run_apart(mode="new")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*automatic.golden.json can't be written: no space left on device"])
    assert project.files() == {}
