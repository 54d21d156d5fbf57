"""What agents answer at every step of the zoo, and what is said about their runs, is as it was."""

from __future__ import annotations

from run_outputs import EXPECTED, lines


def test_answers_of_agents_and_accounts_of_runs_are_as_expected() -> None:
    """When a change is wanted: `python tests/agents/run_outputs.py`. With the name of a workflow it prints it all."""
    assert list(lines()) == EXPECTED.read_text(encoding="utf-8").splitlines()
