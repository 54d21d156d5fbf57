"""D1 to D6: template calls, loops, named conditions and outputs, each on the smallest document that shows it."""

from __future__ import annotations

from typing import Any

import pytest
from compat_documents import call, codes, first_step, loop, refused, step, workflow

from workrail_lint.systems.workrail.compat import normalize

# -- D1: template calls ---------------------------------------------------------------------------------


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
