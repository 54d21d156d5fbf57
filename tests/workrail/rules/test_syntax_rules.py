"""SY: numbers in the text, and that what the reader names has a rule."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import fixed, lint

from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.documents.json_reader import read_json
from workrail_lint.findings import Finding, Phase, Severity
from workrail_lint.rules.ruleset import RuleSet
from workrail_lint.systems.workrail.model.build import workflow_model
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.base import WorkflowContext, WorkflowRule
from workrail_lint.systems.workrail.rules.samples import step, workflow
from workrail_lint.systems.workrail.rules.schema import (
    JsonDuplicateKey,
    NumberNoncanonical,
    NumberNotFinite,
    NumberPrecisionLoss,
)
from workrail_lint.systems.workrail.rules.walk import run_rules

PLACE = "/steps/0/runCondition/equals"


def spelled(lexeme: str) -> str:
    text = json.dumps(workflow(step(runCondition={"var": "x", "equals": 0})), indent=2) + "\n"
    return text.replace('"equals": 0', f'"equals": {lexeme}')


@pytest.mark.parametrize(
    ("lexeme", "used"),
    [
        ("9007199254740993", "9007199254740992"),
        ("-9007199254740993", "-9007199254740992"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("1" * 309, None),
    ],
)
def test_whole_numbers_that_are_rounded(lexeme: str, used: str | None) -> None:
    found = lint(NumberPrecisionLoss, spelled(lexeme))
    assert [finding.pointer for finding in found] == [PLACE]
    assert lint(NumberNoncanonical, spelled(lexeme)) == [], "told as a loss, not as a spelling too"
    text = fixed(found[0], spelled(lexeme))
    assert read_json(text).value == read_json(spelled(lexeme)).value
    assert lint(NumberPrecisionLoss, text) == []
    assert used is None or text == spelled(used)
    assert len(found[0].message) < 200


@pytest.mark.parametrize(
    "lexeme", ["9007199254740992", "9007199254740994", "100000000000000000000", "0.1", "12", "1e400"]
)
def test_numbers_that_are_what_they_say(lexeme: str) -> None:
    assert lint(NumberPrecisionLoss, spelled(lexeme)) == []


def test_the_canonical_spelling_of_a_large_number_is_no_loss_beside_another_odd_one() -> None:
    text = spelled("[12345678901234567168, 1e3]")
    while found := lint(NumberNoncanonical, text):
        text = fixed(found[0], text)
        assert lint(NumberPrecisionLoss, text) == []
    assert text == spelled("[12345678901234567000, 1000]")


@pytest.mark.parametrize("lexeme", ["1e400", "-1e400", "1" * 310])
def test_infinity(lexeme: str) -> None:
    assert [finding.pointer for finding in lint(NumberNotFinite, spelled(lexeme))] == [PLACE]
    assert lint(NumberNoncanonical, spelled(lexeme)) == []


def test_infinity_that_the_schema_refuses_is_not_told_twice() -> None:
    rules = RuleSet([NumberNotFinite()], WorkflowRule)
    document = read_json(spelled("1e400"))
    view = WorkflowContext(document, workflow_model({}), None, "a.json")  # type: ignore[arg-type]
    assert len(run_rules(rules, view)) == 1
    view.earlier = [Finding("x", "schema-type", Severity.ERROR, "m", PLACE, phase=Phase.SCHEMA)]
    assert run_rules(rules, view) == []


@pytest.mark.parametrize(
    ("lexeme", "canonical"),
    [("1e3", "1000"), ("1.0", "1"), ("-0", "0"), ("-0.0", "0"), ("1E-7", "1e-7"), ("0.10", "0.1"), ("1e21", "1e+21")],
)
def test_spellings(lexeme: str, canonical: str) -> None:
    found = lint(NumberNoncanonical, spelled(lexeme))
    assert [finding.pointer for finding in found] == [PLACE]
    assert fixed(found[0], spelled(lexeme)) == spelled(canonical)
    assert lint(NumberNoncanonical, spelled(canonical)) == []


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**40), 10**40))
def test_a_respelt_number_hashes_the_same(value: float) -> None:
    text = spelled(json.dumps(value))
    for finding in lint(NumberNoncanonical, text):
        assert canonical_bytes(read_json(fixed(finding, text)).value) == canonical_bytes(read_json(text).value)


def test_the_reader_uses_names_that_exist() -> None:
    names = {info.name for info in RULES.infos if info.family == "SY"}
    texts = ["", "\ufeff{}", '{"a":1,}', "{} // x", '{"a":NaN}', '{"a":1,"a":2}', "[" * 300 + "]" * 300, "{a", b"\xff"]
    for text in texts:
        for problem in read_json(text).problems:
            assert problem.name in names
            assert problem.name in RULES.by_name


def test_removing_a_losing_member_never_moves_a_rendered_output() -> None:
    apart = '{"outputRequired": {"a": "1", "b": "2", "a": "3"}}'
    beside = '{"outputRequired": {"a": "1", "a": "3", "b": "2"}}'
    elsewhere = '{"args": {"a": "1", "b": "2", "a": "3"}}'
    assert [bool(problem.removes) for text in (apart, beside, elsewhere) for problem in read_json(text).problems] == [
        False,
        True,
        True,
    ]
    assert JsonDuplicateKey.fix_safety == "safe"


def test_removing_a_losing_member_never_moves_an_item_of_a_list_made_from_an_object() -> None:
    hints = '{"steps": [{"output": {"hints": {"a": "1", "b": "2", "a": "3"}}}]}'
    points = '{"extensionPoints": {"a": {}, "b": {}, "a": {}}}'
    assert [problem.removes for text in (hints, points) for problem in read_json(text).problems] == [(), ()]


def test_numbers_of_losing_members_are_nobodys() -> None:
    text = spelled('1e400, "equals": {"deep": 1e400}, "equals": 1e3')
    assert lint(NumberNotFinite, text) == []
    assert [finding.pointer for finding in lint(NumberNoncanonical, text)] == [PLACE]


def test_repeated_names_are_shown_on_one_line_and_span_exactly() -> None:
    text = '{"a\\n\\u001b": 1, "a\\n\\u001b": 2}'
    (problem,) = read_json(text).problems
    assert problem.message.isprintable()
    assert text[problem.start : problem.end] == '"a\\n\\u001b"'


def test_a_flood_of_repeated_names_is_survived() -> None:
    document = read_json("{" + ",".join(['"":0'] * 20_000) + "}")
    assert document.readable
    assert len(document.problems) <= 51
