"""What is said about goldens of runs whose workflow was changed is what is kept in `expected/`."""

from __future__ import annotations

from pathlib import Path

from golden_outputs import EXPECTED, outputs


def test_changes_of_goldens_are_listed_and_shown_as_expected(tmp_path: Path) -> None:
    """When a change is wanted: `python tests/golden/golden_outputs.py`, and read what git shows."""
    kept = (path for path in EXPECTED.iterdir() if path.stem not in ("damage", "edits"))
    expected = {path.name: path.read_text(encoding="utf-8") for path in kept}
    found = outputs(tmp_path)
    assert sorted(found) == sorted(expected)
    different = [name for name in found if found[name] != expected[name]]
    assert different == []
