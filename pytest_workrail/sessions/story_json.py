"""A story as JSON: what the page, other tools and the text are made from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_workrail.engine.model.blockers import GapRecordedData
from pytest_workrail.engine.model.lenient import AnyEvent
from pytest_workrail.engine.model.snapshot import RetryableBlock
from pytest_workrail.sessions.known_defects import KnownDefect
from pytest_workrail.sessions.story import (
    Advance,
    Beat,
    Checkpoint,
    ContextChange,
    PreferenceChange,
    Remark,
    Story,
    StoryNode,
    data_of,
)


def story_json(
    story: Story, prompts: dict[int, dict[str, Any]] | None = None, defects: Iterable[KnownDefect] = ()
) -> dict[str, Any]:
    """One run. `prompts` is what the agent read at the nodes."""
    tip = story.preferred_tip
    return {
        "session": story.session_id,
        "run": story.run_id,
        "workflowId": story.workflow_id,
        "workflowHash": story.workflow_hash,
        "status": "damaged" if story.damage else story.status,
        "damage": story.damage,
        "trigger": story.trigger,
        "parentSession": story.parent_session,
        "startedMs": story.started_ms,
        "endedMs": story.ended_ms,
        "goal": story.initial_context.get("goal"),
        "context": story.initial_context,
        "preferences": story.initial_preferences.to_wire(),
        "observations": story.observations,
        "nodes": [_node(node, (prompts or {}).get(node.number)) for node in story.nodes],
        "beats": [_beat(story, beat) for beat in story.beats],
        "tips": story.tips,
        "preferredPath": [] if tip is None else story.path(tip),
        "gaps": [gap_json(gap) for gap in story.gaps],
        "engineDefects": [defect.to_json() for defect in defects],
    }


def _node(node: StoryNode, prompt: dict[str, Any] | None) -> dict[str, Any]:
    pending, block = node.pending, node.block
    shown: dict[str, Any] = {
        "node": node.number,
        "id": node.node_id,
        "kind": node.kind,
        "parent": node.parent,
        "atMs": node.at_ms,
        "step": node.step,
        "complete": node.is_complete,
    }
    if node.problem is not None:
        shown["problem"] = node.problem
    if pending is not None and pending.loop_path:
        shown["loops"] = [{"loop": at.loop_id, "iteration": at.iteration} for at in pending.loop_path]
    if block is not None:
        shown["blockers"] = [{"code": each.code, "message": each.message} for each in node.blockers]
        shown["retryable"] = isinstance(block, RetryableBlock)
    if node.snapshot is not None and node.snapshot.gate is not None:
        shown["gate"] = node.snapshot.gate.gate_kind
    return shown if prompt is None else {**shown, "asked": prompt}


def outcome(story: Story, advance: Advance) -> str:
    """What a submission came to, in one word."""
    if not advance.target:
        return "unfinished"
    node = story.node(advance.target)
    if node.kind == "blocked_attempt":
        return "blocked"
    if node.kind == "gate_checkpoint":
        return "gate"
    return "complete" if node.is_complete else "accepted"


def _beat(story: Story, beat: Beat) -> dict[str, Any]:
    when = {"event": beat.index, "atMs": beat.at_ms}
    match beat:
        case Advance():
            return {"kind": "advance", **when, **_advance(story, beat)}
        case Checkpoint(source=source, target=target):
            return {"kind": "checkpoint", **when, "from": source, "to": target}
        case PreferenceChange(node=node, effective=effective, by=by):
            return {"kind": "preferences", **when, "node": node, "effective": effective.to_wire(), "by": by}
        case ContextChange(change=change):
            return {"kind": "context", **when, "change": change}
        case Remark():
            return {"kind": beat.label, **when, "event_kind": beat.kind, "data": beat.data}


def _advance(story: Story, beat: Advance) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "from": beat.source,
        "to": beat.target or None,
        "step": story.node(beat.source).step,
        "outcome": outcome(story, beat),
        "fork": beat.is_fork,
        "notes": beat.notes,
        "artifacts": beat.artifacts,
    }
    if beat.is_cut:
        shown["notesCut"] = True
    if beat.context is not None:
        shown["context"] = beat.context
    if beat.issues:
        shown["issues"] = beat.issues
    if beat.gaps:
        shown["gaps"] = [gap_json(gap) for gap in beat.gaps]
    lists: dict[str, list[Any]] = {
        "assessments": [data_of(event) for event in beat.assessments],
        "consequences": [data_of(event) for event in beat.consequences],
        "reports": [{"kind": event.kind, **_members(event)} for event in beat.reports],
        "trace": [entry for event in beat.traces for entry in _members(event)["entries"]],
    }
    return shown | {name: values for name, values in lists.items() if values}


def _members(event: AnyEvent) -> dict[str, Any]:
    data = data_of(event)
    return data if isinstance(data, dict) else {}


def gap_json(gap: GapRecordedData) -> dict[str, Any]:
    return {"severity": gap.severity, "reason": gap.reason.detail, "summary": gap.summary}
