"""Every example of the authoring guide does what the guide says about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from guide_examples import PAGES, Example, examples

from pytest_workrail.api import run
from workrail_lint import check_text, compile_workflow
from workrail_lint.base.result import Ok
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

EXAMPLES = [example for page in PAGES for example in examples(page)]
# Says that the catalog that ships with this package is not that of an engine, which is true of every example.
CATALOG_REMARK = "CA007"


def having(attribute: str) -> Any:
    chosen = [example for example in EXAMPLES if attribute in example.block.attributes]
    return pytest.mark.parametrize("example", chosen, ids=str)


def found_in(workflow: dict[str, Any], routines: Path | None = None) -> list[Any]:
    text = json.dumps(workflow, indent=2, ensure_ascii=False) + "\n"
    report = check_text(text, filename="workflows/example.json", routines=routines)
    return [finding for finding in report.findings if finding.code != CATALOG_REMARK]


def routines_of(example: Example, folder: Path) -> Path | None:
    """A folder with the routines that the page has shown so far."""
    shown = {name: text for name, text in example.files.items() if name.startswith("routines/")}
    for name, text in shown.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "routines" if shown else None


def verify(workflow: dict[str, Any], routines: Path | None = None) -> None:
    """A workflow lints clean, compiles for the engine too, and runs to its end as the engine and as designed."""
    assert [f"{finding.code} {finding.pointer}: {finding.message}" for finding in found_in(workflow, routines)] == []
    compiled = compile_workflow(workflow, routines=routines)
    assert isinstance(compiled, Ok), compiled
    assert compiled.value.engine_hash is not None, compiled.value.engine_errors
    for profile in ("reference", "locked"):
        done = run(compiled.value, profile=profile)
        assert done.status == "complete", done.outline()


@having("as")
def test_a_part_of_a_workflow_works(example: Example, tmp_path: Path) -> None:
    assert example.block.attributes["as"] == "workflow"
    verify(example.workflow, routines_of(example, tmp_path))


@having("file")
def test_a_whole_workflow_works(example: Example, tmp_path: Path) -> None:
    if example.block.attributes["file"].startswith("workflows/"):
        assert example.workflow == example.value, "it has all that a workflow needs"
        verify(example.value, routines_of(example, tmp_path))


@having("finds")
def test_a_mistake_is_found(example: Example) -> None:
    codes = {finding.code for finding in found_in(example.workflow) if finding.severity != "info"}
    assert codes == set(example.block.attributes["finds"].split(","))


@having("artifact")
def test_an_artifact_satisfies_its_contract(example: Example) -> None:
    pack = load_core().contracts[example.block.attributes["artifact"]]
    assert example.value["kind"] == pack.artifact_kind
    assert validate_artifact(pack.schema, example.value) == []
