"""Transcripts that no engine ever saw, for tests that care about the file and not about the run."""

from __future__ import annotations

from typing import Any

from pytest_workrail.agents.agent import Exchange, Transcript

HASH = "sha256:" + "0" * 64
EMPTY_IR: dict[str, Any] = {"format": "workrail.ir/1", "steps": [], "contracts": [], "assessments": []}


def made_up(*prompts: str, status: str = "complete", **final: Any) -> Transcript:
    """A run through one step per prompt that no engine ever saw."""
    token = "ct_{:08d}AAAAAAAAAAAAAAAA".format
    exchanges = []
    for number, prompt in enumerate(prompts):
        request = {"continueToken": token(number)} if number else {"workflowId": "made-up", "goal": "demo"}
        pending = {"stepId": f"step-{number}", "title": "Step", "prompt": prompt}
        response = {"kind": "ok", "continueToken": token(number + 1), "isComplete": False, "pending": pending}
        tool = "continue_workflow" if number else "start_workflow"
        exchanges.append(Exchange(tool, dict(request), response, False))
    return Transcript(
        "made-up", HASH, "reference", "guided", EMPTY_IR, tuple(exchanges), (), {"status": status, **final}
    )
