"""Recorded traces of runs, checked against the contract.

A trace is the golden of a run (plan, steps, fan-ins, events, output folder) with what only a driver can see: `copies`
and `accesses` say which file was touched after which event, `content` of a fan-in holds hashes before and after the
merge, `limits` the retries that were allowed, and `cold`, `warm` and `permutations` whole goldens to compare. Every
function takes a trace as plain data and yields pointers and messages; any part can be missing. Goldens are compared: a
result must not depend on warm containers or on which lane finishes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.wording import counted
from workrail_lint.documents.nodes import numbered
from workrail_lint.systems.blocks.model.build import trace_model
from workrail_lint.systems.blocks.model.documents import GroupMerge, RunEvent, TraceStep, UserResolved
from workrail_lint.systems.blocks.outputs import (
    CONFLICT_EVENT,
    MANUAL,
    Merge,
    created_collisions,
    merge,
    path_conflicts,
)
from workrail_lint.systems.blocks.paths import output_name
from workrail_lint.systems.blocks.vocabulary import MAX_REVISIONS, MergeStrategy
from workrail_lint.systems.blocks.wording import shown

Problem = tuple[str, str]
"""A JSON pointer into the trace, and what is wrong there."""

_SETTLED = ("node_completed", "node_failed", "lane_settled")
_STARTED = ("node_started", "lane_started")


def _objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


class Event(NamedTuple):
    """An event: when, what, whose, and what it says."""

    at: int
    n: float
    type: str
    node: str
    lane: str  # the lane that it is about, which may be in its data
    group: str
    data: dict[str, Any]

    @property
    def pointer(self) -> str:
        return f"/events/{self.at}"


def _event(event: RunEvent) -> Event:
    data, node = event.data, event.node_id or ""
    lane = (data.lane if data is not None else None) or node
    group = (data.group_id if data is not None else None) or ""
    n = event.index + 1 if event.n is None else event.n
    return Event(event.index, n, event.type or "", node, lane, group, {} if data is None else data.raw)


class FanIn:
    """The merge of one group."""

    def __init__(self, merge: GroupMerge) -> None:
        self.model = merge
        self.value = merge.raw
        self.pointer = merge.pointer
        self.group = merge.group or ""
        self.order = list(merge.completion_order)
        self.applied = merge.applied if merge.has("applied") else None
        result = merge.result
        self.result: dict[str, Any] = {} if result is None else result.raw
        self.conflicts = () if result is None else result.conflicts
        strategy = None if result is None else result.merge_strategy
        self.strategy = None if strategy is None else MergeStrategy(strategy)
        outputs = () if result is None else result.block_outputs
        self.outputs = {output.block_id: output.raw for output in outputs if output.has("blockId")}

    @property
    def choices(self) -> dict[str, str]:
        """The winners that a person chose, by path, as far as the recorded conflicts show."""
        resolved = [each for each in self.conflicts if isinstance(each, UserResolved) and each.has("conflictingFile")]
        return {each.conflicting_file: MANUAL if each.applied_from is None else each.applied_from for each in resolved}

    def planned(self) -> Merge | None:
        """Return what the merge had to do."""
        return None if self.strategy is None else merge(self.strategy, self.outputs, self.order, self.choices)


class Trace:
    """A trace as the checks below read it."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.model = trace_model(value)
        self.events = [_event(event) for event in self.model.events]
        self.steps = [(step.index, step.raw) for step in self.model.steps]
        self.fan_ins = [FanIn(merge) for merge in self.model.fan_ins]

    def of_type(self, *types: str) -> list[Event]:
        return [event for event in self.events if event.type in types]


# ------------------------------------------------------------------------------------------- blocks in a row


def output_folder_late(trace: Trace) -> Iterator[Problem]:
    """BC701: blocks that started before there was a folder for their outputs."""
    starts = trace.of_type(*_STARTED)
    creations = [event.at for event in trace.of_type("folder_created")]
    if starts and (not creations or starts[0].at < creations[0]):
        yield starts[0].pointer, f"the block {shown(starts[0].lane)} started before the output folder existed"


def started_early(trace: Trace) -> Iterator[Problem]:
    """BC702: blocks that started before the one ahead of them had been validated."""
    running: dict[str, str] = {}  # node to its group, which is empty for a node on its own
    for event in trace.events:
        if event.type in _STARTED:
            ahead = [node for node, group in running.items() if not group or group != event.group]
            if ahead:
                yield event.pointer, f"{shown(event.lane)} started before {shown(ahead[0])} was validated"
            running[event.lane] = event.group
        elif event.type in (*_SETTLED, "node_retry", "block_revision", "node_skipped"):
            running.pop(event.lane, None)


