"""A story for people in a terminal, and as a mermaid diagram."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_workrail.engine.model.events import CapabilityObserved, DivergenceRecorded
from pytest_workrail.engine.model.reasons import MissingNotes
from pytest_workrail.sessions.listing import duration
from pytest_workrail.sessions.story import (
    Advance,
    Beat,
    Checkpoint,
    ContextChange,
    KnownDefect,
    PreferenceChange,
    Remark,
    Story,
    StoryNode,
    outcome,
)
from workrail_lint.base.terminal import printable
from workrail_lint.base.wording import counted

_SHORT = 160
_DECISIONS = ("evaluated_condition", "entered_loop", "exited_loop", "detected_non_tip_advance")


def moment(at_ms: int) -> str:
    """A time as people write it, in UTC so that it is the same everywhere; empty for one that no calendar has."""
    try:
        return datetime.datetime.fromtimestamp(at_ms / 1000, tz=datetime.UTC).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "(no date)"


def story_lines(
    story: Story,
    prompts: dict[int, dict[str, Any]] | None = None,
    defects: Iterable[KnownDefect] = (),
    *,
    full: bool = False,
) -> Iterator[str]:
    """The story, a line each; text of the session is neutralised."""
    status = "damaged" if story.damage else story.status
    yield f"{printable(story.session_id)}  {printable(story.workflow_id)}  {status}"
    goal = story.initial_context.get("goal")
    yield f"goal: {_cut(goal, full) if isinstance(goal, str) else '(none)'}"
    yield f"started {moment(story.started_ms)} UTC, last event after {duration(story.ended_ms - story.started_ms)}"
    if story.parent_session:
        yield f"started by session {printable(story.parent_session)}"
    if story.damage:
        yield f"damaged: {printable(story.damage)}; shown up to there"
    yield from (printable(str(defect)) for defect in defects)
    if story.nodes:
        yield ""
        yield from _arrival(story.node(1), prompts, full)
    yield from _beats(story, prompts, full)
    yield ""
    tip = story.preferred_tip
    if tip is not None:
        yield f"preferred path: {' '.join(f'#{number}' for number in story.path(tip))}"
    others = [number for number in story.tips if number != tip]
    if others:
        yield f"other tips: {' '.join(f'#{number}' for number in others)}"
    for gap in story.gaps:
        yield f"gap ({printable(gap.severity)}): {printable(gap.summary)}"
    for advance in story.advances:
        for divergence in advance.divergences:
            yield f"divergence at #{advance.source} ({divergence.reason}): {_cut(divergence.summary, full)}"


def _arrival(node: StoryNode, prompts: dict[int, dict[str, Any]] | None, full: bool) -> Iterator[str]:
    """A node, and what the agent read there."""
    yield f"#{node.number} {place_of(node)}"
    asked = (prompts or {}).get(node.number)
    if asked is not None:
        for line in str(asked.get("prompt", asked.get("problem", ""))).split("\n"):
            yield f"    | {printable(line)}"


def place_of(node: StoryNode) -> str:
    """Where a node stands."""
    if node.snapshot is None:
        return f"({node.problem})"
    if node.is_complete:
        return "complete"
    path = () if node.pending is None else node.pending.loop_path
    loops = "".join(f" ({printable(at.loop_id)}, pass {at.iteration + 1})" for at in path)
    kind = {"blocked_attempt": " [blocked]", "gate_checkpoint": " [gate]", "checkpoint": " [checkpoint]"}
    return f"{printable(node.step or '(nothing pending)')}{loops}{kind.get(node.kind, '')}"


def _beats(story: Story, prompts: dict[int, dict[str, Any]] | None, full: bool) -> Iterator[str]:
    """Yield the events in order; attempts blocked like the one before are one line, unless all are asked for."""
    previous: Beat | None = None
    repeated: list[Advance] = []
    for beat in story.beats:
        if not full and isinstance(beat, Advance) and _repeats(story, beat, previous):
            repeated.append(beat)
        else:
            yield from _repetitions(story, repeated)
            repeated = []
            yield from _beat(story, beat, prompts, full)
        previous = beat
    yield from _repetitions(story, repeated)


def _repeats(story: Story, beat: Advance, previous: Beat | None) -> bool:
    return (
        isinstance(previous, Advance)
        and beat.source == previous.target
        and outcome(story, beat) == outcome(story, previous) == "blocked"
        and list(_details(story, beat, full=True)) == list(_details(story, previous, full=True))
    )


def _repetitions(story: Story, attempts: list[Advance]) -> Iterator[str]:
    if not attempts:
        return
    first, last = attempts[0], attempts[-1]
    if first is last:
        yield f"  submitted at #{first.source}: blocked again in the same way"
    else:
        yield f"  submitted at #{first.source} to #{last.source}: blocked in the same way, {len(attempts)} more times"
    yield f"#{last.target} {place_of(story.node(last.target))}"


def _beat(story: Story, beat: Beat, prompts: dict[int, dict[str, Any]] | None, full: bool) -> Iterator[str]:
    match beat:
        case Advance():
            yield from _advance(story, beat, prompts, full)
        case Checkpoint(source=source, target=target):
            yield f"  checkpoint at #{source}: #{target}"
        case PreferenceChange(node=node, effective=effective, by=by):
            chosen = ", ".join(map(printable, (effective.autonomy, effective.risk_policy)))
            yield f"  preferences at #{node} set to {chosen} by {printable(by)}"
        case ContextChange(change=change):
            yield f"  context changed by the host: {_json(change, full)}"
        case Remark():
            label = beat.label if beat.is_known else "unknown event"
            yield f"  {label}: {printable(beat.kind)} {_json(beat.data, full)}"


def _advance(story: Story, beat: Advance, prompts: dict[int, dict[str, Any]] | None, full: bool) -> Iterator[str]:
    what = outcome(story, beat)
    fork = " (fork: a second branch)" if beat.is_fork else ""
    badge = " [diverged]" if beat.divergences else ""
    yield f"  submitted at #{beat.source}: {what}{fork}{badge}"
    yield from _details(story, beat, full)
    if beat.target and what != "blocked":
        yield from _arrival(story.node(beat.target), prompts, full)
    elif beat.target:
        yield f"#{beat.target} {place_of(story.node(beat.target))}"


def _details(story: Story, beat: Advance, full: bool) -> Iterator[str]:
    """Yield the lines about a submission and its outcome."""
    if beat.notes is not None:
        yield from _notes(beat.notes, full)
    elif outcome(story, beat) in ("blocked", "gate"):
        codes = {blocker.code for blocker in story.node(beat.target).blockers}
        yield f"    notes: {'none' if MissingNotes.code in codes else '(the engine does not keep them)'}"
    for artifact in beat.artifacts:
        yield f"    artifact: {_json(artifact, full)}"
    for name, value in (beat.context or {}).items():
        yield f"    context: {printable(name)} = {_json(value, full)}"
    for assessment in beat.assessments:
        levels = ", ".join(f"{each.dimension_id} {each.level}" for each in assessment.data.dimensions)
        yield f"    assessment {printable(assessment.data.assessment_id)}: {printable(levels)}"
    if beat.target:
        for blocker in story.node(beat.target).blockers:
            yield f"    blocked by {printable(blocker.code)}: {_cut(blocker.message, full)}"
    for issue in beat.issues:
        yield f"    issue: {_cut(issue, full)}"
    for gap in beat.gaps:
        word = "resolved" if gap.resolution.kind == "resolves" else f"gap ({printable(gap.severity)})"
        yield f"    {word}: {_cut(gap.summary.removeprefix('Resolved: '), full)}"
    for consequence in beat.consequences:
        trigger = consequence.data.trigger
        graded = printable(f"{trigger.dimension_id} {trigger.level}")
        yield f"    follow-up: {graded}: {_cut(consequence.data.effect.guidance, full)}"
    for report in beat.reports:
        match report:
            case CapabilityObserved(data=data):
                text = f"{data.capability} {data.status}"
            case DivergenceRecorded(data=divergence):
                text = f"{divergence.reason} {divergence.summary}"
        yield f"    {report.kind}: {_cut(text, full)}"
    for entry in beat.trace:
        if entry.kind in _DECISIONS:
            yield f"    decided: {_cut(entry.summary, full)}"


def _notes(notes: str, full: bool) -> Iterator[str]:
    if not full:
        yield f"    notes: {_cut(notes, full)}"
        return
    first, *others = notes.split("\n")
    yield f"    notes: {printable(first)}"
    yield from (f"           {printable(line)}" for line in others)


def _cut(text: str, full: bool) -> str:
    # On one line, a break is worth no more than a space.
    line = printable(text if full else " ".join(text.split()))
    return line if full or len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


def _json(value: Any, full: bool) -> str:
    return _cut(json.dumps(value, ensure_ascii=False), full)


# ----------------------------------------------------------------------------------------------------------- mermaid

_PLAIN = re.compile(r"[^A-Za-z0-9 _.@-]")
_CLASSES = {"blocked_attempt": "blocked", "gate_checkpoint": "gate", "checkpoint": "mark"}


def story_mermaid(story: Story) -> str:
    """The nodes of a run as a flowchart; the preferred path is drawn thick."""
    tip = story.preferred_tip
    path = set() if tip is None else set(story.path(tip))
    lines = ["flowchart TD"]
    for node in story.nodes:
        label = _label(f"{node.number} {place_of(node)}")
        kind = "done" if node.is_complete else _CLASSES.get(node.kind, "")
        lines.append(f'  n{node.number}["{label}"]{f":::{kind}" if kind else ""}')
    for beat in story.beats:
        if isinstance(beat, Advance) and beat.target:
            arrow = "==>" if beat.source in path and beat.target in path else "-->"
            words = _label(outcome(story, beat) + (", fork" if beat.is_fork else "") + _counts(beat))
            lines.append(f'  n{beat.source} {arrow}|"{words}"| n{beat.target}')
        elif isinstance(beat, Checkpoint):
            lines.append(f'  n{beat.source} -.->|"checkpoint"| n{beat.target}')
    lines += [
        "  classDef blocked fill:#fde2e1,stroke:#b3261e",
        "  classDef gate fill:#fff3cd,stroke:#8a6d00",
        "  classDef mark stroke-dasharray:4",
        "  classDef done fill:#e3f4e5,stroke:#1b6e2e",
    ]
    return "\n".join(lines) + "\n"


def _counts(beat: Advance) -> str:
    gaps = f", {counted(len(beat.gaps), 'gap')}" if beat.gaps else ""
    return f"{gaps}, diverged" if beat.divergences else gaps


def _label(text: str) -> str:
    """Text that mermaid takes for nothing but text."""
    return _PLAIN.sub(lambda match: f"#{ord(match[0])};", text[:80])
