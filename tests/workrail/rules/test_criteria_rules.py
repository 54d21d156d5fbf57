"""CR: the form of criteria, rules that can't work, and how much passing them proves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from effort import patience
from hypothesis import given
from hypothesis import strategies as st
from lint_probe import lint

from workrail_lint import check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.criteria_schema import problems
from workrail_lint.systems.workrail.model.build import condition_model, workflow_model
from workrail_lint.systems.workrail.model.workflow import StandardStep
from workrail_lint.systems.workrail.rules import RULES, criteria, evidence
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.rules.criteria import Criteria, demanded, never_holds
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow

ALL = [type(rule) for module in ("evidence", "criteria") for rule in RULES.rules_in(module)]
VERDICT = {"contractRef": "wr.contracts.review_verdict"}


def rule(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "message": "m", **members}


def checked(value: Any, **members: Any) -> dict[str, Any]:
    return workflow(step(validationCriteria=value, **members))


def names(document: Any, **settings: Any) -> set[str]:
    return {finding.name for family in ALL for finding in lint(family, document, **settings)}


def found(family: type[WorkflowRule], value: Any) -> list[tuple[str, str]]:
    """The places below the criteria, and the messages."""
    prefix = "/steps/0/validationCriteria"
    return [(finding.pointer.removeprefix(prefix), finding.message) for finding in lint(family, checked(value))]


# ---------------------------------------------------------------------------------------------- evidence


def test_verdicts_become_findings_with_numbers_and_advice() -> None:
    (finding,) = lint(evidence.CriteriaFlagOnly, checked([rule("contains", value="done"), rule("length", min=10)]))
    assert finding.pointer == "/steps/0/validationCriteria"
    assert "10 characters can be enough" in finding.message
    assert finding.message.endswith("require something the agent can't write without doing the work")


def test_advice_fits_the_step() -> None:
    def advice(title: str) -> str:
        (finding,) = lint(evidence.CriteriaTriviallySatisfiable, checked([rule("contains", value="pear")], title=title))
        return finding.message.rpartition("; ")[2]

    assert advice("Review the change") == "use the contract wr.contracts.review_verdict"
    assert advice("Verify the upgrade") == "require numbered findings, such as regex `Finding \\d+:`"
    assert advice("Final verification") == "use the contract wr.contracts.verification_report"
    assert "because" in advice("Choose an approach")
    assert "position" in advice("Implement the parser")


def test_contracts_of_the_design_are_not_advised_for_the_engine() -> None:
    document = checked([rule("contains", value="pear")], title="Final verification")
    (finding,) = lint(evidence.CriteriaTriviallySatisfiable, document, engine=True)
    assert "wr.contracts" not in finding.message


def test_strict_evidence_raises_two_of_them() -> None:
    cases = {
        evidence.CriteriaFlagOnly: [rule("contains", value="done")],
        evidence.CriteriaVacuous: [rule("regex", pattern=".*")],
        evidence.CriteriaTriviallySatisfiable: [rule("contains", value="pear")],
    }
    for family, value in cases.items():
        (plain,) = lint(family, checked(value))
        (strict,) = lint(family, checked(value), options={"evidence": "strict"})
        assert plain.severity is Severity.WARNING
        raised = family is not evidence.CriteriaTriviallySatisfiable
        assert strict.severity is (Severity.ERROR if raised else Severity.WARNING)


@pytest.mark.parametrize("other", [{"outputContract": VERDICT}, {"assessmentRefs": ["depth"]}])
def test_criteria_that_do_not_decide_are_not_judged(other: dict[str, Any]) -> None:
    assert names(checked([rule("contains", value="done")], **other)) == set()
    assert names(checked([rule("regex", pattern="(")], **other)) == {"criteria-regex-invalid"}


@pytest.mark.parametrize(
    "broken", [rule("regex", pattern="("), rule("contains"), rule("schema"), rule("regex", pattern="a", flags="q")]
)
def test_broken_criteria_are_not_judged_as_evidence(broken: dict[str, Any]) -> None:
    document = checked([broken, rule("contains", value="done")])
    assert not {family.name for family in RULES.rules_in("evidence")} & names(document)


def test_bodies_are_judged_and_calls_are_not() -> None:
    value = [rule("contains", value="done")]
    (finding,) = lint(evidence.CriteriaFlagOnly, workflow(loop(step("inner-step", validationCriteria=value))))
    assert finding.pointer == "/steps/0/body/0/validationCriteria"
    call = step("calling", None, templateCall={"templateId": "x"}, validationCriteria=value)
    assert names(workflow(step(), call)) == set()


def test_a_bypass_is_shown_where_it_is() -> None:
    tree = {
        "and": [rule("length", min=300), {"or": [rule("regex", pattern="Finding \\d+:"), rule("contains", value="ok")]}]
    }
    (finding,) = lint(evidence.CriteriaOrBypass, checked(tree))
    assert finding.pointer == "/steps/0/validationCriteria/and/1"


def test_good_criteria_are_left_alone() -> None:
    tree = {
        "and": [
            rule("regex", pattern=r"Finding \d+:.*severity:(high|medium|low)"),
            rule("contains", value="file:"),
            rule("length", min=200, max=5000),
        ]
    }
    assert names(checked(tree)) == {"criteria-composition-hides-messages"}


# -------------------------------------------------------------------------------------------------- form


def test_empty() -> None:
    assert names(checked([])) == {"criteria-empty"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (rule("contains"), "without value rejects every answer"),
        (rule("schema"), "without schema rejects every answer"),
        (rule("regex", flags="i"), "without pattern accepts every answer"),
        (rule("length"), "without min and max accepts every answer"),
        (rule("length", max=10), None),
        (rule("length", min=0), None),
        (rule("contains", value=""), None),
    ],
)
def test_missing_members(value: dict[str, Any], words: str | None) -> None:
    messages = [message for _, message in found(criteria.CriteriaMemberMissing, [value])]
    assert len(messages) == (words is not None)
    assert all(str(words) in message for message in messages)


def test_ignored_members_below_compositions() -> None:
    tree = {"or": [rule("length", min=3, value="x"), {"not": rule("regex", pattern="a", schema={}, min=1)}]}
    places = [place for place, _ in found(criteria.CriteriaMemberIgnored, tree)]
    assert places == ["/or/0/value", "/or/1/not/schema", "/or/1/not/min"]


@pytest.mark.parametrize(
    ("message", "hit"),
    [
        ('include "{...}"', True),
        ("include ` [1]`", True),
        ("include '\u00a0{'", True),  # JavaScript's white space
        ("include {a} and [b]", False),
        ('say "hi" {', True),
        ("", False),
    ],
)
def test_quoted_json(message: str, hit: bool) -> None:
    twice = [{**rule("contains", value="x"), "message": message}] * 2
    assert len(found(criteria.CriteriaQuotedJsonMessage, twice)) == hit


def test_what_is_surfaced() -> None:
    assert found(criteria.CriteriaArrayNotSurfaced, [rule("schema", schema={})]) == []
    assert found(criteria.CriteriaArrayNotSurfaced, {"and": [rule("length", min=3)]}) == []
    document = checked([rule("length", min=3), rule("schema", schema={})])
    (finding,) = lint(criteria.CriteriaArrayNotSurfaced, document)
    assert finding.fix is None  # in an `and` the agent would never see the messages


def test_what_the_prompt_says_needs_no_surfacing() -> None:
    document = checked([rule("contains", value="## Risks", message="Add a section.")])
    assert len(lint(criteria.CriteriaArrayNotSurfaced, document)) == 1
    document["steps"][0]["prompt"] = "Write the plan with a section ## Risks."
    assert lint(criteria.CriteriaArrayNotSurfaced, document) == []


# ------------------------------------------------------------------------------------------------ checks


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"pattern": "("}, {"criteria-regex-invalid"}),
        ({"pattern": "a", "flags": "z"}, {"criteria-regex-invalid"}),
        ({"pattern": "a", "flags": "ii"}, {"criteria-regex-invalid"}),
        ({"pattern": "a", "flags": "uv"}, {"criteria-regex-invalid"}),
        ({"pattern": "(", "flags": "z"}, {"criteria-regex-invalid"}),
        ({"pattern": r"\p{Nope}"}, set()),  # without the flag just letters
        ({"pattern": r"\p{Nope}", "flags": "u"}, {"criteria-regex-invalid"}),
        ({"pattern": "(a+)+$"}, {"criteria-regex-backtracking"}),
        ({"pattern": "(a+)+$("}, {"criteria-regex-invalid"}),
        ({"pattern": "a" * 1001}, {"criteria-regex-backtracking"}),
        ({"pattern": r"(?<n>a)\k<n>"}, set()),
        ({"pattern": "a+", "flags": "gimsuy"}, set()),
    ],
)
def test_patterns(members: dict[str, Any], expected: set[str]) -> None:
    got = names(checked([rule("regex", **members)]))
    assert {name for name in got if name.startswith("criteria-regex")} == expected


@pytest.mark.parametrize(
    ("value", "places"),
    [
        ([rule("contains", value="abcdef"), rule("length", max=5)], ["/0"]),
        ([rule("contains", value="abcde"), rule("length", max=5)], []),
        ([rule("contains", value="\U0001f600" * 3), rule("length", max=5)], ["/0"]),  # UTF-16 units
        ([rule("contains", value="abcdef", condition={"var": "x"}), rule("length", max=5)], []),
        ([rule("contains", value="abcdef"), rule("length", max=5, condition={"var": "x"})], []),
        ({"or": [rule("contains", value="abcdef"), rule("length", max=5)]}, []),
        ({"and": [rule("contains", value="abc"), {"not": rule("contains", value="abc")}]}, ["/and/0"]),
        ({"and": [rule("contains", value="abc"), {"not": rule("contains", value="b")}]}, ["/and/0"]),
        ({"and": [rule("contains", value="b"), {"not": rule("contains", value="abc")}]}, []),
        (
            {
                "and": [
                    rule("contains", value="b"),
                    {"not": {"or": [rule("length", min=3), rule("contains", value="b")]}},
                ]
            },
            ["/and/0"],
        ),
        (
            {
                "and": [
                    rule("contains", value="b"),
                    {"not": {"and": [rule("length", min=3), rule("contains", value="b")]}},
                ]
            },
            [],
        ),
        ([rule("length", min=10), rule("length", max=5)], ["/0"]),
        ([rule("length", min=10, max=5)], []),  # a finding of its own
        ([rule("regex", pattern="Finding \\d+:"), rule("length", max=9)], ["/0"]),
        ([rule("regex", pattern="Finding \\d+:"), rule("length", max=10)], []),
    ],
)
def test_contradictions(value: Any, places: list[str]) -> None:
    assert [place for place, _ in found(criteria.CriteriaContradiction, value)] == places


@pytest.mark.parametrize(
    ("members", "inverted", "over"),
    [
        ({"min": 10, "max": 5}, True, False),
        ({"min": 5, "max": 5}, False, False),
        ({"min": 4096}, False, False),
        ({"min": 4097}, False, True),
    ],
)
def test_lengths(members: dict[str, Any], inverted: bool, over: bool) -> None:
    assert bool(found(criteria.CriteriaLengthInverted, [rule("length", **members)])) == inverted
    assert bool(found(criteria.CriteriaLengthOverNotes, [rule("length", **members)])) == over


DEEP, QUICK = {"var": "depth", "equals": "deep"}, {"var": "depth", "equals": "quick"}


@pytest.mark.parametrize(
    ("condition", "never"),
    [
        ({}, False),
        (None, False),
        (DEEP, False),
        ({"and": [DEEP, QUICK]}, True),
        ({"and": [{"var": "x"}, {"and": [DEEP, QUICK]}]}, True),
        ({"or": [{"and": [DEEP, QUICK]}, {"or": []}]}, True),
        ({"or": [DEEP, QUICK]}, False),
        ({"or": []}, True),
        ({"and": []}, False),
        ({"not": {"and": []}}, True),
        ({"not": {"or": [{"var": "n", "gte": 1}, {"not": {"var": "n", "gte": 1}}]}}, True),
        ({"var": "x", "equals": []}, True),
        ({"var": "x", "not_equals": {}}, False),
        ({"not": {"var": "x", "not_equals": {}}}, True),
        ({"and": [{"var": "n", "gt": 5}, {"var": "n", "lt": 5}]}, True),
        ({"and": [{}]}, False),  # malformed, which is told elsewhere
        ({"equals": 3}, False),
    ],
)
def test_conditions_that_never_hold(condition: Any, never: bool) -> None:
    assert never_holds(None if condition is None else condition_model(condition)) == never


CONDITIONS = st.recursive(
    st.fixed_dictionaries({"var": st.sampled_from("ab")}, optional={"equals": st.sampled_from([1, 2, "x", None, []])}),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: {"and": parts}),
        st.lists(inner, max_size=3).map(lambda parts: {"or": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=6,
)


@given(
    CONDITIONS, st.fixed_dictionaries({}, optional={name: st.sampled_from([1, 2, "x", None, True]) for name in "ab"})
)
def test_never_is_never(condition: Any, context: dict[str, Any]) -> None:
    from pytest_workrail.engine.core.conditions import evaluate

    if never_holds(condition_model(condition)):
        assert not evaluate(condition, context)


def test_demanded_is_in_document_order() -> None:
    tree = {"and": [rule("length", min=1), {"and": [rule("length", min=2)]}, {"not": {"not": rule("length", min=3)}}]}
    (written,) = workflow_model(checked(tree)).steps
    assert isinstance(written, StandardStep)
    found = [
        (rule.pointer.removeprefix("/steps/0/validationCriteria"), negated)
        for rule, negated in demanded(Criteria(written))
    ]
    assert found == [
        ("/and/0", False),
        ("/and/1/and/0", False),
        ("/and/2/not/not", False),
    ]


# ------------------------------------------------------------------------------------------------ schemas


@pytest.mark.parametrize(
    ("schema", "places"),
    [
        ({}, []),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "x-own": 1}, []),
        ({"type": "foo"}, ["/type"]),
        (
            {"properties": {"a": {"type": "foo"}, "b/c": {"minLength": -1}}},
            ["/properties/a/type", "/properties/b~1c/minLength"],
        ),
        ({"required": "a"}, ["/required"]),
        ({"properties": {"a": {"pattern": "("}}}, ["/properties/a/pattern"]),
        ({"properties": {"pattern": {"type": "string"}}}, []),
        ({"patternProperties": {"^(": {}}}, ["/patternProperties/^("]),
        ({"enum": [{"pattern": "("}]}, []),
        ({"$ref": "#/definitions/a", "definitions": {"a": {}}}, []),
        ({"$ref": "#/definitions/b", "definitions": {"a": {}}}, ["/$ref"]),
        ({"items": {"$ref": "#"}}, []),
        ({"$ref": "other.json"}, ["/$ref"]),
        ({"$ref": "http://json-schema.org/draft-07/schema#"}, []),
        ({"$id": "http://x/y", "items": {"$ref": "y#/a"}}, []),
    ],
)
def test_schemas(schema: dict[str, Any], places: list[str]) -> None:
    assert [place for place, _ in problems(schema)] == places
    assert all(len(message) < 250 and "\n" not in message for _, message in problems(schema))


def test_a_schema_that_is_nested_beyond_reason() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"items": schema}
    assert problems(schema) == []


# ------------------------------------------------------------------------------------------- robustness


HOSTILE = ["(a+)+$", "(" * 400, "[" * 900, "(a|a)*" * 150, "(?:a{9}){9}" * 50, "(?<" * 300, "\\" * 999, "(" * 30_000]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns_do_not_hang_the_linter(pattern: str) -> None:
    with patience():
        report = check_text(json.dumps(checked([rule("regex", pattern=pattern)])), "workflows/a.json")
    assert report.findings


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "and", "or", "not", "value", "pattern", "flags", "min", "max", "schema", "condition"]
            ),
            inner | st.sampled_from(["contains", "regex", "length", "schema"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JUNK)
def test_any_criteria_are_linted_without_a_crash(value: Any) -> None:
    report = check_text(json.dumps(checked(value)), "workflows/a.json")
    assert all("\n" not in finding.message for finding in report.findings)
