"""A run from its start to where it ends, pauses or waits: nodes, control nodes and the questions about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_workrail.scenarios.drivers import file_bytes
from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.attempts import Attempt, BlockOutcome, evaluate_block
from pytest_workrail.systems.blocks.lanes import run_group
from pytest_workrail.systems.blocks.run_state import Halt, SharedState, Stage, start_variables
from pytest_workrail.systems.blocks.setup import Revise
from workrail_lint.base.result import Err
from workrail_lint.systems.blocks.expressions import holds
from workrail_lint.systems.blocks.model.documents import Node
from workrail_lint.systems.blocks.outputs import synthetic_output
from workrail_lint.systems.blocks.plan import Entry, Lanes, body_order, make_plan, node_runs, nodes_of, transition_holds
from workrail_lint.systems.blocks.vocabulary import (
    ABORT,
    CONTINUE,
    DORMANCY_LIMIT_MS,
    FOR_EACH_ITERATIONS,
    MAX_REVISIONS,
    MAX_SUB_WORKFLOW_DEPTH,
    REVISE,
    Containers,
    ControlType,
    EventType,
    ExecutionStatus,
    NodeStatus,
    PauseAnswer,
    Synthetic,
)

_ENDS = {
    ExecutionStatus.COMPLETED: EventType.EXECUTION_COMPLETED,
    ExecutionStatus.FAILED: EventType.EXECUTION_FAILED,
    ExecutionStatus.ABORTED: EventType.EXECUTION_ABORTED,
}


def drive(shared: SharedState) -> tuple[ExecutionStatus, Stage | None]:
    """Run a definition. Return how that ended, and the definition as it stands; None if it never started."""
    shared.log.emit(EventType.EXECUTION_STARTED)
    stage = _stage(shared)
    status = ExecutionStatus.FAILED
    if stage is not None:
        shared.main.make_output_folder()
        shared.log.emit(EventType.FOLDER_CREATED)
        status = walk(stage) or (ExecutionStatus.FAILED if stage.failed else ExecutionStatus.COMPLETED)
    shared.pool.teardown()
    if status in _ENDS:
        shared.log.emit(_ENDS[status], executionStatus=status.value)
    return status, stage


def _stage(shared: SharedState) -> Stage | None:
    """Return the definition ready to run; None if a blocker prevents it."""
    definition = shared.setup.definition
    plan = make_plan(definition)
    if isinstance(plan, Err):
        shared.blockers.append(blockers.plan_cycle(definition, plan.error))
        return None
    groups = [group for each in (definition, *shared.setup.workflows.values()) for group in each.parallel_groups]
    if shared.setup.containers is Containers.NONE and groups:
        shared.blockers += [blockers.runtime_missing(group) for group in groups]
        return None
    return Stage(shared, definition, plan.value, start_variables(definition, dict(shared.setup.variables)))


def walk(stage: Stage) -> Halt:
    """Run the entries of a plan, one after the other, until one of them stops the run."""
    for entry in stage.plan.entries:
        halted = _pause(stage, entry)
        if halted is None:
            halted = (
                run_group(stage, entry)
                if isinstance(entry, Lanes)
                else run_node(stage, stage.definition.by_id[entry.node])
            )
        if halted is not None:
            return halted
    return None


def run_node(stage: Stage, node: Node) -> Halt:
    """Run a node, or skip it without leaving anything behind."""
    # In the body of a forEach only transitions inside it count, and those were judged there.
    in_body = node.id in stage.definition.body_of
    if not in_body and not node_runs(stage.definition, node.id, stage.statuses, stage.variables):
        stage.skips.setdefault(node.id, "condition")
    if node.id in stage.skips:
        stage.statuses[node.id] = NodeStatus.SKIPPED
        stage.shared.log.emit(EventType.NODE_SKIPPED, node.id, reason=stage.skips[node.id])
        return None
    halted = ask_before(stage, node)
    if halted is not None:
        return halted
    return _run_control(stage, node) if node.is_control else run_agent(stage, node)


def _pause(stage: Stage, entry: Entry) -> Halt:
    """Pause the run here if the user wants it, and follow the answer."""
    shared = stage.shared
    answer = shared.answers.pause(entry.group if isinstance(entry, Lanes) else entry.node)
    if answer is None:
        return None
    shared.log.emit(EventType.EXECUTION_PAUSED, cause="user")
    if answer == PauseAnswer.ABORT.value:
        shared.blockers.append(blockers.aborted(nodes_of(entry)[0]))
        return ExecutionStatus.ABORTED
    shared.log.emit(EventType.EXECUTION_RESUMED, cause="user")
    return None


# --------------------------------------------------------------------------------------------------------------- blocks


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


def _run_block(stage: Stage, node: Node, feedback: str | None) -> tuple[BlockOutcome, bool]:
    """Run a block until it is done or may not be tried again; also whether the user aborted it."""
    shared, retry = stage.shared, 0
    while True:
        attempt = _attempt(stage, node, retry, feedback)
        if attempt.reply.abort:
            outcome = evaluate_block(attempt, aborted=True)
            _finish(stage, node, outcome)
            return outcome, True
        if attempt.may_retry:
            retry += 1
            attempt.step.status = NodeStatus.FAILED
            shared.log.emit(EventType.NODE_RETRY, node.id, attempt=retry, maxRetries=attempt.max_retries)
            continue
        outcome = evaluate_block(attempt)
        _finish(stage, node, outcome)
        if attempt.is_exhausted:
            shared.log.emit(EventType.NODE_RETRY_EXHAUSTED, node.id, attempts=retry + 1)
        return outcome, False


def _attempt(stage: Stage, node: Node, retry: int, feedback: str | None) -> Attempt:
    shared = stage.shared
    shared.main.remove_output(node.id)
    container = shared.pool.acquire()
    assert container is not None, "blocks in a row never need more than one container"
    attempt = Attempt(stage, node, shared.main, container, retry=retry, feedback=feedback)
    shared.log.emit(EventType.NODE_STARTED, node.id)
    shared.steps.append(attempt.step)
    attempt.begin()
    shared.clock.advance_to(attempt.ends)
    attempt.end()
    shared.pool.release(container, DORMANCY_LIMIT_MS)
    return attempt


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
    """Ask the questions of a definition before a node, one after the other."""
    shared = stage.shared
    for gate in stage.definition.gates:
        if gate.node_id != node.id:
            continue
        options = [option.value for option in gate.options]
        shared.log.emit(EventType.GATE_WAITING, node.id, gateId=gate.id, gateType=gate.gate_type, options=options)
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
    """Write the output of a block that is aborted before it starts, so that the folder shows why."""
    shared = stage.shared
    if node.block_type is None:  # a control has no file and tells nothing
        stage.statuses[node.id] = NodeStatus.FAILED
        shared.blockers.append(blockers.aborted(node.id))
        return ExecutionStatus.ABORTED
    output = synthetic_output(node.id, node.block_type, Synthetic.ABORTED, shared.clock.timestamp)
    shared.main.put_output(node.id, file_bytes(output))
    _abort(stage, node)
    return ExecutionStatus.ABORTED


def _abort(stage: Stage, node: Node) -> None:
    reason = Synthetic.ABORTED.value
    _finish(stage, node, BlockOutcome({}, NodeStatus.FAILED, reason, blockers.aborted(node.id)))


def _ask_after(stage: Stage, node: Node, outcome: BlockOutcome, revisions: int) -> Revise | Halt:
    """Ask about a block that completed. Return what to revise, or how the run stands after the answer."""
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
    """Return the next answer; one that does not fit the question is a problem of the scenario and counts as none."""
    answers = stage.shared.answers
    answer = answers.answer(node.id)
    fits = answer is None or (revisable if isinstance(answer, Revise) else answer in possible)
    if not fits:
        answers.reject_last(node.id, (*possible, REVISE) if revisable else possible)
        return None
    return answer


# ------------------------------------------------------------------------------------------------------------- controls


def _run_control(stage: Stage, node: Node) -> Halt:
    """Run a node that steers the run: it starts no block, leaves no file and emits nothing."""
    match node.control:
        case ControlType.CONDITION:
            return _condition(stage, node)
        case ControlType.FOR_EACH:
            return _for_each(stage, node)
        case ControlType.SUB_WORKFLOW:
            return _sub_workflow(stage, node)
        case None:
            raise AssertionError("a control that does not say what it does is an error of the definition")


def _condition(stage: Stage, node: Node) -> Halt:
    config = node.config.condition_config
    assert config is not None, "an error of the definition"
    value = holds(config.expression, stage.variables, stage.definition.language)
    stage.variables[node.id] = value
    stage.skips[config.false_branch_node_id if value else config.true_branch_node_id] = "branch"
    stage.statuses[node.id] = NodeStatus.COMPLETED
    return None


def _for_each(stage: Stage, node: Node) -> Halt:
    config = node.config.for_each_config
    assert config is not None, "an error of the definition"
    items = stage.variables.get(config.collection_variable)
    most = int(config.max_iterations or FOR_EACH_ITERATIONS)
    body = [stage.definition.by_id[ident] for ident in body_order(stage.definition, node)]
    inside = _inside(stage, node)
    decided = {ident: stage.skips[ident] for ident in inside if ident in stage.skips}
    outer, failed = stage.iteration, False
    for number, item in enumerate(items[:most] if isinstance(items, list) else ()):
        stage.variables[config.item_variable] = item
        stage.iteration = number
        # A condition outside the body has decided for all passes; one inside it decides in each anew.
        for ident in inside:
            stage.skips.pop(ident, None)
        stage.skips.update(decided)
        halted = _iteration(stage, body)
        stage.iteration = outer
        if halted is not None:
            return halted
        failed = failed or any(stage.statuses[each.id] is NodeStatus.FAILED for each in body)
    stage.statuses[node.id] = NodeStatus.FAILED if failed else NodeStatus.COMPLETED
    return None


def _inside(stage: Stage, owner: Node) -> list[str]:
    """Return the nodes of a body, and of the loops in it."""
    inner_nodes = list(owner.body)
    for ident in inner_nodes:
        inner_nodes += [inner for inner in stage.definition.by_id[ident].body if inner not in inner_nodes]
    return inner_nodes


def _iteration(stage: Stage, body: list[Node]) -> Halt:
    """Run the nodes of a body once, in order; only the transitions between them count."""
    names = {node.id for node in body}
    for node in body:
        stage.statuses.pop(node.id, None)
    for node in body:
        inner = [edge for edge in stage.definition.incoming[node.id] if edge.source in names]
        language = stage.definition.language
        if inner and not any(transition_holds(edge, stage.statuses, stage.variables, language) for edge in inner):
            stage.skips.setdefault(node.id, "condition")
        halted = run_node(stage, node)
        if halted is not None:
            return halted
    return None


def _sub_workflow(stage: Stage, node: Node) -> Halt:
    """Run another definition in the same workspace, with variables passed in and out."""
    shared, config = stage.shared, node.config.sub_workflow_config
    assert config is not None, "an error of the definition"
    if stage.depth >= MAX_SUB_WORKFLOW_DEPTH:
        stage.statuses[node.id] = NodeStatus.FAILED
        shared.blockers.append(blockers.too_deep(node.id, MAX_SUB_WORKFLOW_DEPTH))
        return None
    definition = shared.setup.workflows[config.workflow_id]
    plan = make_plan(definition)
    if isinstance(plan, Err):
        stage.statuses[node.id] = NodeStatus.FAILED
        shared.blockers.append(blockers.plan_cycle(definition, plan.error))
        return None
    given = _mapped(config.input_mappings, stage.variables)
    inner = Stage(shared, definition, plan.value, start_variables(definition, given), stage.depth + 1)
    halted = walk(inner)
    if halted not in (None, ExecutionStatus.FAILED):
        return halted
    stage.variables.update(_mapped(config.output_mappings, inner.variables))
    stage.statuses[node.id] = NodeStatus.FAILED if inner.failed else NodeStatus.COMPLETED
    return None


def _mapped(mappings: Mapping[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """Return variables under other names; those that the source does not have are left out."""
    return {name: source[origin] for name, origin in mappings.items() if isinstance(origin, str) and origin in source}
