"""YAML: values by the 1.2 core schema, exact positions, and a plain no to the rest of the language."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from effort import times
from hypothesis import given, settings
from hypothesis import strategies as st

from workrail_lint.base import js
from workrail_lint.documents import pointer as pointers
from workrail_lint.documents.json_reader import MAX_DEPTH
from workrail_lint.documents.yaml_reader import YamlDocument, read_yaml
from workrail_lint.findings import Position, Span

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["", "yes", "0123", "1e3", "0o7", "1:30", "2024-01-02", "<<", "=", "a: b", "- x", "# c", " x "])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab-_ :#é😀1", max_size=6), inner, max_size=4),
    max_leaves=12,
)
STYLES = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([True, False, None]),
        "allow_unicode": st.booleans(),
        "indent": st.sampled_from([2, 4]),
        "width": st.sampled_from([20, 80]),
        "explicit_start": st.booleans(),
    }
)


def names(document: YamlDocument) -> list[str]:
    return [problem.name for problem in document.problems]


def only_problem(text: str | bytes, name: str) -> tuple[YamlDocument, str]:
    """Read a text that has one problem; the document and the text the problem covers."""
    document = read_yaml(text)
    assert names(document) == [name], document.problems
    problem = document.problems[0]
    return document, document.text[problem.start : problem.end]


def nodes(root: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    stack: list[tuple[str, Any]] = [("", root)]
    while stack:
        place, value = stack.pop()
        found[place] = value
        if isinstance(value, dict | list):
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            stack += [(pointers.child(place, token), inner) for token, inner in entries]
    return found


# -- values and positions ------------------------------------------------------------------------------------

TASKS = """\
# the backlog
project: Löwe
tasks:
  - id: T-001
    done_when: ["a", 'b']   # two
    goal: >
      Build
      the form

  - {id: T-002, ok: true, none: ~}
