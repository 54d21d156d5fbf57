"""A plain line is measured without looking at each character, with the same result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.report import text as report_text

LINES = st.text(alphabet=st.sampled_from(list("ab {}\t\u0301漢\x07")), max_size=40) | st.text(
    alphabet="ab {", max_size=40
)


def widths(line: str) -> list[int]:
    return [report_text.cells(report_text._shown(char)) for char in line]


@given(LINES, st.integers(0, 40), st.integers(0, 40), st.integers(-3, 50))
def test_what_fits_is_what_fits_character_by_character(line: str, first: int, second: int, room: int) -> None:
    start, end = sorted((min(first, len(line)), min(second, len(line))))
    cells = widths(line)
    assert report_text._width(line, start, end) == sum(cells[start:end])
    fits = next((at for at in range(start, end) if sum(cells[start : at + 1]) > room), end)
    assert report_text._fitting(line, start, end, room) == fits
    back = next((at + 1 for at in range(end - 1, -1, -1) if sum(cells[at:end]) > room), 0)
    assert report_text._fitting_back(line, end, room) == back
