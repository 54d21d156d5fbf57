"""The specification's worked normalization, to the letter and to the hash."""

from __future__ import annotations

from typing import Any

from workrail_lint.base.canonical import canonical_hash
from workrail_lint.systems.workrail.compat import normalize

LOOP_CONTROL = "wr.contracts.loop_control"
ROLE = "Careful senior engineer"
DESIGN: dict[str, Any] = {
    "id": "demo.compat",
    "name": "Compat",
    "description": "Normalized from the design form.",
    "agentRole": ROLE,
    "conditions": [{"id": "keep_going", "kind": "loop_control", "continueWhen": "continue"}],
    "steps": [
        {"id": "triage", "title": "Triage", "prompt": "Triage the report."},
        {
            "type": "loop",
            "loopId": "dig_in",
            "while": {"kind": "condition_ref", "conditionId": "keep_going"},
            "maxIterations": 5,
            "body": [
                {"id": "gather_evidence", "title": "Gather evidence", "prompt": "Gather evidence."},
                {
                    "id": "decide",
                    "title": "Decide",
                    "prompt": "Continue or stop?",
                    "output": {"contractRef": LOOP_CONTROL},
                },
            ],
        },
    ],
}
SOURCE = {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, "loopId": "dig-in"}
SHIPPING: dict[str, Any] = {
    "id": "demo.compat",
    "name": "Compat",
    "description": "Normalized from the design form.",
    "version": "0.1.0",
    "steps": [
        {"id": "triage", "title": "Triage", "prompt": "Triage the report.", "agentRole": ROLE},
        {
            "id": "dig-in",
            "type": "loop",
            "title": "Dig in",
            "loop": {"type": "while", "conditionSource": SOURCE, "maxIterations": 5},
            "body": [
                {
                    "id": "gather-evidence",
                    "title": "Gather evidence",
                    "prompt": "Gather evidence.",
                    "agentRole": ROLE,
                },
                {
                    "id": "decide",
                    "title": "Decide",
                    "prompt": "Continue or stop?",
                    "outputContract": {"contractRef": LOOP_CONTROL},
                    "agentRole": ROLE,
                },
            ],
        },
    ],
}


def test_the_document() -> None:
    result = normalize(DESIGN)
    assert result.errors == []
    assert result.document == SHIPPING


def test_members_come_in_the_order_people_write_them() -> None:
    document = normalize(DESIGN).document
    assert list(document) == list(SHIPPING)
    assert [list(step) for step in document["steps"]] == [list(step) for step in SHIPPING["steps"]]
    assert list(document["steps"][1]["loop"]) == list(SHIPPING["steps"][1]["loop"])


def test_the_hash_the_engine_would_pin() -> None:
    definition = normalize(DESIGN).document
    identity = {name: definition[name] for name in ("name", "description", "version")}
    snapshot = {
        "schemaVersion": 1,
        "sourceKind": "v1_pinned",
        "workflowId": definition["id"],
        **identity,
        "definition": definition,
    }
    assert canonical_hash(snapshot) == ("sha256:0c1835ec7295e7ccafe54743943352abcc4595123a243adb953888bcb0fe76f2")


def test_one_warning_for_each_rewrite() -> None:
    assert [(warning.code, warning.pointer) for warning in normalize(DESIGN).warnings] == [
        ("compat-version-missing", ""),
        ("compat-agent-role", "/agentRole"),
        ("compat-conditions", "/conditions"),
        ("compat-loop-id", "/steps/1"),
        ("compat-id-underscore", "/steps/1/body/0/id"),
        ("compat-output-contract", "/steps/1/body/1/output"),
        ("compat-condition-ref", "/steps/1/while"),
    ]


def test_the_side_model_keeps_what_the_document_lost() -> None:
    side = normalize(DESIGN).side
    assert side.agent_role == ROLE
    assert side.conditions == DESIGN["conditions"]


def test_each_step_knows_what_made_it() -> None:
    assert normalize(DESIGN).step_codes == {
        "/steps/0": ("compat-agent-role",),
        "/steps/1": ("compat-loop-id", "compat-condition-ref"),
        "/steps/1/body/0": ("compat-id-underscore", "compat-agent-role"),
        "/steps/1/body/1": ("compat-output-contract", "compat-agent-role"),
    }


def test_places_map_back() -> None:
    origin = normalize(DESIGN).pointer_map
    assert origin("/steps/1/id") == "/steps/1/loopId"
    assert origin("/steps/1/loop/maxIterations") == "/steps/1/maxIterations"
    assert origin("/steps/1/loop/conditionSource/contractRef") == "/steps/1/while"
    assert origin("/steps/1/body/1/outputContract/contractRef") == "/steps/1/body/1/output/contractRef"
    assert origin("/steps/1/body/0/agentRole") == "/agentRole"
    assert origin("/steps/1/body/0/prompt") == "/steps/1/body/0/prompt"
    assert origin("/version") == ""
