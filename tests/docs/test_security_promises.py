"""The page about security promises what tests show: its table comes from their markers."""

from __future__ import annotations

from tools.promises import PAGE, page_with_table, promises, shown_by_tests


def test_every_promise_of_the_page_has_a_test_and_every_marker_a_promise() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(promises(page)) > 12
    assert {each.promise for each in shown_by_tests()} == set(promises(page))


def test_the_table_is_what_the_markers_say() -> None:
    """Otherwise: `python -m tools.promises`."""
    page = PAGE.read_text(encoding="utf-8")
    assert page_with_table(page) == page
