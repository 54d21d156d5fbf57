"""Lanes come together: all outputs are kept, and files are applied as the strategy of the group says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.nodes import Halt
from pytest_workrail.systems.blocks.run_state import SharedState, encoded
from pytest_workrail.systems.blocks.workspaces import Workspace
from workrail_lint.systems.blocks.merging import MANUAL, Merge, PathConflict, merge, reported
from workrail_lint.systems.blocks.paths import is_agents_path
from workrail_lint.systems.blocks.plan import Lanes
from workrail_lint.systems.blocks.run_vocabulary import ABORT, EventType
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus, Isolation, MergeStrategy

Outputs = Mapping[str, dict[str, Any]]


def fan_in(
    shared: SharedState,
    entry: Lanes,
    how: Isolation,
    outputs: Outputs,
    order: Sequence[str],
    workspaces: Mapping[str, Workspace],
) -> Halt:
    """Merge lanes, given in lane order, that settled in `order`. What is not decided leaves the run paused."""
    strategy = MergeStrategy(entry.strategy)
    shared.log.emit(EventType.FAN_IN, groupId=entry.group, mergeStrategy=strategy.value, completionOrder=list(order))
    for lane, workspace in workspaces.items():
        shared.main.take_outputs(workspace, lane)
    planned = merge(strategy, outputs, order)
    if planned.unresolved:
        choices = _choices(shared, entry.group, planned.unresolved)
        if isinstance(choices, ExecutionStatus):
            return choices
        planned = merge(strategy, outputs, order, choices)
    content = _apply(shared, entry.group, planned, outputs, workspaces)
    for conflict in planned.events:
        shared.log.emit(EventType.LANE_CONFLICT, **conflict)
    result = {
        "mergeStrategy": strategy.value,
        "blockOutputs": list(outputs.values()),
        "conflicts": planned.conflicts,
    }
    shared.fan_ins.append(
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


def _choices(shared: SharedState, group: str, conflicts: Sequence[PathConflict]) -> dict[str, str] | ExecutionStatus:
    """What a person decides about all conflicts at once, or how the run stands without that."""
    shared.log.emit(EventType.EXECUTION_PAUSED, cause="conflict")
    shown = [{"conflictingFile": clash.path, "lanes": list(clash.lanes)} for clash in conflicts]
    shared.log.emit(EventType.BLOCK_GATE_OPEN, groupId=group, conflicts=shown)
    choices = shared.answers.choices(conflicts)
    if choices is None:
        shared.blockers += [blockers.lane_conflict(group, clash) for clash in conflicts]
        return ExecutionStatus.PAUSED
    if ABORT in choices.values():
        shared.log.emit(EventType.GATE_DECIDED, selectedOption=ABORT)
        shared.blockers.append(blockers.aborted(conflicts[0].lanes[0]))
        return ExecutionStatus.ABORTED
    shared.log.emit(EventType.GATE_DECIDED, choices=choices)
    shared.log.emit(EventType.EXECUTION_RESUMED, cause="conflict")
    return choices


def _apply(
    shared: SharedState, group: str, planned: Merge, outputs: Outputs, workspaces: Mapping[str, Workspace]
) -> dict[str, Any]:
    """Bring files into the main workspace; what each lane had and what is there now, as hashes."""
    for path, lane in planned.applied.items():
        if lane == MANUAL:
            shared.main.put(path, encoded(shared.answers.manual_text(path)))
        else:
            shared.main.copy_from(workspaces[lane], path)
        shared.copies.append({"n": shared.log.n, "groupId": group, "path": path, "lane": lane})
    return {
        "main": _hashes(shared.main, [path for path in planned.applied if is_agents_path(path)]),
        "lanes": {lane: _hashes(workspaces[lane], reported(output)) for lane, output in outputs.items()},
    }


def _hashes(workspace: Workspace, paths: Sequence[str]) -> dict[str, str]:
    return {path: found for path in paths if (found := workspace.hash_of(path)) is not None}
