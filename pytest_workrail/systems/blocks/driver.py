"""A run from its start to where it ends, pauses or waits."""

from __future__ import annotations

from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.controls import run_control
from pytest_workrail.systems.blocks.lanes import run_group
from pytest_workrail.systems.blocks.nodes import Halt, ask_before, run_agent
from pytest_workrail.systems.blocks.run_state import Bench, Stage, start_variables
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


def drive(bench: Bench) -> tuple[ExecutionStatus, Stage | None]:
    """Run the definition of a bench; how that ended, and where it stands (None when it never started)."""
    bench.log.tell(EventType.EXECUTION_STARTED)
    stage = _stage(bench)
    status = ExecutionStatus.FAILED
    if stage is not None:
        bench.main.make_output_folder()
        bench.log.tell(EventType.FOLDER_CREATED)
        status = walk(stage) or (ExecutionStatus.FAILED if stage.failed else ExecutionStatus.COMPLETED)
    bench.pool.teardown()
    if status in _ENDS:
        bench.log.tell(_ENDS[status], executionStatus=status.value)
    return status, stage


def _stage(bench: Bench) -> Stage | None:
    """Everything that has to be there before the first block; None when something is not."""
    definition = bench.setup.definition
    plan = make_plan(definition)
    if isinstance(plan, Err):
        bench.blockers.append(blockers.plan_cycle(definition, plan.error))
        return None
    groups = [group for each in (definition, *bench.setup.workflows.values()) for group in each.groups]
    if bench.setup.containers is Containers.NONE and groups:
        bench.blockers += [blockers.runtime_missing(group) for group in groups]
        return None
    return Stage(bench, definition, plan.value, start_variables(definition, dict(bench.setup.variables)))


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
        stage.bench.log.tell(EventType.NODE_SKIPPED, node.id, reason=stage.skips[node.id])
        return None
    halted = ask_before(stage, node)
    if halted is not None:
        return halted
    return run_control(stage, node, run_node, walk) if node.is_control else run_agent(stage, node)


def _pause(stage: Stage, entry: Entry) -> Halt:
    """Whether the user pauses the run here, and how that goes on."""
    bench = stage.bench
    answer = bench.people.pause(entry.group if isinstance(entry, Lanes) else entry.node)
    if answer is None:
        return None
    bench.log.tell(EventType.EXECUTION_PAUSED, cause="user")
    if answer == PauseAnswer.ABORT.value:
        bench.blockers.append(blockers.aborted(nodes_of(entry)[0]))
        return ExecutionStatus.ABORTED
    bench.log.tell(EventType.EXECUTION_RESUMED, cause="user")
    return None
