"""The trace of a simulated run: its blocks in a row, its lanes and merges, and runs to compare it with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from workrail_lint.base.js import items_of, strings_of
from workrail_lint.base.wording import counted
from workrail_lint.documents.nodes import numbered
from workrail_lint.findings import Severity
from workrail_lint.rules.base import Example, Report
from workrail_lint.systems.blocks.documents import BlockKind
from workrail_lint.systems.blocks.model.documents import TraceStep
from workrail_lint.systems.blocks.outputs import MANUAL, path_conflicts
from workrail_lint.systems.blocks.paths import output_name
from workrail_lint.systems.blocks.rules.base import CONTRACT, DECIDED, ENGINES, BlockDocument, BlockRule
from workrail_lint.systems.blocks.rules.samples import TRACE_PATH, conflict, environment, fan_in, lane, output
from workrail_lint.systems.blocks.traces import (
    Event,
    FanIn,
    Trace,
    contested_paths,
    first_difference,
    without_order,
)
from workrail_lint.systems.blocks.vocabulary import CONFLICT_EVENT, MAX_REVISIONS, MergeStrategy
from workrail_lint.systems.blocks.wording import shown

Problem = tuple[str, str]
"""A JSON pointer into the trace, and what is wrong there."""
SETTLED = ("node_completed", "node_failed", "lane_settled")
STARTED = ("node_started", "lane_started")


class TraceRule(BlockRule):
    """A rule about the trace of a run."""

    severity = Severity.ERROR
    kinds = (BlockKind.TRACE,)
    example_path = TRACE_PATH

    def check_document(self, document: BlockDocument, report: Report) -> None:
        for pointer, message in self.problems(document.trace):
            report(pointer, message)

    def problems(self, trace: Trace) -> Iterator[Problem]:
        """Yield what is wrong."""
        raise NotImplementedError


def events(*items: Any, **members: Any) -> dict[str, Any]:
    """Return a trace of events: a type, a type and a node, or a type, a node and data."""
    entries = []
    for n, item in enumerate(items, 1):
        kind, node, data = (*((item,) if isinstance(item, str) else item), None, None)[:3]
        event = {"n": n, "type": kind, "nodeId": node, "data": data}
        entries.append({name: value for name, value in event.items() if value is not None})
    return {"events": entries, **members}


def step(node: str, index: int, previous: str = "", **members: Any) -> dict[str, Any]:
    """Return a step with its environment."""
    return {"node": node, "stepIndex": index, "env": environment(node, str(index), previous, **members)}


class OutputFolderLate(TraceRule):
    code = "BC701"
    name = "output-folder-late"
    origin = CONTRACT
    summary = "The first block started before the output folder existed."
    why = "A block that finishes early has nowhere to write its output, and counts as failed."
    bad = events("execution_started", ("node_started", "a"), "folder_created")
    good = events("execution_started", "folder_created", ("node_started", "a"))

    def problems(self, trace: Trace) -> Iterator[Problem]:
        starts = trace.of_type(*STARTED)
        creations = [event.at for event in trace.of_type("folder_created")]
        if starts and (not creations or starts[0].at < creations[0]):
            yield starts[0].pointer, f"the block {shown(starts[0].lane)} started before the output folder existed"


class StartedEarly(TraceRule):
    code = "BC702"
    name = "started-early"
    origin = CONTRACT
    summary = "A block started before the previous block was validated."
    why = "It reads an output that does not exist yet, or one that will be rejected."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        running: dict[str, str] = {}  # node to its group, which is empty for a node on its own
        for event in trace.events:
            if event.type in STARTED:
                ahead = [node for node, group in running.items() if not group or group != event.group]
                if ahead:
                    yield event.pointer, f"{shown(event.lane)} started before {shown(ahead[0])} was validated"
                running[event.lane] = event.group
            elif event.type in (*SETTLED, "node_retry", "block_revision", "node_skipped"):
                running.pop(event.lane, None)

    def examples(self) -> Iterator[Example]:
        a, b, done = ("node_started", "a"), ("node_started", "b"), ("node_completed", "a")
        yield self.example(events("folder_created", a, b), events("folder_created", a, done, b))


class SyntheticMissing(TraceRule):
    code = "BC703"
    name = "synthetic-missing"
    origin = CONTRACT
    summary = "A block left no usable output, and none was written in its place."
    why = "The next block looks for the file; a missing file can't report that the block failed."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        last = {event.lane: event for event in trace.of_type(*SETTLED)}
        for node, event in last.items() if trace.model.has("outputFolder") else ():
            if output_name(node) not in trace.model.output_folder:
                yield event.pointer, f"the block {shown(node)} settled without an output, not even a synthetic one"

    def examples(self) -> Iterator[Example]:
        failed = ("folder_created", ("node_started", "t"), ("node_failed", "t", {"reason": "missing"}))
        yield self.example(events(*failed, outputFolder=[]), events(*failed, outputFolder=["block-t.json"]))


class EnvStale(TraceRule):
    code = "BC704"
    name = "env-stale"
    origin = DECIDED
    summary = "A block received a variable of an earlier block."
    why = "A warm container must not show the values of an earlier block: the agent would do that block's work."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        seen: dict[str, set[str]] = {"NODE_ID": set(), "STEP_INDEX": set(), "PREVIOUS_BLOCK_ID": set()}
        ran: list[str] = []
        for step in trace.model.steps:
            if step.node is None or not step.has("env"):
                continue
            node = step.node.partition("[")[0]  # in a forEach the number of the iteration follows
            wanted = {"NODE_ID": node, "STEP_INDEX": str(step.step_index)}
            previous = _previous(trace.model.plan, node, ran)
            if previous is not None:
                wanted["PREVIOUS_BLOCK_ID"] = previous
            for name, value in wanted.items():
                current = step.env.get(name)
                if current is not None and current != value and current in seen[name]:
                    message = f"{name} of {shown(node)} is {shown(current)}, left over from an earlier block"
                    yield step.at("env", name), message
            for name, values in seen.items():
                if name in step.env:
                    values.add(step.env[name])
            ran.append(node)

    def examples(self) -> Iterator[Example]:
        def trace(env: dict[str, Any]) -> dict[str, Any]:
            return {"plan": ["a", "b"], "steps": [step("a", 0), {**step("b", 1, "a"), "env": env}]}

        yield self.example(trace(environment("a", "1", "a")), trace(environment("b", "1", "a")))


def _previous(plan: object, node: str, ran: list[str]) -> str | None:
    """Return the block before a node in a recorded plan; None when the plan does not have the node."""
    entries = [_nodes(entry) for entry in items_of(plan)]
    for at, nodes in enumerate(entries):
        if node in nodes:
            earlier = [block for entry in entries[:at] for block in entry if block in ran]
            return earlier[-1] if earlier else ""
    return None


def _nodes(entry: object) -> list[str]:
    if isinstance(entry, dict):
        return strings_of(entry.get("nodeIds")) or [str(entry.get("node", ""))]
    return [entry] if isinstance(entry, str) else []


class MemoryDependence(TraceRule):
    code = "BC710"
    name = "memory-dependence"
    origin = CONTRACT
    summary = "A run with warm containers gives a different result than one with cold containers."
    why = "A block relies on something it remembers, which is gone when an engine starts it afresh."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        if trace.model.has("cold") and trace.model.has("warm"):
            member = first_difference(trace.model.cold, trace.model.warm)
            if member is not None:
                yield "/warm", f"with warm containers the run differs from a cold run in {shown(member)}"

    def examples(self) -> Iterator[Example]:
        def trace(warm: str) -> dict[str, Any]:
            return {"cold": {"workspace": {"src/t.py": "e1"}}, "warm": {"workspace": {"src/t.py": warm}}}

        yield self.example(trace("f2"), trace("e1"))


class RevisionLimit(TraceRule):
    code = "BC711"
    name = "revision-limit"
    origin = ENGINES
    summary = "A block was revised more than ten times."
    why = "Every revision costs time and money; the eleventh is refused so that a person thinks again."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        counts: dict[str, int] = {}
        for event in trace.of_type("block_revision", "gate_decided", "node_failed"):
            if event.type != "block_revision":
                counts.pop(event.node, None)
                continue
            counts[event.node] = counts.get(event.node, 0) + 1
            if counts[event.node] == MAX_REVISIONS + 1:
                yield event.pointer, f"the block {shown(event.node)} was revised more than {MAX_REVISIONS} times"

    def examples(self) -> Iterator[Example]:
        again = ("block_revision", "p", {"feedback": "Add tests."})
        yield self.example(events(*[again] * 11), events(*[again] * 10))


class RetryLimit(TraceRule):
    code = "BC712"
    name = "retry-limit"
    origin = ENGINES
    summary = "A block ran more often than its retries allow."
    why = "The limit keeps a broken block from running forever."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        limits = dict(trace.model.limits)
        for event in trace.of_type("node_retry"):
            limits.setdefault(event.node, event.data.get("maxRetries"))
        lanes = {event.lane for event in trace.of_type("lane_started")}  # they start once, whatever is tried again
        runs: dict[str, int] = {}
        for event in trace.events:
            if event.type in SETTLED:
                runs.pop(event.lane, None)
            elif event.type in STARTED or (event.type == "node_retry" and event.lane in lanes):
                runs[event.lane] = runs.get(event.lane, 0) + 1
                limit = limits.get(event.lane)
                if isinstance(limit, int) and runs[event.lane] == limit + 2:
                    yield event.pointer, f"the block {shown(event.lane)} was retried more than {counted(limit, 'time')}"

    def examples(self) -> Iterator[Example]:
        start = ("node_started", "p")
        first, second = (("node_retry", "p", {"attempt": n, "maxRetries": 1}) for n in (1, 2))
        yield self.example(
            events("folder_created", start, first, start, second, start), events("folder_created", start, first, start)
        )


class GateOnFailure(TraceRule):
    code = "BC715"
    name = "gate-on-failure"
    origin = CONTRACT
    summary = "A gate was opened for a block that failed."
    why = "The run can't continue from a failed block, which shows its error instead of a choice."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        state: dict[str, str] = {}
        for event in trace.events:
            if event.type in SETTLED:
                state[event.node] = event.type
            elif (
                event.type == "block_gate_open"
                and "conflicts" not in event.data
                and state.get(event.node) == "node_failed"
            ):
                yield event.pointer, f"a gate was opened for the block {shown(event.node)}, which failed"

    def examples(self) -> Iterator[Example]:
        gate = ("block_gate_open", "p", {"prompt": f"Block produced: {output()['summary']}"})
        start = ("folder_created", ("node_started", "p"))
        yield self.example(
            events(*start, ("node_failed", "p", {"reason": "own"}), gate), events(*start, ("node_completed", "p"), gate)
        )


_STARTED = [("lane_started", name, {"groupId": "g", "lane": name}) for name in "ab"]
_SETTLED = [("lane_settled", name, {"groupId": "g", "lane": name, "status": "completed"}) for name in "ba"]
_MERGE = ("fan_in", None, {"groupId": "g", "mergeStrategy": "workspace", "completionOrder": ["b", "a"]})
_CLASH = conflict("p.py", "b", "a")


def _merged(strategy: str = "workspace", record: dict[str, Any] = _CLASH, **members: Any) -> dict[str, Any]:
    """Return the fan-in of two lanes that both modified p.py, b being the first to finish."""
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

    def problems(self, trace: Trace) -> Iterator[Problem]:
        group_of = {event.lane: event.group for event in trace.of_type("lane_started")}
        merged = {event.group: event.n for event in trace.of_type("fan_in")}
        for access in trace.model.accesses:
            if access.lane is None:
                continue
            where, end = access.workspace, merged.get(group_of.get(access.lane, ""), float("inf"))
            if where != access.lane and (access.n or 0) < end:
                place = "the main workspace" if where == "main" else f"the workspace of {shown(where)}"
                yield access.pointer, f"the lane {shown(access.lane)} touched {shown(access.path)} in {place}"

    def examples(self) -> Iterator[Example]:
        whole = events("folder_created", *_STARTED, *_SETTLED, _MERGE)
        touched: dict[str, Any] = {"n": 3, "lane": "a", "path": "p.py"}
        yield self.example(
            {**whole, "accesses": [{**touched, "workspace": "main"}]},
            {**whole, "accesses": [{**touched, "workspace": "a"}]},
        )


class FanInEarly(TraceRule):
    code = "BC706"
    name = "fan-in-early"
    origin = CONTRACT
    summary = "The merge began before every lane had settled."
    why = "Later work of the slow lane is lost, or overwrites the merged files."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        open_lanes: dict[str, list[str]] = {}
        for event in trace.events:
            if event.type == "lane_started":
                open_lanes.setdefault(event.group, []).append(event.lane)
            elif event.type == "lane_settled":
                running = open_lanes.get(event.group, [])
                open_lanes[event.group] = [lane for lane in running if lane != event.lane]
            elif event.type == "fan_in" and open_lanes.get(event.group):
                yield (
                    event.pointer,
                    f"the merge began while the lane {shown(open_lanes[event.group][0])} was still running",
                )

    def examples(self) -> Iterator[Example]:
        head = ("folder_created", *_STARTED)
        yield self.example(events(*head, _SETTLED[0], _MERGE), events(*head, *_SETTLED, _MERGE))


class ConflictEvent(TraceRule):
    code = "BC707"
    name = "conflict-event"
    origin = CONTRACT
    summary = "The conflict events do not match the merge."
    why = "The event informs a person that one lane's version of a file was dropped."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        recorded: dict[float, list[Event]] = {}
        begun = 0.0
        for event in trace.events:
            if event.type == "fan_in":
                begun = event.n
            elif event.type == CONFLICT_EVENT:
                recorded.setdefault(begun, []).append(event)
        for merge, start, _, _ in _merges(trace):
            planned = merge.planned()
            if planned is None:
                continue
            wanted = {str(data["conflictingFile"]): data for data in planned.events}
            for event in recorded.get(start, ()):
                path = str(event.data.get("conflictingFile"))
                if wanted.pop(path, None) != event.data:
                    yield event.pointer, f"the conflict event about {shown(path)} does not match the merge"
            for path in wanted:
                yield merge.pointer, f"the conflict event about {shown(path)} is missing"

    def examples(self) -> Iterator[Example]:
        conflict = (CONFLICT_EVENT, None, _CLASH)
        yield self.example(events(_MERGE, fanIns=[_merged()]), events(_MERGE, conflict, fanIns=[_merged()]))


class _Merging(NamedTuple):
    """A merge: its number among the events, and between which numbers files are applied for it."""

    merge: FanIn
    start: float
    since: float
    until: float


def _merges(trace: Trace) -> Iterator[_Merging]:
    """Yield every merge; a group in a definition that is run several times is merged several times."""
    begun: dict[str, list[float]] = {}
    for event in trace.of_type("fan_in"):
        begun.setdefault(event.group, []).append(event.n)
    since: dict[str, float] = {}
    for merge in trace.fan_ins:
        left = begun.get(merge.group, [])
        start = left.pop(0) if left else 0.0
        until = left[0] if left else float("inf")
        yield _Merging(merge, start, since.get(merge.group, 0.0), until)
        since[merge.group] = until


class MergeWinner(TraceRule):
    code = "BC708"
    name = "merge-winner"
    origin = CONTRACT
    summary = "A file in the main workspace is not the version of the lane that won."
    why = "The first lane to finish wins; copying lanes one after another leaves the version of the last lane instead."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        for merge in trace.fan_ins:
            planned = merge.planned()
            if planned is None or planned.unresolved:
                continue
            for path in sorted({*planned.applied, *(merge.applied or ())}):
                lane = planned.applied.get(path)
                source = (merge.applied or {}).get(path)
                if merge.applied is not None and source != lane:
                    yield (
                        f"{merge.pointer}/applied",
                        f"{shown(path)} comes from {shown(source)}, not from {shown(lane)}",
                    )
                elif lane is not None and not _is_content_of(merge, path, lane):
                    yield f"{merge.pointer}/content", f"{shown(path)} is not the version of the lane {shown(lane)}"

    def examples(self) -> Iterator[Example]:
        lanes = {"a": {"p.py": "a1"}, "b": {"p.py": "b1"}}

        def trace(content: str, applied: str = "b") -> dict[str, Any]:
            merged = _merged(applied={"p.py": applied}, content={"main": {"p.py": content}, "lanes": lanes})
            return events(_MERGE, (CONFLICT_EVENT, None, _CLASH), fanIns=[merged])

        yield self.example(trace("a1"), trace("b1"))
        yield self.example(trace("b1", "a"), trace("b1"))


def _is_content_of(merge: FanIn, path: str, lane: str) -> bool:
    content = merge.model.content
    if content is None or not content.has("main") or lane == MANUAL or lane not in content.lanes:
        return True
    return bool(content.main.get(path) == content.lanes[lane].get(path))


class ConflictNotPaused(TraceRule):
    code = "BC709"
    name = "conflict-not-paused"
    origin = CONTRACT
    summary = "With `fail-on-conflict`, a file was applied before a person had chosen."
    why = "The choice comes too late: the workspace already shows one of the versions."

    def problems(self, trace: Trace) -> Iterator[Problem]:
        decided = [event for event in trace.of_type("gate_decided") if "choices" in event.data]
        for merge, start, since, until in _merges(trace):
            asks = merge.strategy is MergeStrategy.FAIL_ON_CONFLICT
            if not asks or not path_conflicts(merge.outputs, merge.order):
                continue
            choice = next((event.n for event in decided if event.n > start), float("inf"))
            for copy in trace.model.copies:
                if copy.group_id == merge.group and since <= (copy.n or 0) < min(choice, until):
                    yield copy.pointer, f"{shown(copy.path)} was applied before a person had chosen"

    def examples(self) -> Iterator[Example]:
        chosen = conflict("p.py", "b", "a", resolution="user-resolved", appliedFrom="a")
        merged = [_merged("fail-on-conflict", chosen)]
        gate = ("block_gate_open", None, {"groupId": "g", "conflicts": []})
        decided = ("gate_decided", None, {"choices": {"p.py": "a"}})
        whole = events(_MERGE, gate, decided, fanIns=merged)
        copy = {"groupId": "g", "path": "p.py", "lane": "a"}
        yield self.example({**whole, "copies": [{**copy, "n": 1}]}, {**whole, "copies": [{**copy, "n": 3}]})


class LaneIdentity(TraceRule):
    code = "BC713"
    name = "lane-identity"
    origin = CONTRACT
    summary = "Lanes of one group belong to different runs, or can't be told apart."
    why = (
        "Lanes share the ids of the workflow and the run, and differ in node and step; otherwise outputs get mixed up."
    )
    bad = events("folder_created", *_STARTED, steps=[step("a", 0), step("b", 0)])
    good = events("folder_created", *_STARTED, steps=[step("a", 0), step("b", 1)])

    def problems(self, trace: Trace) -> Iterator[Problem]:
        group_of = _started_together(trace)
        lanes: dict[int, dict[str, TraceStep]] = {}
        for step in trace.model.steps:
            if step.node in group_of and step.has("env"):
                lanes.setdefault(group_of[step.node], {})[step.node] = step  # of a lane that ran again, the last time
        for group in lanes.values():
            steps = list(group.items())
            for number, (node, step) in enumerate(steps):
                for other, earlier in steps[:number]:
                    problem = _identity_problem(step.env, earlier.env)
                    if problem is not None:
                        both = f"{shown(other)} and {shown(node)}"
                        yield step.at("env", problem), f"the lanes {both} have {_SHARED[problem]} {problem}"
                        break


def _started_together(trace: Trace) -> dict[str, int]:
    """Return lanes, and which of all fan-outs they belong to: those of one group start in a row."""
    fan_outs: dict[str, int] = {}
    number, group = 0, None
    for event in trace.events:
        is_lane = event.type == "lane_started"
        number += is_lane and event.group != group
        group = event.group if is_lane else None
        if is_lane:
            fan_outs[event.lane] = number
    return fan_outs


_SHARED = {
    "WORKFLOW_ID": "different values of",
    "EXECUTION_ID": "different values of",
    "NODE_ID": "the same",
    "STEP_INDEX": "the same",
}


def _identity_problem(env: Mapping[str, str], earlier: Mapping[str, str]) -> str | None:
    for name in ("WORKFLOW_ID", "EXECUTION_ID"):
        if env.get(name) != earlier.get(name):
            return name
    for name in ("NODE_ID", "STEP_INDEX"):
        if name in env and env[name] == earlier.get(name):
            return name
    return None


class OrderDependence(TraceRule):
    code = "BC714"
    name = "order-dependence"
    origin = DECIDED
    summary = "The order in which lanes finish affects more than the contract allows."
    why = (
        "For given outputs and order a merge is fixed; a file that only one lane touches must not change with the "
        "order."
    )

    def problems(self, trace: Trace) -> Iterator[Problem]:
        runs = list(numbered(trace.model.permutations))
        for at, run in runs[1:]:
            contested = contested_paths(runs[0][1]) | contested_paths(run)
            member = first_difference(without_order(runs[0][1], contested), without_order(run, contested))
            if member is not None:
                yield f"/permutations/{at}", f"with a different completion order the run differs in {shown(member)}"

    def examples(self) -> Iterator[Example]:
        def golden(contested: str, other: str) -> dict[str, Any]:
            return {"workspace": {"p.py": contested, "q.py": other}, "fanIns": [_merged()]}

        yield self.example(
            {"permutations": [golden("b1", "e1"), golden("a1", "f2")]},
            {"permutations": [golden("b1", "e1"), golden("a1", "e1")]},
        )
