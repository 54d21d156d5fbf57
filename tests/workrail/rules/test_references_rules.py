"""RF: references to files, and what nobody uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lint_probe import as_text, fixed, lint

from workrail_lint import check_text
from workrail_lint.findings import Severity
from workrail_lint.systems.workrail.rules.references import (
    AssessmentUnused,
    ExtensionPointUnused,
    FunctionUnused,
    ReferenceMissingFile,
    ReferenceNotShipped,
)
from workrail_lint.systems.workrail.rules.samples import loop, step, workflow


def reference(source: str, **members: Any) -> dict[str, Any]:
    return {"id": "ref", "title": "T", "source": source, "purpose": "P", "authoritative": True, **members}


def referring(*sources: str, **members: Any) -> dict[str, Any]:
    return workflow(references=[reference(source) for source in sources], **members)


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("A")
    (tmp_path / "dead").symlink_to(tmp_path / "nowhere")
    (tmp_path / "outside").symlink_to(tmp_path.parent)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("source", "missing", "directory"),
    [
        ("docs/a.md", False, False),
        ("./docs/../docs/a.md", False, False),
        ("docs/b.md", True, False),
        ("docs", False, True),
        (".", False, True),
        ("dead", False, True),
        # These are findings of their own; a missing file would only repeat them.
        ("../secret.md", False, False),
        ("/etc/passwd", False, False),
        ("https://example.org/a.md", False, False),
        ("docs\\a.md", False, False),
        ("docs/\x00", False, False),
    ],
)
def test_files(workspace: str, source: str, missing: bool, directory: bool) -> None:
    document = referring(source)
    messages = [finding.message for finding in lint(ReferenceMissingFile, document, workspace=workspace)]
    assert ["does not exist" in message for message in messages] == ([missing] if missing or directory else [])


def test_without_a_disk_nothing_is_said_about_files() -> None:
    assert lint(ReferenceMissingFile, referring("docs/b.md")) == []
    assert lint(ReferenceMissingFile, referring("docs")) == []


def test_a_package_file_is_not_looked_for_in_the_workspace(workspace: str) -> None:
    document = workflow(references=[reference("spec/x.md", resolveFrom="package")])
    assert lint(ReferenceMissingFile, document, workspace=workspace) == []


@pytest.mark.parametrize(
    ("source", "kind", "severity"),
    [
        ("notes/a.md", "project", Severity.WARNING),
        # The engine's package has such files.
        ("docs/a.md", "project", None),
        ("spec/a.md", "project", None),
        # Without a disk nothing is known about the package.
        ("docs/a.md", "bundled", None),
        ("./spec/a.md", "bundled", None),
    ],
)
def test_package_scope(source: str, kind: str, severity: Severity | None) -> None:
    document = workflow(references=[reference(source, resolveFrom="package")])
    found = lint(ReferenceNotShipped, document, source_kind=kind)
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert lint(ReferenceNotShipped, referring(source), source_kind=kind) == []


@pytest.mark.parametrize(
    ("source", "name", "expected"),
    [
        ("spec/workflow.schema.json", "Release review workflow", True),
        ("docs/authoring-spec.json", "Release review", True),
        ("docs/authoring/plan.md", "Release review", False),
        ("spec/workflow.schema.json", "Workflow for workflows", False),
        ("spec/workflow.schema.json", "Create a new workflow", False),
        ("spec/workflow.schema.json", "Authoring help", False),
        ("src/schema.json", "Release review", False),
    ],
)
def test_authoring_files(source: str, name: str, expected: bool) -> None:
    document = referring(source, name=name, description="Reviews a release.")
    assert bool(lint(ReferenceNotShipped, document)) == expected


def test_assessments_used_in_a_loop_body_are_used() -> None:
    declared = [{"id": "one", "purpose": "P", "dimensions": []}, {"id": "two", "purpose": "P", "dimensions": []}]
    document = workflow(loop(step(assessmentRefs=["one"])), assessments=declared)
    assert [finding.pointer for finding in lint(AssessmentUnused, document)] == ["/assessments/1/id"]


@pytest.mark.parametrize(
    ("members", "unused"),
    [
        ({}, True),
        ({"functionCalls": [{"name": "score", "args": {}}]}, False),
        ({"functionReferences": ["score()"]}, False),
        ({"prompt": "Apply score(change) to each file."}, False),
        ({"guidance": ["Use `score` often."]}, False),
        ({"prompt": "Keep the scoreboard and the high_score up to date."}, True),
    ],
)
def test_functions(members: dict[str, Any], unused: bool) -> None:
    document = workflow(step(**members), functionDefinitions=[{"name": "score", "definition": "Call score again."}])
    assert bool(lint(FunctionUnused, document)) == unused


def test_a_function_that_another_one_uses_is_used() -> None:
    functions = [{"name": "score", "definition": "Rate."}, {"name": "judge", "definition": "Uses score()."}]
    found = lint(FunctionUnused, workflow(step(prompt="Run judge."), functionDefinitions=functions))
    assert found == []


def test_functions_of_steps_and_loops_count_too() -> None:
    inner = step("inner-step", functionDefinitions=[{"name": "one", "definition": "x"}])
    document = workflow({**loop(inner), "functionDefinitions": [{"name": "two", "definition": "x"}]})
    assert {finding.pointer for finding in lint(FunctionUnused, document)} == {
        "/steps/0/functionDefinitions/0/name",
        "/steps/0/body/0/functionDefinitions/0/name",
    }


def point(slot: str) -> dict[str, str]:
    return {"slotId": slot, "purpose": "P", "default": "routine-x"}


def test_an_unused_slot_is_removed_and_the_last_one_takes_the_list_along() -> None:
    used = step(prompt="Run {{wr.bindings.one}}.")
    document = workflow(used, extensionPoints=[point("one"), point("two")])
    (finding,) = lint(ExtensionPointUnused, document)
    assert fixed(finding, document) == as_text(workflow(used, extensionPoints=[point("one")]))
    alone = workflow(step(), extensionPoints=[point("one")])
    (finding,) = lint(ExtensionPointUnused, alone)
    assert fixed(finding, alone) == as_text(workflow(step()))


@pytest.mark.parametrize("token", ["{{wr.bindings.fnal_check}}", "{{wr.bindings.final_check", "{{wr.bindings.other}}"])
def test_a_slot_that_some_token_may_mean_is_not_removed(token: str) -> None:
    (finding,) = lint(
        ExtensionPointUnused, workflow(step(prompt=f"Run {token} now."), extensionPoints=[point("final_check")])
    )
    assert finding.fix is None


def test_a_slot_that_a_broken_step_uses_is_not_removed() -> None:
    document = workflow(
        step(),
        {**step("second-step", "Run {{wr.bindings.final_check}}."), "title": ["A", "step"]},
        extensionPoints=[point("final_check")],
    )
    found = check_text(as_text(document)).findings
    assert {finding.fix for finding in found if finding.name == "extension-point-unused"} <= {None}


def test_a_misspelt_token_explains_an_unused_slot() -> None:
    (finding,) = lint(
        ExtensionPointUnused,
        workflow(step(prompt="Run {{wr.bindings.fnal_check}}."), extensionPoints=[point("final_check")]),
    )
    assert "'fnal_check'" in finding.message
    assert finding.fix is None  # the token is to be mended, and it needs the slot


@pytest.mark.parametrize("token", ["{{ wr.bindings.check }}", "{{WR.bindings.Check}}", "{{wr.bindings.check"])
def test_a_slot_that_a_misspelled_token_means_is_not_removed(token: str) -> None:
    document = workflow(step(prompt=f"Run {token} now."), extensionPoints=[point("check"), point("other")])
    meant, other = lint(ExtensionPointUnused, document)
    assert "may mean it" in meant.message
    assert meant.fix is None
    assert (other.fix is None) is not token.endswith("}}")  # what has no end may mean any
