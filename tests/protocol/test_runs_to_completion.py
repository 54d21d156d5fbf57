"""Every valid workflow we have runs to its end, whatever the profile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answers_for_steps import run_to_the_end
from oracle import base_path, read_oracle, requires_oracle
from protocol_bench import Bench

from workrail_lint import compile_workflow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MODES: list[tuple[str, dict[str, str]]] = [
    ("reference", {}),
    # Where the design stops for a person or a loop, a run without a script has to go on by itself.
    ("locked", {"autonomy": "full_auto_never_stop"}),
]


def runs(path: Path, routines: Path, profile: str, preferences: dict[str, str]) -> list[str]:
    """The steps of a whole run."""
    compiled = compile_workflow(path, routines=routines)
    assert compiled.is_ok, compiled
    ir: dict[str, Any] = compiled.value.ir
    bench = Bench(ir, profile=profile)
    visited = run_to_the_end(bench.engine, ir, preferences)
    assert bench.status() in ("complete", "complete_with_gaps")
    return visited


@pytest.mark.parametrize(("profile", "preferences"), MODES)
@pytest.mark.parametrize("path", sorted((FIXTURES / "workflows").glob("*.json")), ids=lambda path: path.stem)
def test_fixtures(path: Path, profile: str, preferences: dict[str, str]) -> None:
    assert runs(path, FIXTURES / "routines", profile, preferences)


@requires_oracle
@pytest.mark.parametrize(("profile", "preferences"), MODES)
def test_everything_the_reference_engine_calls_valid(profile: str, preferences: dict[str, str]) -> None:
    verdicts = read_oracle("verdicts.json")
    valid = [name for name, verdict in verdicts.items() if verdict["verdict"] == "valid"]
    assert len(valid) > 20
    routines = base_path("workflows/routines")
    for name in valid:
        assert runs(base_path(name), routines, profile, preferences), name
