"""D7 to D9: capabilities, features and roles, each on the smallest document that shows it."""

from __future__ import annotations

from typing import Any

import pytest
from compat_documents import call, first_step, refused, step, workflow

from workrail_lint.findings import Phase
from workrail_lint.systems.workrail.compat import normalize

# -- D7, D8: capabilities and features -------------------------------------------------------------------

CAPABILITIES = "wr.features.capabilities"
SUBAGENTS = "wr.features.subagent_guidance"


@pytest.mark.parametrize(
    ("capabilities", "features", "expected"),
    [
        ({"web_browsing": "required"}, None, [CAPABILITIES]),
        ({"web_browsing": "preferred"}, ["x"], ["x", CAPABILITIES]),
        ({"delegation": "preferred"}, None, [CAPABILITIES, SUBAGENTS]),
        ({"delegation": "required"}, [SUBAGENTS], [SUBAGENTS, CAPABILITIES]),
        ({"delegation": "required"}, [CAPABILITIES], [CAPABILITIES, SUBAGENTS]),
        ({"delegation": "required"}, [{"id": CAPABILITIES}, SUBAGENTS], [CAPABILITIES, SUBAGENTS]),
        ({"delegation": "disabled", "web_browsing": "disabled"}, None, None),
        ({"delegation": "disabled", "web_browsing": "preferred"}, [], [CAPABILITIES]),
        ({}, ["x"], ["x"]),
    ],
)
def test_capabilities(capabilities: Any, features: Any, expected: Any) -> None:
    members = {} if features is None else {"features": features}
    result = normalize(workflow(step(), capabilities=capabilities, **members))
    assert result.errors == []
    assert result.document.get("features") == expected
    assert "capabilities" not in result.document
    assert result.side.capabilities == capabilities
    assert result.warnings[0].code == "compat-capabilities"
    assert result.warnings[0].lossy is bool(capabilities)


def test_a_feature_that_was_added_maps_back_to_the_capabilities() -> None:
    result = normalize(workflow(step(), capabilities={"delegation": "required"}, features=["x"]))
    assert result.pointer_map("/features/2") == "/capabilities"
    assert result.pointer_map("/features/0") == "/features/0"


@pytest.mark.parametrize(
    ("capabilities", "code", "place"),
    [
        ({"terminal": "required"}, "capability-unknown", "/capabilities/terminal"),
        ({"delegation": "always"}, "capability-unknown", "/capabilities/delegation"),
        ([], "compat-capabilities", "/capabilities"),
    ],
)
def test_capabilities_outside_the_closed_set(capabilities: Any, code: str, place: str) -> None:
    document = workflow(step(), capabilities=capabilities)
    result = refused(document, code, place)
    assert result.document is document
    assert result.is_refused("/capabilities")
    assert result.errors[0].phase is (Phase.LINT if code == "capability-unknown" else Phase.SCHEMA)


def test_capabilities_next_to_features_that_are_no_list() -> None:
    document = workflow(step(), capabilities={"delegation": "required"}, features="x")
    assert refused(document, "compat-capabilities", "/capabilities").document is document


@pytest.mark.parametrize(
    ("feature", "lossy"),
    [
        ({"id": CAPABILITIES, "config": {"probeVisibility": "collapsed", "recordObservationsAs": "event"}}, True),
        (
            {
                "id": "wr.features.output_contracts",
                "config": {"enforce": "block_in_blocking_modes_gap_in_never_stop"},
            },
            True,
        ),
        ({"id": "wr.features.mode_guidance", "config": {}}, False),
        ({"id": "wr.features.memory_context"}, False),
    ],
)
def test_a_feature_object(feature: dict[str, Any], lossy: bool) -> None:
    result = normalize(workflow(step(), features=["x", feature]))
    assert result.document["features"] == ["x", feature["id"]]
    assert [(w.code, w.pointer, w.lossy) for w in result.warnings] == [("compat-feature-config", "/features/1", lossy)]
    assert result.side.feature_configs == ({feature["id"]: feature["config"]} if "config" in feature else {})
    assert result.pointer_map("/features/1") == "/features/1/id"


@pytest.mark.parametrize(
    ("feature", "place"),
    [
        ({"id": "wr.features.memory_context", "config": {}}, "/config"),
        ({"id": CAPABILITIES, "config": []}, "/config"),
        ({"id": CAPABILITIES, "config": {"colour": "red"}}, "/config/colour"),
        ({"id": CAPABILITIES, "config": {"probeVisibility": "hidden"}}, "/config/probeVisibility"),
        ({"id": "wr.features.mode_guidance", "config": {"a": "b"}}, "/config/a"),
    ],
)
def test_a_configuration_that_is_not_allowed(feature: dict[str, Any], place: str) -> None:
    document = workflow(step(), features=[feature])
    result = refused(document, "feature-config-not-allowed", f"/features/0{place}")
    assert result.document is document
    assert result.errors[0].phase is Phase.LINT
    assert result.is_refused("/features/0")


@pytest.mark.parametrize("feature", [{}, {"id": 1}, {"config": {}}, {"id": CAPABILITIES, "note": 1}, None, 3])
def test_a_feature_that_is_no_feature_object_is_left_to_the_schema(feature: Any) -> None:
    document = workflow(step(), features=[feature])
    result = normalize(document)
    assert result.document is document
    assert result.errors == []


# -- D9: the role of the workflow ------------------------------------------------------------------------


def test_the_role_goes_to_every_standard_step_without_one() -> None:
    role = "Careful senior engineer"
    calling = {"id": "calls", "title": "T", "templateCall": {"templateId": "x"}}
    parallel = {"id": "par", "type": "parallel", "title": "T", "parallelDelegations": [{"workflowId": "w"}]}
    shipping = {"type": "for", "count": 1, "maxIterations": 1}
    looping = {"id": "loops", "type": "loop", "title": "T", "loop": shipping, "body": [step("inner")]}
    own = step("own", agentRole="A role of its own")
    result = normalize(workflow(step(), own, calling, parallel, looping, call("x.made"), agentRole=role))
    steps = result.document["steps"]
    assert steps[0] == step(agentRole=role)
    assert steps[1:4] == [own, calling, parallel]
    assert steps[4] == {**looping, "body": [step("inner", agentRole=role)]}
    assert "agentRole" not in steps[5]
    assert "agentRole" not in result.document
    assert result.side.agent_role == role
    assert result.step_codes == {
        "/steps/0": ("compat-agent-role",),
        "/steps/4/body/0": ("compat-agent-role",),
        "/steps/5": ("compat-template-call",),
    }


@pytest.mark.parametrize("role", ["x" * 10, "é" * 1024])
def test_a_role_within_its_bounds(role: str) -> None:
    assert first_step(normalize(workflow(step(), agentRole=role)))["agentRole"] == role


@pytest.mark.parametrize("role", ["x" * 9, "x" * 1025, 7, None])
def test_a_role_out_of_bounds(role: Any) -> None:
    document = workflow(step(), agentRole=role)
    assert refused(document, "compat-agent-role", "/agentRole").document is document
