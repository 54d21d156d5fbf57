"""What each policy lets through, what it refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.findings import Phase, Severity
from workrail_lint.systems.workrail.compat import Policy, normalize

DESIGN: dict[str, Any] = {
    "id": "demo.policies",
    "name": "N",
    "description": "D",
    "kind": "workflow",
    "agentRole": "Careful senior engineer",
    "capabilities": {"delegation": "required", "terminal": "required"},
    "conditions": [{"id": "on", "kind": "always_true"}, {"id": "odd", "kind": "sometimes"}],
    "extensionContract": {},
    "extensionPoints": {"aa": {"purpose": "P", "defaultBinding": "d", "inputContract": {}}},
    "features": [{"id": "wr.features.capabilities", "config": {"probeVisibility": "collapsed"}}],
    "steps": [
        {"type": "template_call", "templateId": "x.made"},
        {
            "type": "loop",
            "loopId": "go_on",
            "while": {"kind": "condition_ref", "conditionId": "nowhere"},
            "maxIterations": 2,
            "body": {
                "id": "in_ner",
                "title": "T",
                "prompt": "P",
                "output": {"contractRef": "c", "hints": []},
                "validationCriteria": {"type": "length"},
            },
        },
    ],
}


def test_reject_reports_every_construct_and_judges_none() -> None:
    result = normalize(DESIGN, "reject")
    assert result.document is DESIGN
    assert [(error.code, error.pointer) for error in result.errors] == [
        ("compat-version-missing", ""),
        ("compat-agent-role", "/agentRole"),
        ("compat-capabilities", "/capabilities"),
        ("compat-conditions", "/conditions"),
        ("compat-extension-contract", "/extensionContract"),
        ("compat-extension-map", "/extensionPoints"),
        ("compat-feature-config", "/features/0"),
        ("compat-extension-contract", "/kind"),
        ("compat-template-call", "/steps/0"),
        ("compat-loop-id", "/steps/1"),
        ("compat-body-object", "/steps/1/body"),
        ("compat-id-underscore", "/steps/1/body/id"),
        ("compat-output-contract", "/steps/1/body/output"),
        ("compat-output-hints", "/steps/1/body/output"),
        ("compat-bare-rule", "/steps/1/body/validationCriteria"),
        ("compat-rule-message", "/steps/1/body/validationCriteria"),
        ("compat-condition-ref", "/steps/1/while"),
    ]
    for error in result.errors:
        assert error.severity is Severity.ERROR
        assert error.phase is Phase.SCHEMA
        assert error.name == error.code
        assert "the engine rejects" in error.message
        assert "; " in error.message
        assert "\n" not in error.message


LOSSY: list[tuple[str, Any, str]] = [
    ("capabilities", {"web_browsing": "disabled"}, "compat-capabilities"),
    ("extensionPoints", {"aa": {"purpose": "P", "outputContract": {}}}, "compat-extension-map"),
    ("kind", "routine", "compat-extension-contract"),
    ("extensionContract", {}, "compat-extension-contract"),
    (
        "features",
        [{"id": "wr.features.capabilities", "config": {"probeVisibility": "expanded"}}],
        "compat-feature-config",
    ),
]


@pytest.mark.parametrize(("member", "value", "code"), LOSSY)
def test_lossless_refuses_what_would_lose_something(member: str, value: Any, code: str) -> None:
    document = {"version": "1.0.0", "steps": [], member: value}
    result = normalize(document, Policy.LOSSLESS)
    assert result.document is document
    assert [error.code for error in result.errors] == [code]
    assert "without loss" in result.errors[0].message
    assert result.is_refused(f"/{member}/0" if member == "features" else f"/{member}")
    assert result.side.capabilities == {}
    assert result.side.kind is None
    assert normalize(document).errors == []


def test_lossless_still_rewrites_what_loses_nothing() -> None:
    result = normalize({"agentRole": "Careful senior engineer", "steps": [{"id": "a_b"}]}, "normalize-lossless")
    assert result.errors == []
    assert result.document == {
        "steps": [{"id": "a-b", "agentRole": "Careful senior engineer"}],
        "version": "0.1.0",
    }


def test_an_unknown_policy_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="lenient"):
        normalize({"version": "1.0.0"}, "lenient")
