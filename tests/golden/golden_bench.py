"""Real transcripts to make goldens of."""

from __future__ import annotations

import json
from typing import Any

from pytest_workrail.agents.agent import Exchange, Transcript
from pytest_workrail.engine.protocol.engine import Engine, Options
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from workrail_lint import compile_workflow

WORKSPACE = "/work/space"


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A workflow as an author writes it."""
    head = {"id": "golden-test", "name": "Golden test", "description": "d", "version": "1.0.0"}
    return {**head, "steps": list(steps), **members}


def step(step_id: str, prompt: str, **members: Any) -> dict[str, Any]:
    """A step as an author writes it."""
    return {"id": step_id, "title": step_id.capitalize(), "prompt": prompt, **members}


class Recorder:
    """An engine in memory that writes down every call."""

    def __init__(self, authored: dict[str, Any], profile: Any = "reference", seed: str = "seed") -> None:
        compiled = compile_workflow(json.dumps(authored))
        assert compiled.is_ok, compiled
        self.ir = compiled.value.ir
        self.profile = profile
        self._hash = compiled.value.hash
        library = MemoryLibrary()
        library.put_ir(self.ir)
        home = in_memory(FixedClock(step_ms=1), SeededEntropy(seed))
        self.engine = Engine(home, library, Options(profile=profile))
        self.exchanges: list[Exchange] = []

    def call(self, tool: str, **request: Any) -> dict[str, Any]:
        """Call a tool and remember it."""
        answer = getattr(self.engine, tool)(request)
        response = answer.value.to_json() if answer.is_ok else answer.error.to_json()
        self.exchanges.append(Exchange(tool, request, response, not answer.is_ok))
        return dict(response)

    def start(self, **members: Any) -> dict[str, Any]:
        return self.call(
            "start_workflow", workflowId=self.ir["workflowId"], workspacePath=WORKSPACE, goal="demo", **members
        )

    def go(self, answer: dict[str, Any], **members: Any) -> dict[str, Any]:
        """Continue from an answer."""
        return self.call("continue_workflow", continueToken=answer["nextCall"]["params"]["continueToken"], **members)

    def transcript(self, **final: Any) -> Transcript:
        exchanges = tuple(self.exchanges)
        return Transcript(
            self.ir["workflowId"], self._hash, self.profile, "guided", self.ir, exchanges, (), {"status": "x", **final}
        )
