"""What a selection passed over: which comparisons are to blame, and how much of it is told."""

from __future__ import annotations

from typing import Any

import pytest
from effort import times
from engine_ir import for_count, for_each, step, while_condition, workflow
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_workrail.engine.core.interpreter import Interpreter, Selection, find_question
from pytest_workrail.engine.core.outcomes import blame, skipped_list
from pytest_workrail.engine.model.words import MAX_BLOCKERS
from workrail_lint.base.canonical import canonical_bytes
from workrail_lint.base.result import Ok

UNSET = {"kind": "unset"}


def told(condition: Any, context: dict[str, Any], wanted: bool = True) -> list[dict[str, Any]]:
    return [each.to_wire() for each in blame(condition, wanted, context)]


@pytest.mark.parametrize(
    ("condition", "context", "expected"),
    [
        ({"var": "x"}, {}, [{"variable": "x", "operator": "truthy", "actual": UNSET}]),
        ({"var": "x"}, {"x": 1}, []),
        (
            {"not": {"var": "x", "equals": None}},
            {},
            [{"variable": "x", "operator": "equals", "expected": None, "negated": True, "actual": UNSET}],
        ),
        (
            {"and": [{"var": "x", "gt": 3}, {"var": "y"}, {"var": "x", "gt": 3}]},
            {"x": 2, "y": 1},
            [{"variable": "x", "operator": "gt", "expected": 3, "actual": {"kind": "value", "value": 2}}],
        ),
        # The key that decides, and no other; a part that can't be evaluated adds nothing.
        (
            {"and": [{"var": "x", "lt": 1, "equals": "a"}, {"var": "y", "in": "no list"}, {}]},
            {},
            [{"variable": "x", "operator": "equals", "expected": "a", "actual": UNSET}],
        ),
        ([{"var": "x"}], {}, []),
    ],
)
def test_blame(condition: Any, context: dict[str, Any], expected: list[Any]) -> None:
    """@enforces skipped-steps-are-data"""
    assert told(condition, context) == expected


def test_a_large_value_is_measured_and_not_told() -> None:
    (unmet,) = told({"var": "x", "equals": 1}, {"x": "a" * 300})
    assert unmet["actual"] == {"kind": "large", "type": "string", "bytes": 302}


def first(ir: dict[str, Any], context: dict[str, Any], profile: Any = "locked") -> Selection:
    interpreter = Interpreter(ir, profile)
    return interpreter.next(interpreter.start(), context).value


def entries(selection: Selection, context: dict[str, Any]) -> list[Any]:
    return [each.to_wire() for each in list(skipped_list(selection.passed, context).entries)]


def test_steps_loops_and_body_steps_are_told_once_each() -> None:
    """@enforces skipped-steps-are-data"""
    ir = workflow(
        step("gone", when={"var": "a"}),
        while_condition("while", {"var": "b"}, step("inner"), limit=3),
        for_each("each", "files", step("body", when={"var": "currentItem", "equals": "z"}), limit=5),
        step("last", when={"and": [{"var": "x", "equals": 1}, {"var": "x", "equals": 2}]}),
    )
    context = {"files": ["p", "q"], "a": 0}
    found = entries(first(ir, context), context)
    assert [(each["stepId"], each["because"], each.get("loop")) for each in found] == [
        ("gone", "value", None),
        ("while", "unset", None),
        ("body", "value", {"loopId": "each", "iteration": 1}),
        ("last", "never", None),
    ]


def test_until_is_told_as_negated() -> None:
    ir = workflow(while_condition("until", {"var": "done"}, step("inner"), limit=3, kind="until"), step("last"))
    (entry,) = entries(first(ir, {"done": True}), {"done": True})
    assert entry["unmet"] == [
        {"variable": "done", "operator": "truthy", "negated": True, "actual": {"kind": "value", "value": True}}
    ]


def test_a_loop_that_ends_after_a_pass_was_not_passed_over() -> None:
    ir = workflow(while_condition("while", {"var": "b"}, step("inner"), limit=3), step("last"))
    interpreter = Interpreter(ir, "locked")
    begun = interpreter.next(interpreter.start(), {"b": True}).value
    done = interpreter.complete(begun.state, begun.step).value  # type: ignore[arg-type]
    assert interpreter.next(done, {"b": False}).value.passed == ()


@pytest.mark.parametrize(("declined", "variables"), [((), ["n"]), (("n",), [])])
def test_a_loop_left_without_its_variable_is_a_gap_unless_it_was_declined(declined: Any, variables: list[str]) -> None:
    interpreter = Interpreter(workflow(for_count("again", "n", step("inner")), step("last")), "locked")
    found = interpreter.next(interpreter.start(), {}, never_stop=True, is_declined=declined.__contains__).value
    assert found.step is not None
    assert (found.step.step_id, [each.variable for each in found.passed]) == ("last", ["n"])  # type: ignore[union-attr]
    assert [each.key for each in found.gaps] == variables  # type: ignore[union-attr]


@pytest.mark.parametrize(("count", "is_asked"), [(MAX_BLOCKERS, True), (MAX_BLOCKERS + 1, False)])
def test_a_question_has_no_more_variables_than_an_answer_has_blockers(count: int, is_asked: bool) -> None:
    names = [f"v{number:02}" for number in range(count)]
    ir = workflow(step("last", when={"and": [{"var": name} for name in names]}))
    question = find_question(first(ir, {}), {}, frozenset(), lambda patch: Ok(first(ir, dict(patch))))
    assert (None if question is None else sorted(question.patch)) == (names if is_asked else None)


def test_the_budget() -> None:
    many = workflow(*(step(f"s{number}", when={"var": f"v{number}"}) for number in range(40)))
    listed = skipped_list(first(many, {}).passed, {})
    assert (len(listed.entries), listed.omitted) == (25, 15)
    large = workflow(*(step(f"s{number}", when={"var": "v", "equals": "x" * 1000}) for number in range(20)))
    listed = skipped_list(first(large, {}).passed, {})
    assert 0 < len(canonical_bytes([each.to_wire() for each in listed.entries])) <= 8192
    assert len(listed.entries) + listed.omitted == 20


@settings(deadline=None, max_examples=times(40, deep=320))
@given(
    st.lists(
        st.sampled_from(
            [
                {"var": "a"},
                {"and": [{"var": "a", "equals": "x"}, {"var": "b", "gt": 2}]},
                {"or": [{"var": "b", "lt": 0}, {"not": {"var": "c", "not_equals": "y"}}]},
                {"var": "c", "in": ["x", "y"]},
                {"and": [{"var": "c", "equals": "y"}, {"var": "a", "not_equals": "x"}]},
            ]
        ),
        min_size=4,
        max_size=4,
    ),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", "y", 1, 5, False]), max_size=2),
)
def test_the_patch_of_a_question_leads_to_its_step(conditions: list[Any], context: dict[str, Any]) -> None:
    """@enforces unset-set-smallest"""
    ir = workflow(*(step(f"s{place}", when=condition) for place, condition in enumerate(conditions)))
    interpreter = Interpreter(ir, "locked")

    def select(patch: Any) -> Any:
        return interpreter.next(interpreter.start(), {**context, **patch})

    question = find_question(select({}).value, context, frozenset(), select)
    if question is None:
        told_of = entries(select({}).value, context)
        assert not select({}).value.is_complete or all(each["because"] != "unset" for each in told_of)
    else:
        assert select(question.patch).value.step.step_id == question.step_id
