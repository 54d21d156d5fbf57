"""A node on its own: the question before it, its block with retries, and the question after it."""

from __future__ import annotations

from typing import Any

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.attempts import Attempt, as_bytes
from pytest_workrail.systems.blocks.block_outcome import BlockOutcome, evaluate_block
from pytest_workrail.systems.blocks.run_state import Stage
from pytest_workrail.systems.blocks.setup import Revise
from workrail_lint.systems.blocks.definition import Node
from workrail_lint.systems.blocks.limits import DORMANCY_LIMIT_MS, MAX_REVISIONS
from workrail_lint.systems.blocks.outputs import synthetic_output
from workrail_lint.systems.blocks.run_vocabulary import ABORT, CONTINUE, REVISE, EventType
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus, NodeStatus, Synthetic

Halt = ExecutionStatus | None
"""How a run stands that does not go on; None when it does."""


def run_agent(stage: Stage, node: Node) -> Halt:
    """Run the block, ask, and run it again as often as that is the answer."""
    feedback, revisions = None, 0
    while True:
        stage.statuses[node.id] = NodeStatus.RUNNING
        outcome, aborted = _run_block(stage, node, feedback)
        if aborted:
            return ExecutionStatus.ABORTED
        if outcome.status is NodeStatus.FAILED or not node.asks:
            return None
        answer = _ask_after(stage, node, outcome, revisions)
        if not isinstance(answer, Revise):
            return answer
        revisions, feedback = revisions + 1, answer.feedback
        stage.shared.log.emit(EventType.BLOCK_REVISION, node.id, revisionCount=revisions, feedback=feedback)


# ------------------------------------------------------------------------------------------------------ the block


def _run_block(stage: Stage, node: Node, feedback: str | None) -> tuple[BlockOutcome, bool]:
    """Run a block until it is done or may not be tried again; also whether the user aborted it."""
    shared, retry = stage.shared, 0
    while True:
        attempt = _attempt(stage, node, retry, feedback)
        if attempt.reply.abort:
            outcome = evaluate_block(attempt, aborted=True)
            _finish(stage, node, outcome)
            return outcome, True
        if may_retry(attempt, retry):
            retry += 1
            attempt.step.status = NodeStatus.FAILED
            shared.log.emit(EventType.NODE_RETRY, node.id, attempt=retry, maxRetries=max_retries(node))
            continue
        outcome = evaluate_block(attempt)
        _finish(stage, node, outcome)
        if is_exhausted(attempt, retry):
            shared.log.emit(EventType.NODE_RETRY_EXHAUSTED, node.id, attempts=retry + 1)
        return outcome, False


def _attempt(stage: Stage, node: Node, retry: int, feedback: str | None) -> Attempt:
    shared = stage.shared
    shared.main.remove_output(node.id)
    container = shared.pool.acquire()
    assert container is not None, "blocks in a row never need more than one container"
    attempt = Attempt(stage, node, shared.main, container, retry=retry, feedback=feedback)
    note_start(stage, node)
    shared.log.emit(EventType.NODE_STARTED, node.id)
    shared.steps.append(attempt.step)
    attempt.begin()
    shared.clock.advance_to(attempt.ends)
    attempt.end()
    shared.pool.release(container, DORMANCY_LIMIT_MS)
    return attempt


def note_start(stage: Stage, node: Node) -> None:
    """From now on a block counts as one that ran."""
    if node.id not in stage.ran:
        stage.ran.append(node.id)
    stage.shared.limits[node.id] = max_retries(node)


def max_retries(node: Node) -> int:
    return int(node.config.get("maxRetries", 0))


def _is_retryable(attempt: Attempt) -> bool:
    codes = attempt.node.config.get("retryableExitCodes", ())
    return attempt.timed_out or (attempt.reply.exit != 0 and attempt.reply.exit in codes)


def may_retry(attempt: Attempt, retry: int) -> bool:
    return _is_retryable(attempt) and retry < max_retries(attempt.node)


def is_exhausted(attempt: Attempt, retry: int) -> bool:
    """Whether this was the last of several tries, and no better than the others."""
    return _is_retryable(attempt) and retry > 0


