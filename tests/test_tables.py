"""What tests share: tables as one test that names every wrong row, and property tests that any machine can run."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tables import for_each


def test_every_wrong_row_is_named() -> None:
    @for_each("number", range(5), key=lambda number: f"row {number}")
    def check(number: int) -> None:
        if number == 4:
            raise KeyError(number)
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError) as caught:
        check()
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 of 5 rows"
    assert [line.partition(":")[0] for line in lines[1:] if line.startswith("row")] == ["row 1", "row 3", "row 4"]
    assert "odd" in lines[1]
    assert lines[-1] == "row 4: KeyError: 4"
    assert "odd" in str(caught.value.__cause__)


@for_each("left, right", [(1, 1), (2, 2)])
def test_a_row_of_several_values_and_a_fixture(left: int, right: int, tmp_path: Path) -> None:
    assert left == right
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()


def test_a_test_asks_for_its_fixtures_only() -> None:
    assert list(inspect.signature(test_a_row_of_several_values_and_a_fixture).parameters) == ["tmp_path"]


def test_a_table_that_is_too_small_is_an_error() -> None:
    with pytest.raises(ValueError, match="the table of rule has 0 rows; at least 1 are expected"):
        for_each("rule", [])


@pytest.mark.parametrize("name", ["few", "deep"])
def test_a_busy_machine_fails_no_property_test(name: str) -> None:
    profile = settings.get_profile(name)
    assert profile.deadline is None
    assert HealthCheck.too_slow in profile.suppress_health_check
