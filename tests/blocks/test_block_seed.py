"""Outputs typed from the block contract: what it shows is clean, and slips in it are findings that people see."""

from __future__ import annotations

from typing import Any

from block_checks import check_text

from workrail_lint.findings import Severity

CODE = {
    "blockType": "code",
    "filesChanged": ["src/pool.ts", "src/pool.test.ts"],
    "diffSummary": "Added a pool of containers with five methods.",
}


def output(**members: Any) -> dict[str, Any]:
    whole = {
        "blockId": "build",
        "blockType": "dev",
        "status": "completed",
        "deliverables": CODE,
        "summary": "Added a pool of containers.",
        "filesModified": ["src/pool.ts"],
        "filesCreated": ["src/pool.test.ts"],
        "timestamp": "2026-05-04T10:00:00Z",
        **members,
    }
    return {name: value for name, value in whole.items() if value is not ...}


def seen(**members: Any) -> list[tuple[str, Severity, str]]:
    """Return what `check` shows of an output: errors and warnings."""
    findings = check_text(output(**members), "block-build.json")
    return [(each.code, each.severity, each.message) for each in findings if each.severity is not Severity.INFO]


def test_the_outputs_of_the_contract_are_clean() -> None:
    assert seen() == []
    plan = {"blockType": "plan", "markdownDocument": "# Requirements\n", "taskList": ["T01: pool"]}
    generic = {"blockType": "generic", "summary": "Reviewed with 3 findings."}
    empty: dict[str, Any] = {"filesModified": [], "filesCreated": []}
    assert seen(blockType="plan", deliverables=plan, **empty) == []
    assert seen(blockType="review", deliverables=generic, **empty) == []


def test_code_without_a_summary_of_its_changes_is_noticed() -> None:
    changed = {"blockType": "code", "filesChanged": CODE["filesChanged"]}
    message = "the code deliverables have no 'diffSummary'; say in a sentence or two what changed"
    assert seen(deliverables=changed) == [("BC207", Severity.WARNING, message)]
    assert seen(deliverables={**changed, "diffSummary": " "}) == [("BC207", Severity.WARNING, message)]
    assert seen(deliverables=changed, status="failed") == []


def test_a_misspelled_field_is_noticed() -> None:
    missing = "'filesModified' is missing from the output; 'fileModified' is not read"
    assert ("BC101", Severity.ERROR, missing) in seen(filesModified=..., fileModified=["src/pool.ts"])
    unknown = "unknown field 'fileModified'; did you mean 'filesModified'?"
    assert seen(fileModified=["src/pool.ts"]) == [("BC101", Severity.WARNING, unknown)]
    unknown = "unknown field 'diffsummary'; did you mean 'diffSummary'?"
    assert seen(deliverables={**CODE, "diffsummary": "x"}) == [("BC101", Severity.WARNING, unknown)]
    assert seen(cost=1, deliverables={**CODE, "model": "m"}) == []