def _finish(stage: Stage, node: Node, outcome: BlockOutcome) -> None:
    shared = stage.shared
    stage.statuses[node.id] = outcome.status
    if outcome.blocker is not None:
        shared.blockers.append(outcome.blocker)
    if outcome.reason is None:
        shared.log.emit(EventType.NODE_COMPLETED, node.id)
    else:
        shared.log.emit(EventType.NODE_FAILED, node.id, reason=outcome.reason)


# ------------------------------------------------------------------------------------------------------ questions


def ask_before(stage: Stage, node: Node) -> Halt:
    """The gates of a definition that stand before a node, agent or control, one after the other."""
    shared = stage.shared
    for _, gate in stage.definition.gates:
        if gate.get("nodeId") != node.id:
            continue
        options = [option["value"] for option in gate["options"]]
        shared.log.emit(EventType.GATE_WAITING, node.id, gateId=gate["id"], gateType=gate["gateType"], options=options)
        stage.statuses[node.id] = NodeStatus.WAITING_GATE
        answer = _answer(stage, node, (*options, CONTINUE, ABORT))
        if answer is None:
            shared.blockers.append(blockers.gate_open(node.id, options))
            return ExecutionStatus.WAITING_GATE
        shared.log.emit(EventType.GATE_DECIDED, node.id, selectedOption=answer)
        if answer == ABORT and ABORT not in options:
            return _abort_unstarted(stage, node)
    return None


def _abort_unstarted(stage: Stage, node: Node) -> Halt:
    """A block that is aborted before it could start leaves a file all the same: whoever looks finds out why."""
    shared = stage.shared
    if node.block_type is None:  # a control has no file and tells nothing
        stage.statuses[node.id] = NodeStatus.FAILED
        shared.blockers.append(blockers.aborted(node.id))
        return ExecutionStatus.ABORTED
    output = synthetic_output(node.id, node.block_type, Synthetic.ABORTED, shared.clock.timestamp)
    shared.main.put_output(node.id, as_bytes(output))
    _abort(stage, node)
    return ExecutionStatus.ABORTED


def _abort(stage: Stage, node: Node) -> None:
    reason = Synthetic.ABORTED.value
    _finish(stage, node, BlockOutcome({}, NodeStatus.FAILED, reason, blockers.aborted(node.id)))


def _ask_after(stage: Stage, node: Node, outcome: BlockOutcome, revisions: int) -> Revise | Halt:
    """The gate behind a block: what to revise, or how the run stands once it is answered."""
    shared, step = stage.shared, stage.shared.steps[-1]
    shared.log.emit(EventType.BLOCK_GATE_OPEN, node.id, prompt=f"Block produced: {outcome.output['summary']}")
    stage.statuses[node.id] = NodeStatus.WAITING_GATE
    refused = False
    while True:
        answer: Any = _answer(stage, node, (CONTINUE, ABORT), revisable=True)
        if not isinstance(answer, Revise):
            break
        if revisions < MAX_REVISIONS:
            return answer
        shared.blockers.append(blockers.revisions_exhausted(node.id))
        refused = True
    if answer is None:
        step.status = NodeStatus.WAITING_GATE
        if not refused:
            shared.blockers.append(blockers.gate_open(node.id, (CONTINUE, REVISE, ABORT)))
        return ExecutionStatus.WAITING_GATE
    shared.log.emit(EventType.GATE_DECIDED, node.id, selectedOption=answer)
    if answer == ABORT:
        step.status = NodeStatus.FAILED
        _abort(stage, node)
        return ExecutionStatus.ABORTED
    stage.statuses[node.id] = NodeStatus.COMPLETED
    return None


def _answer(stage: Stage, node: Node, possible: tuple[str, ...], *, revisable: bool = False) -> str | Revise | None:
    """The next answer; one that does not fit the question is a mistake of the scenario and answers nothing."""
    answers = stage.shared.answers
    answer = answers.answer(node.id)
    fits = answer is None or (revisable if isinstance(answer, Revise) else answer in possible)
    if not fits:
        answers.reject_last(node.id, (*possible, REVISE) if revisable else possible)
        return None
    return answer