def synthetic_missing(trace: Trace) -> Iterator[Problem]:
    """BC703: blocks that settled without any file, not even one written in their place."""
    last = {event.lane: event for event in trace.of_type(*_SETTLED)}
    for node, event in last.items() if trace.model.has("outputFolder") else ():
        if output_name(node) not in trace.model.output_folder:
            yield event.pointer, f"the block {shown(node)} settled without an output, not even a synthetic one"


def env_stale(trace: Trace) -> Iterator[Problem]:
    """BC704: block-scope variables that still hold the value of an earlier block."""
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


def _previous(plan: object, node: str, ran: list[str]) -> str | None:
    """The block before a node in a recorded plan; None when the plan does not have the node."""
    entries = [_nodes(entry) for entry in plan] if isinstance(plan, list) else []
    for at, nodes in enumerate(entries):
        if node in nodes:
            earlier = [block for entry in entries[:at] for block in entry if block in ran]
            return earlier[-1] if earlier else ""
    return None


def _nodes(entry: object) -> list[str]:
    if isinstance(entry, dict):
        return _texts(entry.get("nodeIds")) or [str(entry.get("node", ""))]
    return [entry] if isinstance(entry, str) else []


def revision_limit(trace: Trace) -> Iterator[Problem]:
    """BC711: more revisions of a block than there may be. Once its gate is closed, counting starts anew."""
    counts: dict[str, int] = {}
    for event in trace.of_type("block_revision", "gate_decided", "node_failed"):
        if event.type != "block_revision":
            counts.pop(event.node, None)
            continue
        counts[event.node] = counts.get(event.node, 0) + 1
        if counts[event.node] == MAX_REVISIONS + 1:
            yield event.pointer, f"the block {shown(event.node)} was revised more than {MAX_REVISIONS} times"


def retry_limit(trace: Trace) -> Iterator[Problem]:
    """BC712: more runs of a block than its retries allow. Once it has settled, counting starts anew."""
    limits = dict(trace.model.limits)
    for event in trace.of_type("node_retry"):
        limits.setdefault(event.node, event.data.get("maxRetries"))
    lanes = {event.lane for event in trace.of_type("lane_started")}  # they start once, whatever is tried again
    runs: dict[str, int] = {}
    for event in trace.events:
        if event.type in _SETTLED:
            runs.pop(event.lane, None)
        elif event.type in _STARTED or (event.type == "node_retry" and event.lane in lanes):
            runs[event.lane] = runs.get(event.lane, 0) + 1
            limit = limits.get(event.lane)
            if isinstance(limit, int) and runs[event.lane] == limit + 2:
                yield event.pointer, f"the block {shown(event.lane)} was retried more than {counted(limit, 'time')}"


def gate_on_failure(trace: Trace) -> Iterator[Problem]:
    """BC715: a gate that offers to continue from a block that failed."""
    state: dict[str, str] = {}
    for event in trace.events:
        if event.type in _SETTLED:
            state[event.node] = event.type
        elif (
            event.type == "block_gate_open" and "conflicts" not in event.data and state.get(event.node) == "node_failed"
        ):
            yield event.pointer, f"a gate was opened for the block {shown(event.node)}, which failed"


# ------------------------------------------------------------------------------------------- lanes and merges


def lane_not_isolated(trace: Trace) -> Iterator[Problem]:
    """BC705: lanes that touched the main workspace, or that of another lane, before the fan-in."""
    group_of = {event.lane: event.group for event in trace.of_type("lane_started")}
    merged = {event.group: event.n for event in trace.of_type("fan_in")}
    for access in trace.model.accesses:
        if access.lane is None:
            continue
        where, end = access.workspace, merged.get(group_of.get(access.lane, ""), float("inf"))
        if where != access.lane and (access.n or 0) < end:
            place = "the main workspace" if where == "main" else f"the workspace of {shown(where)}"
            yield access.pointer, f"the lane {shown(access.lane)} touched {shown(access.path)} in {place}"


def fan_in_early(trace: Trace) -> Iterator[Problem]:
    """BC706: merges that began while a lane was still running."""
    open_lanes: dict[str, list[str]] = {}
    for event in trace.events:
        if event.type == "lane_started":
            open_lanes.setdefault(event.group, []).append(event.lane)
        elif event.type == "lane_settled":
            running = open_lanes.get(event.group, [])
            open_lanes[event.group] = [lane for lane in running if lane != event.lane]
        elif event.type == "fan_in" and open_lanes.get(event.group):
            yield event.pointer, f"the merge began while the lane {shown(open_lanes[event.group][0])} was still running"


