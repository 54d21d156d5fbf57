"""The layout of JSON texts: what passes, what is laid out anew, and that nothing but white space changes."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.documents.json_format import formatted, layout_problem

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=15,
)
ROOTS = st.dictionaries(st.text(max_size=4), JSON, max_size=5)
GAP = st.sampled_from(["", "", "", " ", "\n", "\n  ", "\n    ", "\t", "  "])
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\[\]{}",:\s]+')


@st.composite
def texts(draw: st.DrawFn) -> str:
    """JSON in any layout whatever."""
    compact = json.dumps(draw(ROOTS), ensure_ascii=draw(st.booleans()))
    return "".join(draw(GAP) + token for token in TOKENS.findall(compact)) + draw(GAP)


@given(ROOTS)
def test_what_the_usual_serializers_write_passes(value: object) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    assert layout_problem(text) is None
    assert formatted(text) == text


@given(texts())
def test_any_layout_becomes_the_right_one_and_only_white_space_changes(text: str) -> None:
    result = formatted(text)
    assert layout_problem(result) is None
    assert TOKENS.findall(result) == TOKENS.findall(text)
    assert formatted(result) == result


@given(texts())
def test_a_text_that_passes_is_left_as_it_is(text: str) -> None:
    assert (layout_problem(text) is None) == (formatted(text) == text)


@given(ROOTS)
def test_line_ends_are_kept_and_not_complained_about(value: object) -> None:
    text = (json.dumps(value, indent=2) + "\n").replace("\n", "\r\n")
    assert layout_problem(text) is None
    assert formatted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "{}\n",
        '{\n  "a": 1\n}\n',
        '{\n  "a": [1, 2],\n  "b": { "c": "x" }\n}\n',
        '{\n  "a": [\n    "x",\n    [1]\n  ]\n}\n',
        '{\n  "a\\"": "b\\\\"\n}\n',
        '{\n  "a": "] }, {"\n}\n',
    ],
)
def test_tidy(text: str) -> None:
    assert layout_problem(text) is None
    assert formatted(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{}", 1),
        ("{ }\n", 1),
        ('{\n  "a": 1\n}', 3),
        ('{\n  "a": 1\n}\n\n', 4),
        ('{\n  "a": 1\n} \n', 3),
        ('{\n\n  "a": 1\n}\n', 2),
        ('{"a": 1}\n', 1),
        ('{\n    "a": 1\n}\n', 2),
        ('{\n\t"a": 1\n}\n', 2),
        ('{\n  "a":1\n}\n', 2),
        ('{\n  "a" : 1\n}\n', 2),
        ('{\n  "a": 1 \n}\n', 2),
        ('{\n  "a": 1, "b": 2\n}\n', 2),
        ('{\n  "a": "x", "b": "y"\n}\n', 2),
        ('{\n  "a": [1], "b": [2]\n}\n', 2),
        ('{\n  "a": [\n  1\n  ]\n}\n', 3),
        ('{\n  "a": [\n    1\n    ]\n}\n', 4),
        ('{\n  "a": [\n    1]\n}\n', 3),
        ('{\n  "a": [\n    "x", "y"\n  ]\n}\n', 3),
        ('{\n  "a": [ ' + "1, " * 50 + "1 ]\n}\n", 2),
        ('{\n  "a":\n    1\n}\n', 2),
    ],
)
def test_untidy(text: str, line: int) -> None:
    json.loads(text)
    assert layout_problem(text) == line


def test_minified_text_is_opened_up_completely() -> None:
    value = {"a": [1, {"b": []}], "c": {}}
    assert formatted(json.dumps(value)) == json.dumps(value, indent=2) + "\n"


def test_what_the_author_put_on_one_line_stays_there() -> None:
    text = '{ "a":   [1, 2],\n\n "b": {"c": [3]}}'
    assert formatted(text) == '{\n  "a": [1, 2],\n  "b": {"c": [3]}\n}\n'


def test_spellings_are_kept() -> None:
    assert formatted('{"a":1e3,"b":"\\u00e9\\/","c":-0.0}') == '{\n  "a": 1e3,\n  "b": "\\u00e9\\/",\n  "c": -0.0\n}\n'
