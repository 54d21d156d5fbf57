"""Runs of blocks from Python: a scenario as data or as a file, played once, or several times to compare."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.scenarios.drivers import Fault
from pytest_workrail.systems.blocks.driver import drive
from pytest_workrail.systems.blocks.run_evidence import (
    EVIDENCE,
    RunEvidence,
    findings_of,
    golden_of,
    trace_of,
    write_records,
)
from pytest_workrail.systems.blocks.run_state import WORKSPACE, SharedState
from pytest_workrail.systems.blocks.setup import Agent, Setup, load_setup
from pytest_workrail.systems.blocks.workspaces import copy_tree
from pytest_workrail.systems.kernel.run import run_folder
from workrail_lint.base.files import read_bytes
from workrail_lint.base.result import Err
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.check import check_trace
from workrail_lint.systems.blocks.traces import Trace
from workrail_lint.systems.blocks.vocabulary import PERMUTED_LANES, Containers, EventType, FailureMode, NodeStatus
from workrail_lint.systems.builtin import scenario_system


@dataclass(frozen=True, slots=True)
class BlockRun:
    """The result of a run."""

    trace: dict[str, Any]
    golden: dict[str, Any]
    findings: tuple[Finding, ...]
    nodes: dict[str, NodeStatus]
    files: dict[str, str | None]  # the content of the workspace; None for files that are not text
    locks: tuple[str, ...]  # those that the run demonstrates
    problems: tuple[Fault, ...]  # answers that did not fit, and everything that was not used

    @property
    def execution_status(self) -> str:
        return str(self.trace["executionStatus"])

    @property
    def events(self) -> list[dict[str, Any]]:
        return list(self.golden["events"])

    @property
    def steps(self) -> list[dict[str, Any]]:
        return list(self.golden["steps"])

    @property
    def fan_ins(self) -> list[dict[str, Any]]:
        return list(self.golden["fanIns"])

    @property
    def blockers(self) -> list[dict[str, Any]]:
        return list(self.golden["blockers"])

    @property
    def codes(self) -> list[str]:
        """Return the codes of the findings, in order."""
        return [finding.code for finding in self.findings]

    @property
    def golden_bytes(self) -> bytes:
        return dumps(self.golden, sort_keys=True)


def play(setup: Setup, scenario: str, keep: Path | None = None) -> BlockRun:
    """Run a setup, and once more for every comparison it asks for. `keep` is a folder to leave the workspace in."""
    with run_folder("blocks-") as folder:
        shared = SharedState(setup, folder)
        status, stage = drive(shared)
        trace = trace_of(shared, status, stage, scenario)
        findings = findings_of(shared, trace)
        if setup.stateless or setup.permutations:
            compared = _compared(setup, scenario, golden_of(trace, findings, [], folder))
            trace.update(compared)
            findings = _sorted([*findings, *check_trace(compared, setup.options)])
        locks = EVIDENCE.demonstrated(RunEvidence(Trace(trace), [finding.code for finding in findings]))
        golden = golden_of(trace, findings, locks, folder)
        nodes = {node: status for each in shared.stages for node, status in each.statuses.items()}
        files = {path: _text(shared.main.read(path)) for path in shared.main.files()}
        if keep is not None:
            write_records(shared, trace)
            copy_tree(os.path.join(folder, WORKSPACE), os.fspath(keep))
        problems = [*_unused_replies(shared), *shared.answers.problems()]
        return BlockRun(trace, golden, tuple(findings), nodes, files, tuple(locks), tuple(problems))


def _unused_replies(shared: SharedState) -> Iterator[Fault]:
    for key in shared.replies.unused:
        yield Fault(f"the reply {key} was not used: there was no such run", child("/block/replies", key))


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: (each.path, each.pointer, each.code, each.message))


# ------------------------------------------------------------------------------------------------------ comparisons


def _compared(setup: Setup, scenario: str, golden: dict[str, Any]) -> dict[str, Any]:
    """Return the goldens of more runs, under the names that the rules about traces read."""
    goldens: dict[str, Any] = {}
    if setup.stateless:
        for how in (Containers.COLD, Containers.WARM):
            goldens[how.value] = (
                golden if setup.containers is how else _golden(replace(setup, containers=how), scenario)
            )
    if setup.permutations and setup.failure_mode is FailureMode.LENIENT:
        goldens["permutations"] = [golden, *(_golden(other, scenario) for other in _orders(setup, golden))]
    return goldens


def _golden(setup: Setup, scenario: str) -> dict[str, Any]:
    return play(replace(setup, stateless=False, permutations=False), scenario).golden | {"locks": []}


def _orders(setup: Setup, golden: dict[str, Any]) -> Iterator[Setup]:
    """Yield the run with the lanes of each group finishing in every order."""
    merges = [event["data"] for event in golden["events"] if event["type"] == EventType.FAN_IN.value]
    groups = {(merge["groupId"], *sorted(merge["completionOrder"])): merge["completionOrder"] for merge in merges}
    for (group, *_), lanes in groups.items():
        if len(lanes) <= PERMUTED_LANES:
            for order in permutations(lanes):
                yield replace(setup, finish={group: order})


class ScenarioInvalid(ValueError):  # noqa: N818 - what it is called in reports
    """A scenario that can't be run; `findings` say why."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(f"{finding.pointer or '/'}: {finding.message}" for finding in findings))
        self.findings = tuple(findings)


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any],
    *,
    workflow: Mapping[str, Any] | None = None,
    workflows: Sequence[Mapping[str, Any]] = (),
    replies: Mapping[str, Agent] | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> BlockRun:
    """Run a scenario: a file, or its content. Raise ScenarioInvalid for one that does not hold together.

    `workflow` and `workflows` are definitions at hand, for a scenario that names no files. `replies` are agents in
    Python by node id. `keep` is a folder that gets a copy of the workspace with all records, as the linter reads it.
    """
    text, folder = _scenario(scenario, workflow)
    read = scenario_system().read(text)
    if read.findings:
        raise ScenarioInvalid(read.findings)
    given = () if workflow is None else (workflow, *workflows)
    setup = load_setup(read.value, folder, given, replies)
    if isinstance(setup, Err):
        raise ScenarioInvalid(setup.error)
    return play(setup.value, str(read.value.get("name", "")), None if keep is None else Path(keep))


def _scenario(
    scenario: str | os.PathLike[str] | Mapping[str, Any], workflow: Mapping[str, Any] | None
) -> tuple[bytes | str, str]:
    """Return the text of a scenario, and the folder that its paths are relative to."""
    if not isinstance(scenario, Mapping):
        path = Path(scenario)
        return read_bytes(str(path)), str(path.parent)
    value = dict(scenario)
    if workflow is not None:
        value["block"] = {"workflow": "definition.workflow.json", **value.get("block", {})}
    return json.dumps(value), os.curdir
