"""A run from its start to where it ends, pauses or waits."""

from __future__ import annotations

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.controls import run_control
from pytest_workrail.systems.blocks.lanes import run_group
from pytest_workrail.systems.blocks.nodes import Halt, ask_before, run_agent
from pytest_workrail.systems.blocks.run_state import SharedState, Stage, start_variables
from workrail_lint.base.result import Err
from workrail_lint.systems.blocks.definition import Node
from workrail_lint.systems.blocks.plan import Entry, Lanes, make_plan, nodes_of
from workrail_lint.systems.blocks.run_vocabulary import Containers, EventType, PauseAnswer
from workrail_lint.systems.blocks.transitions import node_runs
from workrail_lint.systems.blocks.vocabulary import ExecutionStatus, NodeStatus

_ENDS = {
    ExecutionStatus.COMPLETED: EventType.EXECUTION_COMPLETED,
    ExecutionStatus.FAILED: EventType.EXECUTION_FAILED,
    ExecutionStatus.ABORTED: EventType.EXECUTION_ABORTED,
}


def drive(shared: SharedState) -> tuple[ExecutionStatus, Stage | None]:
    """Run the definition of a bench; how that ended, and where it stands (None when it never started)."""
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
    """Everything that has to be there before the first block; None when something is not."""
    definition = shared.setup.definition
    plan = make_plan(definition)
    if isinstance(plan, Err):
        shared.blockers.append(blockers.plan_cycle(definition, plan.error))
        return None
    groups = [group for each in (definition, *shared.setup.workflows.values()) for group in each.groups]
    if shared.setup.containers is Containers.NONE and groups:
        shared.blockers += [blockers.runtime_missing(group) for group in groups]
        return None
    return Stage(shared, definition, plan.value, start_variables(definition, dict(shared.setup.variables)))


def walk(stage: Stage) -> Halt:
    """The entries of a plan, one after the other, until one of them stops the run."""
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
    """A node that was reached: it runs, or it is skipped and leaves nothing."""
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
    return run_control(stage, node, run_node, walk) if node.is_control else run_agent(stage, node)


def _pause(stage: Stage, entry: Entry) -> Halt:
    """Whether the user pauses the run here, and how that goes on."""
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
