"""Loading rules by need must not lose a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workrail_lint.documents.json_reader import read_json
from workrail_lint.rules.example_files import as_bytes
from workrail_lint.rules.ruleset import LazyRules, RuleSet
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.check import check_document
from workrail_lint.systems.workrail.rules import RULES
from workrail_lint.systems.workrail.rules.base import WorkflowRule
from workrail_lint.systems.workrail.settings import Settings

FIXTURES = sorted((Path(__file__).parents[3] / "fixtures").rglob("*.json"))
DOCUMENTS = [
    pytest.param(as_bytes(content), example, id=f"{rule.code}-{number}-{kind}")
    for rule in RULES.rules()
    for number, example in enumerate(rule.examples(), 1)
    for kind, content in (("bad", example.bad), ("good", example.good))
]


class Full:
    """Every rule for every document."""

    def __init__(self) -> None:
        self._rules = LazyRules(RULES, WorkflowRule).for_members()

    def for_members(self, present: set[str] | None = None) -> RuleSet[WorkflowRule]:
        return self._rules


def told(data: bytes, path: str, settings: Settings, rules: Any, is_routine: bool) -> list[tuple[str, str, str]]:
    findings = check_document(data, path, settings, rules, is_routine=is_routine).findings
    return sorted((finding.code, finding.pointer, finding.message) for finding in findings)


@pytest.mark.parametrize(("data", "example"), DOCUMENTS)
def test_examples(data: bytes, example: Any) -> None:
    settings = Settings(load_core(), bindings=example.options.get("bindings"))
    is_routine = "routines/" in example.path
    full, lazy = Full(), LazyRules(RULES, WorkflowRule)
    args = (data, example.path, settings)
    assert told(*args, lazy, is_routine) == told(*args, full, is_routine)


def test_fixtures_in_one_go() -> None:
    settings = Settings(load_core())
    full, lazy = Full(), LazyRules(RULES, WorkflowRule)
    for path in FIXTURES:
        data = path.read_bytes()
        if read_json(data, parity=True).readable:
            name = str(path)
            assert told(data, name, settings, lazy, False) == told(data, name, settings, full, False), path


def test_what_a_rule_needs_is_said_by_the_rule() -> None:
    """And what has no hooks is never imported to run it."""
    needed = {info.name for info in RULES.infos if info.needs is not None}
    assert needed == {rule.name for rule in RULES.rules() if rule.needs is not None}
    assert {"loop-max-iterations-high", "condition-always-true", "template-call-unknown"} & needed
    assert not any(info.runs for info in RULES.infos if info.code.startswith("SC00"))
