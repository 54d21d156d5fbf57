"""JSON Lines: one value per line, each with its place in the file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.documents.jsonl_reader import read_jsonl


def test_values_and_places() -> None:
    document = read_jsonl('{"a": 1}\n\n{"b": {"c": "x"}}\n')
    assert document.value == [{"a": 1}, None, {"b": {"c": "x"}}]
    assert [line.is_blank for line in document.lines] == [False, True, False]
    span = document.locate("/2/b/c")
    assert span is not None
    assert (span.start.line, span.start.column) == (3, 13)
    name = document.locate("/2/b", True)
    assert name is not None
    assert document.text[name.start.offset : name.end.offset] == '"b"'
    whole = document.locate("/0")
    assert whole is not None
    assert document.text[whole.start.offset : whole.end.offset] == '{"a": 1}'
    assert document.locate("") is not None
    assert document.locate("/0/z") is None
    assert document.locate("/9") is None
    assert document.locate("/x") is None


@pytest.mark.parametrize(
    ("text", "lines", "ends"),
    [("", 0, True), ("\n", 1, True), ("1", 1, False), ("1\r\n2\r\n", 2, True), ("1\n2", 2, False)],
)
def test_line_ends(text: str, lines: int, ends: bool) -> None:
    document = read_jsonl(text)
    assert len(document.lines) == lines
    assert document.ends_with_newline is ends


def test_a_bad_line_is_a_matter_of_its_own() -> None:
    document = read_jsonl('{"a": 1}\nchanges: x\n{"a": 2}\n')
    assert document.readable
    assert document.problems == []
    assert document.value == [{"a": 1}, None, {"a": 2}]
    bad = document.lines[1].document
    assert bad is not None
    assert bad.problems


def test_marks_bytes_and_size() -> None:
    assert read_jsonl('\ufeff{"a": 1}\n').value == [{"a": 1}]
    broken = read_jsonl(b'{"a": "\xff"}\n')
    assert not broken.readable
    assert [p.name for p in broken.problems] == ["jsonl-invalid-utf8"]
    assert [p.name for p in read_jsonl(b"1\n" * 6, max_bytes=10).problems] == ["file-too-large"]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(_VALUES, max_size=5))
def test_what_was_written_is_read(values: list[object]) -> None:
    text = "".join(json.dumps(value) + "\n" for value in values)
    document = read_jsonl(text)
    assert document.value == values
    for index, line in enumerate(document.lines):
        span = document.locate(f"/{index}")
        assert span is not None
        assert document.text[span.start.offset : span.end.offset] == line.text


@given(st.text(max_size=100))
def test_never_raises(text: str) -> None:
    document = read_jsonl(text)
    assert document.readable
    assert sum(len(line.text) for line in document.lines) <= len(text)
