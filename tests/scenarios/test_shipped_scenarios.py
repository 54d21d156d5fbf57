"""The scenarios that ship: together they show all there is to the protocol.

That they pass with their goldens is for themselves to show: they are collected beside these tests."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from pytest_workrail.agents.agent import Exchange, Transcript
from pytest_workrail.coverage.goals import goals
from pytest_workrail.coverage.reach import REFUSALS
from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.engine.model.reasons import REASONS
from pytest_workrail.engine.protocol.errors import ErrorCode
from pytest_workrail.scenarios.drivers import open_scenario
from pytest_workrail.scenarios.workflow_driver import Loaded, load, run_scenario
from workrail_lint.base.result import Ok
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.workrail import scenario as vocabulary
from workrail_lint.systems.workrail.blocker_codes import BlockerCode, GapDetail
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import Settings
from workrail_lint.systems.workrail.scenario_words import Behaviour, CallName, FaultKind, HostReason

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "scenarios"
FILES = sorted(FOLDER.glob("*.scenario.json"))


@cache
def loaded(path: Path) -> Loaded:
    opened = open_scenario(path, path.name)
    assert isinstance(opened, Ok), str(opened.error)
    result = load(opened.value)
    assert isinstance(result, Ok), str(result.error)
    return result.value


@cache
def transcripts() -> dict[str, Transcript]:
    return {path.name: run_scenario(loaded(path)).run.transcript for path in FILES}


def exchanges() -> list[Exchange]:
    return [exchange for transcript in transcripts().values() for exchange in transcript.exchanges]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_they_are_clean(path: Path) -> None:
    result = scenario_system().check(str(path), path.read_bytes(), "scenario", Settings(load_core()))
    assert result.findings == []
    assert loaded(path).scenario["description"]


def test_every_golden_has_its_scenario() -> None:
    goldens = {path.name.removesuffix(".golden.json") for path in (FOLDER / "__goldens__").glob("*.golden.json")}
    assert goldens == {path.name.removesuffix(".scenario.json") for path in FILES}


def test_every_blocker_code_is_shown() -> None:
    met = {code for transcript in transcripts().values() for each in transcript.attempts for code in each.blockers}
    assert met == set(get_args(BlockerCode))


def test_scenarios_can_expect_every_error_of_the_engine() -> None:
    own, tokens, *bundles = get_args(ErrorCode)
    assert bundles, "which no tool of a scenario answers with"
    assert {code.value for code in vocabulary.ErrorCode} == {*get_args(own), *get_args(tokens)}


def test_every_reason_that_an_answer_brings_about_is_a_goal() -> None:
    asked_for = {"missing_context_key"}  # a question of the run, which is a goal of its own
    without = {str(reason.__struct_config__.tag) for reason in REASONS if not reason.cause}
    assert without == asked_for | {reason.value for reason in HostReason}, "give the reason a `cause`"
    counted = {
        point.case
        for transcript in transcripts().values()
        for point in goals(transcript.program, PROFILES[transcript.profile])
    }
    assert set(REFUSALS) - counted == set(), "override `is_asked_of`, or name the code in `coverage/reach.py`"


def test_every_gap_reason_is_shown() -> None:
    reasons: set[Any] = set()
    for transcript in transcripts().values():
        reasons |= {gap["detail"] for gap in transcript.final["gaps"]}  # type: ignore[union-attr, index, call-overload]
    assert reasons == set(get_args(GapDetail))


def variant(exchange: Exchange) -> str:
    """Which member of the response union an answer is."""
    response = exchange.response
    if exchange.is_error:
        return "error"
    if exchange.tool == "start_workflow":
        return "started"
    if exchange.tool != "continue_workflow":
        return exchange.tool
    kind = str(response["kind"])
    if kind == "blocked":
        return "blocked, retryable" if response["retryable"] else "blocked for good"
    if kind in ("ok", "step"):
        return str(response["nextIntent"])
    return kind


def test_every_response_variant_is_shown() -> None:
    assert {variant(exchange) for exchange in exchanges()} == {
        "started",
        "perform_pending_then_continue",
        "await_user_confirmation",
        "rehydrate_only",
        "complete",
        "blocked, retryable",
        "blocked for good",
        "gate_checkpoint",
        "checkpoint_workflow",
        "resume_session",
        "list_workflows",
        "inspect_workflow",
        "error",
    }
    members = {name for exchange in exchanges() for name in exchange.response}
    assert {
        "warnings",
        "references",
        "stepContext",
        "validation",
        "assessmentFollowup",
        "retryContinueToken",
        "skipped",
        "appliedFeatures",
    } <= members


def test_every_way_of_acting_is_shown() -> None:
    text = [json.loads(path.read_bytes()) for path in FILES]
    agents = [scenario["agent"] for scenario in text if "agent" in scenario]
    assert {agent["kind"] for agent in agents} >= {"auto", "scripted", "stubborn", "erratic"}
    turns = [turn for agent in agents for turn in agent.get("turns", ())]
    calls = {turn["call"] for turn in turns if "call" in turn}
    assert calls >= {call.value for call in CallName} - {"raw", "resend", "restart", "checkpoint_workflow"}
    assert {fault["fault"] for agent in agents for fault in agent.get("faults", ())} == {
        kind.value for kind in FaultKind
    }
    shown = {turn["does"] for turn in turns if "does" in turn} | {agent["does"] for agent in agents if "does" in agent}
    rarely = {"oversize_notes", "oversize_artifact", "failing_notes", "missing_dimension", "unknown_dimension"}
    assert {behaviour.value for behaviour in Behaviour} - shown <= rarely
