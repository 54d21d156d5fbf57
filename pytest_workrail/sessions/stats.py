"""Many sessions together: where agents get blocked and by what, what they repeat, where they give up.

One session at a time goes through and only counts stay, so the memory does not grow with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.trace import StepRef, TraceEntry
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.session_log import read_log
from pytest_workrail.sessions.story import Advance, Story, stories
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.blocker_codes import BlockerCode

_OPEN = ("in_progress", "blocked", "gate")
_MOST_LISTED = 200  # sessions of a version, one by one; older ones are only counted
_MS_IN_MINUTE = 60_000


class StepStats(Struct):
    """The statistics of one step, over all sessions."""

    visits: int = 0  # arrivals, of which a loop makes several
    calls: int = 0  # submissions, accepted or not
    accepted: int = 0
    retries: int = 0  # submissions after a block
    most_tries: int = 0
    gates: int = 0
    skipped: int = 0  # runs that never came to it, because its condition was false
    abandoned: int = 0  # sessions under way that stand here
    total_ms: int = 0
    longest_ms: int = 0
    blockers: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def blocks(self) -> int:
        return self.calls - self.accepted - self.gates

    def to_json(self) -> dict[str, Any]:
        return {
            "visits": self.visits,
            "calls": self.calls,
            "passed": self.accepted,
            "blocked": self.blocks,
            "blockers": dict(sorted(self.blockers.items())),
            "retries": self.retries,
            "mostTries": self.most_tries,
            "gates": self.gates,
            "skipped": self.skipped,
            "abandoned": self.abandoned,
            "meanMs": self.total_ms // self.accepted if self.accepted else 0,
            "longestMs": self.longest_ms,
        }


class LoopStats(Struct):
    """How often a loop ran, and how often only its bound ended it."""

    runs: int = 0
    passes: int = 0
    most_passes: int = 0
    hit_bound: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": self.runs,
            "passes": self.passes,
            "mostPasses": self.most_passes,
            "hitBound": self.hit_bound,
        }


class SessionLine(Struct, frozen=True):
    """One run of a session: the steps of its preferred path, what was refused, and where it is stuck."""

    id: str
    when_ms: int
    status: str
    steps: list[str]
    blocked: list[tuple[str, BlockerCode]]
    stuck: str | None
    minutes: int

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "when": self.when_ms,
            "status": self.status,
            "steps": self.steps,
            "blocked": [list(each) for each in self.blocked],
            "stuck": self.stuck,
            "minutes": self.minutes,
        }


class VersionStats(Struct):
    """The sessions of one version of a workflow."""

    version: str | None
    sessions: list[SessionLine] = msgspec.field(default_factory=list)

    def to_json(self, workflow_hash: str) -> dict[str, Any]:
        newest = sorted(self.sessions, key=lambda each: (-each.when_ms, each.id))
        older = Counter(each.status for each in newest[_MOST_LISTED:])
        return {
            "hash": workflow_hash,
            "version": self.version,
            "firstSeen": newest[-1].when_ms,
            "sessions": [each.to_json() for each in newest[:_MOST_LISTED]],
            **({"older": dict(sorted(older.items()))} if older else {}),
        }


class WorkflowStats(Struct):
    """One workflow, whatever its versions."""

    sessions: int = 0
    forks: int = 0
    gaps: int = 0
    versions: dict[str, VersionStats] = msgspec.field(default_factory=dict)  # by hash
    statuses: Counter[str] = msgspec.field(default_factory=Counter)
    steps: dict[str, StepStats] = msgspec.field(default_factory=dict)
    loops: dict[str, LoopStats] = msgspec.field(default_factory=dict)

    def step(self, name: str) -> StepStats:
        return self.steps.setdefault(name, StepStats())

    def to_json(self, *, each: bool = False) -> dict[str, Any]:
        """Return the counts; with `each` also the sessions, by version, those of the newest version first."""
        versions = [version.to_json(name) for name, version in self.versions.items()] if each else []
        versions.sort(key=lambda version: (-version["firstSeen"], version["hash"]))
        return {
            **({"each": versions} if each else {}),
            "sessions": self.sessions,
            "versions": len(self.versions),
            "workflowHashes": sorted(self.versions),
            "statuses": dict(sorted(self.statuses.items())),
            "forks": self.forks,
            "gaps": self.gaps,
            "steps": [{"step": name, **step.to_json()} for name, step in self.steps.items()],
            "loops": [{"loop": name, **loop.to_json()} for name, loop in self.loops.items()],
            "mend": self.to_mend(),
        }

    def to_mend(self) -> list[str]:
        """Return what an author should fix first, most frequent first."""
        troubles: list[tuple[int, str]] = []
        for name, step in self.steps.items():
            for code, count in step.blockers.items():
                troubles.append((count, f"step {name} was blocked by {code} {times(count)}"))
            if step.abandoned:
                troubles.append((step.abandoned, f"{_sessions(step.abandoned)} stopped at step {name}"))
        for name, loop in self.loops.items():
            if loop.hit_bound:
                troubles.append((loop.hit_bound, f"loop {name} ended only by its bound {times(loop.hit_bound)}"))
        return [text for _, text in sorted(troubles, key=lambda each: (-each[0], each[1]))[:10]]


def times(count: int) -> str:
    """How often something happened."""
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"


class Statistics(Struct):
    """All workflows that were counted, and the sessions that could not be."""

    workflows: dict[str, WorkflowStats] = msgspec.field(default_factory=dict)
    damaged: int = 0
    empty: list[str] = []  # sessions that were never started
    unknown_events: int = 0

    def to_json(self, *, each: bool = False) -> dict[str, Any]:
        return {
            "sessions": sum(one.sessions for one in self.workflows.values()),
            "damaged": self.damaged,
            "empty": len(self.empty),
            "unknownEvents": self.unknown_events,
            "workflows": [
                {"workflowId": name, **stats.to_json(each=each)} for name, stats in sorted(self.workflows.items())
            ],
        }


def count_sessions(
    folder: DataFolder, session_ids: Iterable[str], workflow: str | None = None, *, each: bool = False
) -> Statistics:
    """Count sessions, one after the other; with `each`, a line of each is kept as well.

    Of damaged ones, what can be trusted counts.
    """
    statistics = Statistics()
    bounds = _Bounds(folder)
    for session_id in session_ids:
        log = read_log(folder, session_id)
        all_runs = [each for each in stories(folder, session_id, log) if workflow in (None, each.workflow_id)]
        if not all_runs and workflow is not None:
            continue
        if log.is_empty:
            statistics.empty.append(session_id)
            continue
        statistics.unknown_events += log.unknown
        statistics.damaged += any(each.damage for each in all_runs) or not all_runs
        for story in all_runs:
            _count(statistics.workflows.setdefault(story.workflow_id, WorkflowStats()), story, bounds, each=each)
    return statistics


def _count(stats: WorkflowStats, story: Story, bounds: _Bounds, *, each: bool) -> None:
    stats.sessions += 1
    status = "damaged" if story.damage else story.status
    stats.statuses[status] += 1
    version = stats.versions.get(story.workflow_hash)
    if version is None:
        version = stats.versions[story.workflow_hash] = VersionStats(bounds.of(story.workflow_hash).version)
    if each:
        version.sessions.append(_session_line(story, status))
    stats.gaps += len(story.gaps)
    if story.nodes and story.node(1).step is not None:
        stats.step(str(story.node(1).step)).visits += 1
    tries: dict[int, int] = {}
    for advance in story.advances:
        _count_advance(stats, story, advance, tries)
    if status in _OPEN and story.preferred_tip is not None:
        step = story.node(story.preferred_tip).step
        if step is not None:
            stats.step(step).abandoned += 1
    _count_skipped(stats, story)
    _count_loops(stats, story, bounds)


def _session_line(story: Story, status: str) -> SessionLine:
    tip = story.preferred_tip
    on_path = [] if tip is None else [story.node(number) for number in story.path(tip)]
    given = [node.step for node in on_path if node.kind == "step" and node.step is not None]
    refused = [(node.step or "", each.code) for node in story.nodes for each in node.blockers]
    stuck = on_path[-1].step if on_path and status in _OPEN else None
    minutes = round(max(0, story.ended_ms - story.started_ms) / _MS_IN_MINUTE)
    return SessionLine(story.session_id, story.started_ms, status, given, refused, stuck, minutes)


def _count_skipped(stats: WorkflowStats, story: Story) -> None:
    """The steps whose conditions were false whenever they were looked at: the run never came to them."""
    looked_at = {_skipped_step(entry) for advance in story.advances for entry in advance.trace}
    visited = {node.step for node in story.nodes}
    for name in sorted(step for step in looked_at - visited if step is not None):
        stats.step(name).skipped += 1


def _count_advance(stats: WorkflowStats, story: Story, advance: Advance, tries: dict[int, int]) -> None:
    source = story.node(advance.source)
    stats.forks += advance.is_fork
    if source.step is None or not advance.target:
        return
    step, target = stats.step(source.step), story.node(advance.target)
    step.calls += 1
    step.retries += source.kind == "blocked_attempt"
    attempts = tries[advance.target] = tries.get(advance.source, 0) + 1 if source.kind == "blocked_attempt" else 1
    step.most_tries = max(step.most_tries, attempts)
    if target.kind == "blocked_attempt":
        step.blockers.update(each.code for each in target.blockers)
    elif target.kind == "gate_checkpoint":
        step.gates += 1
    else:
        step.accepted += 1
        spent = max(0, advance.at_ms - _arrived(story, advance.source))
        step.total_ms += spent
        step.longest_ms = max(step.longest_ms, spent)
        if target.step is not None:
            stats.step(target.step).visits += 1


def _arrived(story: Story, number: int) -> int:
    """When the agent came to the step of a node, before whatever was refused there."""
    node = story.node(number)
    while node.kind == "blocked_attempt" and node.parent is not None:
        node = story.node(node.parent)
    return node.at_ms


def _skipped_step(entry: TraceEntry) -> str | None:
    if entry.kind != "evaluated_condition" or not entry.summary.startswith("SKIP"):
        return None
    return next((ref.step_id for ref in entry.refs or () if isinstance(ref, StepRef)), None)


# -------------------------------------------------------------------------------------------------------------- loops


class _Pin(NamedTuple):
    """The pinned workflow of sessions: its version, and its loops by their ids."""

    version: str | None
    loops: dict[str, dict[str, Any]]


class _Bounds:
    """The pinned workflows of sessions, as far as counts need them; cached, because sessions share them."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._known: dict[str, _Pin] = {}

    def of(self, workflow_hash: str) -> _Pin:
        if workflow_hash not in self._known:
            read = self._folder.pinned_workflow(workflow_hash)
            value = {} if isinstance(read, Err) else read.value
            if len(self._known) > 500:
                self._known.clear()
            self._known[workflow_hash] = _pin(value)
        return self._known[workflow_hash]


