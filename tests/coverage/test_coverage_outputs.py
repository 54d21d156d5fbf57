"""The goals of the shipped workflows, and what a report says of their runs, are what is kept in `expected/`."""

from __future__ import annotations

from coverage_outputs import EXPECTED, outputs


def test_goals_and_reports_are_as_expected() -> None:
    """When a change is wanted: `python tests/coverage/coverage_outputs.py`, and read what git shows."""
    kept = (path for path in EXPECTED.iterdir() if path.stem != "damage")
    expected = {path.name: path.read_text(encoding="utf-8") for path in kept}
    found = outputs()
    assert sorted(found) == sorted(expected)
    different = [name for name in found if found[name] != expected[name]]
    assert different == []
