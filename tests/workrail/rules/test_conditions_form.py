"""The form of conditions: each fault where it stands, and no fault in sound ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from effort import times
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lint_probe import fixed, lint, view

from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.rules import RULES, conditions
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.rule_needs import condition_facts
from workrail_lint.systems.workrail.rules.samples import loop, parallel, step, workflow
from workrail_lint.systems.workrail.rules.walk import conditions_of

FORM_RULES = [
    type(rule) for rule in RULES.rules_in("conditions") if type(rule).check_workflow is not WorkflowRule.check_workflow
]


def places(rule: type[WorkflowRule], condition: Any) -> list[str]:
    """The pointers below the condition of a step."""
    found = lint(rule, workflow(step(), step("second-step", runCondition=condition)))
    return [finding.pointer.removeprefix("/steps/1/runCondition") for finding in found]


def mended(rule: type[WorkflowRule], condition: Any) -> Any:
    document = workflow(step(), step("second-step", runCondition=condition))
    (found,) = lint(rule, document)
    return json.loads(fixed(found, document))["steps"][1].get("runCondition")


@pytest.mark.parametrize(
    ("alias", "operator"),
    [("eq", "equals"), ("neq", "not_equals"), ("ne", "not_equals"), (">=", "gte"), ("less_than_or_equal_to", "lte")],
)
def test_known_other_spellings_are_renamed(alias: str, operator: str) -> None:
    rule = conditions.ConditionOperatorUnknown()
    document = workflow(step(runCondition={"var": "a", alias: 1}))
    found = Finding(rule.code, rule.name, rule.severity, "", f"/steps/0/runCondition/{alias}")
    found.fix = rule.fix_for(found, view(document))
    assert json.loads(fixed(found, document))["steps"][0]["runCondition"] == {"var": "a", operator: 1}


def test_an_alias_with_a_slash_in_its_pointer_is_not_mistaken() -> None:
    rule = conditions.ConditionOperatorUnknown()
    document = workflow(step(runCondition={"var": "a", "a/eq": 1}))
    found = Finding(rule.code, rule.name, rule.severity, "", "/steps/0/runCondition/a~1eq")
    assert rule.fix_for(found, view(document)) is None


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"runCondition": {"var": "a", "eq": 1, "equals": 2}}, "/steps/0/runCondition/eq"),
        ({"runCondition": {"var": "a", "approximately": 1}}, "/steps/0/runCondition/approximately"),
        ({"runCondition": {"var": "a"}}, "/steps/0/runCondition/eq"),
        ({}, "/steps/0/runCondition/eq"),
    ],
)
def test_a_name_is_not_guessed(members: dict[str, Any], pointer: str) -> None:
    rule = conditions.ConditionOperatorUnknown()
    found = Finding(rule.code, rule.name, rule.severity, "", pointer)
    assert rule.fix_for(found, view(workflow(step(**members)))) is None


def test_a_rule_gets_no_operator_it_does_not_know() -> None:
    rule = conditions.ConditionOperatorUnknown()
    criteria = [{"type": "contains", "value": "x", "message": "x", "condition": {"var": "a", "oneOf": [1], "eq": 1}}]
    document = workflow(step(validationCriteria=criteria))
    base = "/steps/0/validationCriteria/0/condition"
    fixes = [
        rule.fix_for(Finding(rule.code, rule.name, rule.severity, "", f"{base}/{name}"), view(document))
        for name in ("oneOf", "eq")
    ]
    assert [fix is None for fix in fixes] == [True, False]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"and": [{}]}, ["/and/0"]),
        ({"or": [{"var": "a"}, {}]}, ["/or/1"]),
        ({"not": {}}, ["/not"]),
        ({"not": {"and": [{"or": [{}]}]}}, ["/not/and/0/or/0"]),
        ({}, []),
        ({"and": []}, []),
    ],
)
def test_empty_conditions_inside_others(condition: Any, expected: list[str]) -> None:
    assert places(conditions.ConditionMalformed, condition) == expected


def test_an_empty_condition_is_taken_out_of_a_list_only() -> None:
    assert mended(conditions.ConditionMalformed, {"and": [{}, {"var": "a"}]}) == {"and": [{"var": "a"}]}
    (found,) = lint(conditions.ConditionMalformed, workflow(step(runCondition={"not": {}})))
    assert found.fix is None


EMPTY = {
    "run": (workflow(step(runCondition={})), workflow(step())),
    "when": (
        workflow(step(promptFragments=[{"id": "a", "text": "x", "when": {}}])),
        workflow(step(promptFragments=[{"id": "a", "text": "x"}])),
    ),
    "confirmation": (workflow(step(requireConfirmation={})), workflow(step(requireConfirmation=True))),
    "gate": (
        workflow(step(requireConfirmation={"kind": "human_approval", "condition": {}})),
        workflow(step(requireConfirmation={"kind": "human_approval"})),
    ),
    "delegation": (
        workflow(parallel(parallelDelegations=[{"workflowId": "demo.other", "runCondition": {}}])),
        workflow(parallel(parallelDelegations=[{"workflowId": "demo.other"}])),
    ),
    "rule": (
        workflow(step(validationCriteria=[{"type": "length", "min": 1, "message": "x", "condition": {}}])),
        workflow(step(validationCriteria=[{"type": "length", "min": 1, "message": "x"}])),
    ),
}


@pytest.mark.parametrize("place", EMPTY)
def test_an_empty_condition_goes_without_changing_what_happens(place: str) -> None:
    document, expected = EMPTY[place]
    (found,) = lint(conditions.ConditionEmpty, document)
    assert json.loads(fixed(found, document)) == expected


def test_a_loop_needs_its_condition() -> None:
    (found,) = lint(conditions.ConditionEmpty, workflow(loop(type="while", count=..., condition={})))
    assert found.fix is None


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"equals": 1}, [""]),
        ({"and": [{"gt": 1}, {"var": "a"}]}, ["/and/0"]),
        ({"unheard": 1}, []),  # the schema has a word for that
        ({"and": [], "equals": 1}, []),
        ({}, []),
    ],
)
def test_comparisons_without_a_variable(condition: Any, expected: list[str]) -> None:
    assert places(conditions.ConditionMalformed, condition) == expected


def test_several_comparisons_become_several_conditions() -> None:
    rule = conditions.ConditionMalformed
    assert mended(rule, {"lte": 5, "var": "a", "gte": 1}) == {"and": [{"var": "a", "lte": 5}, {"var": "a", "gte": 1}]}
    (found,) = lint(rule, workflow(step(runCondition={"var": "a", "in": [1], "equals": 1})))
    assert "only 'equals' is evaluated" in found.message


def test_logic_beside_a_variable_is_joined_with_it() -> None:
    rule, other = conditions.ConditionMalformed, {"var": "b"}
    assert mended(rule, {"var": "a", "gt": 1, "and": [other]}) == {"and": [{"var": "a", "gt": 1}, other]}
    assert mended(rule, {"var": "a", "or": [other], "not": other}) == {
        "and": [{"var": "a"}, {"or": [other]}, {"not": other}]
    }


def test_both_faults_at_once_are_mended_one_after_the_other() -> None:
    mixed = {"var": "a", "gte": 1, "lte": 5, "or": [{"var": "b"}]}
    document = workflow(step(), step("second-step", runCondition=mixed))
    operators, logic = lint(conditions.ConditionMalformed, document)
    assert (operators.fix is None) != (logic.fix is None)
    first = operators if logic.fix is None else logic
    once = json.loads(fixed(first, document))["steps"][1]["runCondition"]
    document = workflow(step(), step("second-step", runCondition=once))
    (found,) = lint(conditions.ConditionMalformed, document)
    parts = [{"and": [{"var": "a", "gte": 1}, {"var": "a", "lte": 5}]}, {"or": [{"var": "b"}]}]
    assert json.loads(fixed(found, document))["steps"][1]["runCondition"] == {"and": parts}


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ({"and": [], "or": []}, 1),
        ({"or": [], "not": {"var": "a"}}, 1),
        ({"var": "a", "and": [], "or": []}, 1),
        ({"or": []}, 0),
    ],
)
def test_two_logical_members(condition: Any, count: int) -> None:
    assert len(places(conditions.ConditionMalformed, condition)) == count


@pytest.mark.parametrize(
    ("name", "dotted", "blank"),
    [
        ("items.length", True, False),
        ("a", False, False),
        ("", False, True),
        (" ", False, True),
        ("a ", False, True),
        ("\ufeffa", False, True),
        ("\u0085a", False, False),  # no space to JavaScript
        ("größe", False, False),
    ],
)
def test_names_of_variables(name: str, dotted: bool, blank: bool) -> None:
    assert places(conditions.ConditionDottedVar, {"var": name}) == (["/var"] if dotted else [])
    assert places(conditions.ConditionMalformed, {"var": name}) == (["/var"] if blank else [])


def test_a_name_is_trimmed_unless_nothing_is_left() -> None:
    document = workflow(
        step(prompt="Set `size` to small or large."), step("second-step", runCondition={"var": "\u3000size\t"})
    )
    (found,) = lint(conditions.ConditionMalformed, document)
    assert json.loads(fixed(found, document))["steps"][1]["runCondition"] == {"var": "size"}
    # Without the spaces it would still be a variable that nothing sets.
    (found,) = lint(conditions.ConditionMalformed, workflow(step(runCondition={"var": " size"})))
    assert found.fix is None
    (found,) = lint(conditions.ConditionMalformed, workflow(step(runCondition={"var": " "})))
    assert found.fix is None


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"var": "a", "equals": {}}, ["/equals"]),
        ({"var": "a", "not_equals": []}, ["/not_equals"]),
        ({"var": "a", "in": [1, [2], {"x": 1}]}, ["/in/1", "/in/2"]),
        ({"var": "a", "in": [None, True, "x"]}, []),
        ({"var": "a", "equals": None}, []),
    ],
)
def test_objects_and_lists_equal_nothing(condition: Any, expected: list[str]) -> None:
    assert places(conditions.ConditionMalformed, condition) == expected


def test_empty_lists_are_told_where_they_stand() -> None:
    condition = {"and": [{"var": "a", "in": []}, {"or": []}, {"not": {"and": []}}]}
    assert places(conditions.ConditionEmptyList, condition) == ["/and/0/in", "/and/1/or", "/and/2/not/and"]


def test_a_named_condition_of_the_design_form_may_be_empty() -> None:
    design = {"type": "loop", "loopId": "again", "title": "Again", "maxIterations": 2, "body": [step("inner-step")]}
    design["while"] = {"kind": "condition_ref", "conditionId": "never"}
    document = workflow(step(), design, conditions=[{"id": "never", "kind": "always_false"}])
    assert view(document).definition["steps"][1]["loop"]["condition"] == {"or": []}
    assert lint(conditions.ConditionEmptyList, document) == []
    written = loop(type="while", count=..., condition={"or": []})
    assert len(lint(conditions.ConditionEmptyList, workflow(step(), written))) == 1


ROLES = {
    "runCondition": lambda c: step(runCondition=c),
    "requireConfirmation": lambda c: step(requireConfirmation=c),
    "gate": lambda c: step(requireConfirmation={"kind": "human_approval", "condition": c}),
    "fragment": lambda c: step(promptFragments=[{"id": "a", "text": "x", "when": c}]),
    "loop": lambda c: loop(type="while", count=..., condition=c),
    "source": lambda c: loop(type="while", count=..., conditionSource={"kind": "context_variable", "condition": c}),
    "body": lambda c: loop(step("inner-step", runCondition=c)),
    "delegation": lambda c: parallel(parallelDelegations=[{"workflowId": "demo.other", "runCondition": c}]),
    "rule": lambda c: step(
        validationCriteria={"and": [{"not": {"type": "length", "min": 1, "message": "x", "condition": c}}]}
    ),
}


@pytest.mark.parametrize("role", ROLES)
def test_conditions_are_found_wherever_they_may_stand(role: str) -> None:
    assert len(lint(conditions.ConditionMalformed, workflow(ROLES[role]({"or": [{"equals": 1}]})))) == 1


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", " ", "a", "b.c", "\ufeff"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["var", "equals", "not_equals", "gt", "in", "contains", "and", "or", "not", "zz"]), inner
        )
    ),
    max_leaves=10,
)


@settings(max_examples=times(150, deep=1_200), deadline=None)
@example({"var": "a", "in": 5})
@example({"and": 5})
@given(VALUE)
def test_a_condition_set_aside_as_plain_has_no_fault(value: Any) -> None:
    """The rules look only at the unusual conditions, so there must be nothing to say about the others."""
    seen = view(workflow(step(), step("second-step", runCondition=value)))
    unusual = {condition.pointer for condition in condition_facts(seen).unusual}
    told: list[str] = []

    def report(pointer: str, message: str, **_: Any) -> None:
        told.append(message)

    for condition in conditions_of(seen):
        if condition.pointer not in unusual:
            for rule in FORM_RULES:
                rule().check_form(condition, seen, report)  # type: ignore[attr-defined]
    assert told == []
