"""The worked examples of the analysis: which rule says what, where and how severely."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oracle import shared_folder

from workrail_lint import check_text
from workrail_lint.findings import Finding
from workrail_lint.systems.workrail.rules import RULES

_FILE = "analysis-examples.json"


def examples() -> list[dict[str, Any]]:
    folder = shared_folder()
    path = None if folder is None else folder / "spec" / _FILE
    if path is None or not path.is_file():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


EXAMPLES = examples()
# Rules about prompts against contracts and against the workflow are not part of this.
NAMES = {rule.name for rule in RULES.rules_in("analysis_rules") if rule.code not in ("CD019", "CD019")}


@pytest.mark.skipif(not EXAMPLES, reason=f"no {_FILE}: put the folder with spec/ beside the project")
def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 12


def findings(example: dict[str, Any]) -> list[Finding]:
    found = check_text(json.dumps(example["workflow"]), filename="workflows/demo.json").findings
    return [finding for finding in found if finding.name in NAMES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["example"])
def test_worked_example(example: dict[str, Any]) -> None:
    found = findings(example)
    expected = [row for row in example["expected"] if row["rule"] in NAMES]
    assert sorted((item.severity.value, item.name, item.pointer) for item in found) == sorted(
        (row["severity"], row["rule"], row["pointer"]) for row in expected
    )
    for row in expected:
        messages = [item.message for item in found if (item.name, item.pointer) == (row["rule"], row["pointer"])]
        assert any(row["says"] in message for message in messages), (row, messages)
