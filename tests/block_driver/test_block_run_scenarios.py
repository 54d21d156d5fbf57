"""The scenarios that ship: they pass with their goldens, and together they show all there is to a run of blocks."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from block_runs import chain, node

from pytest_workrail.golden.diff import Causes, grouped
from pytest_workrail.locks.registry import shipped_registry
from pytest_workrail.systems import blocks
from pytest_workrail.systems.blocks.block_run import BlockRun
from pytest_workrail.systems.blocks.run_evidence import EVIDENCE
from workrail_lint import Severity, check
from workrail_lint.base.closed_sets import words
from workrail_lint.systems.blocks.vocabulary import (
    BlockerCode,
    ConditionType,
    Containers,
    ControlType,
    Enforcement,
    EventType,
    ExecutionStatus,
    FailureMode,
    GitState,
    Isolation,
    MergeStrategy,
    NodeStatus,
    OutputStatus,
    PauseAnswer,
    Resolution,
    Synthetic,
)
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import Settings

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "scenarios" / "blocks"
FILES = sorted(FOLDER.glob("*.scenario.json"))
PLUGIN = "pytest_workrail.plugin"
# Runs that come to their end without a failure, and so leave nothing behind that a linter could mind.
GOOD = ("in-a-row", "unrestricted", "first-to-finish-wins", "conflict-decided", "revised-once", "half-done")


@cache
def value_of(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


@cache
def run_of(path: Path) -> BlockRun:
    return blocks.run(path)


def all_runs() -> list[BlockRun]:
    return [run_of(path) for path in FILES]


@pytest.mark.deep
def test_they_pass_with_their_goldens(pytester: pytest.Pytester) -> None:
    """A run of the whole suite collects them as tests too."""
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    options = [] if installed else ["-p", PLUGIN]
    result = pytester.runpytest_inprocess(*options, "-p", "no:cacheprovider", f"--rootdir={ROOT}", str(FOLDER), "-q")
    result.assert_outcomes(passed=len(FILES))
    result.stdout.fnmatch_lines([f"*{len(FILES)} match"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_they_are_clean_and_explain_themselves(path: Path) -> None:
    result = scenario_system().check(str(path), path.read_bytes(), "scenario", Settings(load_core()))
    assert result.findings == []
    assert value_of(path)["description"]


def test_every_golden_has_its_scenario() -> None:
    goldens = {path.name.removesuffix(".golden.json") for path in (FOLDER / "__goldens__").glob("*.golden.json")}
    assert goldens == {path.name.removesuffix(".scenario.json") for path in FILES}


def test_every_event_is_shown() -> None:
    assert {event["type"] for run in all_runs() for event in run.events} == set(words(EventType))


def test_every_blocker_is_shown() -> None:
    assert {blocker["code"] for run in all_runs() for blocker in run.blockers} == set(words(BlockerCode))


def test_every_synthetic_failure_is_shown() -> None:
    assert {step["synthetic"] for run in all_runs() for step in run.steps} == {None, *words(Synthetic)}


def test_every_way_to_merge_is_shown() -> None:
    fan_ins = [fan_in for run in all_runs() for fan_in in run.fan_ins]
    assert {fan_in["result"]["mergeStrategy"] for fan_in in fan_ins} == set(words(MergeStrategy))
    assert {fan_in["isolation"] for fan_in in fan_ins} == set(words(Isolation))
    conflicts = [conflict for fan_in in fan_ins for conflict in fan_in["result"]["conflicts"]]
    assert {conflict["resolution"] for conflict in conflicts} == set(words(Resolution))
    assert any("appliedFrom" not in conflict for conflict in conflicts)


def test_every_answer_is_shown() -> None:
    answers = [
        answer for path in FILES for queue in value_of(path)["block"].get("gates", {}).values() for answer in queue
    ]
    assert {answer for answer in answers if isinstance(answer, str)} == {"continue", "abort", "quietly"}
    assert any(isinstance(answer, dict) for answer in answers)
    choices = {choice for path in FILES for choice in value_of(path)["block"].get("conflicts", {}).values()}
    assert choices == {"form", "manual", "abort"}
    pauses = {answer for path in FILES for answer in value_of(path)["block"].get("pauses", {}).values()}
    assert pauses == set(words(PauseAnswer))


def test_every_end_is_shown() -> None:
    assert {run.execution_status for run in all_runs()} == set(words(ExecutionStatus)) - {"pending", "running"}
    reached = {status for run in all_runs() for status in run.nodes.values()}
    assert reached == set(NodeStatus) - {NodeStatus.PENDING, NodeStatus.RUNNING}
    statuses = {step["output"]["status"] for run in all_runs() for step in run.steps if step["output"]}
    assert statuses == set(words(OutputStatus))


def test_every_setting_is_shown() -> None:
    written = [value_of(path)["block"] for path in FILES]
    assert {block["repo"]["git"] for block in written if "git" in block.get("repo", {})} | {"none"} == set(
        words(GitState)
    )
    assert {block.get("containers", "warm") for block in written} == set(words(Containers))
    assert {block.get("enforce", "prompt") for block in written} == set(words(Enforcement))
    assert {block.get("failureMode", "lenient") for block in written} == set(words(FailureMode))
    named = {name for block in written for name in (block["workflow"], *block.get("workflows", ()))}
    assert {path.relative_to(FOLDER).as_posix() for path in (FOLDER / "workflows").glob("*.json")} == named
    definitions = [value_of(FOLDER / name) for name in sorted(named)]
    kinds = {edge["condition"]["type"] for each in definitions for edge in each["transitions"]}
    assert kinds == set(words(ConditionType))
    controls = {node["config"].get("blockType") for each in definitions for node in each["nodes"]}
    assert controls >= set(words(ControlType))


def test_every_lock_is_enforced_by_a_scenario_that_bears_witness() -> None:
    claimed = {lock for path in FILES for lock in value_of(path).get("enforces", ())}
    registered = {lock.id for lock in shipped_registry().locks if lock.category == "blocks"}
    assert claimed == set(EVIDENCE.checks) == registered
    for path in FILES:
        assert set(value_of(path).get("enforces", ())) <= set(run_of(path).locks), path.name


@pytest.mark.parametrize("name", GOOD)
def test_what_a_good_run_leaves_behind_is_clean(name: str, tmp_path: Path) -> None:
    blocks.run(FOLDER / f"{name}.scenario.json", keep=tmp_path)
    report = check([tmp_path])
    kinds = {path.rpartition("/")[2].partition("-")[0] for path in report.files}
    assert {"block", "env", "prompt", "repo", "trace.json", "definition.workflow.json"} <= kinds
    # Ids that people can read are no UUIDs, which is all there is to say.
    assert {finding.code for finding in report.findings} <= {"BC301"}


def test_what_a_bad_run_leaves_behind_is_told(tmp_path: Path) -> None:
    blocks.run(FOLDER / "restrictions-in-words.scenario.json", keep=tmp_path)
    errors = [finding.code for finding in check([tmp_path]).findings if finding.severity is Severity.ERROR]
    assert errors == ["BC609"]


def test_one_prompt_change_in_four_goldens_is_one_group() -> None:
    def golden(name: str, prompt: str, replies: dict[str, Any]) -> dict[str, Any]:
        definition = chain(node("a"), node("b", "coding", prompt), node("c", "reviewer", "Review it."))
        return blocks.run({"name": name, "block": {"replies": replies}}, workflow=definition).golden

    ways: list[dict[str, Any]] = [{}, {"a": {"ticks": 9}}, {"c": {"output": "none"}}, {"b": {"write": {"x.py": "1"}}}]
    pairs = {
        f"way-{number}": [golden(f"way-{number}", prompt, replies) for prompt in ("Build it.", "Build all of it.")]
        for number, replies in enumerate(ways)
    }
    (group,) = grouped((name, list(Causes(*pair))) for name, pair in pairs.items())
    assert (group.key.step, group.goldens) == ("b", list(pairs))
