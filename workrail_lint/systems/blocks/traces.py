"""What a run recorded about itself, and whether it kept the contract.

A trace is the golden of a run (plan, steps, fan-ins, events, output folder) with what only a driver can see: `copies`
and `accesses` say which file was touched after which event, `content` of a fan-in holds hashes before and after the
merge, `limits` the retries that were allowed, and `cold`, `warm` and `permutations` whole goldens to compare. Every
function takes a trace as plain data and yields pointers and messages; any part can be missing. Goldens are compared: a
result must not depend on warm containers or on which lane finishes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.wording import counted
from workrail_lint.systems.blocks.outputs import (
    CONFLICT_EVENT,
    MANUAL,
    Merge,
    created_collisions,
    merge,
    path_conflicts,
)
from workrail_lint.systems.blocks.paths import output_name
from workrail_lint.systems.blocks.vocabulary import MAX_REVISIONS, MergeStrategy, Resolution, is_member, texts_of
from workrail_lint.systems.blocks.wording import shown

Problem = tuple[str, str]
"""A JSON pointer into the trace, and what is wrong there."""

_SETTLED = ("node_completed", "node_failed", "lane_settled")
_STARTED = ("node_started", "lane_started")


def objects(value: object) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a list with their positions."""
    return [(at, item) for at, item in enumerate(value if isinstance(value, list) else ()) if isinstance(item, dict)]


class Event(NamedTuple):
    """An event: when, what, whose, and what it said."""

    at: int
    n: float
    type: str
    node: str
    data: dict[str, Any]

    @property
    def pointer(self) -> str:
        return f"/events/{self.at}"

    @property
    def lane(self) -> str:
        """The lane that an event is about, which may be in its data."""
        lane = self.data.get("lane")
        return lane if isinstance(lane, str) and lane else self.node

    @property
    def group(self) -> str:
        group = self.data.get("groupId")
        return group if isinstance(group, str) else ""


class FanIn:
    """The merge of one group."""

    def __init__(self, value: dict[str, Any], at: int) -> None:
        self.value = value
        self.pointer = f"/fanIns/{at}"
        result = value.get("result")
        self.result: dict[str, Any] = result if isinstance(result, dict) else {}
        self.group = value["group"] if isinstance(value.get("group"), str) else ""
        self.order = [lane for _, lane in texts_of(value.get("completionOrder"))]
        outputs = [item for _, item in objects(self.result.get("blockOutputs"))]
        self.outputs = {item["blockId"]: item for item in outputs if isinstance(item.get("blockId"), str)}

    @property
    def strategy(self) -> MergeStrategy | None:
        written = self.result.get("mergeStrategy")
        return MergeStrategy(written) if is_member(MergeStrategy, written) else None

    @property
    def choices(self) -> dict[str, str]:
        """Return what a person decided, as far as the recorded conflicts show."""
        made = {}
        for _, item in objects(self.result.get("conflicts")):
            path = item.get("conflictingFile")
            if item.get("resolution") == Resolution.USER_RESOLVED.value and isinstance(path, str):
                made[path] = str(item.get("appliedFrom", MANUAL))
        return made

    def planned(self) -> Merge | None:
        """Return what the merge had to do."""
        return None if self.strategy is None else merge(self.strategy, self.outputs, self.order, self.choices)

    @property
    def applied(self) -> dict[str, Any] | None:
        applied = self.value.get("applied")
        return applied if isinstance(applied, dict) else None


