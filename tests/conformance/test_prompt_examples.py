"""The worked examples of prompts that contradict their contract or their workflow, read in place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oracle import shared_folder

from workrail_lint import check_text

# The rules that compare a prompt with its contract or with its workflow.
_RULES = frozenset(
    (
        *("example-violates-contract", "contract-prose-mismatch", "contract-pack-mismatch", "artifact-not-requested"),
        *("assessment-dimension-unknown", "prose-jump", "prose-exit-in-counted-loop", "prose-rounds-differ"),
        *("step-reference-unknown", "workflow-reference-unknown", "tool-unavailable", "approval-without-confirmation"),
        *("prompt-leftover", "numbered-twice", "prose-file-missing", "role-in-prompt", "display-name-decorated"),
    )
)


def examples() -> list[Any]:
    folder = shared_folder()
    path = folder / "spec" / "analysis-examples.json" if folder is not None else None
    if path is None or not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="no worked examples beside the project"))]
    return [pytest.param(item, id=item["example"]) for item in json.loads(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("example", examples())
def test_a_worked_example(example: dict[str, Any]) -> None:
    findings = check_text(json.dumps(example["workflow"]), "workflows/demo.json").findings
    found = [finding for finding in findings if finding.name in _RULES]
    expected = [item for item in example["expected"] if item["rule"] in _RULES]
    assert sorted((f.severity.value, f.name, f.pointer) for f in found) == sorted(
        (item["severity"], item["rule"], item["pointer"]) for item in expected
    )
    for item in expected:
        assert any(
            item["says"] in f.message for f in found if (f.name, f.pointer) == (item["rule"], item["pointer"])
        ), item
