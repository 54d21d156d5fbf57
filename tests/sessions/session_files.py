"""Makes data folders as the public engine writes them: sessions played on our engine, pinned as that engine pins."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_workrail.engine.model.ids import ref_of
from pytest_workrail.engine.protocol.sessions import ported_ir
from pytest_workrail.engine.tokens.issuer import ContinueGrant, NodeAddress
from pytest_workrail.run.bench import Bench, Setup
from workrail_lint.base.canonical import canonical_bytes, digest
from workrail_lint.base.result import Err
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.compiler.engine_target import HashMode


def step(step_id: str, **members: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id.title(), "prompt": f"Do {step_id}.", **members}


def workflow(*steps: dict[str, Any], **members: Any) -> dict[str, Any]:
    head = {"id": "demo.plain", "name": "Plain", "description": "A sample.", "version": "1.0.0"}
    return {**head, **members, "steps": list(steps)}


def pin_of(definition: dict[str, Any], *, onboarding: bool = True) -> dict[str, Any]:
    """The workflow as the public engine pins it."""
    compiled = compile_workflow(definition)
    assert not isinstance(compiled, Err), compiled.error
    target = compiled.value.engine_target(HashMode.PINNED_ONBOARDING if onboarding else HashMode.PINNED)
    assert not isinstance(target, Err), target.error
    return target.value


@dataclass
class Played:
    """A session, ready to be written to a data folder."""

    session_id: str
    segments: list[list[dict[str, Any]]]
    snapshots: dict[str, dict[str, Any]]
    pin: dict[str, Any]
    tokens: list[str] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for segment in self.segments for event in segment]


class Session:
    """A session under way. Nodes are numbered from 1; without a number, the last one is meant."""

    def __init__(self, definition: dict[str, Any], *, onboarding: bool = True, seed: int = 0, **context: Any) -> None:
        self.pin = pin_of(definition, onboarding=onboarding)
        ported = ported_ir(self.pin)
        assert not isinstance(ported, Err), ported.error
        self._bench = Bench(Setup(ported.value, seed=seed))
        request = {"workflowId": self.pin["workflowId"], "workspacePath": "/workspace", "goal": "Ship it"}
        self.answer = self._bench.call("start_workflow", {**request, "initialContext": context}).response
        place = self._bench.engine.place_of(str(self.answer["continueToken"]))
        assert not isinstance(place, Err)
        self.place = place.value

    def _nodes(self) -> dict[Any, Any]:
        session = self._bench.engine.session(self.place.session_id)
        assert not isinstance(session, Err)
        return session.value.runs[self.place.run_id].nodes

    def address(self, node: int | None = None) -> NodeAddress:
        nodes = list(self._nodes())
        return NodeAddress(self.place.session_id, self.place.run_id, nodes[-1 if node is None else node - 1])

    def submit(self, notes: str | None = None, *, node: int | None = None, **members: Any) -> Session:
        place, home = self.address(node), self._bench.home
        ref = ref_of(self._nodes()[place.node_id].workflow_hash)
        token = home.issuer.continue_token(ContinueGrant(place, home.mint.attempt(), ref))
        assert not isinstance(token, Err)
        output = {"notesMarkdown": notes} if notes is not None else {}
        if "artifacts" in members:
            output["artifacts"] = members.pop("artifacts")
        request: dict[str, Any] = {"continueToken": token.value, "intent": "advance", **members}
        if output:
            request["output"] = output
        self.answer = self._bench.call("continue_workflow", request).response
        return self

    def played(self) -> Played:
        """Everything so far, with the pin of the public engine in place of our IR."""
        stores = self._bench.home.stores
        truth = stores.sessions.load(self.place.session_id)
        assert not isinstance(truth, Err)
        ours = truth.value.events[1].to_wire()["data"]["workflowHash"]  # type: ignore[index,call-overload]
        theirs = digest(canonical_bytes(self.pin))
        segments: list[list[dict[str, Any]]] = []
        for record in truth.value.manifest:
            if record.kind == "segment_closed":
                events = truth.value.events[record.first_event_index : record.last_event_index + 1]
                text = json.dumps([event.to_wire() for event in events]).replace(str(ours), theirs)
                segments.append(json.loads(text))
        snapshots: dict[str, Any] = {}
        for node in self._nodes().values():
            found = stores.snapshots.get(node.snapshot_ref)
            assert not isinstance(found, Err)
            assert found.value is not None
            snapshots[node.snapshot_ref] = found.value.to_wire()
        return Played(self.place.session_id, segments, snapshots, self.pin)


def write(root: Path, played: Played) -> Path:
    """Put a session into a data folder; its own folder is the answer."""
    (root / "snapshots").mkdir(parents=True, exist_ok=True)
    (root / "workflows" / "pinned").mkdir(parents=True, exist_ok=True)
    for ref, content in played.snapshots.items():
        (root / "snapshots" / f"{ref.replace(':', '_')}.json").write_bytes(canonical_bytes(content))
    raw = canonical_bytes(played.pin)
    (root / "workflows" / "pinned" / f"{digest(raw).replace(':', '_')}.json").write_bytes(raw)
    return write_log(root, played.session_id, played.segments)


def write_log(root: Path, session_id: str, segments: Iterable[list[dict[str, Any]]]) -> Path:
    """Segments and a manifest that attests them, whatever the events are."""
    folder = root / "sessions" / session_id
    (folder / "events").mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    first = 0

    def add(record: dict[str, Any]) -> None:
        records.append({"v": 1, "sessionId": session_id, "manifestIndex": len(records), **record})

    for events in segments:
        raw = b"".join(canonical_bytes(event) + b"\n" for event in events)
        last = first + len(events) - 1
        name = f"events/{first:08}-{last:08}.jsonl"
        (folder / name).write_bytes(raw)
        span = {"firstEventIndex": first, "lastEventIndex": last, "segmentRelPath": name}
        add({"kind": "segment_closed", **span, "sha256": digest(raw), "bytes": len(raw)})
        for event in events:
            if isinstance(event, dict) and event.get("kind") == "node_created" and "snapshotRef" in event["data"]:
                pin = {"eventIndex": event["eventIndex"], "createdByEventId": event["eventId"]}
                add({"kind": "snapshot_pinned", **pin, "snapshotRef": event["data"]["snapshotRef"]})
        first = last + 1
    lines = b"".join(canonical_bytes(record) + b"\n" for record in records)
    (folder / "manifest.jsonl").write_bytes(lines)
    return folder