def _pin(pin: dict[str, Any]) -> _Pin:
    definition = pin.get("definition", pin)
    if not isinstance(definition, dict):
        return _Pin(None, {})
    version, steps = definition.get("version"), definition.get("steps")
    loops = {
        str(step.get("id")): step["loop"]
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and isinstance(step.get("loop"), dict)
    }
    return _Pin(version if isinstance(version, str) else None, loops)


def _count_loops(stats: WorkflowStats, story: Story, bounds: _Bounds) -> None:
    """Every stay in a loop: how many passes, and whether it was left only because no more are allowed."""
    context = story.initial_context
    for advance in story.advances:
        context = advance.full_context or context
        if not advance.target:
            continue
        source, target = story.node(advance.source), story.node(advance.target)
        if source.pending is None or target.snapshot is None or not source.pending.loop_path:
            continue
        loop, iteration = source.pending.loop_path[-1].loop_id, source.pending.loop_path[-1].iteration
        if target.pending is not None and any(at.loop_id == loop for at in target.pending.loop_path):
            continue
        counted = stats.loops.setdefault(loop, LoopStats())
        counted.runs += 1
        counted.passes += iteration + 1
        counted.most_passes = max(counted.most_passes, iteration + 1)
        counted.hit_bound += _hit_bound(bounds.of(story.workflow_hash).loops.get(loop, {}), advance, iteration, context)


def _hit_bound(loop: dict[str, Any], advance: Advance, iteration: int, context: dict[str, Any]) -> bool:
    bound = loop.get("maxIterations")
    if type(bound) is not int or iteration + 1 < bound:
        return False
    if loop.get("type") in ("for", "forEach"):
        wanted = loop.get("count", loop.get("items"))
        wanted = context.get(wanted) if isinstance(wanted, str) else wanted
        size = len(wanted) if isinstance(wanted, list) else wanted
        return type(size) is int and size > bound
    # A condition that said so itself is on record; what ends by its bound is not asked again.
    decisions = (entry.summary for entry in advance.trace if entry.kind == "evaluated_condition")
    return not any(summary.endswith("exit.") for summary in decisions)
