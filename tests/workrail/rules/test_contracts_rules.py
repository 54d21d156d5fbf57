"""CT: contracts beside other requirements, and what prompts say about artifacts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import fixed, lint

from workrail_lint.systems.workrail.rules.contracts import (
    AssessmentShadowsCriteria,
    ContractAndCriteria,
    ContractDesignOutput,
    ContractNotSatisfiable,
    ContractOptional,
    ContractShadowsAssessment,
    CoordinatorResultShape,
    example_members,
    instructed_members,
)
from workrail_lint.systems.workrail.rules.samples import controlled_loop, decision, loop, parallel, step, workflow

VERDICT = {"contractRef": "wr.contracts.review_verdict"}
CALL = {"templateId": "wr.templates.routine.execution-simulation"}
CRITERIA = [{"type": "contains", "value": "x", "message": "m"}]
REQUIREMENTS: dict[str, Any] = {
    "outputContract": VERDICT,
    "assessmentRefs": ["depth"],
    "validationCriteria": CRITERIA,
}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("outputContract", []),
        ("outputContract validationCriteria", [ContractAndCriteria]),
        ("outputContract assessmentRefs", [ContractShadowsAssessment]),
        ("assessmentRefs validationCriteria", [AssessmentShadowsCriteria]),
        ("outputContract assessmentRefs validationCriteria", [ContractAndCriteria, ContractShadowsAssessment]),
    ],
)
@pytest.mark.parametrize("in_loop", [False, True])
def test_which_requirement_decides(members: str, expected: list[Any], in_loop: bool) -> None:
    rules = [ContractAndCriteria, ContractShadowsAssessment, AssessmentShadowsCriteria]
    made = step(**{name: REQUIREMENTS[name] for name in members.split()})
    document = workflow(loop(made)) if in_loop else workflow(made)
    assert [rule for rule in rules if lint(rule, document)] == expected


# ------------------------------------------------------------------------------------------- satisfiable


def assessed(*idents: str) -> list[dict[str, Any]]:
    dimension = {"id": "d", "purpose": "P", "levels": ["low", "high"]}
    return [{"id": ident, "purpose": "P", "dimensions": [dimension]} for ident in idents]


def test_the_fix_refers_to_the_only_assessment() -> None:
    made = step(outputContract={"contractRef": "wr.contracts.assessment", "required": False})
    (finding,) = lint(ContractNotSatisfiable, workflow(made, assessments=assessed("depth")))
    mended = json.loads(fixed(finding, workflow(made, assessments=assessed("depth"))))
    assert mended["steps"][0]["assessmentRefs"] == ["depth"]
    assert "outputContract" not in mended["steps"][0]


@pytest.mark.parametrize("idents", [(), ("depth", "breadth")])
def test_no_fix_where_nobody_knows_which_assessment(idents: tuple[str, ...]) -> None:
    made = step(outputContract={"contractRef": "wr.contracts.assessment"})
    (finding,) = lint(ContractNotSatisfiable, workflow(made, assessments=assessed(*idents)))
    assert finding.fix is None


def test_a_step_that_already_refers_only_loses_the_contract() -> None:
    made = step(outputContract={"contractRef": "wr.contracts.assessment"}, assessmentRefs=["b"])
    document = workflow(made, assessments=assessed("a", "b"))
    (finding,) = lint(ContractNotSatisfiable, document)
    assert "outputContract" not in json.loads(fixed(finding, document))["steps"][0]


def test_a_synthesis_has_a_contract_too() -> None:
    made = parallel(synthesis={"outputContract": {"contractRef": "wr.contracts.differentiation_handoff"}})
    (finding,) = lint(ContractNotSatisfiable, workflow(step(), made))
    assert finding.pointer == "/steps/1/synthesis/outputContract/contractRef"


def test_contracts_of_the_design_can_be_satisfied() -> None:
    made = step(outputContract={"contractRef": "wr.contracts.verification_report"})
    assert lint(ContractNotSatisfiable, workflow(made)) == []


@pytest.mark.parametrize(("required", "count"), [(False, 1), (True, 0), (None, 0)])
def test_optional(required: bool | None, count: int) -> None:
    contract = VERDICT if required is None else {**VERDICT, "required": required}
    assert len(lint(ContractOptional, workflow(step(outputContract=contract)))) == count


def test_an_optional_contract_of_a_synthesis() -> None:
    made = parallel(synthesis={"outputContract": {**VERDICT, "required": False}})
    (finding,) = lint(ContractOptional, workflow(step(), made))
    assert finding.pointer == "/steps/1/synthesis/outputContract/required"


def test_what_nothing_can_satisfy_is_not_said_to_pass_with_nothing() -> None:
    contract = {"contractRef": "wr.contracts.differentiation_handoff", "required": False}
    assert lint(ContractOptional, workflow(step(outputContract=contract))) == []


def test_an_optional_decision_is_left_to_the_loop_rules() -> None:
    body = decision()
    body["outputContract"] = {**body["outputContract"], "required": False}
    assert lint(ContractOptional, workflow(controlled_loop(body))) == []
    assert len(lint(ContractOptional, workflow({**body, "id": "alone"}))) == 1


# ------------------------------------------------------------------------------------------- design form


def test_the_design_output_becomes_contract_and_guidance() -> None:
    made = step(output={**VERDICT, "hints": {"tone": "factual", "1": "first"}}, guidance=["be brief"])
    document = workflow(step(), {**made, "id": "second"})
    (finding,) = lint(ContractDesignOutput, document)
    assert finding.pointer == "/steps/1/output"
    mended = json.loads(fixed(finding, document))["steps"][1]
    assert mended["outputContract"] == VERDICT
    assert mended["guidance"] == ["be brief", "1: first", "tone: factual"]
    assert "output" not in mended


def test_design_output_beside_the_same_contract() -> None:
    document = workflow(step(output=VERDICT, outputContract=VERDICT))
    (finding,) = lint(ContractDesignOutput, document)
    assert "output" not in json.loads(fixed(finding, document))["steps"][0]


# --------------------------------------------------------------------------------------- artifact examples


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ('{"kind": "wr.x", "a": 1, "b": {"c": 2}}', ["kind", "a", "b"]),
        ('{\n  "a": "say \\"hi\\": there",\n  "kind": "wr.x"\n}', ["a", "kind"]),
        ("{ kind: 'wr.x', decision: 'go', note?: string }", ["kind", "decision", "note"]),
        ('{"artifacts": [{"kind": "wr.x", "a": [1, {"b": 2}], "c": null}], "z": 1}', ["kind", "a", "c"]),
        (
            '{"a": "continue | stop", "kind":"wr.x", "metadata": { "reason": "..." } } then "d": 1',
            ["a", "kind", "metadata"],
        ),
        ('{"kind": "wr.x", "unfinished": ', ["kind", "unfinished"]),
    ],
)
def test_members_of_an_example(text: str, members: list[str]) -> None:
    assert list(example_members(text, "wr.x")) == [members]


@pytest.mark.parametrize("text", ["a wr.x artifact", '"wr.x"', '["wr.x"]', '{"kind": "wr.xy"}', "`wr.x`: {a: 1}"])
def test_no_example(text: str) -> None:
    assert list(example_members(text, "wr.x")) == []


@given(st.text("{}[]\":,'wr.x abk", max_size=60))
def test_examples_are_read_from_any_text(text: str) -> None:
    text += '{"kind": "wr.x"'
    assert len(list(example_members(text, "wr.x"))) <= text.count("wr.x")
    assert all(name in text for name in instructed_members(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('include "summary"', ["summary"]),
        ("Include a `summary` field.", ["summary"]),
        ("Add the 'summary' and stop.", ["summary"]),
        ('In metadata, include "summary"', []),
        ("Include `summary` in your notes.", []),
        ("Set `summary` in the context object.", []),
        ("Include `summary`. Put the rest into your notes.", ["summary"]),
        ("The `summary` says it all.", []),
        ("include summary", []),
        ('Include "decision" and "summary".', ["decision", "summary"]),
        ("Set `decision`, `loopId`, and the `summary`.", ["decision", "loopId", "summary"]),
        ("Provide `decision` as well as a short `summary`", ["decision", "summary"]),
        ("Include `decision`. The `summary` is for people.", ["decision"]),
        ("Include `decision` before `summary` is written.", ["decision"]),
    ],
)
def test_instructions(text: str, names: list[str]) -> None:
    assert list(instructed_members(text)) == names


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Submit a wr.coordinator_result with `prUrl`.", 1),
        ("Emit wr.coordinator_result with `outcome`, `summary` and `prUrl` set.", 1),
        ("Emit wr.coordinator_result with `outcome` and `summary`.", 0),
        ("Emit wr.coordinator_result. Compare it with `prUrl`.", 0),
    ],
)
def test_instructions_for_coordinator_results(prompt: str, count: int) -> None:
    assert len(lint(CoordinatorResultShape, workflow(step(prompt=prompt)))) == count


def test_coordinator_results_outside_of_steps() -> None:
    text = '{"kind":"wr.coordinator_result","outcome":"success","prUrl":"x"}'
    (finding,) = lint(CoordinatorResultShape, workflow(metaGuidance=[f"Answer {text}"]))
    assert finding.pointer == "/metaGuidance/0"
    assert "'prUrl'" in finding.message


def test_members_of_a_call_are_dropped_with_it() -> None:
    made = step(prompt=None, templateCall=CALL, notesOptional=True, **REQUIREMENTS)
    for rule in (ContractAndCriteria, ContractShadowsAssessment, ContractNotSatisfiable):
        assert lint(rule, workflow(step(), {**made, "id": "calling"})) == []
