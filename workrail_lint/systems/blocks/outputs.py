"""An output as the harness sees it: usable, or replaced by one that says why it was not; and how outputs are merged.

Fan-in: which lane's version of which file ends up in the main workspace, and which paths are in conflict. A conflict is
one path in `filesModified` of two or more lanes that did not fail. Times decide who was first, never whether there is a
conflict. Given outputs and completion order, merging is a pure function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.paths import is_below_output, is_rel_path, normalized
from workrail_lint.systems.blocks.vocabulary import (
    BlockType,
    MergeStrategy,
    NodeStatus,
    OutputStatus,
    Resolution,
    Synthetic,
    texts_of,
)

MANUAL = "manual"

Output = Mapping[str, Any]


class PathConflict(NamedTuple):
    """A path that several lanes touched, and those lanes in completion order."""

    path: str
    lanes: tuple[str, ...]


class Merge(NamedTuple):
    """The outcome of a fan-in. `applied` maps a path to its lane, or to `manual` for content from the user."""

    applied: dict[str, str]
    conflicts: list[dict[str, Any]]
    events: list[dict[str, Any]]  # the payloads of the conflict events
    unresolved: tuple[
        PathConflict, ...
    ]  # all path_conflicts, when a person still has to decide one; nothing is applied before


def completion_order(finished: Iterable[tuple[str, Any]]) -> list[str]:
    """Return lanes, given in lane order with their finish times, by time; ties stay in lane order."""
    return [lane for lane, _ in sorted(finished, key=lambda item: item[1])]


def modified(output: Output) -> list[str]:
    """Return the paths a block says it modified, as they are compared."""
    return _paths(output, "filesModified")


def created(output: Output) -> list[str]:
    """Return the paths a block says it created, as they are compared."""
    return _paths(output, "filesCreated")


def reported(output: Output) -> list[str]:
    """Return all paths a block says it changed, sorted, each once."""
    return sorted({*modified(output), *created(output)})


def _paths(output: Output, member: str) -> list[str]:
    paths = (normalized(path) for _, path in texts_of(output.get(member)))
    # What leads out of the workspace is reported elsewhere, and in the output folder every block has a file of its
    # own; neither takes part in a merge.
    return list(dict.fromkeys(path for path in paths if is_rel_path(path) and not is_below_output(path)))


def givers(outputs: Mapping[str, Output], order: Sequence[str]) -> list[str]:
    """Return the lanes whose edits count, in completion order: those that did not fail."""
    return [lane for lane in order if lane in outputs and outputs[lane].get("status") != OutputStatus.FAILED.value]


def path_conflicts(outputs: Mapping[str, Output], order: Sequence[str]) -> list[PathConflict]:
    """Return the paths that several lanes modified, sorted."""
    touched: dict[str, list[str]] = {}
    for lane in givers(outputs, order):
        for path in modified(outputs[lane]):
            touched.setdefault(path, []).append(lane)
    return [PathConflict(path, tuple(lanes)) for path, lanes in sorted(touched.items()) if len(lanes) > 1]


def created_collisions(outputs: Mapping[str, Output], order: Sequence[str]) -> list[PathConflict]:
    """Return the paths that one lane created and another lists too: by contract no conflict, but only one can win."""
    touched: dict[str, list[str]] = {}
    new: set[str] = set()
    for lane in givers(outputs, order):
        new.update(created(outputs[lane]))
        for path in reported(outputs[lane]):
            touched.setdefault(path, []).append(lane)
    return [
        PathConflict(path, tuple(lanes)) for path, lanes in sorted(touched.items()) if len(lanes) > 1 and path in new
    ]


def merge(
    strategy: MergeStrategy,
    outputs: Mapping[str, Output],
    order: Sequence[str],
    choices: Mapping[str, str] | None = None,
) -> Merge:
    """Plan a fan-in. `choices` are a person's winners by path, for the strategy that asks for them."""
    clashes = path_conflicts(outputs, order)
    match strategy:
        case MergeStrategy.CONCATENATE:
            return Merge({}, [], [], ())
        case MergeStrategy.WORKSPACE:
            records = [first_wins(clash) for clash in clashes]
            return Merge(_applied(outputs, order, {}), records, records, ())
        case MergeStrategy.FAIL_ON_CONFLICT:
            decisions = choices or {}
            if any(decisions.get(clash.path) not in (*clash.lanes, MANUAL) for clash in clashes):
                return Merge({}, [], [], tuple(clashes))
            chosen = {clash.path: decisions[clash.path] for clash in clashes}
            records = [user_resolved(clash, chosen[clash.path]) for clash in clashes]
            return Merge(_applied(outputs, order, chosen), records, [], ())


def first_wins(clash: PathConflict) -> dict[str, Any]:
    """Return the record of a conflict that the first lane to finish won; the event has the same four members."""
    return {
        "conflictingFile": clash.path,
        "lanes": list(clash.lanes),
        "resolution": Resolution.FIRST_COMPLETE_WINS.value,
        "appliedFrom": clash.lanes[0],
    }


