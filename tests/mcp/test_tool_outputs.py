"""The tools as clients list them are what is kept in `expected/`."""

from __future__ import annotations

from tool_outputs import EXPECTED, text


def test_tools_are_listed_as_expected() -> None:
    """When a change is wanted: `python tests/mcp/tool_outputs.py`, and read what git shows."""
    assert text() == EXPECTED.read_text(encoding="utf-8")
