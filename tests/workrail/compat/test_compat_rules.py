"""Each rule on the smallest document that shows it."""

from __future__ import annotations

from typing import Any

import pytest

from workrail_lint.findings import Phase, Severity
from workrail_lint.workrail.compat import Normalized, normalize, variables_alias


def workflow(*steps: Any, **members: Any) -> dict[str, Any]:
    return {"id": "demo.rules", "name": "N", "description": "D", "version": "1.0.0", **members, "steps": list(steps)}


def step(name: str = "one", **members: Any) -> dict[str, Any]:
    return {"id": name, "title": "T", "prompt": "P", **members}


def loop(**members: Any) -> dict[str, Any]:
    return {
        "type": "loop",
        "loopId": "go-on",
        "while": {"kind": "condition_ref", "conditionId": "more"},
        "maxIterations": 3,
        "body": [step("inner")],
        **members,
    }


def codes(result: Normalized) -> list[str]:
    return [warning.code for warning in result.warnings]


def errors(result: Normalized) -> list[tuple[str, str]]:
    return [(error.code, error.pointer) for error in result.errors]


def first_step(result: Normalized) -> Any:
    return result.document["steps"][0]


def refused(document: dict[str, Any], code: str, pointer: str) -> Normalized:
    """Normalize a document that has exactly one error, of which the place stays as written."""
    result = normalize(document)
    assert errors(result) == [(code, pointer)]
    assert result.errors[0].name == code
    assert result.errors[0].severity is Severity.ERROR
    assert result.is_refused(pointer)
    return result


# -- D1: template calls ---------------------------------------------------------------------------------


def call(template_id: Any = "wr.templates.routine.plan-generation", **members: Any) -> dict[str, Any]:
    return {"type": "template_call", "templateId": template_id, **members}


def test_a_template_call_step() -> None:
    result = normalize(workflow(call(args={"a": 1}, runCondition={"var": "x"})))
    assert first_step(result) == {
        "id": "plan-generation",
        "title": "Plan generation",
        "templateCall": {"templateId": "wr.templates.routine.plan-generation", "args": {"a": 1}},
        "runCondition": {"var": "x"},
    }
    assert codes(result) == ["compat-template-call"]
    assert result.pointer_map("/steps/0/templateCall/args/a") == "/steps/0/args/a"
    assert result.pointer_map("/steps/0/id") == "/steps/0/templateId"


def test_a_template_call_keeps_its_own_id_and_title() -> None:
    result = normalize(workflow(call(id="mine", title="Mine")))
    assert first_step(result) == {
        "id": "mine",
        "title": "Mine",
        "templateCall": {"templateId": "wr.templates.routine.plan-generation"},
    }


@pytest.mark.parametrize(
    ("template_id", "identifier", "title"),
    [
        ("wr.templates.capability_probe", "capability-probe", "Capability probe"),
        ("a.--X  y__Z--", "x-y-z", "X y z"),
        ("a.go", "tpl-go", "Tpl go"),
        ("a.", "tpl-", "Tpl "),
        ("plain", "plain", "Plain"),
        ("wr." + "ab" * 40, "ab" * 32, "Ab" + "ab" * 31),
    ],
)
def test_an_id_made_from_a_template_id(template_id: str, identifier: str, title: str) -> None:
    made = first_step(normalize(workflow(call(template_id))))
    assert (made["id"], made["title"]) == (identifier, title)


def test_made_ids_avoid_every_id_of_the_document() -> None:
    result = normalize(
        workflow(
            call("x.probe"),
            call("x.probe"),
            step("probe-2"),
            {"type": "loop", "body": [call("x.probe")]},
            step("probe"),
        )
    )
    steps = result.document["steps"]
    assert [steps[0]["id"], steps[1]["id"], steps[3]["body"][0]["id"]] == ["probe-3", "probe-4", "probe-5"]


def test_a_long_made_id_leaves_room_for_its_number() -> None:
    result = normalize(workflow(call("x." + "a" * 70), call("x." + "a" * 70)))
    assert [made["id"] for made in result.document["steps"]] == ["a" * 64, "a" * 62 + "-2"]


def test_a_template_call_without_a_usable_template_id_is_left_to_the_schema() -> None:
    assert first_step(normalize(workflow(call(7)))) == {"templateCall": {"templateId": 7}}
    assert first_step(normalize(workflow({"type": "template_call"}))) == {"templateCall": {}}