def user_resolved(clash: PathConflict, choice: str) -> dict[str, Any]:
    """Return the record of a conflict that a person decided; manual content comes from no lane."""
    record: dict[str, Any] = {
        "conflictingFile": clash.path,
        "lanes": list(clash.lanes),
        "resolution": Resolution.USER_RESOLVED.value,
    }
    return record if choice == MANUAL else {**record, "appliedFrom": choice}


def _applied(outputs: Mapping[str, Output], order: Sequence[str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return who gives each path: the choice of a person, else the first lane that lists it."""
    applied: dict[str, str] = {}
    for lane in givers(outputs, order):
        for path in reported(outputs[lane]):
            applied.setdefault(path, chosen.get(path, lane))
    return dict(sorted(applied.items()))


_TOLERATED = ("json-bom",)


class Rejection(NamedTuple):
    """Why an output can't be used. `violations` are those of the schema; without any the text itself is at fault."""

    reason: Synthetic
    violations: tuple[Violation, ...] = ()

    @property
    def faults(self) -> int:
        """Return how many violations the synthetic output speaks of."""
        return max(1, len(self.violations))


def validate_output(data: bytes | None, node_id: str, *, extended: bool = False) -> Ok[dict[str, Any]] | Err[Rejection]:
    """Return the output of a block (None: no file), with paths as they are compared, or why it is unusable."""
    if data is None:
        return Err(Rejection(Synthetic.MISSING))
    document = read_json(data)
    problems = [problem for problem in document.problems if problem.name not in _TOLERATED]
    if not document.readable or problems or not isinstance(document.value, dict):
        return Err(Rejection(Synthetic.MALFORMED))
    output = without_mount_point(document.value)
    violations = validator(BlockKind.OUTPUT, extended).violations(output)
    if violations:
        return Err(Rejection(Synthetic.MALFORMED, tuple(violations)))
    if output["blockId"] != node_id:
        return Err(Rejection(Synthetic.MISMATCH))
    return Ok(output)


def without_mount_point(output: dict[str, Any]) -> dict[str, Any]:
    """Return the output with every path that merely carries the mount point, or a leading `./`, made relative."""
    tidy = dict(output)
    for member in ("filesModified", "filesCreated"):
        paths = output.get(member)
        if isinstance(paths, list):
            tidy[member] = [_tidied(path) for path in paths]
    return tidy


def _tidied(path: Any) -> Any:
    if not isinstance(path, str) or not is_rel_path(normalized(path)):
        return path
    return normalized(path)


def synthetic_summary(node_id: str, reason: Synthetic, *, violations: int = 1, exit_code: int | None = None) -> str:
    """Return what an output says that was written in a block's place."""
    match reason:
        case Synthetic.MISSING:
            return f"No output file was written by block {node_id}."
        case Synthetic.MALFORMED:
            return f"The output file of block {node_id} is not usable: {violations} violation(s)."
        case Synthetic.MISMATCH:
            return f"The output file of block {node_id} names another block."
        case Synthetic.EXIT:
            return f"Block {node_id} ended with exit code {exit_code}."
        case Synthetic.TIMEOUT:
            return f"Block {node_id} exceeded its time limit."
        case Synthetic.ABORTED:
            return f"Block {node_id} was aborted."


def synthetic_output(
    node_id: str,
    block_type: BlockType,
    reason: Synthetic,
    timestamp: str,
    *,
    violations: int = 1,
    exit_code: int | None = None,
) -> dict[str, Any]:
    """Return the output that is written in a block's place."""
    summary = synthetic_summary(node_id, reason, violations=violations, exit_code=exit_code)
    return {
        "blockId": node_id,
        "blockType": block_type.value,
        "status": OutputStatus.FAILED.value,
        "deliverables": {"blockType": "generic", "summary": summary},
        "summary": summary,
        "filesModified": [],
        "filesCreated": [],
        "timestamp": timestamp,
    }


def node_status(output: Output, *, exit_code: int = 0) -> NodeStatus:
    """Return the status of a node after its block: a partial output counts as completed, an exit code decides."""
    failed = output.get("status") == OutputStatus.FAILED.value or exit_code != 0
    return NodeStatus.FAILED if failed else NodeStatus.COMPLETED


class Discrepancy(NamedTuple):
    """Files that an output changed without reporting, and files it reported without changing; both sorted."""

    unreported: tuple[str, ...]
    unchanged: tuple[str, ...]


def discrepancy(output: Output, detected: Iterable[str]) -> Discrepancy | None:
    """Return how the files an output lists differ from those that were seen to change; None when they do not."""
    listed, seen = set(reported(output)), {normalized(path) for path in detected}
    if listed == seen:
        return None
    return Discrepancy(tuple(sorted(seen - listed)), tuple(sorted(listed - seen)))
