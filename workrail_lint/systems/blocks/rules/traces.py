"""The trace of a simulated run, its steps and its lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks import traces
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.outputs import CONFLICT_EVENT
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import TRACE_PATH, conflict, environment, fan_in, lane, output


class TraceRule(BlockRule):
    """A rule about the trace of a run; `problems` finds what is wrong."""

    severity = Severity.ERROR
    kinds = (BlockKind.TRACE,)
    problems: ClassVar[Callable[[traces.Trace], Iterator[traces.Problem]]]

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for pointer, message in type(self).problems(document.trace):
            report(pointer, message)


def events(*items: Any, **members: Any) -> dict[str, Any]:
    """A trace of events: a type, a type and a node, or a type, a node and data."""
    entries = []
    for n, item in enumerate(items, 1):
        kind, node, data = (*((item,) if isinstance(item, str) else item), None, None)[:3]
        event = {"n": n, "type": kind, "nodeId": node, "data": data}
        entries.append({name: value for name, value in event.items() if value is not None})
    return {"events": entries, **members}


def step(node: str, index: int, previous: str = "", **members: Any) -> dict[str, Any]:
    """A step with its environment."""
    return {"node": node, "stepIndex": index, "env": environment(node, str(index), previous, **members)}


class OutputFolderLate(TraceRule):
    code = "BC701"
    name = "output-folder-late"
    origin = CONTRACT
    summary = "The first block started before the output folder existed."
    why = "A block that finishes early has nowhere to write its output, and counts as failed."
    problems = traces.output_folder_late

    def examples(self) -> Iterator[Example]:
        yield Example(
            events("execution_started", ("node_started", "a"), "folder_created"),
            events("execution_started", "folder_created", ("node_started", "a")),
            path=TRACE_PATH,
        )


class StartedEarly(TraceRule):
    code = "BC702"
    name = "started-early"
    origin = CONTRACT
    summary = "A block started before the previous block was validated."
    why = "It reads an output that does not exist yet, or one that will be rejected."
    problems = traces.started_early

    def examples(self) -> Iterator[Example]:
        a, b, done = ("node_started", "a"), ("node_started", "b"), ("node_completed", "a")
        yield Example(events("folder_created", a, b), events("folder_created", a, done, b), path=TRACE_PATH)


class SyntheticMissing(TraceRule):
    code = "BC703"
    name = "synthetic-missing"
    origin = CONTRACT
    summary = "A block left no usable output, and none was written in its place."
    why = "The next block looks for the file; a missing file can't report that the block failed."
    problems = traces.synthetic_missing

    def examples(self) -> Iterator[Example]:
        failed = ("folder_created", ("node_started", "t"), ("node_failed", "t", {"reason": "missing"}))
        yield Example(events(*failed, outputFolder=[]), events(*failed, outputFolder=["block-t.json"]), path=TRACE_PATH)


class EnvStale(TraceRule):
    code = "BC704"
    name = "env-stale"
    origin = DECIDED
    summary = "A block received a variable of an earlier block."
    why = "A warm container must not show the values of an earlier block: the agent would do that block's work."
    problems = traces.env_stale

    def examples(self) -> Iterator[Example]:
        def trace(env: dict[str, Any]) -> dict[str, Any]:
            return {"plan": ["a", "b"], "steps": [step("a", 0), {**step("b", 1, "a"), "env": env}]}

        yield Example(trace(environment("a", "1", "a")), trace(environment("b", "1", "a")), path=TRACE_PATH)


class MemoryDependence(TraceRule):
    code = "BC710"
    name = "memory-dependence"
    origin = CONTRACT
    summary = "A run with warm containers gives a different result than one with cold containers."
    why = "A block relies on something it remembers, which is gone when an engine starts it afresh."
    problems = traces.memory_dependence

    def examples(self) -> Iterator[Example]:
        def trace(warm: str) -> dict[str, Any]:
            return {"cold": {"workspace": {"src/t.py": "e1"}}, "warm": {"workspace": {"src/t.py": warm}}}

        yield Example(trace("f2"), trace("e1"), path=TRACE_PATH)


class RevisionLimit(TraceRule):
    code = "BC711"
    name = "revision-limit"
    origin = ENGINES
    summary = "A block was revised more than ten times."
    why = "Every revision costs time and money; the eleventh is refused so that a person thinks again."
    problems = traces.revision_limit

    def examples(self) -> Iterator[Example]:
        again = ("block_revision", "p", {"feedback": "Add tests."})
        yield Example(events(*[again] * 11), events(*[again] * 10), path=TRACE_PATH)


class RetryLimit(TraceRule):
    code = "BC712"
    name = "retry-limit"
    origin = ENGINES
    summary = "A block ran more often than its retries allow."
    why = "The limit keeps a broken block from running forever."
    problems = traces.retry_limit

    def examples(self) -> Iterator[Example]:
        start = ("node_started", "p")
        first, second = (("node_retry", "p", {"attempt": n, "maxRetries": 1}) for n in (1, 2))
        yield Example(
            events("folder_created", start, first, start, second, start),
            events("folder_created", start, first, start),
            path=TRACE_PATH,
        )


class GateOnFailure(TraceRule):
    code = "BC715"
    name = "gate-on-failure"
    origin = CONTRACT
    summary = "A gate was opened for a block that failed."
    why = "The run can't continue from a failed block, which shows its error instead of a choice."
    problems = traces.gate_on_failure

    def examples(self) -> Iterator[Example]:
        gate = ("block_gate_open", "p", {"prompt": f"Block produced: {output()['summary']}"})
        start = ("folder_created", ("node_started", "p"))
        yield Example(
            events(*start, ("node_failed", "p", {"reason": "own"}), gate),
            events(*start, ("node_completed", "p"), gate),
            path=TRACE_PATH,
        )


_STARTED = [("lane_started", name, {"groupId": "g", "lane": name}) for name in "ab"]
_SETTLED = [("lane_settled", name, {"groupId": "g", "lane": name, "status": "completed"}) for name in "ba"]
_MERGE = ("fan_in", None, {"groupId": "g", "mergeStrategy": "workspace", "completionOrder": ["b", "a"]})
_CLASH = conflict("p.py", "b", "a")


def _merged(strategy: str = "workspace", record: dict[str, Any] = _CLASH, **members: Any) -> dict[str, Any]:
    """The fan-in of two lanes that both modified p.py, b being the first to finish."""
    result = fan_in(lane("a", 5, "p.py"), lane("b", 3, "p.py"), strategy=strategy, conflicts=[record])
    return {"group": "g", "completionOrder": ["b", "a"], "result": result, **members}


class LaneNotIsolated(TraceRule):
    code = "BC705"
    name = "lane-not-isolated"
    origin = CONTRACT
    summary = "A lane touched the main workspace, or that of another lane, before the fan-in."
    why = (
        "Lanes that see each other's edits give a different result each time, and a merge can't undo edits it did "
        "not make."
    )
    problems = traces.lane_not_isolated

    def examples(self) -> Iterator[Example]:
        whole = events("folder_created", *_STARTED, *_SETTLED, _MERGE)
        touched: dict[str, Any] = {"n": 3, "lane": "a", "path": "p.py"}
        yield Example(
            {**whole, "accesses": [{**touched, "workspace": "main"}]},
            {**whole, "accesses": [{**touched, "workspace": "a"}]},
            path=TRACE_PATH,
        )


class FanInEarly(TraceRule):
    code = "BC706"
    name = "fan-in-early"
    origin = CONTRACT
    summary = "The merge began before every lane had settled."
    why = "Later work of the slow lane is lost, or overwrites the merged files."
    problems = traces.fan_in_early

    def examples(self) -> Iterator[Example]:
        head = ("folder_created", *_STARTED)
        yield Example(events(*head, _SETTLED[0], _MERGE), events(*head, *_SETTLED, _MERGE), path=TRACE_PATH)


class ConflictEvent(TraceRule):
    code = "BC707"
    name = "conflict-event"
    origin = CONTRACT
    summary = "The conflict events do not match the merge."
    why = "The event informs a person that one lane's version of a file was dropped."
    problems = traces.conflict_event

    def examples(self) -> Iterator[Example]:
        conflict = (CONFLICT_EVENT, None, _CLASH)
        yield Example(events(_MERGE, fanIns=[_merged()]), events(_MERGE, conflict, fanIns=[_merged()]), path=TRACE_PATH)


class MergeWinner(TraceRule):
    code = "BC708"
    name = "merge-winner"
    origin = CONTRACT
    summary = "A file in the main workspace is not the version of the lane that won."
    why = "The first lane to finish wins; copying lanes one after another leaves the version of the last lane instead."
    problems = traces.merge_winner

    def examples(self) -> Iterator[Example]:
        lanes = {"a": {"p.py": "a1"}, "b": {"p.py": "b1"}}

        def trace(content: str, applied: str = "b") -> dict[str, Any]:
            merged = _merged(applied={"p.py": applied}, content={"main": {"p.py": content}, "lanes": lanes})
            return events(_MERGE, (CONFLICT_EVENT, None, _CLASH), fanIns=[merged])

        yield Example(trace("a1"), trace("b1"), path=TRACE_PATH)
        yield Example(trace("b1", "a"), trace("b1"), path=TRACE_PATH)


class ConflictNotPaused(TraceRule):
    code = "BC709"
    name = "conflict-not-paused"
    origin = CONTRACT
    summary = "With `fail-on-conflict`, a file was applied before a person had chosen."
    why = "The choice comes too late: the workspace already shows one of the versions."
    problems = traces.conflict_not_paused

    def examples(self) -> Iterator[Example]:
        chosen = conflict("p.py", "b", "a", resolution="user-resolved", appliedFrom="a")
        merged = [_merged("fail-on-conflict", chosen)]
        gate = ("block_gate_open", None, {"groupId": "g", "conflicts": []})
        decided = ("gate_decided", None, {"choices": {"p.py": "a"}})
        whole = events(_MERGE, gate, decided, fanIns=merged)
        copy = {"groupId": "g", "path": "p.py", "lane": "a"}
        yield Example({**whole, "copies": [{**copy, "n": 1}]}, {**whole, "copies": [{**copy, "n": 3}]}, path=TRACE_PATH)


class LaneIdentity(TraceRule):
    code = "BC713"
    name = "lane-identity"
    origin = CONTRACT
    summary = "Lanes of one group belong to different runs, or can't be told apart."
    why = (
        "Lanes share the ids of the workflow and the run, and differ in node and step; otherwise outputs get mixed up."
    )
    problems = traces.lane_identity

    def examples(self) -> Iterator[Example]:
        yield Example(
            events("folder_created", *_STARTED, steps=[step("a", 0), step("b", 0)]),
            events("folder_created", *_STARTED, steps=[step("a", 0), step("b", 1)]),
            path=TRACE_PATH,
        )


class OrderDependence(TraceRule):
    code = "BC714"
    name = "order-dependence"
    origin = DECIDED
    summary = "The order in which lanes finish affects more than the contract allows."
    why = (
        "For given outputs and order a merge is fixed; a file that only one lane touches must not change with the "
        "order."
    )
    problems = traces.order_dependence

    def examples(self) -> Iterator[Example]:
        def golden(contested: str, other: str) -> dict[str, Any]:
            return {"workspace": {"p.py": contested, "q.py": other}, "fanIns": [_merged()]}

        yield Example(
            {"permutations": [golden("b1", "e1"), golden("a1", "f2")]},
            {"permutations": [golden("b1", "e1"), golden("a1", "e1")]},
            path=TRACE_PATH,
        )
