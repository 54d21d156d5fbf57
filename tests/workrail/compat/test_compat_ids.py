"""D10 to D20: ids, versions, extension points, criteria, bodies and run inputs, each on its smallest document."""

from __future__ import annotations

from typing import Any

import pytest
from compat_documents import codes, first_step, loop, refused, step, workflow

from workrail_lint.systems.workrail.compat import normalize

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
