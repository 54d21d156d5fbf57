"""What responses look like in transcripts, so that a test says only what is particular about one."""

from __future__ import annotations

import json
from typing import Any

from protocol_bench import GUIDED, Bench, next_call

from pytest_workrail.engine.model.events import DecisionTraceAppended

NOTES_FULL, NOTES_BRIEF = "⟪NOTES_FULL⟫", "⟪NOTES_BRIEF⟫"
PERFORM = "perform_pending_then_continue"


def ordered(value: Any) -> str:
    """Members count in the order in which they stand."""
    return json.dumps(value, ensure_ascii=False)


def going_on(number: int, checkpoint: int, pending: dict[str, str], intent: str = PERFORM, **rest: Any) -> Any:
    """A response of kind ok with a pending step."""
    return {
        "kind": "ok",
        "continueToken": f"«CT{number}»",
        "checkpointToken": f"«CK{checkpoint}»",
        "isComplete": False,
        "pending": pending,
        "preferences": rest.pop("preferences", GUIDED),
        "nextIntent": intent,
        "nextCall": next_call(f"«CT{number}»"),
        **rest,
    }


def done(preferences: dict[str, str] = GUIDED) -> Any:
    """The response to the last advance."""
    return {
        "kind": "ok",
        "isComplete": True,
        "pending": None,
        "preferences": preferences,
        "nextIntent": "complete",
        "nextCall": None,
    }


def pending(step_id: str, title: str, prompt: str) -> dict[str, str]:
    return {"stepId": step_id, "title": title, "prompt": prompt}


def traces(bench: Bench) -> list[list[str]]:
    return [
        [f"{entry.kind}  {entry.summary}" for entry in event.data.entries]
        for event in bench.events
        if isinstance(event, DecisionTraceAppended)
    ]
