"""Notes for criteria: notes that are offered as fitting are accepted, the others are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_workrail.agents.values import failing_notes, fitting_notes
from pytest_workrail.engine.core.criteria import evaluate_criteria


def rule(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "message": "Not good enough.", **members}


def accepts(criteria: object, notes: str, context: dict[str, Any] | None = None) -> bool:
    return bool(evaluate_criteria(criteria, notes, context or {}).value.valid)


CASES: dict[str, Any] = {
    "contains": [rule("contains", value="## Risks")],
    "several": [
        rule("contains", value="jwt"),
        rule("regex", pattern=r"\b(401|403)\b", flags="i"),
        rule("length", min=50),
    ],
    "narrow": [rule("contains", value="study guide"), rule("length", min=20, max=24)],
    "whole text": {"and": [rule("regex", pattern="^PASS: [a-z]+$")]},
    "lines": [rule("regex", pattern="^PASS$", flags="m"), rule("regex", pattern=r"^Score: \d+$", flags="m")],
    "either": {"or": [rule("length", max=0), rule("contains", value="ok")]},
    "neither": {"not": {"or": [rule("contains", value="Done"), rule("length", min=40)]}},
    "document": [
        rule("schema", schema={"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})
    ],
    "document of a length": [rule("schema", schema={"type": "object"}), rule("length", min=200, max=210)],
    "document with words": [
        rule("schema", schema={"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}),
        rule("contains", value="PASS"),
        rule("regex", pattern=r"\d{4}-\d{2}"),
    ],
    "closed document with words": [
        rule("schema", schema={"properties": {"why": {"type": "string"}}, "additionalProperties": False}),
        rule("contains", value="measured"),
    ],
    "document with an optional member": [
        rule("schema", schema={"type": "object", "properties": {"status": {"enum": ["ok", "bad"]}}}),
        rule("contains", value='"status"'),
    ],
    "list with words": [rule("schema", schema={"type": "array", "minItems": 1}), rule("contains", value="first")],
    "two documents in one": [
        rule("schema", schema={"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
        rule("schema", schema={"type": "object", "required": ["b"], "properties": {"b": {"type": "integer"}}}),
    ],
    "head, body and foot": [
        rule("contains", value="## Risks"),
        rule("regex", pattern="^# Report"),
        rule("regex", pattern="DONE$"),
        rule("contains", value="none"),
    ],
    "head and foot of a length": [
        rule("regex", pattern="^A"),
        rule("regex", pattern="Z$"),
        rule("contains", value="\n"),
        rule("length", min=500, max=500),
    ],
    "capitals": {"and": [{"not": rule("regex", pattern="[a-z]")}, rule("length", min=5)]},
    "digits": {"and": [{"not": rule("regex", pattern="[a-zA-Z]")}, rule("length", min=5)]},
    "the same twice": [rule("regex", pattern=r"^(\d+)-\1$")],
    "the same twice by name": [rule("regex", pattern=r"^(?<day>\d+)/(?<hour>[a-f]+) \k<day>$")],
    "single rule": rule("length", min=3),
    "nested": {"and": [{"or": [rule("contains", value="a")]}, {"not": rule("contains", value="TODO")}]},
}


@pytest.mark.parametrize("name", CASES)
def test_notes_that_fit_and_notes_that_do_not(name: str) -> None:
    criteria = CASES[name]
    fitting = fitting_notes(criteria, {}, "Done: step.")
    assert fitting is not None
    assert accepts(criteria, fitting)
    failing = failing_notes(criteria, {})
    assert failing is not None
    assert failing.strip()
    assert not accepts(criteria, failing)


def test_a_rule_that_does_not_apply_asks_for_nothing() -> None:
    criteria = [rule("contains", value="coverage", condition={"var": "depth", "equals": "full"})]
    assert fitting_notes(criteria, {}, "Done.") == "Done."
    assert "coverage" in (fitting_notes(criteria, {"depth": "full"}, "Done.") or "")
    assert failing_notes(criteria, {}) is None


def test_criteria_that_contradict_themselves() -> None:
    both = [rule("contains", value="long enough"), rule("length", max=5)]
    assert fitting_notes(both, {}, "Done.") is None
    assert fitting_notes([rule("regex", pattern="a", flags="zz")], {}, "Done.") is None
    assert failing_notes({}, {}) is None


def criteria() -> st.SearchStrategy[Any]:
    words = st.text(alphabet="abc XY.#", min_size=1, max_size=8).filter(str.strip)
    rules = st.one_of(
        words.map(lambda value: rule("contains", value=value)),
        st.integers(0, 60).map(lambda low: rule("length", min=low)),
        st.sampled_from([r"\d+", "^[a-z ]", "x$", "[A-Z]"]).map(lambda pattern: rule("regex", pattern=pattern)),
    )
    return st.one_of(
        st.lists(rules, max_size=4),
        st.recursive(
            rules,
            lambda inner: st.one_of(
                st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"and": parts}),
                st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"or": parts}),
                inner.map(lambda part: {"not": part}),
            ),
            max_leaves=4,
        ),
    )


@given(criteria())
def test_whatever_is_offered_is_what_it_claims_to_be(drawn: Any) -> None:
    fitting, failing = fitting_notes(drawn, {}, "Done: step."), failing_notes(drawn, {})
    assert fitting is None or accepts(drawn, fitting)
    assert failing is None or not accepts(drawn, failing)


@given(st.lists(st.text(alphabet="abc #.", min_size=1, max_size=9).filter(str.strip), max_size=4), st.integers(0, 300))
def test_words_and_a_length_can_always_be_met(words: list[str], low: int) -> None:
    drawn = [*(rule("contains", value=word) for word in words), rule("length", min=low)]
    fitting = fitting_notes(drawn, {}, "Done: step.")
    assert fitting is not None
    assert accepts(drawn, fitting)