def conflict_event(trace: Trace) -> Iterator[Problem]:
    """BC707: conflict events that are missing, too many, or different from the merge."""
    recorded: dict[float, list[Event]] = {}
    begun = 0.0
    for event in trace.events:
        if event.type == "fan_in":
            begun = event.n
        elif event.type == CONFLICT_EVENT:
            recorded.setdefault(begun, []).append(event)
    for fan_in, start, _, _ in _merges(trace):
        planned = fan_in.planned()
        if planned is None:
            continue
        wanted = {str(data["conflictingFile"]): data for data in planned.events}
        for event in recorded.get(start, ()):
            path = str(event.data.get("conflictingFile"))
            if wanted.pop(path, None) != event.data:
                yield event.pointer, f"the conflict event about {shown(path)} does not match the merge"
        for path in wanted:
            yield fan_in.pointer, f"the conflict event about {shown(path)} is missing"


def merge_winner(trace: Trace) -> Iterator[Problem]:
    """BC708: files of the main workspace that are not those of the lane that won."""
    for fan_in in trace.fan_ins:
        planned = fan_in.planned()
        if planned is None or planned.unresolved:
            continue
        for path in sorted({*planned.applied, *(fan_in.applied or ())}):
            lane = planned.applied.get(path)
            source = (fan_in.applied or {}).get(path)
            if fan_in.applied is not None and source != lane:
                yield f"{fan_in.pointer}/applied", f"{shown(path)} comes from {shown(source)}, not from {shown(lane)}"
            elif lane is not None and not _is_content_of(fan_in, path, lane):
                yield f"{fan_in.pointer}/content", f"{shown(path)} is not the version of the lane {shown(lane)}"


def _is_content_of(fan_in: FanIn, path: str, lane: str) -> bool:
    content = fan_in.model.content
    if content is None or not content.has("main") or lane == MANUAL or lane not in content.lanes:
        return True
    return bool(content.main.get(path) == content.lanes[lane].get(path))


def conflict_not_paused(trace: Trace) -> Iterator[Problem]:
    """BC709: files that were applied before a person had decided."""
    decided = [event for event in trace.of_type("gate_decided") if "choices" in event.data]
    for fan_in, start, since, until in _merges(trace):
        if fan_in.strategy is not MergeStrategy.FAIL_ON_CONFLICT or not path_conflicts(fan_in.outputs, fan_in.order):
            continue
        choice = next((event.n for event in decided if event.n > start), float("inf"))
        for copy in trace.model.copies:
            if copy.group_id == fan_in.group and since <= (copy.n or 0) < min(choice, until):
                yield copy.pointer, f"{shown(copy.path)} was applied before a person had chosen"


class _Merging(NamedTuple):
    """A merge: its number among the events, and between which numbers files are applied for it."""

    fan_in: FanIn
    start: float
    since: float
    until: float


def _merges(trace: Trace) -> Iterator[_Merging]:
    """Every merge; a group in a definition that is run several times is merged several times."""
    begun: dict[str, list[float]] = {}
    for event in trace.of_type("fan_in"):
        begun.setdefault(event.group, []).append(event.n)
    since: dict[str, float] = {}
    for fan_in in trace.fan_ins:
        left = begun.get(fan_in.group, [])
        start = left.pop(0) if left else 0.0
        until = left[0] if left else float("inf")
        yield _Merging(fan_in, start, since.get(fan_in.group, 0.0), until)
        since[fan_in.group] = until


def lane_identity(trace: Trace) -> Iterator[Problem]:
    """BC713: lanes that are not of one run, or can't be distinguished."""
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
    """Lanes, and which of all fan-outs they belong to: those of one group start in a row."""
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