"""


def test_a_document() -> None:
    document = read_yaml(TASKS)
    assert document.readable
    assert document.problems == []
    assert document.value == {
        "project": "Löwe",
        "tasks": [
            {"id": "T-001", "done_when": ["a", "b"], "goal": "Build the form\n"},
            {"id": "T-002", "ok": True, "none": None},
        ],
    }


def test_positions() -> None:
    document = read_yaml(TASKS)

    def text(pointer: str, on_name: bool = False) -> str:
        span = document.locate(pointer, on_name)
        assert span is not None
        return TASKS[span.start.offset : span.end.offset]

    assert text("/project") == "Löwe"
    assert text("/tasks", on_name=True) == "tasks"
    assert text("/tasks/0/done_when") == "[\"a\", 'b']"
    assert text("/tasks/0/done_when/1") == "'b'"
    assert text("/tasks/0/goal") == ">\n      Build\n      the form"
    assert text("/tasks/0").startswith("id: T-001")
    assert text("/tasks/0").endswith("the form")
    assert text("/tasks/1") == "{id: T-002, ok: true, none: ~}"
    assert text("").startswith("project:")
    assert document.locate("/tasks/0/id") == Span(Position(4, 9, 43, 44), Position(4, 14, 48, 49))
    assert document.locate("/tasks/2") is None
    assert document.locate("/tasks/0", on_name=True) == document.locate("/tasks/0")


def test_a_byte_order_mark_and_windows_lines() -> None:
    document = read_yaml("\ufeffa: 1\r\nb: 2\r\n".encode())
    assert document.value == {"a": 1, "b": 2}
    span = document.locate("/b")
    assert span is not None
    assert (span.start.line, span.start.column) == (2, 4)


@settings(deadline=None)
@given(VALUES, STYLES)
def test_what_was_dumped_is_read_back(value: Any, style: dict[str, Any]) -> None:
    document = read_yaml(yaml.safe_dump(value, sort_keys=False, **style))
    assert document.readable
    assert not any(problem.blocking for problem in document.problems)
    doubtful = {problem.pointer for problem in document.problems}
    if "yaml-ambiguous-line-break" in names(document):
        return
    read = nodes(document.value)
    assert list(read) == list(nodes(value))
    for place, expected in nodes(value).items():
        if isinstance(expected, dict | list):
            assert type(read[place]) is type(expected)
        elif place not in doubtful:
            assert js.strict_equal(read[place], expected), place


@settings(deadline=None)
@given(VALUES, STYLES)
def test_every_value_stands_where_it_is_said_to_stand(value: Any, style: dict[str, Any]) -> None:
    document = read_yaml(yaml.safe_dump(value, sort_keys=False, **style))
    for place, expected in nodes(document.value).items():
        span = document.locate(place)
        assert span is not None
        # Blanks in front keep a block's later lines in line with its first one.
        padding = " " * (span.start.column - 1)
        alone = read_yaml(padding + document.text[span.start.offset : span.end.offset])
        assert js.deep_equal(alone.value, expected), place
        if place and isinstance(pointers.resolve(document.value, pointers.parent(place)), dict):
            name = document.locate(place, on_name=True)
            assert name is not None
            written = yaml.safe_load(document.text[name.start.offset : name.end.offset])
            assert str(written) == pointers.decode(place)[-1] or document.problems


@settings(deadline=None)
@given(VALUES)
def test_json_is_read_as_json(value: Any) -> None:
    # Dumped as ASCII, so that characters beyond U+FFFF come as two escapes each.
    document = read_yaml(json.dumps(value))
    assert [problem for problem in document.problems if problem.blocking] == []
    if not document.problems:
        assert js.deep_equal(document.value, value)


# -- scalars -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        ("12", 12),
        ("-7", -7),
        ("+3", 3),
        ("1.50", 1.5),
        ("-.5e+1", -5),
        ("1.0", 1),
        ("0x1F", 31),
        ("9007199254740993", 9007199254740992),
        ("0x20000000000001", 9007199254740992),
        ("'true'", "true"),
        ('"12"', "12"),
        ("tRue", "tRue"),
        ("1.2.3", "1.2.3"),
        ("v1", "v1"),
        ("=", "="),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud800"', "\ud800"),
    ],
)
def test_a_scalar(text: str, value: Any) -> None:
    document = read_yaml(f"- {text}\n")
    assert document.value == [value]
    assert type(document.value[0]) is type(value)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        *((word, "yaml-ambiguous-boolean", word) for word in ("yes", "No", "ON", "off")),
        ("0123", "yaml-ambiguous-number", 123),
        ("08", "yaml-ambiguous-number", 8),
        ("0o17", "yaml-ambiguous-number", 15),
        ("0b11", "yaml-ambiguous-number", "0b11"),
        ("1_000", "yaml-ambiguous-number", "1_000"),
        ("1_0.5", "yaml-ambiguous-number", "1_0.5"),
        ("1:30", "yaml-ambiguous-number", "1:30"),
        ("1:30.5", "yaml-ambiguous-number", "1:30.5"),
        ("1e3", "yaml-ambiguous-number", 1000),
        ("-.5", "yaml-ambiguous-number", -0.5),
        ("2024-01-02", "yaml-ambiguous-date", "2024-01-02"),
        ("2024-1-2 3:04:05 +01:00", "yaml-ambiguous-date", "2024-1-2 3:04:05 +01:00"),
    ],
)
def test_a_scalar_that_readers_disagree_on(text: str, name: str, value: Any) -> None:
    document, covered = only_problem(f"key: {text}\n", name)
    assert document.value == {"key": value}
    assert covered == text
    assert document.problems[0].pointer == "/key"
    assert not document.problems[0].blocking
    assert read_yaml(f"key: '{text}'\n").problems == []


@settings(deadline=None, max_examples=times(75, deep=4_000))
@given(st.text("0123456789_+-.:eExobTZ ", min_size=1, max_size=10) | st.text("yesnoYESNOfTRUEaltruN~", max_size=5))
def test_no_disagreement_goes_unreported(text: str) -> None:
    document = read_yaml(f"[{text}]")
    if not document.readable or document.problems:
        return
    assert isinstance(document.value, list)
    for ours, theirs in zip(document.value, yaml.safe_load(f"[{text}]"), strict=True):
        if isinstance(ours, dict):
            assert ours == theirs
        else:
            assert js.strict_equal(ours, theirs), (ours, theirs)


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999", "0x" + "f" * 300])
def test_a_number_that_json_does_not_have_is_refused(text: str) -> None:
    document, covered = only_problem(f"[{text}]", "yaml-non-finite-number")
    assert document.value == [text]
    assert covered == text
    assert document.problems[0].blocking


def test_a_huge_number_has_no_digit_limit() -> None:
    assert names(read_yaml("[" + "9" * 6000 + "]")) == ["yaml-non-finite-number"]
    assert names(read_yaml("[0o" + "7" * 6000 + "]")) == ["yaml-non-finite-number"]
    assert math.isfinite(js.to_number(read_yaml("[0x" + "f" * 200 + "]").value[0]))  # type: ignore[index]


# -- what is refused ---------------------------------------------------------------------------------------------


def test_anchors_and_aliases() -> None:
    document = read_yaml("a: &it [1]\nb: *it\nc: 3\n")
    assert names(document) == ["yaml-anchor", "yaml-alias"]
    assert [document.text[p.start : p.end] for p in document.problems] == ["&it", "*it"]
    assert [p.pointer for p in document.problems] == ["/a", "/b"]
    assert document.value == {"a": [1], "b": [1], "c": 3}
    assert document.value["a"] is not document.value["b"]
    assert document.node("/b/0") is None  # nothing stands there but the alias


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x yes\nb: *x\n", {"a": "yes", "b": "yes"}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: &x [*x]\n", {"a": [None]}),
        ("a: &x [1]\nb: &y [*x]\nc: *y\n", {"a": [1], "b": [[1]], "c": None}),  # one step and no further
        ("a: &x {k: &y [1]}\nb: *x\nc: *y\n", {"a": {"k": [1]}, "b": {"k": [1]}, "c": [1]}),
    ],
)
def test_what_an_alias_stands_for(text: str, value: object) -> None:
    assert read_yaml(text).value == value


def test_an_alias_of_nothing() -> None:
    document, covered = only_problem("a: *it\n", "yaml-alias-unknown")
    assert covered == "*it"
    assert document.value == {"a": None}


def test_aliases_have_a_budget() -> None:
    part = ", ".join("x" * 99)
    document = read_yaml(f"a: &a [{part}]\nb: [{', '.join(['*a'] * 5000)}]\n")
    repeated = document.value["b"]  # type: ignore[index, call-overload]
    assert repeated.count(None) == 4900


def test_aliases_make_nothing_deeper() -> None:
    half = MAX_DEPTH // 2
    deep = f"{'[' * half}x{']' * half}"
    document = read_yaml(f"- &a {deep}\n- {'[' * half}*a{']' * half}\n- *a\n")
    assert document.readable
    assert document.value[2] == document.value[0]  # type: ignore[index]
    inner = document.value[1]  # type: ignore[index]
    for _ in range(half):
        (inner,) = inner
    assert inner is None


def test_nothing_expands() -> None:
    lines = ["a0: &a0 x"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    document = read_yaml("\n".join(lines))
    assert document.value["a29"] == [None] * 9  # type: ignore[index, call-overload]


def test_an_alias_as_a_key_leaves_the_member_out() -> None:
    document = read_yaml("a: &it x\n*it : 1\nb: 2\n")
    assert names(document) == ["yaml-anchor", "yaml-alias"]
    assert document.value == {"a": "x", "b": 2}


def test_a_merge_key() -> None:
    document, covered = only_problem("<<: {a: 1}\nb: 2\n", "yaml-merge-key")
    assert covered == "<<"
    assert document.value == {"b": 2}
    assert read_yaml("'<<': 1\n").value == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("- !!str 12\n", "!!str", "12"),
        ("- !!int 12\n", "!!int", 12),
        ("- !mine {a: 1}\n", "!mine", {"a": 1}),
        ("- &x !!python/name:os.system 'y'\n", "!!python/name:os.system", "y"),
        ("- ! 12\n", "!", 12),
        ("- !<tag:x> a\n", "!<tag:x>", "a"),
    ],
)
def test_a_tag_is_ignored_and_reported(text: str, tag: str, value: Any) -> None:
    document = read_yaml(text)
    problem = document.problems[-1]
    assert problem.name == "yaml-tag"
    assert document.text[problem.start : problem.end] == tag
    assert document.value == [value]


def test_a_repeated_key() -> None:
    document, covered = only_problem("first: 1\nb: 2\nfirst: 3\n", "yaml-duplicate-key")
    assert covered == "first"
    assert document.problems[0].start == document.text.rindex("first")
    assert "1:1" in document.problems[0].message
    assert document.problems[0].pointer == "/first"
    assert document.value == {"first": 3, "b": 2}
    assert list(document.value) == ["first", "b"]
    span = document.locate("/first")
    assert span is not None
    assert span.start.line == 3


def test_of_a_value_that_is_replaced_no_position_is_left() -> None:
    document = read_yaml("a: {x: [1], y: 2}\na: {y: 3}\n")
    assert document.locate("/a/x") is None
    assert document.locate("/a/x/0") is None
    assert document.node("/a/y").start == document.text.rindex("3")  # type: ignore[union-attr]


def test_a_message_is_one_short_line() -> None:
    key = '"' + "long\\n" * 40 + '"'
    document = read_yaml(f"{key}: 1\n{key}: 2\n")
    assert names(document) == ["yaml-duplicate-key"]
    assert "\n" not in document.problems[0].message
    assert len(document.problems[0].message) < 200


def test_a_key_repeated_in_another_mapping_is_another_key() -> None:
    assert read_yaml("a: {x: 1}\nb: {x: 1}\n").problems == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("12: a\n", "12", {"12": "a"}),
        ("true: a\n", "true", {"true": "a"}),
        ("~: a\n", "~", {"~": "a"}),
        ("?\n: a\n", "", {"": "a"}),
        ("[x, y]: a\nb: c\n", "[x, y]", {"b": "c"}),
        ("? {x: y}\n: {z: 1}\n", "{x: y}", {}),
    ],
)
def test_a_key_that_is_no_text(text: str, key: str, value: Any) -> None:
    document, covered = only_problem(text, "yaml-key-not-string")
    assert covered == key
    assert document.value == value


def test_a_key_that_readers_disagree_on() -> None:
    document, covered = only_problem("on: push\n", "yaml-ambiguous-boolean")
    assert covered == "on"
    assert document.value == {"on": "push"}


def test_a_second_document() -> None:
    document, covered = only_problem("a: 1\n---\nb: 2\n", "yaml-multiple-documents")
    assert covered == "---"
    assert document.value == {"a": 1}
    assert document.readable


@pytest.mark.parametrize("text", ["---\na: 1\n", "a: 1\n...\n", "%YAML 1.2\n---\na: 1\n"])
def test_one_document_may_be_marked(text: str) -> None:
    document = read_yaml(text)
    assert document.problems == []
    assert document.value == {"a": 1}


# -- what can not be read ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "covered"),
    [
        ("a: [1,\n", "yaml-syntax", ""),
        ("a: b: c\n", "yaml-syntax", ":"),
        ("a: 'open\n", "yaml-syntax", ""),
        ("a: @x\n", "yaml-syntax", "@"),
        ('a: "\\UFFFFFFFF"\n', "yaml-syntax", "F"),
        ("%YAML 1." + "9" * 5000 + "\n---\na", "yaml-syntax", "9"),
        ("a:\n\tb: 1\n", "yaml-tab", "\t"),
        ("\t- a\n", "yaml-tab", "\t"),
        ("a: b\x00c\n", "yaml-control-character", "\x00"),
        ("a: \ud800\n", "yaml-control-character", "\ud800"),
        (b"a: \xc3\x28\n", "yaml-invalid-utf8", "\ufffd"),
        ("", "json-syntax", ""),
        ("# only a remark\n", "json-syntax", "# only a remark\n"),
    ],
)
def test_a_text_that_can_not_be_read(text: str | bytes, name: str, covered: str) -> None:
    document, found = only_problem(text, name)
    assert not document.readable
    assert document.value is None
    assert found == covered
    assert document.problems[0].blocking
    assert "\n" not in document.problems[0].message


def test_nesting_ends_at_two_hundred() -> None:
    assert read_yaml("[" * 200 + "]" * 200).problems == []
    for opening in ("[", "- ", "? ", "{a: "):
        document = read_yaml(opening * 100_000)
        assert names(document) == ["yaml-too-deep"]
        assert not document.readable


def test_size() -> None:
    assert read_yaml(b"#" * 999_995 + b"\na: 1").value == {"a": 1}
    document = read_yaml(b"#" * 1_000_001)
    assert names(document) == ["file-too-large"]
    assert "1,000,001" in document.problems[0].message
    assert names(read_yaml("é" * 6, max_bytes=11)) == ["file-too-large"]
    assert read_yaml("é" * 6, max_bytes=12).readable


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_a_line_break_that_only_some_readers_know(character: str) -> None:
    document, covered = only_problem(f"a: 'x{character}y'\n", "yaml-ambiguous-line-break")
    assert covered == character
    assert document.readable
    assert not document.problems[0].blocking


# fmt: off
PIECES = st.sampled_from([
    "a", "b: ", "- ", "? ", ": ", "\n", "  ", "[", "]", "{", "}", ",", "'", '"', "|", "|2-", ">+\n", "&x ", "*x", "!t ",
    "!!str ", "!<a>", "#", "%TAG ! x\n", "---\n", "...\n", "<<: ", "\t", "\\", "\\x4", "\r", "\x00", "😀", "@", "1",
    "yes", "~", "!%ff ", "\ud800", "\ufeff", "\u2028",
])
# fmt: on


@settings(deadline=None, max_examples=times(75, deep=4_000))
@given(st.lists(PIECES, max_size=20).map("".join) | st.text() | st.binary())
def test_nothing_raises_and_every_problem_has_a_place(data: str | bytes) -> None:
    document = read_yaml(data)
    assert document.problems == sorted(document.problems, key=lambda problem: (problem.start, problem.end))
    for problem in document.problems:
        assert 0 <= problem.start <= problem.end <= len(document.text)
        document.source.span(problem.start, problem.end)
    if document.readable:
        for place in nodes(document.value):
            assert document.locate(place) is not None
        assert len(document._nodes) == len(nodes(document.value))
        assert all(problem.pointer in nodes(document.value) for problem in document.problems)
    else:
        assert any(problem.blocking for problem in document.problems)


def test_the_parser_is_loaded_only_to_read() -> None:
    program = "import sys, workrail_lint.documents.yaml_reader; sys.exit('yaml' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[2])
