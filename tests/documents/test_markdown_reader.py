"""Markdown: headings where there are headings, lines where they stand, and linear time."""

from __future__ import annotations

import pytest
from effort import patience
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.documents.markdown_reader import plain_text, read_markdown


def outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in read_markdown(text).headings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n", [(1, "A")]),
        ("   ### A ###  \n", [(3, "A")]),
        ("#\n", [(1, "")]),
        ("#A\n", []),
        ("    # A\n", []),
        ("####### A\n", []),
        ("# C#\n", [(1, "C#")]),
        ("# A \\# b\n", [(1, "A # b")]),
        ("A\n===\n", [(1, "A")]),
        ("A\nB\n---\n", [(2, "A B")]),
        ("- A\n---\n", []),
        ("> A\n---\n", []),
        ("| a |\n---\n", []),
        ("\n---\n", []),
        ("A\n\n---\n", []),
        ("```\n# A\n```\n# B\n", [(1, "B")]),
        ("~~~ md\n# A\n```\n~~~\n# B\n", [(1, "B")]),
        ("````\n```\n# A\n````\n# B\n", [(1, "B")]),
        ("```\n# A\n", []),
        ("``` a`b\n# A\n", [(1, "A")]),
        ("- x\n  ```\n  # A\n  ```\n# B\n", [(1, "B")]),
        ("<!--\n# A\n-->\n# B\n", [(1, "B")]),
        ("<!-- x --> y\n# B\n", [(1, "B")]),
        ("---\ntitle: x\n---\n# B\n", [(1, "B")]),
        ("---\ntitle: x\n", [(1, "B")][:0]),
        ("\ufeff# A\n", [(1, "A")]),
        ("# A\r\n\r\n## B\r\n", [(1, "A"), (2, "B")]),
        ("# **A** [b](c) `d` _e_ f_g\n", [(1, "A b d e f_g")]),
        ("# ![logo](x.png) A <br> b\n", [(1, "logo A  b")]),
    ],
)
def test_headings(text: str, expected: list[tuple[int, str]]) -> None:
    assert outline(text) == expected


def test_places() -> None:
    document = read_markdown("# A\n\ntext\n\nB\n---\nmore\n# C\n")
    assert [line.text for line in document.body(0)] == ["", "text", "", "B", "---", "more"]
    assert [line.text for line in document.body(1)] == ["more"]
    span = document.locate("#B")
    assert span is not None
    assert (span.start.line, span.end.line) == (5, 6)
    first = document.locate("")
    assert first is not None
    assert first.end.column == 4
    assert document.locate("#missing") is None
    above = document.heading_of(document.text.index("more"))
    assert above is not None
    assert above.title == "B"
    assert read_markdown("x\n# A").heading_of(0) is None


def test_what_says_something() -> None:
    kinds = [line.says_something for line in read_markdown("# A\n\n<!-- c -->\ntext\n```\nx\n```\n").lines]
    assert kinds == [False, False, False, True, True, True, True]


def test_bad_bytes_and_size() -> None:
    document = read_markdown(b"# caf\xe9\n")
    assert not document.readable
    (problem,) = document.problems
    assert (problem.name, problem.start) == ("markdown-invalid-utf8", 5)
    assert [p.name for p in read_markdown(b"x" * 11, max_bytes=10).problems] == ["file-too-large"]


@given(st.text(alphabet="#=-`~<!> \t\n\r*_[]()\\ab1.|\ufeff", max_size=200))
def test_nothing_is_lost(text: str) -> None:
    document = read_markdown(text)
    assert document.readable
    covered = 0
    for line in document.lines:
        assert line.start >= covered
        raw = text[line.start : line.end]
        assert line.text == (f" {raw[1:]}" if line.start == 0 and raw.startswith("\ufeff") else raw)
        covered = line.end
    assert text[covered:].strip("\r\n") == ""
    for heading in document.headings:
        assert 1 <= heading.level <= 6
        assert heading.first <= heading.last < len(document.lines)
        assert document.lines[heading.last].kind == "heading"
        assert document.locate(f"#{heading.title}") is not None
    assert plain_text(text) == plain_text(text).strip()


@pytest.mark.parametrize(
    "text",
    ["# a" + " " * 300_000 + "b", "[" * 300_000, "[a](" * 80_000, "_" * 300_000, "# " + "#" * 300_000, "<!--" * 80_000],
)
def test_time_is_linear(text: str) -> None:
    with patience():
        read_markdown(text)
