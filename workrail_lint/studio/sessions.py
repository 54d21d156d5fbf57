"""Sessions as stories, from what `workrail-test sessions show --json` prints: every node is a moment."""

from __future__ import annotations

from collections.abc import Iterator

from workrail_lint.base.typed import Any
from workrail_lint.studio.shapes import STORY, fits

Data = dict[str, Any]

_KINDS = {"blocked_attempt": "blocked", "gate_checkpoint": "gate", "checkpoint": "call"}


def session_runs(shown: Data, path: str) -> Iterator[Data]:
    """The runs of a session."""
    for number, story in enumerate(story for story in shown.get("runs", ()) if fits(story, STORY)):
        name = str(story.get("session") or "session")
        yield _session_run(story, name if number == 0 else f"{name} {number + 1}", path)


def _session_run(story: Data, name: str, path: str) -> Data:
    nodes = story.get("nodes") or []
    place = {node.get("node"): at for at, node in enumerate(nodes)}
    answers = {beat.get("to"): beat for beat in story.get("beats") or () if beat.get("kind") == "advance"}
    preferred = [place[number] for number in story.get("preferredPath") or () if number in place]
    turns = [_turn(node, answers.get(node.get("node")), place) for node in nodes]
    if turns and isinstance(story.get("context"), dict):
        turns[0]["context"] = story["context"]
    _number_branches(turns, set(preferred))
    return {
        "name": name,
        "path": path,
        "kind": "session",
        "workflow": story.get("workflowId"),
        "hash": story.get("workflowHash"),
        "mode": (story.get("preferences") or {}).get("autonomy"),
        "status": story.get("status"),
        "goal": story.get("goal"),
        "blocked": sum(1 for turn in turns if turn["blockers"]),
        "gaps": [{"reason": gap.get("reason"), "summary": gap.get("summary")} for gap in story.get("gaps") or ()],
        "turns": turns,
        "tip": preferred[-1] if preferred else max(len(turns) - 1, 0),
    }


def _turn(node: Data, answer: Data | None, place: dict[Any, int]) -> Data:
    asked: Data = node.get("asked") or {}
    parent = place.get(node.get("parent"))
    loops = node.get("loops") or []
    turn: Data = {
        "tool": "start_workflow" if parent is None else "continue_workflow",
        "answered": None if answer is None else answer.get("step"),
        "notes": None if answer is None else answer.get("notes"),
        "artifacts": (None if answer is None else answer.get("artifacts")) or None,
        "context": None if answer is None else answer.get("context"),
        "step": node.get("step"),
        "title": asked.get("title"),
        "prompt": [["authored", None, asked["prompt"]]] if isinstance(asked.get("prompt"), str) else None,
        "kind": "complete" if node.get("complete") else _KINDS.get(str(node.get("kind")), "step"),
        "parent": parent,
        "round": loops[-1]["iteration"] + 1 if loops and isinstance(loops[-1].get("iteration"), int) else None,
        "gaps": (None if answer is None else answer.get("gaps")) or None,
    }
    kept = {name: value for name, value in turn.items() if value is not None or name == "step"}
    return {**kept, "blockers": node.get("blockers") or []}


def _number_branches(turns: list[Data], preferred: set[int]) -> None:
    """The preferred path is branch 0; what left it, and what left that, is numbered in the order of the log."""
    count = 0
    continued: set[int] = set()
    for number, turn in enumerate(turns):
        parent = turn.get("parent")
        if number in preferred or parent is None:
            turn["branch"] = 0
        elif turns[parent]["branch"] and parent not in continued:
            turn["branch"] = turns[parent]["branch"]
            continued.add(parent)
        else:
            count += 1
            turn["branch"] = count
