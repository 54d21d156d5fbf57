"""What stands in the way of a run, told so that somebody can do something about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_workrail.engine.core.values import collation_key, truncate_marked
from pytest_workrail.engine.core.vocabulary import (
    MAX_BLOCKER_MESSAGE_BYTES,
    MAX_BLOCKER_SUGGESTED_FIX_BYTES,
    MAX_BLOCKERS,
)
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.definition import Definition, Group, Transition
from workrail_lint.systems.blocks.limits import MAX_REVISIONS
from workrail_lint.systems.blocks.merging import MANUAL, PathConflict
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, output_name
from workrail_lint.systems.blocks.plan import Cycle
from workrail_lint.systems.blocks.run_vocabulary import ABORT, CONTINUE, BlockerCode

Blocker = dict[str, Any]


def report(blockers: Iterable[Blocker]) -> list[Blocker]:
    """Blockers in their order, each once, the first ten."""
    once = {_key(blocker): blocker for blocker in reversed(list(blockers))}
    return [once[key] for key in sorted(once, key=collation_key)][:MAX_BLOCKERS]


def _key(blocker: Blocker) -> str:
    pointer = blocker["pointer"]
    stable = "|".join(str(value) for name, value in pointer.items() if name != "kind")
    return f"{blocker['code']}|{pointer['kind']}|{stable}"


def _blocker(code: BlockerCode, pointer: dict[str, str], message: str, fix: str) -> Blocker:
    return {
        "code": code.value,
        "pointer": pointer,
        "message": truncate_marked(message, MAX_BLOCKER_MESSAGE_BYTES),
        "suggestedFix": truncate_marked(fix, MAX_BLOCKER_SUGGESTED_FIX_BYTES),
    }


def _block(node: str) -> dict[str, str]:
    return {"kind": "block", "nodeId": node}


def _gate(node: str) -> dict[str, str]:
    return {"kind": "gate", "nodeId": node}


def output_missing(node: str) -> Blocker:
    fix = f"Write {OUTPUT_FOLDER}/{output_name(node)} with its eight members before the block exits"
    return _blocker(BlockerCode.OUTPUT_MISSING, _block(node), f"Block {node} wrote no output file", fix)


def output_invalid(node: str, first: Finding) -> Blocker:
    pointer = {"kind": "output", "nodeId": node, "path": first.pointer}
    place = first.pointer or "the file as a whole"
    mended = f": {first.fix.title}" if first.fix is not None else ""
    fix = f"Correct {place} of {output_name(node)}{mended} ({first.code}: {first.message})"
    return _blocker(BlockerCode.OUTPUT_INVALID, pointer, f"The output of block {node} can't be used", fix)


def failed(node: str, summary: str) -> Blocker:
    return _blocker(BlockerCode.FAILED, _block(node), f"Block {node} failed", summary)


def too_deep(node: str, most: int) -> Blocker:
    fix = f"Run the definition from one that is nested at most {most - 1} deep"
    return _blocker(BlockerCode.FAILED, _block(node), f"{node} nests definitions more than {most} deep", fix)


def timed_out(node: str) -> Blocker:
    fix = f"Increase timeoutSeconds of {node}, or split its task"
    return _blocker(BlockerCode.TIMED_OUT, _block(node), f"Block {node} exceeded its time limit", fix)


def aborted(node: str) -> Blocker:
    return _blocker(BlockerCode.ABORTED, _block(node), f"Block {node} was aborted", "Start the run again")


def lane_conflict(group: str, clash: PathConflict) -> Blocker:
    pointer = {"kind": "lane_file", "groupId": group, "path": clash.path}
    lanes = ", ".join(clash.lanes)
    message = f"{clash.path} was modified by lanes {lanes}"
    return _blocker(BlockerCode.LANE_CONFLICT, pointer, message, f"Choose {lanes} or {MANUAL} for {clash.path}")


def gate_open(node: str, options: Sequence[str]) -> Blocker:
    message = f"The gate of {node} is not answered"
    return _blocker(BlockerCode.GATE_OPEN, _gate(node), message, f"Answer with one of: {', '.join(options)}")


def revisions_exhausted(node: str) -> Blocker:
    message = f"Block {node} was already revised {MAX_REVISIONS} times, which is the limit"
    return _blocker(BlockerCode.REVISIONS_EXHAUSTED, _gate(node), message, f"Answer with {CONTINUE} or {ABORT}")


def plan_cycle(definition: Definition, cycle: Cycle) -> Blocker:
    closing = _closing(definition, cycle)
    path = "/transitions" if closing is None else closing.pointer
    fix = (
        "Remove one of the transitions between them"
        if closing is None
        else f"Remove the transition {closing.id} from {closing.source} to {closing.target}"
    )
    message = f"{', '.join(cycle.ids)} can't run: each waits for another"
    return _blocker(BlockerCode.PLAN_CYCLE, {"kind": "workflow", "path": path}, message, fix)


def _closing(definition: Definition, cycle: Cycle) -> Transition | None:
    """The transition that closes a cycle."""

    def vertex(node: str) -> str:
        group = definition.group_of.get(node)
        return node if group is None else group.id

    wanted = (cycle.ids[-1], cycle.ids[0])
    return next((edge for edge in definition.edges if (vertex(edge.source), vertex(edge.target)) == wanted), None)


def runtime_missing(group: Group) -> Blocker:
    pointer = {"kind": "workflow", "path": group.pointer}
    message = f"The lanes of {group.id} need containers, but there is no container runtime"
    fix = f"Run {', '.join(group.lanes)} one after another: remove the group {group.id}"
    return _blocker(BlockerCode.RUNTIME_MISSING, pointer, message, fix)


def restricted_write(node: str, finding: Finding, patterns: Sequence[str], *, read_only: bool) -> Blocker:
    pointer = {"kind": "output", "nodeId": node, "path": finding.pointer}
    fix = "Edit nothing: the mount is read-only" if read_only else f"Edit only files matching {', '.join(patterns)}"
    return _blocker(BlockerCode.RESTRICTED_WRITE, pointer, finding.message, fix)
