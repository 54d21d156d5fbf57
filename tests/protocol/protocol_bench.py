"""An engine in memory, driven by symbols: tokens and ids are called CT1, CK1, ST1, NODE1 by first appearance."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pytest_workrail.engine.model.events import EdgeCreated, Event, GapRecorded, NodeCreated
from pytest_workrail.engine.model.ids import RunId, SessionId
from pytest_workrail.engine.model.snapshot import ExecutionSnapshot
from pytest_workrail.engine.model.words import Preferences
from pytest_workrail.engine.protocol.engine import Answer, Engine, Options
from pytest_workrail.engine.protocol.errors import ToolError
from pytest_workrail.engine.protocol.library import MemoryLibrary
from pytest_workrail.engine.protocol.ports import Workspace
from pytest_workrail.engine.protocol.responses import Reply
from pytest_workrail.engine.store.gate import Home
from pytest_workrail.engine.store.memory import FixedClock, SeededEntropy, in_memory
from workrail_lint import compile_workflow

WORKSPACE = "/work/space"
GUIDED = {"autonomy": "guided", "riskPolicy": "conservative"}
NEVER_STOP = {"autonomy": "full_auto_never_stop", "riskPolicy": "conservative"}
_SYMBOLS = (
    ("CT", re.compile(r"ct_[A-Za-z0-9_-]{24}")),
    ("CK", re.compile(r"ck_[A-Za-z0-9_-]{24}")),
    ("ST", re.compile(r"st_[A-Za-z0-9_-]{24}")),
    ("NODE", re.compile(r"node_[a-z2-7]{26}")),
)


def workflow(workflow_id: str, *steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A workflow as an author writes it."""
    return {
        "id": workflow_id,
        "name": workflow_id,
        "description": "d",
        "version": "1.0.0",
        "steps": list(steps),
        **members,
    }


def step(step_id: str, title: str, prompt: str, **members: Any) -> dict[str, Any]:
    """A step as an author writes it."""
    return {"id": step_id, "title": title, "prompt": prompt, **members}


def quiet(step_id: str, **members: Any) -> dict[str, Any]:
    """A step that asks for nothing."""
    return step(step_id, step_id.capitalize(), f"Do {step_id}.", notesOptional=True, **members)


@cache
def _compiled(text: str) -> str:
    result = compile_workflow(text)
    assert result.is_ok, result
    return json.dumps(result.value.ir)


def compiled(authored: dict[str, Any]) -> dict[str, Any]:
    """The IR of a workflow."""
    ir: dict[str, Any] = json.loads(_compiled(json.dumps(authored)))
    return ir


def next_call(symbol: str) -> dict[str, Any]:
    """The call that a response proposes."""
    return {"tool": "continue_workflow", "params": {"continueToken": symbol}}


