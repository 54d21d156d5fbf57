"""What the engine answers and stores, in runs in which agents do everything right and wrong, is as it was."""

from __future__ import annotations

from engine_outputs import EXPECTED, lines


def test_answers_and_files_are_as_expected() -> None:
    """When a change is wanted: `python tests/engine/engine_outputs.py`. With the name of a run it prints it in full."""
    expected = EXPECTED.read_text(encoding="utf-8").splitlines()
    found = list(lines())
    assert len(found) == len(expected)
    assert [line for line in found if line not in expected] == []
