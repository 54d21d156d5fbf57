"""An output as the harness sees it: usable, or replaced by one that says why it was not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from workrail_lint.base.result import Err, Ok
from workrail_lint.documents.json_reader import read_json
from workrail_lint.documents.schema.engine import Violation
from workrail_lint.systems.blocks.documents import BlockKind, validator
from workrail_lint.systems.blocks.merging import Output, reported
from workrail_lint.systems.blocks.paths import is_rel_path, normalized
from workrail_lint.systems.blocks.vocabulary import BlockType, NodeStatus, OutputStatus, Synthetic

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
    """The output of a block (None: no file), with paths as they are compared, or why it is unusable."""
    if data is None:
        return Err(Rejection(Synthetic.MISSING))
    document = read_json(data)
    slips = [problem for problem in document.problems if problem.name not in _TOLERATED]
    if not document.readable or slips or not isinstance(document.value, dict):
        return Err(Rejection(Synthetic.MALFORMED))
    output = without_mount_point(document.value)
    violations = validator(BlockKind.OUTPUT, extended).violations(output)
    if violations:
        return Err(Rejection(Synthetic.MALFORMED, tuple(violations)))
    if output["blockId"] != node_id:
        return Err(Rejection(Synthetic.MISMATCH))
    return Ok(output)


def without_mount_point(output: dict[str, Any]) -> dict[str, Any]:
    """The output with every path that merely carries the mount point, or a leading `./`, made relative."""
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
    """The output that is written in a block's place."""
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


def node_status(output: Output, *, exit_code: int = 0, timed_out: bool = False) -> NodeStatus:
    """The status of a node after its block: a partial output counts as completed, an exit code overrules both."""
    failed = output.get("status") == OutputStatus.FAILED.value or exit_code != 0 or timed_out
    return NodeStatus.FAILED if failed else NodeStatus.COMPLETED


class Discrepancy(NamedTuple):
    """What an output keeps to itself, and what it claims without cause; both sorted."""

    unreported: tuple[str, ...]
    unchanged: tuple[str, ...]


def discrepancy(output: Output, detected: Iterable[str]) -> Discrepancy | None:
    """Return how the files an output lists differ from those that were seen to change; None when they do not."""
    listed, seen = set(reported(output)), {normalized(path) for path in detected}
    if listed == seen:
        return None
    return Discrepancy(tuple(sorted(seen - listed)), tuple(sorted(listed - seen)))
