"""The blockers of a run of blocks, each with what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_workrail.systems.kernel.run import Blocker, blocker
from workrail_lint.findings import Finding
from workrail_lint.systems.blocks.model.documents import ParallelGroup, StudioWorkflow, Transition
from workrail_lint.systems.blocks.outputs import MANUAL, PathConflict
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, output_name
from workrail_lint.systems.blocks.plan import Cycle
from workrail_lint.systems.blocks.vocabulary import ABORT, CONTINUE, MAX_REVISIONS, BlockerCode


def _block(node: str) -> dict[str, str]:
    return {"kind": "block", "nodeId": node}


def _gate(node: str) -> dict[str, str]:
    return {"kind": "gate", "nodeId": node}


def output_missing(node: str) -> Blocker:
    fix = f"Write {OUTPUT_FOLDER}/{output_name(node)} with its eight members before the block exits"
    return blocker(BlockerCode.OUTPUT_MISSING, _block(node), f"Block {node} wrote no output file", fix)


def output_invalid(node: str, first: Finding) -> Blocker:
    pointer = {"kind": "output", "nodeId": node, "path": first.pointer}
    place = first.pointer or "the file as a whole"
    mended = f": {first.fix.title}" if first.fix is not None else ""
    fix = f"Correct {place} of {output_name(node)}{mended} ({first.code}: {first.message})"
    return blocker(BlockerCode.OUTPUT_INVALID, pointer, f"The output of block {node} can't be used", fix)


def failed(node: str, summary: str) -> Blocker:
    return blocker(BlockerCode.FAILED, _block(node), f"Block {node} failed", summary)


def too_deep(node: str, most: int) -> Blocker:
    fix = f"Run the definition from one that is nested at most {most - 1} deep"
    return blocker(BlockerCode.FAILED, _block(node), f"{node} nests definitions more than {most} deep", fix)


def timed_out(node: str) -> Blocker:
    fix = f"Increase timeoutSeconds of {node}, or split its task"
    return blocker(BlockerCode.TIMED_OUT, _block(node), f"Block {node} exceeded its time limit", fix)


def aborted(node: str) -> Blocker:
    return blocker(BlockerCode.ABORTED, _block(node), f"Block {node} was aborted", "Start the run again")


def lane_conflict(group: str, clash: PathConflict) -> Blocker:
    pointer = {"kind": "lane_file", "groupId": group, "path": clash.path}
    lanes = ", ".join(clash.lanes)
    message = f"{clash.path} was modified by lanes {lanes}"
    return blocker(BlockerCode.LANE_CONFLICT, pointer, message, f"Choose {lanes} or {MANUAL} for {clash.path}")


def gate_open(node: str, options: Sequence[str]) -> Blocker:
    message = f"The gate of {node} is not answered"
    return blocker(BlockerCode.GATE_OPEN, _gate(node), message, f"Answer with one of: {', '.join(options)}")


def revisions_exhausted(node: str) -> Blocker:
    message = f"Block {node} was already revised {MAX_REVISIONS} times, which is the limit"
    return blocker(BlockerCode.REVISIONS_EXHAUSTED, _gate(node), message, f"Answer with {CONTINUE} or {ABORT}")


def plan_cycle(definition: StudioWorkflow, cycle: Cycle) -> Blocker:
    closing = _closing(definition, cycle)
    path = "/transitions" if closing is None else closing.pointer
    fix = (
        "Remove one of the transitions between them"
        if closing is None
        else f"Remove the transition {closing.id} from {closing.source} to {closing.target}"
    )
    message = f"{', '.join(cycle.ids)} can't run: each waits for another"
    return blocker(BlockerCode.PLAN_CYCLE, {"kind": "workflow", "path": path}, message, fix)


def _closing(definition: StudioWorkflow, cycle: Cycle) -> Transition | None:
    """Return the transition that closes a cycle."""

    def vertex(node: str) -> str:
        group = definition.group_of.get(node)
        return node if group is None else group.id

    wanted = (cycle.ids[-1], cycle.ids[0])
    return next((edge for edge in definition.edges if (vertex(edge.source), vertex(edge.target)) == wanted), None)


def runtime_missing(group: ParallelGroup) -> Blocker:
    pointer = {"kind": "workflow", "path": group.pointer}
    message = f"The lanes of {group.id} need containers, but there is no container runtime"
    fix = f"Run {', '.join(group.lanes)} one after another: remove the group {group.id}"
    return blocker(BlockerCode.RUNTIME_MISSING, pointer, message, fix)


def restricted_write(node: str, finding: Finding, patterns: Sequence[str], *, read_only: bool) -> Blocker:
    pointer = {"kind": "output", "nodeId": node, "path": finding.pointer}
    fix = "Edit nothing: the mount is read-only" if read_only else f"Edit only files matching {', '.join(patterns)}"
    return blocker(BlockerCode.RESTRICTED_WRITE, pointer, finding.message, fix)
