"""Writes into the guide how many scenarios `generate` needs: `python -m tools.scenario_counts WORKFLOW…`.

The workflows are the public ones; our fixtures are added. Each scenario is played under its profiles.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pytest_workrail.engine.core.profiles import PROFILES
from pytest_workrail.explore.generation import generated_for
from pytest_workrail.run.project import project_sources
from pytest_workrail.scenarios.workflow_driver import Loaded, run_scenario, unmet
from workrail_lint.base.result import Err, Ok
from workrail_lint.systems.workrail.compile import compile_workflow
from workrail_lint.systems.workrail.scenario_check import scenario_profiles

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "generating-tests.md"
FIXTURES = ROOT / "fixtures" / "workflows"
_FIGURE = re.compile(r"(writes this sentence\. -->\n).*?(?=\n\n)", re.DOTALL)


class Count(NamedTuple):
    """One workflow: its goals, those that nothing shows, and its scenarios, of which so many do not pass."""

    goals: int
    uncovered: int
    scenarios: int
    failing: int


def count(path: Path) -> Count | None:
    """Generate for a workflow and play what was made; None for one that the public engine refuses."""
    sources = project_sources(str(path.parent))
    assert isinstance(sources, Ok)
    compiled = compile_workflow(path, **sources.value._asdict())
    if isinstance(compiled, Err) or compiled.value.engine_hash is None:
        return None
    report: dict[str, Any] = generated_for(str(path), list(PROFILES))
    failing = sum(_fails(each["document"], compiled.value.ir) for each in report["scenarios"])
    return Count(report["goals"], len(report["uncovered"]), len(report["scenarios"]), failing)


def _fails(document: dict[str, Any], ir: dict[str, Any]) -> bool:
    loaded = Loaded(document, ir)
    return any(unmet(loaded.scenario, run_scenario(loaded, profile).run) for profile in scenario_profiles(document))


def sentence(counts: Iterable[Count]) -> str:
    """Return what the guide says."""
    known = list(counts)
    goals, missing = sum(each.goals for each in known), sum(each.uncovered for each in known)
    numbers = [each.scenarios for each in known]
    failing = sum(each.failing for each in known)
    passing = "all pass" if not failing else f"{failing} do not pass"
    return (
        f"On {len(known)} workflows, public ones that the engine accepts and our fixtures, {goals - missing:,} of "
        f"{goals:,} goals\nof both profiles are covered, with {median(numbers):g} scenarios in the median "
        f"({max(numbers)} at most) for both profiles\ntogether. Of the {sum(numbers)} scenarios {passing}."
    )


def main(paths: list[str]) -> None:
    """Measure and write."""
    files = sorted({*map(Path, paths), *FIXTURES.glob("*.json")})
    counts = [each for each in map(count, files) if each is not None]
    page = PAGE.read_text(encoding="utf-8")
    text = sentence(counts)
    PAGE.write_text(_FIGURE.sub(lambda match: match[1] + text, page, count=1), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
