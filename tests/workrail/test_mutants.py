"""What is found in damaged workflows stays as it is, unless a change means to change it."""

from __future__ import annotations

from tools import mutants


def test_findings_and_hashes_are_unchanged() -> None:
    names = mutants.changed()
    assert not names, f"see `python -m tools.mutants --help`; findings or hashes changed in {names}"
