"""Twenty scenarios of one workflow: the review of a change is as small as the change."""

from __future__ import annotations

import json

import golden_bench
import pytest
from golden_suite import Suite

from pytest_workrail import api
from pytest_workrail.cli import main
from pytest_workrail.scenarios import drivers, workflow_driver

PRELOADED = (api, drivers, golden_bench, workflow_driver)


def _workflow(suite: Suite, **changes: str) -> None:
    texts = {"plan": "Plan the work.\nSay what is the smallest step.\nList the risks.", "extra": "Do more.", **changes}
    steps = [
        golden_bench.step("plan", texts["plan"]),
        golden_bench.step("extra", texts["extra"], runCondition={"var": "extra", "equals": True}),
        golden_bench.step("ship", "Ship it."),
    ]
    description = texts.get("description", "Plans and ships.")
    (suite.path / "flow.json").write_text(json.dumps(golden_bench.workflow(*steps, description=description)))


@pytest.fixture
def twenty(suite: Suite) -> Suite:
    _workflow(suite)
    (suite.path / "scenarios").mkdir()
    for number in range(20):
        turns = [{"step": "ship", "does": "missing_notes"}, {"step": "ship", "call": "rehydrate"}]
        agent = {"kind": "auto", "turns": turns if number % 3 == 0 else []}
        scenario = {
            "workflow": "../flow.json",
            "goal": f"Goal {number}",
            "context": {"extra": number % 2 == 0},
            "agent": agent,
        }
        (suite.path / "scenarios" / f"s{number:02}.scenario.json").write_text(json.dumps(scenario))
    assert suite.run(mode="new").ret == 0
    return suite


def test_one_word_is_one_change(twenty: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    _workflow(twenty, plan="Plan the work.\nSay what is the biggest step.\nList the risks.")
    result = twenty.pytester.runpytest_inprocess()
    result.assert_outcomes(failed=20)
    assert len(result.outlines) <= 25, result.stdout.str()
    result.stdout.fnmatch_lines(["scenarios/[*].scenario.json FFFFFFFFFFFFFFFFFFFF *100%*"])
    capsys.readouterr()
    assert main(["golden", "diff"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 15
    assert shown[0] == "golden-test · plan"
    assert shown[1].endswith("prompt of 'plan': one word, in 20 runs")


def test_a_description_fails_nothing(twenty: Suite) -> None:
    _workflow(twenty, description="Plans, then ships.")
    twenty.run().assert_outcomes(passed=20)


def test_a_step_fails_only_the_runs_that_visit_it(twenty: Suite) -> None:
    _workflow(twenty, extra="Do much more.")
    twenty.run().assert_outcomes(passed=10, failed=10)
