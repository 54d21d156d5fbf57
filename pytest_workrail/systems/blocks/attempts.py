"""One run of one block: what it gets, what it does to its workspace, what it leaves behind, and what that is worth.

An attempt has a beginning and an end, because lanes overlap in time. A scripted agent writes at the end; an agent in
Python does its work at the beginning, and only its end is delayed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from pytest_workrail.scenarios.drivers import TICK_MS, file_bytes
from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.run_state import Container, Stage, Step
from pytest_workrail.systems.blocks.setup import Agent, Reply, Repo, completed_output, reply_of
from pytest_workrail.systems.blocks.workspaces import Changes, Content, Snapshot, Watch, Workspace, changes
from pytest_workrail.systems.kernel.run import Blocker, text_bytes
from workrail_lint.base.result import Err
from workrail_lint.documents.pointer import child
from workrail_lint.findings import Finding, Severity
from workrail_lint.systems.blocks.check import check_document, check_unit, read_document
from workrail_lint.systems.blocks.documents import MOUNT_FILE, BlockKind
from workrail_lint.systems.blocks.model.documents import Node
from workrail_lint.systems.blocks.outputs import Rejection, node_status, reported, synthetic_output, validate_output
from workrail_lint.systems.blocks.paths import (
    OUTPUT_FOLDER,
    RUN_FOLDER,
    WORKSPACE,
    is_allowed,
    is_below_output,
    normalized,
    output_name,
)
from workrail_lint.systems.blocks.prompts import assemble, environment
from workrail_lint.systems.blocks.rules import RULES
from workrail_lint.systems.blocks.rules.folder import hidden_edit
from workrail_lint.systems.blocks.units import Unit, record_of
from workrail_lint.systems.blocks.vocabulary import (
    BlockType,
    Enforcement,
    EventType,
    NodeStatus,
    Synthetic,
    time_limit_ms,
)
from workrail_lint.systems.blocks.wording import shown

OWN = "own"
_ALLOWED = ("BC609", "BC609")
_ANOTHER_BLOCK = "BC117"


class Killed(Exception):  # noqa: N818 - what happens to an agent, not an error of the harness
    """Raised by an agent in Python to end as a process does that is killed half way."""

    def __init__(self, exit_code: int = 137) -> None:
        super().__init__(f"exit code {exit_code}")
        self.exit_code = exit_code


class Attempt:
    """A block at work in a workspace."""

    def __init__(
        self,
        stage: Stage,
        node: Node,
        workspace: Workspace,
        container: Container,
        *,
        retry: int = 0,
        feedback: str | None = None,
        lane: bool = False,
        watch: Watch | None = None,
    ) -> None:
        """Prepare an attempt. `retry` counts from 0; `watch` has the workspaces that the block must not touch."""
        shared = stage.shared
        self.stage, self.node, self.workspace, self.container = stage, node, workspace, container
        self.retry, self._watch = retry, watch
        restrictions = shared.setup.repo.restrictions
        self.step = Step(
            node.id,
            stage.plan.step_index[node.id],
            environment(stage.definition, stage.plan, node.id, shared.run, stage.ran),
            assemble(stage.definition, node, restrictions, feedback),
            stage.iteration,
            lane,
            container.number,
            container.is_warm,
        )
        self.reply = Reply()
        self.refused: list[str] = []
        self._limit = time_limit_ms(retry, node.config.timeout_seconds)
        self._start = shared.clock.elapsed_ms
        self._before: Snapshot | None = None
        if node.id not in stage.ran:
            stage.ran.append(node.id)
        shared.limits[node.id] = self.max_retries

    @property
    def block_type(self) -> BlockType:
        assert self.node.block_type is not None, "only agents run blocks"
        return self.node.block_type

    # ------------------------------------------------------------------------------------------- beginning

    def begin(self) -> None:
        """Start the process."""
        reply = self.stage.shared.replies.take(self.node.id, every_call=True)
        self._before = Snapshot(self.workspace, None if self._watch is None else self._watch.known(self.node.id))
        if reply is not None:
            self.reply = reply if isinstance(reply, Reply) else self._perform(reply)

    def _perform(self, agent: Agent) -> Reply:
        if self._watch is not None:
            self._watch.remember(self.node.id)
        kept = self._forbidden_files() if self.stage.shared.setup.enforce is Enforcement.HOOK else {}
        try:
            given = agent(
                env=dict(self.step.env),
                prompt=self.step.prompt,
                workspace=Path(self.workspace.root),
                memory=self.container.memory,
            )
            reply = reply_of(given)
        except Killed as end:
            reply = Reply(exit=end.exit_code, output=None)
        for workspace, path in self._watch.foreign_changes(self.node.id) if self._watch is not None else ():
            self._access(workspace, path)
        if self.stage.shared.setup.enforce is Enforcement.HOOK:
            self._undo(kept)
        return reply

    def _access(self, workspace: str, path: str) -> None:
        shared = self.stage.shared
        shared.accesses.append({"n": shared.log.n, "lane": self.node.id, "workspace": workspace, "path": path})

    def is_forbidden(self, path: str) -> bool:
        repo = self.stage.shared.setup.repo
        if is_below_output(path):
            return False
        return repo.read_only or not is_allowed(path, list(repo.restrictions))

    def _forbidden_files(self) -> dict[str, Content]:
        """Return the content of the files that an agent must not change."""
        assert self._before is not None, "a snapshot is taken before anything else"
        return {path: self.workspace.content(path) for path in self._before.paths if self.is_forbidden(path)}

    def _undo(self, kept: dict[str, Content]) -> None:
        """Restore what a hook would have refused to change."""
        for path in self._changes().paths:
            if self.is_forbidden(path):
                self.workspace.restore(path, kept.get(path))
                self.refused.append(path)

    # ------------------------------------------------------------------------------------------------- end

    @property
    def timed_out(self) -> bool:
        return self.reply.timeout or self.reply.ticks * TICK_MS > self._limit

    @property
    def ends(self) -> float:
        """Return when it is over."""
        return self._start + (self._limit if self.timed_out else self.reply.ticks * TICK_MS)

    @property
    def max_retries(self) -> int:
        return int(self.node.config.max_retries or 0)

    @property
    def may_retry(self) -> bool:
        return self._is_retryable and self.retry < self.max_retries

    @property
    def is_exhausted(self) -> bool:
        """Return whether this was the last of several tries, and it failed as well."""
        return self._is_retryable and self.retry > 0

    @property
    def _is_retryable(self) -> bool:
        return self.timed_out or (self.reply.exit != 0 and self.reply.exit in self.node.config.retryable_exit_codes)

    def end(self) -> None:
        """Let the process come to its end: its writes, its output, and what was seen to change."""
        for path, text in self.reply.write.items():
            self._write(path, text)
        for path in self.refused:
            self.stage.shared.log.emit(EventType.WRITE_BLOCKED, self.node.id, path=path)
        changed = self._look()
        reply, here = self.reply, self.workspace
        if self.timed_out or reply.abort:
            return
        if reply.raw is not None:
            here.put_output(self.node.id, text_bytes(reply.raw))
        elif reply.output is not None and not here.has_output(self.node.id):
            stamp = self.stage.shared.clock.timestamp
            output = completed_output(self.node.id, self.block_type, reply.output, changed, stamp)
            here.put_output(self.node.id, file_bytes(output))

    def stop(self) -> None:
        """Kill the process: what it has done so far is there, what it would have done is not."""
        self._look()

    def _write(self, path: str, text: str | None) -> None:
        hook = self.stage.shared.setup.enforce is Enforcement.HOOK
        data = None if text is None else text_bytes(text)
        if (hook and self.is_forbidden(path)) or not self.workspace.write(path, data):
            self.refused.append(path)
        elif self.step.lane:
            self._access(self.node.id, path)

    def _look(self) -> Changes:
        changed = self._changes()
        self.step.detected = changed.paths
        return changed

    def _changes(self) -> Changes:
        if self._before is None:
            return Changes()
        return changes(self._before, Snapshot(self.workspace, self._before))


# -------------------------------------------------------------------------------------------------------------- outcome


class BlockOutcome(NamedTuple):
    """How a block ended. `reason` says why it failed, None when it did not."""

    output: dict[str, Any]
    status: NodeStatus
    reason: str | None
    blocker: Blocker | None


def output_path(node: str) -> str:
    """Return the path of an output as findings name it."""
    return f"{OUTPUT_FOLDER}/{output_name(node)}"


def mount_of(repo: Repo) -> dict[str, Any]:
    """Return the mount as it is recorded."""
    mount: dict[str, Any] = {"source": "local", "localPath": WORKSPACE}
    if repo.restrictions:
        mount["fileRestrictions"] = list(repo.restrictions)
    return {**mount, "readOnly": True} if repo.read_only else mount


def evaluate_block(attempt: Attempt, *, aborted: bool = False) -> BlockOutcome:
    """Validate what an attempt left behind; write a synthetic output if it is of no use."""
    outcome = _outcome(attempt, aborted)
    _block_hidden_edits(attempt, outcome.output)
    return outcome


def _block_hidden_edits(attempt: Attempt, output: dict[str, Any]) -> None:
    """Report forbidden edits that the output does not name. The trace shows those outside of the restrictions."""
    shared, node, repo = attempt.stage.shared, attempt.node.id, attempt.stage.shared.setup.repo
    rule = RULES.by_name["restricted-path"]
    for path in sorted({*attempt.step.detected} - {*reported(output)}):
        if attempt.is_forbidden(path):
            patterns = [] if repo.read_only else list(repo.restrictions)
            text = hidden_edit(path, patterns)
            finding = Finding(rule.code, rule.name, rule.severity, text, "/filesModified", path=output_path(node))
            if repo.read_only:
                shared.findings.append(finding)
            shared.blockers.append(
                blockers.restricted_write(node, finding, repo.restrictions, read_only=repo.read_only)
            )


def _outcome(attempt: Attempt, aborted: bool) -> BlockOutcome:
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
    findings = check_document(document)
    used = validate_output(data, node, extended=setup.options.extended)
    links = [] if isinstance(used, Err) else list(_linked_paths(attempt, document.value))
    attempt.stage.shared.findings += findings + links
    if isinstance(used, Err) or links:
        workspace.reject_output(node)
        first = _first(findings, used.error) if isinstance(used, Err) else links[0]
        reason = used.error.reason if isinstance(used, Err) else Synthetic.MALFORMED
        return _synthetic(attempt, reason, used.error.faults if isinstance(used, Err) else len(links), first)
    return _kept(attempt, used.value)


def _first(findings: list[Finding], rejection: Rejection) -> Finding:
    """Return the first finding that is a reason to reject an output; others are only worth mentioning."""
    places = {
        child(each.pointer, each.expected) if each.keyword == "required" else each.pointer
        for each in rejection.violations
    }
    errors = [each for each in findings if each.severity is Severity.ERROR]
    reasons = [each for each in errors if each.pointer in places]
    if rejection.reason is Synthetic.MISMATCH:
        reasons = [each for each in errors if each.code == _ANOTHER_BLOCK]
    return (reasons or errors)[0]


def _linked_paths(attempt: Attempt, output: dict[str, Any]) -> list[Finding]:
    """Return findings about paths that only look as if they were in the workspace."""
    rule = RULES.by_name["output-path-wrong"]
    findings = []
    for member in ("filesModified", "filesCreated"):
        for at, path in enumerate(output.get(member, ())):
            link = attempt.workspace.link_on(normalized(path))
            if link is not None:
                text = f"{shown(path)} is not in the workspace: {shown(link)} is a link"
                pointer = child(f"/{member}", at)
                findings.append(
                    Finding(rule.code, rule.name, rule.severity, text, pointer, path=output_path(attempt.node.id))
                )
    return findings


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
    attempt.workspace.put_output(node, file_bytes(output))
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
