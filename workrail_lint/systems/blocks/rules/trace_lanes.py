"""BC705 to BC709, BC713 and BC714: what a run recorded about lanes and their merge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workrail_lint.rules.base import Example
from workrail_lint.systems.blocks import comparison, traces
from workrail_lint.systems.blocks.merging import CONFLICT_EVENT
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED
from workrail_lint.systems.blocks.rules.samples import TRACE_PATH, conflict, fan_in, lane
from workrail_lint.systems.blocks.rules.traces import TraceRule, events, step

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
        told = (CONFLICT_EVENT, None, _CLASH)
        yield Example(events(_MERGE, fanIns=[_merged()]), events(_MERGE, told, fanIns=[_merged()]), path=TRACE_PATH)


class MergeWinner(TraceRule):
    code = "BC708"
    name = "merge-winner"
    origin = CONTRACT
    summary = "A file in the main workspace is not the version of the lane that won."
    why = "The first lane to finish wins; copying lanes one after another leaves the version of the last lane instead."
    problems = traces.merge_winner

    def examples(self) -> Iterator[Example]:
        lanes = {"a": {"p.py": "a1"}, "b": {"p.py": "b1"}}

        def trace(found: str, applied: str = "b") -> dict[str, Any]:
            merged = _merged(applied={"p.py": applied}, content={"main": {"p.py": found}, "lanes": lanes})
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
    problems = comparison.order_dependence

    def examples(self) -> Iterator[Example]:
        def golden(contested: str, other: str) -> dict[str, Any]:
            return {"workspace": {"p.py": contested, "q.py": other}, "fanIns": [_merged()]}

        yield Example(
            {"permutations": [golden("b1", "e1"), golden("a1", "f2")]},
            {"permutations": [golden("b1", "e1"), golden("a1", "e1")]},
            path=TRACE_PATH,
        )
