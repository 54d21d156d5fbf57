"""After a block: whether its output can be used, what takes its place if not, and how the node stands."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.attempts import Attempt, as_bytes
from pytest_workrail.systems.blocks.blockers import Blocker
from pytest_workrail.systems.blocks.setup import Repo
from workrail_lint.base.result import Err
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.blocks.check import check_document, check_unit, read_document
from workrail_lint.systems.blocks.documents import MOUNT_FILE, BlockKind
from workrail_lint.systems.blocks.merging import reported
from workrail_lint.systems.blocks.outputs import Rejection, node_status, synthetic_output, validate_output
from workrail_lint.systems.blocks.paths import OUTPUT_FOLDER, RUN_FOLDER, WORKSPACE, normalized, output_name
from workrail_lint.systems.blocks.records import record_of
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.units import Unit
from workrail_lint.systems.blocks.vocabulary import NodeStatus, Synthetic
from workrail_lint.systems.blocks.wording import shown

OWN = "own"
_ALLOWED = ("BC609", "BC610")
_NOT_RELATIVE = "BC109"
_ANOTHER_BLOCK = "BC118"


class BlockOutcome(NamedTuple):
    """How a block ended. `reason` says why it failed, None when it did not."""

    output: dict[str, Any]
    status: NodeStatus
    reason: str | None
    blocker: Blocker | None


def output_path(node: str) -> str:
    """An output as findings name it."""
    return f"{OUTPUT_FOLDER}/{output_name(node)}"


def mount_of(repo: Repo) -> dict[str, Any]:
    """The mount as it is recorded."""
    mount: dict[str, Any] = {"source": "local", "localPath": WORKSPACE}
    if repo.restrictions:
        mount["fileRestrictions"] = list(repo.restrictions)
    return {**mount, "readOnly": True} if repo.read_only else mount


def evaluate_block(attempt: Attempt, *, aborted: bool = False) -> BlockOutcome:
    """Validate what an attempt left behind; write a synthetic output if it is of no use."""
    node, workspace = attempt.node.id, attempt.workspace
    data = workspace.output_bytes(node)
    if aborted or attempt.timed_out:
        if data is not None:
            workspace.reject_output(node)
        return _synthetic(attempt, Synthetic.ABORTED if aborted else Synthetic.TIMEOUT)
    if data is None:
        return _synthetic(attempt, Synthetic.EXIT if attempt.reply.exit else Synthetic.MISSING)
    setup = attempt.stage.shared.setup
    document = read_document(output_path(node), data, BlockKind.OUTPUT, setup.options)
    found = check_document(document)
    used = validate_output(data, node, extended=setup.options.extended)
    links = [] if isinstance(used, Err) else list(_linked_paths(attempt, document.value))
    attempt.stage.shared.findings += found + links
    if isinstance(used, Err) or links:
        workspace.reject_output(node)
        first = _first(found, used.error) if isinstance(used, Err) else links[0]
        reason = used.error.reason if isinstance(used, Err) else Synthetic.MALFORMED
        return _synthetic(attempt, reason, used.error.faults if isinstance(used, Err) else len(links), first)
    return _kept(attempt, used.value)


def _first(found: list[Finding], rejection: Rejection) -> Finding:
    """The first of all findings about an output that is a reason to reject it; others may only be worth telling."""
    places = {
        child(each.pointer, each.expected) if each.keyword == "required" else each.pointer
        for each in rejection.violations
    }
    errors = [each for each in found if each.severity is Severity.ERROR]
    reasons = [each for each in errors if each.pointer in places]
    if rejection.reason is Synthetic.MISMATCH:
        reasons = [each for each in errors if each.code == _ANOTHER_BLOCK]
    return (reasons or errors)[0]


def _linked_paths(attempt: Attempt, output: dict[str, Any]) -> list[Finding]:
    """Paths that only look as if they were in the workspace."""
    rule = next(each for each in RULES.infos if each.code == _NOT_RELATIVE)
    found = []
    for member in ("filesModified", "filesCreated"):
        for at, path in enumerate(output.get(member, ())):
            link = attempt.workspace.link_on(normalized(path))
            if link is not None:
                text = f"{shown(path)} is not in the workspace: {shown(link)} is a link"
                pointer = child(f"/{member}", at)
                found.append(
                    Finding(rule.code, rule.name, rule.severity, text, pointer, path=output_path(attempt.node.id))
                )
    return found


def _kept(attempt: Attempt, output: dict[str, Any]) -> BlockOutcome:
    node, exit_code = attempt.node.id, attempt.reply.exit
    status = node_status(output, exit_code=exit_code)
    attempt.step.output, attempt.step.status = output, status
    if reported(output):
        _check_paths(attempt, output)
    if status is not NodeStatus.FAILED:
        return BlockOutcome(output, status, None, None)
    return BlockOutcome(output, status, "exit" if exit_code else OWN, blockers.failed(node, output["summary"]))


def _check_paths(attempt: Attempt, output: dict[str, Any]) -> None:
    """Report files that the mount does not let a block edit."""
    shared, node = attempt.stage.shared, attempt.node.id
    repo = shared.setup.repo
    records = {
        output_path(node): record_of(BlockKind.OUTPUT, output),
        f"{RUN_FOLDER}/{MOUNT_FILE}": record_of(BlockKind.MOUNT, mount_of(repo)),
    }
    for finding in check_unit(Unit(records, shared.setup.options)):
        if finding.code in _ALLOWED:
            shared.findings.append(finding)
            blocker = blockers.restricted_write(node, finding, repo.restrictions, read_only=repo.read_only)
            shared.blockers.append(blocker)


def _synthetic(attempt: Attempt, reason: Synthetic, faults: int = 1, first: Finding | None = None) -> BlockOutcome:
    node = attempt.node.id
    output = synthetic_output(
        node,
        attempt.block_type,
        reason,
        attempt.stage.shared.clock.timestamp,
        violations=faults,
        exit_code=attempt.reply.exit,
    )
    attempt.workspace.put_output(node, as_bytes(output))
    attempt.step.output, attempt.step.synthetic, attempt.step.status = output, reason, NodeStatus.FAILED
    return BlockOutcome(output, NodeStatus.FAILED, reason.value, _blocker(node, reason, output, first))


def _blocker(node: str, reason: Synthetic, output: dict[str, Any], first: Finding | None) -> Blocker:
    match reason:
        case Synthetic.MISSING:
            return blockers.output_missing(node)
        case Synthetic.MALFORMED | Synthetic.MISMATCH:
            assert first is not None, "an output is rejected for a reason"
            return blockers.output_invalid(node, first)
        case Synthetic.EXIT:
            return blockers.failed(node, output["summary"])
        case Synthetic.TIMEOUT:
            return blockers.timed_out(node)
        case Synthetic.ABORTED:
            return blockers.aborted(node)
