"""What a scenario expects of a run, held against what happened; each difference names the member at fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_workrail.scenarios.expectations import first_difference, member_faults, status_faults
from pytest_workrail.scenarios.failures import Fault
from pytest_workrail.systems.blocks.block_run import BlockRun
from pytest_workrail.systems.blocks.golden import finding_entry
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Severity
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus

# Findings about the harness and the statelessness of agents: unless they are expected, a run with one is no good.
_CONTRACT_BROKEN = "BC7"


def unmet(value: Mapping[str, Any], run: BlockRun) -> Iterator[Fault]:
    """Mistakes of the scenario first, then everything that is not as expected."""
    for pointer, message in run.problems:
        yield Fault(message, f"/block{pointer}")
    expected: Mapping[str, Any] = value.get("expect", {})
    status, completed = expected.get("executionStatus"), ExecutionStatus.COMPLETED.value
    yield from status_faults(run.execution_status, status, completed, "/expect/executionStatus")
    yield from _unshown_locks(value, run)
    if "findings" not in expected:
        yield from _broken(run)
    for member, actual in _lists(run).items():
        if member in expected:
            yield from _list(expected[member], actual, f"/expect/{member}", member)
    for member, found in _maps(run).items():
        if member in expected:
            whole = member in ("applied", "synthetic")
            yield from _map(expected[member], found, f"/expect/{member}", whole=whole)


def _unshown_locks(value: Mapping[str, Any], run: BlockRun) -> Iterator[Fault]:
    for at, lock in enumerate(value.get("enforces", ())):
        if lock not in run.locks:
            yield Fault(f"this run does not demonstrate {lock}", child("/enforces", at))


def _broken(run: BlockRun) -> Iterator[Fault]:
    for finding in run.findings:
        if finding.code.startswith(_CONTRACT_BROKEN) and finding.severity is Severity.ERROR:
            yield Fault(f"{finding.code} {finding.name}: {finding.message}", "/block")


def _lists(run: BlockRun) -> dict[str, list[dict[str, Any]]]:
    """What comes in an order: each item with the members that can be expected of it, the one it is known by first."""
    conflicts = [conflict for fan_in in run.fan_ins for conflict in fan_in["result"]["conflicts"]]
    return {
        "steps": [{"node": step["node"]} for step in run.steps],
        "events": [{"type": event["type"]} for event in run.events],
        "blockers": [_blocker(blocker) for blocker in run.blockers],
        "findings": [finding_entry(finding) for finding in run.findings],
        "conflicts": conflicts,
    }


def _blocker(blocker: dict[str, Any]) -> dict[str, Any]:
    pointer = blocker["pointer"]
    named = {"node": pointer.get("nodeId"), "group": pointer.get("groupId"), "path": pointer.get("path")}
    return {"code": blocker["code"], **named, "message": blocker["message"]}


def _maps(run: BlockRun) -> dict[str, dict[str, Any]]:
    synthetic = {step["env"]["NODE_ID"]: step["synthetic"] for step in run.steps if step["synthetic"] is not None}
    applied = {path: lane for fan_in in run.fan_ins for path, lane in fan_in["applied"].items()}
    nodes = {node: status.value for node, status in run.nodes.items()}
    return {"nodes": nodes, "synthetic": synthetic, "applied": applied, "files": run.files}


def _list(wanted: Sequence[Any], actual: Sequence[dict[str, Any]], pointer: str, what: str) -> Iterator[Fault]:
    names = [str(next(iter(item.values()))) for item in actual]
    expected = [item if isinstance(item, str) else str(next(iter(_known_by(item)))) for item in wanted]
    at = first_difference(expected, names)
    if at is not None:
        place = child(pointer, at) if at < len(expected) else pointer
        found = names[at] if at < len(names) else "none"
        says = expected[at] if at < len(expected) else "none"
        every = f"all {what}: {', '.join(names) or 'none'}"
        yield Fault(f"{what.removesuffix('s')} {at + 1}: expected {says}, found {found}; {every}", place)
        return
    for index, (one, other) in enumerate(zip(wanted, actual, strict=True)):
        if isinstance(one, Mapping):
            yield from member_faults(one.items(), other, child(pointer, index), repr)


def _known_by(item: Mapping[str, Any]) -> Iterator[Any]:
    yield item["code"] if "code" in item else item["conflictingFile"]


def _map(wanted: Mapping[str, Any], actual: Mapping[str, Any], pointer: str, *, whole: bool) -> Iterator[Fault]:
    """Names and values; with `whole`, there may be no others."""
    for name, value in wanted.items():
        if actual.get(name) != value:
            yield Fault(f"{name}: expected {_shown(value)}, found {_shown(actual.get(name))}", child(pointer, name))
    for name in actual if whole else ():
        if name not in wanted:
            yield Fault(f"{name}: expected nothing, found {_shown(actual[name])}", pointer)


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)
