"""The rules on variables and values on real workflows: what they say there was read by hand and found true."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from analysis_mutants import findings, mutants
from oracle import requires_oracle, shared_folder

from workrail_lint import check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.analysis_rules import AnalysisRule

pytestmark = requires_oracle

NAMES = {rule.name for rule in RULES.rules_in("analysis_rules") if isinstance(rule, AnalysisRule)}
# Of the many mutants, every so many.
_EVERY = 7
# Read by hand: the only shown findings on these files, confirmations aside.
KNOWN = {
    ("coding-task-workflow-agentic.json", "condition-never-true"),
    ("learner-centered-course-workflow.json", "variable-never-set"),
    ("production-readiness-audit.json", "value-spelled-differently"),
}
# In percent, by operator; measured on all mutants, with some room below.
FLOORS = {
    "misspelt variable": 97,
    "other case": 97,
    "snake case": 97,
    "misspelt token": 100,
    "misspelt items": 100,
    "misspelt value": 90,
    "contradiction": 100,
    "definition deleted": 90,
    "gt on text": 85,
    "value outside domain": 55,
}


def files(folder: str) -> list[Path]:
    shared = shared_folder()
    if shared is None:
        return []
    found = (shared / "corpus" / folder).rglob("*.json")
    return sorted(path for path in found if path.name != "index.json")


def reported(path: Path) -> list[Any]:
    name = path.relative_to(path.parents[1]).as_posix()
    return [item for item in check_text(path.read_bytes(), filename=name).findings if item.name in NAMES]


def test_findings_on_the_public_workflows() -> None:
    shown = set()
    for path in files("workflows"):
        for item in reported(path):
            assert item.severity is not Severity.ERROR, (path.name, item)
            print(path.name, item)
            if item.severity is not Severity.INFO:
                shown.add((path.name, item.name))
    assert shown == KNOWN


def test_no_version_before_or_after_a_fix_has_an_error() -> None:
    for path in files("fixes"):
        errors = [item for item in reported(path) if item.severity is Severity.ERROR]
        assert errors == [], path


def test_a_loop_variable_outside_its_loop_is_found_in_real_history() -> None:
    found = [(path.parts[-3], item.name) for path in files("fixes") for item in reported(path)]
    assert ("4279a7ff", "loop-variable-outside-loop") in found
    assert ("1a6dc312", "variable-set-by-same-step") in found


def test_mistakes_in_real_workflows_are_found() -> None:
    made: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    number = 0
    for path in files("workflows"):
        document = json.loads(path.read_text(encoding="utf-8"))
        before = findings(document, path.name)
        for mutant in mutants(document, path.name):
            number += 1
            if number % _EVERY and mutant.operator not in ("misspelt token", "misspelt items"):
                continue
            after = findings(mutant.document, path.name)
            made[mutant.operator] += 1
            seen[mutant.operator] += any(before.get(key) != message for key, message in after.items())
    print({operator: f"{seen[operator]}/{made[operator]}" for operator in made})
    for operator, floor in FLOORS.items():
        if made[operator]:
            assert seen[operator] * 100 >= floor * made[operator], (operator, seen[operator], made[operator])
    assert sum(seen.values()) * 100 >= 90 * sum(made.values())


@pytest.mark.parametrize("path", files("workflows"), ids=lambda path: path.name)
def test_the_same_file_gives_the_same_findings(path: Path) -> None:
    first = [(item.pointer, item.message) for item in reported(path)]
    assert first == [(item.pointer, item.message) for item in reported(path)]
