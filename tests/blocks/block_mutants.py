"""Documents with a few things wrong anywhere in them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from tools.models.blocks import examples

CONTROL: dict[str, Any] = {
    "inputs": [{"name": "in", "dataType": "text", "type": "input", "required": True}],
    "outputs": [],
    "position": {"x": 1.5, "y": -2},
    "kind": "control",
    "type": "orchestrator",
    "label": "Control",
}
WORKFLOW: dict[str, Any] = copy.deepcopy(examples.WORKFLOW)
WORKFLOW["metadata"] |= {"description": "All of it.", "status": "active", "lastUsedAt": "2026-03-01T10:00:00+01:00"}
WORKFLOW["nodes"] += [
    {
        **CONTROL,
        "id": "choose",
        "config": {
            "blockType": "condition",
            "conditionConfig": {"expression": "n > 1", "trueBranchNodeId": "loop", "falseBranchNodeId": "sub"},
        },
    },
    {
        **CONTROL,
        "id": "loop",
        "config": {
            "blockType": "forEach",
            "forEachConfig": {
                "collectionVariable": "items",
                "itemVariable": "item",
                "bodyNodeIds": ["body"],
                "maxIterations": 3,
            },
        },
    },
    {
        **CONTROL,
        "id": "sub",
        "config": {"blockType": "subWorkflow", "subWorkflowConfig": {"workflowId": "w", "inputMappings": {}}},
    },
    {
        **CONTROL,
        "id": "body",
        "kind": "agent",
        "type": "coding",
        "description": "Do it.",
        "config": {
            "maxTurns": 3,
            "maxRetries": 1,
            "retryableExitCodes": [75],
            "backend": "claude",
            "gateMode": "auto_continue",
            "allowedTools": ["read"],
            "blockType": "dev",
        },
    },
]
WORKFLOW["transitions"] += [
    {
        "id": "t",
        "sourceNodeId": "choose",
        "targetNodeId": "sub",
        "condition": {"type": "expression", "expression": "item == 'x'"},
        "label": "else",
    }
]
WORKFLOW["gates"] = [
    {
        "id": "ask",
        "nodeId": "choose",
        "gateType": "approval",
        "prompt": "Go on?",
        "options": [{"label": "Yes", "value": "yes", "isDefault": True}],
        "required": True,
        "timeoutSeconds": 60,
    }
]
WORKFLOW["variables"] = [{"name": "n", "type": "number", "required": False, "defaultValue": 2}]
WORKFLOW["parallelGroups"][0]["dormancyTimeoutMs"] = 1000
WORKFLOW["defaultScrutinyLevel"] = "summary"
WORKFLOW["timeoutSeconds"] = 600

TEST_OUTPUT: dict[str, Any] = {
    **examples.OUTPUT,
    "deliverables": {"blockType": "test", "testResults": {"passed": 1, "failed": 0, "skipped": 0}, "summary": "Fine."},
}
TRACE: dict[str, Any] = {
    "plan": ["a", {"group": "g", "nodeIds": ["b", "c"], "mergeStrategy": "workspace"}],
    "steps": [
        {"node": "a", "stepIndex": 0, "env": examples.ENVIRONMENT, "output": examples.OUTPUT, "detected": ["a.py"]}
    ],
    "events": [
        {"n": 1, "type": "folder_created"},
        {"n": 2, "type": "node_started", "nodeId": "a"},
        {"n": 3, "type": "node_retry", "nodeId": "a", "data": {"attempt": 1, "maxRetries": 1}},
        {"n": 4, "type": "node_completed", "nodeId": "a"},
        {"n": 5, "type": "block_gate_open", "nodeId": "a", "data": {"prompt": "?"}},
        {"n": 6, "type": "block_revision", "nodeId": "a", "data": {"revisionCount": 1}},
        {"n": 7, "type": "lane_started", "nodeId": "b", "data": {"groupId": "g", "lane": "b"}},
        {"n": 8, "type": "lane_settled", "nodeId": "b", "data": {"groupId": "g", "lane": "b"}},
        {"n": 9, "type": "fan_in", "data": {"groupId": "g", "completionOrder": ["b"]}},
        {"n": 10, "type": "lane:conflict-detected", "data": examples.FAN_IN["conflicts"][0]},
        {"n": 11, "type": "gate_decided", "data": {"choices": {"a.py": "b"}}},
    ],
    "fanIns": [{"group": "g", "completionOrder": ["b"], "applied": {"a.py": "b"}, "result": examples.FAN_IN}],
    "outputFolder": ["block-a.json"],
    "copies": [{"n": 9, "groupId": "g", "path": "a.py"}],
    "accesses": [{"n": 8, "lane": "b", "workspace": "main", "path": "a.py"}],
    "limits": {"a": 1},
    "cold": {"workspace": {"a.py": "1"}},
    "warm": {"workspace": {"a.py": "2"}},
    "permutations": [{"events": []}, {"fanIns": [{"completionOrder": ["b"]}]}],
}

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from([0.5, 1e300, "", " ", "a", "../x", "/workspace/src/a.py", "C:\\a", "\0", "plan", "code", "true"]),
    st.just([]),
    st.just({}),
    st.just(["a", 1]),
    st.just({"type": "expression"}),
)
_NAMES = st.sampled_from(["id", "type", "kind", "blockType", "status", "extra", "appliedFrom", "expression", "a/b~c"])


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every member and element, as its container and key."""
    found = []
    stack: list[Any] = [document]
    while stack:
        container = stack.pop()
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            found.append((container, key))
            if isinstance(item, dict | list) and item:
                stack.append(item)
    return found


@st.composite
def mutated(draw: st.DrawFn, document: dict[str, Any]) -> Any:
    """The document after up to four changes anywhere in it; sometimes it stays valid."""
    result = copy.deepcopy(document)
    for _ in range(draw(st.integers(0, 4))):
        known = places(result)
        if not known:
            break
        container, key = draw(st.sampled_from(known))
        match draw(st.sampled_from(["remove", "replace", "add", "repeat", "transplant"])):
            case "remove":
                del container[key]
            case "replace":
                container[key] = copy.deepcopy(draw(JUNK))
            case "add" if isinstance(container, dict):
                container[draw(_NAMES)] = copy.deepcopy(draw(JUNK))
            case "repeat" if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case _:
                other, place = draw(st.sampled_from(known))
                container[key] = copy.deepcopy(other[place])
    return result
