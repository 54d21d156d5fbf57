"""Lanes come together: all outputs are kept, and files are applied as the strategy of the group says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.nodes import Halt
from pytest_workrail.systems.blocks.run_state import Bench, encoded
from pytest_workrail.systems.blocks.workspaces import Workspace
from workrail_lint.systems.blocks.merging import MANUAL, Merge, PathConflict, merge, reported
from workrail_lint.systems.blocks.paths import is_agents_path
from workrail_lint.systems.blocks.plan import Lanes
from workrail_lint.systems.blocks.run_vocabulary import ABORT, EventType
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus, Isolation, MergeStrategy

Outputs = Mapping[str, dict[str, Any]]


def fan_in(
    bench: Bench,
    entry: Lanes,
    how: Isolation,
    outputs: Outputs,
    order: Sequence[str],
    workspaces: Mapping[str, Workspace],
) -> Halt:
    """Merge lanes, given in lane order, that settled in `order`. What is not decided leaves the run paused."""
    strategy = MergeStrategy(entry.strategy)
    bench.log.tell(EventType.FAN_IN, groupId=entry.group, mergeStrategy=strategy.value, completionOrder=list(order))
    for lane, workspace in workspaces.items():
        bench.main.take_outputs(workspace, lane)
    planned = merge(strategy, outputs, order)
    if planned.unresolved:
        choices = _choices(bench, entry.group, planned.unresolved)
        if isinstance(choices, ExecutionStatus):
            return choices
        planned = merge(strategy, outputs, order, choices)
    content = _apply(bench, entry.group, planned, outputs, workspaces)
    for conflict in planned.events:
        bench.log.tell(EventType.LANE_CONFLICT, **conflict)
    result = {
        "mergeStrategy": strategy.value,
        "blockOutputs": list(outputs.values()),
        "conflicts": planned.conflicts,
    }
    bench.fan_ins.append(
        {
            "group": entry.group,
            "isolation": how.value,
            "completionOrder": list(order),
            "result": result,
            "applied": planned.applied,
            "content": content,
        }
    )
    return None


def _choices(bench: Bench, group: str, path_conflicts: Sequence[PathConflict]) -> dict[str, str] | ExecutionStatus:
    """What a person decides about all path_conflicts at once, or how the run stands without that."""
    bench.log.tell(EventType.EXECUTION_PAUSED, cause="conflict")
    shown = [{"conflictingFile": clash.path, "lanes": list(clash.lanes)} for clash in path_conflicts]
    bench.log.tell(EventType.BLOCK_GATE_OPEN, groupId=group, conflicts=shown)
    choices = bench.people.choices(path_conflicts)
    if choices is None:
        bench.blockers += [blockers.lane_conflict(group, clash) for clash in path_conflicts]
        return ExecutionStatus.PAUSED
    if ABORT in choices.values():
        bench.log.tell(EventType.GATE_DECIDED, selectedOption=ABORT)
        bench.blockers.append(blockers.aborted(path_conflicts[0].lanes[0]))
        return ExecutionStatus.ABORTED
    bench.log.tell(EventType.GATE_DECIDED, choices=choices)
    bench.log.tell(EventType.EXECUTION_RESUMED, cause="conflict")
    return choices


def _apply(
    bench: Bench, group: str, planned: Merge, outputs: Outputs, workspaces: Mapping[str, Workspace]
) -> dict[str, Any]:
    """Bring files into the main workspace; what each lane had and what is there now, as hashes."""
    for path, lane in planned.applied.items():
        if lane == MANUAL:
            bench.main.put(path, encoded(bench.people.manual_text(path)))
        else:
            bench.main.bring(workspaces[lane], path)
        bench.copies.append({"n": bench.log.n, "groupId": group, "path": path, "lane": lane})
    return {
        "main": _hashes(bench.main, [path for path in planned.applied if is_agents_path(path)]),
        "lanes": {lane: _hashes(workspaces[lane], reported(output)) for lane, output in outputs.items()},
    }


def _hashes(workspace: Workspace, paths: Sequence[str]) -> dict[str, str]:
    return {path: found for path in paths if (found := workspace.hash_of(path)) is not None}
