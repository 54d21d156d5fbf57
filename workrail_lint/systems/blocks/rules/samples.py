"""Small documents for the examples of rules, and ways to bend them."""

from __future__ import annotations

import json
from typing import Any

FOLDER = ".output"
RUN = ".run"


def _kept(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not ...}


def output(ident: str = "dev", kind: str = "dev", **members: Any) -> dict[str, Any]:
    """Return a completed output; a member set to `...` is left out."""
    by_kind: dict[str, dict[str, Any]] = {
        "plan": {"blockType": "plan", "taskList": ["T01: build the form"]},
        "dev": {"blockType": "code", "diffSummary": "Adds a form."},
        "devops": {"blockType": "code", "diffSummary": "Adds a form."},
    }
    deliverables = by_kind.get(kind, {"blockType": "generic", "summary": "All is well."})
    changed = ["src/a.py"] if kind in ("dev", "devops") else []
    return _kept(
        {
            "blockId": ident,
            "blockType": kind,
            "status": "completed",
            "deliverables": deliverables,
            "summary": "Adds a form.",
            "filesModified": changed,
            "filesCreated": [],
            "timestamp": "2026-03-01T10:00:00Z",
            **members,
        }
    )


def output_path(ident: str = "dev") -> str:
    return f"{FOLDER}/block-{ident}.json"


def uuid(number: int) -> str:
    return f"9b2f6a10-4c1d-4e7a-8f00-0000000000{number:02d}"


def node(
    ident: str, role: str = "planner", prompt: str | None = "Plan the login page.", **members: Any
) -> dict[str, Any]:
    """Return an agent node; other configuration goes into `config`."""
    config = {"systemPrompt": prompt} if prompt is not None else {}
    written = {
        "id": ident,
        "type": role,
        "label": ident.capitalize(),
        "config": {**config, **members.pop("config", {})},
        "inputs": [],
        "outputs": [],
        "position": {"x": 0, "y": 0},
        **members,
    }
    return _kept(written)


def control(ident: str, kind: str, **config: Any) -> dict[str, Any]:
    """Return a node that steers the run."""
    return node(ident, "orchestrator", None, kind="control", config={"blockType": kind, **config})


def edge(
    source: str, target: str, kind: str = "always", expression: Any = ..., ident: str | None = None
) -> dict[str, Any]:
    """Return a transition between two nodes."""
    return {
        "id": ident or f"{source}-{target}",
        "sourceNodeId": source,
        "targetNodeId": target,
        "condition": _kept({"type": kind, "expression": expression}),
    }


def group(*lanes: str, ident: str = "g", **members: Any) -> dict[str, Any]:
    return _kept({"id": ident, "label": "Lanes", "laneNodeIds": list(lanes), **members})


def workflow(*nodes: dict[str, Any], edges: list[dict[str, Any]] | None = None, **members: Any) -> dict[str, Any]:
    """Return a definition with the given nodes (a planner and a coder in a row when there are none)."""
    listed = list(nodes) or [node("plan"), node("dev", "coding", "Build the login page.")]
    document = {
        "id": "login",
        "metadata": {
            "name": "Login page",
            "version": "1.0.0",
            "createdAt": "2026-03-01T09:00:00Z",
            "updatedAt": "2026-03-01T09:00:00Z",
            "tags": [],
        },
        "nodes": listed,
        "transitions": edges if edges is not None else [edge("plan", "dev")] if not nodes else [],
        "gates": [],
        "variables": [],
        **members,
    }
    return _kept(document)


def lanes(*kinds: str, **members: Any) -> dict[str, Any]:
    """Return a definition that is one parallel group, its lanes named a, b, ... of the given node types."""
    names = [chr(ord("a") + at) for at in range(len(kinds))]
    nodes = [node(name, kind, f"Do part {name}.") for name, kind in zip(names, kinds, strict=True)]
    return workflow(*nodes, parallelGroups=[group(*names, **members)])


def environment(ident: str = "plan", step: str = "0", previous: str = "", **members: Any) -> dict[str, Any]:
    return _kept(
        {
            "WORKFLOW_ID": "login",
            "EXECUTION_ID": "run-1",
            "NODE_ID": ident,
            "STEP_INDEX": step,
            "FILE_RESTRICTIONS": "[]",
            "TELEMETRY_ENABLED": "1",
            "TELEMETRY_URL": "http://localhost:9292/telemetry",
            "OUTPUT_DIR": "/workspace/.output",
            "PREVIOUS_BLOCK_ID": previous,
            **members,
        }
    )


def env_path(ident: str = "plan") -> str:
    return f"{RUN}/env-{ident}.json"


def mount(**members: Any) -> dict[str, Any]:
    return _kept({"source": "local", "localPath": "repo", **members})


MOUNT_PATH = f"{RUN}/repo-mount.json"
WORKFLOW_PATH = "login.workflow.json"
FAN_IN_PATH = f"{RUN}/fan-in-g.json"
TRACE_PATH = f"{RUN}/trace.json"
GATE = {
    "id": "ask",
    "nodeId": "plan",
    "gateType": "approval",
    "prompt": "Start?",
    "options": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}],
    "required": True,
}


def conflict(path: str, *names: str, **members: Any) -> dict[str, Any]:
    return _kept(
        {
            "conflictingFile": path,
            "lanes": list(names),
            "resolution": "first-complete-wins",
            "appliedFrom": names[0],
            **members,
        }
    )


def lane(ident: str, minute: int, *changed: str, kind: str = "dev", **members: Any) -> dict[str, Any]:
    """Return the output of a lane that finished at a minute past ten."""
    written = output(ident, kind, filesModified=list(changed), timestamp=f"2026-03-01T10:{minute:02d}:00Z")
    return _kept({**written, **members})


def fan_in(*outputs: dict[str, Any], strategy: str = "workspace", conflicts: list[Any] | None = None) -> dict[str, Any]:
    return {"mergeStrategy": strategy, "blockOutputs": list(outputs), "conflicts": conflicts or []}


def text(value: Any) -> str:
    """Return a document as it is written to disk."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
