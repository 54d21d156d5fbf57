"""Recorded traces of runs, and how two goldens are compared.

A trace is the golden of a run (plan, steps, fan-ins, events, output folder) with what only a driver can see: `copies`
and `accesses` say which file was touched after which event, `content` of a fan-in holds hashes before and after the
merge, `limits` the retries that were allowed, and `cold`, `warm` and `permutations` whole goldens to compare. Any part
can be missing. A result must not depend on warm containers or on which lane finishes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

from workrail_lint.base import js
from workrail_lint.base.js import objects_of, strings_of
from workrail_lint.systems.blocks.model.build import trace_model
from workrail_lint.systems.blocks.model.documents import GroupMerge, RunEvent, UserResolved
from workrail_lint.systems.blocks.outputs import (
    MANUAL,
    Merge,
    created_collisions,
    merge,
    path_conflicts,
)
from workrail_lint.systems.blocks.vocabulary import CONFLICT_EVENT, MergeStrategy


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
    """A trace as rules and goldens read it."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value = value
        self.model = trace_model(value)
        self.events = [_event(event) for event in self.model.events]
        self.steps = [(step.index, step.raw) for step in self.model.steps]
        self.fan_ins = [FanIn(merge) for merge in self.model.fan_ins]

    def of_type(self, *types: str) -> list[Event]:
        return [event for event in self.events if event.type in types]


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
    """Return the first member in which two goldens differ, as `steps/1/output`; None when they are equal."""
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


def contested_paths(golden: Mapping[str, Any]) -> frozenset[str]:
    """Return the paths that the first lane to finish wins."""
    paths: set[str] = set()
    for fan_in in map(FanIn, trace_model(dict(golden)).fan_ins):
        for clash in (*path_conflicts(fan_in.outputs, fan_in.order), *created_collisions(fan_in.outputs, fan_in.order)):
            paths.add(clash.path)
    return frozenset(paths)


def without_order(golden: Mapping[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    """Return a golden without what may depend on the completion order."""
    settled = dict(golden)
    if "fanIns" in golden:
        settled["fanIns"] = [_settled_fan_in(item, contested) for item in objects_of(golden["fanIns"])]
    if "events" in golden:
        settled["events"] = _settled_events(objects_of(golden["events"]))
    if isinstance(golden.get("workspace"), dict):
        settled["workspace"] = _uncontested(golden["workspace"], contested)
    for member, (code, same) in _NAMES_LANES.items():
        if member in golden:
            items = objects_of(golden[member])
            plain = [_picked(item, same) if item.get("code") == code else item for item in items]
            settled[member] = sorted(plain, key=_words)  # their order depended on the removed members
    return settled


def _words(item: dict[str, Any]) -> list[str]:
    return strings_of([item.get(name) for name in ("code", "file", "pointer", "message")])


def _picked(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: item.get(name) for name in names}


def _uncontested(paths: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    """Return paths without a conflict; even the existence of the others depends on the winner."""
    return {path: value for path, value in paths.items() if path not in contested}


def _settled_fan_in(item: dict[str, Any], contested: frozenset[str]) -> dict[str, Any]:
    settled = {**item, "completionOrder": sorted(strings_of(item.get("completionOrder")))}
    if isinstance(item.get("applied"), dict):
        settled["applied"] = _uncontested(item["applied"], contested)
    if isinstance(item.get("result"), dict):
        conflicts = [_settled_conflict(conflict) for conflict in objects_of(item["result"].get("conflicts"))]
        settled["result"] = {**item["result"], "conflicts": conflicts}
    return settled


def _settled_conflict(item: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in item.items() if name != "appliedFrom"}
    return {**kept, "lanes": sorted(strings_of(item.get("lanes")))}


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
                    "completionOrder": sorted(strings_of(data["completionOrder"])),
                }
            elif kept.get("type") == "block_gate_open" and "conflicts" in data:
                clear = [_settled_conflict(conflict) for conflict in objects_of(data["conflicts"])]
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
