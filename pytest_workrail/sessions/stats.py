"""Many sessions together: where agents get blocked and by what, what they repeat, where they give up.

One session at a time goes through and only counts stay, so the memory does not grow with their number.
The counts, or one session, can be a page for a browser that loads nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from pytest_workrail.engine.model.trace import StepRef, TraceEntry
from pytest_workrail.sessions.data_folder import DataFolder
from pytest_workrail.sessions.listing import duration
from pytest_workrail.sessions.session_log import read_log
from pytest_workrail.sessions.story import Advance, Story, stories
from workrail_lint.base.html import html_page
from workrail_lint.base.result import Err
from workrail_lint.base.terminal import printable
from workrail_lint.base.wording import counted

_OPEN = ("in_progress", "blocked", "gate")


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


class WorkflowStats(Struct):
    """One workflow, whatever its versions."""

    sessions: int = 0
    forks: int = 0
    gaps: int = 0
    versions: set[str] = msgspec.field(default_factory=set)
    statuses: Counter[str] = msgspec.field(default_factory=Counter)
    steps: dict[str, StepStats] = msgspec.field(default_factory=dict)
    loops: dict[str, LoopStats] = msgspec.field(default_factory=dict)

    def step(self, name: str) -> StepStats:
        return self.steps.setdefault(name, StepStats())

    def to_json(self) -> dict[str, Any]:
        return {
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

    def to_json(self) -> dict[str, Any]:
        return {
            "sessions": sum(each.sessions for each in self.workflows.values()),
            "damaged": self.damaged,
            "empty": len(self.empty),
            "unknownEvents": self.unknown_events,
            "workflows": [{"workflowId": name, **stats.to_json()} for name, stats in sorted(self.workflows.items())],
        }


def count_sessions(folder: DataFolder, session_ids: Iterable[str], workflow: str | None = None) -> Statistics:
    """Count sessions, one after the other. Of damaged ones, what can be trusted counts."""
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
            _count(statistics.workflows.setdefault(story.workflow_id, WorkflowStats()), story, bounds)
    return statistics


def _count(stats: WorkflowStats, story: Story, bounds: _Bounds) -> None:
    stats.sessions += 1
    status = "damaged" if story.damage else story.status
    stats.statuses[status] += 1
    stats.versions.add(story.workflow_hash)
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


class _Bounds:
    """The loop bounds of the pinned workflows; cached, because sessions share them."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._known: dict[str, dict[str, dict[str, Any]]] = {}

    def of(self, workflow_hash: str) -> dict[str, dict[str, Any]]:
        if workflow_hash not in self._known:
            read = self._folder.pinned_workflow(workflow_hash)
            value = {} if isinstance(read, Err) else read.value
            if len(self._known) > 500:
                self._known.clear()
            self._known[workflow_hash] = _loops(value)
        return self._known[workflow_hash]


def _loops(pin: dict[str, Any]) -> dict[str, dict[str, Any]]:
    definition = pin.get("definition", pin)
    steps = definition.get("steps") if isinstance(definition, dict) else None
    return {
        str(step.get("id")): step["loop"]
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and isinstance(step.get("loop"), dict)
    }


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
        counted.hit_bound += _hit_bound(bounds.of(story.workflow_hash).get(loop, {}), advance, iteration, context)


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


_STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --soft: #656d76; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --line: #444c56; --soft: #9198a1; --bad: #ff8a80; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
pre { font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 14px; } th { text-align: left; color: var(--soft); }
td, th { border-bottom: 1px solid var(--line); padding: .2rem .5rem; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } .bad { color: var(--bad); }
"""


def _page(title: str, body: str) -> str:
    return html_page(title, _STYLE, f"\n<h1>{_text(title)}</h1>\n{body}\n")


def story_page(session_id: str, stories: list[list[str]]) -> str:
    """The runs of a session, each in its lines."""
    runs = (f"<section><pre>{_text(chr(10).join(lines))}</pre></section>" for lines in stories)
    return _page(session_id, "".join(runs))


def stats_page(statistics: Statistics) -> str:
    """The counts, a section for each workflow."""
    total = counted(sum(each.sessions for each in statistics.workflows.values()), "session")
    sections = (_workflow(name, stats) for name, stats in sorted(statistics.workflows.items()))
    remark = f'<p class="bad">{counted(statistics.damaged, "damaged session")}</p>' if statistics.damaged else ""
    return _page(f"{total} of {counted(len(statistics.workflows), 'workflow')}", remark + "".join(sections))


def _workflow(name: str, stats: WorkflowStats) -> str:
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(stats.statuses.items()))
    mend = "".join(f"<li>{_text(text)}</li>" for text in stats.to_mend())
    rows = (
        (
            step_id,
            step.visits,
            step.calls,
            step.blocks,
            ", ".join(f"{code} {count}" for code, count in sorted(step.blockers.items())),
            step.retries,
            step.most_tries,
            step.skipped,
            step.abandoned,
            duration(step.total_ms // step.accepted) if step.accepted else "",
        )
        for step_id, step in stats.steps.items()
    )
    loops = ((loop_id, loop.runs, loop.most_passes, loop.hit_bound) for loop_id, loop in stats.loops.items())
    head = (
        "step",
        "visits",
        "calls",
        "blocks",
        "blocked by",
        "retries",
        "most tries",
        "skipped",
        "left here",
        "mean time",
    )
    return (
        f"<h2>{_text(name)}</h2><p>{counted(stats.sessions, 'session')}: {_text(statuses)}</p>"
        + (f"<ol>{mend}</ol>" if mend else "")
        + _table(head, rows)
        + (_table(("loop", "runs", "most passes", "ended by its bound"), loops) if stats.loops else "")
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    cells = "".join(f"<th>{_text(each)}</th>" for each in head)
    lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(value: object) -> str:
    return f'<td class="n">{value}</td>' if isinstance(value, int) else f"<td>{_text(str(value))}</td>"


def _text(text: str) -> str:
    return escape("\n".join(printable(line) for line in text.split("\n")))