def test_the_type_next_to_a_template_call_member_is_not_the_design_form() -> None:
    document = workflow(step(type="template_call", templateCall={"templateId": "a"}))
    assert normalize(document).document is document


# -- D2, D3, D4: loops and named conditions -------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "config"),
    [
        (
            {"kind": "loop_control"},
            {
                "conditionSource": {
                    "kind": "artifact_contract",
                    "contractRef": "wr.contracts.loop_control",
                    "loopId": "go-on",
                }
            },
        ),
        ({"kind": "always_true"}, {"condition": {"and": []}}),
        ({"kind": "always_false"}, {"condition": {"or": []}}),
    ],
)
def test_a_named_condition(condition: dict[str, Any], config: dict[str, Any]) -> None:
    named = {"id": "more", **condition}
    result = normalize(workflow(loop(), conditions=[named]))
    assert first_step(result) == {
        "id": "go-on",
        "type": "loop",
        "title": "Go on",
        "loop": {"type": "while", **config, "maxIterations": 3},
        "body": [step("inner")],
    }
    assert "conditions" not in result.document
    assert codes(result) == ["compat-conditions", "compat-loop-id", "compat-condition-ref"]
    assert result.side.conditions == [named]


def test_a_loop_keeps_its_title_and_other_members() -> None:
    written = loop(title="Mine", runCondition={"var": "x"})
    made = first_step(normalize(workflow(written, conditions=[{"id": "more", "kind": "always_true"}])))
    assert made["title"] == "Mine"
    assert made["runCondition"] == {"var": "x"}


@pytest.mark.parametrize(("loop_id", "identifier"), [("a_b", "a-b"), ("go", "s-go"), ("Bad Id", "Bad Id")])
def test_a_loop_id_becomes_the_step_id(loop_id: str, identifier: str) -> None:
    written = loop(loopId=loop_id)
    result = normalize(workflow(written, conditions=[{"id": "more", "kind": "loop_control"}]))
    assert first_step(result)["id"] == identifier
    assert first_step(result)["loop"]["conditionSource"]["loopId"] == identifier
    assert "compat-id-underscore" not in codes(result)


def test_a_loop_with_an_id_may_still_refer_to_a_named_condition() -> None:
    written = loop(id="mine", title="Mine")
    del written["loopId"]
    result = normalize(workflow(written, conditions=[{"id": "more", "kind": "always_true"}]))
    assert first_step(result) == {
        "id": "mine",
        "type": "loop",
        "title": "Mine",
        "loop": {"type": "while", "condition": {"and": []}, "maxIterations": 3},
        "body": [step("inner")],
    }


def test_a_loop_id_that_repeats_the_id_is_dropped_and_another_one_is_an_error() -> None:
    shipping = {"type": "while", "maxIterations": 1, "condition": {}}
    agreeing = {"id": "a-b", "type": "loop", "title": "T", "loop": shipping, "loopId": "a_b", "body": "one"}
    result = normalize(workflow(agreeing))
    assert "loopId" not in first_step(result)
    assert codes(result) == ["compat-loop-id"]
    document = workflow({**agreeing, "loopId": "other"})
    assert refused(document, "compat-loop-id", "/steps/0/loopId").document is document


def test_a_loop_that_continues_on_stop_has_no_counterpart() -> None:
    document = workflow(loop(), conditions=[{"id": "more", "kind": "loop_control", "continueWhen": "stop"}])
    result = refused(document, "compat-continue-when-stop", "/steps/0/while")
    assert result.document["conditions"] == document["conditions"]
    assert first_step(result)["while"] == document["steps"][0]["while"]
    assert "swap" in result.errors[0].message


def test_a_condition_that_continues_on_stop_does_no_harm_while_nobody_uses_it() -> None:
    condition = {"id": "more", "kind": "loop_control", "continueWhen": "stop"}
    result = normalize(workflow(step(), conditions=[condition]))
    assert result.errors == []
    assert result.side.conditions == [condition]


