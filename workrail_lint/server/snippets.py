"""Whole parts of a workflow to start from. `${1:text}` is a place that the author fills in."""

from __future__ import annotations

from typing import Any

Snippets = dict[str, tuple[str, dict[str, Any]]]

_DECIDE = "Submit a wr.loop_control artifact: continue if another round would help, else stop."
_LOOP = {
    "id": "${1:refine}",
    "type": "loop",
    "title": "${2:Refine}",
    "loop": {
        "type": "while",
        "maxIterations": 5,
        "conditionSource": {
            "kind": "artifact_contract",
            "contractRef": "wr.contracts.loop_control",
            "loopId": "${1:refine}",
        },
    },
    "body": [
        {"id": "${1:refine}-work", "title": "${3:Work}", "prompt": "${4:What one round does.}"},
        {
            "id": "${1:refine}-decide",
            "title": "Decide",
            "prompt": _DECIDE,
            "outputContract": {"contractRef": "wr.contracts.loop_control"},
        },
    ],
}
_STEP = {"id": "${1:step-id}", "title": "${2:Title}", "prompt": "${3:What the agent does.}"}
STEPS: Snippets = {
    "step": ("a step", _STEP),
    "loop with a decision": ("repeats until the agent decides to stop", _LOOP),
    "gated step": ("a person confirms it", {**_STEP, "requireConfirmation": {"kind": "human_approval"}}),
    "conditional step": (
        "runs only if a variable has a value",
        {**_STEP, "runCondition": {"var": "${4:variable}", "equals": "${5:value}"}},
    ),
    "assessed step": (
        "sent back for another try when its assessment is low",
        {
            **_STEP,
            "assessmentRefs": ["${4:quality}"],
            "assessmentConsequences": [
                {
                    "when": {"anyEqualsLevel": "${5:low}"},
                    "effect": {"kind": "require_followup", "guidance": "${6:What to improve.}"},
                }
            ],
        },
    ),
    "step with a contract": (
        "submits an artifact that a machine can read",
        {**_STEP, "outputContract": {"contractRef": "${4:wr.contracts.review_verdict}"}},
    ),
}
ASSESSMENT: Snippets = {
    "assessment": (
        "what the agent judges about its own work",
        {
            "id": "${1:quality}",
            "purpose": "${2:How good the result is.}",
            "dimensions": [
                {"id": "${3:completeness}", "purpose": "${4:Whether all is covered.}", "levels": ["low", "high"]}
            ],
        },
    )
}
