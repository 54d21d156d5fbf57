"""The reader: strict, recovering, exact about places."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_format import formatted, layout_problem
from workrail_lint.documents.json_reader import JsonDocument, deeper_than, read_json
from workrail_lint.documents.json_recovery import parse

_scalars = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False) | st.text()
_json = st.recursive(_scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def names(document: JsonDocument) -> list[str]:
    return [problem.name for problem in document.problems]


def places(value: object, pointer: str = "") -> list[str]:
    found = [pointer]
    if isinstance(value, dict):
        for name, item in value.items():
            found += places(item, pointers.child(pointer, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += places(item, f"{pointer}/{index}")
    return found


@given(st.dictionaries(st.text(), _json, min_size=1), st.sampled_from([None, 2]), st.randoms(use_true_random=False))
@example({"a": ["}", {"b": "]\n"}], "c": [1, {}], "d": [[2]]}, None, random.Random(1))
def test_places_in_a_text_that_is_laid_out(value: object, indent: int | None, order: random.Random) -> None:
    text = formatted(json.dumps(value, indent=indent).replace("Infinity", "1e400"))
    assert layout_problem(text) is None
    known, document = parse(text, 2_000).nodes, read_json(text)
    document.is_laid_out = True
    pointers_in_it = places(json.loads(text))
    order.shuffle(pointers_in_it)  # a search goes on where the one before ended
    for place in pointers_in_it:
        node = document.node(place)
        assert node is not None
        assert (node.start, node.end, node.name) == (known[place].start, known[place].end, known[place].name)
        assert document.node(f"{place}/none") is None or f"{place}/none" in known


@given(_json, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_valid_json_is_read_and_every_value_located(value: object, indent: int | str | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, allow_nan=True).replace("Infinity", "1e400")
    document = read_json(text, max_bytes=None)
    assert document.readable
    assert document.problems == []
    assert js.deep_equal(document.value, json.loads(text, parse_int=js.number, parse_float=js.number))
    for place in places(document.value):
        node = document.node(place)
        assert node is not None
        spelled = json.loads(text[node.start : node.end], parse_int=js.number, parse_float=js.number)
        assert js.deep_equal(spelled, pointers.resolve(document.value, place))
        if node.name is not None:
            assert json.loads(text[slice(*node.name)]) == pointers.decode(place)[-1]


@given(_json)
def test_the_recovering_parser_reads_the_same_language(value: object) -> None:
    text = json.dumps(value, allow_nan=True).replace("Infinity", "1e400")
    parsed = parse(text, 200)
    assert parsed.complete
    assert parsed.problems == []
    assert js.deep_equal(parsed.value, read_json(text, max_bytes=None).value)


@given(st.text(alphabet="{}[]\",:0123456789.eE+-truefalsn \\/*\n'a", max_size=60))
@example('{"a":1,}')
@example("[1 2")
@example('{"a" 1}')
def test_any_text_gives_a_verdict_like_the_standard_library(text: str) -> None:
    document = read_json(text)
    try:
        json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
        valid = True
    except ValueError:
        valid = False
    blocking = [problem for problem in document.problems if problem.name != "json-duplicate-key"]
    assert (not blocking) == valid
    for problem in document.problems:
        assert 0 <= problem.start <= problem.end <= len(text)


@given(st.binary(max_size=80))
def test_any_bytes_are_survived(data: bytes) -> None:
    for parity in (False, True):
        document = read_json(data, parity=parity)
        assert document.readable or document.problems


@pytest.mark.parametrize(
    ("text", "expected", "value"),
    [
        ('{"a":1} // x', ["json-comment"], {"a": 1}),
        ('{/* x */"a":1}', ["json-comment"], {"a": 1}),
        ("[1,2,]", ["json-trailing-comma"], [1, 2]),
        ('{"a":NaN}', ["json-syntax"], {"a": None}),
        ('{"a":-Infinity}', ["json-syntax"], {"a": None}),
        ("{'a': 'b', 'c': 'd'}", ["json-syntax", "json-syntax"], {"a": "b", "c": "d"}),
        ("{a: 1, b: 2}", ["json-syntax"], {"a": 1, "b": 2}),
        ('{"a": demo}', ["json-syntax"], {"a": "demo"}),
        ("[1 2]", ["json-syntax"], [1, 2]),
        ('{"a":1,"a":2}', ["json-duplicate-key"], {"a": 2}),
        ('\ufeff{"a":1}', ["json-bom"], {"a": 1}),
    ],
)
def test_slips_are_named_and_recovered_from(text: str, expected: list[str], value: object) -> None:
    document = read_json(text)
    assert document.readable
    assert names(document) == expected
    assert document.value == value


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", "json-syntax"),
        (" \n\t ", "json-syntax"),
        ('{"a"', "json-syntax"),
        ('"abc', "json-syntax"),
        ('"a\nb"', "json-syntax"),
        ('"\\x"', "json-syntax"),
        ("/* x", "json-syntax"),
        ("\u00a0{}", "json-syntax"),
    ],
)
def test_hopeless_text_gives_one_problem(text: str, name: str) -> None:
    document = read_json(text)
    assert not document.readable
    assert names(document) == [name]


@pytest.mark.parametrize(
    "text",
    [
        "{'a':1}",
        "['a']",
        "{a:1}",
        "[01]",
        "[+1]",
        "[.5]",
        '["a\tb"]',
        '["a\nb"]',
        '["\\x"]',
        '["a',
        "[1 /* x",
        "[1 2]",
        "[1",
        "{} x",
        "[tru]",
        "[,]",
        "{,}",
        '{"a" 1}',
        '{"a"=1}',
    ],
)
def test_every_syntax_message_says_what_was_expected(text: str) -> None:
    messages = [problem.message for problem in read_json(text).problems if problem.name == "json-syntax"]
    assert messages
    for message in messages:
        assert re.match(r"line 1, column \d+: expected ", message)
        assert message.isprintable()


def test_syntax_message_gives_line_column_and_expectation() -> None:
    document = read_json('{\n  "a" 1\n}')
    assert document.problems[0].message == "line 2, column 7: expected ':' after the key, found '1'"


@pytest.mark.parametrize(
    ("string", "escape", "column"),
    [
        (r'"\x"', r"\x", 2),
        (r'"ab\\\q"', r"\q", 6),
        (r'"\u12"', r"\u12", 2),
        (r'"\ud800\u12zz"', r"\u12zz", 8),
        ('"\\\n"', r"\U+000A", 2),
    ],
)
def test_an_unknown_escape_is_shown_where_it_stands(string: str, escape: str, column: int) -> None:
    (problem,) = read_json(f'{{"a":\n{string}}}').problems
    assert problem.message == f"line 2, column {column}: expected a valid escape, found {escape}"


def test_the_cut_of_a_repeated_member_leaves_the_winner() -> None:
    text = '{"a": 1,\n "b": 2,\n "a": 3}'
    document = read_json(text)
    (problem,) = document.problems
    assert "line 1, column 2" in problem.message
    assert "line 3, column 2" in problem.message
    start, end = problem.removes[0]
    assert json.loads(text[:start] + text[end:]) == {"b": 2, "a": 3}
    assert list(document.value) == ["a", "b"]  # type: ignore[arg-type]
    assert document.locate("/a").start.line == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"a":1/* x */}', '{"a":1}'),
        ('{"a":1/* x */ ,"b":2}', '{"a":1 ,"b":2}'),
        ("[1/* x */2]", None),  # as one number it would be another value
        ("[tru/**/e]", None),
        ("[1/**//**/2]", None),
    ],
)
def test_removing_a_comment_never_joins_what_it_keeps_apart(text: str, kept: str | None) -> None:
    comments = [problem for problem in read_json(text).problems if problem.name == "json-comment"]
    removes = [cut for problem in comments for cut in problem.removes]
    assert bool(removes) == (kept is not None)
    for start, end in removes:
        assert text[:start] + text[end:] == kept


def test_hundred_thousand_brackets_are_one_finding() -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000):
        for parity in (False, True):
            document = read_json(text, parity=parity)
            assert names(document) == ["json-too-deep"]
            assert not document.readable


@pytest.mark.parametrize(
    ("depth", "parity", "readable", "problems", "blocking"),
    [
        (200, False, True, [], []),
        (201, False, False, ["json-too-deep"], [True]),
        (201, True, True, ["json-too-deep"], [False]),
        (2000, True, True, ["json-too-deep"], [False]),
        (2001, True, False, ["json-too-deep"], [True]),
    ],
)
def test_depth_limits(depth: int, parity: bool, readable: bool, problems: list[str], blocking: list[bool]) -> None:
    document = read_json("[" * depth + "]" * depth, parity=parity)
    assert document.readable is readable
    assert names(document) == problems
    assert [problem.blocking for problem in document.problems] == blocking
    assert deeper_than(document.value, depth - 1) is readable


@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ('[{"a":', "}]"), ('{"a":[', "]}")])
def test_depth_counts_objects_and_lists(opening: str, closing: str) -> None:
    times = 200 // len(closing)
    assert not read_json(opening * times + "1" + closing * times).problems
    wide = "[" + ",".join([opening + "1" + closing] * 300) + "]"
    assert not read_json(wide).problems
    too_deep = "[" + opening * times + "1" + closing * times + "]"
    assert names(read_json(too_deep)) == ["json-too-deep"]


def test_size_limit_is_inclusive() -> None:
    padding = " " * (1_000_000 - 2)
    assert read_json("{}" + padding).readable
    document = read_json("{} " + padding)
    assert names(document) == ["file-too-large"]
    assert not document.readable


def test_bad_utf8_is_refused_and_in_parity_replaced() -> None:
    data = b'{"a":"\xff\xc3\xa9"}'
    document = read_json(data)
    assert not document.readable
    assert "0xff at offset 6" in document.problems[0].message
    parity = read_json(data, parity=True)
    assert parity.value == {"a": "\ufffdé"}
    assert names(parity) == ["json-invalid-utf8"]
    assert "UTF-16" in read_json("{}".encode("utf-16")).problems[0].message


def test_numbers_are_doubles_and_keep_their_spelling() -> None:
    text = '{"a": 9007199254740993, "b": 1e400, "c": 1.0, "d": 2, "e": -0}'
    document = read_json(text)
    assert document.value["a"] == 9007199254740992  # type: ignore[call-overload,index]
    assert document.value["b"] == float("inf")  # type: ignore[call-overload,index]
    assert document.odd_numbers
    assert [number.lexeme for number in document.numbers()] == ["9007199254740993", "1e400", "1.0", "2", "-0"]
    assert all(text[n.start : n.end] == n.lexeme for n in document.numbers())
    assert not read_json('{"a": 1, "b": 0.5}').odd_numbers


def test_lone_surrogates_and_pairs() -> None:
    document = read_json('["\\ud800", "\\ud83d\\ude00"]')
    assert document.value == ["\ud800", "😀"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_and_columns_count_code_points(newline: str) -> None:
    document = read_json(f'{{{newline}  "é😀": "x"{newline}}}')
    span = document.locate("/é😀")
    assert span is not None
    assert (span.start.line, span.start.column) == (2, 9)
    assert span.start.byte_offset - span.start.offset == 1 + 3
    name = document.locate("/é😀", on_name=True)
    assert name is not None
    assert (name.start.column, name.end.column) == (3, 7)


def test_what_is_not_there_has_no_place() -> None:
    document = read_json('{"a":[1]}')
    assert document.locate("/b") is None
    assert document.locate("/a/1") is None
    assert document.locate("/a/x") is None
    assert document.locate("nonsense") is None