def test_an_unknown_condition_id() -> None:
    document = workflow(loop(), conditions=[{"id": "less", "kind": "always_true"}])
    result = refused(document, "compat-condition-ref", "/steps/0/while/conditionId")
    assert "`more`" in result.errors[0].message
    assert first_step(result)["id"] == "go-on"
    # All that the schema still finds wrong with the loop is due to the condition, and says so by its place.
    assert result.is_refused(result.pointer_map("/steps/0/loop"))
    assert result.is_refused(result.pointer_map("/steps/0/while"))


@pytest.mark.parametrize(
    ("condition", "place"),
    [
        ({"id": "more", "kind": "sometimes"}, "/conditions/0/kind"),
        ({"id": "more"}, "/conditions/0"),
        ({"kind": "always_true"}, "/conditions/0"),
        ({"id": "", "kind": "always_true"}, "/conditions/0/id"),
        ({"id": "more", "kind": "always_true", "continueWhen": "stop"}, "/conditions/0/continueWhen"),
        ({"id": "more", "kind": "loop_control", "continueWhen": "maybe"}, "/conditions/0/continueWhen"),
        ({"id": "more", "kind": "loop_control", "note": "x"}, "/conditions/0/note"),
        ("more", "/conditions/0"),
    ],
)
def test_a_condition_outside_the_closed_set(condition: Any, place: str) -> None:
    document = workflow(step(), conditions=[condition])
    assert refused(document, "compat-conditions", place).document is document


def test_a_loop_that_names_a_broken_condition_is_not_reported_a_second_time() -> None:
    document = workflow(loop(), conditions=[{"id": "more", "kind": "sometimes"}])
    result = refused(document, "compat-conditions", "/conditions/0/kind")
    assert result.is_refused("/steps/0/while")


def test_conditions_that_are_no_list() -> None:
    refused(workflow(step(), conditions={}), "compat-conditions", "/conditions")


def test_two_conditions_with_one_id() -> None:
    condition = {"id": "more", "kind": "always_true"}
    refused(workflow(loop(), conditions=[condition, condition]), "compat-conditions", "/conditions/1/id")


@pytest.mark.parametrize("reference", [7, {"var": "x"}, {"kind": "condition_ref"}, {"kind": "other"}])
def test_a_while_that_is_no_reference(reference: Any) -> None:
    refused(workflow(loop(**{"while": reference})), "compat-condition-ref", "/steps/0/while")


def test_an_unused_condition_is_dropped_with_a_warning_of_its_own() -> None:
    result = normalize(workflow(step(), conditions=[{"id": "more", "kind": "always_true"}]))
    assert [(w.code, w.pointer, w.action.value) for w in result.warnings] == [
        ("compat-conditions", "/conditions", "drop"),
        ("compat-condition-unused", "/conditions/0", "drop"),
    ]


def test_a_loop_without_a_while_only_gets_its_id() -> None:
    written = loop()
    del written["while"]
    assert first_step(normalize(workflow(written))) == {
        "id": "go-on",
        "type": "loop",
        "title": "Go on",
        "maxIterations": 3,
        "body": [step("inner")],
    }


# -- D5, D6: output ------------------------------------------------------------------------------------


def test_an_output_contract() -> None:
    result = normalize(workflow(step(output={"contractRef": "c"})))
    assert first_step(result) == step(outputContract={"contractRef": "c"})
    assert codes(result) == ["compat-output-contract"]


def test_an_output_contract_next_to_the_same_one() -> None:
    result = normalize(
        workflow(step(output={"contractRef": "c"}, outputContract={"contractRef": "c", "required": False}))
    )
    assert first_step(result) == step(outputContract={"contractRef": "c", "required": False})


@pytest.mark.parametrize("contract", [{"contractRef": "d"}, {}, "c", None])
def test_an_output_contract_next_to_another_one(contract: Any) -> None:
    document = workflow(step(output={"contractRef": "c"}, outputContract=contract))
    assert refused(document, "compat-output-contract", "/steps/0/output").document is document


def test_hints_become_guidance_in_the_order_of_javascript() -> None:
    hints = {"b": "x", "10": True, "2": 1.5, "a": None}
    result = normalize(workflow(step(guidance=["g"], output={"hints": hints})))
    assert first_step(result) == step(guidance=["g", "2: 1.5", "10: true", "b: x", "a: null"])
    assert codes(result) == ["compat-output-hints"]
    assert result.pointer_map("/steps/0/guidance/1") == "/steps/0/output/hints/2"
    assert result.pointer_map("/steps/0/guidance/0") == "/steps/0/guidance/0"


