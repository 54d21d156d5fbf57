"""What is printed, counted and recorded of sessions in which everything happens is what is kept in `expected/`."""

from __future__ import annotations

from pathlib import Path

from session_outputs import EXPECTED, make, outputs


def test_sessions_are_listed_shown_counted_and_recorded_as_expected(tmp_path: Path) -> None:
    """When a change is wanted: `python tests/sessions/session_outputs.py`, and read what git shows."""
    make(tmp_path)
    kept = (path for path in EXPECTED.iterdir() if path.stem != "damage")
    expected = {path.name: path.read_text(encoding="utf-8") for path in kept}
    found = outputs(tmp_path)
    assert sorted(found) == sorted(expected)
    different = [name for name in found if found[name] != expected[name]]
    assert different == []