class Trace:
    """A trace as the checks below read it."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.events = [_event(at, item) for at, item in objects(value.get("events"))]
        self.steps = objects(value.get("steps"))
        self.fan_ins = [FanIn(item, at) for at, item in objects(value.get("fanIns"))]

    def of_type(self, *types: str) -> list[Event]:
        return [event for event in self.events if event.type in types]


def _event(at: int, item: dict[str, Any]) -> Event:
    number, data = item.get("n"), item.get("data")
    n = number if isinstance(number, int | float) and not isinstance(number, bool) else at + 1
    return Event(at, n, str(item.get("type")), str(item.get("nodeId", "")), data if isinstance(data, dict) else {})


# ------------------------------------------------------------------------------------------- blocks in a row


def output_folder_late(trace: Trace) -> Iterator[Problem]:
    """BC701: blocks that started before there was a folder for their outputs."""
    starts = trace.of_type(*_STARTED)
    made = [event.at for event in trace.of_type("folder_created")]
    if starts and (not made or starts[0].at < made[0]):
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
    folder = trace.value.get("outputFolder")
    names = {name for _, name in texts_of(folder)}
    last = {event.lane: event for event in trace.of_type(*_SETTLED)}
    for node, event in last.items() if isinstance(folder, list) else ():
        if output_name(node) not in names:
            yield event.pointer, f"the block {shown(node)} settled without an output, not even a synthetic one"


def env_stale(trace: Trace) -> Iterator[Problem]:
    """BC704: block-scope variables that still hold the value of an earlier block."""
    seen: dict[str, set[str]] = {"NODE_ID": set(), "STEP_INDEX": set(), "PREVIOUS_BLOCK_ID": set()}
    ran: list[str] = []
    for at, step in trace.steps:
        env, name = step.get("env"), step.get("node")
        if not isinstance(env, dict) or not isinstance(name, str):
            continue
        node = name.partition("[")[0]  # in a forEach the number of the iteration follows
        wanted = {"NODE_ID": node, "STEP_INDEX": str(step.get("stepIndex"))}
        previous = _previous(trace.value.get("plan"), node, ran)
        if previous is not None:
            wanted["PREVIOUS_BLOCK_ID"] = previous
        for name, value in wanted.items():
            found = env.get(name)
            if isinstance(found, str) and found != value and found in seen[name]:
                yield (
                    f"/steps/{at}/env/{name}",
                    f"{name} of {shown(node)} is {shown(found)}, left over from an earlier block",
                )
        for name, values in seen.items():
            if isinstance(env.get(name), str):
                values.add(env[name])
        ran.append(node)


def _previous(plan: object, node: str, ran: list[str]) -> str | None:
    """The block before a node in a recorded plan; None when the plan does not have the node."""
    entries = [_nodes(entry) for entry in plan] if isinstance(plan, list) else []
    for at, nodes in enumerate(entries):
        if node in nodes:
            earlier = [found for entry in entries[:at] for found in entry if found in ran]
            return earlier[-1] if earlier else ""
    return None


def _nodes(entry: object) -> list[str]:
    if isinstance(entry, dict):
        return [ident for _, ident in texts_of(entry.get("nodeIds"))] or [str(entry.get("node", ""))]
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
    written = trace.value.get("limits")
    limits: dict[str, Any] = dict(written) if isinstance(written, dict) else {}
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
    for at, access in objects(trace.value.get("accesses")):
        lane, where, n = access.get("lane"), access.get("workspace"), access.get("n", 0)
        end = merged.get(group_of.get(str(lane), ""), float("inf"))
        if where != lane and isinstance(n, int | float) and n < end:
            place = "the main workspace" if where == "main" else f"the workspace of {shown(where)}"
            yield f"/accesses/{at}", f"the lane {shown(lane)} touched {shown(access.get('path'))} in {place}"


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
            found = (fan_in.applied or {}).get(path)
            if fan_in.applied is not None and found != lane:
                yield f"{fan_in.pointer}/applied", f"{shown(path)} comes from {shown(found)}, not from {shown(lane)}"
            elif lane is not None and not _is_content_of(fan_in, path, lane):
                yield f"{fan_in.pointer}/content", f"{shown(path)} is not the version of the lane {shown(lane)}"


def _is_content_of(fan_in: FanIn, path: str, lane: str) -> bool:
    content = fan_in.value.get("content")
    if not isinstance(content, dict) or lane == MANUAL:
        return True
    main, lanes = content.get("main"), content.get("lanes")
    theirs = lanes.get(lane) if isinstance(lanes, dict) else None
    if not isinstance(main, dict) or not isinstance(theirs, dict):
        return True
    return bool(main.get(path) == theirs.get(path))


def conflict_not_paused(trace: Trace) -> Iterator[Problem]:
    """BC709: files that were applied before a person had decided."""
    decided = [event for event in trace.of_type("gate_decided") if "choices" in event.data]
    for fan_in, start, since, until in _merges(trace):
        if fan_in.strategy is not MergeStrategy.FAIL_ON_CONFLICT or not path_conflicts(fan_in.outputs, fan_in.order):
            continue
        choice = next((event.n for event in decided if event.n > start), float("inf"))
        for at, copy in objects(trace.value.get("copies")):
            n = copy.get("n", 0)
            if copy.get("groupId") == fan_in.group and isinstance(n, int | float) and since <= n < min(choice, until):
                yield f"/copies/{at}", f"{shown(copy.get('path'))} was applied before a person had chosen"


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
    lanes: dict[int, dict[str, tuple[int, dict[str, Any]]]] = {}
    for at, step in trace.steps:
        env, node = step.get("env"), str(step.get("node"))
        if node in group_of and isinstance(env, dict):
            lanes.setdefault(group_of[node], {})[node] = (at, env)  # of a lane that ran again, the last time
    for group in lanes.values():
        names, found = list(group), list(group.values())
        for number, (at, env) in enumerate(found):
            for other, (_, earlier) in zip(group, found[:number], strict=False):
                problem = _identity_problem(env, earlier)
                if problem is not None:
                    both = f"{shown(other)} and {shown(names[number])}"
                    yield f"/steps/{at}/env/{problem}", f"the lanes {both} have {_SHARED[problem]} {problem}"
                    break


def _started_together(trace: Trace) -> dict[str, int]:
    """Lanes, and which of all fan-outs they belong to: those of one group start in a row."""
    found: dict[str, int] = {}
    number, group = 0, None
    for event in trace.events:
        is_lane = event.type == "lane_started"
        number += is_lane and event.group != group
        group = event.group if is_lane else None
        if is_lane:
            found[event.lane] = number
    return found


_SHARED = {
    "WORKFLOW_ID": "different values of",
    "EXECUTION_ID": "different values of",
    "NODE_ID": "the same",
    "STEP_INDEX": "the same",
}


def _identity_problem(env: dict[str, Any], earlier: dict[str, Any]) -> str | None:
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


def first_difference(one: dict[str, Any], other: dict[str, Any]) -> str | None:
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
    cold, warm = trace.value.get("cold"), trace.value.get("warm")
    if isinstance(cold, dict) and isinstance(warm, dict):
        member = first_difference(cold, warm)
        if member is not None:
            yield "/warm", f"with warm containers the run differs from a cold run in {shown(member)}"


def order_dependence(trace: Trace) -> Iterator[Problem]:
    """BC714: a run in which more than the contract allows depends on the order in which lanes finish."""
    runs = objects(trace.value.get("permutations"))
    for at, run in runs[1:]:
        contested = _contested(runs[0][1]) | _contested(run)
        member = first_difference(_settled(runs[0][1], contested), _settled(run, contested))
        if member is not None:
            yield f"/permutations/{at}", f"with a different completion order the run differs in {shown(member)}"


def _contested(golden: dict[str, Any]) -> frozenset[str]:
    """The paths that the first lane to finish wins."""
    found: set[str] = set()
    for at, item in objects(golden.get("fanIns")):
        fan_in = FanIn(item, at)
        for clash in (*path_conflicts(fan_in.outputs, fan_in.order), *created_collisions(fan_in.outputs, fan_in.order)):
            found.add(clash.path)
    return frozenset(found)


def _settled(golden: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    """A golden without what may depend on the completion order."""
    settled = dict(golden)
    if "fanIns" in golden:
        settled["fanIns"] = [_settled_fan_in(item, contested) for _, item in objects(golden["fanIns"])]
    if "events" in golden:
        settled["events"] = _settled_events([item for _, item in objects(golden["events"])])
    if isinstance(golden.get("workspace"), dict):
        settled["workspace"] = _uncontested(golden["workspace"], contested)
    for member, (code, same) in _NAMES_LANES.items():
        if member in golden:
            items = [item for _, item in objects(golden[member])]
            plain = [_picked(item, same) if item.get("code") == code else item for item in items]
            settled[member] = sorted(plain, key=_words)  # their order depended on the removed members
    return settled


def _words(item: dict[str, Any]) -> list[str]:
    return [value for _, value in texts_of([item.get(name) for name in ("code", "file", "pointer", "message")])]


def _picked(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: item.get(name) for name in names}


def _uncontested(paths: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    """Paths without a conflict; even the existence of the others depends on the winner."""
    return {path: value for path, value in paths.items() if path not in contested}


def _settled_fan_in(item: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    settled = {**item, "completionOrder": sorted(lane for _, lane in texts_of(item.get("completionOrder")))}
    if isinstance(item.get("applied"), dict):
        settled["applied"] = _uncontested(item["applied"], contested)
    if isinstance(item.get("result"), dict):
        conflicts = [_settled_conflict(found) for _, found in objects(item["result"].get("conflicts"))]
        settled["result"] = {**item["result"], "conflicts": conflicts}
    return settled


def _settled_conflict(item: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if name != "appliedFrom"}
    return {**kept, "lanes": sorted(lane for _, lane in texts_of(item.get("lanes")))}


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
                    "completionOrder": sorted(lane for _, lane in texts_of(data["completionOrder"])),
                }
            elif kept.get("type") == "block_gate_open" and "conflicts" in data:
                clear = [_settled_conflict(found) for _, found in objects(data["conflicts"])]
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
