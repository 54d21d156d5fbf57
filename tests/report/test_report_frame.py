"""The source frame: what is shown of a line, and where the caret stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.terminal import Style
from workrail_lint.documents.source_text import SourceText
from workrail_lint.report.text import cells, frame

PLAIN = Style(False)


def framed(text: str, start: int, end: int, width: int = 100) -> list[str]:
    source = SourceText(text)
    return frame(source, source.span(start, end), width, PLAIN, "red").lines


def test_the_caret_stands_under_the_place() -> None:
    assert framed('{"id": "x"}', 1, 5) == ["  |", '1 | {"id": "x"}', "  |  ^^^^"]


def test_an_empty_place_still_has_a_caret() -> None:
    assert framed("[1, 2]", 6, 6) == ["  |", "1 | [1, 2]", "  |       ^"]
    assert framed("", 0, 0) == ["  |", "1 |", "  | ^"]


def test_tabs_wide_and_combining_characters_keep_the_caret_in_place() -> None:
    assert framed('\t"漢字é": 1', 8, 9) == ["  |", '1 |     "漢字é": 1', "  |              ^"]
    assert framed('"e\u0301": 1', 6, 7) == ["  |", '1 | "e\u0301": 1', "  |      ^"]


def test_what_can_not_be_seen_is_shown_as_an_escape_and_marked_as_such() -> None:
    assert framed('"a\x1b[0mb"', 2, 3) == ["  |", '1 | "a\\u001b[0mb"', "  |   ^^^^^^"]
    assert framed('"a\u202eb" 1', 6, 7) == ["  |", '1 | "a\\u202eb" 1', "  |            ^"]


def test_orders_to_a_ci_service_are_broken_up_without_moving_the_caret() -> None:
    assert framed('"##[error]x": 1', 11, 12) == ["  |", '1 | "#\\u0023[error]x": 1', "  |                 ^"]
    assert framed('"## heading"', 0, 3) == ["  |", '1 | "## heading"', "  | ^^^"]


def test_a_long_line_is_shown_through_a_window() -> None:
    line = '"prompt": "' + "word " * 1000 + "HERE" + " tail" * 1000 + '"'
    start = line.index("HERE")
    lines = framed(line, start, start + 4, 60)
    assert len(lines[1]) == 60
    assert lines[1].startswith("1 | …")
    assert lines[1].endswith("HERE tail tail tail …")
    column = lines[2].index("^")
    assert lines[1][column : column + 4] == "HERE"
    assert lines[2].count("^") == 4


def test_a_place_longer_than_the_window_is_shown_from_its_start() -> None:
    line = '"prompt": "' + "word " * 1000 + '"'
    lines = framed(line, 10, len(line), 60)
    assert lines[1].startswith('1 | "prompt": "word word')
    assert lines[1].endswith("…")
    assert lines[2].startswith("  |           ^^^^^")
    assert all(len(shown) <= 60 for shown in lines)


def test_a_place_of_several_lines_says_where_it_ends() -> None:
    text = '{\n  "a": [\n    1,\n    2,\n    3\n  ]\n}'
    assert framed(text, 9, 33) == [
        "  |",
        '2 |   "a": [',
        "  |        ^ to line 6",
        "3 |     1,",
        "4 |     2,",
    ]
    # A line that says something itself needs no more lines.
    assert framed(text, 4, 33) == ["  |", '2 |   "a": [', "  |   ^^^^^^ to line 6"]


def test_the_gutter_is_as_wide_as_the_longest_number() -> None:
    text = "\n" * 98 + "{\n1\n2}"
    assert framed(text, 98, 104) == ["    |", " 99 | {", "    | ^ to line 101", "100 | 1", "101 | 2}"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_every_line_ending_ends_a_line(ending: str) -> None:
    assert framed(f"[{ending} 12{ending}]", 2 + len(ending), 4 + len(ending))[1:] == ["2 |  12", "  |  ^^"]


@given(st.text(max_size=300), st.integers(0, 300), st.integers(0, 300), st.integers(0, 80))
def test_no_line_is_wider_than_asked_and_the_caret_is_under_it(text: str, start: int, end: int, width: int) -> None:
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    source = SourceText(text)
    framed = frame(source, source.span(start, end), width, PLAIN, "red")
    lines, gutter = framed.lines, framed.gutter
    assert lines[2].count("^") >= 1
    room = max(20, width - gutter - 3)
    assert all(cells(line) <= gutter + 3 + room for line in lines[:2]) or "##" in text
    assert all(line.isprintable() for line in lines)
    caret = lines[2][gutter + 3 :]
    assert caret.lstrip(" ").startswith("^")
    assert len(caret) - len(caret.lstrip(" ")) <= room


def test_a_huge_line_costs_nothing_extra() -> None:
    line = '"' + "x" * 5_000_000 + '"'
    lines = framed(line, 4_000_000, 4_000_001)
    assert len(lines[1]) < 110