class Bench:
    """One engine, its workflows, and the symbols of everything it handed out."""

    def __init__(
        self,
        *authored: dict[str, Any],
        profile: Any = "reference",
        home: Home | None = None,
        workspace: Workspace | None = None,
        options: Options | None = None,
        seed: str = "bench",
    ) -> None:
        self.library = MemoryLibrary()
        for each in authored:
            self.library.put_ir(each if "format" in each else compiled(each))
        self.home = home or in_memory(FixedClock(step_ms=1), SeededEntropy(seed))
        self.engine = Engine(self.home, self.library, options or Options(profile=profile), workspace)
        self._default = authored[0].get("workflowId", authored[0].get("id")) if authored else None
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self.reply: Reply | None = None

    def start(self, workflow_id: str | None = None, **members: Any) -> dict[str, Any]:
        """Start a workflow, by default the first."""
        request = {"workflowId": workflow_id or self._default, "workspacePath": WORKSPACE, "goal": "demo", **members}
        return self.shown(self.engine.start_workflow(request))

    def go(self, token: str, **members: Any) -> dict[str, Any]:
        """Continue with a token, given as its symbol or as it is."""
        return self.shown(self.engine.continue_workflow({"continueToken": self.actual(token), **members}))

    def advance(self, token: str, **members: Any) -> dict[str, Any]:
        """Submit a step that may need no output."""
        return self.go(token, intent="advance", **members)

    def look(self, token: str) -> dict[str, Any]:
        """Rehydrate."""
        return self.go(token, intent="rehydrate", workspacePath=WORKSPACE)

    def checkpoint(self, token: str) -> dict[str, Any]:
        """Set a checkpoint."""
        return self.shown(self.engine.checkpoint_workflow({"checkpointToken": self.actual(token)}))

    def prefer(self, token: str, autonomy: Any = "guided", risk_policy: Any = "conservative") -> None:
        """A person sets preferences at the node of a token."""
        place = self.engine.place_of(self.actual(token)).value
        assert self.engine.prefer(place, Preferences(autonomy, risk_policy)).is_ok

    def shown(self, answer: Answer) -> dict[str, Any]:
        """An answer with symbols for ids and tokens, and names for the wording that is our own."""
        if not answer.is_ok:
            error: ToolError = answer.error
            shown = error.to_json()
            assert shown["details"]["suggestion"]  # type: ignore[index, call-overload]
            shown["details"]["suggestion"] = "⟪SUGGESTION⟫"  # type: ignore[index, call-overload]
            return self._symbolic(shown)
        self.reply = answer.value
        data: Any = self.reply.to_json()
        progress = getattr(self.reply.response, "progress", None)
        if progress is not None and progress.pending is not None and "pending" in data:
            data["pending"]["prompt"] = progress.pending.golden_prompt
        for blocker in data.get("blockers", {}).get("blockers", ()):
            assert blocker["suggestedFix"]
            blocker["suggestedFix"] = "⟪FIX⟫"
        return self._symbolic(data)

    def _symbolic(self, value: Any) -> Any:
        text = json.dumps(value, ensure_ascii=False)
        for kind, pattern in _SYMBOLS:
            text = pattern.sub(lambda match, kind=kind: self._name(kind, match[0]), text)
        return json.loads(text)

    def _name(self, kind: str, actual: str) -> str:
        if actual not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[actual] = f"«{kind}{self._counts[kind]}»"
        return self._names[actual]

    def actual(self, name: str) -> str:
        """What a symbol stands for; anything else stands for itself."""
        return next((actual for actual, symbol in self._names.items() if symbol == f"«{name}»"), name)

    @property
    def session_id(self) -> SessionId:
        """The only session."""
        (entry,) = self.home.stores.sessions.list_sessions().value
        return entry.session_id

    @property
    def run_id(self) -> RunId:
        """The only run."""
        (run_id,) = self.engine.session(self.session_id).value.runs
        return run_id

    @property
    def events(self) -> tuple[Event, ...]:
        """The log of the only session."""
        return self.home.stores.sessions.load(self.session_id).value.events

    def log(self, first: int = 0) -> str:
        """The log as `index:kind`, nodes and edges with what tells them apart."""
        return " ".join(f"{event.event_index}:{_label(event)}" for event in self.events[first:])

    def gaps(self) -> list[dict[str, Any]]:
        """The gaps on record, as data."""
        return [event.data.to_wire() for event in self.events if isinstance(event, GapRecorded)]

    def snapshots(self) -> list[ExecutionSnapshot]:
        """The states of the nodes in order of creation."""
        refs = [event.data.snapshot_ref for event in self.events if isinstance(event, NodeCreated)]
        return [self.home.stores.snapshots.get(ref).value for ref in refs]  # type: ignore[misc]

    def status(self) -> str:
        """The status of the only run."""
        return self.engine.status(self.session_id, self.run_id).value


def _label(event: Event) -> str:
    if isinstance(event, NodeCreated):
        return f"node_created({event.data.node_kind})"
    if isinstance(event, EdgeCreated):
        return f"edge_created({event.data.cause.kind})"
    return event.kind


STARTED = "0:session_created 1:run_started 2:node_created(step) 3:preferences_changed 4:context_set"
