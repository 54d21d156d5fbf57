"""The expression language: what is in it, what it answers, and that nothing breaks it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.blocks.expressions import holds, parse_expression
from workrail_lint.systems.blocks.model.build import definition_model
from workrail_lint.systems.blocks.rules.samples import control, workflow

VARIABLES: dict[str, Any] = {
    "n": 3,
    "s": "abc",
    "yes": True,
    "no": False,
    "o": {"p": 1, "q": "x"},
    "list": [],
    "zero": 0,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("no", False),
        ("!no", True),
        ("!!yes", True),
        ("n == 3", True),
        ("n == 3.0", True),
        ("n == '3'", False),
        ("yes == 1", False),
        ("no == 0", False),
        ("n != 4", True),
        ("n > 2 && n <= 3", True),
        ('n < -1 || s == "abc"', True),
        ("s < 'abd'", True),
        ("s < 5", False),
        ("s >= 5", False),
        ("o.p == 1", True),
        ("o.r", False),
        ("n.p", False),
        ("unknown", False),
        ("unknown == false", True),
        ("unknown.x == false", True),
        ("yes || yes && no", True),
        ("(yes || yes) && no", False),
        ("n > 1 == true", True),
        ("'it\\'s' == \"it's\"", True),
        ("'a\\nb' == 'a\\nb'", True),
        ("zero", False),
        ("list", True),
        ("''", False),
        ("true", True),
    ],
)
def test_values(text: str, value: bool) -> None:
    assert isinstance(parse_expression(text), Ok)
    assert holds(text, VARIABLES) is value


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("run()", 1, "calls"),
        ("a.run(1)", 1, "calls"),
        ("a = 1", 3, "assignment"),
        ("a.b.c", 4, "one property"),
        ("a.__proto__", 3, "not allowed"),
        ("a.constructor", 3, "not allowed"),
        ("a.prototype", 3, "not allowed"),
        ("", 1, "expected a value, found the end"),
        ("a &&", 5, "expected a value"),
        ("(a", 3, "expected ')'"),
        ("a b", 3, "expected an operator or the end"),
        ("'open", 1, "not closed"),
        ("a + b", 3, "unexpected character"),
        ("1.2.3", 1, "number"),
        ("12abc", 1, "number"),
        ("-a", 2, "only allowed before a number"),
        ("a.", 3, "property name"),
        ("a[0]", 2, "unexpected character"),
        ("a ? 1 : 2", 3, "unexpected character"),
        ("(" * 60 + "a" + ")" * 60, 52, "nests too deeply"),
        (" || ".join(["a"] * 300), None, "operators"),
    ],
)
def test_slips(text: str, column: int | None, reason: str) -> None:
    parsed = parse_expression(text)
    assert isinstance(parsed, Err), parsed
    assert reason in parsed.error.reason
    assert column in (None, parsed.error.column)
    assert not holds(text, VARIABLES)


def test_variables_are_named_once_and_in_order() -> None:
    parsed = parse_expression("b.x == 1 && (a || !b) && true")
    assert isinstance(parsed, Ok)
    assert parsed.value.variables == ("b", "a")


def test_what_is_no_text_does_not_hold() -> None:
    assert not holds(None, VARIABLES)
    assert not holds(7, VARIABLES)


@given(st.text(alphabet="ab.()!=<>&|'\" 1-\\", max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    match parse_expression(text):
        case Ok(expression):
            assert expression.holds({"a": 1, "b": {"a": "x"}}) in (True, False)
        case Err(slip):
            assert 1 <= slip.column <= len(text) + 1
            assert "\n" not in slip.reason


def test_deep_and_long_texts_are_refused_quickly() -> None:
    for text in ("!" * 100_000 + "a", "(" * 100_000, "a && " * 100_000 + "a", "'" + "\\'" * 100_000):
        assert isinstance(parse_expression(text), Err)


EXPRESSIONS = st.recursive(
    st.sampled_from(["yes", "no", "n == 3", "s == 'x'", "o.p < 2"]),
    lambda inner: st.one_of(
        inner.map(lambda text: f"!({text})"),
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
    ),
    max_leaves=12,
)


def by_python(text: str) -> bool:
    """What Python makes of an expression that both languages read alike."""
    replaced = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ").replace("o.p", "o['p']")
    return bool(eval(replaced, {"__builtins__": {}}, dict(VARIABLES)))


@given(EXPRESSIONS)
def test_logic_is_that_of_python(text: str) -> None:
    assert holds(text, VARIABLES) == by_python(text)


def test_what_a_run_sets_by_itself_is_declared() -> None:
    """A condition stores its value under its id, a loop its item, a sub-workflow what is mapped out of it."""
    decide = {"expression": "true", "trueBranchNodeId": "each", "falseBranchNodeId": "sub"}
    each = {"collectionVariable": "tasks", "itemVariable": "task", "bodyNodeIds": []}
    inner = {"workflowId": "other", "outputMappings": {"result": "inner"}}
    definition = workflow(
        control("decide", "condition", conditionConfig=decide),
        control("each", "forEach", forEachConfig=each),
        control("sub", "subWorkflow", subWorkflowConfig=inner),
        variables=[{"name": "tasks", "type": "array", "required": True}],
    )
    assert definition_model(definition).declared == {"tasks", "decide", "task", "result"}
