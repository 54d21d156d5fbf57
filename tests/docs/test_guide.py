"""Every example of the authoring guide does what the guide says about it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from guide_examples import GUIDE, PAGES, Example, added, examples

from pytest_workrail.api import run
from workrail_lint import check_text, compile_workflow
from workrail_lint.base.result import Ok
from workrail_lint.cli import main
from workrail_lint.project.selection import KnownRules
from workrail_lint.systems.builtin import known_systems
from workrail_lint.systems.workrail.catalog.catalog import load_core
from workrail_lint.systems.workrail.catalog.contracts import validate_artifact

EXAMPLES = [example for page in PAGES for example in examples(page)]
# Advice that holds for every workflow: with builtins, the shipped catalog is not that of an engine; with criteria,
# their messages are either not shown before a failure, or not after it.
ADVICE = ("CA007", "CR022")


def having(attribute: str) -> Any:
    chosen = [example for example in EXAMPLES if attribute in example.block.attributes]
    return pytest.mark.parametrize("example", chosen, ids=str)


def found_in(workflow: dict[str, Any], routines: Path | None = None) -> list[Any]:
    text = json.dumps(workflow, indent=2, ensure_ascii=False) + "\n"
    report = check_text(text, filename="workflows/example.json", routines=routines)
    return [finding for finding in report.findings if finding.code not in ADVICE]


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


def test_every_rule_that_the_guide_names_exists() -> None:
    known = {rule.code for rule in KnownRules(known_systems())()}
    for page in PAGES:
        named = set(re.findall(r"\b[A-Z]{2}\d{3}\b", page.read_text(encoding="utf-8")))
        assert named <= known, page.name


def test_the_cookbook_has_ten_workflows() -> None:
    ids = [example.value["id"] for example in examples(GUIDE / "cookbook.md")]
    assert len(ids) == len(set(ids)) == 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_example_is_left_alone(page: Path) -> None:
    """JSON without an attribute would only be parsed."""
    assert [str(example) for example in examples(page) if not example.block.attributes] == []


def test_a_topic_is_printed_without_the_notes_of_our_tests(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for page in PAGES:
        topic = page.stem
        if topic != "README":
            assert main(["guide", topic]) == 0
            assert capsysbinary.readouterr().out == re.sub(rb"(?m)^(```\w+).*$", rb"\1", page.read_bytes())


def test_the_list_of_topics_has_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide"]) == 0
    listed = re.findall(r"^  ([a-z]+) ", capsys.readouterr().out, re.MULTILINE)
    assert {*listed, "README", "llms"} == {page.stem for page in PAGES}


def test_an_example_is_printed_ready_to_be_saved(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guide", "--example", "clean_up"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "cookbook.clean_up"
    assert main(["guide", "--example", "cleanup"]) == 2
    assert "clean_up" in capsys.readouterr().err
    assert main(["guide", "lops"]) == 2
    assert "did you mean 'loops'?" in capsys.readouterr().err


def test_a_terminal_shows_text_without_marks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["guide", "loops"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Loops\n")
    assert "```" not in shown
    assert "](" not in shown


def test_the_tutorial_gives_a_workflow_of_eight_steps() -> None:
    """A newcomer who follows the page literally has all of this in the end; its commands are run by another test."""
    workflow: dict[str, Any] = {}
    for example in examples(GUIDE / "tutorial.md"):
        match example.block.attributes:
            case {"file": "workflows/fix_bug.json"}:
                workflow = example.value
            case {"add": pointer}:
                added(workflow, pointer, example.value)
    verify(workflow)
    top = workflow["steps"]
    steps = [step for each in top for step in each.get("body", [each])]
    assert len(steps) == 8
    assert [each["loop"]["type"] for each in top if each.get("type") == "loop"] == ["while"]
    for member in ("runCondition", "outputContract", "templateCall", "assessmentRefs"):
        assert any(member in step for step in steps), member


@having("finds")
def test_a_mistake_is_found(example: Example) -> None:
    codes = {finding.code for finding in found_in(example.workflow) if finding.severity != "info"}
    assert codes == set(example.block.attributes["finds"].split(","))


@having("artifact")
def test_an_artifact_satisfies_its_contract(example: Example) -> None:
    pack = load_core().contracts[example.block.attributes["artifact"]]
    assert example.value["kind"] == pack.artifact_kind
    assert validate_artifact(pack.schema, example.value) == []
