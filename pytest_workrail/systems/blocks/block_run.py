"""A run as a value: played once, or several times to compare."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from typing import Any

from pytest_workrail.golden.encoding import dumps
from pytest_workrail.records import Record, replace
from pytest_workrail.systems.blocks.driver import drive
from pytest_workrail.systems.blocks.golden import golden_of
from pytest_workrail.systems.blocks.lock_evidence import evident_locks
from pytest_workrail.systems.blocks.records import findings_of, trace_of, write_records
from pytest_workrail.systems.blocks.run_state import WORKSPACE, SharedState
from pytest_workrail.systems.blocks.setup import Setup
from pytest_workrail.systems.blocks.user_answers import ScenarioProblem
from pytest_workrail.systems.blocks.workspaces import copy_tree, remove_tree
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.check import check_trace
from workrail_lint.systems.blocks.limits import PERMUTED_LANES
from workrail_lint.systems.blocks.run_vocabulary import Containers, EventType
from workrail_lint.systems.blocks.vocabulary import FailureMode, NodeStatus

_MEMORY = "/dev/shm"
_ROOM = 2**30


class BlockRun(Record):
    """What came of a run. `slips` are mistakes of the scenario, as pointers into its block."""

    trace: dict[str, Any]
    golden: dict[str, Any]
    findings: tuple[Finding, ...]
    nodes: dict[str, NodeStatus]
    files: dict[str, str | None]  # the texts of the workspace; None for what is no text
    locks: tuple[str, ...]  # those that the run bears witness to
    problems: tuple[ScenarioProblem, ...]

    @property
    def execution_status(self) -> str:
        return str(self.trace["executionStatus"])

    @property
    def events(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self.golden["events"]
        return events

    @property
    def steps(self) -> list[dict[str, Any]]:
        steps: list[dict[str, Any]] = self.golden["steps"]
        return steps

    @property
    def fan_ins(self) -> list[dict[str, Any]]:
        fan_ins: list[dict[str, Any]] = self.golden["fanIns"]
        return fan_ins

    @property
    def blockers(self) -> list[dict[str, Any]]:
        blockers: list[dict[str, Any]] = self.golden["blockers"]
        return blockers

    @property
    def codes(self) -> list[str]:
        """The codes of the findings, in their order."""
        return [finding.code for finding in self.findings]

    @property
    def golden_bytes(self) -> bytes:
        return dumps(self.golden, sort_keys=True)


def play(setup: Setup, scenario: str, keep: Path | None = None) -> BlockRun:
    """Run a setup, and once more for every comparison it asks for. `keep` is a folder to leave the workspace in."""
    with _folder() as folder:
        shared = SharedState(setup, folder)
        status, stage = drive(shared)
        trace = trace_of(shared, status, stage, scenario)
        findings = findings_of(shared, trace)
        if setup.stateless or setup.permutations:
            compared = _compared(setup, scenario, golden_of(trace, findings, [], folder))
            trace.update(compared)
            findings = _sorted([*findings, *check_trace(compared, setup.options)])
        locks = evident_locks(trace, findings)
        golden = golden_of(trace, findings, locks, folder)
        nodes = {node: status for each in shared.stages for node, status in each.statuses.items()}
        files = {path: _text(shared.main.read(path)) for path in shared.main.files()}
        if keep is not None:
            write_records(shared, trace)
            copy_tree(os.path.join(folder, WORKSPACE), os.fspath(keep))
        problems = [*_unused_replies(shared), *shared.answers.problems()]
        return BlockRun(trace, golden, tuple(findings), nodes, files, tuple(locks), tuple(problems))


def _unused_replies(shared: SharedState) -> Iterator[ScenarioProblem]:
    for key in shared.script.unused:
        yield child("/replies", key), f"the reply {key} was not used: there was no such run"


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


@contextmanager
def _folder() -> Iterator[str]:
    """A temporary folder that is gone afterwards, whatever agents did to its permissions."""
    with tempfile.TemporaryDirectory(prefix="blocks-", dir=_in_memory(), ignore_cleanup_errors=True) as folder:
        try:
            yield os.path.realpath(folder)
        finally:
            remove_tree(folder)


def _in_memory() -> str | None:
    """A file system in memory with room for a run, unless somebody has said where temporary files go.

    Lanes are thousands of small files that nobody keeps; on a disk, making and removing them is most of a run's time.
    """
    if "TMPDIR" in os.environ:
        return None
    try:
        found = os.statvfs(_MEMORY)
    except (AttributeError, OSError):
        return None
    runs_programs = not found.f_flag & getattr(os, "ST_NOEXEC", 0)
    has_room = found.f_bavail * found.f_frsize >= _ROOM
    return _MEMORY if has_room and runs_programs and os.access(_MEMORY, os.W_OK | os.X_OK) else None


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: (each.path, each.pointer, each.code, each.message))


# ------------------------------------------------------------------------------------------------------ comparisons


def _compared(setup: Setup, scenario: str, golden: dict[str, Any]) -> dict[str, Any]:
    """Goldens of further runs, under the names that the rules of traces look for."""
    made: dict[str, Any] = {}
    if setup.stateless:
        for how in (Containers.COLD, Containers.WARM):
            made[how.value] = golden if setup.containers is how else _golden(replace(setup, containers=how), scenario)
    if setup.permutations and setup.failure_mode is FailureMode.LENIENT:
        made["permutations"] = [golden, *(_golden(other, scenario) for other in _orders(setup, golden))]
    return made


def _golden(setup: Setup, scenario: str) -> dict[str, Any]:
    return play(replace(setup, stateless=False, permutations=False), scenario).golden | {"locks": []}


def _orders(setup: Setup, golden: dict[str, Any]) -> Iterator[Setup]:
    """The run with the lanes of one group after the other finishing in every order."""
    merges = [event["data"] for event in golden["events"] if event["type"] == EventType.FAN_IN.value]
    groups = {(merge["groupId"], *sorted(merge["completionOrder"])): merge["completionOrder"] for merge in merges}
    for (group, *_), lanes in groups.items():
        if len(lanes) <= PERMUTED_LANES:
            for order in permutations(lanes):
                yield replace(setup, finish={group: order})
