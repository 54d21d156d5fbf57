"""Goldens side by side: what must not depend on warm containers or on which lane finishes first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from workrail_lint.base import js
from workrail_lint.systems.blocks.merging import CONFLICT_EVENT, created_collisions, path_conflicts
from workrail_lint.systems.blocks.traces import FanIn, Problem, Trace, objects
from workrail_lint.systems.blocks.vocabulary import texts_of
from workrail_lint.systems.blocks.wording import shown

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
