"""Sessions as stories, from what `workrail-test sessions show --json` prints: every node is a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Data = dict[str, Any]

_KINDS = {"blocked_attempt": "blocked", "gate_checkpoint": "gate", "checkpoint": "call"}


def session_runs(shown: Data, path: str) -> Iterator[Data]:
    """The runs of a session."""
    for number, story in enumerate(_objects(shown.get("runs"))):
        name = str(story.get("session") or "session")
        yield _session_run(story, name if number == 0 else f"{name} {number + 1}", path)


def _session_run(story: Data, name: str, path: str) -> Data:
    nodes = _objects(story.get("nodes"))
    place = {_number(node.get("node")): at for at, node in enumerate(nodes)}
    answers = {_number(beat.get("to")): beat for beat in _objects(story.get("beats")) if beat.get("kind") == "advance"}
    numbers = story.get("preferredPath")
    on_path = map(_number, numbers) if isinstance(numbers, list) else ()
    preferred = [place[number] for number in on_path if number in place]
    turns = [_turn(at, node, answers.get(_number(node.get("node")), {}), place) for at, node in enumerate(nodes)]
    if turns and isinstance(story.get("context"), dict):
        turns[0]["context"] = story["context"]
    _number_branches(turns, set(preferred))
    return {
        "name": name,
        "path": path,
        "kind": "session",
        "workflow": story.get("workflowId"),
        "hash": story.get("workflowHash"),
        "mode": _object(story.get("preferences")).get("autonomy"),
        "status": story.get("status"),
        "goal": story.get("goal"),
        "blocked": sum(1 for turn in turns if turn["blockers"]),
        "gaps": [{"reason": gap.get("reason"), "summary": gap.get("summary")} for gap in _objects(story.get("gaps"))],
        "turns": turns,
        "tip": preferred[-1] if preferred else max(len(turns) - 1, 0),
    }


def _turn(at: int, node: Data, answer: Data, place: dict[int | None, int]) -> Data:
    asked = _object(node.get("asked"))
    before = place.get(_number(node.get("parent")))
    parent = before if before is not None and before < at else None  # a story has no way back
    loops = _objects(node.get("loops"))
    iteration = _number(loops[-1].get("iteration")) if loops else None
    turn: Data = {
        "tool": "start_workflow" if parent is None else "continue_workflow",
        "answered": answer.get("step"),
        "notes": answer.get("notes"),
        "artifacts": answer.get("artifacts") or None,
        "context": _object(answer.get("context")) or None,
        "step": node.get("step"),
        "title": asked.get("title"),
        "prompt": [["authored", None, asked["prompt"]]] if isinstance(asked.get("prompt"), str) else None,
        "kind": "complete" if node.get("complete") else _KINDS.get(str(node.get("kind")), "step"),
        "parent": parent,
        "round": None if iteration is None else iteration + 1,
        "gaps": answer.get("gaps") or None,
    }
    kept = {name: value for name, value in turn.items() if value is not None or name == "step"}
    return {**kept, "blockers": _objects(node.get("blockers"))}


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


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _object(value: Any) -> Data:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Data]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
