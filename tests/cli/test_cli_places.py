"""What a configuration says about paths holds from wherever a command is run, however the paths are spelled."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_types import Run

from workrail_lint.systems.workrail.rules.samples import step, workflow

BLANK = workflow(step("first", guidance=["Look twice.", " "]))
REFERENCE = {"id": "doc", "title": "Doc", "source": "docs/a.md", "purpose": "p", "authoritative": True}
# From which folder, and how the workflows are called from there.
SPELLINGS = [(".", "."), (".", "workflows"), (".", "./workflows/"), ("workflows", "."), ("docs", "../workflows")]


@pytest.fixture(params=SPELLINGS, ids=lambda spelling: " ".join(spelling))
def checked(run: Run, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Check the workflows of a project, and give the names of what is found."""
    folder, path = request.param

    def check(*arguments: str, absolute: bool = False) -> list[str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        spelled = os.path.abspath(path) if absolute else path
        return [
            item["name"] for item in json.loads(run("check", spelled, *arguments, "--format", "json").out)["findings"]
        ]

    return check


def test_patterns_are_seen_from_the_configuration(checked: Any, write: Any) -> None:
    write("workflows/kept.json", BLANK)
    write("workflows/drafts/new.json", {**BLANK, "id": "demo.draft"})
    write("workrail-lint.toml", 'select = ["guidance-blank"]\nexclude = ["workflows/drafts"]\n')
    for absolute in (False, True):
        assert checked(absolute=absolute) == ["guidance-blank"]
    write("workrail-lint.toml", 'select = ["guidance-blank"]\ninclude = ["workflows/drafts/*"]\n')
    assert checked() == ["guidance-blank"]
    write("workrail-lint.toml", 'select = ["workflow-id-legacy-new"]\nnew-files = ["workflows/drafts/*"]\n')
    write("workflows/drafts/new.json", {**BLANK, "id": "draft"})
    assert checked() == ["workflow-id-legacy-new"]


@pytest.mark.parametrize("arguments", [(), ("--isolated",)])
def test_without_a_configuration_the_project_is_the_current_folder(
    run: Run, write: Any, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("workflows/example.json", workflow(references=[REFERENCE]))
    write("docs/a.md", "text")
    for path in (".", "workflows", "workflows/example.json", str(tmp_path / "workflows" / "example.json")):
        assert "reference-missing-file" not in run("check", path, *arguments).out
    # A path elsewhere is judged by the folder it stands in.
    write("elsewhere/docs/other.txt", "")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "reference-missing-file" in run("check", "../workflows/example.json", *arguments).out
    write("workflows/docs/a.md", "text")
    assert "reference-missing-file" not in run("check", "../workflows/example.json", *arguments).out


def test_a_baseline_holds_from_everywhere(checked: Any, run: Run, write: Any, tmp_path: Path) -> None:
    write("workflows/example.json", {**BLANK, "about": "x"})
    assert run("check", ".", "--write-baseline", "baseline.json").code == 0
    assert {entry["path"] for entry in json.loads((tmp_path / "baseline.json").read_text())["entries"]} == {
        "workflows/example.json"
    }
    for absolute in (False, True):
        assert checked("--baseline", str(tmp_path / "baseline.json"), absolute=absolute) == []


def test_what_a_baseline_accepts_about_a_whole_document_outlives_an_edit(run: Run, write: Any) -> None:
    bare = {name: value for name, value in BLANK.items() if name not in ("about", "examples")}
    write("workflows/example.json", bare)
    arguments = ("check", "--select", "workflow-undescribed,guidance-blank", "--format", "concise")
    assert run(*arguments, "--write-baseline", "baseline.json").code == 0
    write("workflows/example.json", {**bare, "steps": [step("first", "Another prompt.", guidance=["\t"])]})
    ran = run(*arguments, "--baseline", "baseline.json")
    assert "guidance-blank" in ran.out
    assert "workflow-undescribed" not in ran.out


SUPPRESS = '[[suppress]]\nplace = "{}"\ncodes = ["{}"]\nreason = "meant"\n'


def test_a_suppression_holds_from_everywhere(checked: Any, write: Any) -> None:
    write("workflows/example.json", BLANK)
    entry = SUPPRESS.format("workflows/example.json#/steps/first/guidance", "PR028")
    write("workrail-lint.toml", 'select = ["guidance-blank"]\n' + entry)
    for absolute in (False, True):
        assert checked(absolute=absolute) == []


def test_a_suppression_of_no_rule_is_a_mistake(run: Run, write: Any) -> None:
    write("workflows/example.json", BLANK)
    for code, meant in (("guidance-blnk", "guidance-blank"), ("pr028", "PR028")):
        write("workrail-lint.toml", SUPPRESS.format("workflows/example.json", code))
        ran = run("check")
        assert ran.code == 2
        assert f"no rule matches '{code}'; did you mean '{meant}'?" in ran.err
    assert "no rule matches 'XX9'; run workrail-lint rule" in run("check", "--isolated", "--select", "XX9").err


def test_only_what_was_looked_at_is_called_unused(run: Run, write: Any, tmp_path: Path) -> None:
    write("workflows/example.json", workflow())
    write("other/workflows/other.json", workflow(id="demo.other"))
    write("workrail-lint.toml", SUPPRESS.format("workflows/example.json#/steps", "PR028"))

    def names(*arguments: str) -> list[tuple[str, str]]:
        found = json.loads(run("check", *arguments, "--format", "json").out)["findings"]
        return [(item["path"], item["name"]) for item in found]

    unused = [("workrail-lint.toml", "suppression-unused")]
    assert names() == names("workflows") == unused
    assert names("other") == []
    assert names("--select", "secret-literal") == []
    assert names("--ignore", "PR028") == []
    assert names("--select", "PR") == unused
    assert names("--ignore", "suppression-unused") == []
    (tmp_path / "workflows" / "example.json").unlink()
    assert names("other") == unused
