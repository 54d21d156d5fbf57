"""The team scenarios that ship: they pass with their goldens, and together they show all there is to the contract."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_workrail.systems.team import TeamRun, run
from pytest_workrail.systems.team.lock_evidence import EVIDENCE
from pytest_workrail.systems.team.scenario import unmet
from pytest_workrail.systems.team.session import TeamBlocker
from workrail_lint.systems.builtin import scenario_system
from workrail_lint.systems.team.state_machine import CORRECTORS, GATES
from workrail_lint.systems.team.trace import EVENTS
from workrail_lint.systems.team.vocabulary import (
    AgentName,
    BlockerSlug,
    CorrectionStatus,
    DecisionStatus,
    FixLoop,
    ReplyFault,
    WorkflowState,
    WriteFault,
)
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import Settings

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "scenarios" / "team"
FILES = sorted(FOLDER.glob("*.scenario.json"))
NAMES = [path.name.removesuffix(".scenario.json") for path in FILES]


@cache
def loaded(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FOLDER / f"{name}.scenario.json").read_bytes())
    return value


@cache
def played(name: str) -> TeamRun:
    return run({**loaded(name), "name": name}, folder=FOLDER)


def runs() -> list[TeamRun]:
    return [played(name) for name in NAMES]


def events() -> list[dict[str, Any]]:
    return [event for found in runs() for event in found.events]


@pytest.mark.parametrize("name", NAMES)
def test_they_hold_and_match_their_goldens(name: str) -> None:
    found = played(name)
    assert found.problems == ()
    assert unmet(loaded(name), found) == ()
    assert found.golden_bytes == (FOLDER / "__goldens__" / f"{name}.golden.json").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_they_are_clean_and_say_what_they_are_for(name: str) -> None:
    path = FOLDER / f"{name}.scenario.json"
    result = scenario_system().check(str(path), path.read_bytes(), "scenario", Settings(load_core()))
    assert result.findings == []
    assert loaded(name)["description"]


def test_every_golden_has_its_scenario() -> None:
    goldens = {path.name.removesuffix(".golden.json") for path in (FOLDER / "__goldens__").iterdir()}
    assert goldens == set(NAMES)


def test_every_state_is_entered() -> None:
    assert {state for found in runs() for state in found.states} == {state.value for state in WorkflowState}


def test_every_kind_of_event_is_shown() -> None:
    assert {event["event"] for event in events()} == set(EVENTS)


def test_every_agent_is_sent_off() -> None:
    sent = {each["agent"] for found in runs() for each in found.dispatches}
    assert sent == {agent.value for agent in AgentName} - {"Orchestrator"}


def test_every_blocker_and_every_reason_is_shown() -> None:
    codes = {blocker.code for found in runs() for blocker in found.blockers}
    assert codes == set(TeamBlocker)
    slugs = {found.status.get("blocker") for found in runs()} - {None}
    assert slugs == {slug.value for slug in BlockerSlug}


def test_every_gate_ends_in_every_way() -> None:
    ends = {
        (entry["decision_id"], entry["status"])
        for found in runs()
        for entry in found.decisions
        if entry["decision_id"] in GATES
    }
    assert {(ident, status) for ident in GATES for status in ("answered", "cancelled")} <= ends
    statuses = {entry["status"] for found in runs() for entry in found.decisions}
    assert statuses == {status.value for status in DecisionStatus}


def test_every_way_of_a_correction_is_shown() -> None:
    moves = {event["to"] for event in events() if event["event"] == "correction"}
    assert moves == {status.value for status in CorrectionStatus} - {"none"}
    agents = {event.get("agent") for event in events() if event["event"] == "correction"} - {None}
    assert agents == {agent.value for agent in CORRECTORS}


def test_every_loop_is_entered_and_exhausted() -> None:
    counts = {(event["loop"], event["count"]) for event in events() if event["event"] == "retry_count"}
    assert {loop for loop, _ in counts} == {loop.value for loop in FixLoop}
    assert {loop for loop, count in counts if count == 3} == {loop.value for loop in FixLoop}
    assert 4 not in {count for _, count in counts}


def test_every_fault_strikes() -> None:
    kinds = {fault["kind"] for name in NAMES for fault in loaded(name)["team"].get("faults", ())}
    assert kinds == {kind.value for kind in WriteFault}
    files = {fault["file"] for name in NAMES for fault in loaded(name)["team"].get("faults", ())}
    assert files == {"status.json", "approve-design-history.jsonl", "report.md"}
    replies = [reply for name in NAMES for reply in loaded(name)["team"].get("replies", {}).values()]
    assert {reply["fault"] for reply in replies if "fault" in reply} == {fault.value for fault in ReplyFault}


def test_every_lock_is_claimed_and_witnessed() -> None:
    assert {lock for found in runs() for lock in found.locks} == set(EVIDENCE.checks)
    assert all(covered for found in runs() for covered in found.locks.values())


def test_runs_that_end_well_leave_clean_sessions_behind() -> None:
    """What the rules call an error never comes of a run whose agents kept to the contract."""
    for name in NAMES:
        found = played(name)
        errors = [finding.code for finding in found.findings if finding.severity.value == "error"]
        blames_nobody = name.startswith(("violation", "artifact-invalid", "context-file", "resume-status", "reply-not"))
        assert errors == [] or blames_nobody or name == "lean-bootstrap", (name, errors)
