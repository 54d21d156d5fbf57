"""One small, valid value of each kind: the examples of the contract packs, and a place to start from."""

from __future__ import annotations

from typing import Any

_NODE: dict[str, Any] = {"inputs": [], "outputs": []}
_ALWAYS = {"type": "always"}
_PLAN = "5d0c0f5e-0b52-4c3e-8a4e-1f6b7c2d9e01"
_FORM = "5d0c0f5e-0b52-4c3e-8a4e-1f6b7c2d9e02"
_API = "5d0c0f5e-0b52-4c3e-8a4e-1f6b7c2d9e03"
_GROUP = "5d0c0f5e-0b52-4c3e-8a4e-1f6b7c2d9e10"
_WORKFLOW = "5d0c0f5e-0b52-4c3e-8a4e-1f6b7c2d9e00"

WORKFLOW: dict[str, Any] = {
    "id": _WORKFLOW,
    "metadata": {
        "name": "Login page",
        "version": "1.0.0",
        "createdAt": "2026-03-01T09:00:00Z",
        "updatedAt": "2026-03-01T09:00:00Z",
        "tags": ["web"],
    },
    "nodes": [
        {
            "id": _PLAN,
            "type": "planner",
            "label": "Plan",
            "config": {"systemPrompt": "Plan the login page.", "outputChecklist": ["A task list"]},
            "position": {"x": 0, "y": 0},
            **_NODE,
        },
        {
            "id": _FORM,
            "type": "frontend",
            "label": "Form",
            "config": {"systemPrompt": "Build the form."},
            "position": {"x": 200, "y": -60},
            **_NODE,
        },
        {
            "id": _API,
            "type": "backend",
            "label": "API",
            "config": {"systemPrompt": "Build the session endpoint."},
            "position": {"x": 200, "y": 60},
            **_NODE,
        },
    ],
    "transitions": [
        {"id": f"{_PLAN[:-2]}21", "sourceNodeId": _PLAN, "targetNodeId": _FORM, "condition": _ALWAYS},
        {"id": f"{_PLAN[:-2]}22", "sourceNodeId": _PLAN, "targetNodeId": _API, "condition": _ALWAYS},
    ],
    "gates": [],
    "variables": [],
    "parallelGroups": [
        {"id": _GROUP, "label": "Build", "laneNodeIds": [_FORM, _API], "mergeStrategy": "workspace"},
    ],
    "rules": ["Keep the public API as it is."],
}

OUTPUT: dict[str, Any] = {
    "blockId": _FORM,
    "blockType": "dev",
    "status": "completed",
    "deliverables": {
        "blockType": "code",
        "filesChanged": ["src/login.ts", "src/routes.ts"],
        "diffSummary": "A form component and a route to it.",
    },
    "summary": "Added the login form and routed it. No existing page changed its address.",
    "filesModified": ["src/routes.ts"],
    "filesCreated": ["src/login.ts"],
    "timestamp": "2026-03-01T10:05:00Z",
}

_SECOND: dict[str, Any] = {
    "blockId": _API,
    "blockType": "dev",
    "status": "completed",
    "deliverables": {"blockType": "code", "filesChanged": ["src/routes.ts", "src/session.ts"]},
    "summary": "Added the session endpoint.",
    "filesModified": ["src/routes.ts"],
    "filesCreated": ["src/session.ts"],
    "timestamp": "2026-03-01T10:07:30Z",
}

MOUNT: dict[str, Any] = {
    "source": "github",
    "githubUrl": "https://github.com/example/shop",
    "branch": "main",
    "cloneDepth": 1,
    "fileRestrictions": ["src/**"],
}

ENVIRONMENT: dict[str, Any] = {
    "WORKFLOW_ID": _WORKFLOW,
    "EXECUTION_ID": "run-1",
    "NODE_ID": _FORM,
    "STEP_INDEX": "1",
    "FILE_RESTRICTIONS": '["src/**"]',
    "TELEMETRY_ENABLED": "0",
    "TELEMETRY_URL": "http://localhost:9292/telemetry",
    "OUTPUT_DIR": "/workspace/.output",
    "PREVIOUS_BLOCK_ID": _PLAN,
}

PROMPT: dict[str, Any] = {
    "nodeId": _FORM,
    "text": "Rules:\n- Keep the public API as it is.\n\nBuild the form.\n\n"
    "Only modify files matching: src/**. Other files are read-only.",
}

FAN_IN: dict[str, Any] = {
    "mergeStrategy": "workspace",
    "blockOutputs": [OUTPUT, _SECOND],
    "conflicts": [
        {
            "conflictingFile": "src/routes.ts",
            "lanes": [_FORM, _API],
            "resolution": "first-complete-wins",
            "appliedFrom": _FORM,
        }
    ],
}

FOLDER: dict[str, Any] = {"outputs": [OUTPUT, _SECOND]}