# The members of a golden that a run records; its findings and locks come after them.
TRACE_MEMBERS = (
    "pack",
    "scenario",
    "plan",
    "steps",
    "fanIns",
    "events",
    "outputFolder",
    "workspace",
    "executionStatus",
    "blockers",
)
_ORDER = (*TRACE_MEMBERS, "findings", "locks")
# Events of running lanes, in order within a lane; between lanes the completion order decides.
_OF_LANES = ("lane_settled", "write_blocked", "node_retry", "node_retry_exhausted")
# What names lanes in completion order, by member and code, and which members of it stay the same.
_NAMES_LANES = {
    "blockers": ("BLOCK_LANE_CONFLICT", ("code", "pointer")),
    "findings": ("BC508", ("code", "severity", "file")),
}
# How far down a difference is named: a member of a step or event, an entry of a map.
_DEPTH = {"steps": 3, "fanIns": 3, "events": 3, "plan": 2, "workspace": 2}


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first member in which two goldens differ, as `steps/1/output`; None when they are equal."""
    names = [*_ORDER, *sorted({*one, *other} - {*_ORDER})]
    for name in names:
        if (name in one) != (name in other):
            return name
        if name in one:
            tokens = _difference(one[name], other[name], _DEPTH.get(name, 1) - 1)
            if tokens is not None:
                return "/".join([name, *tokens])
    return None


def _difference(one: Any, other: Any, depth: int) -> list[str] | None:
    if js.deep_equal(one, other):
        return None
    if depth and isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            if name not in one or name not in other:
                return [name]
            below = _difference(one[name], other[name], depth - 1)
            if below is not None:
                return [name, *below]
    if depth and isinstance(one, list) and isinstance(other, list):
        for at, (left, right) in enumerate(zip(one, other, strict=False)):
            below = _difference(left, right, depth - 1)
            if below is not None:
                return [str(at), *below]
        return [str(min(len(one), len(other)))]
    return []


def memory_dependence(trace: Trace) -> Iterator[Problem]:
    """BC710: a run whose result depends on what containers remember."""
    if trace.model.has("cold") and trace.model.has("warm"):
        member = first_difference(trace.model.cold, trace.model.warm)
        if member is not None:
            yield "/warm", f"with warm containers the run differs from a cold run in {shown(member)}"


def order_dependence(trace: Trace) -> Iterator[Problem]:
    """BC714: a run in which more than the contract allows depends on the order in which lanes finish."""
    runs = list(numbered(trace.model.permutations))
    for at, run in runs[1:]:
        contested = _contested(runs[0][1]) | _contested(run)
        member = first_difference(_settled(runs[0][1], contested), _settled(run, contested))
        if member is not None:
            yield f"/permutations/{at}", f"with a different completion order the run differs in {shown(member)}"


def _contested(golden: Mapping[str, Any]) -> frozenset[str]:
    """The paths that the first lane to finish wins."""
    paths: set[str] = set()
    for fan_in in map(FanIn, trace_model(dict(golden)).fan_ins):
        for clash in (*path_conflicts(fan_in.outputs, fan_in.order), *created_collisions(fan_in.outputs, fan_in.order)):
            paths.add(clash.path)
    return frozenset(paths)


def _settled(golden: Mapping[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    """A golden without what may depend on the completion order."""
    settled = dict(golden)
    if "fanIns" in golden:
        settled["fanIns"] = [_settled_fan_in(item, contested) for item in _objects(golden["fanIns"])]
    if "events" in golden:
        settled["events"] = _settled_events(_objects(golden["events"]))
    if isinstance(golden.get("workspace"), dict):
        settled["workspace"] = _uncontested(golden["workspace"], contested)
    for member, (code, same) in _NAMES_LANES.items():
        if member in golden:
            items = _objects(golden[member])
            plain = [_picked(item, same) if item.get("code") == code else item for item in items]
            settled[member] = sorted(plain, key=_words)  # their order depended on the removed members
    return settled


def _words(item: dict[str, Any]) -> list[str]:
    return _texts([item.get(name) for name in ("code", "file", "pointer", "message")])


def _picked(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: item.get(name) for name in names}


def _uncontested(paths: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    """Paths without a conflict; even the existence of the others depends on the winner."""
    return {path: value for path, value in paths.items() if path not in contested}


def _settled_fan_in(item: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    settled = {**item, "completionOrder": sorted(_texts(item.get("completionOrder")))}
    if isinstance(item.get("applied"), dict):
        settled["applied"] = _uncontested(item["applied"], contested)
    if isinstance(item.get("result"), dict):
        conflicts = [_settled_conflict(conflict) for conflict in _objects(item["result"].get("conflicts"))]
        settled["result"] = {**item["result"], "conflicts": conflicts}
    return settled


def _settled_conflict(item: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if name != "appliedFrom"}
    return {**kept, "lanes": sorted(_texts(item.get("lanes")))}


def _settled_events(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    settled = []
    for item in events:
        kept = {name: value for name, value in item.items() if name != "n"}
        data = kept.get("data")
        if isinstance(data, dict):
            if kept.get("type") == CONFLICT_EVENT:
                kept["data"] = _settled_conflict(data)
            elif "completionOrder" in data:
                kept["data"] = {
                    **data,
                    "completionOrder": sorted(_texts(data["completionOrder"])),
                }
            elif kept.get("type") == "block_gate_open" and "conflicts" in data:
                clear = [_settled_conflict(conflict) for conflict in _objects(data["conflicts"])]
                kept["data"] = {**data, "conflicts": clear}
        settled.append(kept)
    # Events of lanes are contiguous, so they can be sorted by lane.
    ordered: list[dict[str, Any]] = []
    for of_lanes, events_together in groupby(settled, lambda event: event.get("type") in _OF_LANES):
        together = list(events_together)
        ordered += sorted(together, key=_lane) if of_lanes else together
    return ordered


def _lane(event: dict[str, Any]) -> str:
    data = event.get("data")
    lane = data.get("lane") if isinstance(data, dict) else None
    return str(event.get("nodeId") if lane is None else lane)
