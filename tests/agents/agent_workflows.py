"""Small workflows for agents to run, and the moments they find themselves in."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pytest_workrail.agents.agent import Action, Agent, StartView, StepView, Stop
from pytest_workrail.agents.correct import start_context
from pytest_workrail.run.bench import Setup
from pytest_workrail.run.driver import drive
from pytest_workrail.run.result import Run
from workrail_lint import compile_workflow
from workrail_lint.base.js import Json


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A workflow as an author writes it."""
    return {
        "id": "demo.bench",
        "name": "Bench",
        "description": "For tests.",
        "version": "1.0.0",
        "steps": list(steps),
        **members,
    }


def step(step_id: str, **members: Any) -> dict[str, Any]:
    """A step that wants notes."""
    return {"id": step_id, "title": step_id.capitalize(), "prompt": f"Do {step_id}.", **members}


def loop(loop_id: str, *body: dict[str, Any], **config: Any) -> dict[str, Any]:
    """A loop."""
    return {"id": loop_id, "type": "loop", "title": loop_id, "loop": config, "body": list(body)}


def by_artifact(loop_id: str, limit: int = 3) -> dict[str, Any]:
    """The settings of a loop that artifacts decide about."""
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": loop_id}
    return {"type": "while", "maxIterations": limit, "conditionSource": source}


def decide(step_id: str = "decide") -> dict[str, Any]:
    """The step that decides about a loop."""
    return step(step_id, outputContract={"contractRef": "wr.contracts.loop_control"})


@cache
def _compiled(text: str) -> str:
    result = compile_workflow(text)
    assert result.is_ok, result
    return json.dumps(result.value.ir)


def compiled(authored: dict[str, Any]) -> dict[str, Any]:
    """The IR of a workflow."""
    ir: dict[str, Any] = json.loads(_compiled(json.dumps(authored)))
    return ir


def play(authored: dict[str, Any], agent: Agent, **setup: Any) -> Run:
    """A run of a workflow."""
    return drive(Setup(compiled(authored), **setup), agent)


class _Watcher(Agent):
    """Keeps the first moment and leaves."""

    def __init__(self) -> None:
        self.view: StepView | None = None

    def begin(self, start: StartView) -> dict[str, Json]:
        return start_context(start)

    def act(self, view: StepView) -> Action:
        self.view = view
        return Stop("Seen enough.")


def first_moment(authored: dict[str, Any], **setup: Any) -> StepView:
    """What an agent sees at the first step of a workflow."""
    watcher = _Watcher()
    play(authored, watcher, **setup)
    assert watcher.view is not None
    return watcher.view
