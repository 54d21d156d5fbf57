"""Classes of rules, the score of a tree, and what follows from both."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.systems.workrail import evidence_score
from workrail_lint.systems.workrail.evidence_score import (
    POINTS,
    EvidenceEvaluation,
    LeafClass,
    schema_class,
    text_class,
)
from workrail_lint.systems.workrail.model.build import step_model
from workrail_lint.systems.workrail.model.workflow import ValidationCriteria, ValidationRule


def model(criteria: Any) -> ValidationCriteria | None:
    made = step_model({"id": "first", "validationCriteria": criteria}, "/steps/0")
    assert made.kind == "standard"
    return made.validation_criteria


def rule_model(rule: dict[str, Any]) -> ValidationRule:
    rules = model([rule])
    assert isinstance(rules, list)
    return rules[0]


def judge(criteria: Any) -> EvidenceEvaluation:
    is_rule = isinstance(criteria, dict) and "type" in criteria
    return evidence_score.evaluate_evidence(rule_model(criteria) if is_rule else model(criteria), PLACE)


def classify(rule: dict[str, Any]) -> tuple[LeafClass, int]:
    return evidence_score.classify(rule_model(rule))


PLACE = "/steps/0/validationCriteria"


def contains(value: str, **members: Any) -> dict[str, Any]:
    return {"type": "contains", "value": value, "message": "m", **members}


def regex(pattern: str, **members: Any) -> dict[str, Any]:
    return {"type": "regex", "pattern": pattern, "message": "m", **members}


def length(low: float | None = None, **members: Any) -> dict[str, Any]:
    return {"type": "length", "message": "m", **({} if low is None else {"min": low}), **members}


FULL = {"and": [regex(r"Finding \d+:.*severity:(high|medium|low)"), contains("file:"), length(200, max=5000)]}
NUMBERED = regex(r"Finding \d+:")


@pytest.mark.parametrize(
    ("criteria", "classes", "score", "cheap", "verdicts"),
    [
        ([contains("analysisComplete = true")], "FLAG", 0, 23, "flag-only"),
        ([contains("securityReviewComplete")], "FLAG", 0, 22, "flag-only"),
        ([contains("done"), length(10)], "FLAG VACUOUS", 0, 10, "flag-only"),
        ([regex(".*")], "VACUOUS", 0, 0, "vacuous"),
        ([contains("banana")], "KEYWORD", 1, 6, "trivially-satisfiable single-check"),
        (FULL, "EVIDENCE STRUCTURE FLOOR", 7, 200, ""),
        ({"or": [FULL, contains("no issues")]}, "EVIDENCE STRUCTURE FLOOR FLAG", 0, 9, "or-bypass"),
        ({"or": [NUMBERED, contains("no issues found")]}, "EVIDENCE FLAG", 0, 10, "or-bypass"),
        ({"or": [NUMBERED, contains("nothing to report")]}, "EVIDENCE KEYWORD", 1, 10, "trivially-satisfiable"),
        ({"and": [NUMBERED]}, "EVIDENCE", 3, 10, "no-substance-floor"),
    ],
)
def test_worked_cases(criteria: Any, classes: str, score: int, cheap: int, verdicts: str) -> None:
    judgement = judge(criteria)
    assert [leaf.leaf_class.value for leaf in judgement.leaves] == classes.split()
    assert (judgement.score, judgement.cheap) == (score, cheap)
    assert [verdict.value for verdict in judgement.verdicts] == [f"criteria-{name}" for name in verdicts.split()]


# --------------------------------------------------------------------------------------------- contains


@pytest.mark.parametrize(
    "text",
    [
        "analysisComplete = true",
        "analysis.complete == done",
        "Status: OK",
        "status := 'passed'!",
        'ready:"yes".',
        "reviewReviewed",
        "buildOk",
        "security_review_complete",
        "phase-1-done",
        "SECURITY-REVIEW-DONE",
        "done",
        "Yes.",
        "1",
        "LGTM!",
        "no issues found",
        "review is complete",
        "implementation finished.",
        "  done \n",
        "_flag=true",
    ],
)
def test_flags(text: str) -> None:
    assert text_class(text) is LeafClass.FLAG


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", LeafClass.VACUOUS),
        (" \ufeff\n", LeafClass.VACUOUS),
        ("# Summary", LeafClass.STRUCTURE),
        ("## done", LeafClass.STRUCTURE),
        ("Verdict:", LeafClass.STRUCTURE),
        ("file:", LeafClass.STRUCTURE),
        ("x" * 39 + ":", LeafClass.STRUCTURE),
        ("x" * 40 + ":", LeafClass.KEYWORD),
        ("because of", LeafClass.EVIDENCE_WEAK),
        ("Trade-off", LeafClass.EVIDENCE_WEAK),
        ("EXPECTED", LeafClass.EVIDENCE_WEAK),
        ("see https://x", LeafClass.EVIDENCE_WEAK),
        ("src/a.py:12", LeafClass.EVIDENCE_WEAK),
        ("a.py:x", LeafClass.KEYWORD),
        ("banana", LeafClass.KEYWORD),
        ("Done deal", LeafClass.KEYWORD),
        ("AnalysisComplete", LeafClass.KEYWORD),  # the camel form starts in lower case
        ("task is nearly complete", LeafClass.KEYWORD),
        ("1 = maybe", LeafClass.KEYWORD),
    ],
)
def test_other_texts(text: str, expected: LeafClass) -> None:
    assert text_class(text) is expected


def test_a_missing_value_is_vacuous() -> None:
    assert classify({"type": "contains", "message": "m"}) == (LeafClass.VACUOUS, 0)
    assert classify(contains("\U0001f600a")) == (LeafClass.KEYWORD, 3)


# ------------------------------------------------------------------------------------------------- regex


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(", LeafClass.INVALID),
        ("", LeafClass.VACUOUS),
        (".", LeafClass.VACUOUS),
        ("a?", LeafClass.VACUOUS),
        ("^$", LeafClass.VACUOUS),
        ("done", LeafClass.FLAG),
        ("^(?:done|finished)$", LeafClass.FLAG),
        ("done|banana split", LeafClass.FLAG),  # the shortest way through
        ("pear|finished", LeafClass.KEYWORD),
        (r"\b(401|unauthorized)\b", LeafClass.KEYWORD),
        ("## Findings", LeafClass.STRUCTURE),
        ("because", LeafClass.EVIDENCE_WEAK),
        (r"Finding \d+:", LeafClass.EVIDENCE),
        ("/(auth/)?login", LeafClass.EVIDENCE),
        (r"(?=[\s\S]*file)(?=[\s\S]*line).{6}", LeafClass.EVIDENCE),
        (r"ab\d{8}", LeafClass.KEYWORD),  # two letters
        (r"abc\d", LeafClass.KEYWORD),  # four characters
        (r"\d{20}", LeafClass.KEYWORD),
        (r"(finding)?.{9}", LeafClass.KEYWORD),  # no letter is guaranteed
        (r"\s*complete\s*[.!]*", LeafClass.KEYWORD),  # a flag with decoration
        (r"(?:completed|finished)[!.]*", LeafClass.KEYWORD),
        (r"analysisComplete\s*=\s*true", LeafClass.KEYWORD),
        (r"analysis\s+complete", LeafClass.KEYWORD),
        (r"Вывод \d+", LeafClass.EVIDENCE),
        ("x" * 30_000, LeafClass.KEYWORD),
    ],
)
def test_patterns(pattern: str, expected: LeafClass) -> None:
    assert classify(regex(pattern))[0] is expected


def test_pattern_and_flags() -> None:
    assert classify({"type": "regex", "message": "m"}) == (LeafClass.VACUOUS, 0)
    assert classify(regex("abc", flags="z")) == (LeafClass.INVALID, 0)
    assert classify(regex(r"Finding \d+:", flags="i")) == (LeafClass.EVIDENCE, 10)


# ----------------------------------------------------------------------------------------- length, schema


@pytest.mark.parametrize(
    ("low", "expected", "cheap"),
    [
        (None, LeafClass.VACUOUS, 0),
        (-5, LeafClass.VACUOUS, 0),
        (0, LeafClass.VACUOUS, 0),
        (39, LeafClass.VACUOUS, 39),
        (39.5, LeafClass.FLOOR_WEAK, 40),  # no text has 39.5 characters
        (40, LeafClass.FLOOR_WEAK, 40),
        (199, LeafClass.FLOOR_WEAK, 199),
        (200, LeafClass.FLOOR, 200),
    ],
)
def test_lengths(low: float | None, expected: LeafClass, cheap: int) -> None:
    assert classify(length(low)) == (expected, cheap)


def required(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, LeafClass.VACUOUS),
        ({"type": "object"}, LeafClass.VACUOUS),
        ({"type": "object", "title": "T", "description": "D"}, LeafClass.VACUOUS),
        (required(done={"type": "boolean"}), LeafClass.FLAG),
        (required(done={"const": True}, state={"enum": ["done", "ok"]}), LeafClass.FLAG),
        (required(state={"enum": ["done", "blocked"]}), LeafClass.STRUCTURE),
        (required(done={"type": "boolean"}, why={"type": "string", "minLength": 10}), LeafClass.EVIDENCE),
        (required(why={"type": "string", "minLength": 9}), LeafClass.STRUCTURE),
        (required(why={"type": "string", "pattern": "^F"}), LeafClass.EVIDENCE),
        (required(findings={"type": "array", "minItems": 1}), LeafClass.EVIDENCE),
        (required(findings={"type": "array"}), LeafClass.STRUCTURE),
        (required(place={"type": "object", "required": ["file"]}), LeafClass.EVIDENCE),
        (required(place={"type": "object", "required": []}), LeafClass.STRUCTURE),
        ({"required": ["x"]}, LeafClass.STRUCTURE),
        ({"properties": {"why": {"type": "string", "minLength": 10}}}, LeafClass.STRUCTURE),  # may be left out
        ({"type": "array", "minItems": 3}, LeafClass.STRUCTURE),
    ],
)
def test_schemas(schema: Any, expected: LeafClass) -> None:
    assert schema_class(schema) is expected
    assert classify({"type": "schema", "schema": schema, "message": "m"}) == (expected, 2)


# -------------------------------------------------------------------------------------------------- trees


def test_identical_rules_count_once() -> None:
    again = {**contains("banana"), "message": "another"}
    assert judge([contains("banana"), again]).score == 1
    assert judge([contains("banana"), contains("pear")]).score == 2
    schema = {"type": "schema", "schema": required(a={"type": "array"}), "message": "m"}
    assert judge([schema, {**schema, "schema": required(a={"type": "array"})}]).score == 2


def test_only_three_of_a_class_count_and_ten_is_the_cap() -> None:
    assert judge([contains(word) for word in ("apple", "pear", "plum", "fig", "date")]).score == 3
    many = [regex(rf"{word} \d+ items") for word in ("Finding", "Cause", "Risk")]
    assert judge([*many, length(200), contains("# A"), contains("# B")]).score == 10


def test_nested_conjunctions_are_one() -> None:
    nested = {"and": [contains("apple"), {"and": [contains("apple"), {"and": [contains("pear"), length(50)]}]}]}
    assert (judge(nested).score, judge(nested).cheap) == (3, 50)


def test_a_conditional_rule_guarantees_nothing() -> None:
    sometimes = regex(r"Finding \d+:", condition={"var": "deep"})
    assert (judge([sometimes]).score, judge([sometimes]).cheap) == (0, 0)
    assert judge([sometimes, length(200)]).score == 2
    assert not judge([length(200, condition={"var": "deep"})]).has_floor


def test_not_guarantees_nothing() -> None:
    forbidden = {"not": contains("TODO")}
    assert [verdict.value for verdict in judge(forbidden).verdicts] == ["criteria-vacuous"]
    assert judge({"and": [NUMBERED, length(200), forbidden]}).score == 5
    assert (
        judge({"and": [{"not": contains("done")}, contains("a longer phrase that has to be in the answer")]}).main
        is None
    )
    # A weak branch below a `not` lets nobody pass.
    assert judge({"and": [NUMBERED, length(200), {"not": {"or": [NUMBERED, contains("done")]}}]}).bypass is None


def test_an_or_is_its_weakest_branch() -> None:
    assert judge({"or": [length(200), length(300)]}).has_floor
    assert not judge({"or": [length(200), contains("pear")]}).has_floor
    tree = {"and": [length(300), {"or": [NUMBERED, contains("done")]}]}
    judgement = judge(tree)
    assert judgement.bypass == "/steps/0/validationCriteria/and/1"
    assert judgement.cheap == 300


def test_places() -> None:
    leaves = judge({"and": [contains("a"), {"not": contains("b")}]}).leaves
    assert [(leaf.pointer, leaf.negated) for leaf in leaves] == [
        (f"{PLACE}/and/0", False),
        (f"{PLACE}/and/1/not", True),
    ]


@pytest.mark.parametrize("criteria", [[], {}, None, "x", {"and": []}, [None, 3], {"or": []}, {"not": []}])
def test_nothing_to_judge(criteria: Any) -> None:
    assert judge(criteria).verdicts == []


def test_a_bare_rule_is_judged_too() -> None:
    assert judge(contains("banana")).score == 1


RULES = st.one_of(
    st.sampled_from(["done", "banana", "# Heading", "because", "", "apple", "pear", "file:"]).map(contains),
    st.sampled_from([".*", r"Finding \d+:", "a|b", "(", r"[a-z]{20}"]).map(regex),
    st.sampled_from([0, 39, 40, 250]).map(length),
    st.just(contains("banana", condition={"var": "x"})),
)
TREES = st.recursive(
    RULES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(lambda parts: {"and": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"or": parts}),
        inner.map(lambda part: {"not": part}),
    ),
    max_leaves=10,
)


@given(TREES)
def test_bounds(tree: Any) -> None:
    judgement = judge(tree)
    assert 0 <= judgement.score <= 10
    assert judgement.cheap >= 0
    assert len(judgement.verdicts) == len(set(judgement.verdicts))


@given(TREES, RULES)
def test_one_more_rule_never_guarantees_less(tree: Any, rule: Any) -> None:
    before, after = judge({"and": [tree]}), judge({"and": [tree, rule]})
    assert after.score >= before.score
    assert after.cheap >= before.cheap


@given(TREES, TREES)
def test_one_more_way_out_never_guarantees_more(tree: Any, other: Any) -> None:
    before, after = judge(tree), judge({"or": [tree, other]})
    assert after.score <= before.score
    assert after.cheap <= before.cheap


def test_deep_trees_are_no_problem() -> None:
    tree: Any = contains("banana")
    for depth in range(5_000):
        tree = {"and": [tree]} if depth % 2 else {"or": [tree, contains("pear")]}
    assert judge(tree).score == 1


def test_every_class_has_points() -> None:
    assert set(POINTS) == set(LeafClass)