def test_hints_and_contract_together() -> None:
    result = normalize(workflow(step(output={"hints": {"k": "v"}, "contractRef": "c"})))
    assert first_step(result) == step(guidance=["k: v"], outputContract={"contractRef": "c"})
    assert codes(result) == ["compat-output-contract", "compat-output-hints"]


def test_members_of_output_that_nobody_knows_stay_for_the_schema() -> None:
    result = normalize(workflow(step(output={"contractRef": "c", "required": False})))
    assert first_step(result) == step(output={"required": False}, outputContract={"contractRef": "c"})


@pytest.mark.parametrize(
    "members",
    [{"output": {"hints": {"k": []}}}, {"output": {"hints": ["x"]}}, {"output": {"hints": {}}, "guidance": "g"}],
)
def test_hints_without_a_line_to_become(members: dict[str, Any]) -> None:
    document = workflow(step(**members))
    assert refused(document, "compat-output-hints", "/steps/0/output").document is document


@pytest.mark.parametrize("output", [{}, "text", None, {"schema": {}}])
def test_an_output_that_is_not_the_design_forms_is_left_to_the_schema(output: Any) -> None:
    document = workflow(step(output=output))
    result = normalize(document)
    assert result.document is document
    assert result.errors == []


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


# -- D10: ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"), [("a_b", "a-b"), ("__", "s---"), ("_", "s--"), ("a_" + "b" * 62, "a-" + "b" * 62)]
)
def test_an_id_with_underscores(old: str, new: str) -> None:
    result = normalize(workflow(step(old)))
    assert first_step(result) == step(new)
    assert [(w.code, w.pointer, w.before, w.after) for w in result.warnings] == [
        ("compat-id-underscore", "/steps/0/id", old, new)
    ]


@pytest.mark.parametrize("name", ["Step_1", "a_b.c", "a_" + "b" * 63, "é_x", "ab"])
def test_an_id_that_would_be_wrong_anyway_is_left_to_the_schema(name: str) -> None:
    document = workflow(step(name))
    assert normalize(document).document is document


def test_what_names_a_renamed_step_follows_it() -> None:
    source = {"kind": "artifact_contract", "contractRef": "c", "loopId": "the_loop"}
    looping = {
        "id": "the_loop",
        "type": "loop",
        "title": "T",
        "loop": {"type": "while", "maxIterations": 1, "conditionSource": source},
        "body": "the_body",
    }
    result = normalize(workflow(looping, step("the_body")))
    assert first_step(result) == {
        **looping,
        "id": "the-loop",
        "loop": {"type": "while", "maxIterations": 1, "conditionSource": {**source, "loopId": "the-loop"}},
        "body": "the-body",
    }
    assert [w.pointer for w in result.warnings] == [
        "/steps/0/body",
        "/steps/0/id",
        "/steps/0/loop/conditionSource/loopId",
        "/steps/1/id",
    ]


def test_a_body_that_names_nothing_and_a_foreign_loop_id_stay_as_written() -> None:
    source = {"kind": "artifact_contract", "contractRef": "c", "loopId": "some_other"}
    looping = {
        "id": "loops",
        "type": "loop",
        "title": "T",
        "loop": {"type": "while", "maxIterations": 1, "conditionSource": source},
        "body": "no_such",
    }
    document = workflow(looping, step("the-body"))
    assert normalize(document).document is document


@pytest.mark.parametrize("names", [("a_b", "a-b"), ("a-b", "a_b")])
def test_an_id_that_would_collide_with_a_sound_one(names: tuple[str, str]) -> None:
    document = workflow(step(names[0]), step(names[1]))
    result = refused(document, "compat-id-underscore", f"/steps/{names.index('a_b')}/id")
    assert result.document is document
    assert "`a-b`" in result.errors[0].message


def test_of_two_ids_that_would_collide_the_first_is_rewritten() -> None:
    inner = {"id": "loops", "type": "loop", "title": "T", "loop": {}, "body": [step("a-b_c")]}
    result = refused(workflow(step("a_b-c"), inner), "compat-id-underscore", "/steps/1/body/0/id")
    assert first_step(result)["id"] == "a-b-c"
    assert result.document["steps"][1] == inner


