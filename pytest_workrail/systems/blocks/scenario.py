"""The driver of block scenarios, and what they can expect of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.scenarios.drivers import Fault, PlayedScenario, ScenarioDocument, ScenarioFailure, status_faults
from pytest_workrail.systems.blocks.block_run import BlockRun
from pytest_workrail.systems.blocks.block_run import play as play_setup
from pytest_workrail.systems.blocks.run_evidence import EVIDENCE, PACK, RunEvidence
from pytest_workrail.systems.blocks.run_state import event_lines
from pytest_workrail.systems.blocks.setup import load_setup
from pytest_workrail.systems.kernel.scenario import (
    Driver,
    Expectation,
    by_name,
    finding_entry,
    in_order,
    played_scenario,
)
from workrail_lint.base.result import Err, Ok
from workrail_lint.findings import Severity
from workrail_lint.systems.blocks.vocabulary import COMMON_CODE, EventType, ExecutionStatus

# Findings about the harness and the statelessness of agents: unless it is expected, one of them fails a scenario.
_CONTRACT_BROKEN = "BC7"


def play(scenario: ScenarioDocument) -> Ok[PlayedScenario] | Err[ScenarioFailure]:
    """Play a scenario and compare the run with what it expects."""
    setup = load_setup(scenario.value, scenario.folder)
    if isinstance(setup, Err):
        return scenario.invalid(setup.error)
    run = play_setup(setup.value, scenario.name)
    locks = [lock for lock in run.golden["locks"] if lock in scenario.locks]
    golden = {**run.golden, "locks": locks}
    faults = unmet(scenario.value, run)
    return Ok(played_scenario(scenario, faults, event_lines(run.events), lambda: dumps(golden, sort_keys=True), locks))


def unmet(scenario: Mapping[str, Any], run: BlockRun) -> tuple[Fault, ...]:
    """Return the mistakes of the scenario, then everything that is not as it expects."""
    return (*run.problems, *DRIVER.unmet(scenario, run, run.locks))


# -------------------------------------------------------------------------------------------------------- expectations


def _execution_status(wanted: str | None, run: BlockRun, pointer: str) -> Iterator[Fault]:
    return status_faults(run.execution_status, wanted, ExecutionStatus.COMPLETED.value, pointer)


def _broken_contract(wanted: list[Any] | None, run: BlockRun, pointer: str) -> Iterator[Fault]:
    if wanted is not None:
        yield from _findings(wanted, run, pointer)
        return
    for finding in run.findings:
        if finding.code.startswith(_CONTRACT_BROKEN) and finding.severity is Severity.ERROR:
            yield Fault(f"{finding.code} {finding.name}: {finding.message}", "/block")


def _blocker(blocker: dict[str, Any]) -> dict[str, Any]:
    pointer = blocker["pointer"]
    named = {"node": pointer.get("nodeId"), "group": pointer.get("groupId"), "path": pointer.get("path")}
    return {"code": blocker["code"], **named, "message": blocker["message"]}


def _synthetic(run: BlockRun) -> dict[str, Any]:
    return {step["env"]["NODE_ID"]: step["synthetic"] for step in run.steps if step["synthetic"] is not None}


_findings: Expectation[BlockRun] = in_order(
    "finding", "code", lambda run: [finding_entry(finding) for finding in run.findings]
)

EXPECTATIONS: dict[str, Expectation[BlockRun]] = {
    "executionStatus": _execution_status,
    "findings": _broken_contract,
    "steps": in_order("step", "node", lambda run: run.steps),
    "events": in_order("event", "type", lambda run: run.events),
    "blockers": in_order("blocker", "code", lambda run: [_blocker(blocker) for blocker in run.blockers]),
    "conflicts": in_order(
        "conflict",
        "conflictingFile",
        lambda run: [conflict for fan_in in run.fan_ins for conflict in fan_in["result"]["conflicts"]],
    ),
    "nodes": by_name(lambda run: {node: status.value for node, status in run.nodes.items()}),
    "synthetic": by_name(_synthetic, complete=True),
    "applied": by_name(
        lambda run: {path: lane for fan_in in run.fan_ins for path, lane in fan_in["applied"].items()}, complete=True
    ),
    "files": by_name(lambda run: run.files),
}
DRIVER: Driver[BlockRun, RunEvidence] = Driver(
    pack=PACK,
    event_member="type",
    events=tuple(kind.value for kind in EventType),
    blockers=COMMON_CODE,
    expectations=EXPECTATIONS,
    evidence=EVIDENCE,
    docs="docs/blocks-simulation.md",
    samples="fixtures/scenarios/blocks",
)
