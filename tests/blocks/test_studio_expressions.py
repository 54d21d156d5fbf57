"""The expression language of the studio as it ships, case by case: each value is what its JavaScript answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import for_each

from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.blocks.expressions import CONTRACT, STUDIO, holds, parse_expression

VARIABLES: dict[str, Any] = {
    "n": 3,
    "zero": 0,
    "half": 0.5,
    "s": "abc",
    "digits": "10",
    "empty": "",
    "yes": True,
    "no": False,
    "nothing": None,
    "o": {"p": 1, "q": "x", "none": None, "off": False, "length": 7},
    "items": [1, 2, 3],
    "blank": [],
    "single": [5],
    "$a_1": "named",
}

VALUES = [
    # literals and their truth
    ("true", True),
    ("false", False),
    ("1", True),
    ("0", False),
    ("0.0", False),
    ("1.", True),
    ("1.2.3", False),  # not a number, which is false
    ("'a'", True),
    ('"a"', True),
    ("''", False),
    ("'false'", True),
    # white space is that of JavaScript
    ("\u00a0\tyes\n", True),
    ("n==3", True),
    # strings have no escapes
    (r"'a\n' == 'a\n'", True),
    (r"'\' == '\'", True),
    ("'it\"s' == \"it's\"", False),
    ("'two\nlines' == 'two\nlines'", True),
    # names
    ("yes", True),
    ("no", False),
    ("$a_1 == 'named'", True),
    ("missing", False),
    ("nothing", False),
    ("null", False),
    ("undefined", False),
    ("items", True),
    ("blank", True),
    ("o", True),
    ("zero", False),
    ("empty", False),
    # undefined and null become false
    ("missing == false", True),
    ("nothing == false", True),
    ("missing == nothing", True),
    ("missing != true", True),
    ("missing == 0", False),
    ("missing == ''", False),
    ("o.none == false", True),
    ("n == null", False),
    # members of objects and arrays, and of nothing else
    ("items.length > 0", True),
    ("blank.length > 0", False),
    ("items.length == 3", True),
    ("o.p == 1", True),
    ("o.length == 7", True),
    ("o.missing", False),
    ("o.missing == false", True),
    ("s.length", False),
    ("s.length == false", True),
    ("n.p == false", True),
    ("missing.p == false", True),
    ("nothing.p == false", True),
    ("items.first == false", True),
    # equality is strict
    ("n == 3", True),
    ("n == 3.0", True),
    ("n == '3'", False),
    ("n != '3'", True),
    ("yes == 1", False),
    ("no == 0", False),
    ("s == 'abc'", True),
    ("1.2.3 == 1.2.3", False),
    ("items == items", True),
    ("items == blank", False),
    # order is that of JavaScript
    ("n < 4", True),
    ("n > 3", False),
    ("n >= 3", True),
    ("n <= 2", False),
    ("s < 'abd'", True),
    ("'B' < 'a'", True),
    ("'\U0001f600' < '\uffee'", True),  # by code units, not by characters
    ("'10' < '9'", True),
    ("digits > 9", True),
    ("s < 5", False),
    ("s >= 5", False),
    ("yes > 0", True),
    ("yes >= 1", True),
    ("no <= 0", True),
    ("missing < 1", True),
    ("empty <= 0", True),
    ("single > 4", True),
    ("items > 0", False),  # '1,2,3' is not a number
    ("items < 'z'", True),
    ("blank <= 0", True),
    ("o < 'z'", True),  # '[object Object]'
    ("o <= 1", False),
    # negation binds to the term behind it
    ("!no", True),
    ("!!yes", True),
    ("!n == false", True),
    ("!missing", True),
    ("n == !no", False),
    ("yes == !no", True),
    ("!o.off && !items.none", True),
    # logic: || binds least, and both give booleans
    ("yes || yes && no", True),
    ("(yes || yes) && no", False),
    ("no || n", True),
    ("(no || n) == true", True),
    ("(n && s) == s", False),
    ("n > 1 && n < 5 || no", True),
    # parentheses make a chain of comparisons one again
    ("(n > 1) == true", True),
    ("(n) == 3", True),
    ("((n)) == (3)", True),
    ("(1 < 2) < 2", True),
]

ERRORS = [
    ("", 1, "expected a value"),
    ("   ", 4, "expected a value"),
    ("n = 3", 3, "assignment"),
    ("n === 3", 5, "assignment"),
    ("n !== 3", 5, "assignment"),
    ("n =", 3, "assignment"),
    ("run()", 1, "calls"),
    ("o.run()", 1, "calls"),
    ("items.includes(1)", 1, "calls"),
    ("o.__proto__", 3, "not allowed"),
    ("o.constructor", 3, "not allowed"),
    ("o.prototype", 3, "not allowed"),
    ("__proto__", 1, "not allowed"),
    ("constructor", 1, "not allowed"),
    ("prototype == 1", 1, "not allowed"),
    ("no && o.constructor", 9, "not allowed"),  # the other side is read too
    ("yes || run()", 8, "calls"),
    ("o.p.q", 4, "one property"),
    ("o.true", 3, "not allowed"),
    ("o.1", 3, "property name"),
    ("o.", 3, "property name"),
    ("'a'.length", 4, "expected an operator"),
    ("(items).length", 8, "expected an operator"),
    ("true.p", 5, "expected an operator"),
    (".5", 1, "expected a value"),
    ("-1", 1, "unexpected character"),
    ("n < -1", 5, "unexpected character"),
    ("n == 1e3", 7, "expected an operator"),
    ("12abc", 3, "expected an operator"),
    ("1 < n < 5", 7, "chained"),
    ("n > 1 == true", 7, "chained"),
    ("n == 3 == true", 8, "chained"),
    ("n == 3 != no", 8, "chained"),
    ("n & 1", 3, "unexpected character"),
    ("n | 1", 3, "unexpected character"),
    ("n + 1", 3, "unexpected character"),
    ("items[0]", 6, "unexpected character"),
    ("n ? 1 : 2", 3, "unexpected character"),
    ("`a`", 1, "unexpected character"),
    ("naïve", 3, "unexpected character"),
    ("'open", 1, "not closed"),
    (r"'it\'s'", 6, "expected an operator"),
    ("(n", 3, "expected ')'"),
    ("n)", 2, "expected an operator"),
    ("n &&", 5, "expected a value"),
    ("&& n", 1, "expected a value"),
    ("n ==", 5, "expected a value"),
    ("== n", 1, "expected a value"),
    ("!", 2, "expected a value"),
    ("n s", 3, "expected an operator"),
    ("()", 2, "expected a value"),
]


@for_each("text, value", VALUES)
def test_values(text: str, value: bool) -> None:
    assert isinstance(parse_expression(text, STUDIO), Ok)
    assert holds(text, VARIABLES, STUDIO) is value


@for_each("text, column, reason", ERRORS)
def test_errors(text: str, column: int, reason: str) -> None:
    parsed = parse_expression(text, STUDIO)
    assert isinstance(parsed, Err), text
    assert (parsed.error.column, reason in parsed.error.reason) == (column, True), parsed.error
    assert not holds(text, VARIABLES, STUDIO)


@pytest.mark.parametrize(
    ("text", "contract", "studio"),
    [
        ("items.length > 0", False, True),
        ("nothing == false", False, True),
        ("digits > 9", False, True),
        ("n > 1 == true", True, False),
        ("zero > -1", True, False),
        (r"'it\'s' != s", True, False),
    ],
)
def test_where_the_languages_part(text: str, contract: bool, studio: bool) -> None:
    assert (holds(text, VARIABLES, CONTRACT), holds(text, VARIABLES, STUDIO)) == (contract, studio)


@given(st.text(alphabet="ab.()!=<>&|'\" 1-\\", max_size=40))
def test_any_text_gets_an_answer(text: str) -> None:
    match parse_expression(text, STUDIO):
        case Ok(expression):
            assert expression.holds({"a": 1, "b": {"a": "x"}}) in (True, False)
        case Err(problem):
            assert 1 <= problem.column <= len(text) + 1