def test_one_id_written_twice_is_not_a_collision_of_the_rewrite() -> None:
    result = normalize(workflow(step("a_b"), step("a_b")))
    assert result.errors == []
    assert [made["id"] for made in result.document["steps"]] == ["a-b", "a-b"]


def test_a_loop_id_that_would_collide() -> None:
    document = workflow(loop(loopId="a_b"), step("a-b"), conditions=[{"id": "more", "kind": "always_true"}])
    result = refused(document, "compat-id-underscore", "/steps/0/loopId")
    assert first_step(result)["id"] == "a_b"
    assert result.is_refused(result.pointer_map("/steps/0/id"))


# -- D11 to D13: version, extension points ----------------------------------------------------------------


def test_a_missing_version() -> None:
    document = workflow(step())
    del document["version"]
    result = normalize(document)
    assert list(result.document) == ["id", "name", "description", "version", "steps"]
    assert result.document["version"] == "0.1.0"
    assert [w.as_json() for w in result.warnings] == [
        {
            "code": "compat-version-missing",
            "pointer": "",
            "construct": "version",
            "action": "rewrite",
            "before": None,
            "after": "0.1.0",
            "lossy": False,
            "removedIn": None,
        }
    ]


@pytest.mark.parametrize("version", [None, "", "v1", 3])
def test_a_wrong_version_is_left_to_the_schema(version: Any) -> None:
    document = workflow(step(), version=version)
    assert normalize(document).document is document


def test_a_map_of_extension_points() -> None:
    slots = {
        "zeta": {"purpose": "Z", "defaultBinding": "routine-z", "acceptedKinds": ["routine"]},
        "7": {"purpose": "S", "defaultBinding": "d", "inputContract": {"a": 1}, "outputContract": {"b": 2}},
    }
    result = normalize(workflow(step(), extensionPoints=slots))
    assert result.document["extensionPoints"] == [
        {"slotId": "7", "purpose": "S", "default": "d"},
        {"slotId": "zeta", "purpose": "Z", "default": "routine-z", "acceptedKinds": ["routine"]},
    ]
    assert result.side.extension_contracts == {"7": {"inputContract": {"a": 1}, "outputContract": {"b": 2}}}
    assert [(w.code, w.lossy) for w in result.warnings] == [("compat-extension-map", True)]
    assert result.pointer_map("/extensionPoints/1/default") == "/extensionPoints/zeta/defaultBinding"
    assert result.pointer_map("/extensionPoints/0/slotId") == "/extensionPoints/7"


def test_a_map_of_extension_points_without_contracts_loses_nothing() -> None:
    result = normalize(workflow(step(), extensionPoints={"aa": {"purpose": "P", "defaultBinding": "d"}}))
    assert [w.lossy for w in result.warnings] == [False]


@pytest.mark.parametrize(
    "points", [{"slotId": "aa", "purpose": "P", "default": "d"}, {"aa": {"slotId": "aa"}}, {"aa": None}, "aa"]
)
def test_extension_points_that_are_no_map_of_slots_are_left_to_the_schema(points: Any) -> None:
    document = workflow(step(), extensionPoints=points)
    assert normalize(document).document is document


def test_what_a_child_says_about_itself() -> None:
    result = normalize(workflow(step(), kind="routine", extensionContract={"accepts": []}))
    assert result.document == workflow(step())
    assert (result.side.kind, result.side.extension_contract) == ("routine", {"accepts": []})
    assert [(w.code, w.pointer, w.action.value, w.lossy) for w in result.warnings] == [
        ("compat-extension-contract", "/extensionContract", "drop", True),
        ("compat-extension-contract", "/kind", "drop", True),
    ]


@pytest.mark.parametrize(("member", "value"), [("kind", "plugin"), ("kind", []), ("extensionContract", "x")])
def test_what_a_child_can_not_say(member: str, value: Any) -> None:
    document = workflow(step(), **{member: value})
    assert refused(document, "compat-extension-contract", f"/{member}").document is document


