"""The lanes of a parallel group: a workspace each, all running at once, and the merge when the last has settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pytest_workrail.scenarios.drivers import TICK_MS
from pytest_workrail.systems.blocks import blockers
from pytest_workrail.systems.blocks.attempts import Attempt, BlockOutcome, evaluate_block
from pytest_workrail.systems.blocks.run_state import Container, Halt, SharedState, Stage, Step
from pytest_workrail.systems.blocks.setup import Reply
from pytest_workrail.systems.blocks.workspaces import Watch, Workspace
from pytest_workrail.systems.kernel.run import remove_tree, text_bytes
from workrail_lint.systems.blocks.model.documents import Node
from workrail_lint.systems.blocks.outputs import MANUAL, Merge, PathConflict, merge, reported
from workrail_lint.systems.blocks.paths import is_agents_path
from workrail_lint.systems.blocks.plan import Lanes, isolation, node_runs
from workrail_lint.systems.blocks.vocabulary import (
    ABORT,
    DORMANCY_LIMIT_MS,
    EventType,
    ExecutionStatus,
    FailureMode,
    Isolation,
    MergeStrategy,
    NodeStatus,
)

Outputs = Mapping[str, dict[str, Any]]


def fan_in(
    shared: SharedState,
    entry: Lanes,
    how: Isolation,
    outputs: Outputs,
    order: Sequence[str],
    workspaces: Mapping[str, Workspace],
) -> Halt:
    """Merge lanes, given in lane order, that settled in `order`. What is not decided leaves the run paused."""
    strategy = MergeStrategy(entry.strategy)
    shared.log.emit(EventType.FAN_IN, groupId=entry.group, mergeStrategy=strategy.value, completionOrder=list(order))
    for lane, workspace in workspaces.items():
        shared.main.take_outputs(workspace, lane)
    planned = merge(strategy, outputs, order)
    if planned.unresolved:
        choices = _choices(shared, entry.group, planned.unresolved)
        if isinstance(choices, ExecutionStatus):
            return choices
        planned = merge(strategy, outputs, order, choices)
    content = _apply(shared, entry.group, planned, outputs, workspaces)
    for conflict in planned.events:
        shared.log.emit(EventType.LANE_CONFLICT, **conflict)
    result = {"mergeStrategy": strategy.value, "blockOutputs": list(outputs.values()), "conflicts": planned.conflicts}
    shared.fan_ins.append(
        {
            "group": entry.group,
            "isolation": how.value,
            "completionOrder": list(order),
            "result": result,
            "applied": planned.applied,
            "content": content,
        }
    )
    return None


def _choices(shared: SharedState, group: str, conflicts: Sequence[PathConflict]) -> dict[str, str] | ExecutionStatus:
    """Return what a person decides about all conflicts at once, or how the run stands without a decision."""
    shared.log.emit(EventType.EXECUTION_PAUSED, cause="conflict")
    clashes = [{"conflictingFile": clash.path, "lanes": list(clash.lanes)} for clash in conflicts]
    shared.log.emit(EventType.BLOCK_GATE_OPEN, groupId=group, conflicts=clashes)
    choices = shared.answers.choices(conflicts)
    if choices is None:
        shared.blockers += [blockers.lane_conflict(group, clash) for clash in conflicts]
        return ExecutionStatus.PAUSED
    if ABORT in choices.values():
        shared.log.emit(EventType.GATE_DECIDED, selectedOption=ABORT)
        shared.blockers.append(blockers.aborted(conflicts[0].lanes[0]))
        return ExecutionStatus.ABORTED
    shared.log.emit(EventType.GATE_DECIDED, choices=choices)
    shared.log.emit(EventType.EXECUTION_RESUMED, cause="conflict")
    return choices


def _apply(
    shared: SharedState, group: str, planned: Merge, outputs: Outputs, workspaces: Mapping[str, Workspace]
) -> dict[str, Any]:
    """Bring files into the main workspace; what each lane had and what is there now, as hashes."""
    for path, lane in planned.applied.items():
        if lane == MANUAL:
            shared.main.put(path, text_bytes(shared.answers.manual_text(path)))
        else:
            shared.main.copy_from(workspaces[lane], path)
        shared.copies.append({"n": shared.log.n, "groupId": group, "path": path, "lane": lane})
    return {
        "main": _hashes(shared.main, [path for path in planned.applied if is_agents_path(path)]),
        "lanes": {lane: _hashes(workspaces[lane], reported(output)) for lane, output in outputs.items()},
    }


def _hashes(workspace: Workspace, paths: Sequence[str]) -> dict[str, str]:
    return {path: digest for path in paths if (digest := workspace.hash_of(path)) is not None}


# ---------------------------------------------------------------------------------------------------------------- lanes


@dataclass(slots=True)
class Lane:
    """One lane: its node, its workspace, and what became of it."""

    number: int
    node: Node
    workspace: Workspace
    retry: int = 0
    steps: list[Step] = field(default_factory=list)
    outcome: BlockOutcome | None = None


def run_group(stage: Stage, entry: Lanes) -> Halt:
    """Fan out, let every lane settle, and merge."""
    nodes = [(number, stage.definition.by_id[ident]) for number, ident in enumerate(entry.nodes)]
    running = [(number, node) for number, node in nodes if _runs(stage, node.id)]
    if not running:
        return None
    shared = stage.shared
    how = _isolation(shared)
    with _workspaces(shared, how, [number for number, _ in running]) as workspace_of:
        lanes = [Lane(number, node, workspace_of[number]) for number, node in running]
        for lane in lanes:
            data = {"groupId": entry.group, "lane": lane.node.id, "isolation": how.value}
            shared.log.emit(EventType.LANE_STARTED, lane.node.id, **data)
            stage.statuses[lane.node.id] = NodeStatus.RUNNING
        order, halted = _Race(stage, entry, lanes).run()
        for lane in lanes:
            shared.steps += lane.steps
        if halted is ExecutionStatus.ABORTED:
            for lane in lanes:
                shared.main.take_outputs(lane.workspace, lane.node.id)
            return halted
        outputs = {lane.node.id: lane.outcome.output for lane in lanes if lane.outcome is not None}
        workspaces = {lane.node.id: lane.workspace for lane in lanes}
        return fan_in(shared, entry, how, outputs, [lane.node.id for lane in order], workspaces) or halted


def _runs(stage: Stage, node: str) -> bool:
    if node not in stage.skips and node_runs(stage.definition, node, stage.statuses, stage.variables):
        return True
    stage.statuses[node] = NodeStatus.SKIPPED
    return False


# ------------------------------------------------------------------------------------------------------ workspaces


def _isolation(shared: SharedState) -> Isolation:
    repository = shared.repository
    if repository is None:
        return isolation(is_repository=False, has_head=False, is_clean=False)
    return isolation(is_repository=True, has_head=repository.has_head, is_clean=repository.is_clean)


@contextmanager
def _workspaces(shared: SharedState, how: Isolation, numbers: list[int]) -> Iterator[dict[int, Workspace]]:
    """Yield a workspace for each lane, with the outputs so far; they are removed afterwards, whatever happens."""
    workspaces: dict[int, Workspace] = {}
    try:
        for number in numbers:
            folder = shared.lane_folder(number)
            if how is Isolation.GIT_WORKTREE and shared.repository is not None:
                shared.repository.add_worktree(folder)
            else:
                shared.main.copy_to(folder)
            workspaces[number] = Workspace(folder)
            shared.main.share_outputs(workspaces[number])
        yield workspaces
    finally:
        for number in numbers:
            remove_tree(shared.lane_folder(number))
        if how is Isolation.GIT_WORKTREE and shared.repository is not None:
            shared.repository.forget_worktrees()


# ------------------------------------------------------------------------------------------------------------ race


class _Race:
    """Lanes against the clock: whichever attempt ends first is looked at first, ties by the place in the group."""

    def __init__(self, stage: Stage, entry: Lanes, lanes: list[Lane]) -> None:
        self._stage, self._entry, self._lanes = stage, entry, lanes
        self._shared = stage.shared
        self._waiting = deque(lanes)
        self._active: dict[int, tuple[Lane, Attempt]] = {}  # by number
        self._settled: list[Lane] = []
        self._order = self._shared.setup.finish.get(entry.group)
        self._dormancy = self._dormancy_ms()
        self._watch = self._watched()

    def _dormancy_ms(self) -> float:
        group = next(each for each in self._stage.definition.parallel_groups if each.id == self._entry.group)
        return float(group.dormancy_timeout_ms or DORMANCY_LIMIT_MS)

    def _watched(self) -> Watch | None:
        """Return a watch over the workspaces around agents in Python, which can reach anything."""
        replies = self._shared.setup.replies
        free = {key.partition("#")[0] for key, reply in replies.items() if not isinstance(reply, Reply)}
        if not any(lane.node.id in free for lane in self._lanes):
            return None
        return Watch({"main": self._shared.main, **{lane.node.id: lane.workspace for lane in self._lanes}})

    def run(self) -> tuple[list[Lane], Halt]:
        """Return the lanes in the order in which they settled, and whether the run ends with them."""
        halted: Halt = None
        while self._waiting or self._active:
            self._start_waiting()
            lane, attempt = min(self._active.values(), key=self._turn)
            self._pass_time(attempt)
            attempt.end()
            self._release(lane, attempt)
            if attempt.reply.abort:
                self._finish(lane, evaluate_block(attempt, aborted=True))
                self._abort_rest()
                halted = ExecutionStatus.ABORTED
            elif attempt.may_retry:
                self._retry(lane, attempt)
            else:
                self._finish(lane, evaluate_block(attempt), exhausted=attempt.is_exhausted)
                if self._stops_others(lane):
                    self._abort_rest()
                    halted = ExecutionStatus.FAILED
        return self._settled, halted

    def _turn(self, active: tuple[Lane, Attempt]) -> tuple[float, int]:
        lane, attempt = active
        if self._order is None:
            return attempt.ends, lane.number
        known = lane.node.id in self._order
        return self._order.index(lane.node.id) if known else len(self._order), lane.number

    def _pass_time(self, attempt: Attempt) -> None:
        # Where the order is forced, no two lanes may seem to have finished at the same moment.
        clock = self._shared.clock
        clock.advance_to(attempt.ends if self._order is None else max(attempt.ends, clock.elapsed_ms + TICK_MS))

    def _start_waiting(self) -> None:
        """Begin as many lanes as there are containers for."""
        while self._waiting and (container := self._shared.pool.acquire()) is not None:
            lane = self._waiting.popleft()
            lane.workspace.remove_output(lane.node.id)
            attempt = self._attempt(lane, container)
            attempt.begin()
            self._active[lane.number] = lane, attempt

    def _attempt(self, lane: Lane, container: Container) -> Attempt:
        attempt = Attempt(
            self._stage, lane.node, lane.workspace, container, retry=lane.retry, lane=True, watch=self._watch
        )
        lane.steps.append(attempt.step)
        return attempt

    def _release(self, lane: Lane, attempt: Attempt) -> None:
        del self._active[lane.number]
        self._shared.pool.release(attempt.container, self._dormancy)

    def _retry(self, lane: Lane, attempt: Attempt) -> None:
        lane.retry += 1
        attempt.step.status = NodeStatus.FAILED
        retries = attempt.max_retries
        self._shared.log.emit(EventType.NODE_RETRY, lane.node.id, attempt=lane.retry, maxRetries=retries)
        self._waiting.appendleft(lane)

    def _finish(self, lane: Lane, outcome: BlockOutcome, *, exhausted: bool = False) -> None:
        shared = self._shared
        lane.outcome = outcome
        self._stage.statuses[lane.node.id] = outcome.status
        self._settled.append(lane)
        if outcome.blocker is not None:
            shared.blockers.append(outcome.blocker)
        if exhausted:
            shared.log.emit(EventType.NODE_RETRY_EXHAUSTED, lane.node.id, attempts=lane.retry + 1)
        data = {"groupId": self._entry.group, "lane": lane.node.id, "status": outcome.status.value}
        shared.log.emit(EventType.LANE_SETTLED, lane.node.id, **data)

    def _stops_others(self, lane: Lane) -> bool:
        is_strict = self._shared.setup.failure_mode is FailureMode.STRICT
        return is_strict and self._stage.statuses[lane.node.id] is NodeStatus.FAILED

    def _abort_rest(self) -> None:
        """Kill what still runs, and never start what waits; in the order of the lanes."""
        at_work = {lane.number: attempt for lane, attempt in self._active.values()}
        for lane in self._lanes:
            if lane.number in at_work:
                attempt = at_work[lane.number]
                attempt.stop()
                self._release(lane, attempt)
            elif lane in self._waiting:
                attempt = self._attempt(lane, Container(-1))  # it never got one, and has done nothing
            else:
                continue
            self._finish(lane, evaluate_block(attempt, aborted=True))
        self._waiting.clear()
