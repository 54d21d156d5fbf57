"""Documents that use every member of every shape, and mutations that break them in one place or more."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

CONDITION: dict[str, Any] = {
    "or": [
        {"and": [{"var": "size", "gt": 1, "gte": 1.5}, {"var": "size", "lt": 9, "lte": 8}]},
        {"not": {"var": "stage", "in": ["draft", 2, None, {"deep": [True]}]}},
        {"var": "mode", "equals": {"any": ["json", 0]}, "not_equals": None, "contains": "fast"},
        {},
    ]
}
FUNCTION: dict[str, Any] = {
    "name": "summarise_it",
    "definition": "Write the gist in five lines.",
    "scope": "step",
    "parameters": [
        {
            "name": "tone",
            "type": "string",
            "required": True,
            "description": "How it should sound.",
            "enum": ["dry", 1, 2.5, False],
            "default": ["anything"],
        }
    ],
}
RULE: dict[str, Any] = {
    "type": "regex",
    "message": "",
    "value": "v",
    "pattern": "^a",
    "flags": "i",
    "min": 1,
    "max": 2.5,
    "schema": {"type": "object"},
    "condition": {
        "var": "mode",
        "equals": 1,
        "not_equals": [],
        "gt": 1,
        "gte": 1,
        "lt": 1,
        "lte": 1,
        "and": [{"free": 1}],
        "or": [{}],
        "not": {"free": 1},
    },
}
STANDARD_STEP: dict[str, Any] = {
    "id": "look-around",
    "title": "Look around",
    "prompt": "Look around.",
    "promptBlocks": {
        "goal": [{"kind": "text", "text": ""}, {"kind": "ref", "refId": "wr.refs.x"}],
        "constraints": ["Short.", []],
        "procedure": ["Look."],
        "outputRequired": {"notes": "What you saw."},
        "verify": [[{"kind": "text", "text": "Sure?"}]],
    },
    "templateCall": {"templateId": "wr.templates.x", "args": {"depth": {"n": 1}}},
    "agentRole": "A patient observer",
    "modelTier": "mid",
    "guidance": ["", "Be calm."],
    "askForFiles": True,
    "hasValidation": False,
    "requireConfirmation": {"kind": "human_approval", "condition": {"var": "risky"}},
    "runCondition": CONDITION,
    "validationCriteria": {"and": [{"or": [RULE, {"not": RULE}]}, RULE]},
    "outputContract": {"contractRef": "wr.contracts.x", "required": False},
    "assessmentRefs": ["readiness"],
    "assessmentConsequences": [
        {
            "when": {"anyEqualsLevel": "low", "forAssessment": "readiness"},
            "effect": {"kind": "require_followup", "guidance": "Say more."},
        }
    ],
    "notesOptional": True,
    "functionDefinitions": [FUNCTION, FUNCTION],
    "functionCalls": [{"name": "summarise_it", "args": {"tone": "dry"}}],
    "functionReferences": ["summarise_it()"],
    "promptFragments": [{"id": "extra", "text": "One more thing.", "when": {"var": "more"}}],
    "audit": {"prompt": "Judge it.", "rubric": ["Is it short?"]},
    "verification": {"command": "true", "prompt": "Prove it."},
}
PARALLEL_STEP: dict[str, Any] = {
    "id": "fan-out",
    "type": "parallel",
    "title": "Fan out",
    "parallelDelegations": [
        {
            "workflowId": "demo.child",
            "goal": "One half.",
            "runCondition": {"var": "left"},
            "contextMapping": {"here": "there"},
            "args": {"side": "left"},
            "modelTier": "lightweight",
            "allowedTools": ["mcp:read-file"],
        },
        {"workflowId": "demo.child"},
    ],
    "requireConfirmation": True,
    "runCondition": {},
    "notesOptional": False,
    "synthesis": {"prompt": "Join them.", "outputContract": {"contractRef": "wr.contracts.x"}},
}
LOOP_STEP: dict[str, Any] = {
    "id": "dig-deeper",
    "type": "loop",
    "title": "Dig deeper",
    "loop": {
        "type": "while",
        "maxIterations": 2.5,
        "condition": {"var": "dig"},
        "conditionSource": {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control", "loopId": "x"},
        "count": 3,
        "items": "things",
        "iterationVar": "round",
        "itemVar": "thing",
        "indexVar": "place",
    },
    "body": [{"id": "dig-once", "title": "Dig once", "prompt": "Dig."}, {**PARALLEL_STEP, "id": "fan-in-loop"}],
    "functionDefinitions": [FUNCTION],
    "requireConfirmation": {"var": "sure"},
    "runCondition": {"var": "deep"},
    "notesOptional": True,
}
OTHER_LOOPS: list[dict[str, Any]] = [
    {
        "id": "by-context",
        "type": "loop",
        "title": "By context",
        "loop": {
            "type": "until",
            "maxIterations": 1,
            "conditionSource": {"kind": "context_variable", "condition": {"var": "done"}},
        },
        "body": "look-around",
    },
    {
        "id": "by-count",
        "type": "loop",
        "title": "By count",
        "loop": {"type": "for", "maxIterations": 1000, "count": "rounds"},
        "body": "look-around",
    },
    {
        "id": "by-items",
        "type": "loop",
        "title": "By items",
        "loop": {"type": "forEach", "maxIterations": 1, "items": "things"},
        "body": "look-around",
    },
]
WORKFLOW: dict[str, Any] = {
    "id": "demo.everything",
    "name": "Everything",
    "description": "Uses every member there is.",
    "version": "1.2.3-rc.1+build.5",
    "modelTier": "heavy",
    "preconditions": ["A repository."],
    "clarificationPrompts": ["Which one?"],
    "metaGuidance": ["Stay calm."],
    "functionDefinitions": [FUNCTION, {"name": "other", "definition": ""}],
    "recommendedPreferences": {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "balanced"},
    "features": ["wr.features.x"],
    "assessments": [
        {
            "id": "readiness",
            "purpose": "How ready it is.",
            "dimensions": [{"id": "tests", "purpose": "Tested?", "levels": ["low", "high"], "required": False}],
        }
    ],
    "extensionPoints": [
        {"slotId": "final_check", "purpose": "Checks.", "default": "routine-check", "acceptedKinds": ["routine"]}
    ],
    "references": [
        {
            "id": "style-guide",
            "title": "Style",
            "source": "docs/style.md",
            "purpose": "How to write.",
            "authoritative": True,
            "resolveFrom": "package",
        }
    ],
    "validatedAgainstSpecVersion": 3,
    "about": "Long story.",
    "examples": ["Go through everything once"],
    "metricsProfile": "none",
    "steps": [
        STANDARD_STEP,
        {"id": "plain-list", "title": "Plain", "prompt": "Go.", "validationCriteria": [RULE]},
        LOOP_STEP,
        *OTHER_LOOPS,
        PARALLEL_STEP,
    ],
}

BARE_RULE: dict[str, Any] = {"type": "contains", "value": "done"}
DESIGN_WORKFLOW: dict[str, Any] = {
    **{name: value for name, value in WORKFLOW.items() if name != "version"},
    "agentRole": "A careful engineer",
    "capabilities": {"delegation": "preferred", "web_browsing": "disabled"},
    "features": ["wr.features.x", {"id": "wr.features.capabilities", "config": {"probeVisibility": "collapsed"}}],
    "conditions": [
        {"id": "go_on", "kind": "loop_control", "continueWhen": "continue"},
        {"id": "ever", "kind": "always_true"},
        {"id": "never", "kind": "always_false"},
    ],
    "extensionPoints": {
        "final_check": {
            "purpose": "Checks.",
            "defaultBinding": "routine-check",
            "acceptedKinds": ["routine", "workflow"],
            "inputContract": {"context": ["goal"]},
            "outputContract": {"artifacts": ["report"]},
        }
    },
    "kind": "routine",
    "extensionContract": {"accepts": ["goal"]},
    "steps": [
        {**STANDARD_STEP, "id": "a_b", "output": {"contractRef": "wr.contracts.x", "hints": {"notes": "Short."}}},
        {"id": "b", "title": "Bare", "prompt": "Go.", "validationCriteria": BARE_RULE},
        {"id": "list", "title": "List", "prompt": "Go.", "validationCriteria": [BARE_RULE]},
        {
            "id": "deep",
            "title": "Deep",
            "prompt": "Go.",
            "validationCriteria": {"and": [{"or": [BARE_RULE]}, {"not": BARE_RULE}]},
        },
        {"type": "template_call", "templateId": "wr.templates.x", "args": {}, "id": "call", "title": "Call"},
        {
            "type": "loop",
            "loopId": "dig_in",
            "title": "Dig in",
            "while": {"kind": "condition_ref", "conditionId": "go_on"},
            "maxIterations": 5,
            "body": {"type": "template_call", "templateId": "wr.templates.x"},
            "functionDefinitions": [],
            "requireConfirmation": False,
            "runCondition": {},
            "notesOptional": True,
        },
        {**LOOP_STEP, "id": "dig_deeper"},
        *OTHER_LOOPS,
        PARALLEL_STEP,
    ],
}
BINDINGS: dict[str, Any] = {"final_check": "routine-mine", "demo.everything": {"final_check": "routine-yours"}}


def unshared(document: Any) -> Any:
    """A copy in which no part appears twice, so that a change shows in one place only."""
    return json.loads(json.dumps(document))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 1001),
    st.floats(-2, 1001, allow_nan=False, width=32),
    st.sampled_from(["", "x", "ab", "a-b", "a_b", "A", "a.b", "1.0.0", "loop", "parallel", "while", "text", "é" * 65]),
    st.sampled_from([[], {}, [1], ["x", "x"], [{}], [[], []], {"kind": "ref"}, {"and": []}, {"type": "loop"}]).map(
        unshared
    ),
)
_NAMES = st.sampled_from(
    ["id", "type", "kind", "and", "or", "not", "prompt", "extra", "loop", "loopId", "while", "version", "message"]
)


@st.composite
def mutated(draw: st.DrawFn, document: dict[str, Any]) -> Any:
    """The document after up to three changes anywhere in it; sometimes it stays valid."""
    result = unshared(document)
    for _ in range(draw(st.integers(0, 3))):
        places = _places(result)
        if not places:
            break
        container, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["remove", "replace", "add", "repeat", "transplant"])):
            case "remove":
                del container[key]
            case "replace":
                container[key] = draw(JUNK)
            case "add" if isinstance(container, dict):
                container[draw(_NAMES)] = draw(JUNK)
            case "repeat" if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case _:
                other, place = draw(st.sampled_from(places))
                container[key] = copy.deepcopy(other[place])
    return result


def _places(document: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Every member and element, as its container and key."""
    places = []
    stack: list[Any] = [document]
    while stack:
        container = stack.pop()
        for key, item in container.items() if isinstance(container, dict) else enumerate(container):
            places.append((container, key))
            if isinstance(item, dict | list) and item:
                stack.append(item)
    return places