# -- D14 to D16: criteria and bodies ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"type": "contains", "value": "x"}, "Output must include: x"),
        ({"type": "regex", "pattern": "^a"}, "Pattern mismatch: ^a"),
        ({"type": "length", "min": 1}, "Output length out of bounds"),
        ({"type": "schema", "schema": {}}, "Output does not match the schema"),
    ],
)
def test_a_rule_without_a_message(rule: dict[str, Any], message: str) -> None:
    finished = {**rule, "message": message}
    result = normalize(workflow(step(validationCriteria=[finished, rule])))
    assert first_step(result)["validationCriteria"] == [finished, finished]
    assert [(w.code, w.pointer) for w in result.warnings] == [("compat-rule-message", "/steps/0/validationCriteria/1")]
    bare = normalize(workflow(step(validationCriteria=rule)))
    assert first_step(bare)["validationCriteria"] == [finished]
    assert codes(bare) == ["compat-bare-rule", "compat-rule-message"]
    assert bare.pointer_map("/steps/0/validationCriteria/0/type") == "/steps/0/validationCriteria/type"
    assert bare.pointer_map("/steps/0/validationCriteria/0/message") == "/steps/0/validationCriteria"


def test_rules_inside_a_composition() -> None:
    length = {"type": "length", "max": 3}
    criteria = {"or": [{"not": length}, {"and": [length, {"type": "contains", "value": "a", "message": ""}]}]}
    result = normalize(workflow(step(validationCriteria=criteria)))
    finished = {**length, "message": "Output length out of bounds"}
    assert first_step(result)["validationCriteria"] == {
        "or": [{"not": finished}, {"and": [finished, {"type": "contains", "value": "a", "message": ""}]}]
    }
    assert [w.pointer for w in result.warnings] == [
        "/steps/0/validationCriteria/or/0/not",
        "/steps/0/validationCriteria/or/1/and/0",
    ]


@pytest.mark.parametrize(
    "criteria",
    [
        [{"type": "contains"}],
        [{"type": "contains", "value": 3}],
        [{"type": "magic"}],
        [{"type": ["length"]}],
        {"type": "length", "and": [{"type": "length"}]},
        {"value": "x"},
        "length",
        [],
    ],
)
def test_criteria_that_are_merely_wrong_are_left_to_the_schema(criteria: Any) -> None:
    document = workflow(step(validationCriteria=criteria))
    assert normalize(document).document is document


def test_a_body_that_is_one_step() -> None:
    shipping = {"type": "for", "count": 1, "maxIterations": 1}
    inner = step("in_ner", output={"contractRef": "c"})
    looping = {"id": "loops", "type": "loop", "title": "T", "loop": shipping, "body": inner}
    result = normalize(workflow(looping))
    assert first_step(result)["body"] == [step("in-ner", outputContract={"contractRef": "c"})]
    assert [(w.code, w.pointer) for w in result.warnings] == [
        ("compat-body-object", "/steps/0/body"),
        ("compat-id-underscore", "/steps/0/body/id"),
        ("compat-output-contract", "/steps/0/body/output"),
    ]
    assert result.pointer_map("/steps/0/body/0/outputContract/contractRef") == "/steps/0/body/output/contractRef"
    assert result.pointer_map("/steps/0/body/0/title") == "/steps/0/body/title"


@pytest.mark.parametrize("body", [{}, None, 7, "one", []])
def test_a_body_that_is_no_step_is_left_to_the_schema(body: Any) -> None:
    document = workflow({"id": "loops", "type": "loop", "title": "T", "loop": {}, "body": body})
    assert normalize(document).document is document


def test_parallel_and_unknown_steps_are_not_standard_steps() -> None:
    for kind in ("parallel", "standard", 3, None):
        document = workflow(step(type=kind, output={"contractRef": "c"}, validationCriteria={"type": "length"}))
        assert normalize(document).document is document


# -- D20: run inputs -----------------------------------------------------------------------------------------


def test_variables_in_place_of_a_context() -> None:
    finding = variables_alias({"variables": {"a": 1}}, "/turns/0")
    assert finding is not None
    assert (finding.code, finding.pointer) == ("compat-variables-alias", "/turns/0/variables")
    assert "`context`" in finding.message
    assert "merge" not in finding.message
    both = variables_alias({"variables": {}, "context": {}})
    assert both is not None
    assert "merge" in both.message
    assert variables_alias({"context": {}}) is None
    assert variables_alias(["variables"]) is None
